"""A question becomes a few memories, gists and turns: ranked, explained, or nothing."""
