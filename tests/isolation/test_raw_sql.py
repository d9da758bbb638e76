"""P33, P34, P37, T10–T12: somebody who can run any SQL in their own transaction gets at nobody else's row.

This is the last line: the application's own queries name the owner too. What it stands against is a query that forgot
to. (Whoever can run SQL of their choice can also say that they are somebody else: that is kept from them by binding
every value.)
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Json

from tests.isolation.leaks import alternating, looked, relations, seen, told, touched
from tests.isolation.seeded import MADE, NOBODY, OWNERS, TABLES, Seeded, put, row_of

DENIED = "42501"


def test_every_table_of_the_schema_is_tried(base: Seeded) -> None:
    with base.owning() as connection:
        found = {name for name, is_part, kind in relations(connection) if kind in "rp" and not is_part}
        assert found == set(MADE)
        for name in TABLES:
            assert row_of(connection, name, base.owners["bob"]), "everybody has a row everywhere"
    assert len(TABLES) >= 22


@pytest.mark.parametrize("who", OWNERS)
def test_everybody_sees_their_own_row_in_every_table_and_no_other(base: Seeded, who: str) -> None:
    assert seen(base, who) == []


def test_without_saying_for_whom_nothing_is_seen(base: Seeded) -> None:
    assert seen(base, None) == []


@pytest.mark.parametrize("who", OWNERS)
def test_nothing_of_others_can_be_changed_or_taken_away(base: Seeded, who: str) -> None:
    assert touched(base, who) == []


def test_without_saying_for_whom_nothing_can_be_written(base: Seeded) -> None:
    for table in TABLES:
        with base.owning() as connection:
            row = row_of(connection, table, base.owners["ann"])
        with base.using(None) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            put(connection, table, _as_text(row))


def _as_text(row: dict[str, object], **changes: object) -> dict[str, object]:
    """A row as it can be inserted again."""
    values = {**row, **changes}
    return {name: _literal(value) for name, value in values.items() if value is not None}


def _literal(value: object) -> object:
    if isinstance(value, list | dict):
        return str(value).replace("'", '"')
    return value


def _fresh(table: str, row: dict[str, object], **changes: object) -> dict[str, object]:
    """The row with other values in every key, so that nothing of one's own is in the way."""
    new: dict[str, object] = {}
    for name, value in row.items():
        if name in ("row", "doc", "ordinal", "position", "place", "version", "number", "session", "memory", "event"):
            new[name] = f"{value}x" if isinstance(value, str) else int(str(value)) + 5000
        elif name in ("id", "name", "key", "hash", "username", "member", "day", "dedup_key") and value is not None:
            new[name] = f"{value}x" if isinstance(value, str) else bytes(value) + b"x"  # type: ignore[call-overload]
    return _as_text({**row, **new}, **changes)


@pytest.mark.parametrize("table", TABLES)
def test_no_row_can_be_made_for_somebody_else(base: Seeded, table: str) -> None:
    """For one of the same tenant, of another one, and for one that does not exist: the same words."""
    me = base.owners["ann"]
    with base.owning() as connection:
        row = row_of(connection, table, me)
    key, names = ("username", ["bob", "ann", "nobody"]) if table == "owners" else ("owner", [2, 3, NOBODY])
    answers = set()
    for tenant, owner in zip(["acme", "other", "acme"], names, strict=True):
        row.pop("row", None) if table == "owners" else None
        values = _as_text(row, tenant=tenant, **{key: owner})
        answers.add(told(base, "ann", _insert(table, values)))
    assert {state for state, _ in answers} == {DENIED}
    assert len(answers) == 1, "whether they exist is not told"


@pytest.mark.parametrize("table", TABLES)
def test_no_row_can_be_given_away(base: Seeded, table: str) -> None:
    answers = set()
    for tenant, owner in (("acme", 2), ("other", 3), ("acme", NOBODY)):
        setting = {"tenant": tenant, **({} if table == "owners" else {"owner": owner})}
        pairs = [sql.SQL("{} = {}").format(sql.Identifier(name), sql.Literal(value)) for name, value in setting.items()]
        text = sql.SQL("UPDATE {} SET {}").format(sql.Identifier(table), sql.SQL(", ").join(pairs))
        answers.add(told(base, "ann", text))
    assert {state for state, _ in answers} == {DENIED}
    assert len(answers) == 1


def _insert(table: str, values: dict[str, object], end: str = "") -> sql.Composed:
    return sql.SQL("INSERT INTO {} ({}) VALUES ({}) {}").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, values)),
        sql.SQL(", ").join(map(sql.Literal, values.values())),
        sql.SQL(end),  # type: ignore[arg-type]
    )


# -- constraints are no oracle ----------------------------------------------------------------------------------------

_KEYS = """
SELECT c.relname, i.relname, array_agg(a.attname::text ORDER BY k.at) FROM pg_index x
JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY k (number, at)
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.number
WHERE c.relnamespace = 'recollect'::regnamespace AND x.indisunique GROUP BY 1, 2 ORDER BY 1, 2
"""
_REFERENCES = """
SELECT k.conrelid::regclass::text, k.confrelid::regclass::text,
  (SELECT array_agg(a.attname::text ORDER BY u.at) FROM unnest(k.conkey) WITH ORDINALITY u (number, at)
   JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attnum = u.number)
FROM pg_constraint k WHERE k.contype = 'f' AND k.connamespace = 'recollect'::regnamespace ORDER BY 1, 2
"""


def test_every_key_and_reference_begins_with_tenant_and_owner(base: Seeded) -> None:
    """P37."""
    with base.owning() as connection:
        keys = connection.execute(_KEYS).fetchall()
        references = connection.execute(_REFERENCES).fetchall()
    own = [(table, columns) for table, _, columns in keys if table in TABLES]
    assert len(own) > 30
    begun = {"owners": (["tenant", "row"], ["tenant", "username"])}
    assert [one for one in own if one[1][:2] not in begun.get(one[0], (["tenant", "owner"],))] == []
    assert len(references) > 10
    assert [one for one in references if one[2][:2] != ["tenant", "owner"]] == []


@pytest.mark.parametrize("table", sorted(set(TABLES) - {"owners"}))
def test_what_others_have_is_in_nobodys_way(base: Seeded, table: str) -> None:
    """P37: with every key of another's row, only the owner one's own, it is as if theirs were not there."""
    with base.owning() as connection:
        mine, theirs = row_of(connection, table, base.owners["ann"]), row_of(connection, table, base.owners["bob"])
        connection.execute("BEGIN")
        connection.execute("SET LOCAL session_replication_role = replica")  # only keys are asked, not references
        connection.execute("SELECT * FROM enter('acme', 'ann', NULL, false, false)")
        values = _as_text(theirs, tenant=mine["tenant"], owner=mine["owner"])
        if list(values) != ["tenant", "owner"] and set(values) - {"tenant", "owner"}:
            connection.execute(sql.SQL("DELETE FROM {} WHERE owner = 1").format(sql.Identifier(table)))
        connection.execute("SET LOCAL ROLE recollect_app")
        connection.execute(_insert(table, values))
        connection.execute("ROLLBACK")


def test_a_name_that_is_taken_is_refused_like_one_that_is_free(base: Seeded) -> None:
    """P37: a user cannot find out who else there is by trying to be them."""
    for end in ("", "ON CONFLICT DO NOTHING", "ON CONFLICT (tenant, username) DO UPDATE SET tenant = excluded.tenant"):
        answers = {
            told(base, "ann", _insert("owners", {"tenant": tenant, "username": name}, end))
            for tenant, name in (("acme", "bob"), ("acme", "nobody"), ("other", "ann"), ("nowhere", "ann"))
        }
        assert {state for state, _ in answers} == {DENIED}
        assert len(answers) == 1
    taken = told(base, "ann", _insert("owners", {"tenant": "acme", "username": "ann", "row": 2}))
    free = told(base, "ann", _insert("owners", {"tenant": "acme", "username": "ann", "row": NOBODY}))
    assert taken == free, "nor by which numbers are taken"
    assert taken[0] == DENIED


def test_what_others_have_cannot_be_referred_to(base: Seeded) -> None:
    """P37: a number of another's project, session, turn … is refused in the words for one that nothing has."""
    me = base.owners["ann"]
    tried = 0
    with base.owning() as connection:
        references = [(t, columns[-1]) for t, _, columns in connection.execute(_REFERENCES) if len(columns) > 2]
        rows = {table: row_of(connection, table, me) for table, _ in references}
    for table, column in references:
        answers = []
        for number in (base.owners["bob"].key, base.owners["eve"].key, NOBODY):
            state, text = told(base, "ann", _insert(table, _fresh(table, rows[table], **{column: number})))
            answers.append((state, text.replace(str(number), "N")))
        assert {state for state, _ in answers} == {"23503"}, (table, column, answers)
        assert len(set(answers)) == 1
        tried += 1
    assert tried >= 10


# -- everything else SQL can do ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "TRUNCATE memories",
        "TRUNCATE owners CASCADE",
        "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
        "ALTER TABLE memories NO FORCE ROW LEVEL SECURITY",
        "CREATE POLICY open ON memories USING (true)",
        "DROP POLICY own ON memories",
        "ALTER POLICY own ON memories USING (true)",
        "CREATE TABLE recollect.mine AS SELECT * FROM memories",
        "CREATE VIEW recollect.mine AS SELECT * FROM memories",
        "CREATE FUNCTION recollect.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE OR REPLACE FUNCTION recollect.current_owner() RETURNS bigint LANGUAGE sql AS 'SELECT 2'",
        "CREATE TRIGGER t BEFORE INSERT ON memories FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
        "CREATE RULE r AS ON SELECT TO memories DO INSTEAD SELECT 1",
        "CREATE TABLE pg_temp.r (t text, o bigint, p bigint, REFERENCES recollect.projects)",
        "ALTER FUNCTION every_owner() SECURITY INVOKER",
        "ALTER ROLE recollect_app BYPASSRLS",
        "SET ROLE recollect_backup",
        "SET ROLE postgres",
        "SET SESSION AUTHORIZATION postgres",
        "SET session_replication_role = replica",
        "COPY memories TO '/tmp/stolen'",
        "COPY memories TO PROGRAM 'cat'",
        "SELECT search FROM words",
        "SELECT * FROM words",
        "UPDATE words SET size = 0",
        "UPDATE audit SET action = 'nothing'",
        "DELETE FROM audit",
        "UPDATE owners SET username = 'bob'",
        "DELETE FROM owners",
        "SELECT last_value FROM numbers",
        "SELECT setval('numbers', 1)",
        "SELECT * FROM pg_statistic",
        "SELECT pg_read_file('postgresql.conf')",
        "SELECT lo_import('/etc/passwd')",
        "LOCK TABLE owners IN ACCESS EXCLUSIVE MODE",
        "DROP SCHEMA recollect CASCADE",
    ],
)
def test_the_application_cannot(base: Seeded, statement: str) -> None:
    state, text = told(base, "ann", statement)
    assert state in (DENIED, "42601"), text
    assert not any(owner.canary in text for owner in base.owners.values())


def test_switching_the_policies_off_for_oneself_is_an_error(base: Seeded) -> None:
    with base.using("ann") as connection:
        connection.execute("SET LOCAL row_security = off")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute("SELECT * FROM memories")


def test_copying_out_gives_ones_own_rows_and_copying_in_nothing(base: Seeded) -> None:
    with base.using("ann") as connection:
        for table in sorted(set(TABLES) - {"words"}):
            text = sql.SQL("COPY {} TO STDOUT").format(sql.Identifier(table))
            with connection.cursor().copy(text) as copy:
                lines = [bytes(block).decode() for block in copy]
            assert len(lines) == 1
            assert not any(base.owners[name].canary in lines[0] for name in ("bob", "eve"))
        with pytest.raises(psycopg.errors.FeatureNotSupported), connection.cursor().copy("COPY injected FROM STDIN"):
            pass


def test_a_careless_function_is_not_shown_others_rows(base: Seeded) -> None:
    """What might tell what it is given runs after the policies: dividing by zero, and a function that says it aloud."""
    heard: list[str] = []
    with base.using("ann") as connection:
        connection.add_notice_handler(lambda notice: heard.append(str(notice.message_primary)))
        connection.execute(
            "CREATE FUNCTION pg_temp.aloud(t text) RETURNS boolean COST 0.0001 LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE NOTICE '%', t; RETURN true; END $$"
        )
        for relation, column in (("memories", "content"), ("memory_rows", "content"), ("sessions", "id")):
            heard.clear()
            place = {"r": sql.Identifier(relation), "c": sql.Identifier(column)}
            connection.execute(sql.SQL("SELECT * FROM {r} WHERE pg_temp.aloud({c})").format(**place))
            assert heard == ["canaryann"], relation
            text = "SELECT * FROM {r} WHERE 1 / (CASE WHEN {c} LIKE '%canarybob%' THEN 0 ELSE 1 END) = 1"
            connection.execute(sql.SQL(text).format(**place))


def test_what_the_planner_knows_of_values_is_not_shown(base: Seeded) -> None:
    with base.using("ann") as connection:
        for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
            found = connection.execute(
                sql.SQL(
                    "SELECT * FROM {} WHERE schemaname = 'recollect' AND tablename NOT IN ('meta', 'models')"
                ).format(sql.Identifier(view))
            )
            assert found.fetchall() == []
    with base.owning() as connection:
        found = connection.execute("SELECT count(*) FROM pg_stats WHERE schemaname = 'recollect'").fetchone()
        assert found is not None
        assert found[0] > 50, "there would be something to show"


def test_functions_that_look_over_owners_answer_nobody_who_works_for_one(base: Seeded) -> None:
    asked = (
        "SELECT * FROM every_owner()",
        "SELECT * FROM waiting('memory', 100)",
        "SELECT * FROM waiting('canaryann', 100)",
        "SELECT * FROM whose('canarybob', ARRAY[1001, 1002, 1003])",
        "SELECT * FROM totals()",
        "SELECT * FROM key_of('canaryann')",
        "SELECT * FROM key_of('canarybob')",
    )
    with base.using("ann") as connection:
        for text in asked:
            assert connection.execute(text).fetchall() == [], text
    with base.using(None) as connection:
        assert len(connection.execute("SELECT * FROM every_owner()").fetchall()) == 3, "the store itself can ask"


CRAFTED = [
    ("memory", "canarybob"),
    ("memory", "2xcanarybob"),
    ("m2", "canarybob"),
    ("m2x", "canarybob"),
    ("memory", "canarybob~1"),
    ("memory", "x' | 'm2xcanarybob"),
    ("memory", "x'' | ''m2xcanarybob"),
    ("memory", "\\' | 'm2xcanarybob~1"),
    ("memory", "x~1' | 'm2xcanarybob"),
    ("memory", "canarybob':*"),
    ("memory", ":*"),
    ("memory", "!canaryann"),
    ("", "m2xcanarybob"),
    ("%", "%"),
    ("memory", "~"),
    ("memory", "'"),
    ("memory", "\\"),
    ("memory", ""),
]


@pytest.mark.parametrize(("tier", "word"), CRAFTED, ids=ascii)
def test_no_crafted_word_finds_what_others_wrote(base: Seeded, tier: str, word: str) -> None:
    text = "SELECT doc FROM matches(%s, %s, %s)"
    for who, key in (("ann", 1001), ("eve", 1003)):
        with base.using(who) as connection, suppress(psycopg.errors.SyntaxError):
            assert {doc for (doc,) in connection.execute(text, (tier, [word], [1.0, 9.0]))} <= {key}


@pytest.mark.parametrize("word", [word for tier, word in CRAFTED if tier == "memory"], ids=ascii)
def test_no_crafted_tag_finds_what_others_wrote(base: Seeded, word: str) -> None:
    for who, key in (("ann", 1001), ("eve", 1003)):
        with base.using(who) as connection, suppress(psycopg.errors.SyntaxError):
            found = connection.execute("SELECT doc FROM tagged(%s, 9) t (doc)", (Json([[word], [word, "x"]]),))
            assert {doc for (doc,) in found} <= {key}
    with base.using("bob") as connection:
        found = connection.execute("SELECT doc FROM tagged(%s, 9) t (doc)", (Json([["canarybob"]]),))
        assert found.fetchall() == [(1002,)], "else this would show nothing"


@pytest.mark.parametrize("seen", [-1, 0])
def test_nobody_is_given_the_words_of_others(base: Seeded, seen: int) -> None:
    text, names = "SELECT doc FROM words_since(%s, %s) WHERE words IS NOT NULL", ("ann", "bob", "eve")
    for who in (*names, None):
        for whose, key in zip(names, (1001, 1002, 1003), strict=True):
            with base.using(who) as connection:  # each owner's row is of a tier that is called like their canary
                given = connection.execute(text, (f"canary{whose}", seen)).fetchall()
            assert given == ([(key,)] if who == whose else [])


def test_one_finds_ones_own_word(base: Seeded) -> None:
    """Else the test above would show nothing."""
    with base.using("bob") as connection:
        assert connection.execute("SELECT doc FROM matches('memory', '{canarybob}', '{1}')").fetchall() == [(1002,)]
    with base.using(None) as connection:
        assert connection.execute("SELECT doc FROM matches('memory', '{canarybob}', '{1}')").fetchall() == []


def test_a_broken_rule_is_told_without_anything_of_others(base: Seeded) -> None:
    """Nor of one's own: errors travel further than rows."""
    me = base.owners["ann"]
    with base.owning() as connection:
        rows = {table: row_of(connection, table, me) for table in TABLES}
    said = []
    for table, row in rows.items():
        for changes in ({}, {"kind": "nonsense"}, {"importance": 7}, {"role": "nonsense"}):
            if set(changes) <= set(row):
                said.append(told(base, "ann", _insert(table, _as_text(row, **changes))))
    assert {state for state, _ in said} >= {"23505", "23514"}
    assert "canary" not in repr(said), "on tables with policies PostgreSQL leaves the row out"


@pytest.mark.parametrize("mode", ["auto", "force_generic_plan", "force_custom_plan"])
def test_prepared_statements_do_not_remember_for_whom_they_were_planned(base: Seeded, mode: str) -> None:
    """P38."""
    with base.using(None) as connection:
        connection.prepare_threshold = 0
        connection.execute(sql.SQL("SET plan_cache_mode = {}").format(sql.Identifier(mode)))
        connection.commit()
        assert alternating(connection, 40) == []


def test_an_owner_cannot_be_taken_over_within_a_transaction_by_their_number(base: Seeded) -> None:
    """`enter` takes names and looks the number up itself; a name nobody has leaves the transaction with nothing."""
    with base.using("ann") as connection:
        connection.execute("SELECT * FROM enter('acme', 'nobody', NULL, false, false)")
        assert all(looked(connection, name) == [] for name in TABLES)


def test_a_row_is_seen_by_its_owner_even_under_a_number_that_others_have(base: Seeded) -> None:
    """The owner's number alone is not enough: the tenant must be theirs too."""
    eve = base.owners["eve"]
    twin = replace(eve, number=base.owners["ann"].number)
    with base.owning() as connection:
        connection.execute("BEGIN")
        connection.execute("SET LOCAL session_replication_role = replica")
        row: dict[str, Any] = row_of(connection, "injected", eve)
        put(connection, "injected", _as_text(row, owner=twin.number))
        connection.execute("SELECT * FROM enter('acme', 'ann', NULL, false, false)")
        connection.execute("SET LOCAL ROLE recollect_app")
        found = connection.execute("SELECT tenant FROM injected").fetchall()
        connection.execute("ROLLBACK")
    assert found == [("acme",)]
