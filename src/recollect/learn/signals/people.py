"""What people did about the agent's work: corrected it, refused a call, stopped it, gave it up.

Their own words alone count as theirs; what they pasted is somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator

from recollect.distill.sentences import plain
from recollect.learn.commandwords import GIT_WRITES, heads, looks, main_head
from recollect.learn.reading import Reading, Stop
from recollect.learn.refusals import is_denial, objects, words_of
from recollect.learn.values import Signal
from recollect.learn.wishes import asked_words, wish_of

_FEWEST, _GOAL_WORDS = 2, 4


def people_signals(reading: Reading) -> Iterator[Signal]:
    """Corrections, refusals, stops, and goals that were given up."""
    yield from _corrections(reading)
    yield from _refusals(reading)
    yield from _abandoned(reading)


def _corrections(reading: Reading) -> Iterator[Signal]:
    for prompt in reading.typed:
        if not prompt.correction or prompt.event.kind != "user_prompt":
            continue
        for sentence in prompt.own()[:2]:
            if reading.testimony.repeats(prompt.event, sentence.start, sentence.end):
                continue
            text = plain(sentence.text)
            words = asked_words(text)
            if len(words) >= _FEWEST:
                yield reading.signal(
                    "correction",
                    " ".join(words),
                    text,
                    [prompt.event.key],
                    prompt.event.occurred_at,
                    origin="user",
                    detail={"wish": wish_of(text) or ""},
                )


def _refusals(reading: Reading) -> Iterator[Signal]:
    seen: dict[tuple[str, str], list[Stop]] = {}
    last_refused = -2
    for stop in reading.stops:
        if stop.call is not None:
            last_refused = stop.place
            what = _refused(stop)
            if what and is_denial(reading, stop, what):
                seen.setdefault(("denial", what), []).append(stop)
        elif stop.place - last_refused > 2:  # the stop that comes with a refusal is part of it
            what = _running(reading, stop)
            if what:
                seen.setdefault(("interruption", what), []).append(stop)
    for (kind, what), stops in seen.items():
        words = [said for one in stops if (said := words_of(reading, one))]
        said = next((one for one in words if objects(one, what)), words[0] if words else "")
        verb = "refuses" if kind == "denial" else "stops"
        yield reading.signal(
            kind,
            f"{kind}: {what}",
            f"The user {verb} {_shown(what)}",
            [stop.event.key for stop in stops],
            stops[0].event.occurred_at,
            origin="user",
            count=len(stops),
            detail={"what": what, "said": said[:200], "objects": "yes" if objects(said, what) else "no"},
        )


def _refused(stop: Stop) -> str:
    """What kind of call was refused."""
    call = stop.call
    if call is None:
        return ""
    action = str(call.meta.get("action") or "other")
    if action == "shell":
        done = heads(call.text[:4_000])
        head = main_head(call.text[:4_000])
        return "git writes" if GIT_WRITES & set(done) else "" if looks(head) else head
    return {"edit": "edits"}.get(action, "")


def _running(reading: Reading, stop: Stop) -> str:
    """The command that ran when the agent was stopped."""
    before = [step for step in reading.steps if step.place < stop.place]
    if not before or before[-1].action != "shell" or before[-1].passed or before[-1].failed:
        return ""
    return before[-1].head


def _shown(what: str) -> str:
    return {"git writes": "commits and pushes", "edits": "edits"}.get(what, f"`{what}`")


def _abandoned(reading: Reading) -> Iterator[Signal]:
    digest, prompts = reading.digest, reading.prompts
    if digest.outcome != "abandoned" or not digest.goal or not prompts:
        return
    own = prompts[0].own()
    words = asked_words(plain(own[0].text)) if own else []
    if len(words) >= _GOAL_WORDS:
        yield reading.signal(
            "abandoned_goal",
            " ".join(words),
            f"Given up: {plain(own[0].text)}",
            [prompts[0].event.key],
            prompts[0].event.occurred_at,
            origin="user",
            cost=reading.lost([(0, reading.steps[-1].end)]) if reading.steps else reading.lost([]),
        )
