"""Text from outside is text on every page, whatever it looks like (T18, T19, T20): 60 payloads in every field."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from recollect import Recollect
from tests.http.conftest import Service
from tests.web.browser.conftest import Site
from tests.web.browser.payloads import PAYLOADS
from tests.web.browser.sample import Sample

WHEN = "2026-11-01T10:{:02}:00.000Z"


def transcript(folder: Path, number: int, payload: str) -> None:
    """A session of an agent in which everything is the payload: prompt, tool, path, result, answer, branch."""
    session = f"00000000-0000-4000-8000-{number:012}"
    common = {"sessionId": session, "cwd": f"/srv/{payload}", "gitBranch": payload, "version": payload[:40]}
    call = {"type": "tool_use", "id": "t1", "name": payload, "input": {"command": payload, "file_path": payload}}
    result = {"type": "tool_result", "tool_use_id": "t1", "content": f"Error: {payload}", "is_error": True}
    told = [
        ("user", payload),
        ("assistant", [call]),
        ("user", [result]),
        ("assistant", [{"type": "thinking", "thinking": payload}, {"type": "text", "text": payload}]),
    ]
    lines = [
        {**common, "type": role, "uuid": f"{number}-{place}", "timestamp": WHEN.format(place), "message": said}
        for place, (role, content) in enumerate(told)
        for said in [{"role": role, "content": content, "model": payload[:60], "id": f"m{number}-{place}"}]
    ]
    (folder / f"{session}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Sample]]:
    """A server whose every field is a payload."""
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "home").mkdir()
    (folder / "logs").mkdir()
    with Recollect.open(folder / "data", background=False, embedder=None) as memory:
        kept = {}
        for number, payload in enumerate(PAYLOADS):
            clean = "".join(char for char in payload if char.isprintable())
            one = memory.remember(
                f"{payload} harbour {number}",
                kind="note",
                why=payload,
                tags=[clean[:50].strip() or "x"],
                importance=0.9,
            )
            kept[str(number)] = one.id
            memory.update(one.id, content=f"{payload} harbour changed {number}")
            if number % 4 == 0:
                memory.forget(memory.remember(f"{payload} gone {number}", why=payload).id, soft=True)
            memory.record(f"chat:{clean[:60]}", "user", payload)
            memory.ensure_session(f"chat:{clean[:60]}", payload)
            transcript(folder / "logs", number, payload)
        memory.sweep({"claude": [folder / "logs"]})
        memory.patterns.refresh()
        session = next(one.id for one in memory.sessions(500) if one.flavor == "claude")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "LANG": "C.UTF-8"}
    started = Service(folder, env=env)
    yield started, Sample(folder, folder, kept, session)
    started.close()


INSPECT = """() => {
  const bad = [];
  if (window.hacked) bad.push("a script ran");
  for (const one of document.querySelectorAll("script")) if (!one.src.startsWith(location.origin + "/page/static/")) bad.push("script " + one.outerHTML);
  for (const one of document.querySelectorAll("*")) for (const { name, value } of one.attributes) {
    if (name.startsWith("on") || name === "style" || name === "srcdoc") bad.push(name + " " + value);
    if (["href", "src", "action", "formaction", "data"].includes(name)) {
      const at = new URL(value, location.href);
      if (at.origin !== location.origin) bad.push(name + " " + value);
    }
  }
  for (const name of ["iframe", "object", "embed", "base", "meta[http-equiv]", "form[action^='javascript']", "marquee", "video", "img"])
    if (document.querySelector(name)) bad.push(name);
  return bad;
}"""  # noqa: E501


def check(site: Site, page: Any, address: str) -> None:
    page.goto(site.service.address + address, wait_until="load")
    found = page.evaluate(INSPECT)
    assert found == [], f"{address}: {found[:5]}"
    site.check(page)


def test_no_payload_does_anything_on_any_page(site: Site) -> None:
    page = site.opened()
    page.on("dialog", lambda dialog: site.problems.append(f"dialog {dialog.message}"))
    for number in range(0, 80, 20):
        check(site, page, f"/memory?page={1 + number // 20}")
    check(site, page, "/memory?forgotten=1")
    assert page.locator("article.hit").count() > 10
    for address in ("/page/sessions", "/page/patterns", "/page/insights", "/page/control", "/page/live", "/page/next"):
        check(site, page, address)
    with site.memory() as memory:
        sessions = [one.id for one in memory.sessions(500)]
        patterns = [one.id for one in memory.patterns.find()]
    for session in sessions[:: max(1, len(sessions) // 24)]:
        check(site, page, f"/page/sessions/{quote(session, safe='')}")
    for pattern in patterns[:5]:
        check(site, page, f"/page/patterns/{quote(pattern, safe='')}")


def test_memories_made_of_payloads_show_them_as_text(site: Site) -> None:
    page = site.opened()
    for number in range(0, len(PAYLOADS), 2):  # each stands in a list and in a session too
        check(site, page, f"/page/memories/{site.sample.memories[str(number)]}")
        assert f"harbour changed {number}" in page.locator("main").inner_text()


def test_a_payload_in_the_address_is_shown_as_text(site: Site) -> None:
    page = site.opened()
    for payload in PAYLOADS:
        if "\0" not in payload:
            asked = quote(payload, safe="")
            check(site, page, f"/memory?q={asked}&tag={asked}&kind={asked}&project={asked}&since={asked}&said={asked}")
    for payload in PAYLOADS[::4]:
        if "\0" not in payload:
            asked = quote(payload, safe="")
            check(site, page, f"/memory?forgotten=1&q={asked}")
            check(site, page, f"/page/control/projects?said=switched-off&name={asked}")
