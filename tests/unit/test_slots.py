"""Slots: statements of one thing meet however they are worded, and statements of two things never do."""

from __future__ import annotations

import time
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.distill.values.slots import MAX_CHARS, Slot, slot_key, slot_of

# Each group tells of one thing: its key, and statements with the value each tells.
TOLD: dict[str, dict[str, str]] = {
    "postgres|port": {
        "postgres runs on port 5433": "5433",
        "Postgres is running on port 5433.": "5433",
        "PostgreSQL listens on port 5433": "5433",
        "the port of postgres is 5544": "5544",
        "Postgres's port is 5544": "5544",
        "The Postgres port is now 5544": "5544",
        "postgres port: 5544": "5544",
        "postgres listens on 5544": "5544",
        "Postgres listens on localhost:5544": "5544",
        "Postgres uses port 5544": "5544",
        "use port 5544 for Postgres": "5544",
        "port 5544 is for postgres": "5544",
        "the port for postgres changed from 5433 to 5544": "5544",
        "Set the port of postgres to 5544": "5544",
        "Note that postgres runs on port 5544, because 5433 is taken": "5544",
        "The port of postgres is 5544, not 5433": "5544",
        "the port of postgres is 5544 (was 5433)": "5544",
        "5544 is the port of postgres": "5544",
        "We decided that postgres runs on port 5544": "5544",
    },
    "postgres staging|port": {
        "Staging Postgres listens on port 5433": "5433",
        "the port of the staging postgres is 5433": "5433",
        "postgres runs on port 5433 in staging": "5433",
    },
    "|javascript package manager": {
        "use pnpm instead of npm": "pnpm",
        "Use pnpm, not npm": "pnpm",
        "use pnpm rather than yarn": "pnpm",
        "we use pnpm": "pnpm",
        "We should use yarn for package management": "yarn",
        "Always use pnpm": "pnpm",
        "The user prefers pnpm over npm": "pnpm",
        "the package manager is bun": "bun",
        "pnpm is our package manager": "pnpm",
        "use pnpm as the package manager": "pnpm",
        "switch to yarn": "yarn",
        "We are using pnpm": "pnpm",
        "Always use pnpm in this repo, never npm": "pnpm",
        "Use yarn instead.": "yarn",
        "stick with npm": "npm",
    },
    "|indentation": {
        "prefer tabs over spaces": "tabs",
        "I prefer tabs to spaces": "tabs",
        "The user prefers spaces over tabs": "spaces",
        "use tabs": "tabs",
        "use 4 spaces": "4 spaces",
        "use 2-space indentation": "2 spaces",
        "indent with tabs": "tabs",
        "Use spaces for indentation, not tabs": "spaces",
    },
    "|timeout": {
        "timeout = 30 s": "30 s",
        "The timeout is 30 seconds": "30 s",
        "timeout: 30s": "30 s",
        "set the timeout to 45 sec": "45 s",
        "the timeout should be 1,000 ms": "1000 ms",
    },
    "api|timeout": {
        "the API timeout is 30 s": "30 s",
        "The timeout of the API is 30 seconds": "30 s",
        "The API has a timeout of 45 s": "45 s",
        "Set the timeout for the API to 45 seconds": "45 s",
    },
    "api|limit": {
        "The API limit is 100 a minute": "100 a min",
        "the limit of the API is 300 per minute": "300 per min",
    },
    "test|command": {
        "tests run with `make test`": "make test",
        "Run the tests with `make test`": "make test",
        "run tests using make test": "make test",
        "The test command is `pytest -q`": "pytest -q",
        "To run the tests, use `make check`": "make check",
        "use `make check` to run the tests": "make check",
        "test with `make test`": "make test",
        "Tests must be run with `make test`, not pytest": "make test",
        "the tests are run with `uv run pytest`": "uv run pytest",
    },
    "ci test|command": {"run tests with pytest in CI": "pytest"},
    "build doc|command": {
        "Build the docs with `make docs`": "make docs",
        "the docs are built with `make html`": "make html",
    },
    "staging|host": {"the staging host is a.b.c": "a.b.c", "the host of staging is db.example.com": "db.example.com"},
    "configuration|place": {
        "the config is at config/app.toml": "config/app.toml",
        "The config lives in `settings/app.toml`": "settings/app.toml",
        "The configuration moved to etc/app.toml": "etc/app.toml",
    },
    "dashboard|address": {
        "the dashboard is at https://grafana.example.com/d/1": "https://grafana.example.com/d/1",
        "The dashboard runs on metrics.example.com": "metrics.example.com",
    },
    "default|branch": {
        "default branch is main": "main",
        "The default branch is `trunk`": "trunk",
        "main is the default branch": "main",
        "our default branch is called develop": "develop",
        "the default branch of this repo is main": "main",
    },
    "python|version": {
        "version of python is 3.12": "3.12",
        "the Python version is 3.12": "3.12",
        "we use Python 3.12": "3.12",
        "The project uses python 3.13": "3.13",
        "Python is pinned to 3.12": "3.12",
    },
    "favourite me|editor": {
        "my favourite editor is helix": "helix",
        "My favorite editor is Vim": "vim",
        "The user's favourite editor is helix": "helix",
        "helix is my favourite editor": "helix",
        "my preferred editor is emacs": "emacs",
    },
    "deploy|when": {
        "deploys happen on Fridays": "friday",
        "We deploy on Tuesdays": "tuesday",
        "Deployments happen every Monday": "monday",
        "deploy on Friday": "friday",
    },
    "backup|when": {"backups run nightly": "nightly", "Backups run daily at 3:00": "daily at 3:00"},
    "answer|language": {
        "answer in German": "german",
        "Always reply in English": "english",
        "respond in French": "french",
    },
    "commit message|language": {"write commit messages in English": "english"},
    "me|name": {"call me Sam": "sam", "my name is Samira": "samira"},
    "storage|use": {"we use S3 for storage": "s3", "use MinIO for storage": "minio"},
    "httpx requestify|choice": {
        "use httpx instead of requestify": "httpx",
        "use requestify instead of httpx": "requestify",
    },
    "|line-length": {"line length is 120": "120", "The line length is 100 characters": "100 character"},
    "max_retries|setting": {"MAX_RETRIES = 5": "5", "`max_retries` is set to 3": "3"},
}
STATEMENTS = [(key, text, value) for key, group in TOLD.items() for text, value in group.items() if value]


@pytest.mark.parametrize(("key", "text", "value"), STATEMENTS, ids=[text for _, text, _ in STATEMENTS])
def test_a_statement_tells_a_value_of_a_slot(key: str, text: str, value: str) -> None:
    slot = slot_of(text)
    assert slot is not None
    assert (slot.key, slot.value, slot.negated) == (key, value, False)


# No two of these are about the same thing.
DIFFERENT = """
the API runs on port 8001
the worker runs on port 8002
the admin API runs on port 8003
the API runs on port 8001 in staging
the API metrics run on port 9100
postgres runs on port 5433
the test postgres runs on port 5434
redis runs on port 6379
use pytest for unit tests
use playwright for browser tests
use vitest for unit tests
use tabs in Go
use spaces in Python
use 2 spaces in YAML
use tabs
we use Python 3.12
we use Python 3.11 in CI
we use Node 20
the project requires Python 3.11
the timeout is 30 s
the API timeout is 10 s
the database timeout is 5 s
the connect timeout of the database is 2 s
the timeout in tests is 1 s
the staging host is a.example.com
the production host is b.example.com
the staging database host is c.example.com
the staging URL is https://a.example.com
default branch is main
the release branch is release/2.x
the docs branch is gh-pages
run tests with `make test`
run unit tests with `pytest tests/unit`
run the linter with `make lint`
build the docs with `make docs`
build the image with `docker build .`
start the server with `make run`
the config is at config/app.toml
the test config is at config/test.toml
the CLI lives in src/cli
unit tests live in tests/unit
flow tests live in tests/flow
logs are written to logs/app.log
my favourite editor is helix
my favourite colour theme is Nord
Bob's favourite editor is vim
deploys happen on Fridays
releases happen on Tuesdays
backups run nightly
the stand-up is at 9:30
answer in German
write commit messages in English
use S3 for storage
use S3 for backups
use Redis for caching
use uv instead of pip
use pnpm instead of npm
use ruff for linting
use ruff for formatting
use eslint for linting
use zsh as my shell
use httpx instead of requests
use httpx instead of urllib3
use podman instead of docker
use dataclasses in models
use enums in models
use feature flags
prefer rebase over merge
the batch size is 64 for training
the batch size is 8 for evaluation
the page size is 50 in the API
the owner of billing is Ann
the owner of search is Bob
the region of the bucket is eu-west-1
the region of the cluster is eu-central-1
the name of the bucket is acme-data
the name of the queue is acme-jobs
the log format is json
the export format is parquet
MAX_RETRIES = 5
MAX_WORKERS = 5
call me Sam
""".strip().splitlines()


def test_statements_of_different_things_never_share_a_slot() -> None:
    slots = [(text, slot_of(text)) for text in DIFFERENT]
    assert [text for text, slot in slots if slot is None] == []
    shared = [(a, b) for (a, one), (b, two) in combinations(slots, 2) if one and two and one.key == two.key]
    assert shared == []


@pytest.mark.parametrize(
    "text",
    [
        # nothing is told, or nothing that could have another value
        *("", "  ", "hello", "The office plant is a ficus", "Oaks are trees", "We fixed the login page"),
        *("The build is broken", "The API is slow", "The API is written in Go", "the port is already in use"),
        *("the timeout is too short", "the default branch is protected", "the config is broken", "the editor is slow"),
        # who is meant is not said
        *("Port is 5433", "the host is a.example.com", "it runs on port 5433", "the path is src/a.py"),
        *("it is at src/a.py", "Endpoint path: /api/login", "the file path is src/a.py"),
        *("the other API runs on port 8001", "the old port of postgres is 5433", "the file is config.toml"),
        # where a fault is
        *("the bug is in src/a.py", "the error is in config/app.toml", "the fix is in src/b.py"),
        # asked, supposed, past, limited
        *("does postgres run on port 5433?", "is the default branch main?", "maybe use pnpm instead of npm"),
        *("postgres was running on port 5433", "we used to use npm", "if you are on CI, use npm"),
        "use npm when offline",
        *("use tabs or spaces", "postgres might run on port 5433", "we could use pnpm", "use npm for now"),
        *("use port 5433 unless it is taken", "postgres will probably run on port 5433", "the timeout is about 30 s"),
        # more than one thing is said
        *("the API runs on port 8001 and the worker on port 8002", "use tabs in Go, spaces in Python"),
        *("Postgres runs on port 5433. Redis runs on port 6379.", "use pnpm and vite"),
        "Deploys happen on Fridays, blue-green",
        *("postgres runs on port 5433; redis on 6379", "we use Python 3.11 and 3.12", "we also use Redis for storage"),
        *("postgres runs on port 5433\nredis runs on port 6379", "use both npm and pnpm", "tests live in tests/unit"),
        # people and shops have several days
        *("Ann is out on Fridays", "Ann is out on Mondays", "the shop is closed on Sundays", "Bob sings on Tuesdays"),
        # a denial of something else than a choice or a time
        *("postgres does not run on port 5433", "the default branch is not main", "tests never run with `make test`"),
        *("use pytest with xdist", "prefer small functions", "use the right tool for it", "use step 3"),
        "we use option 2",
        # for what sake something is used
        *("use type hints for clarity", "use short names for clarity", "Use fresh yeast for best results"),
        *("using pnpm", "Use them sparingly", "our business model is simple", "Set up the tag to fire on load"),
        *("Use a sauce that's not too thin", "use 3", "The themes are themes of the book"),
        "postgres runs on port 5433 " + "x" * MAX_CHARS,
    ],
)  # fmt: skip
def test_most_texts_have_no_slot(text: str) -> None:
    assert slot_of(text) is None


@pytest.mark.parametrize(
    ("denial", "statement"),
    [
        ("do not use npm", "use npm"),
        ("Don't use npm", "we use npm"),
        ("never use tabs", "use tabs"),
        ("We no longer use lodash", "use lodash"),
        ("avoid lodash", "we use lodash"),
        ("avoid using feature flags", "use feature flags"),
        ("stop using lodash", "use lodash"),
        ("never deploy on Fridays", "deploys happen on Fridays"),
        ("We don't use S3 for storage", "we use S3 for storage"),
    ],
)
def test_a_denial_contradicts_just_what_it_denies(denial: str, statement: str) -> None:
    no, yes = slot_of(denial), slot_of(statement)
    assert no is not None
    assert yes is not None
    assert no.negated
    assert no.contradicts(yes)
    assert yes.contradicts(no)
    assert not no.agrees(yes)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("do not use npm", "use pnpm"),
        ("do not use npm", "do not use yarn"),
        ("never deploy on Fridays", "deploys happen on Tuesdays"),
        ("use 4 spaces", "prefer spaces over tabs"),
        ("use pnpm", "We use pnpm, not npm"),
    ],
)
def test_what_can_hold_together_is_no_contradiction(one: str, other: str) -> None:
    first, second = slot_of(one), slot_of(other)
    assert first is not None
    assert second is not None
    assert first.key == second.key
    assert not first.contradicts(second)
    assert not second.contradicts(first)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("port of postgres", "postgres|port"),
        ("the Postgres port", "postgres|port"),
        ("postgres|port", "postgres|port"),
        ("timeout", "|timeout"),
        ("mood of the team", None),
        ("", None),
        ("postgres|", None),
    ],
)
def test_a_slot_can_be_named(name: str, key: str | None) -> None:
    assert slot_key(name) == key


def test_the_key_is_the_same_whatever_the_order_of_words() -> None:
    assert Slot("a b", "port", "1").key == "a b|port"
    keys = {
        slot_of(text).key  # type: ignore[union-attr]
        for text in ("the staging postgres port is 1234", "the port of postgres in staging is 1234")
    }
    assert keys == {"postgres staging|port"}


WORDS = st.sampled_from(
    "use pnpm npm port 5433 the of is on for in with `make test` not instead and postgres = : , . ; ? — set to 30 s "
    "default branch main never my editor deploy Fridays src/a.py https://a.b é 日本 prefer over tabs spaces".split()
)


@given(st.lists(WORDS, max_size=40).map(" ".join) | st.text(max_size=300))
def test_any_text_is_read_without_an_error(text: str) -> None:
    slot = slot_of(text)
    assert slot is None or (slot.attribute and slot.value and slot == slot_of(text))


@pytest.mark.timed
@pytest.mark.parametrize(
    "text",
    [
        "use " * 60,
        "a is " * 48,
        "run to use with " * 15,
        "the of in for " * 17,
        "`" * 240,
        "port 1 is for " * 17,
        "x" * 240,
    ],
    ids=lambda text: text[:12],
)
def test_no_text_takes_long(text: str) -> None:
    started = time.process_time()
    slot_of.__wrapped__(text[:MAX_CHARS])
    assert time.process_time() - started < 0.25
