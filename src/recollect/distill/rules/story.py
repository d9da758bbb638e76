"""A session as the rules of distilling read it: what people said, what the agent said, and what was run.

Events come in, in order; a `Story` goes out. A prompt knows what the agent had said before it and whether it answers,
corrects or approves; a run knows its command, its result and how it ended. Work of sub-agents, injected text and
summaries are left out: nobody said them here.
"""

from __future__ import annotations

from bisect import bisect, bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from recollect.distill.corrections import asks, host_command, is_approval, is_correction
from recollect.distill.fingerprint import Fingerprint, fingerprint, refused
from recollect.distill.sentences import Sentence, plain, sentences
from recollect.distill.testruns import normal_command, runs_tests, tally
from recollect.distill.vetting.authored import own_words
from recollect.model import DELEGATED, Event, Evidence, Session

_CALLS = frozenset(("tool_call", "edit", "test_run"))
_LOOKED_AT = 4_000
_REPORT = 40  # characters: a shorter prompt shows no error
# What a host writes when a person only stopped it.
_HOST_WORDS = (
    *("The user doesn't want to ", "[Request interrupted", "The turn was cancelled", "The step was interrupted"),
    *("interrupted", "aborted", "denied", "cancelled", "Permission for this action", "User rejected"),
)


class Told(NamedTuple):
    """A sentence, and how it reads."""

    sentence: Sentence
    text: str


@dataclass(slots=True)
class Prompt:
    """What a person said: a prompt, or the words with which they refused a call."""

    event: Event
    place: int
    before: Event | None  # what the agent had said last
    answering: bool
    correction: bool
    approval: bool
    refused: Event | None = None  # the call that was refused with it
    _own: list[Sentence] | None = None

    @property
    def text(self) -> str:
        return self.event.text

    def own(self) -> list[Sentence]:
        """Sentences in the author's own words; none that goes on in somebody else's."""
        if self._own is not None:
            return self._own
        found = self._own = []
        for first, last in own_words(self.text):
            inside = list(sentences(self.text, first, last))
            if inside and not _ends_well(self.text, inside[-1].end, last):
                inside.pop()
            found.extend(inside)
        return found


@dataclass(slots=True)
class Said:
    """What the agent said; `final` when nothing but a person's words came after it."""

    event: Event
    place: int
    final: bool = True
    refuted: bool = False  # the person's next words said that it was wrong
    _told: list[Told] | None = None

    def told(self) -> list[Told]:
        """Its sentences."""
        if self._told is None:
            every = sentences(self.event.text)
            self._told = [Told(one, plain(one.text).replace("’", "'")) for one in every]
        return self._told


@dataclass(slots=True)
class Run:
    """A tool call with its result."""

    call: Event
    place: int
    action: str
    target: str = ""  # a shell command as it is compared
    result: Event | None = None
    result_place: int = -1
    failed: bool | None = None  # None: nobody knows
    tests: str = ""  # passed, failed or unknown, when it ran tests
    error: Fingerprint | None = None


@dataclass(slots=True)
class Story:
    """A session, told."""

    session: Session
    prompts: list[Prompt] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    said_places: list[int] = field(default_factory=list)

    def between(self, start: int, end: int) -> list[Said]:
        """What the agent said between two places."""
        return self.said[bisect(self.said_places, start) : bisect_left(self.said_places, end)]

    def cite(self, event: Event, start: int | None = None, end: int | None = None) -> Evidence:
        return Evidence(self.session.id, event.key, start, end)


def _ends_well(text: str, end: int, last: int) -> bool:
    """Whether a sentence is over before the words of others begin."""
    return last >= len(text) or "\n" in text[end:last] or text[end - 1 : end] in ".!?…"


def story_of(session: Session, events: Sequence[Event]) -> Story:
    """The story of a session from its events, in order of position."""
    story = Story(session)
    pending: dict[str, Run] = {}
    last: Said | None = None
    worked = False
    reported: Fingerprint | None = None  # the error a person reported last
    for place, event in enumerate(events):
        kind = event.kind
        if event.meta.get("sidechain"):
            continue
        if kind == "user_prompt" and event.origin == "user" and session.relation not in DELEGATED:
            prompt = _prompt(event, place, last, worked)
            if prompt is None:
                continue
            story.prompts.append(prompt)
            shown = fingerprint(event.text[:_LOOKED_AT]) if len(event.text) > _REPORT else None
            again = shown is not None and reported is not None and shown.key == reported.key
            reported = shown
            if last is not None and (prompt.correction or again):
                _refute(story, last, prompt)
        elif kind == "human_intervention" and event.origin == "user" and session.relation not in DELEGATED:
            call = pending.get(str(event.meta.get("call")))
            if event.text.strip() and not event.text.lstrip().startswith(_HOST_WORDS):
                story.prompts.append(
                    Prompt(event, place, last.event if last else None, False, True, False, call.call if call else None)
                )
        elif kind == "assistant_text" and event.text.strip():
            worked = True
            if last is not None and not any(p.place > last.place for p in story.prompts[-1:]):
                last.final = False
            last = Said(event, place)
            story.said.append(last)
            story.said_places.append(place)
        elif kind in _CALLS:
            worked = True
            run = _run(event, place)
            pending[str(event.meta.get("call") or event.key)] = run
            story.runs.append(run)
            if last is not None and not any(p.place > last.place for p in story.prompts[-1:]):
                last.final = False
        elif kind == "tool_result":
            found = pending.get(str(event.meta.get("call")))
            if found is not None and found.result is None:
                _ended(found, event, place)
    return story


def _refute(story: Story, last: Said, prompt: Prompt) -> None:
    """What was said since the prompt before was wrong: a person says so, or reports the same error again."""
    since = story.prompts[-2].place if len(story.prompts) > 1 else -1
    for said in reversed(story.said):
        if said.place < since:
            break
        said.refuted = True
    last.refuted = True


def _prompt(event: Event, place: int, last: Said | None, worked: bool) -> Prompt | None:
    text = event.text
    if not text.strip() or host_command(text[:_LOOKED_AT]) is not None:
        return None
    answering = last is not None and asks(last.event.text)
    correction = worked and is_correction(text, answering)
    return Prompt(event, place, last.event if last else None, answering, correction, is_approval(text))


def _run(event: Event, place: int) -> Run:
    action = str(event.meta.get("action") or "other")
    return Run(event, place, action, normal_command(event.text) if action == "shell" else "")


def _ended(run: Run, event: Event, place: int) -> None:
    run.result, run.result_place = event, place
    run.failed = _failed(event.meta)
    if event.meta.get("interrupted") or (run.failed and refused(event.text)):
        run.failed = None
        return
    if run.action == "shell" and runs_tests(run.call.text[:_LOOKED_AT]):
        run.tests = tally(event.text, run.call.text, None if run.failed is None else not run.failed).result
    if run.failed or run.tests == "failed":
        run.error = fingerprint(event.text)


def _failed(meta: Mapping[str, Any]) -> bool | None:
    error, code = meta.get("error"), meta.get("exit")
    if error is True or (isinstance(code, int) and code != 0):
        return True
    return False if error is False or code == 0 else None
