"""The approximate index over vectors: made by the owner of the tables once somebody has more than can be compared.

It holds the vectors of one model, of every owner. Search asks it only for owners who have a good share of it; how that
is decided stands in search.py. Making it does not stop anybody from writing.
"""

from __future__ import annotations

from typing import Any

import psycopg
from psycopg import sql

from recollect.store.postgres.schema import SCHEMA, search_path
from recollect.store.postgres.search import EXACT

_ACTIVE = "SELECT m.row, m.dim FROM meta JOIN models m ON m.row = meta.value::bigint WHERE meta.key = 'embedding_model'"
_LARGEST = "SELECT coalesce(max(vectors), 0) FROM indexed"
_INDEXES = """
SELECT n.relname, i.indisvalid FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid
WHERE i.indrelid = 'vectors'::regclass AND n.relname LIKE 'vectors\\_hnsw\\_%'
"""
_MAKE = """
CREATE INDEX {concurrently} {name} ON vectors USING hnsw ((vector::halfvec({dim})) halfvec_cosine_ops)
WITH (m = 16, ef_construction = 100) WHERE model = {model}
"""


def make_index(connection: psycopg.Connection[Any], *, exact: int = EXACT) -> str | None:
    """Make the index of the active model if an owner needs it, and drop those of other models; returns its name.

    `connection` is the table owner's, in autocommit.
    """
    connection.execute(search_path(connection))
    active = connection.execute(_ACTIVE).fetchone()
    wanted = f"vectors_hnsw_{active[0]}" if active else None
    known = dict(connection.execute(_INDEXES).fetchall())
    for name, valid in known.items():
        if name != wanted or not valid:  # of another model, or left by a build that was interrupted
            connection.execute(sql.SQL("DROP INDEX {}").format(sql.Identifier(SCHEMA, name)))
    if active is None or wanted is None or known.get(wanted):
        return wanted if known.get(wanted or "") else None
    largest = connection.execute(_LARGEST).fetchone()
    if largest is None or largest[0] <= exact:
        return None
    partitioned = connection.execute("SELECT relkind = 'p' FROM pg_class WHERE oid = 'vectors'::regclass").fetchone()
    connection.execute(
        sql.SQL(_MAKE).format(
            concurrently=sql.SQL("" if partitioned == (True,) else "CONCURRENTLY"),
            name=sql.Identifier(wanted),
            dim=sql.Literal(active[1]),
            model=sql.Literal(active[0]),
        )
    )
    connection.execute("ANALYZE vectors")
    return wanted
