"""The control pages: what is captured, kept and given out can be seen and switched; the machine is its user's alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from recollect.capture.privacy import Choice
from recollect.cli.main import VERBS
from recollect.keys import PERMISSIONS
from recollect.model import Scope, Session
from recollect.settings import load
from recollect.store.ports.capture import Seen
from recollect.web import control
from recollect.web.app import create_served
from recollect.web.routes.control import NEEDS
from tests.contract.samples import event
from tests.web.conftest import BASE, Web

Open = Callable[..., Web]
HOME = "/page/control"
OF_THE_MACHINE = [section.name for section in control.SECTIONS if section.own]
ANN = Scope("acme", "ann")
# Which verb does what a form of a control page does.
DOES = {
    "/projects": "config",
    "/keys": "keys",
    "/keys/{key_id}/revoke": "keys",
    "/keys/{key_id}/rotate": "keys",
    "/quota": "quota",
    "/retention": "maintain",
    "/models": "budget",
    "/shared": "contexts",
    "/shared/proposals": "contexts",
    "/agents": "doctor",
}


@pytest.fixture
def config(own_home: Path) -> Path:
    file = own_home / ".config" / "recollect" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('# mine\nuser = "ann"  # me\n\n[projects]\n"/src/app" = "app"\n')
    return file


def captured(one: Web, session: str, project: str | None = None, scope: Scope | None = None, **counts: int) -> None:
    flavor = session.partition(":")[0]
    told = {f"withheld:{name.replace('_', ':')}": count for name, count in counts.items()}
    seen = Seen(f"/logs/{session}", flavor, session, "read", one.clock(), counts=told)
    about = Session(session, flavor, project=project, cwd="/src/app")
    scope = scope or one.memory.scope
    one.serving.store.captures.ingest(scope, about, [event(session, 1, f"hello {session}")], transcript=seen)


def told(one: Web, address: str) -> str:
    """A page's words, as they are read."""
    return one.says(address).replace(" .", ".")


# -- which pages there are ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_every_control_page_opens_on_ones_own_machine(web: Open) -> None:
    one = web()
    overview = one.get(HOME)
    for section in control.SECTIONS:
        assert f'href="{HOME}/{section.name}"' in overview
        shown = one.get(f"{HOME}/{section.name}")
        assert len(re.findall(r"<h1[ >]", shown)) == 1
        assert f'href="{HOME}/{section.name}" aria-current="page"' in shown


def test_a_server_for_others_shows_nothing_of_its_machine(web: Open) -> None:
    one = web(hosted=True)
    overview = one.get(HOME)
    for section in control.SECTIONS:
        wanted = 404 if section.own else 200
        shown = one.get(f"{HOME}/{section.name}", wanted)
        assert str(one.data_dir) not in shown
        assert (f'href="{HOME}/{section.name}"' in overview) is not section.own
    for name in ("projects", "retention", "agents", "quota", "models"):
        fields = {"name": "claude", "on": "no", "job": "archive", "do": "run", "tokens": "5", "memories": "9"}
        assert one.post(f"{HOME}/{name}", **fields).status_code == 404
    assert not load().config_file.exists()


def test_whatever_a_page_changes_a_command_changes_too() -> None:
    posts = {path.removeprefix(HOME) for method, path in NEEDS if method == "POST"}
    assert posts == DOES.keys()
    assert set(DOES.values()) <= VERBS.keys()


def test_a_key_that_may_only_read_is_offered_no_keys(web: Open) -> None:
    one = web(hosted=True)
    reader = one.visitor(one.key("read"))
    assert f'href="{HOME}/keys"' not in reader.get(HOME).text
    refused = reader.get(f"{HOME}/keys")
    assert refused.status_code == 403
    assert "Your key does not let you manage keys and settings." in refused.text
    assert "It lets you look at memories. Ask whoever gave it to you for another." in refused.text
    assert "may not admin" not in refused.text


def test_on_a_server_for_others_no_page_tells_to_run_a_command(web: Open) -> None:
    one = web(hosted=True)
    kept = one.memory.remember("The door is blue")
    pages = [f"{HOME}/{each.name}" for each in control.SECTIONS if not each.own]
    one.memory.contexts.create("team")
    context = one.memory.contexts.mine()[0].id
    for address in (HOME, *pages, f"/page/memories/{kept.id}", f"{HOME}/shared?context={context}", "/page/next"):
        shown = one.says(address)
        assert "n a terminal" not in shown, address
        assert not re.search(r"\brecollect [a-z]", shown), address


def test_every_permission_is_explained_where_keys_are_made(web: Open) -> None:
    shown = web().get(f"{HOME}/keys")
    for word in PERMISSIONS:
        assert re.search(
            rf'value="{word}"[^>]*> <strong>{word}</strong> <span class="muted">[^<]{{10,}}</span>', shown
        ), word


def test_a_limit_is_explained(web: Open) -> None:
    said = web().says(f"{HOME}/quota")
    assert "0 means no limit" in said
    assert "without end" not in said


def test_a_key_of_a_project_sees_that_project_alone(web: Open) -> None:
    one = web(hosted=True)
    captured(one, "claude:1", "shop", ANN, private=3)
    captured(one, "claude:2", "farm", ANN)
    visitor = one.visitor(one.key("read", "admin", project="shop"))
    for section in control.SECTIONS:
        answer = visitor.get(f"{HOME}/{section.name}")
        assert answer.status_code == (404 if section.own or not section.project else 200)
        assert "farm" not in answer.text
    assert "Nothing was taken out" in visitor.get(f"{HOME}/privacy").text  # agents' files are the owner's


# -- what is captured --------------------------------------------------------------------------------------------------


def test_a_project_is_switched_off_and_on_and_the_file_keeps_its_comments(web: Open, config: Path) -> None:
    one = web()
    captured(one, "claude:1", "github.com/acme/app")
    before = config.read_text()
    name = "github.com/acme/app"
    answer = one.post(f"{HOME}/projects", name=name, on="no")
    assert answer.status_code == 303
    where = answer.headers["location"]
    place = re.fullmatch(rf"{HOME}/projects\?said=switched-off&name=github.com%2Facme%2Fapp#(row-\w+)", where)
    assert place
    assert f'<tr id="{place[1]}"><th scope="row" dir="auto">{name}</th>' in one.get(where)
    assert f"Switched off: {name}. Nothing new of it is captured" in told(one, where)
    assert f'capture_off = ["{name}"]\n' in config.read_text()
    assert config.read_text().replace(f'capture_off = ["{name}"]\n', "") == before
    now = load().settings
    assert not Choice(now.capture_off, now.capture_only).allows("claude", name, "/src/app")
    assert one.post(f"{HOME}/projects", name=name, on="yes").status_code == 303
    assert config.read_text() == before


def test_agents_and_directories_are_switched_too(web: Open, config: Path) -> None:
    one = web()
    for name in ("codex", "~/src/private", 'odd, "name"'):
        assert one.post(f"{HOME}/projects", name=name, on="no").status_code == 303
    assert load().settings.capture_off == ("codex", "~/src/private", 'odd, "name"')
    shown = one.says(f"{HOME}/projects")
    assert 'odd, "name" switched off' in shown
    assert "codex switched off" in shown
    one.post(f"{HOME}/projects", name="codex", on="no")  # twice is once
    assert load().settings.capture_off.count("codex") == 1


def test_what_is_switched_off_is_named_and_that_nothing_known_is_called_so(web: Open, config: Path) -> None:
    one = web()
    for name in ("clade", "~/no/such/directory"):
        where = one.post(f"{HOME}/projects", name=name, on="no").headers["location"]
        said = told(one, where)
        assert f"Switched off: {name}." in said
        assert "Nothing here is called so" in said
    (config.parent / "private").mkdir()
    for name in ("codex", str(config.parent / "private")):
        said = told(one, one.post(f"{HOME}/projects", name=name, on="no").headers["location"])
        assert f"Switched off: {name}. Nothing new of it is captured" in said
        assert "Nothing here is called so" not in said
    back = told(one, one.post(f"{HOME}/projects", name="codex", on="yes").headers["location"])
    assert "Switched on: codex." in back


def test_the_address_puts_no_words_into_the_notice(web: Open, config: Path) -> None:
    one = web()
    for said in ("switched-off", "switched-on"):
        assert "your bank" not in one.get(f"{HOME}/projects", said=said, name="your bank")


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 501])
def test_what_is_no_name_switches_nothing(web: Open, config: Path, name: str) -> None:
    before = config.read_bytes()
    assert web().post(f"{HOME}/projects", name=name, on="no").status_code == 422
    assert config.read_bytes() == before


def test_where_only_some_are_captured_another_can_be_named(web: Open, config: Path) -> None:
    config.write_text('capture_only = ["claude"]\n')
    one = web()
    assert "codex not named" in one.says(f"{HOME}/projects")
    one.post(f"{HOME}/projects", name="codex", on="yes")
    assert load().settings.capture_only == ("claude", "codex")


def test_what_a_variable_says_is_not_overwritten(web: Open, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_CAPTURE_OFF", "grok")
    one, before = web(), config.read_bytes()
    assert "RECOLLECT_CAPTURE_OFF" in one.get(f"{HOME}/projects")
    assert one.post(f"{HOME}/projects", name="codex", on="no").status_code == 409
    assert config.read_bytes() == before


def test_a_file_that_cannot_be_edited_safely_stays_as_it_is(web: Open, config: Path) -> None:
    config.write_text('capture_off = [\n  "grok",\n]\n')
    one, before = web(), config.read_bytes()
    assert one.post(f"{HOME}/projects", name="codex", on="no").status_code == 422
    assert config.read_bytes() == before


# -- privacy -----------------------------------------------------------------------------------------------------------


def test_what_was_taken_out_is_told_by_type_and_agent(web: Open) -> None:
    one = web()
    captured(one, "claude:1", secret_github=3, private=1)
    captured(one, "codex:1", secret_github=2, denied=4)
    shown = one.says(f"{HOME}/privacy")
    assert re.search(r"github A secret, .* fingerprint\. 3 2 5 ", shown)
    assert re.search(r"denied Read by a tool from a file on the deny list\. – 4 4 ", shown)
    assert "id_rsa" in shown


def test_what_is_kept_unless_one_says_otherwise_stands_by_itself(web: Open) -> None:
    page = web().get(f"{HOME}/privacy")
    never, _, unless = page.partition("What is never kept")[2].partition("What is kept unless you say otherwise")
    assert "E-mail addresses" not in never
    assert "E-mail addresses" in unless
    assert "redact_personal" in unless
    page = web(redact_personal=True).get(f"{HOME}/privacy")
    assert "E-mail addresses" in page.partition("What is never kept")[2]
    assert "unless you say otherwise" not in page


# -- keys --------------------------------------------------------------------------------------------------------------


def test_a_key_is_made_shown_once_used_and_revoked(web: Open) -> None:
    one = web()
    made = one.post(f"{HOME}/keys", name="laptop", days="30", permission=["read", "write"])
    assert made.status_code == 200
    found = re.search(r"rec_live_[a-z2-7]{16}_[A-Za-z0-9_-]{43}", made.text)
    assert found
    text, name = found[0], found[0].split("_")[2]
    assert text not in one.get(f"{HOME}/keys")
    assert one.stranger(**one.auth(text)).get("/whoami").json()["permissions"] == ["read", "write"]
    [key] = one.serving.store.keys.find(one.memory.scope)
    assert (key.name, key.expires_at) == ("laptop", one.clock() + timedelta(days=30))
    assert one.post(f"{HOME}/keys/{name}/revoke").status_code == 303
    assert one.serving.store.keys.find(one.memory.scope)[0].state(one.clock()) == "revoked"
    assert one.post(f"{HOME}/keys/{name}/rotate").status_code == 409


def test_a_key_is_replaced_by_one_for_the_same_things(web: Open) -> None:
    one = web()
    old = one.serving.store.keys.create(
        one.memory.scope, at=one.clock(), permissions=("read",), name="phone", expires_at=one.clock() + timedelta(10)
    )
    one.clock.move(days=4)
    made = one.post(f"{HOME}/keys/{old.key.id}/rotate")
    assert made.text.count("This is the only time it is shown") == 1
    new, before = one.serving.store.keys.find(one.memory.scope)
    assert (new.name, new.permissions, new.expires_at) == ("phone", ("read",), one.clock() + timedelta(10))
    assert before.replaced_by == new.id


def test_a_form_that_is_sent_again_makes_no_second_key(web: Open) -> None:
    """A reload sends it again, to whichever worker; a new form makes a new key."""
    one = web()
    other = create_served(one.serving)  # another worker of the same server
    with TestClient(other, base_url=BASE, client=("127.0.0.1", 3), follow_redirects=False) as worker:
        worker.cookies = one.browser.cookies
        for number, browser in enumerate((one.browser, worker), 1):
            once = re.findall(r'name="once" value="([0-9a-f]{32})"', one.get(f"{HOME}/keys"))
            fields = {"csrf": one.csrf(), "once": once[0], "name": "laptop", "days": "30", "permission": "read"}
            for wrong in ({"days": "0"}, {"name": "x" * 150}):  # that uses up nothing
                assert browser.post(f"{HOME}/keys", data={**fields, **wrong}).status_code == 422
            assert "rec_live_" in browser.post(f"{HOME}/keys", data=fields).text
            for again in (one.browser, worker, one.browser):
                answer = again.post(f"{HOME}/keys", data=fields)
                assert (answer.status_code, answer.headers["location"]) == (303, f"{HOME}/keys?said=key-made-before")
            assert len(one.serving.store.keys.find(one.memory.scope)) == number
    assert "This form was sent before" in one.says(f"{HOME}/keys", said="key-made-before")


def test_many_that_send_one_form_at_once_make_one_key(web: Open) -> None:
    one = web()
    fields = {"csrf": one.csrf(), "once": "a" * 32, "days": "30", "permission": "read"}
    with ThreadPoolExecutor(8) as pool:
        sent = list(pool.map(lambda _: one.browser.post(f"{HOME}/keys", data=fields).status_code, range(8)))
    assert sorted(sent) == [200] + [303] * 7
    assert len(one.serving.store.keys.find(one.memory.scope)) == 1


def test_replacing_a_key_again_makes_no_third(web: Open) -> None:
    one = web()
    old = one.serving.store.keys.create(one.memory.scope, at=one.clock(), permissions=("read",))
    assert one.post(f"{HOME}/keys/{old.key.id}/rotate").status_code == 200
    again = one.post(f"{HOME}/keys/{old.key.id}/rotate")
    assert (again.status_code, again.headers["location"]) == (303, f"{HOME}/keys?said=key-replaced-before")
    assert len(one.serving.store.keys.find(one.memory.scope)) == 2


def test_no_key_gives_more_than_it_has(web: Open) -> None:
    one = web(hosted=True)
    visitor = one.visitor(one.key("read", "admin"))
    strong = one.key("read", "act", "delete")
    before = len(one.serving.store.keys.find(ANN))
    assert one.post(f"{HOME}/keys", visitor, days="7", permission=["read", "delete"]).status_code == 403
    assert one.post(f"{HOME}/keys/{strong.split('_')[2]}/rotate", visitor).status_code == 403
    assert len(one.serving.store.keys.find(ANN)) == before
    assert one.post(f"{HOME}/keys", visitor, days="7", permission=["read", "admin"]).status_code == 200


def test_a_key_without_a_permission_or_an_end_is_refused(web: Open) -> None:
    one = web()
    assert one.post(f"{HOME}/keys", days="7").status_code == 422
    for days in ("0", "4000", "x", "-1", "1.5"):
        assert one.post(f"{HOME}/keys", days=days, permission="read").status_code == 422
    assert one.serving.store.keys.find(one.memory.scope) == []


def test_keys_of_others_are_not_there(web: Open) -> None:
    one = web(hosted=True)
    name = one.key("read", user="bob", name="of bob").split("_")[2]
    assert "of bob" not in one.get(f"{HOME}/keys")
    for what in ("revoke", "rotate"):
        assert one.post(f"{HOME}/keys/{name}/{what}").status_code == 404
    assert one.serving.store.keys.find(Scope("acme", "bob"))[0].state(one.clock()) == "valid"


# -- quotas ------------------------------------------------------------------------------------------------------------


def test_limits_are_set_on_ones_own_machine(web: Open) -> None:
    one = web()
    assert one.post(f"{HOME}/quota", memories="100", ingests="").status_code == 303
    assert one.serving.store.quotas.get(one.memory.scope).own == (100, None)
    assert "0 of 100, 100 left" in one.says(f"{HOME}/quota")
    assert one.post(f"{HOME}/quota", memories="many").status_code == 422


def test_elsewhere_they_can_be_looked_at(web: Open) -> None:
    one = web(hosted=True)
    assert "of 50,000" in one.says(f"{HOME}/quota")
    assert one.post(f"{HOME}/quota", memories="0").status_code == 404
    assert "How much bob has" in one.says(f"{HOME}/quota", user="bob")  # the fixture's key may act
    plain = one.visitor(one.key("read"))
    assert plain.get(f"{HOME}/quota?user=bob").status_code == 403


# -- export ------------------------------------------------------------------------------------------------------------


def test_an_export_is_a_file_that_can_be_taken_in(web: Open) -> None:
    one = web()
    one.memory.remember("The door is blue", tags=["paint"])
    captured(one, "claude:1", "shop")
    answer = one.browser.get(f"{HOME}/export/file")
    assert answer.headers["content-disposition"] == 'attachment; filename="recollect-2026-11-15.jsonl"'
    records = [json.loads(line) for line in answer.text.splitlines()]
    assert {record["type"] for record in records} >= {"recollect", "session", "memory"}
    other = one.serving.memory(Scope("elsewhere", "ann"))
    assert other.load(records)["memories"] == 1
    only = one.browser.get(f"{HOME}/export/file?project=shop").text
    assert "hello claude:1" in only
    noted = one.memory.store.audit.find(one.memory.scope, limit=9, action="export")
    assert [entry.subject for entry in noted] == ["project", "everything"]
    assert noted[0].details == {"sessions": 1, "turns": 1, "memories": 1}


# -- retention ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("each_store")
def test_upkeep_is_looked_at_before_it_is_done(web: Open) -> None:
    one = web()
    kept = one.memory.remember("Something nobody asks for")
    one.clock.move(days=400)
    looked = one.post(f"{HOME}/retention", do="look", job=["archive", "purge"])
    assert looked.status_code == 200
    assert re.search(r"archive</strong>: 1 memories", looked.text)
    assert one.memory.get(kept.id).archived_at is None
    assert one.post(f"{HOME}/retention", do="run", job=["archive"]).status_code == 303
    assert one.memory.get(kept.id).archived_at is not None
    assert re.search(r"archive put away .* just now done 1 memories", one.says(f"{HOME}/retention"))


def test_only_jobs_that_end_soon_are_run_from_the_page(web: Open) -> None:
    one = web()
    for jobs in ([], ["reindex"], ["scrub", "reembed"], ["nothing"]):
        assert one.post(f"{HOME}/retention", do="run", job=jobs).status_code == 422


# -- models ------------------------------------------------------------------------------------------------------------


def test_the_embedder_and_the_budget_are_told_and_the_budget_is_set(web: Open, config: Path) -> None:
    one = web()
    shown = one.says(f"{HOME}/models")
    assert "ready" in shown
    assert "no language model is set" in shown
    assert "0 of 200,000" in shown
    assert one.post(f"{HOME}/models", tokens="5000", usd="0.25").status_code == 303
    assert (load().settings.llm_daily_tokens, load().settings.llm_daily_usd) == (5000, 0.25)
    before = config.read_bytes()
    assert one.post(f"{HOME}/models", tokens="7000", usd="much").status_code == 422
    assert config.read_bytes() == before


# -- shared contexts ---------------------------------------------------------------------------------------------------


def test_a_context_is_joined_and_a_proposal_decided(web: Open) -> None:
    one = web(hosted=True)
    ann = one.memory.contexts
    team = ann.create("team", reviewed=True)
    ann.add("team", "bob", "reviewer")
    bob = one.visitor(one.key("read", "write", "speak", user="bob"))
    kept = one.memory.remember("We ship on Tuesdays", kind="decision")
    ann.propose(kept.id, "team", "all should know")
    address = f"{HOME}/shared?context={team.id}"
    assert bob.get(address).status_code == 404  # asked, but not in it yet
    assert "asked to join" in bob.get(f"{HOME}/shared").text
    assert one.post(f"{HOME}/shared", bob, context=team.id, do="join").status_code == 303
    assert "We ship on Tuesdays" in bob.get(address).text
    [proposal] = ann.proposals("team")
    done = one.post(f"{HOME}/shared/proposals", bob, context=team.id, proposal=proposal.id, do="approve", why="so")
    assert done.status_code == 303
    assert [memory.content for memory in ann.memories("team")] == ["We ship on Tuesdays"]
    assert one.post(f"{HOME}/shared", bob, context=team.id, do="leave").status_code == 303
    assert bob.get(address).status_code == 404
    stranger = one.visitor(one.key("read", "write", "speak", user="eve"))
    assert stranger.get(address).status_code == 404
    assert one.post(f"{HOME}/shared", stranger, context=team.id, do="join").status_code == 404


# -- the machine -------------------------------------------------------------------------------------------------------


def test_agents_on_this_machine_are_told_with_their_commands(web: Open, own_home: Path) -> None:
    (own_home / ".claude").mkdir()
    one = web()
    captured(one, "claude:1")
    shown = one.says(f"{HOME}/agents")
    assert re.search(r"Claude Code not installed .*/\.claude \d+ months ago \(1\) recollect install claude-code", shown)
    assert list((own_home / ".claude").iterdir()) == []


def test_the_check_tells_what_doctor_finds_and_changes_nothing(web: Open) -> None:
    one = web()
    answer = one.post(f"{HOME}/agents")
    assert answer.status_code == 200
    assert "data directory" in answer.text
    assert "private (700)" in answer.text


def test_secrets_in_settings_are_not_shown(web: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_LLM_API_KEY", "sk-very-secret")
    shown = web().get(f"{HOME}/settings")
    assert "sk-very-secret" not in shown
    assert "RECOLLECT_LLM_API_KEY" in shown


def test_the_record_is_read_page_by_page(web: Open) -> None:
    one = web()
    for number in range(60):
        one.serving.store.audit.note(one.memory.scope, "forget", f"thing-{number}", at=one.clock())
    first = one.get(f"{HOME}/record")
    assert first.count('<th scope="row">') == 50
    assert "offset=50" in first
    assert one.get(f"{HOME}/record?offset=x&action=" + "y" * 500)
    assert "forget" in one.says(f"{HOME}/record", offset="50", action="forget")


def test_the_record_leads_to_the_memory_it_is_about(web: Open) -> None:
    one = web()
    kept, gone = one.memory.remember("The door is blue"), one.memory.remember("The barn is red")
    one.memory.forget(kept.id, soft=True)
    one.memory.forget(gone.id)
    shown = one.get(f"{HOME}/record")
    assert f'<a href="/page/memories/{kept.id}">' in shown
    assert f'href="/page/memories/{gone.id}"' not in shown
    assert gone.id in shown


def test_sizes_are_those_of_the_files(web: Open) -> None:
    one = web()
    (one.data_dir / "bodies").mkdir(exist_ok=True)
    (one.data_dir / "bodies" / "x").write_bytes(b"x" * 12_345)
    assert "bodies/ 12.3 kB" in one.says(f"{HOME}/about")
    assert str(one.data_dir) in one.get(f"{HOME}/about")
