"""What a session left behind that the history of a repository does not show: a stash, an issue, a document on request.

A story comes in; facts and references go out, each citing what was run or asked for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.distill.draft import Draft
from recollect.distill.rules.story import Run, Story
from recollect.distill.sentences import plain, whole_words
from recollect.text import one_line

_LOOKED_AT = 20_000
_ROOT_FILE = re.compile(r"(?:^|/)(?:README|CHANGELOG|LICENSE|CONTRIBUTING)\b[^/]*$", re.IGNORECASE)
_STASHED = re.compile(r"\bgit\s+stash\s+(?:push|save)?\b[^\n;&|]*")
_UNSTASHED = re.compile(r"\bgit\s+stash\s+(?:pop|apply|drop|clear)\b")
_STASH_SAID = re.compile(r"Saved working directory and index state (On [^\n]{3,200}|WIP on [^\n]{3,200})")
_ISSUE_MADE = re.compile(r"\b(?:gh|glab)\s+issue\s+create\b")
_ISSUE_URL = re.compile(r"https?://[^\s'\"<>)\]]{1,200}/issues/[\w-]+")
_TITLE = re.compile(r"""--title[= ]+(?:"([^"\n]{3,200})"|'([^'\n]{3,200})')""")
_WRITTEN = re.compile(
    r"\b(?:written|wrote|created|saved|documented|captured|recorded|summari[sz]ed|added)\b[^\n`\[]{0,40}"
    r"[`\[(]([\w./@-]{3,160}\.(?:md|mdx|rst|txt|adoc))\b",
    re.IGNORECASE,
)
_FOR_NOW = re.compile(r"\b(?:for now|wip|temporar\w+|draft|vorerst|pour l'instant|por ahora)\b", re.IGNORECASE)
_WRITE = re.compile(
    r"\b(?:write|document|note|put|save|capture|summari[sz]e|record|design|spec|schreib"
    r"|dokumentier|écris|escribe)\w*\b.{0,80}\b(?:down|docs?|file|markdown|md|memo|plan"
    r"|design|notes?|pick (?:it|this) up)\b|\bwrite the design\b",
    re.IGNORECASE | re.DOTALL,
)


def traces(story: Story) -> Iterator[Draft]:
    """What was left."""
    yield from _stashes(story)
    yield from _issues(story)
    yield from _documents(story)


def _stashes(story: Story) -> Iterator[Draft]:
    """Work that was put aside and not taken back."""
    kept: Run | None = None
    for run in story.runs:
        if run.action != "shell" or run.failed is not False or run.result is None or "stash" not in run.target:
            continue
        if _UNSTASHED.search(run.call.text):
            kept = None
        elif _STASHED.search(run.call.text) and _STASH_SAID.search(run.result.text[:_LOOKED_AT]):
            kept = run
    if kept is not None and kept.result is not None:
        said = _STASH_SAID.search(kept.result.text[:_LOOKED_AT])
        assert said is not None
        yield Draft(
            kind="fact",
            content=f"Work was put into a git stash and not taken back in that session: {one_line(said[1], 160)}.",
            evidence=(story.cite(kept.result, said.start(), said.end()), story.cite(kept.call)),
            occurred_at=kept.result.occurred_at,
            importance=0.4,
        )  # soon untrue: nobody should read it unless they ask


def _issues(story: Story) -> Iterator[Draft]:
    """Issues that were filed."""
    for run in story.runs:
        if (
            run.action != "shell"
            or run.failed is not False
            or run.result is None
            or not _ISSUE_MADE.search(run.call.text)
        ):
            continue
        url = _ISSUE_URL.search(run.result.text[-_LOOKED_AT:])
        if url is None:
            continue
        title = _TITLE.search(run.call.text[:_LOOKED_AT])
        name = one_line((title[1] or title[2]) if title else "", 160)
        at = run.result.text.find(url[0])
        yield Draft(
            kind="reference",
            content=f"Issue filed in that session: {name + ' ' if name else ''}{url[0]}",
            evidence=(story.cite(run.result, at, at + len(url[0])), story.cite(run.call)),
            occurred_at=run.result.occurred_at,
            importance=0.45,
            checked=True,
        )


def _documents(story: Story) -> Iterator[Draft]:
    """A document that was written because somebody asked for it, if it was not gone in the end."""
    made: dict[str, Draft] = {}
    edited = {
        path
        for run in story.runs
        if run.action == "edit" and run.failed is not True
        for path in run.call.meta.get("files") or ()
    }
    gone = {word for run in story.runs if run.action == "shell" and "rm " in run.target for word in run.target.split()}
    for number, prompt in enumerate(story.prompts):
        if prompt.refused is not None or len(prompt.text) > 1_500 or not _WRITE.search(prompt.text):
            continue
        until = story.prompts[number + 1].place if number + 1 < len(story.prompts) else 1 << 60
        own = prompt.own()
        for said in story.between(prompt.place, until) if own else ():
            found = _WRITTEN.search(said.event.text[:_LOOKED_AT])
            if not found or _ROOT_FILE.search(found[1]) or any(word.endswith(found[1]) for word in gone):
                continue
            if any(str(path).endswith(found[1]) for path in edited):
                made[found[1]] = Draft(
                    kind="reference",
                    content=f"`{found[1]}` was written in that session, because the user asked for it.",
                    evidence=(
                        story.cite(said.event, found.start(), found.end(1)),
                        story.cite(prompt.event, own[0].start, own[0].end),
                    ),
                    occurred_at=said.event.occurred_at,
                    why=f'the user said: "{whole_words(plain(own[0].text), 200)}"',
                    importance=0.5,
                    anchors=(f"file:{found[1]}",),
                    checked=_FOR_NOW.search(prompt.text) is None,
                )
    yield from made.values()
