-- Looking through sessions: those that were started from one, what was read of its transcripts, and what came lately.

CREATE INDEX sessions_by_parent ON sessions (owner, parent) WHERE parent IS NOT NULL;
CREATE INDEX transcripts_by_session ON transcripts (owner, session) WHERE session IS NOT NULL;
CREATE INDEX gists_by_making ON gists (owner, created_at);
CREATE INDEX injections_by_time ON injections (owner, at);
