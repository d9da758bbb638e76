-- The two legs of recall, and the rows behind what they find.

-- By words alone: the words are the owner's, so are the documents. The filter comes after, as for vectors (`allowed`): of
-- thousands that share a word few are read.
-- name: words
{bm25};

-- name: holding
SELECT word, count(*) FROM matches(:tier, :words::text[], NULL) GROUP BY word;

-- The same where nobody knows yet how many hold each word: they are looked up once, to be counted and to be compared. Words
-- that more than :most hold are left out, and all but the :rarest. The counts come along, each as minus its word's place.
-- name: words_counted
WITH m AS MATERIALIZED (SELECT * FROM matches(:tier, :words::text[], :steps::float8[])),
n AS MATERIALIZED (SELECT word, least(count(*), :size::bigint) AS held FROM m GROUP BY word),
k AS MATERIALIZED (
  SELECT word, greatest(1e-6, ln((:size::float8 - held + 0.5) / (held + 0.5))) AS weight FROM n
  WHERE held <= :most ORDER BY held, word LIMIT :rarest),
best AS (
  SELECT m.doc, sum(k.weight * m.times * 2.2 / (m.times + 1.2 * (0.25 + 0.75::float8 * m.size / :length::float8))) AS score
  FROM m JOIN k USING (word) GROUP BY m.doc ORDER BY score DESC, m.doc LIMIT :look)
SELECT doc, score FROM best UNION ALL SELECT -word, held FROM n;

-- name: size
SELECT rows FROM indexed WHERE tenant = :tenant AND owner = :owner AND tier = :tier;

-- name: sizes
SELECT tier, rows, words, vectored, vectors, stamp, server, worded FROM sizes();

-- What changed since a stamp, in one statement and so of one moment: three rows that have no vector (the stamp now, the one
-- after which some were gone, how many documents there are) and the vectors, in no order: to sort them takes the server
-- longer than whoever reads them. `stamp > 0` says nothing more, but that the index of stamps holds all of it: it is planned
-- once, whatever the stamp.
-- name: changed
{vectors_counted}
UNION ALL SELECT doc, place, by_user, vector FROM vectors
WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND stamp > :seen::bigint AND stamp > 0;

-- The same of all of them.
-- name: every_vector
{vectors_counted}
UNION ALL SELECT doc, place, by_user, vector FROM vectors WHERE tenant = :tenant AND owner = :owner AND tier = :tier;

-- As of which stamp, and which documents have vectors.
-- name: vectored
SELECT i.stamp, (SELECT string_agg(int8send(doc), ''::bytea) FROM vectors
                 WHERE tenant = :tenant AND owner = :owner AND tier = :tier)
FROM indexed i WHERE i.tenant = :tenant AND i.owner = :owner AND i.tier = :tier;

-- What changed of words since a stamp, in the same form; before the first: all of them.
-- name: words_changed
SELECT doc, size, words FROM words_since(:tier, :seen::bigint);

-- name: worded
SELECT i.worded, (SELECT string_agg(int8send(doc), ''::bytea) FROM words
                  WHERE tenant = :tenant AND owner = :owner AND tier = :tier)
FROM indexed i WHERE i.tenant = :tenant AND i.owner = :owner AND i.tier = :tier;

-- The nearest documents, exactly: all of the owner's vectors of the tier are compared.
-- name: nearest
SELECT doc, {both} AS score FROM (
  SELECT doc, max(cosine) FILTER (WHERE by_user) AS said, max(cosine) FILTER (WHERE NOT by_user) AS heard
  FROM (SELECT doc, by_user, 1 - (vector <=> :query::halfvec) AS cosine FROM vectors
        WHERE tenant = :tenant AND owner = :owner AND tier = :tier OFFSET 0) v GROUP BY doc
) d ORDER BY score DESC, doc LIMIT :limit;

-- The same where each document has one vector. `+ 0.0`: else the planner may take the approximate index by itself.
-- name: nearest_plain
SELECT doc, 1 - (vector <=> :query::halfvec) AS score FROM vectors
WHERE tenant = :tenant AND owner = :owner AND tier = :tier
ORDER BY (vector <=> :query::halfvec) + 0.0, doc LIMIT :limit;

-- The documents of the nearest vectors, by the approximate index: their scores are made from all of their vectors after.
-- The dimension and the model are written in (DIM, MODEL), as they are in the index.
-- name: nearby
SELECT doc FROM (
  SELECT doc, vector::halfvec(DIM) <=> :query::halfvec(DIM) AS distance FROM vectors
  WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND model = MODEL
  ORDER BY vector::halfvec(DIM) <=> :query::halfvec(DIM) LIMIT :limit
) v GROUP BY doc ORDER BY min(distance);

-- name: careful
SELECT set_config('hnsw.iterative_scan', 'strict_order', true), set_config('hnsw.ef_search', '200', true),
       set_config('hnsw.max_scan_tuples', '200000', true), set_config('enable_seqscan', 'off', true),
       set_config('enable_sort', 'off', true);

-- name: indexes
SELECT m.dim, m.row, c.reltuples::bigint FROM pg_class c JOIN models m ON m.row = (SELECT value::bigint FROM meta WHERE key = 'embedding_model')
WHERE c.oid = 'vectors'::regclass AND EXISTS (
  SELECT 1 FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid
  WHERE i.indrelid = c.oid AND i.indisvalid AND n.relname = 'vectors_hnsw_' || m.row);

-- What is given as a list is looked up one by one, by the key and nothing else, in a query of its own (OFFSET 0); whatever
-- else is asked of it is asked of what was found. Of a list, or with a condition that a smaller index has too, the planner
-- would rather read all of an owner's rows, which it takes for few.

-- name: cosines
SELECT doc, {both} AS score FROM (
  SELECT d.doc, max(v.cosine) FILTER (WHERE v.by_user) AS said, max(v.cosine) FILTER (WHERE NOT v.by_user) AS heard
  FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
    SELECT by_user, 1 - (vector <=> :query::halfvec) AS cosine FROM vectors
    WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND vectors.doc = d.doc OFFSET 0) v
  GROUP BY d.doc
) d;

-- name: vectors
SELECT d.doc, halfvec_send(v.vector) FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT vector, place FROM vectors
  WHERE tenant = :tenant AND owner = :owner AND tier = :tier AND vectors.doc = d.doc OFFSET 0) v
ORDER BY d.doc, v.place;

-- What of these the filter lets through.
-- name: allowed_memory
SELECT m.row, 0, 0, m.occurred_at FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM memories WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) m
WHERE true
  {memory_filter};

-- name: allowed_gist
SELECT g.row, g.session, 0, g.occurred_at FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM gists WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) g
WHERE true
  {gist_filter};

-- name: allowed_turn
SELECT t.row, t.session, t.ordinal, t.occurred_at FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM turns WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) t
WHERE true
  {turn_filter};

-- name: around
SELECT t.row, t.chars,
       (SELECT b.row FROM turns b WHERE b.tenant = t.tenant AND b.session = t.session AND b.ordinal = t.ordinal - 1),
       (SELECT a.row FROM turns a WHERE a.tenant = t.tenant AND a.session = t.session AND a.ordinal = t.ordinal + 1)
FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM turns WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) t
WHERE (:any_project OR t.project IS NULL OR t.project = :scope_project::bigint);

-- name: documents_memory
SELECT {memory} FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM memory_rows WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) m
WHERE {visible};

-- The whole question of who goes on asking: what `sessions.enter_to_ask` tells and what `documents_memory` reads.
-- name: ask_for_memories
SELECT asked_owner, asked_project, tier, rows, words, vectored, vectors, stamp, server, worded, {memory}
FROM ask_for_memories(:tenant, :username, :project, :by_tenant, :by_username, :docs::bigint[]);

-- name: documents_gist
SELECT row, session_id, project_name, content, occurred_at FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM gist_rows WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) g
WHERE {visible};

-- name: documents_turn
SELECT row, key, session_id, project_name, occurred_at, ordinal FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM turn_rows WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) t
WHERE {visible};

-- name: turn_events
SELECT turn, {speaker}, text, text_hash FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT * FROM events WHERE tenant = :tenant AND owner = :owner AND turn = d.doc OFFSET 0) e
WHERE {spoken} ORDER BY turn, position;

-- name: visible_memory
SELECT row FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT row, project FROM memories WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) m
WHERE {visible};

-- name: visible_gist
SELECT row FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT row, project FROM gists WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) g
WHERE {visible};

-- name: visible_turn
SELECT row FROM unnest(:docs::bigint[]) d (doc) CROSS JOIN LATERAL (
  SELECT row, project FROM turns WHERE tenant = :tenant AND owner = :owner AND row = d.doc OFFSET 0) t
WHERE {visible};

-- name: session_row
SELECT row FROM sessions WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: tagged
SELECT doc FROM tagged(:tags::json, :most::integer) AS t (doc);
