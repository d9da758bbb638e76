"""What is learned from sessions: signals, candidates, health, and how they are shown."""
