"""Sessions on the page: the list with its filters and days, one session as a transcript, what is done with one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from html import unescape
from typing import Any
from urllib.parse import quote

from recollect.capture.bodies import body_of
from recollect.ids import stable_key
from recollect.model import Cost, Event, Session
from recollect.pipeline.digests import digest_due
from recollect.store.ports.capture import Seen
from recollect.store.ports.use import Injection
from recollect.web.paths import anchor
from tests.contract.samples import event
from tests.web.conftest import Web

Open = Callable[..., Web]
ONE = "claude:one"
PAGE = f"/page/sessions/{quote(ONE)}"


def call(number: int, text: str, tool: str = "Bash", session: str = ONE, **meta: Any) -> Event:
    more = {"tool": tool, "action": "shell", "call": f"c{number}", "main": "command", **meta}
    return event(session, number, text, "assistant", kind="tool_call", meta=more)


def result(number: int, text: str, of: int, session: str = ONE, **meta: Any) -> Event:
    return event(session, number, text, "tool", meta={"tool": "Bash", "call": f"c{of}", **meta})


def taken_in(web: Web, *events: Event, **facts: Any) -> None:
    """Events of an agent's session, with its digest."""
    about = Session(events[0].session, events[0].session.partition(":")[0], **facts)
    store, scope = web.serving.store, web.memory.scope
    cost = Cost(stable_key("cost", about.id), about.id, web.clock(), "opus", input=900, output=100, usd=0.5)
    seen = Seen(f"/logs/{about.id}", about.flavor, about.id, "read", web.clock(), counts={"withheld:secret:stripe": 2})
    store.captures.ingest(scope, about, [replace(one, way="sweep") for one in events], [cost], transcript=seen)
    digest_due(store, scope, web.clock)


def a_session(web: Web) -> None:
    edit = {"old_string": "port = 1\nhost = a", "new_string": "port = 2\nhost = a", "replace_all": False}
    taken_in(
        web,
        event(ONE, 0, "The login fails with 401. Please fix it."),
        event(ONE, 1, "I think the token is old", "assistant", kind="thinking"),
        call(2, "pytest tests/login"),
        result(3, "1 failed: test_login", 2, error=True, exit=1),
        call(4, "/src/conf.py", "Edit", action="edit", input=edit),
        result(5, "done", 4, exit=0),
        event(ONE, 6, "The port was wrong; it is mended.", "assistant"),
        event(ONE, 7, "Thank you. Is it deployed?"),
        event(ONE, 8, "Not yet.", "assistant"),
        title="Mend the login",
        project="shop",
        branch="main",
        models=("opus",),
        agent_version="2.1",
        cwd="/src",
    )


# -- the list ----------------------------------------------------------------------------------------------------------


def test_an_empty_list_says_what_to_do(web: Open) -> None:
    assert "recollect sweep" in web().says("/page/sessions")


def test_the_list_tells_what_each_session_was(web: Open) -> None:
    one = web()
    a_session(one)
    taken_in(one, event("codex:two", 0, "write the docs"), parent=ONE, relation="subagent")
    said = one.says("/page/sessions")
    for words in (
        "Mend the login",
        "claude",
        "shop",
        "1 started from it",
        "Turns 2",
        "$0.50",
        "write the docs",
        "Health",
    ):
        assert words in said
    assert one.get("/page/sessions").count("<h1") == 1


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"agent": "codex"}, {"docs"}),
    ({"project": "shop"}, {"login"}),
    ({"project": "(none)"}, {"docs"}),
    ({"q": "LOGIN"}, {"login"}),
    ({"since": "2026-03-02"}, set()),
    ({"until": "2026-03-01"}, {"login", "docs"}),
    ({"until": "2026-02-28"}, set()),
    ({"outcome": "nonsense", "since": "yesterday", "page": "x", "agent": "\x01"}, {"login", "docs"}),
    ({"page": "2"}, set()),
]


def test_filters_narrow_it_and_nonsense_does_not(web: Open) -> None:
    one = web()
    a_session(one)
    taken_in(one, event("codex:two", 0, "write the docs"))
    named = {"login": "Mend the login</a>", "docs": "write the docs</a>"}
    for query, shown in FILTERS:
        page = one.get("/page/sessions", **query)
        assert {word for word, text in named.items() if text in page} == shown, query


def test_it_is_paged(web: Open) -> None:
    one = web()
    for number in range(45):
        one.memory.record(f"chat:{number:02}", "user", f"hello {number:02}")
        one.clock.move(minutes=1)
    assert one.get("/page/sessions").count('class="hit') == 40
    older = one.get("/page/sessions", page=2)
    assert older.count('class="hit') == 5
    assert "/page/sessions?page=1" in older


def test_days_are_a_heat_map_with_a_table(web: Open) -> None:
    one = web()
    for number in range(3):
        one.memory.record(f"chat:{number}", "user", "hello")
    page, day = one.get("/page/sessions"), f"{one.clock():%Y-%m-%d}"
    there = f"/page/sessions?since={day}&amp;until={day}"
    assert f'<a href="{there}" tabindex="-1" aria-label="{day}: 3"><rect class="h4"' in page
    assert f"<title>{day}: 3</title>" in page
    assert f'<td><a href="{there}">{day}</a></td><td>3</td>' in page
    assert one.get("/page/sessions", since=day, until=day).count('class="hit') == 3


def test_a_day_of_the_map_keeps_what_else_was_chosen(web: Open) -> None:
    one = web()
    one.memory.record("chat:1", "user", "hello")
    page = one.get("/page/sessions", agent="chat", since="2026-01-01")
    assert re.search(r'href="/page/sessions\?agent=chat&amp;since=(\S+)&amp;until=\1"', page)


def test_a_row_says_on_which_day_and_at_what_time(web: Open) -> None:
    one = web()
    a_session(one)
    ended = one.memory.store.sessions.get(one.memory.scope, ONE).ended_at  # type: ignore[union-attr]
    row = one.get("/page/sessions").partition('class="hit')[2]
    assert f"{ended:%Y-%m-%d %H:%M} UTC</time>, <time" in row


# -- one session -------------------------------------------------------------------------------------------------------


def test_a_session_is_a_readable_transcript(web: Open) -> None:
    one = web()
    a_session(one)
    said, page = one.says(PAGE), one.get(PAGE)
    for words in (
        "Mend the login",
        "opus",
        "shop",
        "/src",
        "main",
        "Turn 1",
        "Turn 2",
        "The login fails with 401",
        "$0.50",
    ):
        assert words in said
    assert "failed, exit 1" in said, "what went wrong is said in words"
    assert re.search(r'<details class="tool failed"[^>]*><summary><span class="name">Bash</span>', page)
    assert '<span class="cut">- port = 1' in page
    assert '<span class="add">+ port = 2' in page
    assert '<details class="thought"' in page
    assert page.index("1 failed: test_login") > page.index("pytest tests/login"), "a result stands with its call"
    assert "secret: stripe × 2" in said


def test_a_result_stands_with_its_call_whichever_came_first(web: Open) -> None:
    one = web()
    taken_in(one, event(ONE, 0, "go"), result(1, "early bird", 2), call(2, "sing"), result(3, "nobody asked", 9))
    page = one.get(PAGE)
    assert page.index(">sing<") < page.index("early bird")
    assert page.count("early bird") == 1
    assert page.count('<details class="tool"') == 2
    assert "Result of Bash" in page


def test_what_belongs_to_a_session_is_linked(web: Open) -> None:
    one = web()
    a_session(one)
    taken_in(one, event("claude:child", 0, "help with it"), parent=ONE, relation="subagent", title="A helper")
    kept = one.memory.remember("The port is 2", "fact", session=ONE)
    one.serving.store.use.inject(
        one.memory.scope,
        [Injection(kept.id, ONE, one.clock(), "claude", "start", "b")],
        before=one.clock() - timedelta(1),
    )
    one.clock.move(minutes=1)
    one.memory.update(kept.id, content="The port is 3")
    page, said = one.get(PAGE), one.says(PAGE)
    assert f"/page/memories/{kept.id}" in page
    assert "A helper" in said
    told = said.partition("Memories made of it")[2].partition("Transcript")[0].partition("What it was told")[2]
    assert "Told claude 1 memory when it began" in told
    assert "The port is 2" in told, "the words it had then"
    child = one.says(f"/page/sessions/{quote('claude:child')}")
    assert "Mend the login" in child


def test_a_session_without_a_title_is_called_by_what_it_was_for(web: Open) -> None:
    one = web()
    taken_in(one, event(ONE, 0, "Please write the docs of the harbour"))
    taken_in(one, event("claude:child", 0, "help"), parent=ONE, relation="subagent", title="A helper")
    family = one.get(f"/page/sessions/{quote('claude:child')}").partition('id="family"')[2].partition("</section>")[0]
    assert "Please write the docs of the harbour" in family
    assert one.browser.get(f"{PAGE}/export", params={"as": "markdown"}).text.startswith("# Please write the docs")


EXACT = "<recollect-memory>\nWhat is remembered [recollect:0123456789ab]\n> The <b>port</b> is 2\n</recollect-memory>\n"


def tell(web: Web, *contents: str, after: int = 0, event: str = "start", block: str = "0123456789ab") -> list[str]:
    """Memories that the agent of the session was told at once, so many seconds after it began."""
    began = web.memory.history(ONE)[0].occurred_at
    kept = [web.memory.remember(content, "fact").id for content in contents]
    shown = [Injection(id_, ONE, began + timedelta(seconds=after), "claude", event, block) for id_ in kept]
    web.serving.store.use.inject(web.memory.scope, shown, before=began - timedelta(days=1))
    folder = web.data_dir / "told"
    folder.mkdir(mode=0o700, exist_ok=True)
    said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": EXACT}}
    (folder / "0123456789ab").touch(0o600)
    (folder / "0123456789ab").write_text(json.dumps(said))
    return kept


def test_a_turn_that_was_opened_from_a_hit_shows_what_its_agent_was_told(web: Open) -> None:
    """Why did it say that? From the event one comes to what was put before the agent."""
    one = web()
    a_session(one)
    first, second = tell(one, "The port is 2", "Deploys happen on Fridays")
    for query in ({"at": stable_key(ONE, "6")}, {"q": "port"}):
        page = one.get(PAGE, **query)
        assert '<details class="card" id="told"><summary>It was told 2 memories</summary>' in page
        assert f"/page/memories/{first}" in page
        assert f"/page/memories/{second}" in page
    assert '<a class="had small" href="#told">It had been told 2 memories</a>' in one.get(PAGE, at=stable_key(ONE, "6"))
    assert "It had been told" not in one.get(PAGE)


def test_the_exact_text_is_shown_as_text(web: Open) -> None:
    one = web()
    a_session(one)
    tell(one, "The port is 2")
    for query in ({}, {"at": stable_key(ONE, "6")}):
        page = one.get(PAGE, **query)
        assert "As the agent received it, word for word." in page
        assert EXACT.strip() in unescape(page)
        assert "<b>port" not in page


def test_of_what_was_forgotten_the_exact_text_is_not_shown(web: Open) -> None:
    one = web()
    a_session(one)
    gone, _ = tell(one, "The port is 2", "Deploys happen on Fridays")
    one.memory.forget(gone, soft=True)
    page = one.get(PAGE)
    assert "The port is 2" not in page
    assert "recollect-memory" not in page
    assert "Deploys happen on Fridays" in page


def test_what_was_told_stands_where_it_was_told(web: Open) -> None:
    one = web()
    a_session(one)
    tell(one, "The port is 2")
    seventh = one.memory.history(ONE)[7].occurred_at - one.memory.history(ONE)[0].occurred_at
    tell(one, "Deploys happen on Fridays", after=int(seventh.total_seconds()), event="prompt", block="b")
    transcript = one.get(PAGE).partition('class="transcript"')[2]
    places = [transcript.index(words) for words in ("Told claude", "The login fails with 401")]
    assert places == sorted(places)
    turn = transcript.index("Turn 2")
    assert "Told claude" in transcript[turn : transcript.index("Not yet.")]


def test_what_was_told_between_two_pages_is_on_one_of_them(web: Open) -> None:
    one = web()
    taken_in(one, *(event(ONE, n, f"line {n}", "user" if n % 2 == 0 else "assistant") for n in range(160)))
    events = one.memory.history(ONE)
    last = events[149].occurred_at - events[0].occurred_at
    tell(one, "The port is 2", after=int(last.total_seconds()) + 1, event="prompt")
    shown = [one.get(PAGE, page=number).partition('class="transcript"')[2].count("Told claude") for number in (1, 2)]
    assert sum(shown) == 1


def test_a_call_leads_to_the_session_of_the_helper_it_started(web: Open) -> None:
    one = web()
    taken_in(
        one,
        event(ONE, 0, "go"),
        call(1, "Look at the routes", "Task", action="task"),
        result(2, "There are nine.", 1, agent="a93"),
        call(3, "Look at the tests", "Task", action="task"),
        call(4, "ls"),
    )
    helper = {"parent": ONE, "relation": "subagent"}
    taken_in(one, event(f"{ONE}/agent-a93", 0, "Look at the routes", origin="assistant"), **helper)
    taken_in(one, event(f"{ONE}/agent-b71", 0, "Look at the tests", origin="assistant"), **helper)
    transcript = one.get(PAGE).partition('class="transcript"')[2]
    found = re.findall(r'<a href="([^"]+)">The session of the helper it started', transcript)
    assert found == [f"/page/sessions/{quote(f'{ONE}/agent-{name}')}" for name in ("a93", "b71")]


def test_how_much_of_a_session_is_stored_is_told(web: Open) -> None:
    one = web()
    a_session(one)
    assert "Coverage" not in one.says(PAGE), "no turn of a transcript is known"
    about, keys = Session(ONE, "claude"), [stable_key(ONE, str(n)) for n in (0, 7)]
    for turns, words in (((*keys, "f" * 64), "66.67 % of 3 turns"), (tuple(keys), "100 % of 2 turns")):
        seen = Seen(f"/logs/{ONE}", "claude", ONE, "read", one.clock(), turns=turns)
        one.serving.store.captures.ingest(one.memory.scope, about, [], [], transcript=seen)
        assert f"Coverage {words}" in one.says(PAGE)


def test_a_cost_that_is_not_known_says_why(web: Open) -> None:
    one = web()
    a_session(one)
    assert "No price is known" not in one.says(PAGE)
    cost = Cost(stable_key("cost", "x"), ONE, one.clock(), "muse-9", input=900, output=100)
    one.serving.store.captures.ingest(one.memory.scope, Session(ONE, "claude"), [], [cost])
    digest_due(one.serving.store, one.memory.scope, one.clock)
    assert "No price is known for muse-9; the setting `prices` tells it" in one.says(PAGE)


def test_on_a_server_for_others_nobody_is_told_to_run_a_command(web: Open) -> None:
    one = web(hosted=True)
    empty = [one.says(each) for each in ("/page/sessions", "/page/live", "/page/patterns", "/page/insights")]
    a_session(one)
    full = [one.says(each) for each in (PAGE, f"{PAGE}/forget", "/page/sessions", "/page/live", "/page/insights")]
    for said in (*empty, *full):
        assert "n a terminal" not in said
        assert not re.search(r"\brecollect [a-z]|setting `", said)


def test_at_opens_the_page_that_holds_an_event(web: Open) -> None:
    one = web()
    taken_in(one, *(event(ONE, n, f"line {n}", "user" if n % 2 == 0 else "assistant") for n in range(400)))
    key = stable_key(ONE, "333")
    page = one.get(PAGE, at=key)
    assert f'class="speech by-agent here" id="{anchor(key)}"' in page
    assert "Page 3 of 3" in page
    assert "line 333" in page
    assert "line 299<" not in page
    first = one.get(PAGE)
    assert "Page 1 of 3" in first
    assert "?page=2#transcript" in first
    assert "here" not in re.findall(r'class="speech[^"]*"', first)
    for wrong in ("zz", stable_key("nobody"), "", "%"):
        assert "Page 1 of 3" in one.get(PAGE, at=wrong)
    assert "Page 3 of 3" in one.get(PAGE, page=99)


def test_a_turn_that_goes_on_says_so(web: Open) -> None:
    one = web()
    taken_in(one, event(ONE, 0, "go"), *(event(ONE, n, f"step {n}", "assistant") for n in range(1, 200)))
    assert "continued" not in one.get(PAGE)
    assert 'Turn 1 <span class="muted">continued' in one.get(PAGE, page=2)


def test_words_are_sought_inside(web: Open) -> None:
    one = web()
    a_session(one)
    page = one.get(PAGE, q="PORT wrong")
    assert "<mark>port</mark> was <mark>wrong</mark>" in page
    key = stable_key(ONE, "6")
    assert f"?at={key}#{anchor(key)}" in page
    assert "Nothing in this session has" in one.says(PAGE, q="zebra")


def test_a_long_text_is_cut_and_the_whole_event_is_a_link_away(web: Open) -> None:
    one = web()
    taken_in(one, event(ONE, 0, "start " + "x" * 60_000 + " the end"))
    page = one.get(PAGE)
    assert "the end" not in page
    key = stable_key(ONE, "0")
    assert f"?event={key}" in page
    assert "the end" in one.get(PAGE, event=key)
    taken_in(one, event("claude:two", 0, "elsewhere"))
    for wrong in (stable_key("nobody"), stable_key("claude:two", "0"), "zz"):
        assert one.get(PAGE, 404, event=wrong)


def test_bodies_are_shown_as_what_they_are(web: Open) -> None:
    one = web()
    picture, page = body_of(b"\x89PNG not really", "image/png"), body_of(b"<script>alert(1)</script>", "text/html")
    taken_in(one, replace(event(ONE, 0, "look"), bodies=(picture, page)))
    shown = one.browser.get(f"{PAGE}/body", params={"name": picture.hash})
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/png")
    saved = one.browser.get(f"{PAGE}/body", params={"name": page.hash})
    assert saved.headers["content-type"] == "text/plain; charset=utf-8"
    assert saved.headers["content-disposition"].startswith("attachment")
    assert one.browser.get(f"{PAGE}/body", params={"name": "0" * 64}).status_code == 404
    assert f'src="/page/sessions/claude%3Aone/body?name={picture.hash}"' in one.get(PAGE, event=stable_key(ONE, "0"))


def test_four_megabytes_are_a_small_page_and_quick(web: Open) -> None:
    """The page's numbers: at most 1 MB, and 300 ms on a quiet machine; here a busy one is allowed for."""
    one = web()
    rude = "<&\"'> naïve 你好 " * 180
    events = [event(ONE, 0, "do it all")]
    for n in range(1, 1400, 2):
        events += [call(n, f"make step-{n} {rude[:300]}"), result(n + 1, f"{n} {rude * 2}", n, exit=n % 3)]
    taken_in(one, *events)
    size = sum(len(each.text.encode()) for each in events)
    assert size > 4_000_000
    one.get(PAGE)
    spent = []
    for query in ({}, {"page": 5}, {"at": stable_key(ONE, "900")}, {"q": "naïve step-77"}):
        began = time.process_time()
        page = one.get(PAGE, **query)
        spent.append(time.process_time() - began)
        assert len(page.encode()) < 1_000_000
    assert min(spent) < 0.3, spent


def test_what_is_not_there_is_404(web: Open) -> None:
    one = web()
    a_session(one)
    for address in ("/page/sessions/claude:none", "/page/sessions/", f"{PAGE}x/export", f"{PAGE}x/forget"):
        assert one.browser.get(address).status_code == 404


HOSTILE = "</pre><script>alert(1)</script><img src=x onerror=alert(2)>\"'\u202e\x1b[31m"


def test_text_of_a_session_stays_text(web: Open) -> None:
    one = web()
    taken_in(
        one,
        event(ONE, 0, HOSTILE),
        call(1, HOSTILE, tool=HOSTILE, input={HOSTILE: HOSTILE, "old_string": HOSTILE, "new_string": "x" + HOSTILE}),
        result(2, HOSTILE, 1, exit=1),
        event(ONE, 3, HOSTILE, "assistant", kind="thinking"),
        event(ONE, 4, HOSTILE, "system", kind="state", meta={"what": HOSTILE}),
        title=HOSTILE,
        project="<b>shop",
        branch=HOSTILE,
        models=(HOSTILE,),
    )
    for page in (
        one.get("/page/sessions"),
        one.get(PAGE),
        one.get(PAGE, q="alert script"),
        one.get(PAGE, event=stable_key(ONE, "1")),
        one.get(f"{PAGE}/forget"),
        one.get("/page/live"),
    ):
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert "<b>shop" not in page
        assert "\u202e" not in page
        assert "\x1b" not in page


# -- what is done with one ---------------------------------------------------------------------------------------------


def test_a_gist_is_made(web: Open) -> None:
    one = web()
    a_session(one)
    assert "No gist yet. Upkeep ( recollect maintain ) makes one of a session that has 8 events" in one.says(PAGE)
    assert one.get(PAGE).count(f'action="{PAGE}/summarize"') == 2
    answer = one.post(f"{PAGE}/summarize")
    assert answer.status_code == 303
    assert answer.headers["location"] == "/page/sessions/claude%3Aone?said=summarized#gist"
    assert "No gist yet" not in one.says(PAGE)


def test_memories_are_made_again(web: Open) -> None:
    one = web()
    taken_in(one, event(ONE, 0, "From now on always use tabs in the firmware folder."))
    answer = one.post(f"{PAGE}/distill")
    assert answer.headers["location"].endswith("said=distilled#memories")
    assert one.memory.memories(session=ONE)
    assert one.post(f"{PAGE}/distill").headers["location"].endswith("said=nothing-new#memories")


def test_all_that_goes_is_counted_before_it_does(web: Open) -> None:
    """However many memories and subagents there are, and what was superseded too."""
    one = web()
    one.memory.record("claude:many", "user", "hm")
    for number in range(130):
        one.memory.remember(f"The door number {number} is of wood {number * 7}", session="claude:many")
    said = one.says("/page/sessions/claude:many/forget")
    assert "130 memories made of it" in said
    assert "and 30 more" in said
    assert one.memory.forget(session="claude:many").counts["memories"] == 130


def test_forgetting_shows_what_goes_and_then_it_is_gone(web: Open) -> None:
    one = web()
    a_session(one)
    taken_in(one, event("claude:child", 0, "help"), parent=ONE, relation="subagent", title="A helper")
    kept = one.memory.remember("The port is 2", session=ONE)
    said = one.says(f"{PAGE}/forget")
    for words in ("10 events of 2 sessions", "A helper", "1 memory made of it", "The port is 2"):
        assert words in said
    assert one.memory.store.sessions.get(one.memory.scope, ONE) is not None, "looking takes nothing away"
    answer = one.post(f"{PAGE}/forget")
    assert answer.headers["location"] == "/page/sessions?said=session-deleted"
    assert one.browser.get(PAGE).status_code == 404
    assert one.memory.store.sessions.get(one.memory.scope, "claude:child") is None
    assert one.memory.store.memories.get(one.memory.scope, kept.id) is None


def test_a_session_is_saved_as_a_file(web: Open) -> None:
    one = web()
    a_session(one)
    one.memory.remember("The port is 2", session=ONE)
    saved = one.browser.get(f"{PAGE}/export")
    assert saved.headers["content-disposition"] == 'attachment; filename="claude-one.jsonl"'
    records = [json.loads(line) for line in saved.text.splitlines()]
    assert [each["type"] for each in records] == ["recollect", "session", *["event"] * 9, "cost", "memory"]
    told = one.browser.get(f"{PAGE}/export", params={"as": "markdown"})
    assert told.headers["content-disposition"] == 'attachment; filename="claude-one.md"'
    assert told.headers["content-type"] == "text/markdown; charset=utf-8"
    assert "# Mend the login" in told.text
    assert "> The login fails with 401. Please fix it." in told.text
    assert "```\npytest tests/login\n```" in told.text
    noted = one.memory.store.audit.find(one.memory.scope, limit=9, action="export")
    assert [(entry.session, entry.details["sessions"]) for entry in noted] == [(ONE, 1), (ONE, 1)]


def test_what_was_saved_can_be_taken_in_again(web: Open) -> None:
    one = web(hosted=True)
    a_session(one)
    lines = [json.loads(line) for line in one.browser.get(f"{PAGE}/export").text.splitlines()]
    from recollect.model import Scope

    other = one.serving.memory(Scope("acme", "bob"))
    other.load(lines)
    mine = [(each.key, each.text) for each in one.memory.history(ONE)]
    assert [(each.key, each.text) for each in other.history(ONE)] == mine


def test_whoever_may_not_is_not_shown_how(web: Open) -> None:
    one = web(hosted=True)
    a_session(one)
    one.browser = one.visitor(one.key("read"))
    page = one.get(PAGE)
    assert "/forget" not in page
    assert "/distill" not in page
    assert "/logs/" not in page, "nothing of the server's machine is shown to others"
