"""Events by Redis: published and forgotten about, kept in a stream, stored once.

The way of an event: `publish` (or any Redis client) → channel → `bridge` → stream, or straight into the stream →
`consumer` → the memory. What cannot be stored goes to the dead letters, with the reason.
"""
