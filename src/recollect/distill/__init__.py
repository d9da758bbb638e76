"""What happened becomes what is worth keeping."""
