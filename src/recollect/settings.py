"""Settings: defaults < config.toml in the user's config directory < RECOLLECT_* variables < arguments.

Built in one place and printed by `recollect config`. This is the only module that reads the environment, and nothing is
ever read from a repository or the working directory.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from recollect.errors import InvalidInput

PREFIX = "RECOLLECT_"
_CORRECT = "Correct the file, or move it away."
SECRETS = (
    *("embedding_api_key", "llm_api_key", "database_url", "database_client_secret", "vector_engine_api_key"),
    *("serve_api_key", "redis_url"),
)
# Other names for a setting's variable, asked in this order when neither its own nor the config file gives it.
OTHER_NAMES = {
    "serve_api_key": ("MEMORY_API_KEY", "API_KEY"),
    "redis_url": ("REDIS_URL",),
    "embedding_model": ("EMBEDDING_MODEL",),
}


Places = Mapping[str, tuple[Path, ...]]
Prices = Mapping[str, tuple[float, ...]]
Amounts = Mapping[str, float]
CHOICES = {
    "llm": ("none", "anthropic", "openai", "command"),
    "inject_prompt": ("recall", "nudge", "off"),
    "database_credentials": ("static", "file", "command", "oauth"),
    "vector_engine": ("store", "lancedb", "qdrant"),
}
# What may be 0, but neither less nor without end.
AMOUNTS = (
    *("llm_daily_tokens", "llm_daily_usd", "inject_max_tokens", "database_statement_seconds"),
    *("quota_memories", "quota_ingests_per_day", "vector_engine_from", "vector_memory_bytes"),
    *("use_half_life_days", "injections_keep_days"),
    *("serve_port", "serve_rate_per_minute", "serve_rate_per_ip_per_minute", "health_stuck_seconds", "redis_keep"),
)
DENIED = (
    *(".env", ".env.*", "*.pem", "*.key", "*.p12", "*.pfx", "*.keystore", "*.jks", "id_rsa", "id_dsa", "id_ecdsa"),
    *("id_ed25519", ".netrc", ".pgpass", ".npmrc", ".pypirc", ".git-credentials", "credentials.json", "secrets.*"),
    *("~/.aws", "~/.ssh", "~/.gnupg", "~/.kube", "~/.docker/config.json", "~/.config/gcloud", "~/.azure"),
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Every setting, with its default. The comment after each is its documentation."""

    data_dir: Path = field(default_factory=lambda: default_data_dir(os.environ))  # where everything is kept
    database_url: str = ""  # PostgreSQL to keep it in instead: postgresql://…; never shown
    database_credentials: str = "static"  # its login: static (in the address or libpq's), file, command or oauth
    database_credentials_file: Path | None = None  # file: holds the password, and is read at each connect
    database_credentials_command: str = ""  # command: the program that prints the password, or JSON with user and end
    database_token_url: str = ""  # oauth: where tokens are asked for; else DATABRICKS_HOST
    database_token_scope: str = ""  # oauth: what they are asked for; all-apis for Lakebase
    database_client_id: str = ""  # oauth: who asks; else DATABRICKS_CLIENT_ID
    database_client_secret: str = ""  # oauth: with what; else DATABRICKS_CLIENT_SECRET; never shown
    database_lakebase: str = ""  # oauth: the Lakebase endpoint (projects/…) or instance; else LAKEBASE_ENDPOINT
    database_pooler: bool = False  # a pooler in transaction mode (PgBouncer) stands between: nothing is prepared there
    database_connections: int = 10  # how many connections one process may hold
    database_statement_seconds: float = 30.0  # what one statement may take; 0: without end
    vector_memory_bytes: int = 0  # vectors one process keeps, 1.3 kB a memory; 0: 512 MB, --hosted an eighth of all
    vector_engine: str = "store"  # what finds the nearest vectors: store (itself), lancedb or qdrant beside it
    vector_engine_url: str = ""  # where that is: a folder, object storage (s3://…) or http://…; empty: a folder here
    vector_engine_api_key: str = ""  # key for that server; never shown
    vector_engine_from: int = 100_000  # documents of one owner from which it is asked; below, comparing all is quicker
    tenant: str = "local"  # whose memory: the organisation
    user: str = ""  # whose memory: the person; empty means the operating system's user
    project: str = ""  # fixed project; empty means it follows the working directory
    embedder: str = "minilm"  # minilm, remote (an OpenAI-compatible endpoint), or none (words only)
    model_dir: Path | None = None  # where the MiniLM weights are; default: inside the data directory
    embedding_url: str = ""  # base URL of the OpenAI-compatible endpoint
    embedding_model: str = ""  # model name at that endpoint
    embedding_dim: int = 1536  # dimension of that model's vectors
    embedding_api_key: str = ""  # key for that endpoint; never shown
    embedding_plain_hosts: tuple[str, ...] = ()  # hosts it may be asked at over plain http, such as one beside it
    threads: int = 1  # threads the embedder may use
    quick_questions: bool = True  # minilm: embed questions with 8-bit weights, where the processor multiplies exactly
    llm: str = "none"  # language model: none, anthropic, openai (any OpenAI-compatible endpoint) or command
    llm_url: str = ""  # base URL of the language model's endpoint; empty means the provider's own
    llm_model: str = ""  # model name at that endpoint
    llm_api_key: str = ""  # key for that endpoint; else ANTHROPIC_API_KEY or OPENAI_API_KEY; never shown
    llm_command: str = ""  # the program that answers prompts on standard input, such as `claude -p`
    llm_daily_tokens: int = 200_000  # what language models may read and write in a day (UTC)
    llm_daily_usd: float = 1.0  # what they may cost in a day, where their price is known
    llm_project_daily_usd: Amounts = field(default_factory=dict)  # the same for one project: project -> USD
    recall_limit: int = 10  # hits returned when nothing else is asked for
    decay: str = "hyperbolic"  # how recency falls with age: hyperbolic or exponential
    decay_factor: float = 0.01  # hyperbolic: 1 / (1 + days x factor); exponential: half every 1 / factor days
    abstain: bool = True  # say nothing rather than something unlikely
    use_half_life_days: float = 90.0  # days after which feedback on a memory counts half; more than 0
    injections_keep_days: int = 90  # how long it is kept where a memory was put before an agent
    distill: bool = True  # make memories of captured sessions; off: only what is said with `remember` is kept
    summarize_after: int = 8  # events a session may grow by before its gist is made again
    archive_after_days: int = 365  # memories older than this and ...
    archive_reads_below: int = 5  # ... read fewer times than this are archived
    stale_after_days: int = 90  # `consolidate` archives passing memories nobody vouches for or read for so long
    consolidate: bool = False  # `maintain` consolidates too; else only `consolidate`, or `maintain --job consolidate`
    consolidate_share: float = 0.2  # of the memories, how many it may change at once; more, and it changes nothing
    redact_after_days: int = 7  # a deleted memory can be restored until then; then its text is removed
    purge_after_days: int = 30  # and after this long its row is removed too
    backup_keep_days: int = 30  # how long a backup is kept: it holds what is forgotten later until it is deleted
    projects: Mapping[str, str] = field(default_factory=dict)  # aliases: directory or remote -> project name
    sources: Places = field(default_factory=dict)  # where an agent's sessions lie: agent -> list of directories
    capture_off: tuple[str, ...] = ()  # agents, projects and directories that are not captured
    capture_only: tuple[str, ...] = ()  # opt-in: when set, only these agents, projects and directories are captured
    deny_paths: tuple[str, ...] = DENIED  # what tools read from such files is not kept
    prices: Prices = field(default_factory=dict)  # USD per million tokens: model -> [input, output, cached, written]
    redact_personal: bool = False  # also take out e-mail addresses, phone numbers, IBANs and card numbers
    sweep_minutes: int = 10  # how often `sweep --watch` looks at every transcript
    raw_inline_bytes: int = 65_536  # a body larger than this is kept beside the database
    raw_soft_cap_bytes: int = 2_147_483_648  # above it, bodies of digested sessions are evicted, oldest first
    raw_hard_cap_bytes: int = 4_294_967_296  # above it, bodies are evicted undigested too, and the loss is reported
    raw_max_age_days: int = 180  # bodies of digested sessions older than this are evicted
    distilled_cap_bytes: int = 8_589_934_592  # above it there is an alert; nothing distilled is ever dropped by itself
    inject_start: bool = True  # put what is worth knowing before an agent when a session starts
    inject_suggestion: bool = True  # with it one line about last time, where something learned fits the project
    inject_prompt: str = "recall"  # on a prompt: recall (what fits it), nudge (a word that there is a memory) or off
    inject_max_tokens: int = 1_500  # size of what is put before an agent by itself
    share_patterns: bool = False  # count your patterns together with others' of this store: `patterns common`
    contexts: tuple[str, ...] = ()  # shared contexts whose approved memories agents are shown and may search too
    memory_files: tuple[str, ...] = ()  # files that are kept up to date with it; {project} in a name: one a project
    quota_memories: int = 0  # memories one user may have; 0: as many as they like (a server for others sets 50,000)
    quota_ingests_per_day: int = 0  # how often a day (UTC) one user may bring something in; 0: as often as they like
    audit_key_file: Path | None = None  # the keys that sign the audit; default: audit.key in the data directory
    audit_anchor_file: Path | None = None  # where the audit's heads are written; default: audit.anchor beside that
    mcp_writes_per_hour: int = 60  # how often agents may save and forget memories through MCP in an hour
    serve_host: str = "127.0.0.1"  # where `serve` listens; another machine can reach it only with --hosted
    serve_port: int = 0  # its port; 0: 8001 for ingestion, 8002 for retrieval, 8010 for all
    serve_hosts: tuple[str, ...] = ()  # names it is asked by, in the Host header; with --hosted empty: any
    serve_origins: tuple[str, ...] = ()  # web pages that may ask it, such as https://app.example
    serve_page: bool = True  # whether it shows pages to people too, at its own address
    serve_api_key: str = ""  # a secret it accepts besides its own, without --hosted; never shown
    serve_workers: int = 1  # how many processes answer
    serve_threads: int = 0  # how many requests one process works on at once; 0: 3
    serve_at_once: int = 0  # how many of them may be one tenant's, so that others find room; 0: two of three
    serve_rate_per_minute: int = 600  # requests a minute by key and by user, without Redis in each process; 0: no limit
    serve_rate_per_ip_per_minute: int = 3_000  # requests a minute from one address, counted likewise; 0: no limit
    serve_proxies: tuple[str, ...] = ()  # addresses of proxies whose X-Forwarded-For is believed
    health_stuck_seconds: float = 300.0  # what waits longer than this makes /health say that it is stuck
    metrics_public: bool = False  # /metrics without a key
    redis_url: str = ""  # Redis that limits are counted in and events come by: redis://…; never shown
    redis_channel: str = "memory.ingest"  # the channel that events are published on
    redis_stream: str = "recollect:ingest"  # the stream they are kept in until they are stored
    redis_group: str = "recollect"  # the group of those who store them
    redis_keys_file: Path | None = None  # the secrets that sign events: tenant -> key -> secret, as JSON
    redis_require_signature: bool = False  # take only events that are signed; with --hosted it is so by default
    redis_allow_unsigned: bool = False  # with --hosted: take unsigned events too, though not as the user's own words
    redis_keep: int = 10_000  # from this length on, entries that are done leave the stream; others never do


@dataclass(frozen=True, slots=True)
class Loaded:
    """Settings, and for each one where its value came from."""

    settings: Settings
    origins: Mapping[str, str]
    config_file: Path


def environment() -> MutableMapping[str, str]:
    """The variables of this process, for what looks where other programs keep their files, or tells them something."""
    return os.environ


def default_data_dir(env: Mapping[str, str]) -> Path:
    """Where data goes on this platform."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "recollect"
    if sys.platform == "win32":
        return Path(env.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "recollect"
    return Path(env.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "recollect"


def config_path(env: Mapping[str, str]) -> Path:
    """Where the user's config.toml is."""
    if env.get("RECOLLECT_CONFIG"):
        return Path(env["RECOLLECT_CONFIG"])
    if sys.platform == "win32":
        return Path(env.get("APPDATA") or Path.home() / "AppData" / "Roaming") / "recollect" / "config.toml"
    return Path(env.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "recollect" / "config.toml"


def missing_config(env: Mapping[str, str] | None = None) -> Path | None:
    """The file that RECOLLECT_CONFIG names, where there is none: nothing that was meant to be set is."""
    env = os.environ if env is None else env
    named = env.get("RECOLLECT_CONFIG")
    return Path(named) if named and not Path(named).exists() else None


def load(env: Mapping[str, str] | None = None, **arguments: Any) -> Loaded:
    """The settings in force; arguments that are None are as if not given."""
    env = os.environ if env is None else env
    file = config_path(env)
    values: dict[str, Any] = {"data_dir": default_data_dir(env)}
    origins = {item.name: "default" for item in fields(Settings)}
    for name, value in _from_file(file).items():
        try:
            values[name], origins[name] = _typed(name, value, str(file)), str(file)
        except InvalidInput as error:
            raise InvalidInput(f"{error}{_at_line(file, name)}", hint=_CORRECT) from None
    for item in fields(Settings):
        variable = PREFIX + item.name.upper()
        others = () if item.name in values else OTHER_NAMES.get(item.name, ())
        for name in (variable, *others):
            if env.get(name):
                values[item.name], origins[item.name] = _typed(item.name, env[name], name), name
                break
    for name, value in arguments.items():
        if value is not None:
            values[name], origins[name] = _typed(name, value, "argument"), "argument"
    return Loaded(Settings(**values), origins, file)


def _from_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    import tomllib

    try:
        found = tomllib.loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InvalidInput(f"{file} cannot be read: not UTF-8 text (at line {line})", hint=_CORRECT) from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise InvalidInput(f"{file} cannot be read: {error}", hint=_CORRECT) from None
    known = {item.name for item in fields(Settings)}
    unknown = sorted(found.keys() - known)
    if unknown:
        name = unknown[0]
        raise InvalidInput(f"{file}: unknown setting {name[:40]!r}{_at_line(file, name)}", hint=_CORRECT)
    return found


def _at_line(file: Path, name: str) -> str:
    """Where a setting, or a table of that name, stands in the file, if that can be told."""
    import re

    text = file.read_text(encoding="utf-8")
    found = re.search(rf"""^[ \t]*\[?[ \t]*["']?{re.escape(name)}["']?[ \t]*[]=.]""", text, re.MULTILINE)
    return "" if found is None else f" (at line {text.count(chr(10), 0, found.start()) + 1})"


def _typed(name: str, value: Any, source: str) -> Any:
    """The value in the setting's own type."""
    default = next(item for item in fields(Settings) if item.name == name)
    try:
        if default.type in ("Path", "Path | None"):
            return Path(value).expanduser()
        if name == "projects":
            return {str(Path(key).expanduser()) if key[:1] in "~/" else key: str(to) for key, to in dict(value).items()}
        if name == "sources":
            return {str(agent): tuple(_absolute(one) for one in _list(to)) for agent, to in dict(value).items()}
        if name == "prices":
            return {str(model): tuple(float(price) for price in to) for model, to in dict(value).items()}
        if default.type == "Amounts":
            return {str(key): _amount(float(to)) for key, to in dict(value).items()}
        if name == "memory_files":
            return tuple(str(_absolute(one)) for one in _list(value))
        if default.type == "tuple[str, ...]":
            return tuple(_list(value))
        if default.type == "bool":
            return value if isinstance(value, bool) else _boolean(value)
        if default.type in ("int", "float") and not isinstance(value, bool):
            number = int(value) if default.type == "int" else float(value)
            return _amount(number) if name in AMOUNTS else number
        if default.type == "str" and isinstance(value, str):
            return _one_of(value.strip(), CHOICES.get(name, ()))
        raise ValueError
    except (ValueError, TypeError, AttributeError):
        shown = "(hidden)" if name in SECRETS else repr(str(value)[:60])
        wanted = f"one of {', '.join(CHOICES[name])}" if name in CHOICES else f"a valid {default.type}"
        raise InvalidInput(f"{name} = {shown} ({source}) is not {wanted}") from None


def _absolute(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.is_absolute():
        raise ValueError
    return path


def _list(value: Any) -> list[str]:
    """A list of words; from a variable, separated by commas."""
    words = value.split(",") if isinstance(value, str) else list(value)
    if not all(isinstance(word, str | Path) for word in words):
        raise ValueError
    return [str(word).strip() for word in words if str(word).strip()]


def _one_of(word: str, choices: tuple[str, ...]) -> str:
    if choices and word not in choices:
        raise ValueError
    return word


def _amount(value: float) -> float:
    if not 0 <= value < float("inf"):
        raise ValueError
    return value


def _boolean(text: str) -> bool:
    found = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    return found[text.strip().casefold()] if text.strip().casefold() in found else _bad()


def _bad() -> bool:
    raise ValueError
