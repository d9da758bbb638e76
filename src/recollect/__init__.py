"""A memory that lasts for AI agents."""
