"""No secret leaves this machine (T07): canaries in every channel a prompt is made of, and none in what is sent."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from recollect.model import Event, Memory, Session
from recollect.models.command import CommandModel
from recollect.models.language import LanguageModel
from recollect.pipeline.gists import summarize
from tests.contract.samples import event, gist
from tests.flow.consulting_fixture import ANN, Desk, history
from tests.flow.consulting_fixture import desk as desk
from tests.llm_fixture import Endpoint, completion, tool_use

# One secret a channel, of a family each; the random parts are made up.
CANARIES = {
    "user prompt": "ghp_" + "Zk8Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc2",
    "assistant text": "sk-ant-api03-" + "Vb5Nm7Qw9Er1Ty3Ui5Op7As9Df1Gh3Jk5Lz7Xc9Vb1Nm3Qw5Er7",
    "tool call": "AKIA" + "QWERTYUIOPASDFGH",
    "tool call's arguments": "xoxb-" + "123456789012-987654321098-AbCdEfGhIjKlMnOpQrStUvWx",
    "tool result": "glpat-" + "Rt5Yh7Ju9Ki1Lo3Pz5Xq",
    "error": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "test run": "npm_" + "Qw3Er5Ty7Ui9Op1As2Df4Gh6Jk8Lz0Xc2Vb4",
    "name of a tool": "AIza" + "SyD3f5g7h9j1k3l5z7x9c1v3b5n7m9q1w3e",
    "title and directory": "sk_live_" + "51HqLyjWDarjtT1zdp7dcXa9",
    "gist so far": "hf_" + "QwErTyUiOpAsDfGhJkLzXcVbNmQwErTyUi",
    "older memory": "postgres://ann:Tr0ub4dor-and-3@db.acme-corp.io/app",
    "newer memory": "password = 'correct-Horse7-battery'",
}
SECRETS = {name: canary.partition("://ann:")[2].partition("@")[0] or canary for name, canary in CANARIES.items()}
SECRETS["newer memory"] = "correct-Horse7-battery"


def poisoned() -> list[Event]:
    def one(number: int, kind: str, text: str, role: str = "assistant", **meta: Any) -> Event:
        return replace(event("chat:1", number, text, role), kind=kind, meta=meta)

    padding = "and so on " * 180
    secret_at_the_cut = f"{padding}{CANARIES['user prompt']} {padding}{padding}{padding}"
    return [
        one(0, "user_prompt", f"Use {CANARIES['user prompt']} please. {secret_at_the_cut}", "user"),
        one(1, "assistant_text", f"I put {CANARIES['assistant text']} into the file."),
        one(
            *(2, "tool_call", f"curl -H 'Authorization: {CANARIES['tool call']}' https://example.com"),
            tool=CANARIES["name of a tool"],
            input={"env": CANARIES["tool call's arguments"]},
            call="1",
        ),
        one(3, "tool_result", f"token: {CANARIES['tool result']}", "tool", call="1", tool="Bash"),
        one(4, "error", f"401 for {CANARIES['error']}", "tool"),
        one(5, "test_run", f"NPM_TOKEN={CANARIES['test run']} npm test"),
    ]


def consult_about_all(desk: Desk, model: LanguageModel) -> None:
    """Every use of a model, over every channel."""
    about = Session("chat:1", "chat", title=CANARIES["title and directory"], cwd=f"/{CANARIES['title and directory']}")
    desk.store.sessions.append(ANN, poisoned())
    desk.store.sessions.ensure(ANN, "chat:1", at=desk.clock(), title=about.title, facts=about)
    desk.store.gists.put(ANN, gist("chat:1", f"The user has {CANARIES['gist so far']}.", -1))
    consultant = desk.consultant(model, llm_daily_tokens=10**9)
    consultant.drafts(about, history(desk, "chat:1"), -1)
    consultant.drafts(about, [*history(desk, "chat:1"), *poisoned()], -1)
    summarize(desk.store, ANN, "chat:1", consultant.summarizer(), desk.clock)
    older = Memory("1", "fact", f"The database is {CANARIES['older memory']}", None, "user", desk.clock(), desk.clock())
    consultant.judge(older, replace(older, id="2", content=f"Log in with {CANARIES['newer memory']}"))


def assert_clean(sent: str, uses: int) -> None:
    assert sent.count("=== ") >= 2 * uses
    assert "[REDACTED:" in sent
    found = {name for name, secret in SECRETS.items() if secret in sent or json.dumps(secret)[1:-1] in sent}
    assert found == set()


def test_twelve_channels_are_tried() -> None:
    assert len(CANARIES) == len(set(SECRETS.values())) == 12


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_no_canary_is_in_a_request(desk: Desk, endpoint: Endpoint, provider: str) -> None:
    said = {"memories": [], "gist": "They talked.", "verdict": "same"}
    endpoint.answers = [completion(json.dumps(said)) if provider == "openai" else tool_use(said)]
    consult_about_all(desk, endpoint.openai() if provider == "openai" else endpoint.anthropic())
    assert endpoint.calls == 4
    assert_clean(b"".join(endpoint.bodies).decode(), 4)


def test_no_canary_is_given_to_a_program(desk: Desk, tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "agent.py"
    said = json.dumps({"memories": [], "gist": "They talked.", "verdict": "same"})
    script.write_text(f"import sys\nopen({str(log)!r}, 'a').write(sys.stdin.read())\nprint({said!r})\n")
    consult_about_all(desk, CommandModel(f"'{sys.executable}' '{script}'"))
    assert_clean(log.read_text(), 4)


def test_no_canary_is_in_a_message_or_a_log(
    desk: Desk, endpoint: Endpoint, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    endpoint.answers = [lambda handler, asked: handler.send_error(500, json.dumps(asked)[:2_000])]
    consult_about_all(desk, endpoint.openai())
    shown = caplog.text + "".join(capsys.readouterr())
    assert not [name for name, secret in SECRETS.items() if secret in shown]


def test_personal_data_stays_too_where_that_is_set(desk: Desk, endpoint: Endpoint) -> None:
    endpoint.answers = [completion('{"memories": []}')]
    consultant = desk.consultant(endpoint.openai(), redact_personal=True)
    consultant.drafts(Session("chat:1", "chat"), [event("chat:1", 0, "Write to ann.smith@example.com, please.")], -1)
    assert b"ann.smith" not in endpoint.bodies[0]
