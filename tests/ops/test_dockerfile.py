"""S1.64, S1s.16: the image runs as nobody special, holds the verified model, and needs no shell once it runs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from fnmatch import fnmatch
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from recollect.models.weights import NAME
from tests.ops.files import OPS, ROOT, is_setting, understood

TEXT = (OPS / "Dockerfile").read_text()


def instructions() -> list[tuple[str, str]]:
    joined = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE))
    return [(word, rest.strip()) for word, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def last_stage() -> list[tuple[str, str]]:
    every = instructions()
    start = max(place for place, (word, _) in enumerate(every) if word == "FROM")
    return every[start:]


def values(word: str, of: list[tuple[str, str]]) -> list[str]:
    return [rest for name, rest in of if name == word]


def test_only_instructions_that_there_are() -> None:
    known = {"ARG", "FROM", "ENV", "WORKDIR", "COPY", "RUN", "LABEL", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL"}
    assert {word for word, _ in instructions()} <= known | {"HEALTHCHECK", "ENTRYPOINT", "CMD"}


def test_it_is_built_in_one_image_and_runs_in_another() -> None:
    assert values("ARG", instructions())[0] == "PYTHON_IMAGE=python:3.11-slim"
    assert values("FROM", instructions()) == ["${PYTHON_IMAGE} AS build", "${PYTHON_IMAGE}"]
    assert not [rest for rest in values("RUN", last_stage()) if re.search(r"pip|apt|curl|wget", rest)]


def test_it_runs_as_nobody_special() -> None:
    users = values("USER", last_stage())
    assert users == ["10001:10001"]
    order = [word for word, _ in last_stage()]
    assert order.index("USER") < order.index("ENTRYPOINT")
    assert not [rest for word, rest in last_stage() if word == "RUN" and "chmod 777" in rest]


def test_nothing_needs_a_shell_once_it_runs() -> None:
    assert json.loads(values("ENTRYPOINT", last_stage())[0]) == ["recollect"]
    understood(json.loads(values("CMD", last_stage())[0]))
    check = values("HEALTHCHECK", last_stage())[0]
    assert json.loads(check[check.index("[") :])[0] == "python"


def test_the_model_is_in_it_and_was_verified() -> None:
    built = " ".join(values("RUN", instructions()))
    assert f"model install --to /opt/models/{NAME}" in built
    assert "is_intact" in built
    assert "chmod -R a+rX /opt/models" in built, "it is installed by root, and read by another"
    variables = dict(re.findall(r"(\w+)=(\S+)", " ".join(values("ENV", last_stage()))))
    assert variables["RECOLLECT_MODEL_DIR"] == f"/opt/models/{NAME}"
    assert all(is_setting(name) for name in variables if name.startswith("RECOLLECT_"))


def test_no_secret_can_stay_in_a_layer() -> None:
    for word, rest in instructions():
        if word in ("ARG", "ENV"):
            assert not re.search(r"PASSWORD|SECRET|TOKEN|KEY", rest), rest
        assert word != "ADD"


def test_what_is_copied_is_there_and_reaches_the_builder() -> None:
    rules = [line for line in (OPS / "Dockerfile.dockerignore").read_text().splitlines() if line and line[0] != "#"]
    assert rules[0] == "*"
    let_in = [rule[1:] for rule in rules if rule.startswith("!")]
    for rest in values("COPY", instructions()):
        if not rest.startswith("--from"):
            for source in rest.split()[:-1]:
                assert (ROOT / source).exists(), source
                assert any(fnmatch(source, rule) for rule in let_in), source


class _Answers(BaseHTTPRequestHandler):
    status = 200

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (404, 1)], ids=["well", "stuck", "no such page"])
def test_the_health_check_says_what_the_service_says(status: int, code: int) -> None:
    server = HTTPServer(("127.0.0.1", 0), type("Answers", (_Answers,), {"status": status}))
    thread = threading.Thread(target=server.handle_request)
    thread.start()
    address = f"http://127.0.0.1:{server.server_port}/health"
    ended = subprocess.run([sys.executable, OPS / "healthcheck.py", address], capture_output=True, text=True)
    thread.join()
    server.server_close()
    assert (ended.returncode, ended.stdout.strip()) == (code, str(status))


def test_the_health_check_notices_that_nobody_is_there() -> None:
    ended = subprocess.run([sys.executable, OPS / "healthcheck.py", "http://127.0.0.1:1/health"], capture_output=True)
    assert ended.returncode == 1
