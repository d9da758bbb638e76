"""The pages of patterns: the review queue, one pattern with its evidence side by side, and where its rule is put.

A person looks, decides, and puts an approved pattern before agents. What would be written is shown first, and the form
that says yes carries its fingerprint: when the file changed meanwhile nothing is written. Files are written only where
the server is its user's own, and only in directories that sessions were run in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from recollect.errors import Conflict, InvalidInput, RecollectError
from recollect.http.errors import Refused
from recollect.inject.ruleblock import EditedByHand
from recollect.pipeline.rolling import INSTRUCTIONS, Change, ChangedMeanwhile
from recollect.store.ports.learn import PATTERN_STATES, TARGETS, Pattern, Rollout
from recollect.web import patterns as told
from recollect.web import plots
from recollect.web.pages import Fields, Form, Page, Who
from recollect.web.work import Progress, Run, Work

HOME = "/page/patterns"
ONE = f"{HOME}/{{pattern_id}}"
EVERYWHERE = "everywhere"
NEEDS: dict[tuple[str, str], str | None] = {
    ("GET", HOME): "read",
    ("GET", f"{HOME}/work"): "read",
    ("POST", f"{HOME}/work"): "write",
    ("GET", ONE): "read",
    ("POST", ONE): "speak",
    ("GET", f"{ONE}/merge"): "speak",
    ("GET", f"{ONE}/roll-out"): "speak",
    ("POST", f"{ONE}/roll-out"): "speak",
    ("GET", f"{ONE}/roll-back"): "speak",
    ("POST", f"{ONE}/roll-back"): "speak",
}
_PAGE, _DEAREST, _OTHERS = 25, 8, 60
_ORDERS: dict[str, Callable[[Pattern], Any]] = {
    "worth": lambda one: (not one.cross_flavor, -one.score, one.id),
    "cost": lambda one: (-one.seconds, -one.tokens, one.id),
    "newest": lambda one: (-one.last_seen.timestamp(), one.id),
}
TARGET_NAMES = {
    "agents-md": ("AGENTS.md", "a line that Codex and most agents read"),
    "claude-md": ("CLAUDE.md", "a line that Claude Code reads"),
    "skill": ("a skill", "a skill of its own for Claude Code"),
    "memory": ("a memory", "a memory that agents are told like others"),
}


def router() -> APIRouter:
    """The routes, and what runs beside them."""
    made, routes = _Pages(Work()), APIRouter(include_in_schema=False)
    handlers: dict[tuple[str, str], Callable[..., Any]] = {
        ("GET", HOME): made.queue,
        ("GET", f"{HOME}/work"): made.how_far,
        ("POST", f"{HOME}/work"): made.begin,
        ("GET", ONE): made.pattern,
        ("POST", ONE): made.decide,
        ("GET", f"{ONE}/merge"): made.merging,
        ("GET", f"{ONE}/roll-out"): made.planned,
        ("POST", f"{ONE}/roll-out"): made.roll_out,
        ("GET", f"{ONE}/roll-back"): made.planned_back,
        ("POST", f"{ONE}/roll-back"): made.roll_back,
    }
    for (method, path), handler in handlers.items():
        routes.add_api_route(path, handler, methods=[method], response_model=None)
    return routes


def address(pattern_id: str, action: str = "", **query: str) -> str:
    """The page of a pattern, or what is done to it."""
    more = urlencode({name: value for name, value in query.items() if value})
    return f"{HOME}/{quote(pattern_id, safe='')}{f'/{action}' if action else ''}{f'?{more}' if more else ''}"


class _Pages:
    """The pages of one app, with the work that runs beside them."""

    def __init__(self, work: Work) -> None:
        self._work = work

    # -- looking -------------------------------------------------------------------------------------------------------

    def queue(self, who: Who, request: Request) -> Response:
        """Patterns of one state, the most worthwhile first."""
        asked = request.query_params
        every = who.memory.patterns.find()
        counts = Counter(one.state for one in every)
        state = asked.get("state", "")
        if state not in PATTERN_STATES:
            state = "candidate" if counts["candidate"] or not counts["approved"] else "approved"
        order = asked.get("order", "") if asked.get("order") in _ORDERS else "worth"
        found = sorted((one for one in every if one.state == state), key=_ORDERS[order])
        number = _number(asked.get("page"), 1)
        shown = found[(number - 1) * _PAGE : number * _PAGE]
        costly = sorted((one for one in found if one.seconds >= 1), key=_ORDERS["cost"])[:_DEAREST]
        return who.show(
            "patterns.html",
            state=state,
            order=order,
            orders=tuple(_ORDERS),
            states=[(name, counts[name]) for name in PATTERN_STATES],
            shown=shown,
            number=number,
            more=len(found) > number * _PAGE,
            known=bool(every),
            crossing=sum(one.cross_flavor for one in found),
            costs=_cost_plot(costly),
            cost_of=told.cost_of,
            address=address,
            run=self._run(who, "refresh"),
            may=who.may("write") and who.scope.project is None,
        )

    def pattern(self, pattern_id: str, who: Who, request: Request) -> Response:
        """Everything about one."""
        one = who.memory.patterns.get(pattern_id)
        every = request.query_params.get("all") == "1"
        measured = self._run(who, "measure")
        rollouts = who.memory.patterns.rollouts(one.id)
        results = [each for each in (measured.result or ()) if each.pattern == one.id] if measured else []
        return who.show(
            "pattern.html",
            pattern=one,
            columns=told.side_by_side(who.memory, one, most=told.MANY if every else told.FEW),
            every=every,
            few=told.FEW,
            history=told.history(who.memory, one),
            rollouts=rollouts[::-1],
            active=[each for each in rollouts if each.state != "out"],
            effects=told.effects(results),
            run=measured,
            others=_others(who, one),
            cost=told.cost_of(one),
            projects=told.projects_of(one),
            address=address,
            named=told.named,
            targets=TARGET_NAMES,
            may=who.may("speak"),
            may_work=who.may("write") and who.scope.project is None,
            may_roll=who.may("speak") and not who.hosted,
        )

    def decide(self, pattern_id: str, who: Who, form: Fields) -> Response:
        """What a person says of a pattern."""
        patterns, do = who.memory.patterns, form.text("do", most=20)
        one = patterns.get(pattern_id)
        _require_version(one, form)
        reason = form.text("reason", most=1_000).strip() or None
        if do == "approve":
            patterns.approve(one.id, reason, **_words(one, form))
        elif do == "edit":
            patterns.edit(one.id, reason=reason, **_words(one, form))
        elif do == "reject":
            patterns.reject(one.id, reason)
        elif do == "retire":
            patterns.retire(one.id, reason)
        elif do == "merge":
            one = patterns.merge(one.id, form.text("into", most=200), reason)
        else:
            raise InvalidInput("say what is to be done with it")
        return who.back(address(one.id), f"pattern-{do}")

    def merging(self, pattern_id: str, who: Who, request: Request) -> Response:
        """What becomes of two patterns that are merged, before they are."""
        one = who.memory.patterns.get(pattern_id)
        into = who.memory.patterns.get(request.query_params.get("into", "")[:200])
        if one.id == into.id or "merged" in (one.state, into.state):
            raise Conflict("these two cannot be merged", hint="Open the pattern again and choose another.")
        both = ((one, told.cost_of(one)), (into, told.cost_of(into)))
        return who.show("merge.html", pattern=one, into=into, both=both, address=address)

    # -- what takes long -----------------------------------------------------------------------------------------------

    def begin(self, who: Who, form: Fields) -> Response:
        """Look at every session again, for patterns or for what roll-outs came to."""
        name, memory = form.text("do", most=20), who.memory
        back = form.text("back", most=200)

        def refresh(progress: Progress) -> Any:
            return memory.patterns.refresh(progress)

        def measure(progress: Progress) -> Any:
            return memory.patterns.measure(progress=progress)

        does = {"refresh": refresh, "measure": measure}
        if name not in does:
            raise InvalidInput("say what is to be looked at")
        if who.scope.project is not None:
            raise Refused(403, "this key is of one project; patterns are found over all of them")
        there = address(memory.patterns.get(back).id) if back else HOME
        self._work.begin(who.scope, name, does[name], who.asked.clock)
        return who.back(there, "work-begun")

    def how_far(self, who: Who, request: Request) -> Response:
        """For the page's script: how far something is that was begun."""
        run = self._run(who, request.query_params.get("of", "")[:20])
        if run is None:
            return JSONResponse({"running": False})
        return JSONResponse({"running": run.running, "done": run.done, "total": run.total})

    def _run(self, who: Page, name: str) -> Run | None:
        """What was begun for the owner; nothing for a key of one project, since it looks at all of them."""
        return None if who.scope.project is not None else self._work.of(who.scope, name)

    # -- putting it before agents --------------------------------------------------------------------------------------

    def planned(self, pattern_id: str, who: Who, request: Request) -> Response:
        """Where it can be put; once that is chosen, what would be written."""
        one = who.memory.patterns.get(pattern_id)
        _require_own(who)
        asked = request.query_params
        chosen = {"to": asked.get("to", ""), "place": asked.get("place", ""), "force": asked.get("force", "")}
        return self._plan(who, one, chosen, tuple(asked.getlist("hold")))

    def _plan(
        self,
        who: Page,
        one: Pattern,
        chosen: Mapping[str, str],
        held: tuple[str, ...],
        problem: str | None = None,
        status: int = 200,
    ) -> Response:
        places, change, by_hand = told.places(who.memory, one), None, False
        if chosen["to"]:
            try:
                where = _where(chosen, places, held)
                change = who.memory.patterns.roll_out(one.id, chosen["to"], dry_run=True, **where)
            except EditedByHand as error:
                problem, by_hand, status = str(error), True, 409
            except RecollectError as error:
                problem, status = str(error), 422
        allowed = [name for name in TARGETS if name == "memory" or (one.rule and one.trust != "observed")]
        about: dict[str, Any] = {
            "by_hand": by_hand,
            "places": places,
            "targets": [(name, *TARGET_NAMES[name]) for name in TARGETS],
            "allowed": allowed,
            "chosen": chosen,
            "held": held,
            "projects": sorted({place.project for place in places if place.project}),
            "everywhere": EVERYWHERE,
        }
        return _planned(who, "rollout.html", one, change, problem, status, **about)

    def roll_out(self, pattern_id: str, who: Who, form: Fields) -> Response:
        """Write what was shown, and nothing else."""
        one = who.memory.patterns.get(pattern_id)
        _require_own(who)
        chosen = {name: form.text(name, most=100) for name in ("to", "place", "force")}
        held, expected = tuple(form.many("hold")), _fingerprint(form)
        where = _where(chosen, told.places(who.memory), held)
        try:
            who.memory.patterns.roll_out(one.id, chosen["to"], expected=expected, **where)
        except ChangedMeanwhile as error:
            return self._plan(who, one, chosen, held, f"{error}. Here is how it is now.", 409)
        return who.back(address(one.id), "rolled-out")

    def planned_back(self, pattern_id: str, who: Who, request: Request) -> Response:
        """What taking it back from one place would do."""
        one = who.memory.patterns.get(pattern_id)
        _require_own(who)
        asked = request.query_params
        return self._plan_back(who, one, asked.get("rollout", ""), asked.get("force") == "1")

    def _plan_back(
        self, who: Page, one: Pattern, name: str, force: bool, problem: str | None = None, status: int = 200
    ) -> Response:
        rollout, change, by_hand = _rollout(who, one, name), None, False
        try:
            change = who.memory.patterns.roll_back(one.id, rollout=rollout.id, dry_run=True, force=force)[0]
        except EditedByHand as error:
            problem, by_hand, status = str(error), True, 409
        about: dict[str, Any] = {
            "rollout": rollout,
            "target": TARGET_NAMES[rollout.target],
            "force": force,
            "by_hand": by_hand,
        }
        return _planned(who, "rollback.html", one, change, problem, status, **about)

    def roll_back(self, pattern_id: str, who: Who, form: Fields) -> Response:
        """Take it back from one place, as it was shown."""
        one = who.memory.patterns.get(pattern_id)
        _require_own(who)
        rollout, force = _rollout(who, one, form.text("rollout", most=100)), form.flag("force")
        reason = form.text("reason", most=1_000).strip() or None
        ways: dict[str, Any] = {"rollout": rollout.id, "force": force, "reason": reason, "expected": _fingerprint(form)}
        try:
            who.memory.patterns.roll_back(one.id, **ways)
        except ChangedMeanwhile as error:
            return self._plan_back(who, one, rollout.id, force, f"{error}. Here is how it is now.", 409)
        return who.back(address(one.id), "rolled-back")


# -- small things ------------------------------------------------------------------------------------------------------


def _require_own(who: Page) -> None:
    """Roll-outs write files of the machine that serves: only for its own user."""
    if who.hosted:
        raise Refused(
            403,
            "roll-outs write files, and this server is for others too",
            hint="It is rolled out from the machine whose agents are to be told.",
        )


def _planned(
    who: Page, template: str, one: Pattern, change: Change | None, problem: str | None, status: int, **more: Any
) -> Response:
    """What would be written, line by line, or why nothing can be."""
    lines = told.diff_lines(change.diff) if change else ()
    about = {"pattern": one, "change": change, "lines": lines, "problem": problem, "address": address}
    return who.show(template, status, **about, **more)


def _fingerprint(form: Form) -> str:
    """Of what was shown before it is written."""
    shown = form.text("fingerprint", most=64)
    if not shown:
        raise InvalidInput("look at what would be written first")
    return shown


def _require_version(one: Pattern, form: Form) -> None:
    if form.text("version", most=20) != str(one.version):
        raise Conflict("somebody decided on it meanwhile: nothing was changed", hint="Open it again, then decide.")


def _words(one: Pattern, form: Form) -> dict[str, str]:
    """The wording, where it is another than before."""
    given = {"rule": form.text("rule", most=2_000).strip(), "statement": form.text("statement", most=2_000).strip()}
    before = {"rule": one.rule or "", "statement": one.statement}
    return {name: text for name, text in given.items() if text and text != before[name]}


def _where(chosen: Mapping[str, str], places: list[told.Place], held: tuple[str, ...]) -> dict[str, Any]:
    """What was chosen as what rolling takes; a directory only by the name that the form gave it."""
    if chosen["to"] not in TARGETS:
        raise InvalidInput("choose what it is to be written to")
    directory: Path | None = None
    if chosen["place"] != EVERYWHERE:
        directory = next((one.directory for one in places if one.name == chosen["place"]), None)
        if directory is None:
            raise InvalidInput("choose a project", hint="Those whose sessions are stored and that are still there.")
    return {"directory": directory, "force": chosen["force"] == "1", "held_back": held}


def _rollout(who: Page, one: Pattern, name: str) -> Rollout:
    there = [each for each in who.memory.patterns.rollouts(one.id) if each.id == name and each.state != "out"]
    if not there:
        raise Conflict("it is not rolled out there any more", hint="Open the pattern again.")
    return there[0]


def _others(who: Page, one: Pattern) -> list[Pattern]:
    """What it could be merged into: of the same kind first."""
    if one.state == "merged" or not who.may("speak"):
        return []
    open_ = ("candidate", "approved")
    found = [each for each in who.memory.patterns.find() if each.id != one.id and each.state in open_]
    return sorted(found, key=lambda each: (each.kind != one.kind, not each.cross_flavor, -each.score))[:_OTHERS]


def _cost_plot(costly: list[Pattern]) -> tuple[Any, list[tuple[str, str, str]], Any] | None:
    """What the dearest of them cost, as bars."""
    if not costly:
        return None
    rows = [
        plots.Bar(one.statement, ((1 if one.cross_flavor else 0, one.seconds),), told.lasted(one.seconds))
        for one in costly
    ]
    table = [(one.statement, told.lasted(one.seconds), f"{one.tokens:,}") for one in costly]
    names = ("seen in one agent", "seen in several agents")
    return plots.bars(rows, "Time lost to each"), table, plots.legend(names)


def _number(text: str | None, default: int) -> int:
    if text is None or not text.isascii() or not text.isdigit() or len(text) > 5:
        return default
    return int(text) or default


assert set(TARGET_NAMES) == {*INSTRUCTIONS, "memory"}
