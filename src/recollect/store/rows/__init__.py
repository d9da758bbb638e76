"""The ports over rows, the same for every database that speaks SQL: only the queries differ, and lie beside it."""
