"""A tool call in our words: what kind of work, on what, and whether it runs tests, whatever the agent calls it."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.shell import commands
from recollect.capture.toolcall import MAX_FILES, action_of, describe, is_test, result_origin
from recollect.model import ACTIONS

# The names agents really use, by what is done.
TOOLS = {
    "shell": "Bash bash exec_command shell shell_command local_shell_call write_stdin run_terminal_cmd run_command "
    "run_terminal_command run_shell_command Execute Shell BashOutput KillShell monitor container.exec exec",
    "edit": "Edit MultiEdit Write NotebookEdit apply_patch search_replace write replace write_file str_replace_editor "
    "str_replace_based_edit_tool create_file edit_file delete_file StrReplaceFile WriteFile",
    "read": "Read read_file ReadFile view view_image read_many_files NotebookRead list_mcp_resources read",
    "search": "Grep Glob LS grep list_dir list_directory search_file_content codebase_search LSP ToolSearch",
    "fetch": "WebFetch WebSearch web_search web_fetch google_web_search web_search_call FetchURL SearchWeb x_search",
    "task": "Task Agent Skill spawn_agent wait_agent send_input close_agent TaskOutput TaskStop Workflow",
    "plan": "TodoWrite todo_write update_plan TaskCreate TaskUpdate TaskList ExitPlanMode EnterPlanMode SetTodoList",
    "ask": "AskUserQuestion ask_user request_user_input question AskUser",
    "mcp": "mcp__linear-server__get_issue mcp__example__tool voice__list_voices mcp_github_search",
    "other": "ScheduleWakeup scheduler_list image_generation tool_suggest unknown",
}


@pytest.mark.parametrize(
    ("name", "action"), [(name, action) for action, names in TOOLS.items() for name in names.split()]
)
def test_what_a_tool_does_by_its_name(name: str, action: str) -> None:
    assert action_of(name) == action
    assert action in ACTIONS


@pytest.mark.parametrize(
    ("name", "given_input", "text", "main"),
    [
        ("Bash", {"command": "ls -l", "description": "list"}, "ls -l", "command"),
        ("shell", {"command": ["bash", "-lc", "make all"], "workdir": "/w"}, "make all", "command"),
        ("shell", {"command": ["git", "log", "-1"]}, "git log -1", "command"),
        ("exec_command", '{"cmd":"rg x","yield_time_ms":1000}', "rg x", "cmd"),
        ("write_stdin", {"session_id": 3, "chars": "y"}, "y", "chars"),
        ("Read", {"file_path": "/a/b.py", "limit": 20}, "/a/b.py", "file_path"),
        ("Edit", {"file_path": "/a.py", "old_string": "x", "new_string": "y"}, "/a.py", "file_path"),
        ("Grep", {"pattern": "def x", "path": "src"}, "def x", "pattern"),
        ("WebFetch", {"url": "https://x.test", "prompt": "what"}, "https://x.test", "url"),
        ("Task", {"description": "d", "prompt": "look"}, "look", "prompt"),
        ("Skill", {"skill": "review"}, "review", "skill"),
        ("apply_patch", "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch", None, "input"),
        ("mcp__x__y", {"query": "q"}, "q", "query"),
        ("mcp__x__y", {"a": 1, "b": [2]}, '{"a":1,"b":[2]}', None),
        ("TodoWrite", {"todos": [{"content": "x"}]}, '{"todos":[{"content":"x"}]}', None),
        ("Bash", {}, "", None),
        ("Bash", None, "", None),
        ("Bash", {"command": 7, "timeout": 9}, "", None),
        ("Bash", ["ls"], '["ls"]', None),
        ("Bash", "{broken", "{broken", "input"),
        ("Bash", "", "", None),
    ],
)
def test_the_telling_argument_is_the_text(name: str, given_input: Any, text: str | None, main: str | None) -> None:
    _, told, meta = describe(name, given_input, "c1")
    assert told == (given_input if text is None else text)
    assert meta.get("main") == main
    assert (meta["tool"], meta["call"]) == (name, "c1")
    assert main not in meta.get("input", {})


def test_the_other_arguments_stand_beside_the_text() -> None:
    _, _, meta = describe("Bash", {"command": "ls", "timeout": 5, "description": "list"})
    assert meta["input"] == {"timeout": 5, "description": "list"}
    assert "call" not in meta


PATCH = """*** Begin Patch
*** Update File: src/a b.py
*** Move to: src/c.py
@@
-*** Add File: not/this.py
+x
*** Add File: new.py
+y
*** Delete File: old.py
*** End Patch"""


@pytest.mark.parametrize(
    ("name", "given_input", "files"),
    [
        ("Read", {"file_path": "/a.py"}, ["/a.py"]),
        ("read_many_files", {"paths": ["a.py", "b.py", 7]}, ["a.py", "b.py"]),
        ("Edit", {"file_path": " /a.py ", "path": "/a.py"}, ["/a.py"]),
        ("apply_patch", PATCH, ["src/a b.py", "src/c.py", "new.py", "old.py"]),
        ("apply_patch", {"input": PATCH}, ["src/a b.py", "src/c.py", "new.py", "old.py"]),
        ("str_replace_editor", {"command": "create", "path": "/x"}, ["/x"]),
        ("Bash", {"command": "cat a.py", "path": "/x"}, None),
        ("Grep", {"pattern": "x", "path": "/x"}, None),
        ("Write", {"file_path": ["/a"]}, None),
        ("Read", {"file_path": "  "}, None),
    ],
)
def test_which_files_a_call_touches(name: str, given_input: Any, files: list[str] | None) -> None:
    assert describe(name, given_input)[2].get("files") == files


def test_of_very_many_files_the_first_are_named() -> None:
    assert len(describe("read_many_files", {"paths": [f"{n}.py" for n in range(500)]})[2]["files"]) == MAX_FILES


@pytest.mark.parametrize(
    ("name", "given_input", "kind"),
    [
        ("Write", {"file_path": "/a"}, "edit"),
        ("apply_patch", "*** Begin Patch", "edit"),
        ("str_replace_based_edit_tool", {"command": "str_replace", "path": "/a"}, "edit"),
        ("str_replace_based_edit_tool", {"command": "view", "path": "/a"}, "tool_call"),
        ("Bash", {"command": "pytest"}, "test_run"),
        ("Bash", {"command": "ls"}, "tool_call"),
        ("Read", {"file_path": "pytest"}, "tool_call"),
        ("Grep", {"pattern": "pytest"}, "tool_call"),
    ],
)
def test_the_kind_of_a_call(name: str, given_input: Any, kind: str) -> None:
    assert describe(name, given_input)[0] == kind


def test_the_web_speaks_in_what_was_fetched() -> None:
    assert [result_origin(action) for action in ("fetch", "shell", "", None)] == ["web", "tool", "tool", "tool"]


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


@pytest.mark.parametrize("name", ["mcp__x__y", "Bash", "AskUserQuestion", "apply_patch"])
@pytest.mark.parametrize(
    "given_input",
    [
        nested(150),
        nested(480),
        {"a": "\ud800", "\udfff": 1},
        {"n": 10**40, "m": 1},
        {"a": float("nan"), "b": 1},
        "\ud800",
    ],
    ids=["deep", "deeper", "half characters", "a huge number", "no number", "half a character"],
)
def test_arguments_nobody_can_write_down_do_no_harm(name: str, given_input: Any) -> None:
    kind, text, meta = describe(name, given_input, "c")
    assert isinstance(text, str)
    assert meta["tool"] == name
    assert kind in ("tool_call", "edit")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
)
fields = st.sampled_from("command cmd input file_path path paths pattern url prompt questions plan files".split())


@given(
    st.sampled_from([name for names in TOOLS.values() for name in names.split()]),
    json_values | st.dictionaries(fields, json_values),
)
def test_any_arguments_do_no_harm(name: str, given_input: Any) -> None:
    _, text, meta = describe(name, given_input)
    assert isinstance(text, str)
    assert meta["action"] in ACTIONS
    assert all(isinstance(file, str) and file for file in meta.get("files", []))


RUNS_TESTS = """
pytest
pytest -q tests/unit -k "a or b"
.venv/bin/python -m pytest -x
python3 -W error -m unittest discover
python -m coverage run -m pytest
uv run pytest
uv run --with hypothesis pytest -q
poetry run -- pytest
tox -e py312
FOO=1 BAR="a b" pytest
env GOCACHE=/x/y go test ./...
GOCACHE=$(pwd)/.cache GOOS=linux go test ./internal/auth
cd /srv/app && go test -race ./... 2>&1 | tail -20
go build ./... && echo OK && go test ./... -count=1
go vet ./...; go test ./...
for os in js plan9; do echo "$os"; GOOS=$os go test ./x; done
if go test ./...; then echo ok; fi
out=$(go test ./... 2>&1)
(cd sub && cargo test)
cargo +nightly nextest run
npm test
npm t
npm run test:unit -- --watch=false
pnpm --filter web test
yarn workspace web test
bun test
npx jest src/a.test.ts
npx vitest run
node --test
node node_modules/.bin/mocha
mise run test
mise run lint && mise run test:ci 2>&1 | tail
mise exec -- go test ./...
make -C src test
make check
just unit-test
task test
./gradlew :app:testDebugUnitTest
mvn -q -pl core clean test
mvn verify
dotnet test
swift test
mix test test/a_test.exs
bundle exec rspec spec/models
bin/rails test
php artisan test
vendor/bin/phpunit
python manage.py test app
ctest --output-on-failure
bazel test //...
zig build test
timeout 60 pytest
sudo -E timeout -k 5 60s pytest
time pytest
nohup pytest > log 2>&1 &
bash -lc "cd /srv && pytest -q"
ssh build 'cd app && go test ./...'
docker compose exec -T app pytest
docker run --rm image pytest -q
./scripts/test-attribution-e2e.sh --keep
bash scripts/run_tests.sh
chmod +x /srv/live-test.sh && /srv/live-test.sh
cat > a_test.go <<'EOF'\\npackage a\\nfunc (t T) x() {}\\nEOF\\ngo test ./a
git stash; pytest; git stash pop
cd /srv/app \\ngo test ./...
playwright test
"""
RUNS_NONE = """
ls tests
cat tests/test_a.py
grep -rn "go test" docs
rg -n "progress\\(|go test -race|Benchmark" internal
git commit -m "Run pytest before; go test ./..."
git commit -q -F - <<'EOF'\\nFix\\n\\ngo test ./... passes\\nEOF
gh pr create --title x --body "$(cat <<'EOF'\\n## Test plan\\n- `go test ./...`\\nEOF\\n)"
echo "run: pytest"
echo done # pytest
pip install pytest
uv add --dev pytest
poetry run black tests
uv run ruff check tests
npm install jest
npm run build
npm install test
go test -c ./internal/auth -o auth.test
go build -o /tmp/git-sync-test ./cmd
/tmp/git-sync-test --help
go vet ./...
go run ./cmd/test
pytest --version
pytest --collect-only
cargo test --no-run
make latest
make clean-test
make build
test -f a && echo yes
/usr/bin/test -d x
[ -f pytest.ini ]
MIX_ENV=test mix ecto.migrate
cd /Users/x/test/gemini_test && git status
python -c "import pytest; print(pytest.__version__)"
python script.py --test
bash -n scripts/test.sh
vim tests/test_a.py
which pytest
man go-test
git checkout -b test
docker build -t test .
kubectl get pods -n test
sed -i 's/go test/x/' Makefile
pytest_cache=1 ls
mypytest
unittest.py
"""


def table(text: str) -> list[str]:
    return [line.replace("\\n", "\n") for line in text.strip().splitlines()]


@pytest.mark.parametrize("command", table(RUNS_TESTS))
def test_a_command_that_runs_tests(command: str) -> None:
    assert is_test(command)


@pytest.mark.parametrize("command", table(RUNS_NONE))
def test_a_command_that_only_speaks_of_tests(command: str) -> None:
    assert not is_test(command)


def test_there_are_enough_of_both() -> None:
    assert len(table(RUNS_TESTS)) >= 60
    assert len(table(RUNS_NONE)) >= 40


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a b | c; d && e", [["a", "b"], ["c"], ["d"], ["e"]]),
        ('a \'b c\' "d \\" e" f\\ g', [["a", "b c", 'd \\" e', "f g"]]),
        ("a > out 2>&1 < in b", [["a", "2", "b"]]),
        ("a $(b c)x d", [["a", "$"], ["b", "c"], ["d"]]),
        ("a \\\n b # c\nd", [["a", "b"], ["d"]]),
        ("A=1 sudo -E env B=2 a", [["a"]]),
        ("a <<EOF && b\nc; d\nEOF\ne", [["a"], ["b"], ["e"]]),
        ("echo $((1 << x))\nb", [["echo", "$"], ["1"], ["b"]]),
        ("cat <<< word\nb", [["cat"], ["b"]]),
        ("a 'not closed; b", [["a", "not closed; b"]]),
        ("", []),
        (" ;; && \n", []),
    ],
)
def test_the_simple_commands_of_a_line(text: str, wanted: list[list[str]]) -> None:
    assert list(commands(text)) == wanted


HOSTILE = [
    *("(", "\n", "\\", " ", "'", '"', "a=", "sudo ", "uv run ", "<<a ", "<<a\n", "bash -c '", "$(", ")", "`", "test-"),
    *("x/test_", "make test- ", "python -m ", "docker run ", "-", "ssh a b ", "eval ", "#", "env -x ", "if ", "\\\n"),
    *("bash -c bash -c ", "é", "\u2028", "go test -c;", "recollect ", "a/", "[", "npm run ", "python a.b "),
]


@pytest.mark.timed
@pytest.mark.parametrize("piece", HOSTILE)
@pytest.mark.parametrize("end", ["", " x", "\n", "'", "pytest"])
def test_hostile_commands_take_no_time(piece: str, end: str) -> None:
    """Whatever stands in a command, looking at it is linear: a transcript must not be able to stop a sweep."""
    command = piece * (100_000 // len(piece)) + end
    took = []
    for _ in range(3):
        started = time.perf_counter()
        is_test(command)
        took.append(time.perf_counter() - started)
    assert min(took) < 0.05


@given(st.text("ab '\"\\;&|()<>`$#\n=-/.", max_size=200))
def test_any_command_is_looked_at_without_a_fault(command: str) -> None:
    for words in commands(command):
        assert words
        assert all(isinstance(word, str) for word in words)
    orjson.dumps(is_test(command))
