"""S1.61, S1.94, S1s.16, D23: no database can be reached from outside, and every container is as small as it can be."""

from __future__ import annotations

import re
import subprocess
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from recollect.http.foreign import Foreign
from tests.ops.files import COMPOSE, DEV, MONITORING, OPS, is_setting, read_yaml, services, understood

FILES = (COMPOSE, DEV, MONITORING)
EXAMPLE = (OPS / ".env.example").read_text(encoding="utf-8")
WHOLE = services(COMPOSE, MONITORING)
OURS = [name for name, service in WHOLE.items() if "build" in service]
DATABASES = ("postgres", "redis")
# The keys of the Compose Specification that these files use, and the shape of each: a typing error is no key of it.
KEYS: dict[str, type | tuple[type, ...]] = {
    **dict.fromkeys(("image", "user", "restart", "stop_grace_period", "shm_size", "mem_limit", "hostname"), str),
    **dict.fromkeys(("command", "cap_drop", "security_opt", "tmpfs", "volumes", "secrets", "ports"), list),
    **dict.fromkeys(("networks", "profiles"), list),
    **dict.fromkeys(("environment", "healthcheck", "depends_on", "logging", "build"), dict),
    **dict.fromkeys(("read_only", "init"), bool),
    "cpus": (str, int, float),
    "pids_limit": int,
}
HEALTH = {"test", "interval", "timeout", "retries", "start_period", "disable"}
CONDITIONS = {"service_started", "service_healthy", "service_completed_successfully"}
ANSWERED = {"memory-ingestion": 8001, "memory-retrieval": 8002, "worker": 9102}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_file_is_written_as_the_specification_says(path: Path) -> None:
    document = read_yaml(path)
    top = {key for key in document if not key.startswith("x-")}
    assert top <= {"name", "services", "networks", "volumes", "secrets"}
    for name, service in document["services"].items():
        for key, value in service.items():
            assert key in KEYS, f"{name}: {key}"
            assert isinstance(value, KEYS[key]), f"{name}: {key}"
        assert set(service.get("healthcheck", {})) <= HEALTH, name


def test_what_a_service_names_is_there() -> None:
    documents = [read_yaml(path) for path in FILES]
    known = {part: {name for one in documents for name in one.get(part, {})} for part in ("networks", "secrets")}
    volumes = {name for one in documents for name in one.get("volumes", {})}
    for name, service in services(*FILES).items():
        assert set(service["networks"]) <= known["networks"], name
        assert set(service.get("secrets", ())) <= known["secrets"], name
        for other, how in service.get("depends_on", {}).items():
            assert other in WHOLE, name
            assert how["condition"] in CONDITIONS, name
            if how["condition"] == "service_healthy":
                assert "test" in WHOLE[other]["healthcheck"], f"{name} waits for {other} without a check"
        for mount in service.get("volumes", ()):
            source = re.sub(r"\$\{[^}]*:-([^}]*)\}", r"\1", mount).split(":")[0]
            if source == "./backups":  # made on the machine it runs on
                continue
            assert (OPS / source).exists() if source.startswith(".") else source in volumes, f"{name}: {source}"


def published(service: dict[str, Any]) -> list[str]:
    return [str(port) for port in service.get("ports", ())]


@pytest.mark.parametrize("name", DATABASES)
def test_no_database_is_published_or_has_a_way_out(name: str) -> None:
    service = services(COMPOSE, MONITORING)[name]
    assert not published(service)
    assert service["networks"] == (["backend", "bus"] if name == "redis" else ["backend"])
    for network in service["networks"]:
        assert read_yaml(COMPOSE)["networks"][network]["internal"] is True


def test_what_is_published_is_published_on_this_machine_alone() -> None:
    for name, service in services(*FILES).items():
        for port in published(service):
            assert re.fullmatch(r"127\.0\.0\.1:(\d+):\1", port), f"{name}: {port}"


def test_for_development_the_databases_are_published_on_a_network_that_can() -> None:
    developed = services(COMPOSE, DEV)
    for name, port in (("postgres", "5432"), ("redis", "6379")):
        assert published(developed[name]) == [f"127.0.0.1:{port}:{port}"]
        assert "dev" in developed[name]["networks"]
    assert "internal" not in read_yaml(DEV)["networks"]["dev"]


@pytest.mark.parametrize("name", WHOLE)
def test_a_container_may_as_little_as_it_can(name: str) -> None:
    service = WHOLE[name]
    user, _, group = service["user"].partition(":")
    assert user.isdigit(), "a name could be anybody in another image"
    assert group.isdigit()
    assert int(user) > 0
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert not {"privileged", "cap_add", "devices", "pid", "ipc", "network_mode", "userns_mode"} & set(service)
    assert not [mount for mount in service.get("volumes", ()) if "docker.sock" in mount]
    for limit in ("mem_limit", "cpus", "pids_limit"):
        assert service[limit], limit
    assert service["logging"]["options"]["max-size"], "a log must not fill the disk"
    assert "test" in service["healthcheck"] or service["restart"] == "no"


@pytest.mark.parametrize("name", WHOLE)
def test_an_image_has_a_version(name: str) -> None:
    image = re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", WHOLE[name]["image"])
    tag = image.partition(":")[2]
    assert tag
    assert tag != "latest"
    assert name in OURS or re.search(r"\d", tag)


@pytest.mark.parametrize("name", OURS)
def test_a_service_runs_a_command_that_there_is(name: str) -> None:
    words = [re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", word) for word in WHOLE[name]["command"]]
    understood(words)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_health_check_asks_the_port_it_listens_on(name: str) -> None:
    test = WHOLE[name]["healthcheck"]["test"]
    assert test[0] == "CMD", "there is no shell to count on"
    port = str(ANSWERED[name])
    assert test[-1] == f"http://127.0.0.1:{port}/health", "figures are answered whatever is stuck"
    assert port in WHOLE[name]["command"]


@pytest.mark.parametrize("name", OURS)
def test_every_variable_is_one_that_is_read(name: str) -> None:
    database = {"DB_HOST", "DB_PORT", "DB_NAME", "DB_USER", "DB_PASSWORD"}
    for variable in WHOLE[name]["environment"]:
        assert variable in database or is_setting(variable), variable


@pytest.mark.parametrize("name", WHOLE)
def test_no_secret_stands_in_an_environment(name: str) -> None:
    service = WHOLE[name]
    given = {f"/run/secrets/{secret}" for secret in service.get("secrets", ())}
    for variable, value in service.get("environment", {}).items():
        if str(value).startswith("/run/secrets/"):
            assert value in given, f"{variable} names a secret that {name} is not given"
        elif re.search(r"PASSWORD|SECRET|TOKEN|API_KEY|_URL", variable):
            assert value == "postgresql://", f"{variable} = {value}"


def test_who_takes_events_has_the_keys_that_sign_them() -> None:
    """On a server for others an event that nobody signed is a dead letter."""
    assert "--hosted" in WHOLE["worker"]["command"]
    for name in ("worker", "admin"):
        assert WHOLE[name]["environment"]["RECOLLECT_REDIS_KEYS_FILE"] == "/run/secrets/redis_keys.json"
    assert [name for name in OURS if "redis_keys.json" in WHOLE[name]["secrets"]] == ["worker", "admin"]


def test_the_services_never_have_the_owners_login() -> None:
    for name in ANSWERED:
        assert "db_owner_password" not in WHOLE[name]["secrets"]
        assert "db_admin_password" not in WHOLE[name]["secrets"]
    assert [name for name in OURS if "db_owner_password" in WHOLE[name]["secrets"]] == ["database-init", "admin"]


def test_the_example_names_every_variable_with_the_default_it_has() -> None:
    found = re.findall(r"\$\{(\w+):-((?:[^{}]|\$\{[^{}]*\})*)\}", COMPOSE.read_text())
    used = {name: "" if "$" in default else default for name, default in found}  # another variable's: left open
    assert not re.search(r"\$\{\w+\}", COMPOSE.read_text()), "a variable without a default"
    lines = [line for line in (OPS / ".env.example").read_text().splitlines() if line and not line.startswith("#")]
    assert dict(line.split("=", 1) for line in lines) == used


def test_no_secret_is_in_the_repository(tmp_path: Path) -> None:
    ignored = (OPS / ".gitignore").read_text().split()
    assert {".env", "secrets/", "backups/"} <= set(ignored)
    listed = subprocess.run(
        ["git", "ls-files", "ops"], cwd=OPS.parent, capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [name for name in listed if name.startswith("ops/secrets") or name == "ops/.env"]


def given(text: str, **variables: str) -> str:
    """A value as Compose fills it in: `:-` where there is none, `:+` where there is one, each within the other."""
    form = re.compile(r"\$\{(\w+)(?::([-+])((?:[^{}]|\$\{[^{}]*\})*))?\}")

    def filled(match: re.Match[str]) -> str:
        name, sign, other = match[1], match[2], match[3] or ""
        value = variables.get(name, "")
        chosen = other if (sign == "-" and not value) or (sign == "+" and value) else "" if sign == "+" else value
        return given(chosen, **variables)

    return form.sub(filled, text)


@pytest.mark.parametrize("name", ["memory-ingestion", "memory-retrieval"])
def test_whoever_names_hosts_locks_out_neither_the_health_check_nor_prometheus(name: str) -> None:
    value = WHOLE[name]["environment"]["RECOLLECT_SERVE_HOSTS"]
    assert given(value) == "", "any, while none is named"
    foreign = Foreign(given(value, SERVE_HOSTS="memory.example,recall.example").split(","))
    targets = [
        target
        for job in read_yaml(OPS / "prometheus" / "prometheus.yml")["scrape_configs"]
        for one in job["static_configs"]
        for target in one["targets"]
        if target.startswith(name)
    ]
    checked = re.search(r"//([^/]+)/", WHOLE[name]["healthcheck"]["test"][-1])
    assert targets
    assert checked
    for host in (*targets, checked[1], "memory.example", "recall.example"):
        assert foreign.check({"Host": [host]}.get) is None, host
    assert foreign.check({"Host": ["evil.example"]}.get) is not None


def test_a_proxy_on_this_machine_is_believed_by_the_address_it_is_seen_with() -> None:
    (front,) = read_yaml(COMPOSE)["networks"]["front"]["ipam"]["config"]
    shown = dict(line.split("=", 1) for line in EXAMPLE.splitlines() if re.match(r"[A-Z_]+=", line))
    for variables in ({}, shown):
        gateway = given(front["gateway"], **variables)
        assert ip_address(gateway) in ip_network(given(front["subnet"], **variables))
        for name in ("memory-ingestion", "memory-retrieval"):
            value = WHOLE[name]["environment"]["RECOLLECT_SERVE_PROXIES"]
            assert given(value, **variables) == gateway
            assert given(value, **{**variables, "SERVE_PROXIES": "10.0.0.9"}) == "10.0.0.9"
