"""Sessions of an opened memory: what was said, and the gist of it."""

from __future__ import annotations

from recollect.facade.opened import Opened
from recollect.model import Event, Gist, Session, Turn, check_id
from recollect.recall.asking import check_limit


class Sessions(Opened):
    """Runs and conversations."""

    def ensure_session(self, session: str, title: str | None = None) -> Session:
        """The session, made if absent; its title set if given, without secrets."""
        if title is not None:
            from recollect.pipeline.cleaning import privacy_of
            from recollect.pipeline.recording import clean_title

            title = clean_title(title, privacy_of(self.settings))
        return self.store.sessions.ensure(self.scope, check_id(session, "session"), at=self._clock(), title=title)

    def sessions(self, limit: int = 100, offset: int = 0) -> list[Session]:
        """Sessions, the latest first."""
        return self.store.sessions.find(self.scope, limit=check_limit(limit), offset=max(0, offset))

    def history(self, session: str) -> list[Event]:
        """All that was said in a session, oldest first."""
        return self.store.sessions.history(self.scope, session)

    def recent(self, session: str, n: int = 10) -> list[Event]:
        """The last n messages of a session, oldest first."""
        return self.store.sessions.history(self.scope, session, last=max(0, n))

    def turn(self, turn_id: str) -> Turn | None:
        """One turn, by its id."""
        return self.store.sessions.turn(self.scope, turn_id)

    def gist(self, session: str) -> Gist | None:
        """The gist of a session, as last made."""
        return self.store.gists.get(self.scope, session)

    def unsummarized(self, session: str) -> int:
        """How many messages the session's gist does not cover yet."""
        return self.store.gists.unsummarized(self.scope, session)

    def summarize(self, session: str) -> Gist | None:
        """Make the session's gist now. None when nothing was said or another process is making it."""
        from recollect.pipeline.gists import summarize

        gist = summarize(self.store, self.scope, session, self._making.summarizer(), self._clock)
        self._ring()
        return gist
