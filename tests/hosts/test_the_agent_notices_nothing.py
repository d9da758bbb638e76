"""Our hooks change nothing for the agent: same output, same exit code, and its model is asked the very same."""

from __future__ import annotations

import json
import re
import sys

import pytest

from tests.hosts.host import Host
from tests.hosts.scripted_model import Request, Say

pytestmark = pytest.mark.slow

# What differs between any two runs: ids, times, and how long things took.
VARIES = re.compile(
    r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|_\d{32}|(?<!\d)\d{13}(?!\d)|Chunk ID: \w+|PGID: \d+"
    r"|[\d.]+ seconds"
)


def test_with_hooks_it_says_and_asks_the_same_as_without(bare: Host) -> None:
    """P13: nothing of ours stands before the model."""
    script = bare.agent.shell("cat README; echo marzipan"), Say("There are widgets.")
    without = bare.run("What is here?", *script)
    asked = len(bare.model.requests)
    bare.agent.add_hooks(bare.home, bare.data_dir)
    with_hooks = bare.run("What is here?", *script)

    assert bare.waiting()
    assert (with_hooks.returncode, with_hooks.stdout) == (without.returncode, without.stdout)
    assert with_hooks.stdout == "There are widgets.\n"
    before, after = bare.model.requests[:asked], bare.model.requests[asked:]
    assert [shown(request) for request in after] == [shown(request) for request in before]
    assert str(bare.data_dir) not in json.dumps(after)


def shown(request: Request) -> object:
    """A request without what varies."""
    return json.loads(VARIES.sub("…", json.dumps(request)))


@pytest.mark.parametrize("agent", ["opencode"], indirect=True)
def test_a_plugin_whose_hook_is_gone_does_not_disturb_it(host: Host) -> None:
    """As after the interpreter it was installed with was removed."""
    plugin = host.home / ".config" / "opencode" / "plugins" / "recollect.js"
    plugin.write_text(plugin.read_text().replace(sys.executable, f"{host.home}/gone"))
    done = host.run("What is here?", host.agent.shell("cat README"), Say("There are widgets."))
    assert done.stdout == "There are widgets.\n"
    assert not host.data_dir.exists()


def test_a_hook_that_cannot_write_does_not_disturb_it(host: Host) -> None:
    """The data directory is a file: the turn goes on, and ends as it would."""
    host.data_dir.write_text("not a directory")
    done = host.run("What is here?", host.agent.shell("cat README"), Say("There are widgets."))
    assert done.stdout == "There are widgets.\n"
    assert host.data_dir.read_text() == "not a directory"
