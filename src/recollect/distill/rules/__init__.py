"""The rules that make memories of a session without a model: each module looks for one kind of thing worth keeping."""
