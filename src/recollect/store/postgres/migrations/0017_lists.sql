-- `memories_forgotten` begins like this one and is of the same rows.

DROP INDEX memories_deleted;
