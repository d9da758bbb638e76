-- The two legs of recall, and the rows behind what they find.

-- bm25 as FTS5 counts it (k1 = 1.2, b = 0.75), over the owner's own documents. `:weights` are the words' inverse document
-- frequencies, `:length` is how long the owner's documents are on average.
-- name: lexical_memory
WITH found AS MATERIALIZED (
  SELECT h.doc, sum((:weights::float8[])[h.word] * h.times * 2.2
                    / (h.times + 1.2 * (0.25 + 0.75 * h.size / :length::float8))) AS score
  FROM matches('memory', :words::text[], :steps::float8[]) h GROUP BY h.doc)
SELECT f.doc, f.score, 0, 0, m.occurred_at FROM found f JOIN memories m ON m.tenant = :tenant AND m.row = f.doc
WHERE m.owner = :owner
  {memory_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- name: lexical_gist
WITH found AS MATERIALIZED (
  SELECT h.doc, sum((:weights::float8[])[h.word] * h.times * 2.2
                    / (h.times + 1.2 * (0.25 + 0.75 * h.size / :length::float8))) AS score
  FROM matches('gist', :words::text[], :steps::float8[]) h GROUP BY h.doc)
SELECT f.doc, f.score, g.session, 0, g.occurred_at FROM found f JOIN gists g ON g.tenant = :tenant AND g.row = f.doc
WHERE g.owner = :owner
  {gist_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- name: lexical_turn
WITH found AS MATERIALIZED (
  SELECT h.doc, sum((:weights::float8[])[h.word] * h.times * 2.2
                    / (h.times + 1.2 * (0.25 + 0.75 * h.size / :length::float8))) AS score
  FROM matches('turn', :words::text[], :steps::float8[]) h GROUP BY h.doc)
SELECT f.doc, f.score, t.session, t.ordinal, t.occurred_at FROM found f JOIN turns t ON t.tenant = :tenant AND t.row = f.doc
WHERE t.owner = :owner
  {turn_filter}
ORDER BY f.score DESC, f.doc LIMIT :limit;

-- name: holding
SELECT word, count(*) FROM matches(:tier, :words::text[], :steps::float8[]) GROUP BY word;

-- name: size
SELECT rows, words, vectored, vectors FROM indexed WHERE tenant = :tenant AND owner = :owner AND tier = :tier;

-- The nearest documents: exactly, over all of the owner's vectors of the tier.
-- name: nearest
SELECT doc, CASE WHEN said IS NULL THEN heard WHEN heard IS NULL THEN said
                 ELSE (1 - :weaker) * greatest(said, heard) + :weaker * least(said, heard) END AS score
FROM (
  SELECT doc, max(cosine) FILTER (WHERE by_user) AS said, max(cosine) FILTER (WHERE NOT by_user) AS heard
  FROM (SELECT doc, by_user, 1 - (vector <=> :query::halfvec) AS cosine FROM vectors
        WHERE tenant = :tenant AND owner = :owner AND tier = :tier OFFSET 0) v GROUP BY doc
) d ORDER BY score DESC, doc LIMIT :limit;

-- The nearest documents of one tier with one vector each.
-- name: nearest_plain
SELECT doc, 1 - (vector <=> :query::halfvec) AS score FROM vectors
WHERE tenant = :tenant AND owner = :owner AND tier = :tier
ORDER BY (vector <=> :query::halfvec) + 0.0, doc LIMIT :limit;

-- name: cosines
SELECT doc, CASE WHEN said IS NULL THEN heard WHEN heard IS NULL THEN said
                 ELSE (1 - :weaker) * greatest(said, heard) + :weaker * least(said, heard) END AS score
FROM (
  SELECT doc, max(cosine) FILTER (WHERE by_user) AS said, max(cosine) FILTER (WHERE NOT by_user) AS heard
  FROM (SELECT doc, by_user, 1 - (vector <=> :query::halfvec) AS cosine FROM vectors
        WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[])) v GROUP BY doc
) d;

-- name: vectors
SELECT doc, halfvec_send(vector) FROM vectors
WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND doc = ANY (:docs::bigint[]) ORDER BY doc, place;

-- name: allowed_memory
SELECT m.row, 0, 0, m.occurred_at FROM memories m
WHERE m.tenant = :tenant AND m.row = ANY (:docs::bigint[]) AND m.owner = :owner
  {memory_filter};

-- name: allowed_gist
SELECT g.row, g.session, 0, g.occurred_at FROM gists g
WHERE g.tenant = :tenant AND g.row = ANY (:docs::bigint[]) AND g.owner = :owner
  {gist_filter};

-- name: allowed_turn
SELECT t.row, t.session, t.ordinal, t.occurred_at FROM turns t
WHERE t.tenant = :tenant AND t.row = ANY (:docs::bigint[]) AND t.owner = :owner
  {turn_filter};

-- name: around
SELECT t.row, t.chars,
       (SELECT b.row FROM turns b WHERE b.tenant = t.tenant AND b.session = t.session AND b.ordinal = t.ordinal - 1),
       (SELECT a.row FROM turns a WHERE a.tenant = t.tenant AND a.session = t.session AND a.ordinal = t.ordinal + 1)
FROM turns t WHERE t.tenant = :tenant AND t.row = ANY (:docs::bigint[]) AND t.owner = :owner
  AND (:any_project OR t.project IS NULL OR t.project = :scope_project::bigint);

-- name: documents_memory
SELECT {memory} FROM memory_rows WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: documents_gist
SELECT row, session_id, project_name, content, occurred_at FROM gist_rows
WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: documents_turn
SELECT row, key, session_id, project_name, occurred_at, ordinal FROM turn_rows
WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: turn_events
SELECT turn, {speaker}, text, text_hash FROM events
WHERE tenant = :tenant AND turn = ANY (:docs::bigint[]) AND owner = :owner AND {spoken} ORDER BY turn, position;

-- name: visible_memory
SELECT row FROM memories WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: visible_gist
SELECT row FROM gists WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: visible_turn
SELECT row FROM turns WHERE tenant = :tenant AND row = ANY (:docs::bigint[]) AND owner = :owner AND {visible};

-- name: session_row
SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id;
