-- Which tables and columns there are, and whose rows: for moving them as they are.

-- name: columns
SELECT t.name, c.name, upper(c.type) FROM pragma_table_list t JOIN pragma_table_xinfo(t.name) c
WHERE t.schema = 'main' AND t.type = 'table' AND c.hidden = 0 AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid;

-- name: without_rowid
SELECT name FROM pragma_table_list WHERE schema = 'main' AND wr = 1;

-- name: owners
SELECT tenant, user FROM owners ORDER BY row;

-- name: last_number
SELECT seq FROM sqlite_sequence WHERE name = :table;
