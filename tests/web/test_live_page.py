"""The live log: what comes is told once, in order, to everybody who may see it, and to nobody else (S2.29)."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from collections.abc import Callable, Coroutine
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from starlette.testclient import TestClient

from recollect.model import Scope
from recollect.pipeline.following import Following, Line, catch_up, recent
from recollect.store.ports.browse import Mark
from recollect.store.ports.use import Injection
from recollect.web import live
from recollect.web.live import Marks
from tests.contract.samples import T0, event
from tests.web.conftest import Web

Open = Callable[..., Web]
EVENTS = "/page/live/events"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks follow each other closely, so that a test need not wait."""
    monkeypatch.setattr(live, "SECONDS", 0.02)
    monkeypatch.setattr(live, "CHECKED_SECONDS", 0.1)


class Stream:
    """One reader of the stream, as a server would serve it."""

    def __init__(self, web: Web, browser: TestClient | None = None, query: str = "", last: str | None = None) -> None:
        cookies = "; ".join(f"{name}={value}" for name, value in (browser or web.browser).cookies.items())
        headers = [(b"host", b"127.0.0.1:8010"), (b"cookie", cookies.encode())]
        headers += [(b"last-event-id", last.encode())] if last else []
        scope: dict[str, Any] = {
            "type": "http",
            "method": "GET",
            "path": EVENTS,
            "raw_path": EVENTS.encode(),
            "scheme": "http",
        }
        scope |= {"query_string": query.encode(), "headers": headers, "client": ("127.0.0.1", 3)}
        scope |= {"server": ("127.0.0.1", 8010), "http_version": "1.1", "asgi": {"version": "3.0"}}
        self.status = 0
        self.text = ""
        self._gone = asyncio.Event()
        self._news = asyncio.Event()
        self.task = asyncio.create_task(web.served(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status, self.headers = message["status"], dict(message["headers"])
        self.text += message.get("body", b"").decode()
        self._news.set()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(part[6:]) for part in self.text.splitlines() if part.startswith('data: {"id"')]

    @property
    def last_id(self) -> str:
        return [part[4:] for part in self.text.splitlines() if part.startswith("id: ")][-1]

    @property
    def texts(self) -> list[str]:
        return [line["text"] for line in self.lines]

    async def until(self, holds: Callable[[Stream], bool], seconds: float = 10.0) -> None:
        async with asyncio.timeout(seconds):
            while not holds(self):
                self._news.clear()
                if not holds(self):
                    await self._news.wait()

    async def leave(self) -> None:
        self._gone.set()
        await asyncio.wait_for(asyncio.gather(self.task, return_exceptions=True), 10)


def run(web: Web, act: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """In one event loop, as a server has it."""
    asyncio.run(act())


def say(web: Web, *texts: str, session: str = "chat:1", first: int = 0, scope: Scope | None = None) -> None:
    said = [event(session, first + n, text, recorded_at=web.clock()) for n, text in enumerate(texts)]
    web.serving.store.sessions.append(scope or web.memory.scope, said)


async def ready(*streams: Stream) -> None:
    for stream in streams:
        await stream.until(lambda one: "retry" in one.text)
    await asyncio.sleep(0.15)  # the first look is over


def test_the_page_shows_the_last_lines_without_a_script(web: Open) -> None:
    one = web()
    assert "Nothing yet" in one.says("/page/live")
    say(one, "hello there")
    kept = one.memory.remember("The door is blue", "fact")
    page = one.get("/page/live")
    assert "hello there" in page
    assert f"/page/memories/{kept.id}" in page
    assert 'data-live="/page/live/events?' in page
    assert "The door is blue" not in one.get("/page/live", session="chat:1")


def test_what_comes_is_told_once_and_in_order(web: Open) -> None:
    one = web()
    say(one, "The staging server is called otter and runs in Oslo.")

    async def act() -> None:
        stream = Stream(one)
        await ready(stream)
        assert (stream.status, stream.headers[b"content-type"]) == (200, b"text/event-stream; charset=utf-8")
        say(one, "one", "two", first=1)
        kept = one.memory.remember("The door is blue", "fact", session="chat:1")
        one.memory.summarize("chat:1")
        await stream.until(lambda it: len(it.lines) >= 4)
        await asyncio.sleep(0.2)
        assert [(line["what"], line["note"]) for line in stream.lines] == [
            ("prompt", ""),
            ("prompt", ""),
            ("memory", "fact"),
            ("gist", "extractive"),
        ]
        assert stream.texts[:3] == ["one", "two", "The door is blue"]
        assert stream.lines[2]["address"] == f"/page/memories/{kept.id}"
        assert stream.lines[0]["address"].startswith("/page/sessions/chat%3A1?at=")
        await stream.leave()

    run(one, act)


def test_what_agents_are_told_is_told_word_for_word(web: Open) -> None:
    one = web()
    say(one, "before")
    kept = one.memory.remember("First line\n  second <line>")

    async def act() -> None:
        stream = Stream(one)
        await ready(stream)
        shown = Injection(kept.id, "chat:1", one.clock() - timedelta(minutes=50), "claude", "start", "b")
        one.serving.store.use.inject(one.memory.scope, [shown], before=one.clock() - timedelta(days=1))
        await stream.until(lambda it: bool(it.lines))
        (line,) = stream.lines
        assert (line["what"], line["note"], line["text"]) == ("told", "claude", "First line\n  second <line>")
        await stream.leave()

    run(one, act)


BLOCK = "0123456789ab"
EXACT = "<recollect-memory>\nWhat Recollect remembers [recollect:0123456789ab]\n" + "> a <b>line</b>\n" * 200


def tell_agent(web: Web, *texts: str, block: str = BLOCK) -> None:
    """Memories that were put before an agent at once."""
    at = web.clock() + timedelta(seconds=1)
    kept = [web.memory.remember(text) for text in texts]
    shown = [Injection(one.id, "chat:1", at, "claude", "start", block) for one in kept]
    web.serving.store.use.inject(web.memory.scope, shown, before=at - timedelta(days=1))


def keep_words(web: Web) -> None:
    """What the hook printed then."""
    folder = web.data_dir / "told"
    folder.mkdir(mode=0o700)
    said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": EXACT}}
    (folder / BLOCK).touch(0o600)
    (folder / BLOCK).write_text(json.dumps(said))


def test_what_an_agent_was_told_is_one_line_with_its_very_words(web: Open) -> None:
    """The same on a page that is opened and on one that follows, and whole (S2.29)."""
    one = web()
    say(one, "before")
    keep_words(one)

    async def act() -> None:
        stream = Stream(one)
        await ready(stream)
        tell_agent(one, "The door is blue", "The cat is called Miso")
        await stream.until(lambda it: any(line["what"] == "told" for line in it.lines))
        (line,) = [line for line in stream.lines if line["what"] == "told"]
        assert (line["note"], line["headline"], line["exact"]) == ("claude", "2 memories", True)
        assert line["text"] == EXACT
        assert line["address"] == "/page/sessions/chat%3A1#told"
        await stream.leave()

    run(one, act)
    page = one.get("/page/live")
    assert page.count(">told</a>") == 1
    assert '<span class="note">claude</span> 2 memories</summary>' in page
    assert EXACT.strip() in unescape(page)
    assert "a <b>line" not in page


def test_without_the_very_words_those_of_each_memory_are_told(web: Open) -> None:
    one = web()
    say(one, "before")
    tell_agent(one, "The door is blue", "x" * 1_500)
    page = one.get("/page/live")
    assert "The door is blue" in page
    assert "x" * 1_500 in page
    assert "the text around them is not kept" in page


def test_on_a_server_for_others_no_words_of_its_machine_are_told(web: Open) -> None:
    one = web(hosted=True)
    say(one, "before")
    keep_words(one)
    tell_agent(one, "The door is blue")
    assert "recollect-memory" not in one.get("/page/live")


def test_an_answer_stands_above_its_prompt_as_newer_ones_do(web: Open) -> None:
    one = web()
    say(one, "the question", "the answer")
    page = one.get("/page/live")
    assert page.index("the answer") < page.index("the question")


def test_a_page_counts_whole_what_was_told(web: Open) -> None:
    """Of the first that it has room for some may be left out: then it is not told."""
    one = web()
    say(one, "before")
    tell_agent(one, *(f"Door {n} is of wood {n * 7}" for n in range(9)), block="first0000000")
    one.clock.move(seconds=5)
    tell_agent(one, "The cat is called Miso", "Dogs bark")
    lines, _ = recent(one.serving.store, one.memory.scope, one.clock, limit=6)
    assert [line.memories for line in lines if line.what == "told"] == [2]


def test_whoever_comes_back_misses_nothing_and_hears_nothing_twice(web: Open) -> None:
    one = web()
    say(one, "before")

    async def act() -> None:
        stream = Stream(one)
        await ready(stream)
        say(one, "a", "b", first=1)
        await stream.until(lambda it: len(it.lines) >= 2)
        await stream.leave()
        say(one, "c", "d", first=3)
        one.memory.remember("e")
        again = Stream(one, last=stream.last_id)
        await again.until(lambda it: len(it.lines) >= 3)
        say(one, "f", first=5)
        await again.until(lambda it: "f" in it.texts)
        assert again.texts == ["c", "d", "e", "f"]
        await again.leave()

    run(one, act)


def test_a_page_goes_on_where_it_was_made(web: Open) -> None:
    """What comes between a page and its stream is in the stream."""
    one = web()
    say(one, "before")
    page = one.get("/page/live")
    after = page.partition("after=")[2].partition('"')[0]
    say(one, "between", first=1)

    async def act() -> None:
        stream = Stream(one, query=f"session=&after={after}")
        await stream.until(lambda it: bool(it.lines))
        assert stream.texts == ["between"]
        await stream.leave()

    run(one, act)


def test_one_session_can_be_followed_alone(web: Open) -> None:
    one = web()
    say(one, "before")

    async def act() -> None:
        stream = Stream(one, query="session=chat:2")
        await ready(stream)
        say(one, "elsewhere", first=1)
        say(one, "here", session="chat:2")
        await stream.until(lambda it: bool(it.lines))
        assert stream.texts == ["here"]
        await stream.leave()

    run(one, act)


def test_others_are_told_nothing_of_it(web: Open) -> None:
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    bob, shop = one.visitor(one.key("read", user="bob")), one.visitor(one.key("read", project="shop"))

    async def act() -> None:
        mine, theirs, narrow = Stream(one), Stream(one, bob), Stream(one, shop)
        await ready(mine, theirs, narrow)
        say(one, "of the farm", session="chat:1", scope=Scope("acme", "ann", "farm"))
        say(one, "of the shop", session="chat:2", scope=Scope("acme", "ann", "shop"))
        say(one, "of bob", session="chat:3", scope=Scope("acme", "bob"))
        await mine.until(lambda it: len(it.lines) >= 2)
        await theirs.until(lambda it: bool(it.lines))
        await narrow.until(lambda it: bool(it.lines))
        await asyncio.sleep(0.1)
        assert (mine.texts, theirs.texts, narrow.texts) == (["of the farm", "of the shop"], ["of bob"], ["of the shop"])
        for stream in (mine, theirs, narrow):
            await stream.leave()

    run(one, act)


def test_a_key_that_is_revoked_follows_nothing_any_more(web: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    from recollect.http import knowing

    monkeypatch.setattr(knowing, "REMEMBERED", 0.0)
    one = web(hosted=True, serve_rate_per_minute=0, serve_rate_per_ip_per_minute=0)
    browser = one.visitor(one.key("read", name="short"))

    async def act() -> None:
        stream = Stream(one, browser)
        await ready(stream)
        scope = one.memory.scope
        (key,) = [each for each in one.serving.store.keys.find(scope) if each.name == "short"]
        one.serving.store.keys.revoke(scope, key.id, at=one.clock())
        await asyncio.wait_for(stream.task, 10)
        say(one, "too late")
        assert "event: end" in stream.text
        assert stream.lines == []

    run(one, act)


def test_it_ends_when_the_server_does(web: Open) -> None:
    one = web()

    async def act() -> None:
        stream = Stream(one)
        await ready(stream)
        one.serving.end_work()
        await asyncio.wait_for(stream.task, 10)

    run(one, act)


def test_one_look_serves_everybody_and_none_is_made_for_nobody(web: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = []
    look = Following.look

    def counted(self: Following) -> Any:
        looks.append(self)
        return look(self)

    monkeypatch.setattr(Following, "look", counted)
    one = web()

    async def act() -> None:
        streams = [Stream(one) for _ in range(5)]
        await ready(*streams)
        say(one, "hello")
        for stream in streams:
            await stream.until(lambda it: it.texts == ["hello"])
        assert len(set(map(id, looks))) == 1
        for stream in streams:
            await stream.leave()
        before = len(looks)
        await asyncio.sleep(0.2)
        assert len(looks) <= before + 1

    run(one, act)


def test_whoever_follows_takes_nobodys_turn(web: Open) -> None:
    one = web(serve_threads=1)

    async def act() -> None:
        streams = [Stream(one) for _ in range(8)]
        await ready(*streams)
        say(one, "hello")
        assert one.browser.get("/page/live").status_code == 200
        for stream in streams:
            await stream.until(lambda it: it.texts == ["hello"])
        for stream in streams:
            await stream.leave()

    run(one, act)


def test_somebody_who_does_not_read_is_ended_and_goes_on_later(web: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "WAITING", 3)
    reader = live.Reader()
    line = Line("x", T0, "prompt", "hello")
    for _ in range(5):
        reader.give(line)
    assert reader.is_behind
    reader.lines.get_nowait()
    reader.give(line)
    assert reader.lines.qsize() == 2, "nothing is told after a gap"


def test_a_mark_tells_nothing_and_is_read_again(web: Open) -> None:
    one = web()
    marks, mark = Marks(one.serving), Mark(123, 456, 789, 10, 11)
    told = marks.write(mark)
    assert marks.read(told) == mark
    assert Marks(one.serving).read(told) == mark, "another process reads it too"
    assert marks.write(mark) != told
    assert struct.pack(">q", 123) not in base64.urlsafe_b64decode(told + "==")
    for wrong in (None, "", "x", "%%%", told[:-4], told + "AAAA", "ü" * 10):
        assert marks.read(wrong) is None


def test_very_much_at_once_is_summed_up(web: Open) -> None:
    one = web()
    say(one, "before")
    following = Following(one.serving.store, one.memory.scope, one.clock)
    say(one, *(f"line {n}" for n in range(250)), first=1)
    lines = following.look()
    assert (lines[0].what, lines[0].text) == ("more", "50 more events came in before these")
    assert [line.text for line in lines[1:]] == [f"line {n}" for n in range(50, 250)]
    assert following.look() == []


def test_what_is_found_by_its_time_is_told_once_however_much_else_comes(
    web: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.pipeline.following._REMEMBERED", 20)
    one = web()
    say(one, "The staging server is called otter and runs in Oslo.")
    following = Following(one.serving.store, one.memory.scope, one.clock)
    one.memory.summarize("chat:1")
    assert [line.what for line in following.look()] == ["gist"]
    for number in range(3):
        say(one, *(f"line {n}" for n in range(30)), first=1 + 30 * number)
        assert "gist" not in {line.what for line in following.look()}


def test_whoever_comes_back_late_misses_nothing_silently(web: Open) -> None:
    """Of five thousand events each is told, or that it was left out."""
    one = web()
    memory = one.memory
    mark = one.serving.store.browse.mark(memory.scope, at=one.clock())
    memory.record_many([("chat:1", "user", f"line {n}") for n in range(5_000)])
    lines = catch_up(one.serving.store, memory.scope, mark)
    left = sum(int(line.text.split()[0].replace(",", "")) for line in lines if line.what == "more")
    assert left + sum(line.what == "prompt" for line in lines) == 5_000
    assert lines[-1].text == "line 4999"


def test_a_mark_that_is_no_time_is_none(web: Open) -> None:
    marks = Marks(web().serving)
    assert marks.read(marks.write(Mark(1, 1, 2**61, 1, 1))) is None
