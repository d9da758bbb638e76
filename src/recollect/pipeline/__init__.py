"""What runs several stages in turn: the background worker and maintenance."""
