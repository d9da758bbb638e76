"""The pages of patterns: the queue, evidence side by side, decisions, roll-outs that write what was shown (S3)."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from recollect.model import Scope
from recollect.project import resolve
from recollect.store.ports.learn import Pattern, Rollout
from recollect.web.patterns import diff_lines, error_in, places
from tests.flow.patterns_fixture import STALE, approved, fill, found, keep, quiet
from tests.unit.learn.learning_fixture import Told, stale_edit
from tests.web.conftest import Web

Open = Callable[..., Web]
HOME = "/page/patterns"
_FINGERPRINT = re.compile(r'name="fingerprint" value="([0-9a-f]{32})"')


@pytest.fixture
def project(own_home: Path) -> Path:
    """A repository with an AGENTS.md of its own."""
    folder = own_home / "src" / "app"
    (folder / ".git").mkdir(parents=True)
    (folder / "AGENTS.md").write_bytes(b"# Mine\n\nBe brief.\n")
    return folder


def at_work(one: Web, folder: Path, *told: Told) -> None:
    """Sessions that were run in a directory."""
    from dataclasses import replace

    for each in told:
        each.session = replace(each.session, cwd=str(folder))
    keep(one.memory, *told, project=resolve(folder).name)


def page_of(one: Web, pattern: Pattern, *more: str) -> str:
    return one.get("/".join((HOME, pattern.id, *more)))


def shown(one: Web, pattern: Pattern, folder: Path, to: str = "agents-md", **more: Any) -> str:
    """The roll-out page with what would be written."""
    (place,) = [each for each in places(one.memory) if each.directory == folder]
    return one.get(f"{HOME}/{pattern.id}/roll-out", to=to, place=place.name, **more)


def fingerprint(page: str) -> str:
    there = _FINGERPRINT.search(page)
    assert there, page
    return there[1]


def sent(one: Web, pattern: Pattern, folder: Path, mark: str, to: str = "agents-md", **more: Any) -> Any:
    (place,) = [each for each in places(one.memory) if each.directory == folder]
    fields = {"to": to, "place": place.name, "fingerprint": mark, **more}
    return one.post(f"{HOME}/{pattern.id}/roll-out", **fields)


def done(one: Web, what: str = "refresh") -> None:
    """Wait until what was begun is done."""
    for _ in range(500):
        if not one.browser.get(f"{HOME}/work?of={what}").json()["running"]:
            return
        time.sleep(0.01)
    pytest.fail("it does not end")


# From real sessions: what a failed tool printed, the line that tells, and whether it is the only one that is marked.
FAILED = [
    (
        "internal/syncer/syncer.go:398:func instrumentHTTPClient(base *http.Client) *http.Client {\n"
        "sed: internal/syncer/throughput.go: No such file or directory",
        "sed: internal/syncer/throughput.go: No such file or directory",
    ),
    (
        "docs/protocol.md:236:A thin pack is one that contains existing delta objects\n" * 80
        + "rg: pkg: No such file or directory (os error 2)\n"
        + "docs/protocol.md:240:The receiver reads existing objects\n" * 80,
        "rg: pkg: No such file or directory (os error 2)",
    ),
    ("<tool_use_error>File does not exist.</tool_use_error>", "<tool_use_error>File does not exist.</tool_use_error>"),
    ("ok\nzsh:1: read-only variable: status\n", "zsh:1: read-only variable: status"),
    ("x" * 5_000, "x" * 320),
]


@pytest.mark.parametrize(
    ("printed", "telling"), FAILED, ids=["after code", "in the middle", "a tag", "the last", "long"]
)
def test_of_what_failed_the_line_that_says_why_is_shown_and_marked(printed: str, telling: str) -> None:
    pieces = error_in(printed.rstrip())
    assert [piece.text for piece in pieces if piece.marked] == [telling]
    assert sum(len(piece.text) for piece in pieces) < 500


def test_evidence_of_a_failed_tool_is_the_line_that_says_why(web: Open) -> None:
    one = web()
    fill(one.memory)
    page = page_of(one, found(one.memory))
    evidence = page.partition('id="evidence"')[2].partition('aria-labelledby="before"')[0]
    marked = re.findall(r"<mark>([^<]*)</mark>", evidence)
    assert marked
    assert all("not found" in text or "Failed to find expected lines" in text for text in marked), marked


# -- the queue ---------------------------------------------------------------------------------------------------------


def test_an_empty_queue_says_what_to_do(web: Open) -> None:
    said = web().says(HOME)
    assert "No patterns yet" in said
    assert "recollect patterns refresh" in said


def test_the_queue_shows_what_spans_agents_first_with_counts_and_what_it_cost(web: Open) -> None:
    one = web()
    fill(one.memory)
    stale = found(one.memory)
    said = one.says(HOME)
    others = [each.statement for each in one.memory.patterns.find() if not each.cross_flavor]
    assert others
    assert all(said.index(STALE) < said.index(words) for words in others)
    assert "2 agents" in said
    assert f"To review {len(one.memory.patterns.find('candidate'))}" in said
    assert "What they cost" in said
    assert f"{HOME}/{stale.id}" in one.get(HOME)
    one.memory.patterns.approve(stale.id)
    assert STALE not in one.says(HOME, state="candidate")
    assert STALE in one.says(HOME, state="approved")


def test_merging_asks_first(web: Open) -> None:
    one = web()
    fill(one.memory)
    stale = found(one.memory)
    other = next(each for each in one.memory.patterns.find("candidate") if each.id != stale.id)
    assert f'<form method="get" action="{HOME}/{stale.id}/merge"' in page_of(one, stale)
    said = one.says(f"{HOME}/{stale.id}/merge", into=other.id)
    for words in ("Merge these two?", "This one goes", stale.statement, "This one stays", other.statement):
        assert words in said
    assert one.memory.patterns.get(stale.id).state == "candidate", "looking merges nothing"
    assert one.get(f"{HOME}/{stale.id}/merge", 409, into=stale.id)
    assert one.get(f"{HOME}/{stale.id}/merge", 404, into="nobody")
    assert one.get(f"{HOME}/{stale.id}/merge", 422, into="")


def test_odd_words_in_the_address_do_no_harm(web: Open) -> None:
    one = web()
    fill(one.memory)
    found(one.memory)
    for query in ({"state": "x"}, {"page": "-1"}, {"page": "9" * 20}, {"order": "'"}, {"page": "²"}):
        one.get(HOME, **query)


def test_sessions_are_looked_at_again_beside_the_pages(web: Open) -> None:
    one = web()
    fill(one.memory)
    answer = one.post(f"{HOME}/work", do="refresh")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith(f"{HOME}?said=work-begun")
    done(one)
    assert STALE in one.says(HOME)
    assert "Looked at 6 sessions" in one.says(HOME)
    assert one.browser.get(f"{HOME}/work?of=other").json() == {"running": False}
    assert one.post(f"{HOME}/work", do="other").status_code == 422


# -- one pattern -------------------------------------------------------------------------------------------------------


def test_evidence_stands_side_by_side_each_with_its_words_and_a_link_to_them(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    page = page_of(one, pattern)
    columns = re.findall(r'<section class="column".*?</section>', page, flags=re.DOTALL)
    assert [re.search(r"<h3[^>]*>(\w+)", column)[1] for column in columns] == ["codex", "claude"]  # type: ignore[index]
    assert "apply_patch verification failed" in unescape(re.sub("<[^>]+>", "", columns[0]))
    assert "String to replace not found" in unescape(re.sub("<[^>]+>", "", columns[1]))
    assert re.search(r'href="/page/sessions/codex%3Ac\?at=[0-9a-f]+#e-[0-9a-f]{12}"', columns[0])


def test_a_decision_is_kept_with_who_and_why(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    fields = {"version": str(pattern.version), "statement": pattern.statement, "rule": "Read the file again first."}
    answer = one.post(f"{HOME}/{pattern.id}", do="approve", reason="every week", **fields)
    assert answer.status_code == 303
    kept = one.memory.patterns.get(pattern.id)
    assert (kept.state, kept.rule, kept.reason) == ("approved", "Read the file again first.", "every week")
    assert kept.edited
    said = one.says(f"{HOME}/{pattern.id}")
    assert "every week" in said
    assert "<ins>" in page_of(one, pattern)


def test_the_same_words_are_no_edit(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    fields = {"version": "1", "statement": pattern.statement, "rule": pattern.rule or ""}
    one.post(f"{HOME}/{pattern.id}", do="approve", **fields)
    assert not one.memory.patterns.get(pattern.id).edited
    assert one.post(f"{HOME}/{pattern.id}", do="edit", **{**fields, "version": "2"}).status_code == 422


@pytest.mark.parametrize(("do", "state"), [("reject", "rejected"), ("merge", "merged"), ("edit", "candidate")])
def test_what_else_can_be_said(web: Open, do: str, state: str) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    other = next(each for each in one.memory.patterns.find() if each.id != pattern.id)
    answer = one.post(f"{HOME}/{pattern.id}", do=do, version="1", into=other.id, rule="Other words.", reason="so")
    assert answer.status_code == 303
    assert one.memory.patterns.get(pattern.id).state == state
    one.get(answer.headers["location"])


def test_what_somebody_decided_meanwhile_is_not_written_over(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    one.memory.patterns.reject(pattern.id, "no")
    answer = one.post(f"{HOME}/{pattern.id}", do="approve", version=str(pattern.version))
    assert answer.status_code == 409
    assert one.memory.patterns.get(pattern.id).state == "rejected"


def test_an_approved_one_can_be_retired(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = approved(one.memory)
    assert one.post(f"{HOME}/{pattern.id}", do="retire", version=str(pattern.version)).status_code == 303
    assert one.memory.patterns.get(pattern.id).state == "retired"


def test_unknown_patterns_and_actions_are_refused(web: Open) -> None:
    one = web()
    fill(one.memory)
    pattern = found(one.memory)
    assert one.browser.get(f"{HOME}/nothing-like-this").status_code == 404
    assert one.post(f"{HOME}/{pattern.id}", do="dance", version="1").status_code == 422


# -- roll-outs ---------------------------------------------------------------------------------------------------------


def test_what_was_shown_is_written_and_taken_back_byte_for_byte(web: Open, project: Path) -> None:
    one, before = web(), (project / "AGENTS.md").read_bytes()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1), stale_edit("c", "codex", day=2))
    pattern = approved(one.memory)
    assert "Roll it out" in one.says(f"{HOME}/{pattern.id}")
    page = shown(one, pattern, project)
    assert f"+- {pattern.rule}" in unescape(page)
    assert (project / "AGENTS.md").read_bytes() == before, "looking writes nothing"
    answer = sent(one, pattern, project, fingerprint(page))
    assert answer.status_code == 303, answer.text
    assert (pattern.rule or "").encode() in (project / "AGENTS.md").read_bytes()
    (rollout,) = one.memory.patterns.rollouts(pattern.id)
    assert (rollout.state, rollout.place) == ("in", str(project / "AGENTS.md"))
    back = one.get(f"{HOME}/{pattern.id}/roll-back", rollout=rollout.id)
    assert f"-- {pattern.rule}" in unescape(back)
    fields = {"rollout": rollout.id, "fingerprint": fingerprint(back), "reason": "enough"}
    assert one.post(f"{HOME}/{pattern.id}/roll-back", **fields).status_code == 303
    assert (project / "AGENTS.md").read_bytes() == before
    assert one.memory.patterns.rollouts(pattern.id)[0].reason == "enough"
    assert one.browser.get(f"{HOME}/{pattern.id}/roll-back?rollout={rollout.id}").status_code == 409


def test_a_file_that_changed_meanwhile_is_not_written(web: Open, project: Path) -> None:
    """T18: what a person says yes to is what they saw."""
    one = web()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    mark = fingerprint(shown(one, pattern, project))
    (project / "AGENTS.md").write_bytes(b"# Mine\n\nBe very brief.\n")
    answer = sent(one, pattern, project, mark)
    assert answer.status_code == 409
    assert "nothing was written" in answer.text
    assert (project / "AGENTS.md").read_bytes() == b"# Mine\n\nBe very brief.\n"
    assert one.memory.patterns.rollouts(pattern.id) == []
    assert sent(one, pattern, project, fingerprint(answer.text)).status_code == 303, "what is shown now may be written"


def test_a_file_that_changes_at_the_last_moment_is_not_written(
    web: Open, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the last look and the write there is a moment too: what was begun then is ended."""
    one, file = web(), project / "AGENTS.md"
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    mark = fingerprint(shown(one, pattern, project))
    patterns = one.serving.store.patterns
    put = patterns.put_rollout

    def put_late(scope: Scope, rollout: Rollout) -> None:
        if rollout.state == "begun":
            file.write_bytes(b"# Somebody else was quicker\n")
        put(scope, rollout)

    monkeypatch.setattr(patterns, "put_rollout", put_late)
    assert sent(one, pattern, project, mark).status_code == 409
    assert file.read_bytes() == b"# Somebody else was quicker\n"
    assert [rollout.state for rollout in one.memory.patterns.rollouts(pattern.id)] == ["out"]


def test_taking_back_from_a_file_that_changed_meanwhile_changes_nothing(web: Open, project: Path) -> None:
    one = web()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    assert sent(one, pattern, project, fingerprint(shown(one, pattern, project))).status_code == 303
    (rollout,) = one.memory.patterns.rollouts(pattern.id)
    mark = fingerprint(one.get(f"{HOME}/{pattern.id}/roll-back", rollout=rollout.id))
    file = project / "AGENTS.md"
    file.write_bytes(b"# Another first line\n" + file.read_bytes())
    changed = file.read_bytes()
    answer = one.post(f"{HOME}/{pattern.id}/roll-back", rollout=rollout.id, fingerprint=mark)
    assert answer.status_code == 409
    assert file.read_bytes() == changed


def test_a_block_that_was_edited_by_hand_is_only_written_over_on_purpose(web: Open, project: Path) -> None:
    one = web()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    assert sent(one, pattern, project, fingerprint(shown(one, pattern, project))).status_code == 303
    file = project / "AGENTS.md"
    file.write_text(file.read_text().replace(pattern.rule or "", "my own words"))
    (place,) = places(one.memory)
    address = f"{HOME}/{pattern.id}/roll-out"
    page = one.get(address, 409, to="agents-md", place=place.name)
    assert "by hand" in page
    assert not _FINGERPRINT.search(page)
    forced = one.get(address, to="agents-md", place=place.name, force="1")
    assert sent(one, pattern, project, fingerprint(forced), force="1").status_code == 303
    assert (pattern.rule or "") in file.read_text()


def test_no_client_names_a_path(web: Open, project: Path) -> None:
    one = web()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    for place in ("/etc", "../../etc", "x", "", "0" * 16, str(project)):
        assert not _FINGERPRINT.search(one.get(f"{HOME}/{pattern.id}/roll-out", 422, to="agents-md", place=place))
        fields = {"to": "agents-md", "place": place, "fingerprint": "0" * 32}
        assert one.post(f"{HOME}/{pattern.id}/roll-out", **fields).status_code == 422
    assert one.memory.patterns.rollouts() == []


def test_only_directories_of_sessions_that_are_there_are_offered(web: Open, project: Path, own_home: Path) -> None:
    one = web()
    at_work(one, project / "deep", stale_edit("a"))
    at_work(one, own_home / "gone", stale_edit("b"))
    at_work(one, own_home, stale_edit("c"))
    (project / "deep").mkdir()
    assert [each.directory for each in places(one.memory)] == [project]


def test_without_having_looked_nothing_is_written(web: Open, project: Path) -> None:
    one, before = web(), (project / "AGENTS.md").read_bytes()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    for mark in ("", "0" * 32):
        assert sent(one, pattern, project, mark).status_code in (409, 422)
    assert (project / "AGENTS.md").read_bytes() == before


def test_as_a_memory_everywhere(web: Open, project: Path) -> None:
    one = web()
    at_work(one, project, stale_edit("a"), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    page = one.get(f"{HOME}/{pattern.id}/roll-out", to="memory", place="everywhere")
    fields = {"to": "memory", "place": "everywhere", "fingerprint": fingerprint(page)}
    assert one.post(f"{HOME}/{pattern.id}/roll-out", **fields).status_code == 303
    (rollout,) = one.memory.patterns.rollouts(pattern.id)
    assert one.memory.get(rollout.place).content == pattern.rule
    assert f"/page/memories/{rollout.place}" in page_of(one, pattern)


def test_a_server_for_others_writes_no_file(web: Open, own_home: Path) -> None:
    one = web(hosted=True)
    fill(one.memory)
    pattern = approved(one.memory)
    assert "Roll it out …" not in page_of(one, pattern)
    for action in ("roll-out", "roll-back"):
        address = f"{HOME}/{pattern.id}/{action}"
        assert one.browser.get(f"{address}?to=memory&place=everywhere").status_code == 403
        assert one.post(address, to="agents-md", place="everywhere", fingerprint="0" * 32).status_code == 403
    assert one.memory.patterns.rollouts() == []


def test_who_may_not_speak_for_the_user_looks_and_decides_nothing(web: Open) -> None:
    one = web(hosted=True)
    fill(one.memory)
    pattern = found(one.memory)
    reader = one.visitor(one.key("read", "admin"))
    page = reader.get(f"{HOME}/{pattern.id}")
    assert page.status_code == 200
    assert 'value="approve"' not in page.text
    assert one.post(f"{HOME}/{pattern.id}", reader, do="approve", version="1").status_code == 403
    assert one.post(f"{HOME}/work", reader, do="refresh").status_code == 403
    assert one.memory.patterns.get(pattern.id).state == "candidate"


# -- what became of it -------------------------------------------------------------------------------------------------


def test_the_measured_effect_is_shown_or_that_there_is_not_enough(web: Open, project: Path) -> None:
    one = web()
    at_work(one, project, *(stale_edit(f"a{n}", day=n) for n in range(3)), stale_edit("b", "codex", day=1))
    pattern = approved(one.memory)
    assert sent(one, pattern, project, fingerprint(shown(one, pattern, project))).status_code == 303
    assert "Not measured since this server was started" in one.says(f"{HOME}/{pattern.id}")
    at_work(one, project, quiet("z", "codex", day=12))
    answer = one.post(f"{HOME}/work", do="measure", back=pattern.id)
    assert answer.headers["location"].startswith(f"{HOME}/{pattern.id}?")
    done(one, "measure")
    page = page_of(one, pattern)
    assert "ot enough data" in page
    assert "Tasks in 100 that met it" in page
    assert page.count("<svg") >= 2


# -- what others wrote -------------------------------------------------------------------------------------------------


def test_text_of_sessions_is_shown_as_text(web: Open, project: Path) -> None:
    one = web()
    evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\u202e"
    told = [Told(f"x{n}").ask("Hello").run(f"go {evil}", f"zsh:1: command not found: go {evil}", 127) for n in range(3)]
    at_work(one, project, *told)
    one.memory.patterns.refresh()
    for pattern in one.memory.patterns.find():
        for page in (page_of(one, pattern), one.get(HOME)):
            assert "<script>alert" not in page
            assert "<img" not in page
            assert "\u202e" not in page


def test_a_difference_is_told_line_by_line() -> None:
    diff = "--- a (as it is)\n+++ a\n@@ -1 +1,2 @@\n one\n+two\n-three\n\\ No newline at end of file\n"
    assert [kind for _, kind in diff_lines(diff)] == ["head", "head", "head", "", "add", "cut", "head"]


def test_a_key_of_one_project_begins_nothing(web: Open) -> None:
    one = web(hosted=True)
    fill(one.serving.memory(Scope("acme", "ann")))
    inside = one.visitor(one.key("read", "write", "admin", project="app"))
    assert one.post(f"{HOME}/work", inside, do="refresh").status_code == 403
    assert one.post(f"{HOME}/work", do="refresh").status_code == 303
    done(one)
    assert "Looked at" in one.get(HOME)
    assert "Looked at" not in inside.get(HOME).text, "it tells of every project"
