"""What holds among memories: what each tells the value of, which say the same, which takes the place of which."""
