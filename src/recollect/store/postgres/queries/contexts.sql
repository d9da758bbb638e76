-- Contexts that several people share: who is a member, and what was proposed.

-- name: role
SELECT m.role, c.reviewed FROM members m JOIN contexts c ON c.tenant = m.tenant AND c.owner = m.owner
WHERE m.tenant = :tenant AND m.owner = :owner AND m.member_tenant = :member_tenant AND m.member = :member AND m.joined_at IS NOT NULL;

-- name: add
INSERT INTO contexts (tenant, owner, name, reviewed, own_approval, made_at)
VALUES (:tenant, :owner, :name, :reviewed, :own_approval, :made_at) ON CONFLICT DO NOTHING RETURNING owner;

-- name: get
SELECT c.name, c.reviewed, c.own_approval, c.made_at, m.role, m.added_by, m.added_at, m.joined_at
FROM contexts c LEFT JOIN members m ON m.tenant = c.tenant AND m.owner = c.owner AND m.member_tenant = :member_tenant AND m.member = :member
WHERE c.tenant = :tenant AND c.owner = :owner;

-- name: mine
SELECT context, name, reviewed, own_approval, made_at, role, added_by, added_at, joined_at FROM memberships();

-- name: members
SELECT member_tenant, member, role, added_by, added_at, joined_at FROM members
WHERE tenant = :tenant AND owner = :owner ORDER BY member_tenant, member;

-- name: put_member
INSERT INTO members (tenant, owner, member_tenant, member, role, added_by, added_at, joined_at)
VALUES (:tenant, :owner, :member_tenant, :member, :role, :added_by, :added_at, :joined_at)
ON CONFLICT (tenant, owner, member_tenant, member) DO UPDATE SET role = excluded.role;

-- name: join
UPDATE members SET joined_at = :at
WHERE tenant = :tenant AND owner = :owner AND member_tenant = :member_tenant AND member = :member AND joined_at IS NULL;

-- name: drop_member
DELETE FROM members WHERE tenant = :tenant AND owner = :owner AND member_tenant = :member_tenant AND member = :member RETURNING 1;

-- name: other_admins
SELECT count(*) FROM members
WHERE tenant = :tenant AND owner = :owner AND role = 'admin' AND joined_at IS NOT NULL
  AND NOT (member_tenant = :member_tenant AND member = :member);

-- name: propose
INSERT INTO proposals (tenant, owner, id, source, project, kind, content, why, tags, importance, origin, trust, maker, evidenced,
                       occurred_at, reason, proposed_tenant, proposed_by, proposed_at, state)
VALUES (:tenant, :owner, :id, :source, :project, :kind, :content, :why, :tags, :importance, :origin, :trust, :maker, :evidenced,
        :occurred_at, :reason, :member_tenant, :member, :at, 'open');

-- name: open_of
SELECT count(*) FROM proposals
WHERE tenant = :tenant AND owner = :owner AND state = 'open' AND proposed_tenant = :member_tenant AND proposed_by = :member;

-- name: same
SELECT id FROM proposals
WHERE tenant = :tenant AND owner = :owner AND source = :source AND state IN ('open', 'approved')
  AND proposed_tenant = :member_tenant AND proposed_by = :member AND content = :content
ORDER BY row DESC LIMIT 1;

-- name: proposal
SELECT {proposal_columns} FROM proposals WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: proposals
SELECT {proposal_columns} FROM proposals
WHERE tenant = :tenant AND owner = :owner AND (:state::text IS NULL OR state = :state)
  AND (:all OR (proposed_tenant = :member_tenant AND proposed_by = :member))
ORDER BY row DESC LIMIT :limit OFFSET :offset;

-- name: decide
UPDATE proposals SET state = :state, decided_by = :decided_by, decided_at = :at, decision = :decision, edited = :edited,
  memory = :memory
WHERE tenant = :tenant AND owner = :owner AND id = :id AND state = 'open';

-- name: withdraw
UPDATE proposals SET state = 'withdrawn', withdrawn_by = :withdrawn_by, withdrawn_at = :at, content = '', why = NULL, tags = '[]',
  reason = NULL
WHERE tenant = :tenant AND owner = :owner AND id = :id;

-- name: drop_proposals
DELETE FROM proposals WHERE tenant = :tenant AND owner = :owner;

-- name: drop_members
DELETE FROM members WHERE tenant = :tenant AND owner = :owner;

-- name: drop
DELETE FROM contexts WHERE tenant = :tenant AND owner = :owner;
