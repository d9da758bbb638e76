"""Nobody sees another's rows: tried with SQL, past everything that asks for it, on a real PostgreSQL."""
