"""What the redactor takes out, what it leaves, and that it can be run again on its own output."""

from __future__ import annotations

import base64
import hashlib
import os
import random
import re
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.test_redact_recall import CONTEXTS, PUBLIC, Rng

from recollect.capture import redact
from recollect.capture.redact import Redactor

KEY = b"key of the test"
MARK = re.compile(r"\[REDACTED:([a-z-]+):([0-9a-f]{8})\]")
PASS = "hunter2" + "Xy!"
GITHUB = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def clean(text: str, *, pii: bool = False) -> str:
    return Redactor(KEY, pii=pii).redact(text)[0]


def hidden(text: str) -> str:
    """The redacted text with every mark as `#type#`."""
    return MARK.sub(r"#\1#", clean(text))


def test_a_clean_text_is_returned_as_the_same_object() -> None:
    for text in ("", "short", "nothing to see in this sentence", "naïve café → ünïcode", "the token is missing"):
        kept, counts = Redactor(KEY).redact(text)
        assert kept is text
        assert counts == {}


def test_a_mark_says_the_type_and_a_keyed_fingerprint() -> None:
    text, counts = Redactor(KEY).redact(f"use {GITHUB} now")
    digest = hashlib.blake2b(GITHUB.encode(), key=KEY, person=b"redact").hexdigest()[:8]
    assert text == f"use [REDACTED:github:{digest}] now"
    assert counts == {"github": 1}
    assert Redactor(b"another key").redact(GITHUB)[0] != clean(GITHUB)


def test_the_same_secret_has_the_same_fingerprint_wherever_it_stands() -> None:
    texts = (f'export DB_PASSWORD="{PASS}"', f"the password is {PASS}", f'{{\\"password\\": \\"{PASS}\\"}}')
    assert len({MARK.findall(clean(text))[0] for text in texts}) == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f'export DB_PASSWORD="{PASS}"', 'export DB_PASSWORD="#password#"'),
        (f"password={PASS}&user=ann", "password=#password#&user=ann"),
        (f"the password is {PASS}", "the password is #password#"),
        (f"(password: {PASS}).", "(password: #password#)."),
        (f"Server=db;Password={PASS};Encrypt=True", "Server=db;Password=#password#;Encrypt=True"),
        (f"postgres://app:{PASS}@db:5432/x", "postgres://app:#url-password#@db:5432/x"),
        (f"https://hub.dev/{GITHUB}/x", "https://hub.dev/#github#/x"),
        (f"Authorization: Bearer {GITHUB}", "Authorization: Bearer #github#"),
        (f"first\\n{GITHUB}\\nlast", "first\\n#github#\\nlast"),
        (f"\x1b[32m{GITHUB}\x1b[0m", "\x1b[32m#github#\x1b[0m"),
        (f"a{'=' * 3} {GITHUB} {GITHUB}", "a=== #github# #github#"),
    ],
)
def test_only_the_secret_is_replaced_not_what_stands_around_it(text: str, left: str) -> None:  # T06
    assert hidden(text) == left


def test_a_private_key_goes_as_a_whole_even_when_it_is_cut_off() -> None:  # T06
    body = "\n".join("".join(Rng(7).choices(string.ascii_letters, k=64)) for _ in range(4))
    begin, end = ("-----%s RSA PRIVATE " % word + "KEY-----" for word in ("BEGIN", "END"))  # noqa: UP031
    assert hidden(f"see\n{begin}\n{body}\n{end}\ndone") == "see\n#private-key#\ndone"
    assert hidden(f"see\n{begin}\n{body}") == "see\n#private-key#"
    assert hidden(f"{begin}\n...\n{end}") == f"{begin}\n...\n{end}"


def test_what_is_invisible_or_only_looks_different_does_not_hide_a_secret() -> None:  # T06
    plain = MARK.findall(clean(GITHUB))
    for sign in "\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u00ad":
        assert hidden(f"– {sign.join(GITHUB)} –") == "– #github# –"
        assert MARK.findall(clean(f"{sign.join(GITHUB)} –")) == plain
    wide = "".join(chr(ord(char) + 0xFEE0) for char in GITHUB)
    assert hidden(f"日本 {wide} 日本") == "日本 #github# 日本"
    assert MARK.findall(clean(wide)) == plain
    bold = "".join(chr(0x1D400 + ord(char) - 65) if char.isupper() else char for char in GITHUB)
    assert hidden(f"✓ {bold} ✓") == "✓ #github# ✓"
    untouched = "ｆｕｌｌ ｗｉｄｔｈ\u200b and a family 👨‍👩‍👧"
    assert clean(untouched) is untouched


# -- what is not a secret ----------------------------------------------------------------------------------------------

BENIGN = r"""
password = os.environ["DB_PASSWORD"]
password: str
password: string = ""
password: Optional[str] = None
"password": "string"
"password": {"type": "string", "minLength": 8}
password = getpass.getpass("Password: ")
password=self.password, token=self._token
token = get_token()
token = await client.fetch_token(user_id, scope="read")
const token = localStorage.getItem("token");
api_key: <your-api-key>
password: "changeme123"
password = "xxxxxxxx1A"
API_KEY=<your-api-key>
API_KEY=your_api_key_here
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxx
SECRET_KEY=${SECRET_KEY}
SECRET=${{ secrets.DEPLOY_SECRET_1 }}
Authorization: Bearer $TOKEN
Authorization: Bearer <token>
postgres://user:password@localhost:5432/db
postgres://${USER}:${PASS}@${HOST}/db
redis://:***@cache:6379
docker pull alpine:3.18@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
The password is stored as a bcrypt hash and the token is refreshed every 15 minutes.
Your password must be at least 8 characters long, with one digit.
--- PASS: TestAuth_Token2Refresh (0.01s)
PASS: tests/unit/test_redact.py::test_1 [12 passed in 0.41s]
max_tokens=4096, input_tokens: 118230, cache_read_input_tokens=90210
if token == "]": depth -= 1
primary_key = "user_id"; foreign_key = "orders.user_id"; sort_key: created_at_2024
cacheKey: "d41d8cd98f00b204e9800998ecf8427e"
key: "workspace.editor.fontSize.v2"
ssh-ed25519 is the type of the key; passphrase: none
toolu_01AbCdEfGhJkLmNpQrStUvWx call_AbCdEf0123456789GhIjKlMn req_011CRabcdEFGH1234567890
for key, value in sorted(headers.items()): print(f"{key}: {value}")
"""


def hashes() -> str:
    """Sums, identifiers, images and lock files: random, and no secret."""
    rng, lines = Rng("hashes"), []
    for _ in range(400):
        raw = rng.randbytes(64)
        lines += [
            f"commit {raw[:20].hex()}",
            f"{raw[:32].hex()}  dist/app-1.{raw[0]}.tar.gz",
            f'  "integrity": "sha512-{base64_of(raw)}",',
            f"id: {raw[:4].hex()}-{raw[4:6].hex()}-4{raw[6:8].hex()[1:]}-a{raw[8:10].hex()[1:]}-{raw[10:16].hex()}",
            f"h1:{base64_of(raw[:32])}=",
            f'src="data:image/png;base64,{base64_of(rng.randbytes(300))}"',
            f"/assets/index-{raw[:4].hex()}.js?v={raw[:8].hex()}",
        ]
    return "\n".join(lines)


def base64_of(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def test_what_speaks_of_secrets_without_giving_one_stays() -> None:  # T06
    for line in BENIGN.strip().splitlines():
        assert clean(line) == line


def test_sums_identifiers_and_images_stay() -> None:  # T06
    text = hashes()
    assert clean(text) is text


def standard_library(tests: bool) -> list[Path]:
    files = sorted(Path(os.__file__).parent.rglob("*.py"))
    return [
        file
        for file in files
        if "site-packages" not in file.parts and bool({"test", "tests"} & set(file.parts)) == tests
    ]


def false_hits(files: list[Path]) -> tuple[int, int]:
    texts = [file.read_text(encoding="utf-8", errors="replace") for file in files]
    redactor = Redactor(KEY)
    return sum(sum(redactor.redact(text)[1].values()) for text in texts), sum(text.count("\n") for text in texts)


def test_the_standard_library_has_no_secrets() -> None:  # T06
    hits, lines = false_hits(standard_library(tests=False)[::4])
    assert lines > 20_000
    assert hits <= lines / 10_000


@pytest.mark.slow
def test_all_of_the_standard_library_and_its_tests_have_next_to_no_secrets() -> None:  # T06
    hits, lines = false_hits([*standard_library(tests=False), *standard_library(tests=True)])
    assert hits <= lines / 10_000


# -- again and again ---------------------------------------------------------------------------------------------------

PIECES = st.one_of(
    st.sampled_from(
        ["password=", "token: ", '"', "'", " ", "\n", "://", "@", "is ", "key ", "Bearer ", "\\", "\u200b"]
    ),
    st.sampled_from(
        [GITHUB, PASS, "[REDACTED:", "[REDACTED:secret:0123abcd]", "ｐａｓｓｗｏｒｄ＝", "a1B2c3D4e5F6g7H8i9J0k1"]
    ),
    st.text(max_size=12),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=14).map("".join), st.booleans())
def test_redacting_twice_changes_nothing_more(text: str, pii: bool) -> None:  # T06
    once = clean(text, pii=pii)
    assert Redactor(KEY, pii=pii).redact(once) == (once, {})


def test_what_was_found_in_every_context_is_not_found_again() -> None:  # T06
    for family in PUBLIC:
        for context in CONTEXTS:
            rng = Rng(f"twice {family.name}")
            once = clean(context(family, family.make(rng)[1], rng))
            assert Redactor(KEY).redact(once) == (once, {})


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(st.sampled_from(redact._LITERALS), st.text(max_size=6)), max_size=10).map("".join))
def test_without_a_wheel_the_same_places_are_found(text: str) -> None:
    slow = redact._slow_finder([*redact._LITERALS, *redact._DISGUISES])
    assert sorted(slow(text)) == sorted(redact._find(text))


# -- persons -----------------------------------------------------------------------------------------------------------


def luhn(digits: str) -> str:
    total = sum(int(n) if index % 2 else sum(divmod(int(n) * 2, 10)) for index, n in enumerate(reversed(digits)))
    return digits + str(-total % 10)


def iban(rng: random.Random) -> str:
    land, body = rng.choice([("DE", 18), ("FR", 23), ("GB", 18), ("NL", 14), ("ES", 20), ("CH", 17)])
    digits = "".join(rng.choices(string.digits, k=body))
    number = int(digits + "".join(str(int(char, 36)) for char in land) + "00")
    plain = f"{land}{98 - number % 97:02d}{digits}"
    return plain if rng.random() < 0.5 else " ".join(plain[at : at + 4] for at in range(0, len(plain), 4))


def person(rng: random.Random) -> tuple[str, str]:
    """A type, and something of it."""

    def digits(size: int) -> str:
        return "".join(rng.choices(string.digits, k=size))

    maker = rng.choice(["4" + digits(14), "5" + rng.choice("12345") + digits(13), "37" + digits(12)])
    card = luhn(maker)
    pairs = " ".join(digits(2) for _ in range(4))
    phone = rng.choice(
        [f"+49 30 {digits(7)}",
         f"+1 (415) {digits(3)}-{digits(4)}", f"+33 6 {pairs}",
         f"0044 20 7{digits(3)} {digits(4)}", f"+91-98{digits(3)}-{digits(5)}", f"+8613{digits(9)}"]
    )  # fmt: skip
    name = "".join(rng.choices(string.ascii_lowercase, k=6))
    email = rng.choice([f"{name}@acme.dev", f"{name}.x+tag@mail.{name}.co.uk", f"{name}_{digits(2)}@例え.jp"])
    grouped = " ".join(card[at : at + 4] for at in range(0, len(card), 4))
    return rng.choice([("email", email), ("phone", phone), ("iban", iban(rng)), ("card", card), ("card", grouped)])


def test_personal_data_is_found_when_asked_for_and_only_then() -> None:  # T21
    rng = Rng("persons")
    found = 0
    for _ in range(200):
        type_, value = person(rng)
        text = f"Please write it down: {value}, and call back."
        assert clean(text) == text
        found += MARK.sub(r"#\1#", clean(text, pii=True)) == text.replace(value, f"#{type_}#")
    assert found >= 0.95 * 200


def test_a_number_whose_check_digit_is_wrong_is_not_personal() -> None:  # T21
    rng = Rng("wrong")
    for _ in range(50):
        land_and_rest = iban(rng)
        wrong = land_and_rest[:2] + f"{(int(land_and_rest[2:4]) + 1) % 100:02d}" + land_and_rest[4:]
        card = luhn("4" + "".join(rng.choices(string.digits, k=14)))
        for text in (f"see {wrong} there", f"see {card[:-1]}{(int(card[-1]) + 1) % 10} there"):
            assert clean(text, pii=True) == text


def test_numbers_of_other_kinds_are_not_persons() -> None:  # T21
    rng = Rng("numbers")
    makes = (
        lambda: str(rng.randint(1_600_000_000_000, 1_800_000_000_000)),
        lambda: f"2026-0{rng.randint(1, 9)}-12T0{rng.randint(0, 9)}:14:02+02:00",
        lambda: f"{rng.randint(10, 250)}.{rng.randint(0, 255)}.{rng.randint(0, 255)}.7:{rng.randint(1024, 65000)}",
        lambda: f"v{rng.randint(0, 9)}.{rng.randint(0, 99)}.{rng.randint(0, 99)}+build.{rng.randint(1, 9999)}",
        lambda: f"@@ -{rng.randint(1, 999)},{rng.randint(1, 9)} +{rng.randint(1, 999)},{rng.randint(1, 99)} @@",
        lambda: f"commit {rng.randbytes(20).hex()}",
        lambda: f"{rng.uniform(0, 1):.16f} +{rng.randint(1, 9999)} lines",
        lambda: f"@decorator{rng.randint(1, 9)} user@{rng.randint(1, 99)} git@github",
    )
    false = sum(clean(text, pii=True) != text for text in (f"see {rng.choice(makes)()} there" for _ in range(200)))
    assert false <= 0.02 * 200
