"""What the hook says back to the agent: prepared context when a session starts, the few memories that fit a prompt.

In: the record that was just put on the disk. Out: one JSON object for the hosts and events that take one, or nothing;
nothing is also the answer to everything that is missing, damaged, not ours, or too late. No database and no JSON of
ours is read: a start's answer lies ready as bytes, a prompt's comes from the warm process or from a prepared index.
All that is computed for a start is whether anybody reads what hooks leave (`unread`). What was said is noted in a line
of the file `shown`, for `pipeline/showing.py`, and kept word for word in `told/`, for `pipeline/told.py`.
Loaded by the hook after the record is safe, so it imports only what is small.
"""

# ruff: noqa: PTH117, PTH120
# That is: no pathlib, for it takes longer to load than all of this takes to run.

from __future__ import annotations

import os
import stat
import time

from recollect import hook

TYPE_CHECKING = False
if TYPE_CHECKING:
    from _socket import socket
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

START, PROMPT = "start", "prompt"
# What each host calls the two events that take an answer. Others take none, or nothing that adds to the context.
EVENTS = {
    "claude": {"SessionStart": START, "UserPromptSubmit": PROMPT},
    "codex": {"SessionStart": START, "UserPromptSubmit": PROMPT},
    "gemini": {"SessionStart": START, "BeforeAgent": PROMPT},
    "cursor": {"sessionStart": START},
    "opencode": {"SessionStart": START, "UserPromptSubmit": PROMPT},
}
PREPARED, MODE, SAID, SHOWN, TOLD = "prepared", "mode", "said", "shown", "told"
NUDGE = (
    "Earlier sessions are remembered: when history would help, ask the memory-recall subagent, or search with the "
    "memory_search tool. [recollect:6073f97d8bd4]"
)
SUGGESTED = "[last time here:"  # how an entry that is a suggestion begins
MAX_BODY = 2**20
MAX_START = 64 * 1024
MAX_TEXT = 4_000  # characters of what a prompt is answered with
MAX_SAID = 64 * 1024
MAX_SHOWN = 2**20  # of lines that nobody read yet; then no more are added

_MAX_PATH = 4096
_LEVELS = 64  # directories above the working directory that are looked up
_ASK_SECONDS = 0.025
_RESETS = ("clear", "compact")  # reasons to start after which the agent knows nothing of what it was told
_SAID_BEGIN, _SAID_END = "<hook_context>", "</hook_context>"
_BLOCK, _NAME_CHARS = b"[recollect:", 12  # before the name of a block, and how long that is
_OURS = "<recollect-task"  # how the prompts that we ourselves give to models begin


def reply(data_dir: str, agent: str, body: bytes, env: Mapping[str, str], until: float) -> bytes:
    """What to print for this record, if it can be had by then (`time.monotonic`)."""
    try:
        return _reply(data_dir, agent, body, env, until)
    except (OSError, ValueError, RecursionError, MemoryError):
        return b""


def members(body: bytes) -> dict[str, Any]:
    """The members of the JSON object on stdin, as `json.loads` sees them; none when it is not one."""
    text = body.decode("utf-8", "replace").removeprefix("\ufeff").strip(" \t\n\r")
    try:
        found, end = _scanner()(text, 0)
    except (StopIteration, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) and end == len(text) else {}


def is_in(start: bytes, entry: str) -> bool:
    """Whether the answer to a session's start has this entry already: it quotes the same line."""
    line = next((line for line in entry.split("\n") if line.startswith("> ")), "")
    return bool(line) and _escaped(line) in start


def ancestors(directory: object) -> Iterator[str]:
    """A directory and those above it up to the root; nothing when it is no absolute path."""
    if not isinstance(directory, str) or not 0 < len(directory) <= _MAX_PATH or not os.path.isabs(directory):
        return
    place = os.path.normpath(directory)
    for _ in range(_LEVELS):
        yield place
        above = os.path.dirname(place)
        if above == place:
            return
        place = above


def dir_name(directory: str) -> str:
    """What the files prepared for a directory are called."""
    from recollect.quickhash import sha256

    return str(sha256(os.fsencode(directory)).hexdigest()[:32])


def _reply(data_dir: str, agent: str, body: bytes, env: Mapping[str, str], until: float) -> bytes:
    events = EVENTS.get(agent, {})
    if len(body) > MAX_BODY or not any(name.encode() in body for name in events):
        return b""
    given = members(body)
    # Grok calls the hooks that it finds in Claude Code's settings too, and would not read the answer.
    if "hookEventName" in given or "sessionId" in given or "GROK_SESSION_ID" in env:
        return b""
    name = given.get("hook_event_name")
    event = events.get(name) if isinstance(name, str) else None
    if event is None:
        return b""
    with _Folder(data_dir) as data, _Told(data.handle) as texts:
        session = given.get("session_id")
        said = _Said(data.handle, session if isinstance(session, str) else "")
        if event == START:
            answer = _started(data, agent, given, said)
        else:
            with _Folder(PREPARED, data) as prepared:
                text = _recalled(_Asked(data_dir, data, prepared, agent, given), said, until)
            answer = _envelope(str(name), text) if text else b""
        if answer and (event == START or said.told):
            texts.keep(_note(data.handle, event, agent, given, answer, said.told), answer)
    return answer


class _Asked:
    """A prompt's event: where to look, who asks, and what stdin said."""

    def __init__(self, data_dir: str, data: _Folder, prepared: _Folder, agent: str, given: Mapping[str, Any]) -> None:
        self.data_dir, self.data, self.prepared, self.agent, self.given = data_dir, data, prepared, agent, given


def _started(data: _Folder, agent: str, given: Mapping[str, Any], said: _Said) -> bytes:
    """What lies ready, and one line when nobody reads what hooks leave; nothing when starts are switched off."""
    from recollect import unread

    try:
        prepared = _Folder(PREPARED, data)
    except FileNotFoundError:
        return unread.told(data.handle, agent, b"")  # nobody ever read anything
    with prepared:
        found = _start(prepared, agent, given)
    name = said.name(found or b"")
    said.add([0, name] if given.get("source") in _RESETS else [name])
    return b"" if found is None else unread.told(data.handle, agent, found)


def _start(prepared: _Folder, agent: str, given: Mapping[str, Any]) -> bytes | None:
    """The bytes that lie ready for the nearest directory; None when there is no such file."""
    roots = given.get("workspace_roots")
    first = roots[0] if isinstance(roots, list) and roots else None
    try:
        with _Folder("start", prepared) as folder:
            found = _nearest(folder, given.get("cwd") or first, agent, MAX_START)
    except OSError:
        return None
    return found if found[:1] == b"{" and found.rstrip(b"\n")[-1:] == b"}" else b""


def _recalled(asked: _Asked, said: _Said, until: float) -> str:
    """What is remembered that fits the prompt, or the nudge, as the settings want it."""
    mode = _content(asked.prepared.handle, MODE, 64).strip()
    prompt = _typed(asked.given.get("prompt"))
    if mode not in (b"recall", b"nudge") or not _worth_asking(prompt):
        return ""
    if mode == b"nudge":
        return NUDGE
    from recollect import promptindex

    if len(promptindex.asked_for(prompt)) < promptindex.MIN_WORDS or time.monotonic() >= until:
        return ""
    told = said.names()
    start = _start(asked.prepared, asked.agent, asked.given) or b""
    if said.name(start) not in told:
        start = b""  # this session was told something else when it began
    by = min(until, time.monotonic() + _ASK_SECONDS)
    line = _ask_warm(asked, prompt, told, start, by)
    found = _from_index(asked, prompt, told, start)  # while the warm process thinks
    text, names = found if line is None else _from_warm(line, by) or found
    if not text or len(text) > MAX_TEXT or time.monotonic() >= until:
        return ""
    said.add(names)
    return text


def _from_index(asked: _Asked, prompt: str, told: list[int], start: bytes) -> tuple[str, list[int]]:
    """What the prepared index has, framed, and the names of what is in it."""
    from recollect import promptindex

    try:
        with _Folder("prompt", asked.prepared) as folder:
            index = _nearest(folder, asked.given.get("cwd"), "index", promptindex.MAX_BYTES)
    except OSError:
        return "", []
    found = promptindex.search(index, prompt, few=2 * promptindex.FEW, without=frozenset(told))
    fresh = [(name, text) for name, text in found if not is_in(start, text)]
    return promptindex.framed(index, one_suggestion(fresh)[: promptindex.FEW])


def one_suggestion(entries: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """These entries with the first suggestion among them, and none of the others."""
    first = next((name for name, text in entries if text.startswith(SUGGESTED)), None)
    return [(name, text) for name, text in entries if name == first or not text.startswith(SUGGESTED)]


def _ask_warm(asked: _Asked, prompt: str, told: list[int], start: bytes, until: float) -> socket | None:
    """Put the question to the warm process; None when there is none."""
    from recollect import warmwire

    where = warmwire.address(asked.data_dir, asked.data.handle)
    if where is None:
        return None
    fields = {"agent": asked.agent, "prompt": prompt, "cwd": asked.given.get("cwd")}
    known = {name: os.fsencode(value) for name, value in fields.items() if isinstance(value, str)}
    try:
        request = warmwire.pack({**known, "said": warmwire.packed_names(told), "start": start})
        return warmwire.begin(where, request, until)
    except (OSError, ValueError):
        return None


def _from_warm(line: socket, until: float) -> tuple[str, list[int]] | None:
    """What the warm process says, and the names of what is in it; None when it is no help."""
    from recollect import warmwire

    try:
        answer = warmwire.answer(line, until)
        if answer.get("state") == warmwire.NOTHING:
            return "", []
        if answer.get("state") != warmwire.SHOW:
            return None
        return answer.get("text", b"").decode(), warmwire.names(answer.get("told", b""))
    except (OSError, ValueError):
        return None


def _typed(prompt: object) -> str:
    """What the person wrote: Gemini CLI puts before the first prompt what hooks said at the start."""
    if not isinstance(prompt, str):
        return ""
    return prompt.partition(_SAID_END)[2] if prompt.startswith(_SAID_BEGIN) else prompt


def _worth_asking(prompt: str) -> bool:
    """Whether this is a request in words: not a command, nothing huge, none of our own."""
    said = prompt.strip()
    first = said.split(None, 1)[0] if said else "/"
    command = first.startswith("/") and "/" not in first[1:]
    several = said.count(" ") >= 2 or not said.isascii()
    return several and len(prompt) <= 20_000 and not command and not said.startswith(_OURS)


class _Folder:
    """A directory of ours, open; OSError when it is missing, a link, or writable by others."""

    def __init__(self, name: str, parent: _Folder | None = None) -> None:
        self.handle: int = hook.open_private(name, None if parent is None else parent.handle, make=False)

    def __enter__(self) -> _Folder:
        return self

    def __exit__(self, *error: object) -> None:
        os.close(self.handle)


class _Said:
    """What sessions were told so far, so that no prompt brings the same again: pairs of 8 bytes, session and entry.

    An entry of zeros says that the session was cleared. The file starts anew when it is full.
    """

    def __init__(self, folder: int, session: str) -> None:
        self._folder = folder
        self._session = self._hash(session.encode("utf-8", "replace"))
        self.told: list[int] = []  # now

    def names(self) -> list[int]:
        """The names of the entries that this session was told since it was cleared."""
        try:
            content = _content(self._folder, SAID, MAX_SAID)
        except OSError:
            return []
        found: list[int] = []
        for at in range(0, len(content) - 15, 16):
            if content[at : at + 8] == self._session:
                name = int.from_bytes(content[at + 8 : at + 16], "big")
                found = [*found, name] if name else []
        return found

    def name(self, start: bytes) -> int:
        """The name of what a session is told when it starts."""
        return int.from_bytes(self._hash(start), "big")

    def _hash(self, content: bytes) -> bytes:
        from recollect.quickhash import blake2b

        return blake2b(content, digest_size=8).digest()

    def add(self, names: list[int]) -> None:
        """The session was told these."""
        self.told = names
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        try:
            handle = os.open(SAID, flags, 0o600, dir_fd=self._folder)
        except OSError:
            return  # then it may be said again
        try:
            os.write(handle, b"".join(self._session + name.to_bytes(8, "big") for name in names))
            if os.fstat(handle).st_size > MAX_SAID - 1024:
                os.unlink(SAID, dir_fd=self._folder)
        finally:
            os.close(handle)


class _Told:
    """Keeps what was printed, each block once under its name.

    The directory is opened before any text is read. Who forgets something takes the texts away first, then it: whoever
    opened it before that can put nothing into it any more, and whoever opens it later reads nothing that was forgotten.
    """

    def __init__(self, data: int) -> None:
        try:
            self._handle = hook.open_private(TOLD, data)
        except OSError:
            self._handle = -1  # then nobody can read it later

    def __enter__(self) -> _Told:
        return self

    def __exit__(self, *error: object) -> None:
        if self._handle >= 0:
            os.close(self._handle)

    def keep(self, block: str, answer: bytes) -> None:
        """Keep the answer that holds this block, unless it is there."""
        if self._handle < 0 or len(block) != _NAME_CHARS or not (block.isascii() and block.isalnum()):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            handle = os.open(block, flags, 0o600, dir_fd=self._handle)
        except OSError:
            return
        try:
            os.write(handle, answer)
        except OSError:
            pass
        finally:
            os.close(handle)


def _note(folder: int, event: str, agent: str, given: Mapping[str, Any], answer: bytes, names: list[int]) -> str:
    """One line that tells what was put before whom and when: the name of the block, and on a prompt of each entry.

    It begins with a line end too, so that one that was cut off costs nothing but itself. Returns the block's name, or
    nothing when it could not be noted.
    """
    flavor = "cursor" if "cursor_version" in given or "conversation_id" in given else agent
    session = given.get("conversation_id") or given.get("session_id")
    at = answer.find(_BLOCK) + len(_BLOCK)
    block = answer[at : at + _NAME_CHARS].decode("ascii", "replace")
    if not isinstance(session, str) or len(session) > 255 or at < len(_BLOCK):
        return ""
    entries = ",".join([f"{name:016x}" for name in names]) if event == PROMPT else ""
    line = f"\n{time.time_ns()} {event} {flavor} {block} {session.encode('utf-8', 'replace').hex()} {entries}\n"
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        handle = os.open(SHOWN, flags, 0o600, dir_fd=folder)
    except OSError:
        return ""  # then nobody can tell where it was shown
    try:
        if os.fstat(handle).st_size >= MAX_SHOWN:
            return ""
        os.write(handle, line.encode())
    except OSError:
        return ""
    finally:
        os.close(handle)
    return block


def _nearest(folder: _Folder, directory: object, ending: str, limit: int) -> bytes:
    """The file that was prepared for the directory or the nearest above it, else the one for everywhere."""
    for place in ancestors(directory):
        try:
            return _content(folder.handle, f"{dir_name(place)}.{ending}", limit)
        except FileNotFoundError:
            continue
    return _content(folder.handle, f"user.{ending}", limit)


def _content(folder: int, name: str, limit: int) -> bytes:
    """All of a plain file that is ours alone and no larger than this; otherwise OSError."""
    handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
            raise PermissionError("not ours alone")
        if info.st_size > limit:
            raise PermissionError("too large")
        return os.read(handle, limit)
    finally:
        os.close(handle)


def _envelope(event: str, text: str) -> bytes:
    """The one form in which all of these hosts take context for a prompt."""
    said = f'{{"hookSpecificOutput":{{"hookEventName":"{event}","additionalContext":{_quoted(text)}}}}}\n'
    return said.encode()


def _quoted(text: str) -> str:
    try:
        from _json import encode_basestring_ascii as quoted
    except ImportError:
        from json.encoder import encode_basestring_ascii as quoted
    return str(quoted(text))


def _escaped(text: str) -> bytes:
    """A text as it stands between quotes in a JSON file."""
    try:
        from _json import encode_basestring as quoted
    except ImportError:
        from json.encoder import encode_basestring as quoted
    return str(quoted(text))[1:-1].encode("utf-8", "replace")


class _Rules:
    """How the scanner of `json` reads when nobody says otherwise."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float


def _scanner() -> Callable[[str, int], tuple[Any, int]]:
    """What `json.loads` itself reads with, without the ten milliseconds that loading `json` takes."""
    try:
        from _json import make_scanner

        return make_scanner(_Rules())  # type: ignore[arg-type]
    except (ImportError, AttributeError, TypeError):
        from json import JSONDecoder

        return JSONDecoder().raw_decode
