"""Tokens minted by an OAuth server over real HTTP, as Databricks Lakebase does it: what is asked, kept and told."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from recollect.errors import InvalidInput, StoreUnavailable
from recollect.models import wire
from recollect.settings import Settings
from recollect.store.postgres.credentials import Login
from recollect.store.postgres.minting import OAuthClient, mint, minted, oauth_client

SECRET = "dose-hunter2-very-secret"
START = datetime(2026, 11, 16, 12, tzinfo=UTC)
ENDPOINT = "projects/memory/branches/main/endpoints/primary"


@dataclass
class TokenServer:
    """Hands out numbered tokens to the client who knows the secret; `faults` are answered first."""

    port: int = 0
    asked: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    faults: list[tuple[int, bytes, dict[str, str]]] = field(default_factory=list)
    lasts: timedelta = timedelta(hours=1)
    minted: int = 0

    def client(self, lakebase: str = ENDPOINT, secret: str = SECRET) -> OAuthClient:
        url = urlsplit(f"http://127.0.0.1:{self.port}/oidc/v1/token")
        return OAuthClient(url, "client-1", secret, "all-apis", lakebase, timeout=5.0)

    def answer(self, path: str, authorization: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        if path == "/oidc/v1/token":
            self.asked.append((path, parse_qs(body.decode())))
            if self.faults:
                return self.faults.pop(0)
            if authorization != "Basic " + base64.b64encode(f"client-1:{SECRET}".encode()).decode():
                return 401, json.dumps({"error": authorization}).encode(), {}
            return self._json(access_token="access-1", token_type="Bearer", expires_in=self.lasts.total_seconds())
        self.asked.append((path, json.loads(body)))
        if authorization != "Bearer access-1":
            return 403, b"{}", {}
        self.minted += 1
        end = (START + self.lasts).isoformat().replace("+00:00", "Z")
        name = "expire_time" if path.endswith("/postgres/credentials") else "expiration_time"
        return self._json(**{"token": f"database-{self.minted}", name: end})

    @staticmethod
    def _json(**found: Any) -> tuple[int, bytes, dict[str, str]]:
        return 200, json.dumps(found).encode(), {}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenServer]:
    monkeypatch.setattr(wire, "BACKOFF_SECONDS", 0.01)
    script = TokenServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status, data, headers = script.answer(self.path, self.headers["Authorization"], body)
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(data))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name is the base class's)
            pass

    listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    script.port = listener.server_address[1]
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield script
    listener.shutdown()
    thread.join()
    listener.server_close()


@pytest.mark.parametrize(
    ("lakebase", "path", "body"),
    [
        (ENDPOINT, "/api/2.0/postgres/credentials", {"endpoint": ENDPOINT}),
        ("my-instance", "/api/2.0/database/credentials", {"instance_names": ["my-instance"]}),
    ],
    ids=["project", "instance"],
)
def test_lakebase_gives_a_user_and_a_token_for_an_hour(
    server: TokenServer, lakebase: str, path: str, body: dict[str, Any]
) -> None:
    login = mint(server.client(lakebase), START)
    assert login == Login("client-1", "database-1", START + timedelta(hours=1))
    form = {"grant_type": ["client_credentials"], "scope": ["all-apis"]}
    assert server.asked == [("/oidc/v1/token", form), (path, body)]


def test_elsewhere_the_access_token_is_the_password(server: TokenServer) -> None:
    client = replace(server.client(""), user="anna")
    assert mint(client, START) == Login("anna", "access-1", START + timedelta(hours=1))


def test_a_token_is_kept_and_renewed_ahead_of_its_end(server: TokenServer) -> None:
    """S0.10, S0.11"""
    at = [START]
    credentials = minted(server.client(), clock=lambda: at[0])
    assert [credentials.fetch().password for _ in range(3)] == ["database-1"] * 3
    at[0] += timedelta(minutes=54)
    assert credentials.fetch().password == "database-1"
    at[0] += timedelta(minutes=2)
    assert credentials.fetch().password == "database-2"
    assert credentials.bearer


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_server_in_trouble_is_asked_again(server: TokenServer, status: int) -> None:
    server.faults = [(status, SECRET.encode(), {"Retry-After": "0"}), (status, b"", {})]
    assert mint(server.client(), START).password == "database-1"


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ((401, SECRET.encode(), {}), "status 401"),
        ((302, b"", {"Location": "http://127.0.0.1:1/"}), "status 302"),
        ((200, b"not json", {}), "cannot be read"),
        ((200, b"[1]", {}), "cannot be read"),
        ((200, b"{}", {}), "no token"),
        ((200, b'{"access_token": "line\\nbreak"}', {}), "no token"),
        ((200, b"x" * 100_000, {}), "cannot be read"),
    ],
    ids=["refused", "redirect", "text", "list", "empty", "header", "flood"],
)
def test_a_bad_answer_is_told_without_the_servers_words(
    server: TokenServer, fault: tuple[int, bytes, dict[str, str]], says: str
) -> None:
    server.faults = [fault]
    with pytest.raises(StoreUnavailable, match=says) as raised:
        mint(server.client(), START)
    assert SECRET not in f"{raised.value}{raised.value.hint}"


def test_a_wrong_secret_is_refused_with_a_hint(server: TokenServer) -> None:
    with pytest.raises(StoreUnavailable, match="401") as raised:
        mint(server.client(secret=SECRET + "x"), START)
    assert "database_client_secret" in (raised.value.hint or "")
    assert SECRET not in str(raised.value)


def test_a_server_that_is_not_there_is_told(server: TokenServer) -> None:
    client = replace(server.client(), token_url=urlsplit("http://127.0.0.1:1/oidc/v1/token"))
    with pytest.raises(StoreUnavailable, match="connection failed"):
        mint(client, START)


def test_a_client_does_not_show_its_secret(server: TokenServer) -> None:
    assert SECRET not in repr(server.client())


def test_the_names_of_databricks_apps_are_enough() -> None:
    env = {
        "DATABRICKS_HOST": "https://workspace.example/\n",
        "DATABRICKS_CLIENT_ID": "client-1",
        "DATABRICKS_CLIENT_SECRET": SECRET + "\n",
        "LAKEBASE_ENDPOINT": ENDPOINT,
    }
    client = oauth_client(Settings(), env)
    assert client.token_url.geturl() == "https://workspace.example/oidc/v1/token"
    assert (client.client_id, client.client_secret, client.scope) == ("client-1", SECRET, "all-apis")
    assert client.lakebase == ENDPOINT
    own = replace(Settings(), database_client_id="client-2", database_token_scope="other")
    assert oauth_client(own, env).client_id == "client-2"
    assert oauth_client(own, env).scope == "other"


@pytest.mark.parametrize(
    "url", ["http://workspace.example/token", "ftp://h/x", f"https://u:{SECRET}@h/token"], ids=["plain", "ftp", "user"]
)
def test_a_secret_goes_out_only_over_https(url: str) -> None:
    settings = replace(Settings(), database_token_url=url, database_client_id="c", database_client_secret=SECRET)
    with pytest.raises(InvalidInput) as raised:
        oauth_client(settings, {})
    assert SECRET not in str(raised.value)
