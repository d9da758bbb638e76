-- The two legs of recall, and the rows behind what they find. Column weights of bm25 stand here and nowhere else:
-- what the agent said counts less than what the user said. `+owner` where documents are given by
-- number: without the plus SQLite would walk through all of the owner's rows to find them.

-- name: lexical_memory
SELECT f.rowid, -f.rank, 0, 0, m.occurred_at FROM memory_fts f JOIN memories m ON m.row = f.rowid
WHERE f.memory_fts MATCH :match AND f.rank MATCH 'bm25(1.0, 0.5)'
  AND m.owner = :owner
  {memory_filter}
ORDER BY f.rank LIMIT :limit;

-- name: lexical_gist
SELECT f.rowid, -f.rank, g.session, 0, g.occurred_at FROM gist_fts f JOIN gists g ON g.row = f.rowid
WHERE f.gist_fts MATCH :match AND f.rank MATCH 'bm25(1.0)'
  AND g.owner = :owner
  {gist_filter}
ORDER BY f.rank LIMIT :limit;

-- name: lexical_turn
SELECT f.rowid, -f.rank, t.session, t.ordinal, t.occurred_at FROM turn_fts f JOIN turns t ON t.row = f.rowid
WHERE f.turn_fts MATCH :match AND f.rank MATCH 'bm25(3.0, 1.0)'
  AND t.owner = :owner
  {turn_filter}
ORDER BY f.rank LIMIT :limit;

-- The same where very many match: the best of them are sorted out first, which takes half as long, and held against the
-- filter afterwards. How many there were comes with each row; when too few pass, all have to be looked at.
-- name: best_memory
WITH f AS MATERIALIZED (
  SELECT rowid AS doc, -bm25(memory_fts, 1.0, 0.5) AS score FROM memory_fts WHERE memory_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :look
)
SELECT f.doc, f.score, 0, 0, m.occurred_at, (SELECT count(*) FROM f) FROM f CROSS JOIN memories m ON m.row = f.doc
WHERE m.owner = :owner
  {memory_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- name: best_gist
WITH f AS MATERIALIZED (
  SELECT rowid AS doc, -bm25(gist_fts, 1.0) AS score FROM gist_fts WHERE gist_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :look
)
SELECT f.doc, f.score, g.session, 0, g.occurred_at, (SELECT count(*) FROM f) FROM f CROSS JOIN gists g ON g.row = f.doc
WHERE g.owner = :owner
  {gist_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- name: best_turn
WITH f AS MATERIALIZED (
  SELECT rowid AS doc, -bm25(turn_fts, 3.0, 1.0) AS score FROM turn_fts WHERE turn_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :look
)
SELECT f.doc, f.score, t.session, t.ordinal, t.occurred_at, (SELECT count(*) FROM f) FROM f CROSS JOIN turns t ON t.row = f.doc
WHERE t.owner = :owner
  {turn_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- By words alone: the words are the owner's, so are the documents.
-- name: words_memory
SELECT rowid, -bm25(memory_fts, 1.0, 0.5) AS score FROM memory_fts WHERE memory_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :limit;

-- name: words_gist
SELECT rowid, -bm25(gist_fts, 1.0) AS score FROM gist_fts WHERE gist_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :limit;

-- name: words_turn
SELECT rowid, -bm25(turn_fts, 3.0, 1.0) AS score FROM turn_fts WHERE turn_fts MATCH :match AND rowid >= :from ORDER BY score DESC, rowid LIMIT :limit;

-- From which document on so many are found. What looks for the best of them (`from` above) begins there, where words tell
-- nothing: to weigh all that hold "the" takes longer than everything else in an answer.
-- name: newest_memory
SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match ORDER BY rowid DESC LIMIT 1 OFFSET :newer;

-- name: newest_gist
SELECT rowid FROM gist_fts WHERE gist_fts MATCH :match ORDER BY rowid DESC LIMIT 1 OFFSET :newer;

-- name: newest_turn
SELECT rowid FROM turn_fts WHERE turn_fts MATCH :match ORDER BY rowid DESC LIMIT 1 OFFSET :newer;

-- name: allowed_memory
SELECT m.row, 0, 0, m.occurred_at FROM memories m
WHERE m.row IN (SELECT value FROM json_each(:docs))
  AND +m.owner = :owner
  {memory_filter};

-- name: allowed_gist
SELECT g.row, g.session, 0, g.occurred_at FROM gists g
WHERE g.row IN (SELECT value FROM json_each(:docs))
  AND +g.owner = :owner
  {gist_filter};

-- name: allowed_turn
SELECT t.row, t.session, t.ordinal, t.occurred_at FROM turns t
WHERE t.row IN (SELECT value FROM json_each(:docs))
  AND +t.owner = :owner
  {turn_filter};

-- name: around
SELECT t.row, t.chars,
       (SELECT b.row FROM turns b WHERE b.session = t.session AND b.ordinal = t.ordinal - 1),
       (SELECT a.row FROM turns a WHERE a.session = t.session AND a.ordinal = t.ordinal + 1)
FROM turns t WHERE t.row IN (SELECT value FROM json_each(:docs)) AND +t.owner = :owner
  AND (:any_project OR t.project IS NULL OR t.project = :scope_project);

-- name: count_memory
SELECT count(*) FROM memory_fts WHERE memory_fts MATCH :match;

-- name: tagged
SELECT rowid FROM memory_fts WHERE memory_fts MATCH :match LIMIT :most;

-- name: count_gist
SELECT count(*) FROM gist_fts WHERE gist_fts MATCH :match;

-- name: count_turn
SELECT count(*) FROM turn_fts WHERE turn_fts MATCH :match;

-- name: size
SELECT rows FROM indexed WHERE tier = :tier AND owner = :owner;

-- How much there is of each tier, and whether there is any of what most owners have nothing of.
-- name: sizes
SELECT tier, owner, rows FROM indexed WHERE tier IN ('memory', 'gist', 'turn') AND owner IN (0, :owner)
UNION ALL SELECT 'feedback', :owner, EXISTS (SELECT 1 FROM feedback WHERE owner = :owner)
UNION ALL SELECT 'relations', :owner, EXISTS (SELECT 1 FROM relations WHERE owner = :owner);

-- name: documents_memory
SELECT * FROM memory_rows WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: documents_gist
SELECT row, session_id, project_name, content, occurred_at FROM gist_rows
WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: documents_turn
SELECT row, key, session_id, project_name, occurred_at, ordinal FROM turn_rows
WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: turn_events
SELECT turn, {speaker}, text, text_hash FROM events
WHERE +owner = :owner AND turn IN (SELECT value FROM json_each(:docs)) AND {spoken} ORDER BY turn, position;

-- name: visible_memory
SELECT row FROM memories WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: visible_gist
SELECT row FROM gists WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: visible_turn
SELECT row FROM turns WHERE +owner = :owner AND row IN (SELECT value FROM json_each(:docs))
  AND (:any_project OR project IS NULL OR project = :scope_project);

-- name: session_row
SELECT row FROM sessions WHERE owner = :owner AND id = :id;

-- name: vector_state
SELECT epoch, ifnull((SELECT max(seq) FROM vectors v WHERE v.owner = o.row AND v.model = :model AND v.tier = :tier), 0)
FROM owners o WHERE o.row = :owner;

-- name: new_vectors
SELECT seq, doc, leading, vector FROM vectors
WHERE owner = :owner AND model = :model AND tier = :tier AND seq > :seq ORDER BY seq;

-- name: model
SELECT row FROM models WHERE name = :name AND dim = :dim;
