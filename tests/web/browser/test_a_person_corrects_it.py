"""From the page alone: why did the agent say that, what was wrong, and is it right in the next run?"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from tests.web.browser.conftest import Site


def told_by_the_hook(site: Site) -> str:
    """What an agent that starts a session in the project is told by the real hook."""
    asked = {
        "hook_event_name": "SessionStart",
        "session_id": "s1",
        "cwd": str(site.sample.project),
        "source": "startup",
    }
    command = [sys.executable, "-m", "recollect", "hook", "claude"]
    env = {"PATH": "/usr/bin:/bin", "HOME": str(site.sample.folder / "home"), "LANG": "C.UTF-8"}
    env["RECOLLECT_DATA_DIR"] = str(site.service.data_dir)
    done = subprocess.run(command, input=json.dumps(asked), capture_output=True, text=True, env=env, check=True)
    return done.stdout


def test_a_wrong_memory_is_found_corrected_and_right_in_the_next_run(site: Site, look: Callable[..., Any]) -> None:
    page = look("/memory")
    page.keyboard.press("/")
    page.keyboard.type("indent firmware")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"q=indent"))
    page.get_by_role("link", name=re.compile("Indent with tabs")).first.click()
    page.wait_for_url(re.compile("/page/memories/"))
    assert "Why is this believed?" in page.locator("main").inner_text()
    page.get_by_role("link", name="Correct it").click()
    page.get_by_label("What is so").fill("Indent with two spaces in the firmware folder")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile("said=edited"))
    assert "Changed." in page.locator(".notice").first.inner_text()
    page.get_by_role("link", name="See what the next run will be told").click()
    shown = page.locator("main").inner_text()
    assert "two spaces" in shown
    assert "with tabs" not in page.locator("pre").first.inner_text()
    until = time.monotonic() + 20
    while "two spaces" not in (said := told_by_the_hook(site)):
        assert time.monotonic() < until, said
        time.sleep(0.3)
    assert "with tabs" not in said
