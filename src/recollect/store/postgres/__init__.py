"""The store for many users: PostgreSQL with pgvector."""
