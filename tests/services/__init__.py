"""Real servers for tests: PostgreSQL with pgvector, and Redis, from wheels; one of each per test run, on demand."""
