"""A login minted by an OAuth server: a client and its secret in, a user with a token that lives an hour out.

The client-credentials flow over HTTPS. The access token is the password itself, or, for Databricks Lakebase, is traded
at the same host for a database token. Every login has user and token from one answer, so a client that was replaced
takes effect as a whole. Errors say what happened, and neither the secret nor the server's words.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import SplitResult, quote, urlencode

from recollect.clock import Clock, now
from recollect.errors import InvalidInput, StoreUnavailable
from recollect.models.wire import RetryableError, backoffs, check_url, connect, retry_after
from recollect.settings import Settings
from recollect.store.postgres.credentials import MAX_BYTES, Kept, Login, read_end

TIMEOUT = 20.0
SCOPE = "all-apis"
WHAT = "database token server"
AUTOSCALING = "/api/2.0/postgres/credentials"  # Lakebase projects; by an endpoint's whole name
PROVISIONED = "/api/2.0/database/credentials"  # Lakebase instances; by the instance's name
_CHECK = "Check the settings database_client_id and database_client_secret."


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """Who asks for tokens, and where."""

    token_url: SplitResult
    client_id: str
    client_secret: str = field(repr=False)
    scope: str = ""
    lakebase: str = ""  # projects/…/branches/…/endpoints/…, or an instance's name; empty: the access token is it
    user: str = ""  # the role to log in as; empty: the client's id, which is the role's name on Lakebase
    timeout: float = TIMEOUT


def oauth_client(settings: Settings, env: Mapping[str, str], user: str = "") -> OAuthClient:
    """The client of the settings; what they leave out is taken from the names that Databricks Apps sets."""
    host = env.get("DATABRICKS_HOST", "").strip().rstrip("/")
    asked = settings.database_token_url or (f"https://{host.removeprefix('https://')}/oidc/v1/token" if host else "")
    client_id = settings.database_client_id or env.get("DATABRICKS_CLIENT_ID", "").strip()
    secret = settings.database_client_secret or env.get("DATABRICKS_CLIENT_SECRET", "").strip()
    if not asked or not client_id or not secret:
        raise InvalidInput(
            "database_credentials = oauth needs a token server, a client and its secret",
            hint="Set database_token_url, database_client_id and database_client_secret.",
        )
    lakebase = settings.database_lakebase or env.get("LAKEBASE_ENDPOINT", "").strip()
    scope = settings.database_token_scope or (SCOPE if lakebase else "")
    return OAuthClient(check_url(asked, WHAT), client_id, secret, scope, lakebase, user)


def minted(client: OAuthClient, *, clock: Clock = now) -> Kept:
    """The credentials port: a token is used for every connect until shortly before it ends."""
    return Kept(lambda: mint(client, clock()), bearer=True, clock=clock)


def mint(client: OAuthClient, at: datetime) -> Login:
    """Ask the server for one login."""
    form = {"grant_type": "client_credentials", **({"scope": client.scope} if client.scope else {})}
    pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}".encode()
    headers = {
        "Authorization": f"Basic {base64.b64encode(pair).decode()}",
        "Content-Type": "application/x-www-form-urlencoded",
    }
    granted = _asked(client, client.token_url.path, urlencode(form).encode(), headers)
    access = _token(granted, "access_token")
    user = client.user or client.client_id
    if not client.lakebase:
        return Login(user, access, read_end(granted, at))
    path, body = _trade(client.lakebase)
    headers = {"Authorization": f"Bearer {access}", "Content-Type": "application/json"}
    traded = _asked(client, path, json.dumps(body).encode(), headers)
    return Login(user, _token(traded, "token"), read_end(traded, at))


def _trade(lakebase: str) -> tuple[str, dict[str, Any]]:
    if lakebase.startswith("projects/"):
        return AUTOSCALING, {"endpoint": lakebase}
    return PROVISIONED, {"instance_names": [lakebase]}


def _token(found: Mapping[str, Any], name: str) -> str:
    token = found.get(name)
    if not isinstance(token, str) or not token.isascii() or not token.isprintable() or not token:
        raise _unavailable("its answer has no token")
    return token


def _asked(client: OAuthClient, path: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    """One answer, after a few tries where another may go better."""
    for pause in backoffs():
        try:
            return _once(client, path, body, headers)
        except RetryableError as error:
            if pause is None:
                raise _unavailable(error.reason) from None
            time.sleep(error.pause(pause))
    raise AssertionError("the last try ends the loop")


def _once(client: OAuthClient, path: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
    import http.client

    connection = connect(client.token_url, client.timeout)
    try:
        connection.request("POST", path or "/", body, {"Accept": "application/json", **headers})
        with connection.getresponse() as response:
            status, wait = response.status, response.getheader("Retry-After")
            data = response.read(MAX_BYTES + 1)
    except TimeoutError:
        raise RetryableError("it did not answer in time") from None
    except (http.client.HTTPException, OSError) as error:
        raise RetryableError(f"the connection failed ({type(error).__name__})") from None
    finally:
        connection.close()
    if status == 429 or status >= 500:
        raise RetryableError(f"it answered with status {status}", retry_after(wait))
    if status != 200:
        raise _unavailable(f"it answered with status {status}", _CHECK if status in (400, 401, 403) else None)
    return _object(data)


def _object(data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data) if len(data) <= MAX_BYTES else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _unavailable("its answer cannot be read")
    return found


def _unavailable(reason: str, hint: str | None = None) -> StoreUnavailable:
    return StoreUnavailable(f"The {WHAT} cannot be used: {reason}.", hint=hint)
