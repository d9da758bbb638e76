"""Which drafts become memories and how far each is trusted, by whose words they cite and what those state."""
