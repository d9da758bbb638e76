"""The web page: coming in, every page, and what they promise."""
