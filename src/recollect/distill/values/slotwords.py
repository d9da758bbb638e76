"""The words that slots are told by: which nouns name a value, which tools stand for the same choice, what to leave out.

Only what is named here can be the attribute of a slot. A list that is too short costs a slot; a wrong entry would let
one fact take the place of another.
"""

from __future__ import annotations

# A noun that has one value at a time, and what such a value looks like.
ATTRIBUTES: dict[str, str] = {
    **dict.fromkeys(("port",), "port"),
    **dict.fromkeys(("version", "release"), "version"),
    **dict.fromkeys(
        """timeout limit quota size count length width height depth budget threshold interval delay ttl rate ratio retry
        concurrency parallelism replica worker thread precision seed temperature duration age retention coverage
        maximum minimum capacity batch-size chunk-size page-size line-length pool-size""".split(),
        "amount",
    ),
    **dict.fromkeys(
        "host hostname url address endpoint domain server registry proxy mirror homepage website".split(), "address"
    ),
    **dict.fromkeys("path directory file location root socket workdir".split(), "path"),
    **dict.fromkeys(("branch", "tag"), "word"),
    **dict.fromkeys(("command",), "command"),
    **dict.fromkeys(
        """name language license licence timezone locale region zone editor shell theme font browser terminal
        framework orm linter formatter bundler compiler interpreter runtime database broker cache queue
        owner maintainer lead reviewer encoding charset currency package-manager test-runner build-system build-tool
        operating-system os model provider backend engine format style convention indentation schema keyboard
        nickname pronoun birthday employer city country strategy protocol algorithm prefix suffix""".split(),
        "name",
    ),
    **dict.fromkeys("day deadline date".split(), "when"),
}
# Attributes of two words, as they are said.
JOINED = {
    ("batch", "size"), ("chunk", "size"), ("page", "size"), ("pool", "size"), ("line", "length"),
    ("package", "manager"), ("test", "runner"), ("build", "system"), ("build", "tool"), ("operating", "system"),
}  # fmt: skip
# These say enough without a subject: a project has one of them. A bare "port" or "path" could be anybody's.
ALONE = frozenset(
    "timeout license timezone editor shell line-length build-system build-tool operating-system os orm".split()
)

# A subject of these alone is none: there are many files and endpoints.
NOBODY = frozenset("endpoint file path url address directory location route page link".split())

# What people use in each other's place. A tool may stand for several choices; what is said around it tells which.
CHOICES: dict[str, frozenset[str]] = {
    name: frozenset(words.split())
    for name, words in {
        "javascript package manager": "npm pnpm yarn bun",
        "python package manager": "pip uv poetry pipenv conda pdm hatch rye mamba",
        "python formatter": "black ruff yapf autopep8",
        "python linter": "ruff flake8 pylint",
        "python type checker": "mypy pyright pytype pyre basedpyright",
        "python test runner": "pytest unittest nose",
        "javascript test runner": "jest vitest mocha jasmine ava",
        "javascript linter": "eslint biome oxlint",
        "javascript formatter": "prettier biome dprint",
        "browser test tool": "playwright cypress selenium puppeteer webdriver",
        "javascript bundler": "webpack vite rollup parcel esbuild turbopack",
        "container tool": "docker podman nerdctl",
        "indentation": "tab space",
        "quote style": "single-quote double-quote",
        "theme": "dark-mode light-mode",
        "shell": "bash zsh fish nushell",
        "editor": "vim neovim emacs helix nano vscode",
        "way of merging": "rebase merge squash",
        "version control": "git jujutsu mercurial",
        "spelling": "british-spelling american-spelling",
    }.items()
}
# Words that only say again what a choice is about.
IMPLIED: dict[str, frozenset[str]] = {
    "javascript package manager": frozenset("package manager management dependency install javascript node".split()),
    "python package manager": frozenset("package manager management dependency install python".split()),
    "python formatter": frozenset("format formatter python".split()),
    "python linter": frozenset("lint linter python".split()),
    "python type checker": frozenset("type checker check checking typing python".split()),
    "python test runner": frozenset("test runner python".split()),
    "javascript test runner": frozenset("test runner javascript".split()),
    "javascript linter": frozenset("lint linter javascript".split()),
    "javascript formatter": frozenset("format formatter javascript".split()),
    "browser test tool": frozenset("browser test".split()),
    "javascript bundler": frozenset("bundler bundle bundling javascript".split()),
    "container tool": frozenset("container".split()),
    "indentation": frozenset("indentation indent indenting".split()),
    "quote style": frozenset("string quote".split()),
    "theme": frozenset("theme editor".split()),
    "shell": frozenset("shell".split()),
    "editor": frozenset("editor editing".split()),
    "way of merging": frozenset("branch pull request merging".split()),
}

SAME = {  # one thing under several names
    "postgresql": "postgres", "pg": "postgres", "k8s": "kubernetes", "db": "database", "repo": "repository",
    "dir": "directory", "folder": "directory", "prod": "production", "config": "configuration", "dev": "development",
    "deployment": "deploy", "deploying": "deploy", "testing": "test", "linting": "lint", "formatting": "format",
    "building": "build", "favorite": "favourite", "preferred": "favourite", "js": "javascript", "ts": "typescript",
    "py": "python", "golang": "go", "nodejs": "node", "env": "environment", "max": "maximum", "min": "minimum",
    "reply": "answer", "respond": "answer", "response": "answer", "licence": "license", "colour": "color",
    "nvim": "neovim", "hg": "mercurial", "jj": "jujutsu", "fe": "frontend", "be": "backend", "app": "application",
    "releasing": "release", "indenting": "indentation", "retrie": "retry", "auth": "authentication",
    "standup": "stand-up",
}  # fmt: skip
ENDS_IN_S = frozenset(
    """postgres kubernetes aws gcs dns css js ts https tls os ios macos bus canvas alias atlas rails jenkins windows
    sqs sns ses eks ecs kms iis cors dbus nodejs pandas analytics news series always ms""".split()
)

SMALL = frozenset(  # in a subject these say nothing
    """a an the this that these those our your its of for in on at to with by from as all any each every here there
    project repository codebase own new current currently actual correct right real now is are be""".split()
)
# With these a thing is another one than it seems, or was, or may be: no slot.
OTHERS = frozenset(
    """it they them he she him her we us i you one ones something anything nothing everything someone nobody who which
    what where why how old older other another previous former earlier last next first second third some most many few
    several same different bug error issue problem fix change failure exception warning todo question idea reason
    culprit cause point goal plan trick thing rest example step traceback""".split()
)
# Words of what is supposed, past, limited, or said together with something else: no slot.
HEDGES = frozenset(
    """if unless when whenever except or either neither maybe perhaps might could was were been previously formerly both
    also too respectively sometimes usually often mostly mainly else otherwise while whereas but however until till
    temporarily today tomorrow tonight yesterday soon later would may can trying plan plans planning think thinks guess
    wonder seem seems probably possibly apparently about around roughly between than then after before once again
    because since where which who whose there even still already yet almost let and""".split()
)
HEDGING = ("used to", "as well", "for now", "at the moment")
STATES = frozenset(  # what a noun may be without this being its value
    """broken missing wrong unknown slow fast open closed needed required optional used set configured unclear empty
    full available reachable down up taken free busy in on at to too very so also configurable different same fine good
    bad better worse best worst ready done stable unstable flaky red green new old important critical deprecated
    obsolete outdated supported unsupported invalid valid correct incorrect hardcoded hard-coded generated derived
    computed determined defined described documented fixed changed unchanged updated removed deleted added based not no
    never always still already just now only being getting going done made the a an our my your their its his her
    simple easy hard difficult complex clear obvious nice great huge small large big long short high low strong weak
    strict loose flexible clean safe unsafe secure insecure public private shared separate unique generic specific
    custom special normal usual common rare through via by with from below above following here there
    part one all none any some what where how why which that this it""".split()
)
NOT_VERSIONED = frozenset(
    """option step phase plan line page chapter issue pr ticket version port level strategy approach method variant
    solution number attempt section figure table row column item case stage round part pass tab space worker thread
    core replica shard retry test commit branch character at with up""".split()
)
LANGUAGES = frozenset(
    """english german french spanish italian portuguese dutch polish russian ukrainian turkish japanese korean chinese
    mandarin arabic hebrew hindi swedish danish norwegian finnish greek czech hungarian romanian vietnamese thai
    indonesian catalan""".split()
)
DAYS = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?|weekdays?|weekends?|workdays?"
# For these, many things can be used at once: "type hints for clarity", "short names for clarity".
PURPOSES = frozenset(
    """best better good result results performance speed convenience example reference instance purpose purposes sake
    reason reasons benefit fun everything anything ease flavor help effect efficiency maintenance comfort""".split()
)
# What happens at a time of its own, once a week or once at all; people, shops and shifts have several.
EVENTS = frozenset(
    """deploy release backup stand-up meeting meet demo retro retrospective planning sync review sprint build cron
    maintenance report invoice payroll launch freeze cleanup migration rollout rotation payday newsletter workshop
    training call interview scan audit sweep job ship""".split()
)
OFTEN = r"daily|hourly|nightly|weekly|monthly|quarterly|yearly"
RUNNERS = frozenset(  # what a command begins with
    """make just task npm pnpm yarn npx bun bunx deno node uv uvx poetry pdm hatch rye pip pipx python python3 pytest
    tox nox cargo go gradle mvn bazel buck docker podman kubectl helm terraform ansible-playbook bash sh zsh ruby bundle
    rake rails mix dotnet swift composer php phpunit jest vitest mocha playwright cypress ctest cmake ninja meson sbt
    stack cabal zig ./gradlew ./mvnw turbo nx lerna pre-commit ruff mypy black eslint prettier tsc vite webpack
    git""".split()
)
