"""The embedded store: one SQLite file, opened through apsw, shared safely by many processes."""
