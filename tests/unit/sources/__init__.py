"""Each agent's source, on real excerpts of its files."""
