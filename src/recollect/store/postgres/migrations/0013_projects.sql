-- Memories of one project by time: few of very many are found as soon as many.

CREATE INDEX memories_by_project ON memories (tenant, owner, project, occurred_at DESC, id) WHERE project IS NOT NULL;
