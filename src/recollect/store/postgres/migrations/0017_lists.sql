-- `memories_forgotten` begins like this one and is of the same rows.

DROP INDEX IF EXISTS memories_deleted;
