-- Whose a row is says of which tenant it is. Without knowing that, the planner takes an owner's rows for as few as if the two
-- had nothing to do with each other, and reads all of them where it should look up one.

CREATE STATISTICS IF NOT EXISTS memories_owners (dependencies) ON tenant, owner FROM memories;
CREATE STATISTICS IF NOT EXISTS gists_owners (dependencies) ON tenant, owner FROM gists;
CREATE STATISTICS IF NOT EXISTS turns_owners (dependencies) ON tenant, owner FROM turns;
CREATE STATISTICS IF NOT EXISTS events_owners (dependencies) ON tenant, owner FROM events;
CREATE STATISTICS IF NOT EXISTS sessions_owners (dependencies) ON tenant, owner FROM sessions;
CREATE STATISTICS IF NOT EXISTS vectors_owners (dependencies) ON tenant, owner FROM vectors;
ANALYZE memories, gists, turns, events, sessions, vectors;
