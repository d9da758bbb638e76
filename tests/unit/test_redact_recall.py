"""How many secrets the redactor finds, by family and by the place a secret stands in.

Every secret is drawn here from a seed, so no scanner finds a key in this repository. The held-out families were set
aside by lot, and no rule was changed after they were first measured: they stand for the makers nobody thought of. Two
earlier lots (`SEEN`) were measured first and then taught what to do for makers without a rule. Give a family a rule of
its own and it moves to the public ones.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import pytest

from recollect.capture.redact import Redactor

SAMPLES = 50
LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
B62, HEX = string.ascii_letters + DIGITS, DIGITS + "abcdef"
URL64, STD64, B32 = B62 + "-_", B62 + "+/", UPPER + "234567"
Rng = random.Random


@dataclass(frozen=True)
class Family:
    """How one maker's secrets look: the secret, the text it stands in, and the names it is given."""

    name: str
    make: Callable[[Rng], tuple[str, str]]
    names: tuple[str, str] = ("TOKEN", "KEY")


def draw(rng: Rng, alphabet: str, size: int) -> str:
    return "".join(rng.choices(alphabet, k=size))


def marked(name: str, form: str, *alphabets: tuple[str, int], names: tuple[str, str] = ("TOKEN", "KEY")) -> Family:
    """A family whose secret is `form` with each `{}` drawn from an alphabet."""

    def make(rng: Rng) -> tuple[str, str]:
        secret = form.format(*(draw(rng, alphabet, size) for alphabet, size in alphabets))
        return secret, secret

    return Family(name, make, names)


def within(name: str, text: str, secret: Callable[[Rng], str]) -> Family:
    """A family whose secret stands in a text of its own, at `{}`."""

    def make(rng: Rng) -> tuple[str, str]:
        value = secret(rng)
        return value, text.replace("{}", value)

    return Family(name, make, ("VALUE", "OPTION"))


def password(rng: Rng) -> str:
    """As people and generators make them: 8 to 20 characters with a digit, a capital and perhaps a sign."""
    body = draw(rng, B62, rng.randint(5, 16)) + rng.choice(DIGITS) + rng.choice(UPPER) + rng.choice(LOWER)
    return body + rng.choice(["", "!", "#", "-x", "$1", "@9", "%", "*", "+"]) + rng.choice(LOWER + DIGITS)


def plain_password(rng: Rng) -> str:
    """Only what needs no escaping in an address."""
    return draw(rng, B62, rng.randint(6, 20)) + rng.choice(DIGITS) + rng.choice(["", "!", "-", "_", "*"]) + "q"


def uuid(rng: Rng) -> str:
    return "-".join(draw(rng, HEX, size) for size in (8, 4, 4, 4, 12))


def jwt(rng: Rng) -> str:
    head, claims = ({"alg": "HS256", "typ": "JWT"}, {"sub": draw(rng, DIGITS, 10), "iat": rng.randint(1, 10**9)})
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in (head, claims)]
    return ".".join([*parts, draw(rng, URL64, 43)])


def pem(kind: str) -> Callable[[Rng], tuple[str, str]]:
    def make(rng: Rng) -> tuple[str, str]:
        lines = [draw(rng, STD64, 64) for _ in range(rng.randint(3, 24))]
        rim = "-----{} " + kind + "-----"
        return lines[0], "\n".join([rim.format("BEGIN"), *lines, draw(rng, STD64, 20) + "==", rim.format("END")])

    return make


def basic(rng: Rng) -> str:
    return base64.b64encode(f"user{rng.randint(1, 99)}:{password(rng)}".encode()).decode()


def discord(rng: Rng) -> str:
    number = base64.b64encode(str(rng.randint(10**17, 10**18)).encode()).decode().rstrip("=")
    return f"{number}.{draw(rng, URL64, 6)}.{draw(rng, URL64, 38)}"


PUBLIC = (
    marked("aws key id", "AK" "IA{}", (B32, 16)),
    marked("aws temporary key id", "AS" "IA{}", (B32, 16)),
    marked("aws secret key", "{}", (STD64, 40), names=("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key")),
    *(marked(f"github {kind}", "gh" + kind + "_{}", (B62, 36)) for kind in "posr"),
    marked("github fine-grained", "github_" "pat_{}_{}", (B62, 22), (B62, 59)),
    marked("gitlab", "gl" "pat-{}", (URL64, 20)),
    marked("openai", "sk" "-{}", (B62, 48)),
    marked("openai project", "sk-" "proj-{}T3BlbkFJ{}", (URL64, 74), (URL64, 74)),
    marked("anthropic", "sk-" "ant-api03-{}AA", (URL64, 93)),
    marked("openrouter", "sk-" "or-v1-{}", (HEX, 64)),
    marked("groq", "gs" "k_{}", (B62, 52)),
    marked("xai", "xa" "i-{}", (B62, 80)),
    marked("google api", "AI" "za{}", (URL64, 35)),
    marked("google oauth", "ya" "29.a0{}", (URL64, 140)),
    marked("google client", "GOC" "SPX-{}", (URL64, 28)),
    *(marked(f"slack {kind}", "xo" + f"x{kind}-" + "{}-{}-{}", (DIGITS, 11), (DIGITS, 11), (B62, 24)) for kind in "bp"),
    *(marked(f"slack {kind}", "xo" + f"x{kind}-2-" + "{}-{}", (DIGITS, 12), (HEX, 64)) for kind in "ars"),
    within("slack webhook", "https://hooks.slack.com/services/{}", lambda rng: "/".join(
        (f"T{draw(rng, UPPER + DIGITS, 8)}", f"B{draw(rng, UPPER + DIGITS, 8)}", draw(rng, B62, 24))
    )),
    marked("our own", "re" "c_live_{}_{}", (LOWER + "234567", 16), (URL64, 43)),
    marked("stripe secret", "sk_" "live_{}", (B62, 24)),
    marked("stripe restricted", "rk_" "live_{}", (B62, 99)),
    marked("stripe webhook", "wh" "sec_{}", (B62, 32)),
    marked("twilio key", "S" "K{}", (HEX, 32)),
    marked("twilio account", "A" "C{}", (HEX, 32)),
    marked("twilio auth token", "{}", (HEX, 32), names=("TWILIO_AUTH_TOKEN", "auth_token")),
    marked("sendgrid", "S" "G.{}.{}", (URL64, 22), (URL64, 43)),
    marked("mailgun", "ke" "y-{}", (HEX, 32)),
    marked("npm", "np" "m_{}", (B62, 36)),
    marked("pypi", "py" "pi-AgEIcHlwaS5vcmc{}", (URL64, 150)),
    marked("hugging face", "h" "f_{}", (string.ascii_letters, 34)),
    marked("databricks", "da" "pi{}", (HEX, 32)),
    within("azure storage", "Protocol=https;AccountName=acme;AccountKey={};EndpointSuffix=x", lambda rng: (
        draw(rng, STD64, 86) + "=="
    )),
    within("azure sas", "https://acme.blob.core.windows.net/c?sv=2022&sp=r&sig={}%3D", lambda rng: draw(rng, B62, 43)),
    marked("supabase", "sb" "p_{}", (HEX, 40)),
    marked("digitalocean", "do" "p_v1_{}", (HEX, 64)),
    Family("heroku", lambda rng: (lambda key: (key, key))(uuid(rng)), ("HEROKU_API_KEY", "heroku_api_key")),
    marked("vercel", "{}", (B62, 24), names=("VERCEL_TOKEN", "vercel_token")),
    marked("cloudflare", "{}", (URL64, 40), names=("CLOUDFLARE_API_TOKEN", "cf_api_token")),
    within("telegram", "https://api.telegram.org/bot123456789:{}/getMe", lambda rng: "A" "A" + draw(rng, URL64, 33)),
    Family("discord bot", lambda rng: (lambda key: (key, key))(discord(rng))),
    within("discord webhook", "discord.com/api/webhooks/112233445566778899/{}", lambda rng: draw(rng, URL64, 68)),
    Family("jwt", lambda rng: (lambda key: (key, key))(jwt(rng))),
    *(
        Family(f"pem {kind}", pem(kind))
        for kind in ("RSA PRIVATE KEY", "EC PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK")
    ),
    within("postgres address", "postgres://app:{}@db.internal:5432/main", plain_password),
    within("redis address", "redis://:{}@10.0.0.7:6379/0", plain_password),
    within("https address", "https://ann:{}@git.acme.dev/app.git", plain_password),
    within("bearer", "Authorization: Bearer {}", lambda rng: draw(rng, URL64, 40)),
    within("basic", "Authorization: Basic {}", basic),
    within("password: x", "password: {}", password),
    within("password=x", "password={}", password),
    within("passwd=x", "passwd={}", password),
    within("DB_PASS", "DB_PASS={}", password),
    within("password in json", '"password": "{}"', password),
    within("told password", "the password is {}", password),
    within("told and quoted", "Passwort: `{}`", password),
    within("connection string", "Server=tcp:db.acme.net,1433;User ID=app;Password={};Encrypt=True", password),
    within("option", "deploy --user ann --password {} --wait", password),
    marked("our own key", "mem_" "live_{}", (B62, 32)),
    marked("shopify", "shp" "at_{}", (HEX, 32)),
    marked("linear", "lin_" "api_{}", (B62, 40)),
    marked("notion", "nt" "n_{}", (B62, 46)),
    marked("notion before", "secr" "et_{}", (B62, 43)),
    marked("doppler", "dp." "pt.{}", (B62, 43)),
    marked("grafana", "gl" "sa_{}_{}", (B62, 32), (HEX, 8)),
    marked("figma", "fi" "gd_{}", (URL64, 40)),
    marked("atlassian", "ATA" "TT3xFfGF0{}={}", (URL64, 180), (HEX.upper(), 8)),
    marked("age", "AGE-SECRET-" "KEY-1{}", (UPPER + DIGITS, 58)),
    marked("contentful", "CFP" "AT-{}", (URL64, 43)),
    marked("netlify", "nf" "p_{}", (B62, 36)),
    marked("new relic", "NR" "AK-{}", (UPPER + DIGITS, 27)),
    marked("perplexity", "pp" "lx-{}", (B62, 48)),
    marked("planetscale", "pscale_" "tkn_{}", (URL64, 43)),
    marked("postman", "PM" "AK-{}-{}", (HEX, 24), (HEX, 34)),
    marked("sentry", "sntr" "ys_{}", (B62, 100)),
    marked("tailscale", "ts" "key-auth-{}-{}", (B62, 11), (B62, 32)),
    marked("vault", "hv" "s.{}", (URL64, 90)),
    marked("langsmith", "lsv2_" "pt_{}_{}", (HEX, 32), (HEX, 10)),
    marked("circleci", "CCI" "PAT_{}_{}", (B62, 22), (HEX, 40)),
    marked("terraform", "{}.atlas" "v1.{}", (B62, 14), (URL64, 67)),
)  # fmt: skip

SEEN = (
    marked("adafruit", "aio_{}", (B62, 28)),
    marked("airtable", "pat{}.{}", (B62, 14), (HEX, 64)),
    marked("algolia", "{}", (HEX, 32), names=("ALGOLIA_API_KEY", "algolia_admin_key")),
    marked("clojars", "CLOJARS_{}", (HEX, 60)),
    marked("datadog", "{}", (HEX, 40), names=("DD_APP_KEY", "datadog_app_key")),
    marked("docker hub", "dckr_pat_{}", (URL64, 27)),
    marked("octopus", "API-{}", (UPPER + DIGITS, 26)),
    marked("pinecone", "pcsk_{}_{}", (B62, 6), (B62, 63)),
    marked("prefect", "pnu_{}", (B62, 36)),
    marked("pulumi", "pul-{}", (HEX, 40)),
    marked("readme", "rdme_{}", (LOWER + DIGITS, 70)),
    marked("replicate", "r8_{}", (B62, 37)),
    marked("rubygems", "rubygems_{}", (HEX, 48)),
    marked("scalingo", "tk-us-{}", (URL64, 48)),
    marked("shippo", "shippo_live_{}", (HEX, 40)),
    marked("sourcegraph", "sgp_{}_{}", (HEX, 16), (HEX, 40)),
    marked("assemblyai", "{}", (HEX, 32), names=("ASSEMBLYAI_API_KEY", "assemblyai_api_key")),
    Family("axiom", lambda rng: (lambda key: (key, key))("xaat-" + uuid(rng))),
    marked("bitbucket", "{}", (B62, 32), names=("BITBUCKET_CLIENT_SECRET", "bitbucket_secret")),
    marked("browserbase", "bb_live_{}", (URL64, 27)),
    marked("e2b", "e2b_{}", (HEX, 40)),
    marked("fastly", "{}", (URL64, 32), names=("FASTLY_API_TOKEN", "fastly_token")),
    marked("firecrawl", "fc-{}", (HEX, 32)),
    marked("klaviyo", "pk_{}", (HEX, 34)),
    Family("langfuse", lambda rng: (lambda key: (key, key))("sk-lf-" + uuid(rng))),
    marked("mattermost", "{}", (LOWER + DIGITS, 26), names=("MATTERMOST_TOKEN", "mm_access_token")),
    marked("modal", "as-{}", (B62, 22)),
    marked("neon", "napi_{}", (LOWER + DIGITS, 64)),
    Family("plaid", lambda rng: (lambda key: (key, key))("access-production-" + uuid(rng))),
    marked("posthog", "phx_{}", (B62, 43)),
    marked("twitch", "{}", (LOWER + DIGITS, 30), names=("TWITCH_CLIENT_SECRET", "twitch_token")),
    marked("wandb", "{}", (HEX, 40), names=("WANDB_API_KEY", "wandb_api_key")),
)

HELD_OUT = (
    marked("apify", "apify_api_{}", (B62, 36)),
    marked("cerebras", "csk-{}", (LOWER + DIGITS, 48)),
    marked("confluent", "{}", (STD64, 64), names=("CONFLUENT_SECRET_KEY", "confluent_api_secret")),
    marked("deepgram", "{}", (HEX, 40), names=("DEEPGRAM_API_KEY", "deepgram_key")),
    marked("fly", "FlyV1 fm2_{}", (STD64, 200)),
    marked("intercom", "dG9rO{}=", (B62, 55)),
    marked("jina", "jina_{}", (B62, 60)),
    marked("lob", "live_{}", (HEX, 35)),
    marked("render", "rnd_{}", (B62, 28)),
    marked("resend", "re_{}_{}", (B62, 8), (B62, 24)),
    marked("sidekiq", "{}:{}", (HEX, 8), (HEX, 8), names=("BUNDLE_ENTERPRISE_TOKEN", "sidekiq_secret")),
    Family("snyk", lambda rng: (lambda key: (key, key))(uuid(rng)), ("SNYK_TOKEN", "snyk_api_token")),
    marked("voyage", "pa-{}", (URL64, 43)),
    marked("yandex", "AQVN{}", (URL64, 36)),
    marked("zendesk", "{}", (B62, 40), names=("ZENDESK_API_TOKEN", "zendesk_token")),
)

PROSE = (
    "I made a new {name}, it is {}, please put it where it belongs.",
    "Use {} as before; the old {name} stopped working on Friday.",
    "The {name} for staging is {} and expires next week.",
    "Here is my {name}: {}",
    "Die Anmeldung ging nicht, der {name} lautet {} – bitte prüfen.",
)
CODE = (
    "def connect():\n    client = Client(\n        {name}='{}',\n        retries=3,\n    )\n    return client\n",
    "2026-01-12 09:14:02 INFO  start\n2026-01-12 09:14:03 DEBUG {name}={} attempt=1\n2026-01-12 09:14:04 INFO  done\n",
    "services:\n  web:\n    environment:\n      MODE: live\n      {NAME}: {}\n    ports: [80]\n",
    "$ cat .env\n{NAME}={}\nDEBUG=1\n$ make\n",
    'fetch(url, {\n  headers: {\n    "x-{name}": "{}",\n  },\n})\n',
)


def spoken(name: str) -> str:
    return name.lower().replace("_", " ")


def in_export(family: Family, text: str, rng: Rng) -> str:
    return f'export {family.names[0]}="{text}"'


def in_assignment(family: Family, text: str, rng: Rng) -> str:
    return f"{family.names[1]}={text}"


def in_prose(family: Family, text: str, rng: Rng) -> str:
    return rng.choice(PROSE).replace("{name}", spoken(rng.choice(family.names))).replace("{}", text)


def in_escaped_json(family: Family, text: str, rng: Rng) -> str:
    return json.dumps({"content": json.dumps({"id": 7, family.names[0].lower(): text, "ok": True})})


def in_lines(family: Family, text: str, rng: Rng) -> str:
    name = family.names[0]
    return rng.choice(CODE).replace("{name}", name.lower()).replace("{NAME}", name).replace("{}", text)


CONTEXTS = (in_export, in_assignment, in_prose, in_escaped_json, in_lines)


Context = Callable[[Family, str, Rng], str]


@cache
def kept(family: Family, context: Context) -> int:
    """How many of the secrets of a family stay in the text, whole or with their last eight characters."""
    redactor, rng, stayed = Redactor(b"key of the test"), Rng(f"{family.name} {context.__name__}"), 0
    for _ in range(SAMPLES):
        secret, text = family.make(rng)
        clean, counts = redactor.redact(context(family, text, rng))
        stayed += not counts or json.dumps(secret)[1:-1] in clean or secret[-8:] in clean
    return stayed


def recall(families: tuple[Family, ...], context: Context) -> tuple[float, list[str]]:
    """The share of secrets that left the text, and by family how many stayed."""
    stayed = {family.name: kept(family, context) for family in families}
    missed = [f"{name}: {count}" for name, count in stayed.items() if count]
    return 1 - sum(stayed.values()) / (len(families) * SAMPLES), missed


@pytest.mark.parametrize("context", CONTEXTS)
def test_secrets_of_every_public_family_are_found(context: Context) -> None:  # T06
    share, missed = recall(PUBLIC, context)
    assert share >= 0.98, missed


@pytest.mark.parametrize("families", [SEEN, HELD_OUT], ids=["seen", "held out"])
def test_secrets_of_families_without_a_rule_are_found_by_name_or_form(families: tuple[Family, ...]) -> None:  # T06
    shares = {context.__name__: recall(families, context)[0] for context in CONTEXTS}
    assert sum(shares.values()) / len(shares) >= 0.90, shares
    assert min(shares.values()) >= 0.85, shares


def test_no_single_public_family_is_lost() -> None:  # T06
    for family in PUBLIC:
        shares = [recall((family,), context)[0] for context in CONTEXTS]
        assert sum(shares) / len(shares) >= 0.90, (family.name, shares)
