"""The pages, a part a file. Each has `router()` and `NEEDS`: what a key must be for, route by route."""
