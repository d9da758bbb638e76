"""Single memories of an opened memory: looked at, said anew, confirmed, put away, forgotten, brought back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.facade.capturing import Capturing
from recollect.facade.learning import Learning
from recollect.model import Memory, MemoryVersion, check_id
from recollect.recall.asking import check_limit
from recollect.store.ports.keeping import Receipt

if TYPE_CHECKING:
    from recollect.recall.belief import Belief


class Changing(Capturing, Learning):
    """Reads and changes one memory at a time."""

    def memories(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]:
        """Memories, newest first, filtered like `recall`."""
        return self.store.memories.find(
            self.scope, self.filter(**filters), limit=check_limit(limit), offset=max(0, offset)
        )

    def forgotten(self, limit: int = 100, offset: int = 0, **filters: Any) -> list[Memory]:
        """What was softly forgotten and can be brought back, the latest first, filtered like `recall`."""
        where = self.filter(**{"archived": True, "history": True, **filters})
        return self.store.memories.forgotten(self.scope, where, limit=check_limit(limit), offset=max(0, offset))

    def versions(self, memory_id: str) -> list[MemoryVersion]:
        """How a memory read before, oldest first."""
        return self.store.memories.versions(self.scope, memory_id)

    def belief(self, memory_id: str, at: str | Path | None = None) -> Belief:
        """Why a memory is believed: the words it rests on, its history, what says otherwise; deleted ones too."""
        from recollect.pipeline.changing import found
        from recollect.recall.belief import belief

        memory = found(self.store, self.scope, memory_id, deleted=True)
        return replace(belief(self.store, self.scope, memory, self._look(at)), usage=self.usage(memory_id))

    def update(self, memory_id: str, *, expected_version: int | None = None, **changes: Any) -> Memory:
        """Change content, kind, why, tags, importance, confidence or expires_at; the old wording is kept.

        `archived` puts it away or back in the same step.
        """
        from recollect.pipeline.changing import changed, take_apart

        archived = changes.pop("archived", None)
        memory = self.get(memory_id)
        if memory.trust == "user" and changes.keys() & {"content", "kind", "why"}:
            self._require_speech()  # else anybody's words would come to be trusted as the user's
        if expected_version is not None:
            memory = replace(memory, version=expected_version)
        new = changed(memory, changes, self.settings)
        if archived is not None:
            new = replace(new, archived_at=self._clock() if archived else None)
        kept = self.store.memories.update(self.scope, new, at=self._clock(), note="update")
        if new.content != memory.content:
            take_apart(self.store, self.scope, kept, self._clock())
        self._changed()
        return kept

    def to_project(self, memory_id: str, project: str | None, *, expected_version: int | None = None) -> Memory:
        """Put a memory into another project, or with None into no project, with what it took the place of.

        What holds there is worked out again. Only a memory that was opened outside of any project can do it.
        """
        from recollect.pipeline.rehoming import rehome

        memory = self.get(memory_id)
        if memory.trust == "user":
            self._require_speech()  # agents of the other project are told it as the user's own word
        kept = rehome(self.store, self.scope, memory, project, self._clock, expected_version=expected_version)
        self._changed()
        return kept

    def supersede(self, memory_id: str, content: str, **fields: Any) -> Memory:
        """Say it anew: the old memory stays as history, the new one is what is true now."""
        from recollect.pipeline.changing import said_anew

        old = self.get(memory_id)
        new = said_anew(old, content, fields, self.settings, self._clock())
        return self.settle(new, replacing=(old.id,)).memory

    def confirm(self, memory_id: str, kind: str | None = None, *, expected_version: int | None = None) -> Memory:
        """The user says that a memory is so: from now on it is trusted as their own word, and may be a preference."""
        from recollect.distill.memory import confirmed
        from recollect.pipeline.settling import resettle

        self._require_speech()

        def edit(memory: Memory) -> Memory:
            if expected_version not in (None, memory.version):
                raise Conflict("this memory was changed since you read it", hint="Read it again, then confirm it.")
            return confirmed(memory, self._clock(), kind)

        kept = resettle(self.store, self.scope, self.get(memory_id).id, edit, self._clock, note="confirm")
        self._changed()
        return kept

    def pin(self, memory_id: str, on: bool = True, *, expected_version: int | None = None) -> Memory:
        """A person wants agents of its project told a memory before all else; upkeep never puts it away then."""
        from recollect.pipeline.changing import pinned

        self._require_speech()
        changed = pinned(self.get(memory_id), self._clock(), on=on)
        if expected_version is not None:
            changed = replace(changed, version=expected_version)
        kept = self.store.memories.update(self.scope, changed, at=self._clock(), note="pin" if on else "unpin")
        self._changed()
        return kept

    def archive(self, memory_id: str, archived: bool = True, *, expected_version: int | None = None) -> Memory:
        """Put a memory away (or back): it is found only when asked for."""
        memory = self.get(memory_id)
        version = memory.version if expected_version is None else expected_version
        changed = replace(memory, archived_at=self._clock() if archived else None, version=version)
        kept = self.store.memories.update(self.scope, changed, at=self._clock(), note="archive")
        self._changed()
        return kept

    def forget(
        self,
        memory_id: str | None = None,
        *,
        session: str | None = None,
        everything: bool = False,
        soft: bool = False,
        with_merged: bool = False,
    ) -> Receipt:
        """Take a memory, a session or everything in scope away for good; `soft`: a memory that can be restored.

        Other wordings that were merged into a memory go `with_merged`; else they hold again, and the receipt says so.
        """
        if [memory_id is not None, session is not None, everything].count(True) != 1:
            raise InvalidInput("forget one of: a memory, a session, or everything")
        if with_merged and memory_id is None:
            raise InvalidInput("only a memory has other wordings that were merged into it")
        now = self._clock()
        if everything or session is not None:
            from recollect.pipeline.changing import forget_said

            receipt = forget_said(self.store, self.scope, self.settings, session, now)
            return self._readying.forgotten(receipt, everything=everything)
        assert memory_id is not None
        if not soft:
            gone = self.store.keeping.forget_memory(self.scope, memory_id, at=now, with_merged=with_merged)
            return self._readying.forgotten(gone)
        from recollect.pipeline.changing import forget_softly

        softly = forget_softly(self.store, self.scope, self.get(memory_id), now, with_merged=with_merged)
        self._changed()
        return softly

    def restore(self, memory_id: str) -> Memory:
        """Bring a softly forgotten memory back while its text is still there."""
        memory = self.store.memories.get(self.scope, memory_id)
        if memory is None or memory.deleted_at is None or not memory.content:
            raise NotFound(f"no deleted memory {memory_id[:60]} that can be restored")
        return self.reinstate(memory_id)[0]

    def revoke(self, source: str, *, dry_run: bool = False) -> Receipt:
        """Take away softly, as one step, what came from a session, an origin or a maker; `reinstate` gives it back.

        What others said too stays and is trusted as they are; what the source had superseded holds again.
        """
        from recollect.pipeline.revoking import revoke, would_revoke

        check_id(source, "source")
        if dry_run:
            return Receipt(would_revoke(self.store, self.scope, source, self._clock()).counts, complete=False)
        counts = revoke(self.store, self.scope, source, self._clock).counts
        self._changed()
        return Receipt(counts, complete=False)

    def reinstate(self, name: str) -> tuple[Memory, ...]:
        """Bring back a memory that was superseded, merged, archived or softly forgotten, or all revoked of a source."""
        from recollect.pipeline.revoking import bring_back, reinstate

        if self.store.memories.get(self.scope, name) is not None:
            back: tuple[Memory, ...] = (bring_back(self.store, self.scope, name, self._clock),)
        else:
            back = reinstate(self.store, self.scope, name, self._clock)
        self._changed()
        return back
