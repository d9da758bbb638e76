"""What a language model is consulted for: drafts of memories, gists, and how two memories stand to each other.

Each consultation is made of new events, paid for before it is made, and read with patience. Without an answer, for
whatever reason, nothing is lost: the rules have made their drafts, the gist is made of the session's own sentences, and
two memories that collide both stay.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

from recollect.clock import Clock
from recollect.distill.asked import MAX_RECORDS, Redact, ask_about_collision, ask_about_events, ask_for_gist
from recollect.distill.draft import Draft
from recollect.distill.gist import Utterance
from recollect.distill.reply import parse_drafts, parse_gist, parse_verdict
from recollect.distill.vetting.stated import sentences, unsaid
from recollect.errors import ModelError, ModelUnavailable, RecollectError
from recollect.model import Event, Memory, Scope, Session
from recollect.models.language import Ask, LanguageModel, choose_language
from recollect.pipeline.cleaning import redactor_of
from recollect.pipeline.spending import Purse
from recollect.settings import Settings
from recollect.store.port import Store


class Consultant:
    """One language model, asked for one owner. `refused` counts the items of its answers that were no drafts."""

    def __init__(self, purse: Purse, scope: Scope, redact: Redact) -> None:
        self._purse = purse
        self._scope = scope
        self._redact = redact
        self.refused: Counter[str] = Counter()

    @property
    def name(self) -> str:
        return self._purse.maker

    def drafts(self, session: Session, events: Sequence[Event], asked: int) -> tuple[list[Draft], int]:
        """Drafts from the events behind position `asked`, and the position up to which they were read now."""
        drafts: list[Draft] = []
        new = [event for event in events if event.position > asked]
        for use, question in ask_about_events(new, self._redact):
            try:
                reply = self._purse.ask(self._scope, use, question.ask, project=session.project)
            except ModelError:
                return drafts, asked  # the rest is asked when there is more of the session, or left to the rules
            parsed = parse_drafts(reply.text, question.names, maker=self.name, limit=MAX_RECORDS[use])
            drafts += parsed.drafts
            self.refused.update(parsed.refused)
            asked = question.last
        return drafts, max(asked, new[-1].position) if new else asked

    def judge(self, older: Memory, newer: Memory) -> str | None:
        """How a memory stands to an older one: same, newer, contradiction, unrelated; None when nobody can say."""
        ask = ask_about_collision(older, newer, self._redact)
        try:
            return parse_verdict(self._purse.ask(self._scope, "collision", ask, project=newer.project).text)
        except ModelError:
            return None

    def summarizer(self) -> LanguageSummarizer:
        """Makes gists with this model."""
        return LanguageSummarizer(self._purse, self._scope, self._redact)


class LanguageSummarizer:
    """Makes gists with a language model; raises a `ModelError` when there is none to be had."""

    incremental = True  # it is given the gist so far and what came after, never the whole session again

    def __init__(self, purse: Purse, scope: Scope, redact: Redact, project: str | None = None) -> None:
        self._purse = purse
        self._scope = scope
        self._redact = redact
        self._project = project
        self.name = purse.maker

    def for_session(self, session: Session) -> LanguageSummarizer:
        """The same, paid for by the session's project."""
        return LanguageSummarizer(self._purse, self._scope, self._redact, session.project)

    def summarize(self, utterances: Sequence[Utterance]) -> str:
        """The gist of what was said; what is too much for one call is summed up in parts, and the parts again."""
        said = " ".join(one.text for one in utterances)
        parts = [self._ask(ask, said) for ask in ask_for_gist(utterances, self._redact)]
        if len(parts) <= 1:
            return "".join(parts)
        return self.summarize([Utterance("gist", part) for part in parts])

    def _ask(self, ask: Ask, said: str) -> str:
        gist = parse_gist(self._purse.ask(self._scope, "gist", ask, project=self._project).text)
        told = [gist[start:end].strip() for start, end in sentences(gist)]
        gist = " ".join(one for one in told if not unsaid(one, said))
        if not gist:
            raise ModelUnavailable("The language model's answer is not a gist of what was said.")
        return gist


def consult(
    store: Store,
    scope: Scope,
    settings: Settings,
    clock: Clock,
    *,
    model: LanguageModel | None = None,
    sleep: Callable[[float], None] = time.sleep,
    stopping: Callable[[], bool] = lambda: False,
) -> Consultant | None:
    """The consultant the settings ask for; None when none is set, or not so that it can be used."""
    if model is None:
        try:
            model, _ = choose_language(settings)
        except RecollectError:
            return None  # `recollect budget` and `doctor` say why
    if model is None:
        return None
    redact = egress_redact(settings)
    purse = Purse(store.ledger, model, settings, clock, redact, sleep=sleep, stopping=stopping)
    return Consultant(purse, scope, redact)


def egress_redact(settings: Settings) -> Redact:
    """Takes secrets out of what leaves this machine, by the rules by which they are not stored."""
    redactor = redactor_of(settings)
    return lambda text: redactor.redact(text)[0]
