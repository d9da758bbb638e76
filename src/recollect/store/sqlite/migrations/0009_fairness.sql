-- Texts that wait for a vector are taken some of each owner's.

CREATE INDEX pending_by_owner ON pending (tier, owner, doc);
