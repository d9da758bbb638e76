"""What the operators' files hold, read once, and whether a command line is one of ours."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from recollect.cli.main import VERBS, parser_of
from recollect.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
OPS = ROOT / "ops"
COMPOSE = OPS / "docker-compose.yml"
DEV = OPS / "docker-compose.dev.yml"
MONITORING = OPS / "docker-compose.monitoring.yml"
ALERTS = OPS / "prometheus" / "alerts.yml"
DASHBOARD = OPS / "grafana" / "dashboard.json"
UNITS = sorted((OPS / "systemd").glob("*.service"))
PAGES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in (
        *("deploy", "runbook", "troubleshooting", "security-playbook", "incident-plan", "upgrade", "metrics"),
        *("operations", "backup-and-move"),
    )
)


@cache
def read_yaml(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def services(*paths: Path) -> dict[str, dict[str, Any]]:
    """The services of compose files, as a later file changes an earlier one."""
    found: dict[str, dict[str, Any]] = {}
    for path in paths:
        for name, service in read_yaml(path)["services"].items():
            found[name] = {**found.get(name, {}), **service}
    return found


def is_setting(variable: str) -> bool:
    """Whether a variable sets something of ours."""
    names = {f"RECOLLECT_{name.upper()}" for name in Settings.__dataclass_fields__}
    return variable in names or variable == "RECOLLECT_CONFIG"


def understood(words: list[str]) -> None:
    """Fails unless these words are a verb of ours with arguments it takes."""
    assert words, "no verb"
    assert words[0] in VERBS, words
    if "--help" not in words:
        parser_of(words[0]).parse_intermixed_args(words[1:])


def expressions() -> Iterator[tuple[str, str]]:
    """Every PromQL expression in alerts and dashboard, with what it belongs to."""
    for group in read_yaml(ALERTS)["groups"]:
        for rule in group["rules"]:
            yield rule["alert"], rule["expr"]
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", ()):
            yield f"panel {panel['title']}", target["expr"]


@cache
def dashboard() -> Any:
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def commands(page: Path) -> Iterator[str]:
    """Every `recollect …` command that a page shows: in code blocks, and in code within a sentence."""
    text = page.read_text(encoding="utf-8")
    for block in re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.search(r"(?:^|[ $/|(&])recollect ((?!-|database_|_)[a-z].*)", line)
            shown = re.match(
                r"^(\$ |docker compose |sudo |recollect |[\d*/ ,]+ {1,}recollect |ExecStart=)", line.lstrip()
            )
            if found and shown:
                yield found[1]
    yield from re.findall(r"`recollect ([a-z][^`\n]*)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))


def words_of(command: str) -> list[str]:
    """A shown command as words: without what a shell does around it, with stand-ins for what a reader fills in."""
    command = re.split(r"\s(?:&&|\|\||\||>|>>|2>&1|#|;)(?=\s|$)", f"{command} ")[0].strip()
    command = re.sub(r"\$\([^)]*\)", "x", command).replace("…", "x")
    return [re.sub(r"^[\[<]|[\]>]$", "", word) for word in shlex.split(command)]
