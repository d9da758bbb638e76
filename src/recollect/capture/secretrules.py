"""What a secret looks like: literals that betray it, the pattern that must stand there, and what else must hold.

A rule is tried only where one of its literals was found, so every pattern begins with its literal, and every
repetition in it is bounded: the cost of a hit is bounded too. What has a maker's mark (`ghp_`, `AKIA`) is known by its
form. What has none is known by the name before it (`password=`, `api_key:`), and then its value must look like one.
"""

from __future__ import annotations

import base64
import re
from binascii import Error as NotBase64
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

# -- values: does this look like a password, or like something random? -------------------------------------------------

JUDGED = 128  # characters of a value by which it is judged
_VARIED = re.compile(r"[0-9]|[a-z][A-Z]|[A-Z][a-z]")
_MIXED = re.compile(r"[^A-Za-z_. -]")
_BLANK = re.compile(r"\s")
_STAND_INS = """xxxx *** ... … • < > ${ $( {{ }} %( #{ () redacted example placeholder changeme change-me change_me
dummy your insert enter replace sample
foobar 12345678 abcdefg 00000000""".split()
_REPEATED = re.compile(r"(.)\1{7}|^%s")
_EXPRESSION = re.compile(r"[A-Za-z_$][\w$]*(?:\.[A-Za-z_]|[(\[{]|::|->|\?\.)|[$%@&*!{}()\[\]<|=~+:,/.\\-]")
_TECHNICAL = re.compile(
    r"(?:sha|md|aes|rsa|utf|base|bcrypt|argon|scrypt|pbkdf|hmac|ed|oauth|ipv|http|https|python|node|es|iso|crc|rfc|win|x)"
    r"[-_]?\d+(?:\b.*)?|\d+[a-z]{1,9}|v?\d+(?:\.\d+)+.*|0x[0-9a-f]+|[a-z]+\d{0,3}:\d+",
    re.IGNORECASE,
)
_WORDS = re.compile(r"(?:[A-Za-z]+[-_./: ])*[A-Za-z]*[-_]?\d{0,2}")
_STEM = re.compile(
    r"pass|pwd|pw\d|token|secret|key|user|name|value|param|arg|str|field|input|cred|login|test", re.IGNORECASE
)
_AWS_SECRET = re.compile(r"[A-Za-z0-9+/]{40}")  # its slashes would make it a path
_CODE = re.compile(r"[\s(){}\[\]<>$\\]")
_JOINTS = re.compile(r"[_-]")
_PREFIX = re.compile(r"[A-Za-z][A-Za-z0-9]{1,11}[_-](?=[A-Za-z0-9_-]{16})")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_HEX = re.compile(r"(?:0x)?[0-9a-f]+|[0-9A-F]+")
_CHECKSUM = re.compile(r"(?:sha[0-9]+|md5|h1)[-_:]", re.IGNORECASE)
# Identifiers that look random and open nothing: of calls, messages, checksums, objects.
_PUBLIC_ID = re.compile(
    r"(?:toolu|tooluse|srvtoolu|msg|req|call|chatcmpl|resp|rs|fc|ws|ctc|run|step|thread|asst|file|batch|gen|evt|cus|price"
    r"|prod|sub|in|pi|ch|seti|acct|org|user|usr|proj|team|prj|dpl|ses|session|conv|chat|sig|wamid|sha\d+|md5|h1|go|rev"
    r"|commit|container|cntr|ci|pk|urn|arn|id|uuid|data|image|css|chunk|vendors?|index|main|app|bundle)[-_:~]",
    re.IGNORECASE,
)


def _is_placeholder(value: str) -> bool:
    lowered = value.lower()
    return any(map(lowered.__contains__, _STAND_INS)) or _REPEATED.search(value) is not None


def is_password(value: str, quoted: bool) -> bool:
    """Whether what stands after `password=` is a password rather than code, a label or a placeholder."""
    value = value[:JUDGED]
    core = value.rstrip(".,:;!?)")
    if len(core) < 6 or not _MIXED.search(core) or _is_placeholder(value) or _BLANK.search(value) or "://" in value:
        return False
    if not quoted and (_EXPRESSION.match(value) or core.isdigit()):
        return False
    if value.startswith(("/", "./", "../", "~/", "{", "$", "%", "--")) or _TECHNICAL.fullmatch(core):
        return False
    if core.isdigit():
        return len(set(core)) > 2
    if _WORDS.fullmatch(core.rstrip("=")):
        # hunter2 is one, password2 is the name of a variable; a number behind joined words makes a name.
        return core[-1].isdigit() and core.isalnum() and not _STEM.search(core)
    return _classes(core) >= 3 or (any(map(str.isdigit, core)) and any(map(str.isalpha, core)) and not _is_name(core))


def is_told_password(value: str, quoted: bool) -> bool:
    """The same in a sentence, where any word may follow: stricter, unless the word is in quotes."""
    if not is_password(value, quoted):
        return False
    core = value.rstrip(".,:;!?)")
    if _UUID.fullmatch(core) or _HEX.fullmatch(core):
        return False
    return quoted or (_classes(core) >= 3 and not re.search(r"[/()=\[\]{}]", core)) or core.isalnum()


def is_random(value: str, least: int = 16) -> bool:
    """Whether a value was drawn rather than written: letters and digits (or cases) alternate as in no name."""
    core = value[:JUDGED].rstrip("=.,:;")
    if not _VARIED.search(core):
        return False
    if len(core) < least or _is_placeholder(core) or _CHECKSUM.match(core):
        return False
    path = core.startswith(("/", "./", "~/", "http")) or core.count("/") > 1 + len(core) // 16
    if _CODE.search(core) or (path and not _AWS_SECRET.fullmatch(core)):
        return False
    if _UUID.fullmatch(core):
        return True
    digits = sum(map(str.isdigit, core))
    if digits > 0.9 * len(core):
        return False
    turns = _turns(core, str.isdigit)
    if digits >= 2 and turns >= max(3, len(core) // 10):
        return len(set(core)) >= 8 and (turns >= max(5, len(core) // 5) or not _is_name(core))
    mixed = sum(map(str.isupper, core)) >= 3 and sum(map(str.islower, core)) >= 3
    return mixed and _turns(core, str.isupper) >= 0.36 * len(core) and not _is_name(core)


def is_drawn(value: str, least: int = 20) -> bool:
    """Random in upper case, lower case and digits: neither a checksum nor an identifier in hex."""
    core = value.rstrip("=.,:;")
    cases = any(map(str.isupper, core)) and any(map(str.islower, core)) and not _PUBLIC_ID.match(core)
    return cases and is_random(core, least) and not _HEX.fullmatch(core) and not _UUID.fullmatch(core)


def is_prefixed(value: str, least: int = 20) -> bool:
    """Random behind a maker's prefix (`maker_…`), in whatever letters."""
    joined = len(_JOINTS.findall(value))  # many make a name with a checksum behind it
    return 1 <= joined <= 2 and bool(_PREFIX.match(value)) and is_random(value, least) and not _PUBLIC_ID.match(value)


def _classes(value: str) -> int:
    """Of how many kinds its characters are: lower, upper, digit, and signs that do not join words."""
    kinds = (str.islower, str.isupper, str.isdigit, lambda char: not char.isalnum() and char not in "-_./:,")
    return sum(any(map(kind, value)) for kind in kinds)


def _turns(value: str, kind: Callable[[str], bool]) -> int:
    """How often the value goes from characters of a kind to others or back."""
    flags = [kind(char) for char in value if char.isalnum()]
    return sum(a != b for a, b in pairwise(flags))


def _is_name(value: str) -> bool:
    """Whether most of it is words: parts of letters with vowels, joined by signs or capitals, perhaps numbered."""
    parts = re.findall(r"[A-Z]?[a-z]{3,}|[A-Z]{4,}", value)
    return sum(len(part) for part in parts if _PRONOUNCED.search(part)) > 0.6 * len(value)


_PRONOUNCED = re.compile(r"[aeiouy]", re.IGNORECASE)

# -- rules -------------------------------------------------------------------------------------------------------------


_LONG_WORD = re.compile(r"[A-Za-z0-9_+/-]{20}")


@dataclass(frozen=True, slots=True)
class Rule:
    """What to try where a literal was found: the secret is the group `secret`, or all that matched.

    With `back`, the secret stands before the literal, at most so many characters.
    """

    type: str
    literals: tuple[str, ...]
    pattern: re.Pattern[str]
    holds: Callable[[re.Match[str]], bool] | None = None
    back: int = 0

    def match(self, text: str, position: int, room: int) -> re.Match[str] | None:
        """The match at a literal's position, reading no further than `room`."""
        if not self.back:
            return self.pattern.match(text, position, room)
        start = max(0, position - self.back)
        return self.pattern.search(text, start, position) if _LONG_WORD.search(text, start, position) else None


# Where a token may begin: not inside a word, but behind an escaped line end, a colour or a percent code it may.
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtu])|(?<=[0-9;]m)|(?<=%[0-9A-F]{2}))"
_END = r"(?![A-Za-z0-9])"
_B62, _URL64, _HEX_LOW = "[A-Za-z0-9]", "[A-Za-z0-9_-]", "[0-9a-f]"

# type, literals, what follows the literal.
_MARKED = (
    ("aws-key", "AKIA ASIA ABIA ACCA", r"[A-Z2-7]{16}" + _END),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"[A-Za-z0-9]{36,251}"),
    ("github", "github_pat_", r"[A-Za-z0-9_]{36,251}"),
    (
        "gitlab",
        "glpat- gldt- glrt- glsoat- glcbt- glptt- glft- glimt- glagent- gloas- glffct-",
        r"[A-Za-z0-9_.-]{18,300}",
    ),
    ("anthropic", "sk-ant-", r"[A-Za-z0-9_-]{24,200}"),
    ("openrouter", "sk-or-v1-", r"[0-9a-f]{48,80}"),
    ("openai", "sk-proj- sk-svcacct- sk-admin- sk-None-", r"[A-Za-z0-9_-]{24,240}"),
    ("api-key", "sk-", r"[A-Za-z0-9]{20,128}(?![A-Za-z0-9-])"),
    ("groq", "gsk_", r"[A-Za-z0-9]{40,80}"),
    ("xai", "xai-", r"[A-Za-z0-9]{60,100}"),
    ("google", "AIza", r"[A-Za-z0-9_-]{35}" + _END),
    ("google", "ya29.", r"[A-Za-z0-9_.-]{20,2048}"),
    ("google", "GOCSPX-", r"[A-Za-z0-9_-]{24,40}"),
    ("google", "1//0", r"[A-Za-z0-9_-]{40,200}"),
    ("slack", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxp- xoxr- xoxs- xoxe.", r"[A-Za-z0-9%.-]{10,400}"),
    ("slack", "xapp-", r"[0-9A-Za-z-]{20,400}"),
    ("stripe", "sk_live_ rk_live_ sk_test_ rk_test_ sk_prod_ rk_prod_ mem_live_ mem_test_", r"[A-Za-z0-9_-]{16,247}"),
    ("recollect", "rec_live_ rec_test_ rec_local_", r"[a-z2-7]{16}_[A-Za-z0-9_-]{12,100}"),
    ("stripe", "whsec_", r"[A-Za-z0-9+/]{24,100}=?"),
    ("sendgrid", "SG.", r"[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    ("mailgun", "key-", r"[0-9a-f]{32}" + _END),
    ("npm", "npm_", r"[A-Za-z0-9]{36,64}"),
    ("pypi", "pypi-", r"[A-Za-z0-9_-]{40,500}"),
    ("huggingface", "hf_ api_org_", r"[A-Za-z0-9]{30,64}"),
    ("databricks", "dapi", r"[0-9a-f]{32}(?:-\d)?" + _END),
    ("supabase", "sbp_", r"[0-9a-f]{40}|(?:v0_)[0-9a-f]{40}"),
    ("supabase", "sb_secret_", r"[A-Za-z0-9_-]{24,64}"),
    ("digitalocean", "dop_v1_ doo_v1_ dor_v1_", r"[0-9a-f]{64}"),
    ("shopify", "shpat_ shpca_ shppa_ shpss_ shptka_", r"[0-9a-fA-F]{32}"),
    ("linear", "lin_api_ lin_oauth_", r"[A-Za-z0-9]{32,80}"),
    ("notion", "ntn_", r"[A-Za-z0-9]{40,60}"),
    ("notion", "secret_", r"[A-Za-z0-9]{43}" + _END),
    ("doppler", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"[A-Za-z0-9_.-]{32,100}"),
    ("grafana", "glsa_ glc_", r"[A-Za-z0-9_+/=]{32,500}"),
    ("grafana", "eyJrIjoi", r"[A-Za-z0-9+/_-]{40,400}={0,2}"),
    ("figma", "figd_ figu_", r"[A-Za-z0-9_-]{36,80}"),
    ("atlassian", "ATATT3 ATCTT3 ATBB", r"[A-Za-z0-9_=-]{24,400}"),
    ("age", "AGE-SECRET-KEY-1", r"[0-9A-Z]{50,70}"),
    ("age", "AGE-PLUGIN-", r"[0-9A-Z-]{20,200}"),
    ("twilio", " ".join(f"SK{digit} AC{digit}" for digit in "0123456789abcdef"), r"[0-9a-f]{31}" + _END),
    ("cloudflare", "v1.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    ("contentful", "CFPAT-", r"[A-Za-z0-9_-]{43}"),
    ("dynatrace", "dt0c01.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("easypost", "EZAK EZTK", r"[A-Za-z0-9]{54}"),
    ("flutterwave", "FLWSECK-", r"[A-Za-z0-9]{32}-X|FLWSECK_TEST-[A-Za-z0-9]{12,40}"),
    ("frameio", "fio-u-", r"[A-Za-z0-9=_-]{64}"),
    ("netlify", "nfp_ nfc_ nfo_ nfu_ nfb_", r"[A-Za-z0-9]{36,60}"),
    ("newrelic", "NRAK- NRJS- NRII- NRSP-", r"[A-Za-z0-9_-]{19,40}"),
    ("perplexity", "pplx-", r"[A-Za-z0-9]{40,64}"),
    ("planetscale", "pscale_tkn_ pscale_pw_ pscale_oauth_", r"[A-Za-z0-9_.=-]{32,64}"),
    ("postman", "PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    ("brevo", "xkeysib- xsmtpsib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    ("sentry", "sntrys_ sntryu_", r"[A-Za-z0-9+/=_-]{40,500}"),
    ("square", "sq0atp- sq0csp- sq0idp-", r"[A-Za-z0-9_-]{22,60}"),
    ("square", "EAAA", r"[A-Za-z0-9_-]{56,64}" + _END),
    ("tailscale", "tskey-", r"[a-z]{2,10}-[A-Za-z0-9-]{20,80}"),
    ("tavily", "tvly-", r"(?:dev-|prod-)?[A-Za-z0-9_-]{28,64}"),
    ("typeform", "tfp_", r"[A-Za-z0-9_.=-]{40,80}"),
    ("vault", "hvs. hvb. hvr.", r"[A-Za-z0-9_-]{24,300}"),
    ("langsmith", "lsv2_pt_ lsv2_sk_", r"[0-9a-f]{32}_[0-9a-f]{10}"),
    ("fireworks", "fw_", r"[A-Za-z0-9]{22,48}" + _END),
    ("dropbox", "sl.u. sl.B", r"[A-Za-z0-9_-]{100,1400}"),
    ("buildkite", "bkua_ bkaj_", r"[0-9a-f]{40}"),
    ("circleci", "CCIPAT_ CCIPRJ_", r"[A-Za-z0-9]{18,30}_[0-9a-f]{40}"),
    ("cargo", "cio", r"[A-Za-z0-9]{32}" + _END),
    ("databento", "db-", r"[A-Za-z0-9]{29}" + _END),
    ("onepassword", "ops_eyJ", r"[A-Za-z0-9_=-]{200,2000}"),
    ("honeycomb", "hcaik_ hcamk_ hcaic_", r"[A-Za-z0-9]{40,64}"),
    ("infracost", "ico-", r"[A-Za-z0-9]{32}" + _END),
    ("openshift", "sha256~", r"[A-Za-z0-9_-]{43}"),
    ("nuget", "oy2", r"[a-z0-9]{43}" + _END),
    ("launchdarkly", "sdk- mob-", r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
)


def _marked() -> list[Rule]:
    rules = []
    for type_, words, tail in _MARKED:
        literals = words.split()
        either = "|".join(map(re.escape, literals))
        rules.append(Rule(type_, tuple(literals), re.compile(f"{_START}(?:{either})(?:{tail})"), _not_placeholder))
    return rules


def _not_placeholder(match: re.Match[str]) -> bool:
    return not _SHOWN.search(match[0])


_SHOWN = re.compile(r"x{6}|X{6}|(.)\1{9}|\.{3}|example|EXAMPLE|[Yy]our[-_A-Z]|YOUR")

_SHAPED = (
    Rule(
        "jwt",
        ("eyJ",),
        re.compile(
            _START + r"eyJ[A-Za-z0-9_-]{10,1024}+\.(?:[A-Za-z0-9_-]{10,8192}\.[A-Za-z0-9_-]{16,1400}"
            r"|[A-Za-z0-9_-]{0,600}\.[A-Za-z0-9_-]{16,64}\.[A-Za-z0-9_-]{1,8192}\.[A-Za-z0-9_-]{16,64})"
        ),
    ),
    Rule("telegram", (":AA",), re.compile(r"(?<=[0-9]{8}):(?P<secret>AA[A-Za-z0-9_-]{32,34})" + _END)),
    Rule(
        "discord",
        # A bot token begins with the number of the bot in base64: its first three characters are one of ninety.
        tuple(sorted({base64.b64encode(str(number).encode()).decode()[:3] for number in range(100, 1000)})),
        re.compile(_START + r"[MNO][A-Za-z0-9_-]{22,28}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}"),
    ),
    Rule(
        "webhook",
        ("hooks.slack.com/", "/api/webhooks/", "webhook.office.com/", "hooks.zapier.com/", "/IncomingWebhook/"),
        re.compile(
            r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9_/-]{20,120})"
            r"|/api/webhooks/[0-9]{16,20}/(?P<secret2>[A-Za-z0-9_-]{50,100})"
            r"|webhook\.office\.com/webhookb2/(?P<secret3>[A-Za-z0-9@/_-]{60,300})"
            r"|hooks\.zapier\.com/hooks/catch/(?P<secret4>[A-Za-z0-9/]{10,60})"
        ),
    ),
    Rule(
        "azure",
        ("AccountKey=", "SharedAccessKey=", "sig="),
        re.compile(
            r"(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{40,100}={0,2})"
            r"|(?<=[?&;])sig=(?P<secret2>[A-Za-z0-9%+/_-]{40,120}={0,2})"
        ),
    ),
    Rule("terraform", (".atlasv1.",), re.compile(r"(?<=[A-Za-z0-9]{14})\.atlasv1\.(?P<secret>[A-Za-z0-9_=-]{60,90})")),
)

_PEM = r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_BODY = re.compile(r"[A-Za-z0-9+/]{32}")


def _has_body(match: re.Match[str]) -> bool:
    return _BODY.search(match["body"]) is not None


_KEYS = (
    Rule(
        "private-key",
        ("-----BEGIN ",),
        # The body ends at the next five dashes, so that many beginnings in a row are still read once each.
        re.compile(_PEM + r"(?P<body>[^-]*+(?:-(?!----)[^-]*+)*+)-----END [A-Z0-9 ]{0,60}-----"),
        _has_body,
    ),
    # Cut off before its end: what looks like its body is taken.
    Rule("private-key", ("-----BEGIN ",), re.compile(_PEM + r"(?P<body>(?:[A-Za-z0-9+/=\s]|\\+[nr])*+)"), _has_body),
    Rule(
        "private-key",
        ("Private-Lines:",),
        re.compile(r"Private-Lines:[ \t]{0,4}[0-9]{1,4}(?P<secret>(?:[A-Za-z0-9+/=]|\s|\\[nr]){40,16384})"),
    ),
    Rule(
        "aws-secret",
        ("AKIA", "ASIA"),
        re.compile(
            r"A[KS]IA[A-Z2-7]{16}\b[\s\S]{0,120}?(?<![A-Za-z0-9/+=])(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
        ),
        lambda match: is_drawn(match["secret"], 40),
    ),
)

# -- addresses and headers -------------------------------------------------------------------------------------------


_SPOKEN = re.compile(
    r"(?:user(?:name)?|pass(?:word|wd)?|pw|pwd|secret|token|key|api[-_]?key|port|host|p|x+|\*+|foo|bar|baz|postgres|root"
    r"|admin|test|guest|git|localhost)",
    re.IGNORECASE,
)


def _is_url_password(match: re.Match[str]) -> bool:
    value = match["secret"]
    if value is None:
        return is_random(match["secret2"], 20)
    plain = _SPOKEN.fullmatch(value) or _is_placeholder(value) or value[0] in "$%{<[(*" or "{" in value
    return not plain and not (value.isdigit() and len(value) < 6) and len(value) >= 3


def _is_basic(match: re.Match[str]) -> bool:
    """Base64 of `user:password`, in readable characters."""
    try:
        plain = base64.b64decode(match["secret"] + "=" * (-len(match["secret"]) % 4), validate=True).decode()
    except (NotBase64, UnicodeDecodeError):
        return False
    return ":" in plain and plain.isprintable() and not _is_placeholder(plain)


def _is_bearer(match: re.Match[str]) -> bool:
    value = match["secret"]
    return any(map(str.isdigit, value)) and not _is_placeholder(value) and is_random(value, 12)


_SENT = (
    Rule(
        "url-password",
        ("://",),
        re.compile(
            r"://(?:[^\s/@:\"'<>?#`\\]{0,128}:(?P<secret>[^\s/\"'<>`\\]{1,256})|(?P<secret2>[A-Za-z0-9_-]{20,256}))"
            r"@(?!sha256|(?:[a-z]{1,12}\.)?example\.)[A-Za-z0-9\[_{$<]"
        ),
        _is_url_password,
    ),
    Rule(
        "bearer",
        ("Bearer", "bearer", "BEARER"),
        re.compile(r"(?i:bearer)(?:\s|%20|\+){1,4}[\"'`]?(?P<secret>[A-Za-z0-9_.~+/-]{12,4096}={0,2})"),
        _is_bearer,
    ),
    Rule(
        "authorization",
        ("uthorization", "UTHORIZATION"),
        re.compile(
            r"(?i:uthorization)\\{0,7}[\"'`]?\]?[ \t]{0,4}[:=,][ \t]{0,4}\\{0,7}[\"'`]?(?:[A-Za-z-]{1,12}[ \t]{1,2})?"
            r"(?P<secret>[A-Za-z0-9_.~+/:-]{12,4096}={0,2})"
        ),
        _is_bearer,
    ),
    Rule("basic", ("Basic ", "basic "), re.compile(r"[Bb]asic {1,4}(?P<secret>[A-Za-z0-9+/]{8,512}={0,2})"), _is_basic),
)

# -- named: the value of something called a password, a token, a key ---------------------------------------------------

# Behind the name: its end, a closing quote or bracket, the sign between name and value.
_SUFFIX = r"(?:[_-]?(?:[0-9]{1,2}|prod|production|dev|live|test|staging|value|text|string|b64|base64|old|new|env))?"
_QUOTE = r"\\{0,7}[\"'`]"
_SIGN = (
    rf"(?:\\{{0,7}}[\"'`]?\]?[ \t]{{0,8}}(?::[ \t]{{0,3}}[\w.\[\]|? ]{{1,24}}[ \t]=|=>|:=|[:=]{{1,3}}|：)[ \t]{{0,8}}"
    rf"|{_QUOTE}[ \t]{{0,3}},[ \t]{{0,3}}(?={_QUOTE})|\([ \t]{{0,2}}(?=[\"'`])|>(?=[^<>\s]{{4,200}}</)"
    r"|[ \t]{1,3}(?=[\"'`]))"
)
# In quotes up to the same quote; without, up to a space or what ends a value, an escaped line end too.
_PLAIN = r"[^\s\"'`,;&<>|\\“”‘’«»「」。，]"
_BARE = rf"(?P<secret2>{_PLAIN}{{1,512}}+(?:\\(?![nrt\"'\\]){_PLAIN}{{0,64}}+){{0,4}}+)"
_REST = re.compile(r"[A-Za-z0-9+/=_.~%-]*+")
_VALUE = (
    rf"(?:[rbfuRBFU]{{0,2}}(?P<q>{_QUOTE})"
    r"(?P<secret>[A-Za-z0-9+/=_.~-]{4,2048}(?=(?P=q))|(?:(?!(?P=q))[^\r\n]){4,128}(?=(?P=q)))"
    rf"|{_BARE})"
)
_TOLD = rf"(?:[\"'`“‘«「]{{1,3}}(?P<secret>[^\s\"'`“”‘’«»「」]{{6,128}})|{_BARE})"
_CLOSING = ".:?)]}"  # at the end of a value without quotes: of the sentence or the call, not of the value


def secret_span(match: re.Match[str]) -> tuple[int, int]:
    """Where the secret stands in what matched."""
    name = match.lastgroup
    if name is None or not name.startswith("secret"):
        return match.span()
    start, end = match.span(name)
    if name == "secret2":
        rest = _REST.match(match.string, end, match.endpos) if end - start >= 512 else None
        end = rest.end() if rest else start + len(match[name].rstrip(_CLOSING))
    return start, end


def _value(match: re.Match[str]) -> tuple[str, bool]:
    """The value found and whether it stood in quotes."""
    quoted = match["secret"]
    return (quoted, True) if quoted is not None else (match["secret2"].rstrip(_CLOSING), False)


_WORD_OF_PASS = r"(?:(?:[Pp]ass|PASS)(?i:word|wd|phrase|code|wort)(?i:s)?|(?i:pwd)(?![a-zA-Z]))"  # noqa: S105 - a pattern
_PASS_FORMS = ("pass", "Pass", "PASS", "pwd", "Pwd", "PWD")
_TOLD_AS = (
    "is was are be becomes will should must now still just currently set changed to as of ist lautet est es".split()
)


def _is_assigned_password(match: re.Match[str]) -> bool:
    return (match["bare"] is None or _is_name_pass(match)) and is_password(*_value(match))


def _is_name_pass(match: re.Match[str]) -> bool:
    """`pass` and `PASS` alone are results of tests more often than names: `DB_PASS=` and `"pass":` are names."""
    before = match.string[max(0, match.start() - 1) : match.start()]
    after = match.string[match.start() + 4]
    return after in "=:\"'" and (before in ("_", "-", '"', "'") or (after == "=" and not before.isalpha()))


def _is_told(match: re.Match[str]) -> bool:
    return is_told_password(*_value(match))


def _is_option(match: re.Match[str]) -> bool:
    """`--password x`: the name is an option of a command."""
    before = match.string[max(0, match.start() - 24) : match.start()]
    return re.search(r"(?:^|[\s\"'])--?(?:[a-z]{1,12}-){0,2}$", before) is not None


_PASSWORDS = (
    Rule(
        "password",
        _PASS_FORMS,
        re.compile(f"(?:(?P<bare>(?i:pass)(?![A-Za-z]))|{_WORD_OF_PASS}){_SUFFIX}{_SIGN}{_VALUE}"),
        _is_assigned_password,
    ),
    Rule(
        "password",
        _PASS_FORMS,
        re.compile(rf"(?<=-)(?:{_WORD_OF_PASS}|pass)[ \t]{{1,3}}{_VALUE}"),
        lambda match: _is_option(match) and is_password(*_value(match)),
    ),
    Rule(
        "password",
        _PASS_FORMS,
        re.compile(
            rf"{_WORD_OF_PASS}(?:[ \t]{{1,3}}\(?(?:for|of|to|on|in|at)[ \t]+[\w@.'/-]{{1,40}}"
            r"(?:[ \t][\w@.'/-]{1,40}){0,2}\)?)?"
            rf"(?:[ \t]{{1,3}}(?:{'|'.join(_TOLD_AS)})){{0,3}}[ \t]{{0,3}}[:=]?[ \t]{{1,3}}{_TOLD}"
        ),
        _is_told,
    ),
    Rule(
        "password",
        ("contraseña", "senha", "пароль", "密码", "密碼", "パスワード", "비밀번호", "mot de passe"),
        re.compile(
            r"(?:contraseña|senha|пароль|密码|密碼|パスワード|비밀번호|mot de passe)"
            rf"(?:[ \t]{{0,3}}(?:[:=：]|es|é|est|是|为|は|—|-)){{1,2}}[ \t]{{0,3}}{_TOLD}"
        ),
        _is_told,
    ),
)

# `auth` is part of many words, so what follows it is part of the literal.
_NAMES = ("token", "secret", "key", "credential", *(f"auth{sign}" for sign in "=:\"' \\"))
_NAME_FORMS = tuple(form for name in _NAMES for form in (name, name.capitalize(), name.upper()))
_WORD_OF_NAME = r"(?P<name>(?i:tokens?|secret(?:[_-]?(?:access[_-]?)?key)?|keys?|auth|credentials?))"
_NOT_SECRET = re.compile(
    r"(?:next|page|continuation|sync|cursor|public|pub|cache|primary|foreign|sort|partition|object|idempotency|dedup"
    r"|stop|eos|bos|pad|max|num|message|lookup|group|registry|map|index|host|known|mon|don|tur|hoc)[_\s-]?$",
    re.IGNORECASE,
)
_SECRET_KEY = re.compile(
    r"(?:api|access|secret|private|auth|encrypt|encryption|decryption|signing|sign|master|account|service|app|application"
    r"|admin|client|licen[sc]e|deploy|hmac|aes|webhook|shared|root|jwt|session|cookie|integration|project|x)[_.\s-]?$",
    re.IGNORECASE,
)


def _is_named_secret(match: re.Match[str]) -> bool:
    value, _ = _value(match)
    before = match.string[max(0, match.start() - 24) : match.start()]
    if len(value) < 16 or _NOT_SECRET.search(before):
        return False
    name = match["name"].lower()
    if name == "auth" and before[-1:].isalpha():
        return False
    if name in ("key", "keys") and not _SECRET_KEY.search(before) and not match["name"].isupper():
        # Any map has keys: only what could be nothing else is taken for a secret.
        return not before[-1:].isalpha() and (is_drawn(value) or is_prefixed(value))
    return is_random(value)


def _is_told_secret(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 24) : match.start()]
    return is_random(_value(match)[0], 20) and not _NOT_SECRET.search(before)


def _is_near(match: re.Match[str]) -> bool:
    before = match.string[max(0, match.start() - 24) : match.start()]
    return _stands_out(match) and not _NOT_SECRET.search(before)


def _stands_out(match: re.Match[str]) -> bool:
    return is_drawn(match["secret"]) or is_prefixed(match["secret"])


# A word apart from others, with a digit, and with a capital or a prefix.
_OUTSTANDING = (
    r"(?:(?<=\\[nrt])|(?<![A-Za-z0-9_/+.@\\-]))(?<!sha[0-9]{3}[=:])(?=[A-Za-z_+/-]{0,255}[0-9])"
    r"(?=[a-z0-9_+/-]{0,255}[A-Z]|[A-Za-z][A-Za-z0-9]{1,11}[_-][A-Za-z0-9_-]{16})"
    r"(?P<secret>[A-Za-z0-9_+/-]{20,256}={0,2})(?![A-Za-z0-9_+/@-])"
)
_NAMED = (
    Rule(
        "secret",
        _NAME_FORMS,
        re.compile(f"{_WORD_OF_NAME}{_SUFFIX}{_SIGN}{_VALUE}"),
        _is_named_secret,
    ),
    Rule(
        "secret",
        _NAME_FORMS,
        re.compile(f"(?<=-){_WORD_OF_NAME}[ \\t]{{1,3}}{_VALUE}"),
        lambda match: _is_option(match) and _is_named_secret(match),
    ),
    Rule(
        "secret",
        _NAME_FORMS,
        re.compile(
            rf"{_WORD_OF_NAME}(?:[ \t]\(?(?:for|of|to|on|in)[ \t][\w@.'/-]{{1,40}}"
            r"(?:[ \t][\w@.'/-]{1,40}){0,2}\)?)?"
            rf"(?:,?[ \t](?:it|which|that))?(?:[ \t](?:{'|'.join(_TOLD_AS)})){{1,3}}[ \t]?:?[ \t]{_TOLD}"
        ),
        _is_told_secret,
    ),
    Rule(
        "secret",
        (*_NAME_FORMS, *_PASS_FORMS),
        # In a sentence or a line of a log: within reach of the word, something that stands out.
        re.compile(
            r"(?i:tokens?|secrets?|keys?|credentials?|auth|pass(?:word|wd|phrase|code)|pwd)(?![A-Za-z0-9_])[^\n]{0,60}?"
            + _OUTSTANDING
        ),
        _is_near,
    ),
    Rule(
        "secret",
        tuple(f" {form}" for form in (*_NAME_FORMS, *_PASS_FORMS) if form.isalpha()),
        re.compile(_OUTSTANDING + r"[ \t,.;:'\"`)][^\n]{0,40}\Z"),
        _stands_out,
        back=100,
    ),
)

_BY_FORM = (*_marked(), *_SHAPED, *_KEYS, *_SENT)
RULES: tuple[Rule, ...] = (*_BY_FORM, *_PASSWORDS, *_NAMED)  # the more exact first
FIRST_NAMED = len(_BY_FORM)


# -- tokens of makers we do not know -----------------------------------------------------------------------------------

LONG_RUN = 28  # letters and digits in a row; the identifiers of calls and messages have at most 24
_TOKEN_HEAD = re.compile(
    r"(?:(?<=\\[nrt])|(?<![A-Za-z0-9_+/.=@\\-]))[A-Za-z][A-Za-z0-9]{1,11}[_-](?:[A-Za-z0-9_-]{1,24}[_-])?$"
)
_TOKEN = re.compile(r"[A-Za-z0-9_-]{28,256}(?![A-Za-z0-9_+/=-])")


def unknown_token(text: str, run: int) -> tuple[int, int] | None:
    """The token with a prefix (`maker_…`) around a long run of letters and digits that begins at `run`."""
    head = _TOKEN_HEAD.search(text, max(0, run - 40), run)
    tail = _TOKEN.match(text, run) if head else None
    if head is None or tail is None or not is_drawn(tail[0], LONG_RUN) or _PUBLIC_ID.match(head[0]):
        return None
    return head.start(), tail.end()


# -- persons -----------------------------------------------------------------------------------------------------------

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+%-]{1,64}@(?:[\w-]{1,63}\.){1,8}[^\W\d_]{2,24}(?![\w-])")
_PHONE = re.compile(r"(?<![\w.+-])(?:\+|(?<![0-9] )00)[1-9][0-9]{0,2}(?:[ \u00a0./-]?\(?[0-9]{1,5}\)?){2,6}(?![\w-])")
_PHONE_US = re.compile(r"(?<![\w.+-])(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-.])[2-9][0-9]{2}[-.][0-9]{4}(?![\w.-])")
_IBAN = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}[0-9]{2}(?:[ -]?[A-Z0-9]{4}){2,7}(?:[ -]?[A-Z0-9]{1,3})?(?![A-Za-z0-9])")
_CARD = re.compile(r"(?<![\w.-])[2-6](?:[ -]?[0-9]){12,18}(?![\w-])")
_CARD_MAKER = re.compile(r"4|5[1-5]|2[2-7]|3[47]|3[0689]|35|6(?:011|4|5|2)")


def _is_phone(value: str) -> bool:
    digits = sum(map(str.isdigit, value)) - 2 * value.startswith("00")
    return 8 <= digits <= 15


def _is_iban(value: str) -> bool:
    plain = value.replace(" ", "").replace("-", "")
    return 15 <= len(plain) <= 34 and int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def _is_card(value: str) -> bool:
    digits = [int(char) for char in value if char.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return bool(_CARD_MAKER.match(value)) and len(set(digits)) > 2 and (sum(digits[::-2]) + sum(doubled)) % 10 == 0


PERSONAL: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("email", _EMAIL, lambda value: len(value) <= 254),
    ("iban", _IBAN, _is_iban),
    ("card", _CARD, _is_card),
    ("phone", _PHONE, _is_phone),
    ("phone", _PHONE_US, _is_phone),
)
