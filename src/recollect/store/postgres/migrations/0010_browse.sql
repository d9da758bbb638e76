-- Looking through sessions: those that were started from one, what was read of its transcripts, and what came lately.

CREATE INDEX sessions_by_parent ON sessions (tenant, owner, parent) WHERE parent IS NOT NULL;
CREATE INDEX transcripts_by_session ON transcripts (tenant, owner, session) WHERE session IS NOT NULL;
CREATE INDEX gists_by_making ON gists (tenant, owner, created_at);
CREATE INDEX injections_by_time ON injections (tenant, owner, at);
