"""How people tell how things are: where something lives, what it is called, needs or allows, who somebody is.

Patterns without behaviour, which `wishes` reads. A statement of this kind names its subject and is put in the
present, as a habit or a property; what is only so at the moment (`STATUS`) is left to the day it was said on.
"""

from __future__ import annotations

import re

from recollect.distill.rules.standing import SO, Cue, any_of

_CONCRETE = (
    r"(?:\b\d+(?:\.\d+)*\b|`[^`]+`|https?://\S+|\b[\w.-]+/[\w./-]+|\b[\w-]+\.[a-z]{2,5}\b|\b[A-Z][A-Z0-9_]{2,}\b"
    r"|\b[a-z]+[-_][\w-]+\b)"
)
_MADE = (
    r"(?:(?:called|named) \S|(?:written in|stored|located|hosted|kept|owned by|maintained by|generated|protected"
    r"|deprecated|dead"
    r"|read[- ]only|based on|built|done|started|run|tracked|defined|configured|caught by|formatted|encoded|mounted"
    r"|documented|described|available|limited to|required|disabled by default|enabled by default|managed|handled|served"
    r"|published|versioned|deployed|registered|declared|implemented|shared|cached|set|logged|sent|routed|mapped|gated"
    r"|compiled|installed|pinned|mirrored|backed up|spelled|measured|counted) (?:by|in|as|at|on|with|via|under|from|to"
    r"|through|using|for|inside|next|here)\b)"
)
_PROPERTY = (
    r"(?:generated|protected|deprecated|dead code|read[- ]only|case[- ]sensitive|append[- ]only|open source|private"
    r"|public"
    r"|immutable|idempotent|opt[- ]in|opt[- ]out|off by default|on by default|internal|mandatory|optional|legacy"
    r"|unused)\b"
)
_KIN = (
    r"(?:wife|husband|partner|son|daughter|kids?|children|mother|father|mum|mom|dad|brother|sister|dog|cat|boss|manager"
    r"|team|company|flat|house|car|bike|doctor|birthday|name|job|address|phone|laptop|budget|flight|train|hotel|school)"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_WE_DO = (
    r"(?:use|run|deploy|host|build|test|format|write|store|keep|name|track|ship|log|query|publish|release|version|tag"
    r"|review"
    r"|squash|merge|document|support|target|maintain|follow|prefix|validate|generate|pin|lint|mock|call|work|measure"
    r"|prefer"
    r"|back|rotate|sign|rely|speak|meet|develop|bill|pay|buy|own|sell|serve)"
)
_NOT_IT = r"(?!(?:it|this|that|these|those|they|there|here|he|she|i|you)\b)"

THINGS = (
    # What to look into.
    Cue(
        "reference",
        0.65,
        any_of(
            r"(?:\b(?:see|follow|according to|based on|documented (?:in|at)|described (?:in|at)|find|found|located"
            r"|style of"
            r"|docs?|documentation|spec|guide|runbook|dashboard|wiki|board|designs?|mockups?|template|reference"
            r"|tutorial|api)\b"
            r".{0,60}|^)(?<![\w/])https?://(?!\S*/(?:pull|issues|merge_requests|commit|actions|runs)/)\S{6,}",
            r"\b(?:docs?|documentation|spec|guide|runbook|dashboard|wiki|design doc|board|notes|roadmap|glossary|adrs?"
            r"|mockups?"
            r"|style ?guide|changelog|api spec) (?:for \w+(?: \w+)? |of \w+ )?(?:is|are|lives?|sits?) (?:in|at|under"
            r"|on)\b (?!the"
            r" way|my way|it\b)",
            r"\byou(?:'ll| can| will)? (?:can )?find (?:the |our |all |it |them )?.{2,60} (?:in|at|under|on) \S+",
            r"\b(?:die|unsere) (?:doku|dokumentation|anleitung) (?:liegt|steht|ist)\b|\bla (?:doc|documentation)"
            r" (?:est|se trouve)\b"
            r"|\bla documentación está\b",
        ),
    ),
    # How things are, with those who say it.
    Cue(
        "fact",
        0.7,
        any_of(
            r"\b(?:we|i) (?:usually|normally|typically|generally|mostly|always|often|never|only) (?!want"
            r"|forget|confuse|mix|wonder|struggle|lose|miss|end up|fail|run into|wanted|did|have to"
            r"|remember|think|said|got|saw|had to|see|get|find|need)\w+",
            r"\b(?:my|our) [a-z][\w' -]{1,40}? (?:is|are|lives?|works?|runs? on|listens?|uses?|has|have|starts?|named"
            r"|called"
            r"|needs?|goes|go|comes?|wants?|likes?|ends?|was born|must|cannot|can'?t|does not|doesn'?t)\b(?!"
            r" (?:failing|broken"
            r"|not working|still|now|wrong|done|empty|slow|there|down|up\b|gone|missing|ready|a bit|too|been|to (?:do"
            r"|fix)))",
            r"\bi(?:'m| am) (?:a|an|the (?:author|owner|maintainer|lead)|allergic|vegetarian|vegan|diabetic|from|based"
            r" in"
            r"|married|left-handed|colou?r[- ]?blind|new to|\d\d? years|responsible for|in charge of|on (?:a mac|linux"
            r"|windows"
            r"|macos|ubuntu|debian))\b(?! (?:bit|little|lot|idiot|fool))",
            r"\b(?:he|she|they|\w+)(?:'s| is| are) (?:[\w-]+ (?:years old )?(?:and|but) )?(?:allergic|vegetarian|vegan"
            r"|diabetic"
            r"|colou?r[- ]?blind|left-handed|pregnant)\b",
            r"\bi (?:live|work|study|teach|was born|grew up|moved|commute|come) (?:in|at|for|as|near|with|on|to"
            r"|from)\b",
            r"\bi (?:speak|own|drive|play) (?!about|with (?:you|the)|around|it\b|this|that)\w+",
            rf"\b(?:my|our) {_KIN}\b(?= [A-Z]| (?:is|are|was|has|lives?|works?|starts?|likes?|needs?|goes))",
            r"\bi have (?:a|an|two|three|four|\d+) (?:\w+ )?(?:kids?|children|daughters?|sons?|dogs?|cats?|sisters?"
            r"|brothers?"
            r"|allergy|allergies|phd|degree|mac|macbook|thinkpad|condition)\b",
            rf"{SO}(?:(?:i|we)(?:'ve| have)? (?:just )?)?(?:booked|reserved|bought|ordered|signed up|rented|scheduled"
            rf"|got married"
            rf"|enrolled)\b.{{3,120}}(?:\b\d|\b{_MONTH}\b|\b[A-Z]\w+)",
            r"\bwe(?:'re| are) (?:the )?(?:maintainers?|owners?|authors?|based in|a (?:\w+ )?(?:team|company|shop"
            r"|startup))\b",
            r"\b(?!who|what|which|it|this|that|there|here)\w+ (?:is|are) (?:our|the (?:team|tech|project|product) \w+"
            r"|(?:the|my|a) (?:designer|lead|owner|maintainer|manager|architect|reviewer|contact|customer|client"
            r"|sponsor))\b",
            SO
            + r"(?:ask|talk to|contact|ping|write to) (?!me\b|the\b|it\b|a\b|an\b|for\b|claude\b|codex\b)\w+ (?:about"
            r"|for|before|if"
            r"|when)\b",
            r"\b(?:is|are) owned by\b|\bowns? (?:the|all|that|this)\b",
            r"\bwe do(?:n'?t| not) (?:have|use|support|ship|allow|care about|do|deploy|test|mock|target|run)\b(?!"
            r" (?:to|this|that"
            r"|it|any idea|time|enough))",
            rf"(?:^|[,;:] |\b(?:and|but|so|btw|here|repo|project|team|company|now) ){_NOT_IT}we (?:only |also |just "
            rf"|all |currently )?{_WE_DO}\b"
            r"(?! (?:this|that|it\b|the (?:same|old|new)|into|out|on (?:this|it)|(?:the|a) (?:wrong|fix)))",
            r"\bin (?:this|our|my|the) (?:repo(?:sitory)?|project|code ?base|team|company|org|monorepo|office|city"
            r"|family)\b,? (?:we"
            r"|i|the|all|every|each|nobody|everyone|\w+s (?:are|is|have|must|go|live))\b",
            r"\b(?:listens?|runs?|is|are|sits?|served|exposed) (?:\w+ )?on (?:port )?\d{2,5}\b|\bport (?:of .{2,40}"
            r" )?(?:is|for .{2,40}"
            r" is) \d+",
            r"\b(?:on|behind|at|uses?) port \d{2,5}\b",
            r"^\W*(?:and |but |so |ok |btw )?(?:the|our) (?!bug|problem|issue|error|fix|change|failure|crash)"
            r"[\w' -]{2,40}? (?:is|are) (?:reachable |hosted |available )?(?:at|behind) (?:https?://\S+|[\w-]+(?:\.[\w-]+)+|\d+(?:\.\d+){3})",
            r"\bthe (?:correct|right|proper|actual|real) (?!answer)(?:[\w-]+ ){1,3}(?:is|are) (?!not\b|wrong\b|to\b)"
            r"[^?]{2,80}?,? (?:and )?not ",
            rf"^(?:\W|and |but |so |ok |btw )*{_NOT_IT}[\w'./ -]{{3,60}}? (?:lives?|sits?|resides?|is located|are"
            rf" located) (?:in|at|on"
            r"|under|behind|next to|inside)\b",
            rf"^(?:\W|and |but |so |ok |btw )*{_NOT_IT}[\w'./` -]{{3,60}}? (?:is|are|get|gets) (?:always |only |all "
            rf"|usually |now )?{_MADE}",
            rf"^(?:\W|and |but |so |ok |btw )*{_NOT_IT}(?:the |our |all |these )[\w'./` -]{{3,60}}? (?:is|are)"
            rf" {_PROPERTY}",
            rf"^(?:\W|and |but |so |ok |btw )*(?:the |our |a |this |that |\w+ )[\w'./` -]{{2,50}}? (?:needs?|requires?"
            rf"|expects?)"
            rf" (?:at least |a |an |the )?{_CONCRETE}",
            r"\b(?:only works?|works? only|can only (?:be )?(?:run|used|started|called)|must be (?:run|started|called"
            r"|executed)) (?:from"
            r"|in|on|with|when|if|as|under|inside|behind|after|before)\b",
            r"\byou (?:have|need) to (?:be|run|set|start|have|export|install|use|log|enable|activate|call"
            r"|build)\b.{3,120}\b(?:to|or|or"
            r" else|otherwise|before|because)\b",
            r"\b(?:needs?|requires?) (?:at least |more than )?(?:\d|[A-Z][A-Z0-9_]{2,}=|[A-Z][A-Z0-9]+_[A-Z0-9_]+)",
            SO + r"to (?:run|get|build|start|test|deploy|reset|debug|install|release|access|connect|log ?in|generate"
            r"|regenerate|reach"
            r"|lint|format|publish|seed|migrate|check) (?!this|that|it\b|started|rid|fix)[\w' ./-]{2,60}?(?:[,:] ?|"
            r" )(?:use|run|do|call|type"
            r"|you (?:need|have|can|must)|\w+ (?:-|exec|run))\b",
            rf"^(?:\W|and |but |so |ok |btw )*{_NOT_IT}(?:the |our |every |each )?[\w'` -]{{3,40}}? (?:has|have) (?:a "
            rf"|an )?(?:\w+ )?(?:limit"
            r"|quota|maximum|default|timeout|ttl|\d+ (?:million|thousand|rows|gb|users|nodes))\b",
            r"\b(?:is|are) not (?:supported|allowed|available|possible|installed|used|shipped|tested|public"
            r"|thread[- ]safe)\b",
            r"\byou (?:can'?t|cannot) (?:run|use|build|start|reach|call|deploy|install|test)\b.{3,80}\b(?:on|in|with"
            r"|without|from|unless)\b",
            r"\bthe (?:person|one|team|channel) to (?:ask|contact|talk to|use)\b",
            r"\bwe have (?:an?|two|three|four|five|six|\d+|no|several|only) (?!(?:\w+ )?(?:problems?|questions?"
            r"|issues?|bugs?|conflicts?|look"
            r"|meeting|choice|idea|error|few)\b)\w+",
            r"^\W*(?:the |our |all (?:the |our )?)?(?:\w+ )?(?:creds|credentials|secrets|keys|configs?|docs|code|logs"
            r"|data|backups|designs|passwords"
            r"|certs|scripts|templates|migrations|fixtures|types|translations|assets|snapshots) (?:is|are|live|go"
            r"|come) (?:in|on|at|under|from|to|into)"
            r" (?!the (?:wrong|same)|place\b|sync\b)",
            SO + r"(?!(?:the|these|those|this|tests|it|things|results|changes|lots|always|was|is|as|us|thanks"
            r"|yes)\b)[a-z][\w-]*(?: [a-z][\w-]*)?s"
            r" (?:are (?:cut|made|sent|kept|named|written|stored|deployed|released|signed|rotated|billed|paid|run"
            r"|formatted)|start with|end with"
            r"|begin with|are (?:camel|snake|kebab|pascal)\w*|live|happen|belong)\b",
            r"^\W*(?:the |our )[\w -]{2,40}? (?:talks?|speaks?|connects?|depends?|falls? back|defaults?|maps?|belongs?"
            r"|points?) (?:to|on|with|over)\b",
            r"\bnobody (?:knows|uses|calls|needs|reads|maintains|owns)\b",
            r"\b(?:goes|go|are sent|is sent|written|writes?) (?:to|into) (?:loki|s3|stdout|stderr|the (?:production"
            r"|prod|staging|database"
            r"|queue|bucket)|\w+ at)\b|\blogs go to\b",
            r"\bby default\b(?!.{0,40}\?)",
            r"\b(?:main|default|release|protected|production) branch (?:is|are)\b|\bbranch is called\b",
            r"\b(?:version|limit|convention|deadline|budget|time ?zone|default|password|username|hostname|domain"
            r"|bucket|region|license"
            r"|licence|format|encoding|entry ?point|owner|naming) (?:\w+ ){0,3}(?:is|are)\b(?! (?:wrong|missing|not"
            r"|broken|still|too|set"
            r" wrong|empty|off\b|gone))",
            # German, French, Spanish
            r"\bwir (?:nutzen|verwenden|benutzen|deployen|bauen|testen|haben (?:immer|meistens)|arbeiten|releasen)\b"
            r"|\b(?:mein|meine|unser|unsere|der|die|das) [\w-]{2,40} (?:heißt|läuft (?:auf|unter|in)|liegt (?:auf|in"
            r"|im|unter)|lebt)\b"
            r"|\b(?:mein|meine|unser|unsere) [\w-]{2,40} (?:ist|sind|hat|braucht)\b|\bich (?:wohne|lebe|arbeite|heiße"
            r"|komme)\b",
            r"\b(?:nous|on) (?:utilisons|utilise|déploie|déployons|travaille|teste|garde)\b|\b(?:mon|ma|mes|notre|nos"
            r"|le|la) [\w' -]{2,40}?"
            r" (?:s'appelle|tourne (?:sur|dans)|se trouve|vit)\b|\b(?:mon|ma|mes|notre|nos) [\w' -]{2,40}? (?:est|sont"
            r"|a)\b"
            r"|\bj'habite\b|\bje (?:travaille|vis|m'appelle)\b",
            r"\b(?:nosotros )?(?:usamos|desplegamos|trabajamos|probamos)\b|\b(?:mi|mis|nuestro|nuestra|nuestros"
            r"|nuestras|el|la) [\w' -]{2,40}?"
            r" (?:se llama|corre en|está en|vive en)\b|\b(?:mi|mis|nuestro|nuestra) [\w' -]{2,40}? (?:es|son|tiene)\b"
            r"|\bvivo en\b|\bme llamo\b",
        ),
    ),
)
# Said of the day.
STATUS = any_of(
    r"\b(?:we|i) (?:still |also |just |kinda |now )?(?:need|want|kinda|would like)\b|\bhow would\b",
    r"\b(?:still|again|currently|at the moment|right now|just now|already|yet|is now|are now|anymore\?|momentan|gerade"
    r"|toujours pas)\b",
    r"\b(?:is|are|was|were|looks?|seems?|feels?) (?:\w+ly |too |so |a bit |a little |kind of |pretty |very |completely"
    r" )*(?:red|green|blue"
    r"|down|up|broken|blank|empty|weird|slow|wrong|off|missing|gone|stuck|failing|running|done(?! (?:with|by|via"
    r"|in)\b)|ready|good|nice|great|fine|bad|ugly|ok|okay"
    r"|better|worse|frozen|dead(?! code)|crashed|outdated|full|stale|flaky|merged|pushed|finished"
    r"|confusing|unclear|strange|back|live|long|short|big|small|cut"
    r" off)\b(?! for\b)",
)
# A person, told of with a pronoun: the sentence before says who it is.
PERSON = re.compile(r"^(?:he|she|they|his|her|their)\b", re.IGNORECASE)
