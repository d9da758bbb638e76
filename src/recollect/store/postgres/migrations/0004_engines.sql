-- What a vector engine beside the store has not followed yet. Written only while one is in use.
CREATE TABLE engine_changes (
  tenant text NOT NULL COLLATE "C",
  owner  bigint NOT NULL,
  tier   text NOT NULL COLLATE "C",
  doc    bigint NOT NULL,
  ticket bigint NOT NULL,             -- another one each time the vectors change: what was followed before does not count
  PRIMARY KEY (tenant, owner, tier, doc)
) {partitioned};
