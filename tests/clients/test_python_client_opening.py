"""Opening a memory by its address: which key is used, what is refused, and what a lost answer costs."""

from __future__ import annotations

import inspect
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from recollect import Recollect, Scope
from recollect.client import AsyncClient, Client, MemoryAPI
from recollect.client.address import locate
from recollect.errors import InvalidInput, InvalidKey, NotFound, ScopeError
from tests.clients.places_fixture import Server

pytestmark = pytest.mark.slow


def test_a_program_opens_an_address_as_it_opens_a_folder(server: Server, tmp_path: Path) -> None:
    def program(memory: MemoryAPI) -> list[str]:
        with memory as opened:
            opened.remember("The kiln is fired on Mondays.")
            return [hit.content for hit in opened.recall("when is the kiln fired?").hits]

    here: MemoryAPI = Recollect.open(tmp_path / "here", scope=Scope("local", "potter"), background=False)
    there: MemoryAPI = Recollect.open(url=server.url, scope=Scope("local", "potter"), data_dir=server.data_dir)
    assert isinstance(there, Client)
    assert program(here) == program(there) == ["The kiln is fired on Mondays."]


def test_an_address_in_the_place_of_a_folder_is_an_address(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RECOLLECT_API_KEY", server.key)
    memory: Any = Recollect.open(server.url)
    with memory:
        assert isinstance(memory, Client)
        assert memory.whoami()["key"] == "local"
    assert not Path("http:").exists()


@pytest.mark.parametrize("part", ["embedder", "summarizer", "clock", "count_tokens", "colour"])
def test_what_the_server_chooses_cannot_be_chosen_here(server: Server, part: str) -> None:
    with pytest.raises(InvalidInput, match="chosen by the server"):
        Recollect.open(url=server.url, **{part: None})


def test_the_secret_of_this_machine_is_found_in_the_data_directory(server: Server) -> None:
    with Client(server.url, data_dir=server.data_dir) as client:
        assert client.whoami()["tenant"] == "local"
    assert locate(server.url, data_dir=server.data_dir, env={}).key == server.key


@pytest.mark.parametrize(
    ("key", "env", "found"),
    [
        ("given", {"RECOLLECT_API_KEY": "own", "MEMORY_API_KEY": "other"}, "given"),
        (None, {"RECOLLECT_API_KEY": "own", "MEMORY_API_KEY": "other"}, "own"),
        (None, {"MEMORY_API_KEY": "other"}, "other"),
    ],
)
def test_the_key_is_the_first_that_is_said(server: Server, key: str | None, env: dict[str, str], found: str) -> None:
    assert locate(server.url, key=key, data_dir=server.data_dir, env=env).key == found


def test_the_secret_of_this_machine_goes_to_no_other(server: Server) -> None:
    assert locate("https://memory.example.org", data_dir=server.data_dir, env={}).key is None


def test_addresses_are_the_ones_of_the_environment() -> None:
    env = {"MEMORY_RETRIEVAL_URL": "http://127.0.0.1:8002/", "MEMORY_INGESTION_URL": "http://127.0.0.1:8001"}
    found = locate(key="k", env=env)
    assert (found.read, found.write) == ("http://127.0.0.1:8002", "http://127.0.0.1:8001")
    one = locate(key="k", env={**env, "RECOLLECT_URL": "http://127.0.0.1:9"})
    assert (one.read, one.write) == ("http://127.0.0.1:9", "http://127.0.0.1:9")
    assert locate(key="k", env={}).read == "http://127.0.0.1:8010"


@pytest.mark.parametrize(
    "url",
    ["memory.example.org", "ftp://x", "http://", "https://user:pw@x", "https://x?key=1", "https://x#y", "http://[::1",
     "http://example.org", "http://127.0.0.1.example.org", "http://10.0.0.1:8010", "http://localhost@example.org"],
)  # fmt: skip
def test_an_address_that_is_none_or_not_safe_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        locate(url, key="k", env={})


def test_plain_http_is_for_networks_one_trusts() -> None:
    assert locate("http://memory:8002", key="k", plain_http=True, env={}).read == "http://memory:8002"


@pytest.mark.parametrize("key", ["with\nline", "with\r\nX-Evil: 1", "grüße", "x" * 501])
def test_what_no_key_has_is_no_key(key: str) -> None:
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:9", key=key)


def test_a_wrong_key_opens_nothing(server: Server) -> None:
    with Client(server.url, key="rk_live_wrong") as client, pytest.raises(InvalidKey):
        client.recall("anything")


def test_another_user_is_another_memory(server: Server) -> None:
    with (
        Client(server.url, key=server.key, user="ann-o") as ann,
        Client(server.url, key=server.key, user="bob-o") as bob,
    ):
        kept = ann.remember("The attic key hangs by the door.")
        with pytest.raises(NotFound):
            bob.get(kept.id)
        assert bob.recall("where does the attic key hang?").hits == ()


@pytest.mark.parametrize("user", ["@commons", ""])
def test_a_name_that_is_no_users_is_refused(server: Server, user: str) -> None:
    with Client(server.url, key=server.key, user=user) as client, pytest.raises((InvalidInput, ScopeError)):
        client.memories()


@pytest.mark.parametrize(
    "given",
    [{"at": "/tmp"}, {"contexts": ["@team"]}, {"profile": "relevance"}],
    ids=lambda one: next(iter(one)),
)
def test_what_needs_the_memory_in_this_process_is_said_so(server: Server, given: dict[str, Any]) -> None:
    with Client(server.url, key=server.key) as client, pytest.raises(InvalidInput, match="asked of a server"):
        client.context("anything", **given)


def test_everything_is_not_forgotten_by_a_client(server: Server) -> None:
    with Client(server.url, key=server.key) as client, pytest.raises(InvalidInput, match="asked of a server"):
        client.forget(everything=True)


def test_a_lost_answer_costs_no_second_event(server: Server) -> None:
    """The first answer is lost on its way: the request was done, and the second try does not do it again."""
    with _Losing(server.url) as relay, Client(relay.url, key=server.key, user="lost-answers") as client:
        client.record("s", "user", "said once")
        assert relay.lost == 1
        kept = client.remember("The cellar floods in spring.")
        assert relay.lost == 1
        assert [event.text for event in client.history("s")] == ["said once"]
        assert [one.id for one in client.memories()] == [kept.id]


def test_connections_are_used_again(server: Server) -> None:
    with _Losing(server.url, loses=0) as relay, Client(relay.url, key=server.key, user="reused") as client:
        for number in range(10):
            client.record("s", "user", f"message {number}")
            client.recall("message")
        assert relay.connections == 1


def test_without_httpx_it_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['httpx'] = None\n"
        "from recollect import Recollect\n"
        "from recollect.errors import InvalidInput\n"
        "try: Recollect.open('https://memory.example.org')\n"
        "except InvalidInput as error: print(error.hint)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "pip install 'recollect[client]'" in shown


def test_the_client_is_loaded_only_when_an_address_is_opened(tmp_path: Path) -> None:
    code = (
        "import sys; from recollect import Recollect\n"
        f"Recollect.open({str(tmp_path / 'data')!r}, embedder=None, background=False).close()\n"
        "print('httpx' in sys.modules or 'recollect.client' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "False"


def test_the_methods_are_the_same_and_explain_themselves() -> None:
    shared = {name for name in dir(Recollect) if not name.startswith("_")} & {
        name for name in vars(Client) if not name.startswith("_")
    }
    assert len(shared) >= 23
    for name in shared - {"close", "export"}:
        assert getattr(Client, name).__doc__ == getattr(AsyncClient, name).__doc__
        assert getattr(Client, name).__doc__
    assert str(inspect.signature(Client.get)) == "(self, memory_id: 'str') -> 'Memory'"


class _Losing:
    """A relay that takes a request to the server and loses the first answers."""

    def __init__(self, url: str, loses: int = 1) -> None:
        parts = urlsplit(url)
        self._to = (str(parts.hostname), int(parts.port or 0))
        self._loses = loses
        self.lost = self.connections = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads: list[threading.Thread] = []

    def __enter__(self) -> _Losing:
        self._run(self._accept)
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(10)

    def _run(self, work: Any, *given: Any) -> None:
        self._threads.append(threading.Thread(target=work, args=given, daemon=True))
        self._threads[-1].start()

    def _accept(self) -> None:
        while True:
            try:
                wire, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            far = socket.create_connection(self._to)
            self._run(self._back, far, wire)
            self._run(self._forth, wire, far)

    def _forth(self, wire: socket.socket, far: socket.socket) -> None:
        try:
            while part := wire.recv(65_536):
                far.sendall(part)
        except OSError:
            pass
        finally:
            with suppress(OSError):
                far.shutdown(socket.SHUT_RDWR)

    def _back(self, far: socket.socket, wire: socket.socket) -> None:
        with wire, far:
            try:
                while part := far.recv(65_536):
                    if self.lost < self._loses:
                        self.lost += 1
                        wire.shutdown(socket.SHUT_RDWR)
                        return
                    wire.sendall(part)
            except OSError:
                pass
