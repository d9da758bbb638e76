"""What detecting came to as one page of HTML that needs nothing else: plots, patterns, evidence, health.

A `Detection` comes in, a text goes out. Everything in it that comes from sessions is escaped, and the page forbids
itself to load anything, so that it may be kept, sent and opened anywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from recollect.learn.plots import Bar, bars, safe
from recollect.learn.values import Candidate, Detection, FlavorHealth, Signal

MARK = "<!doctype html>\n<!-- made by recollect detect -->"
_SHOWN, _PLOTTED, _QUOTED = 200, 20, 160
STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5d6776; --line: #d9dee6; --back: #fff; --mark: #a63d0f }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ee; --soft: #9aa5b4; --line: #343c48; --back: #14181e; --mark: #f08a5d }
}
body { margin: 2rem auto; max-width: 62rem; padding: 0 1rem; color: var(--ink); background: var(--back);
  font: 15px/1.5 system-ui, sans-serif }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
svg { width: 100%; height: auto; display: block } svg .label, svg .figure { fill: var(--ink); font-size: 12px }
svg .figure { fill: var(--soft) }
.c0 { fill: #3b6fb6; background: #3b6fb6 } .c1 { fill: #d1763b; background: #d1763b }
.c2 { fill: #4c9a6a; background: #4c9a6a } .c3 { fill: #8a63b5; background: #8a63b5 }
.c4 { fill: #b8a13a; background: #b8a13a } .c5 { fill: #b5547d; background: #b5547d }
.c6 { fill: #4aa3a8; background: #4aa3a8 } .c7 { fill: #7c8594; background: #7c8594 }
.key { margin-right: 1rem; color: var(--soft) }
.key i { display: inline-block; width: .8em; height: .8em; border-radius: 2px; margin-right: .35em }
article { border-top: 1px solid var(--line); padding: .8rem 0 } article h3 { margin: 0; font-size: 1rem }
.cross { color: var(--mark); font-size: .8em; letter-spacing: .03em }
.facts, .id { color: var(--soft); font-size: .9em }
.rule { border-left: 3px solid var(--line); margin: .5rem 0; padding: .1rem .8rem }
li { overflow-wrap: anywhere } code { font-size: .92em }
"""


def page(found: Detection, now: datetime) -> str:
    """The report."""
    flavors = sorted({flavor for one in found.candidates for flavor in one.flavors})
    parts = [
        f'{MARK}\n<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width"><title>What repeats</title>',
        f"<style>{STYLE}</style></head><body><h1>What repeats in your sessions</h1>",
        f"<p class=facts>{_summary(found)} Made {now:%Y-%m-%d %H:%M} UTC.</p>",
    ]
    if found.candidates:
        parts += [_sessions_plot(found.candidates, flavors), _waste_plot(found.candidates), "<h2>Patterns</h2>"]
        parts += [_article(one) for one in found.candidates[:_SHOWN]]
    else:
        parts.append("<p>Nothing repeats often enough yet.</p>")
    parts.append(_health(found.health))
    return "\n".join([*parts, "</body></html>\n"])


def _summary(found: Detection) -> str:
    cross = sum(one.cross_flavor for one in found.candidates)
    return (
        f"{found.sessions:,} sessions, {found.signals:,} signals, {len(found.candidates):,} patterns, "
        f"{cross:,} of them in more than one agent."
    )


def _sessions_plot(candidates: Sequence[Candidate], flavors: Sequence[str]) -> str:
    rows = []
    for one in candidates[:_PLOTTED]:
        counted = Counter(_flavor(session, one) for session in one.sessions)
        parts = tuple((flavors.index(name), float(counted[name])) for name in flavors if counted[name])
        rows.append(Bar(one.statement, parts, f"{len(one.sessions)}", _told(one)))
    keys = "".join(f'<span class=key><i class="c{n % 8}"></i>{safe(name)}</span>' for n, name in enumerate(flavors))
    return f"<h2>In how many sessions</h2><p>{keys}</p>{bars(rows, 'sessions by pattern')}"


def _flavor(session: str, candidate: Candidate) -> str:
    """The agent of a session; a name of its own tells nothing when there are several."""
    name = session.partition(":")[0]
    return name if name in candidate.flavors else candidate.flavors[0]


def _waste_plot(candidates: Sequence[Candidate]) -> str:
    costly = sorted(candidates, key=lambda one: (-one.waste.seconds, one.id))[:_PLOTTED]
    rows = [
        Bar(one.statement, ((1 if one.cross_flavor else 0, one.waste.seconds / 60),), minutes(one), _told(one))
        for one in costly
        if one.waste.seconds >= 1
    ]
    if not rows:
        return ""
    kinds = ((0, "in one agent"), (1, "in several agents"))
    keys = "".join(f'<span class=key><i class="c{colour}"></i>{name}</span>' for colour, name in kinds)
    return f"<h2>Time it cost</h2><p>{keys}</p>{bars(rows, 'minutes by pattern')}"


def minutes(candidate: Candidate) -> str:
    """The time something cost, for people."""
    seconds = candidate.waste.seconds
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s" if seconds >= 1 else "-"


def _told(one: Candidate) -> str:
    return f"{one.statement} ({one.kind}; {len(one.sessions)} sessions; {', '.join(one.flavors)})"


def _article(one: Candidate) -> str:
    cross = "<span class=cross>[CROSS-FLAVOR]</span> " if one.cross_flavor else ""
    usd = "" if one.waste.usd is None else f", {one.waste.usd:.2f} USD"
    rule = f"<p class=rule>{safe(one.rule)}</p>" if one.rule else ""
    return (
        f"<article><h3>{cross}{safe(one.statement)}</h3>"
        f"<p class=facts>{safe(one.kind)} · {len(one.sessions)} sessions, {one.signals} times · "
        f"{safe(', '.join(one.flavors))} · {one.first_seen:%Y-%m-%d} to {one.last_seen:%Y-%m-%d} · "
        f"{minutes(one)}, {one.waste.tokens:,} tokens{usd} · trust: {safe(one.trust)} · "
        f"<code>{safe(one.id)}</code></p>{rule}<ul>{''.join(_examples(one.examples))}</ul></article>"
    )


def _examples(signals: Iterable[Signal]) -> Iterable[str]:
    for one in signals:
        quoted = one.detail.get("command") or one.detail.get("wish") or one.statement
        yield f"<li><span class=id>{safe(one.session, 60)}</span> <code>{safe(quoted, _QUOTED)}</code></li>"


def _health(found: Sequence[FlavorHealth]) -> str:
    if not found:
        return ""
    rows = [
        Bar(f"{one.flavor} ({one.sessions} sessions)", ((2, one.mean),), f"{one.mean:.0f}", _lost(one)) for one in found
    ]
    return f"<h2>Health of sessions, out of 100</h2>{bars(rows, 'health by agent', top=100.0)}"


def _lost(one: FlavorHealth) -> str:
    lost = ", ".join(f"{name} {points}" for name, points in list(one.penalties.items())[:5])
    return f"{one.flavor}: lowest {one.lowest}; points lost: {lost or 'none'}"
