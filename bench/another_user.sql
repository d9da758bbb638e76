-- A copy of the benchmark user's memories, words and vectors for another user of another tenant.
WITH me AS (SELECT row AS owner FROM owners WHERE tenant = 'bench' AND username = 'us'),
other AS (INSERT INTO owners (tenant, username) VALUES ('tenant-{number}', 'user') RETURNING row),
numbered AS (SELECT m.row AS old, nextval('numbers') AS new FROM memories m, me WHERE m.tenant = 'bench' AND m.owner = me.owner),
copied AS (
  INSERT INTO memories (tenant, owner, row, id, kind, content, why, tags, importance, confidence, origin, evidence, anchors,
    meta, dedup_key, content_hash, occurred_at, recorded_at, trust, maker)
  SELECT 'tenant-{number}', other.row, n.new, m.id, m.kind, m.content, m.why, m.tags, m.importance, m.confidence, m.origin,
    m.evidence, m.anchors, m.meta, m.dedup_key, m.content_hash, m.occurred_at, m.recorded_at, m.trust, m.maker
  FROM memories m, me, other, numbered n WHERE m.tenant = 'bench' AND m.owner = me.owner AND n.old = m.row),
said AS (
  INSERT INTO words (tenant, owner, tier, doc, size, search)
  SELECT 'tenant-{number}', other.row, w.tier, n.new, w.size,
    replace(w.search::text, 'm' || me.owner || 'x', 'm' || other.row || 'x')::tsvector
  FROM words w, me, other, numbered n WHERE w.tenant = 'bench' AND w.owner = me.owner AND n.old = w.doc)
INSERT INTO vectors (tenant, owner, tier, doc, place, by_user, model, vector)
SELECT 'tenant-{number}', other.row, v.tier, n.new, v.place, v.by_user, v.model, v.vector
FROM vectors v, me, other, numbered n WHERE v.tenant = 'bench' AND v.owner = me.owner AND n.old = v.doc
