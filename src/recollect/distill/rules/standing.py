"""How people say outright that something is to be kept: a word put before it or behind it, or how a rule is put.

A sentence goes in; what it announces itself to be, and the words that say it, come out. These count whatever the
session is about and in its first prompt too, and an imperative among them is a rule, not a request. Patterns without
behaviour beyond that; those for sentences that need more doubt are in `cues`.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Cue(NamedTuple):
    """How a sentence of some kind is put, and how much it matters."""

    kind: str
    importance: float
    pattern: re.Pattern[str]


def any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


# What people put before a sentence without meaning anything by it.
SO = (
    r"^(?:(?:and|but|so|also|please|ok(?:ay)?|yes|yeah|yep|no(?=[,.!:-])|nope|well|oh|ah|hm+|just|again|btw|by the way"
    r"|then|though|i think|i guess|maybe|right|good|great|cool|nice|perfect|thanks|alright|actually|sorry|hey"
    r"|bitte|also gut|gut|übrigens|s'il te plaît|d'accord|bon|por favor|vale|bueno)\b[\s,.:!-]*){0,4}"
)
_SAID = r"(?: (?:that|this|though|please|dass|que)\b)?\s*[:,;.–—-]*\s+"

# Words that announce what comes behind them. The payload begins where they end.
MARKERS = (
    (
        "lesson",
        any_of(
            SO + r"(?:(?:the |my |our |a )?(?:lesson|lessons|takeaway|learning)s?(?: learned| learnt)?"
            r"(?: (?:for|from) (?:next time|the future|this|that|today|me|us))?(?: (?:is|was)(?: that)?\b|\s*[:,–—-])"
            r"|gotcha\s*[:,–—-]|(?:the |my )?(?:root cause|cause|fix|solution|workaround|reason)\s*[:–—]|(?:be"
            r" )?careful\s*[:,–—-]|caution\s*[:,–—-]|(?:watch out|beware)\b(?: that\b"
            r"|\s*[:,–—-])"
            r"|(?:pro ?)?tip\s*[:–—-]|achtung\s*[:,–—-]|vorsicht\s*[:,–—-]|attention\s*[:,–—-]|ojo\s*[:,–—-]"
            r"|(?:we|i)(?:'ve| have)? (?:just )?(?:learned|learnt)(?: the hard way)? that\b"
            r"|(?:gelernt|leçon|lección|erkenntnis)\s*[:–—-])\s*",
        ),
    ),
    (
        "decision",
        any_of(
            SO + r"(?:(?:the |my |our |final |so |a )*(?:decision|verdict|conclusion|resolution)(?: here)?"
            r"(?: (?:is|was)\b(?: that\b| to\b)?|\s*[:–—-])|(?:ok(?:ay)? )?"
            r"(?:(?:we|i)(?:'ve| have)? )?(?:settled|decided|agreed)(?: then)?\s*[:,–—-]"
            r"|(?:so )?let'?s (?:decide|agree|settle)(?: on)?(?: (?:that|this|it))?\s*[:,–—-]"
            r"|(?:entscheidung|beschlossen|décision|décidé|decisión|decidido)\s*[:,–—-])\s*",
        ),
    ),
    (
        "preference",
        any_of(
            SO + r"(?:(?:the |a |my |our |new |another |one |house |team |project |general |golden |hard )*"
            r"(?:rules?|polic(?:y|ies)|guidelines?|conventions?|preferences?|regel|règle|regla|norma)"
            r"(?: (?:here|of thumb|for (?:you|me|us|all|this (?:repo|project))|number \w+))?"
            r"(?: is\b(?: that\b)?|\s*[:–—-])"
            r"|as a (?:general )?rule(?: of thumb)?\s*[:,–—-]?)\s*",
        ),
    ),
    (
        "",  # what it is instead
        any_of(
            SO + r"(?:that|this|it|what i said)(?:'s| is| was) (?:wrong|incorrect|not (?:right|true|correct)|a mistake"
            r"|outdated|no longer (?:true|right))\s*[:;–—-]\s*",
        ),
    ),
    (
        "",  # whatever it says
        any_of(
            SO + r"(?:(?:(?:please|also|do|always|just) )*remember|(?:quick |small |side )?note(?: to (?:self|you"
            r"|myself))?"
            r"|n\.?b\.?|fyi|for your info(?:rmation)?|for the record|for (?:context|reference|future reference|next"
            r" time)"
            r"|(?:please |just )?(?:keep|bear|have) in mind|important(?:ly)?|(?:this|that|one thing) is important"
            r"|heads[ -]?up|just so you know|so (?:that )?you know|you should know|(?:small |friendly )?reminder"
            r"|(?:please )?do(?:n'?t| not) forget|be aware|note|context|background|ps|hint"
            r"|one (?:more )?thing to (?:know|remember|note|keep in mind)|what you (?:should|need to) know"
            r"|merke?(?: dir)?|wichtig|hinweis|zur info(?:rmation)?|denk(?:e)? (?:daran|dran)|nicht vergessen|notiz"
            r"|retiens|note bien|à noter|important|pour info(?:rmation)?|n'oublie pas|rappelle-toi|souviens-toi"
            r"|recuerda|ten en cuenta|importante|nota|para que (?:lo )?sepas|no olvides)"
            r"(?= (?:that|this|though|please|dass|que)\b|\s*[:,;–—]|\s+(?:the|we|our|my|all|i|you|to|every|each|never"
            r"|always|no|there|in|on|production|prod|staging|tests?|\w+s)\b)" + _SAID,
        ),
    ),
)
# Words behind a sentence that do the same.
AFTER = re.compile(
    r"[\s,;.–—-]+(?:and )?(?:please )?(?:(?:please )?remember (?:that|this|it)|(?:keep|bear) (?:that|this|it) in mind"
    r"|(?:just )?so you know|fyi|for (?:the future|next time|future reference|the record|your information)"
    r"|note (?:that|this) down|make a note(?: of (?:that|this|it))?|do(?:n'?t| not) forget (?:that|this|it)"
    r"|merk dir das|zur info|retiens-le|pour info|recuérdalo|no lo olvides)(?: please| bitte)?[\s.!]*$",
    re.IGNORECASE,
)
# Where a payload says how things are to be, it is a rule.
WISHES = any_of(
    r"^(?:please )?(?:always|never|no|do not|don'?t|avoid|only|use|write|keep|make|put|run|ask|prefer|stick|immer|nie"
    r"|niemals|keine?n?|toujours|jamais|siempre|nunca|n'\w+ jamais)\b",
    r"\b(?:must|should|shall|have to|has to|may not|ought to|are to|is to|always|never|immer|nie|niemals|müssen|muss"
    r"|sollen|soll|dürfen|darf|doit|doivent|toujours|jamais|siempre|nunca|debe|deben|only on|every \w+ (?:gets?"
    r"|needs?))\b",
)

_REPO = (
    r"(?:this|the|our|my|these|every|all(?: of)?(?: our| the| my)?) (?:\w+ )?(?:repo(?:sitory|s)?|projects?|code ?base"
    r"|team|company|org(?:ani[sz]ation)?|apps?|services?|packages?|workspace|monorepo|office)"
)
_STYLE = (
    r"(?:brief|concise|short|terse|direct|honest|specific|precise|careful|explicit|polite|formal|informal|blunt|simple"
    r"|small|minimal|plain|consistent|focused|readable|lean|compact|low|in sync|up to date)"
)
_NO_THING = (
    r"(?!(?:need|idea|problem|problems|worries|wait|one|thanks|thank|way|doubt|that|it|its|the|this|i|you|we|not|but|so"
    r"|they|there|just|please|luck|longer|error|errors|output|change|changes|difference|clue|rush|hurry|other|such)\b)"
)

STANDING = (
    # Standing rules.
    Cue(
        "preference",
        0.9,
        any_of(
            SO + r"(?:from (?:now|here) on|going forward|in (?:the )?future|as a rule|by default|at all times"
            r"|no matter what|henceforth)\b",
            SO
            + r"i (?:always|never) (?:want|use|prefer|write|run|commit|squash|rebase|deploy|test|put|keep|name|format"
            r"|sign|review|merge|push|accept|allow)\b",
            SO + r"(?:you (?:must |should )?|we (?:must |should )?)?(?:always|never)\b (?!mind\b|saw\b|seen\b|said\b"
            r"|had\b"
            r"|heard\b|did\b|got\b|been\b|worked\b|thought\b|knew\b|know\b|understood\b|used to\b|noticed\b|tried\b)",
            r"\b(?:we|you|agents?|tests?|commits?|everyone|code|it|they) (?:should|must|shall|do|need to|have to)"
            r"(?: only|) (?:always|never)\b",
            r"^\W*(?:(?:and|so|ok(?:ay)?|hey|but)\b[, ]*)*can (?:we|you) (?:please )?(?:always|never)\b",
            r"\b(?:make|be) sure (?:to |that |you |we )*(?:always|never)\b",
            r"\b(?:every time|each time|whenever|before (?:you|each|every|any)|after (?:each|every|any)) .{3,120}"
            r"\b(?:always|never|run|use|check|make sure|ask|don'?t|do not|must|should|please|bump|update|add|call"
            r"|tell)\b",
            SO + r"before (?:each|every|any) .{3,60}[,:] ?\w+",
            SO
            + r"when(?:ever)? you (?!'?re (?:done|finished)|are (?:done|finished)|finish|get|can|have|click|open|press"
            r"|see"
            r"|look|said|say|did|do (?:it|that|this)\b|think)\w+ .{2,80}?, (?!it\b|i\b|there\b|the \w+ (?:is|does"
            r"|shows))\w+",
            r"\bkeep (?:each|every|all)\b",
            r"\bunder no circumstances\b|\bi (?:always|never) want\b|\byou (?:always|never) (?:have to|need to"
            r"|should)\b",
            r"[,;] (?:every time|each time|always|from now on|going forward|without exception|no exceptions)[.!]*$",
            # German, French, Spanish
            SO + r"(?:bitte )?(?:ab (?:jetzt|sofort|heute)|künftig|in zukunft|grundsätzlich|niemals|nie|immer)\b",
            r"\b(?:antworte|benutze?|verwende|nutze?|nimm|mach|schreib\w*|committe?|lass|führe?|frage?|speicher\w*"
            r"|stell)\b"
            r".{0,60}\b(?:immer|nie(?:mals)?|keine?n?)\b",
            r"\b(?:wir|du|man|tests|commits|alle \w+|jede\w* \w+) (?:soll(?:en|st|te\w*)?|muss|müssen|darf\w*|dürfen)\b"
            r".{0,80}\b(?:immer|nie(?:mals)?|keine?n?|nicht|sein|werden|haben)\b",
            SO + r"(?:désormais|dorénavant|à l'avenir|à partir de maintenant|toujours|ne \w+ jamais|n'\w+ jamais)\b",
            r"\b(?:réponds?|utilise|fais|écris|mets|lance|ajoute|commit|garde|demande)\w*\b.{0,60}\b(?:toujours"
            r"|jamais)\b",
            r"\bil (?:faut|ne faut) (?:toujours|jamais|pas)\b|\b(?:on|nous|tu) (?:doit|devons|dois) (?:toujours"
            r"|jamais)\b",
            r"\b(?:les|tous les|toutes les) [\w-]{3,30} doivent\b|\b(?:los|las|todos los|todas las) [\w-]{3,30}"
            r" deben\b",
            SO + r"(?:siempre|nunca|jamás|a partir de ahora|de ahora en adelante)\b",
            r"\b(?:responde|usa|haz|escribe|pon|ejecuta|añade|pregunta|guarda)\w*\b.{0,60}\b(?:siempre|nunca)\b",
            r"\b(?:hay que|debemos|debes|tienes que) (?:siempre|nunca)\b|\bnunca (?:uses|hagas|toques|borres|pongas)\b",
        ),
    ),
    # What somebody likes.
    Cue(
        "preference",
        0.85,
        any_of(
            SO + r"prefer\b (?!the (?:first|second|third|last|other|latter|former)|th(?:is|at)\b|it\b|option)",
            r"\b(?:i|we)(?:'d| would)? (?:really |much |strongly |generally |usually |always |also |still )?(?:prefer"
            r"|favou?r)"
            r"\b(?! (?:the (?:first|second|third|last|other|latter|former|old|new)\b|th(?:is|at)\b|it\b|option"
            r"|[a-d1-9]\b))",
            r"\b(?:i|we)(?:'d| would) (?:much |really )?rather (?!not\b)",
            r"\b(?:i|we) (?:really |absolutely |personally )?(?:love|hate|dislike|can'?t stand"
            r"|do(?:n'?t| not) (?:really )?(?:like|love|enjoy))\b(?! (?:this|that|it|the (?:first|second|new|old)|how"
            r" (?:this"
            r"|it|that))\b(?! when))",
            r"\b(?:i|we) (?:really |also )?like (?:to|it when|my|our|short|long|small|simple|plain|dark|light|clean"
            r"|explicit"
            r"|having|when|\w+s (?:with|that|in)|\w+ \w+s\b)\b",
            r"\b(?:please|can we|let'?s|always|we|to) stick (?:to|with) (?!\d|(?:this|that|it|option|the (?:first"
            r"|second|plan))\b)",
            r"\bmy (?:favou?rite|preferred|preference|personal preference)\b",
            r"\b(?:it )?(?:annoys|bothers|irritates) me (?:when|that|if)\b",
            r"\bich (?:bevorzuge|hasse|hätte (?:lieber|gerne?)|will (?:nicht|keine?)|möchte (?:nicht|keine?|lieber)|mag"
            r"(?! das| es| dies))\b|\blieber \w+ (?:als|statt)\b",
            r"\bje (?:préfère|n'aime pas|déteste|ne veux pas|voudrais plutôt|aime mieux)\b(?! (?:ça|cela|le premier))",
            r"\b(?:prefiero|preferimos|no me gusta|odio|no quiero|me gusta más)\b(?! (?:eso|esto|el primero))",
        ),
    ),
    # What is not wanted, and how something is to be done wherever it is done.
    Cue(
        "preference",
        0.8,
        any_of(
            SO + r"(?:stop|quit) (?:\w+ )?\w+ing\b(?! (?:it|that|this)\W*$)",
            SO + r"(?:do not|don'?t|dont) ever\b",
            SO + rf"no (?:more )?{_NO_THING}\w[\w' -]{{2,60}}? (?:in|on|for|at|per|from|inside|outside|without|please"
            rf"|under)\b",
            SO + rf"(?:bitte )?keine?n? \w+ (?:\w+ )?(?:in|im|auf|mehr|bitte|bei)\b|{SO}nicht mehr \w+",
            SO + r"(?:please )?(?:use|write|put|keep|name|call|format|add|prefix|store|log|test|mark|wrap|sort|follow"
            r"|stick to"
            r"|document|indent|quote|pin|sign|tag|spell|import|return) .{2,120}?\b(?:in|for|across|throughout|on|with) "
            rf"(?:all|every|each|any|everything|{_REPO}|the whole|new|user[- ]facing)\b(?! (?:this|that|of (?:this"
            rf"|that|them)))",
            SO + r"(?:please )?(?:use|write|put|keep|name|call|format|add|store) .{2,120}?\b(?:everywhere|consistently"
            r"|whenever|at all times|wherever)\b",
            SO + r"(?:please )?(?:use|prefer) (?!(?:the|a|an|this|that|it|these|those|them|both|two|one|another|your|my"
            r"|its|his"
            r"|some|option|approach|port|first|second|last|same|sub|more|all|what|whatever|just|only|\d\S*)\b)"
            r"[\w.+#/`-]+(?: [\w.+#/`-]+){0,3}"
            r"(?:,? (?:instead of|rather than|over|(?:and )?not) [\w.+#/` -]{2,60})?[.!]*$",
            SO + r"(?:please )?use \d+ (?:spaces|tabs|characters|columns)\b",
            SO + r"(?:please )?(?:write|keep|name|put|make|document|prefix|sort|format|wrap|mark) (?!(?:the|this|that"
            r"|these|those|its|his"
            r"|yours|always|changes|things|notes|files|us)\b)[a-z-]+s (?:\w+ )?(?:first|under|over|below|above|short"
            r"|small|in|with|before"
            r"|after|next to|at|from|like|as|simple|private|sorted)\b",
            SO + r"(?:please )?(?:answer|reply|respond|speak|talk|communicate)(?: (?:to )?me)? (?:only |always )?(?:in"
            r"|with"
            r"|briefly|shortly|as)\b",
            SO + rf"(?:please )?be (?:more |as |very |a bit (?:more )?)?{_STYLE}\b",
            SO + rf"(?:please )?keep (?:the |your |all |our |my |it |them |things |every\w* |any )?(?:[\w' -]{{2,40}}"
            rf" )?(?:more )?{_STYLE}"
            r"\b(?! (?:for now|this time))",
            r"\b(?:every|each|all(?: of)?(?: the| our| new| public)?) (?:new |public |single |other )?[\w' /-]{2,40}? "
            r"(?:must|should|shall|needs?|has to|have to|gets?|requires?|goes?|go) (?!fine|good|through yet|wrong|to"
            r" (?:bed|sleep))",
            r"\b(?:is|are|gets?) (?:always|never) (?:formatted|written|stored|named|called|signed|run|used|deployed"
            r"|kept|put"
            r"|done|logged|tested|committed|sorted|prefixed|pushed|merged|imported|returned|quoted|in|on|by|\w+ed"
            r" (?:as|in|by"
            r"|with|to|from))\b",
            SO + r"(?!(?:the|these|those|this|my|our|its|tests pass|it|things|results|changes)\b)[a-z][\w-]*(?:"
            r" [a-z][\w-]*)?s"
            r" (?:should|must|have to|need to|may)(?: not| never| always| only)? (?!(?:work|pass|be (?:fine|ok\w*|good"
            r"|fixed|done|green|there|able"
            r"|\w+ed\W*$)|have been|now)\b)\w+",
            r"\b(?:maximum|max|minimum|min)\.? (?:\w+ ){1,3}(?:is|are|of) \d",
            r"\b(?:before|for|in|on|after|when|with) (?:a|an|any|all|every|each|most|larger?|big|bigger|new)"
            r" [\w -]{3,60}\bi want\b",
            r"\bi(?:'d like| want| would like) (?:the|our|all|every|my) (?!\w+ (?:button|page|title)\b)[\w -]{2,40}?"
            r" to (?:stay|work"
            r"|remain|always|never|use|have|follow|support|fit|run|be)\b(?! (?:fixed|done|updated|changed|removed"
            r"|added))",
            r"\bi want (?:all|every|each|no|any)\b(?! (?:of (?:this|that|it|them)|this|that))",
            r"\bi (?:really )?(?:want|expect|need) you to (?:always|never|ask|tell me (?:before|when|if)|check with me"
            r"|warn"
            r"|confirm|keep|stop|avoid|be\b|answer|reply|respond)",
            r"\b(?:commits?|prs?|branch(?:es)?|tests?|docs|functions?|names?|variables?|migrations?|secrets?|releases?"
            r"|changes"
            r"|comments?|files|types?|errors?|endpoints?) (?:must|shall|have to|may) (?:not )?(?:be|have|start|end|use"
            r"|go|live"
            r"|come|pass|never|only|always|stay|match|follow|contain|include)\b",
            r"\b(?:antworte|schreib\w*|sprich)\b.{0,40} (?:auf|in) (?:deutsch|englisch|französisch|spanisch|ganzen)\w*"
            r"|\bréponds?(?:-moi)? en \w+"
            r"|\bresponde(?:me)? en \w+",
            SO + r"(?:n'|ne )(?:\w+ )?(?:utilise|fais|mets|touche|change|ajoute|écris)\w* (?:pas|jamais|plus)\b",
            SO + r"(?:no|nunca) (?:uses|quiero|hagas|toques|pongas|cambies|borres|añadas|escribas)\b",
        ),
    ),
    # What was decided.
    Cue(
        "decision",
        0.75,
        any_of(
            r"\b(?:we|i)(?:'ve| have)? (?:all |finally |now |already )?(?:decided|agreed (?:on|to|that)|chose|chosen"
            r"|settled on"
            r"|opted|concluded|standardi[sz]ed on|picked|committed to)\b(?! (?:to (?:look|check|try|take|go|have|stop"
            r"|leave|sleep|wait|do (?:it|this))|(?:on )?(?:this|that)\b))",
            r"\b(?:we|i)(?:'re| are|'m| am) (?:not )?going (?:with|for|to (?:use|go with|stick|keep|drop|switch"
            r"|support|stay"
            r"|have|offer|ship|build our))\b(?! (?:this|that|it)\W*$)",
            r"\b(?:we|i)(?:'ll| will| won'?t| will not) (?:use|go with|go for|stick|keep|drop|switch|stay|support|not"
            r"|never)\b"
            r"(?! (?:this|that|it)\W*$)",
            r"\b(?:we|i(?= (?:went|kept|dropped|pinned))) (?:moved|switched|migrated|changed|replaced|dropped|removed"
            r"|deprecated|went|kept|ditched"
            r"|adopted"
            r"|introduced|renamed|pinned|downgraded|upgraded|split|merged|froze|bumped|tried)\b.{3,160}\b(?:because"
            r"|since|so"
            r" that|as"
            r" (?:it|we|they|the)|due to|to (?:avoid|save|keep|get)|in (?:january|february|march|april|may|june|july"
            r"|august"
            r"|september|october|november|december|20\d\d)|last (?:week|month|year|spring|summer|autumn|winter)"
            r"|instead of"
            r"|in favou?r of|from \S+ to \S+)\b",
            SO
            + r"we (?:keep|stick|stay|drop|skip|go with|leave|ship)\b(?! (?:getting|seeing|having|going|it (?:for|like"
            r"|as)\b"
            r"|on (?:\w+ing)|running|hitting|in touch))",
            SO
            + r"let'?s (?:go with|go for|use|switch|stay|stick|standardi[sz]e on|call|name|settle on|adopt) (?!(?:this"
            r"|that|it"
            r"|(?:option|approach) (?:[a-h]|\d+)|#?\d|[a-h]|first|ahead|on|and|one|them|both"
            r"|(?:to )?the (?:first|second|third|last"
            r"|other|next"
            r"|same))\b)\S+"
            r"(?: \S+)",
            r"\bthe plan is (?:fixed|final|settled)\b|\b(?:final|settled|it is final)\s*[:,] ?\w+",
            SO + r"settled[.,:]? (?:then)?",
            r"\bwir (?:haben uns (?:für|gegen|entschieden|geeinigt)|nehmen|verwenden ab|einigen uns|bleiben bei|setzen"
            r" auf)\b"
            r"|\b(?:nous avons|on a) (?:décidé|choisi|opté)\b|\bon (?:reste sur|garde|part sur|passe à)\b"
            r"|\b(?:hemos )?(?:decid|eleg)(?:imos|ido)\b|\bnos quedamos con\b",
        ),
    ),
    # What was learned by those who say it.
    Cue(
        "lesson",
        0.75,
        any_of(
            r"\bthe (?:real |actual |root |main |underlying )?(?:problem|issue|bug|cause|culprit|reason|trick|catch"
            r"|solution|fix"
            r"|error|failure)\b(?: (?:here|there|for (?:that|this|it)|with (?:the |our )?\w+|why [\w ]{2,40}|(?:it"
            r"|that|\w+)"
            r" (?:hung|failed|broke|crashed|stopped|was slow|is slow|did not work|didn'?t work)))? (?:was|turned out"
            r"|is (?:to"
            r"|that you|setting|using))\b(?! (?:not|fixed|solved|gone|still|resolved|there))",
            r"\btrick (?:\w+ ){0,4}(?:is|was) (?!working)\w+",
            r"\bturn(?:s|ed) out\b",
            r"\b(?:i|we) (?:fixed|solved|resolved) (?:it|that|this|the \w+) by \w+ing\b|^\W*(?:fixed|solved) (?:it"
            r" )?by \w+ing\b",
            r"\bwhat (?:fixed|solved|helped|worked|broke)\b.{0,30}\b(?:was|is)\b",
            r"\b(?:fail(?:s|ed)?|broke|breaks|crash(?:es|ed)?|hangs?|hung|stopped|was slow)"
            r" because\b(?!.{0,40}\byou\b)",
            r"\b(?:solved|fixed|resolved) (?:it|that|the \w+|this)(?: (?:by|with|for)\b|\W*$)(?<!i fixed it)(?<!i"
            r" fixed that)",
            r"\b(?:i|we) (?:found|figured|worked) out (?:that )?(?!what|why|how|where|the (?:problem|issue))\w+",
            r"\b(?:is|was|are|got|gets) (?:only )?(?:solved|fixed|gone|resolved) (?:by|once|with|after) \w+ing\b",
            r"\bdas problem (?:war|lag)\b|\bder (?:fehler|grund) (?:war|lag)\b|\bes lag (?:an|daran)\b"
            r"|\ble problème (?:était|venait)\b|\bla cause était\b|\bel problema era\b|\bla causa era\b",
        ),
    ),
    # Who they are.
    Cue(
        "fact",
        0.75,
        any_of(
            r"\b(?:i(?:'m| am)|we(?:'re| are)|my \w+ is) (?:allergic|vegetarian|vegan|diabetic|left-handed"
            r"|colou?r[- ]?blind|married"
            r"|dyslexic|deaf|from [A-Z]|based in|responsible for|in charge of|on (?:a mac|linux|windows|mac ?os|ubuntu"
            r"|debian|nixos)"
            r"|(?:a|an) (?:\w+ ){0,3}(?:developer|engineer|teacher|designer|student|doctor|nurse|manager|writer"
            r"|researcher|scientist"
            r"|consultant|lawyer|musician|freelancer|beginner|maintainer|author))\b",
            r"\b(?:i|we) (?:live|were born|was born|grew up) (?:in|at|near|on)\b|\bi (?:can'?t|cannot|do(?:n'?t| not))"
            r" eat\b",
            r"\bi use (?:neovim|vim|emacs|vs ?code|zed|jetbrains|intellij|pycharm|fish|zsh|tmux|linux|windows|a mac"
            r"|dvorak|colemak)\b",
        ),
    ),
)
