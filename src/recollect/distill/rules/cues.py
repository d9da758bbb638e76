"""How wishes are put: the wording by which a sentence that holds is told from a request, a status or a question.

Patterns without behaviour, which `wishes` reads: in English, and for plain rules in German, French and Spanish.
`CUES` stand in order of how much a sentence of the kind matters; the first that fits counts.
"""

from __future__ import annotations

import re

from recollect.distill.rules.standing import SO as _SO
from recollect.distill.rules.standing import Cue
from recollect.distill.rules.standing import any_of as _any

_REASON = (
    r"\b(?:because|so (?:that|we|it|people|i)\b|since|as it|otherwise|for (?:clarity|consistency"
    r"|safety|readability|simplicity|now)|to (?:avoid|keep|save|make)|that way|easier|simpler"
    r"|weil|damit|parce que|pour que|porque)\b"
)

CUES = (
    # What is not wanted.
    Cue(
        "preference",
        0.8,
        _any(
            _SO + r"(?:do not|don'?t|avoid|stop|no more) (?!worry|forget|know|think|mind|see\b|have\b"
            r"|need\b|bother|be\b|get\b|understand|remember\b|you\b|we\b|i\b|they\b|it\b|care)",
            r"\b(?:we|you|agents?|tests?|code|commits?|nobody) (?:still |also "
            r"|really |probably |just )?(?:should|must|shall|can|may|ought)(?:n'?t| not|not| never"
            r"| only) (?!be (?:able|too hard|a problem)|have (?:to|been))",
            r"\b(?:i|we) (?:really |also |definitely )?(?:do(?:n'?t| not)|never) (?:really |ever |even )?want\b",
            r"\bno need (?:for|to) (?:ever|any)\b|\bnot allowed\b|\boff[- ]limits\b",
            _SO + r"(?:bitte )?(?:keine?n?|nicht mehr) \w+",
            _SO + r"(?:il )?ne (?:\w+ )?(?:faut|veux|fais|mets|utilise|touche|change)\w* pas\b",
            _SO + r"no (?:uses|quiero|hagas|toques|pongas|cambies|borres)\b",
        ),
    ),
    # What was decided.
    Cue(
        "decision",
        0.7,
        _any(
            r"\blet'?s (?:do|add|implement|support|build|set up) (?!this|that|it\b|the same|both"
            r"|all\b).{5,160}\b(?:instead|rather|because|since|so that|too much|not)\b",
            _SO + r"let'?s (?:use|go with|go for|switch (?!to the (?:other|next))|stay|only|leave|skip|drop|store"
            r"|do without|separate|go \w+$|go \w+[.,;])\b(?! (?:#?\d"
            r"|first|ahead|on\b|and\b))",
            r"\bcan(?:'t| not)? we (?:just )?.{5,120}\b(?:automatically|by default|instead)\b",
            r"\bi think (?:.{0,60} )?we should\b|\bi(?:'m| am) (?:also |totally )?fine (?:with"
            r"|doing|to|using|if)\b|\bwe should (?:probably |rather |really )?(?:use|keep|separate"
            r"|split|store|put|make|move|drop|rename|have|treat|call|go with|support|follow)\b.{3,200}" + _REASON,
            r"\bi want (?:this|it|that|them|us|the \w+|all|every|each) (?:\w+ )?(?:to (?:be|stay"
            r"|have|use|go|live)|as)\b|\bi want to (?:implement|keep|have|use|do|treat|make) (?:this"
            r"|it|that|them) as\b|\bi want to (?:replace|swap) .{3,100}\b(?:with|by|for)\b",
            r"(?<!otherwise )(?<!then )\bi(?:'d| would)(?: also| really| just| still| rather)? (?:suggest|propose|keep"
            r"|use"
            r"|leave|skip|drop|avoid|treat|rather|not\b|go (?:with|for)"
            r"|like (?:to (?:still |also )?(?:keep|match|stay|follow|avoid"
            r"|(?:switch|move|migrate) to (?!the |a |main\b|master\b))|to do an? \w+ (?:approach"
            r"|style|workflow)))\b|\bi wouldn'?t\b(?! (?:know|mind|say))",
            r"\bi (?:do(?:n'?t| not)|never) think (?:we|doing|using|adding|having|it'?s (?:a |worth"
            r"|good)|that'?s (?:a |worth|good)|\w+ing)\b",
            r"\bi think (?:(?!\b(?:this|that|it)\b).){3,120}?\b(?:is|are|would be|has)\b.{0,24}\b(?:fine|too? much"
            r"|better|best"
            r"|right|cleaner|simpler|good idea|(?:weak|worst|easiest|clean)\w*|overkill|unnecessary|enough|risk\w*)\b",
            r"\b(?:is|are|was) (?:probably )?(?:not )?a (?:good|bad|better) idea\b|\bit'?s (?:ok"
            r"|okay|fine) (?:to|that|if|as|for)\b|\b(?:is|are) also fine\b",
            r"\bwir (?:haben uns (?:für|entschieden)|nehmen|verwenden ab|einigen uns)\b|\b(?:nous avons"
            r"|on a) (?:décidé|choisi)\b|\b(?:hemos )?decid(?:imos|ido)\b",
        ),
    ),
    # What was learned by those who say it.
    Cue(
        "lesson",
        0.65,
        _any(
            r"\b(?:tests?|builds?|it|this|that|they|commands?|deploys?|ci) (?:\w+ )?(?:fail(?:s"
            r"|ed)?|broke|breaks|crash(?:es|ed)?|hangs?) because\b",
            r"\b(?:works|goes away) (?:only )?(?:when|if|once) (?:i|we"
            r"|you)\b",
            r"\b(?:won'?t|wouldn'?t) work (?:for|when|if|with|on|because|since)\b",
            r"\b(?:the|its|it's|root) (?:root )?cause (?:is|was)\b|\bturn(?:s|ed) out (?:that|to be|the|it|we)\b",
        ),
    ),
)
NEEDS = (
    # What this one thing is not to be.
    Cue(
        "preference",
        0.65,
        _any(
            _SO + r"let'?s (?:not|never|avoid|keep (?!going|on\b|at it|moving|working))\b",
            r"\bcan(?:'t| not)? we (?:please )?(?:not|avoid|stop)\b",
            r"\b(?:it|they|this|that) (?:still |also |really |probably |just )?(?:should|must|shall|can|may|ought)"
            r"(?:n'?t| not|not| never| only) (?!be (?:able|too hard|a problem)|have (?:to|been))",
        ),
    ),
    # What has to be so.
    Cue(
        "preference",
        0.65,
        _any(
            r"\b(?:needs?|has|have|ought) to (?!be \w+ed\W*$)(?:be|stay|remain|have|work|match|show|say|support"
            r"|use|come|live|look|go)\b",
            r"\b(?:must|should)(?: always| only| also| really| still)? (?:be|stay|remain|have|use"
            r"|live|show|say|look|come|contain|include|go|match|follow|handle|return|fail|warn"
            r"|log|print|default|accept|support|ignore|skip|keep|take|point|link|apply|respect"
            r"|do \w+ instead)\b"
            r"(?! (?:fine|good|ok(?:ay)?|done|ready|working|green|able|easy|enough|possible|straight ?forward"
            r"|simple|trivial|quick|there|it\b|now|been|better now|a (?:problem|bug|issue)|something wrong))",
            r"\bneeds? (?:a |an |the )?\w+(?: \w+){0,3} (?:refs?|references|numbers?|tests?|docs?"
            r"|names?|fields?|flags?|types?)\b",
            r"\b(?:is|are|it'?s|that'?s|this is|thats|its|they'?re) (?:just|only|not|purely) (?:for (?:me"
            r"|us|you|internal|testing|tests|demo|people|users)|subject to|open to|up for|part of"
            r"|meant)\b",
            r"\b(?:use|put|write|call|name|say|run|make|return|store|keep) .{2,100}?(?:\binstead of\b"
            r"|\brather than\b|\binstead\b|, not )",
            r"\b(?:statt|anstatt|anstelle)\b.{2,60}\b(?:benutze?|verwende|nimm|nutze?)|\b(?:benutze?"
            r"|verwende|nimm|nutze?)\b.{2,80}\b(?:statt|anstatt|anstelle)\b",
            r"\butilise\w*\b.{2,80}\b(?:au lieu|plutôt)\b|\busa\b.{2,80}\ben (?:vez|lugar) de\b",
        ),
    ),
)

# A thing to do once, or said of the moment.
REQUEST = _any(
    _SO + r"(?:can|could|would|will) (?:you|u|we)\b(?! (?:please )?(?:always|never|stick|keep|stop|avoid|not\b|only))",
    _SO + r"(?:commit|push|pull|merge|rebase|open|create|run|rerun|re-run|retry|fix|check|look"
    r"|read|review|summari[sz]e|explain|tell|show|give|find|search|continue|try|implement"
    r"|update|deploy|ship|stash|do(?! not)|go|start|restart|proceed|see|investigate|debug|work on"
    r"|have a look|add|remove|delete|test|build|install|help|write|draft|generate|move on"
    r"|apply|address|resolve|revert|undo|print|list|draw|translate)\b(?! .{0,80}\b(?:always"
    r"|never|every time|each time|from now on)\b)",
    r"^(?:i'?m|i am|we'?re|we are|i was|i've|i have|i had|i just|i see|i saw|i got|i tried"
    r"|i ran|i noticed|i remember|i wonder|i thought|i guess)\b(?!.{0,60}\b(?:prefer|decided"
    r"|agreed|going with|fine (?:with|doing|to|using|if)|allergic|vegetarian|vegan|based in"
    r"|maintainer|author|a (?:\w+ ){0,3}(?:developer|engineer|teacher|designer|student"
    r"|doctor|nurse|manager|writer|researcher|scientist|consultant))\b)",
)
MOMENT = _any(
    r"\b(?:we|i|you) (?:always|never) (?!need|embed|feed|seed|shed|speed|proceed|exceed)\w+ed\b",
    r"\byet\W*$|\b(?:this|that|it) later\b|\bthe other (?:branch|task|file|tab|window)\b",
    r"\b(?:the current \w+|now|afterwards)[.!]*$|^\W*(?:ok(?:ay)?[, ]+|so )?now\b",
    r"^\W*(?:\d{1,2}|[a-d])[).,:] ?\w+|(?<!\w)[A-Ha-h]\)(?=\s)",
    _SO + r"(?:i (?:just|see|saw|got|remember|noticed|ran|tried)|i'?m just)\b",
    r"\b(?:for now|for the time being|temporarily|just this once|vorerst|fürs erste|für den moment|pour l'instant"
    r"|pour le moment|por ahora|de momento|this once)\b",
    r"\b(?:right now|just now|today|tomorrow|tonight|this time|for the moment|at the moment"
    r"|this (?:pr|commit|branch|session|run|change)|in this (?:pr|commit|branch|session)"
    r"|once (?:you|it|this)|when you'?re done|as a first step|next step)\b",
    r"\bfirst\b.{0,40}\bthen\b|\bdo(?:n'?t| not) (?:do|reply|answer|commit|push|merge|start"
    r"|bother|check|write|touch) (?:a |an |the |this|that|it|yet|anything|any of|to)?\b(?: ?(?:reply"
    r"|in|yet|now))?[.!,]*$",
)
PROCESS = re.compile(
    r"\b(?:rebase|push|merge|commit|prs?|pull requests?|branch(?:es)?|ticket|standup)\b", re.IGNORECASE
)
POINTING = re.compile(r"^(?:that|this|it|them|those|these|so|there|here|one)$", re.IGNORECASE)
BROKEN = _any(
    r"\bstill (?:not|fail|broken|the same|get|see|doesn|isn|show|displa)",
    r"\b(?:does|do|did|is|are|was|were)(?:n'?t| not) (?:work|show|run|compile|build|pass|start|load|help)\b",
    r"\b(?:error|exception|stack ?trace|traceback|failed|failing|fails)\b",
)
# One place in the work that was before their eyes.
HERE = _any(
    r"\b(?:this|that|the (?:first|second|third|last|next|other|same|left|right|top|bottom)) (?:\w+ )?(?:line|function"
    r"|call|page|file"
    r"|paragraph|section|sentence|test|button|one|argument|part|slide|image|video|tweet|step|box|row|column|comment"
    r"|block|title)\b",
    r"\bhere[.!]*$|\b(?:up|down|over|in) (?:here|there)\b|\bthe (?:title|button|header|icon|font|colou?r|image|logo"
    r"|footer)\b|^\W*(?:i )?feel like it\b|^\W*some of\b",
    r"\bis fine\W*$|\b(?:should|needs? to|must|has to|have to|could) (?:be|have|show|say|look|go) (?:more|less|a bit"
    r"|almost|right|just"
    r"|(?:short|long|bigg|small|simpl|clear|clean|high|low|fast)er)\b",
)
TAG_QUESTION = re.compile(r"(?:,| )(?:right|ok(?:ay)?|yeah|yes|no|hey|correct|please)\s*\?+$", re.IGNORECASE)
INVERTED = re.compile(
    r"^(?:(?:and|but|so|ok|hm+|oh)[, ]+)*(?:is|are|was|were|do|does|did|should|shall|could"
    r"|can|would|will|has|have|why|what|how|when|where|which|who|wouldn'?t|shouldn'?t|isn'?t"
    r"|aren'?t|any|maybe)\b",
    re.IGNORECASE,
)
STANDING_QUESTION = re.compile(
    r"\bcan(?:'t| not)? (?:we|you) (?:please )?(?:stick to|always|never)\b"
    r"|\bcan(?:'t| not)? (?:we|you) .{3,160}\b(?:always|never|every|each|from now on|going forward|by default)\b",
    re.IGNORECASE,
)
# A wish that was put as a question: worth finding, and nobody's rule.
WISHING_QUESTION = re.compile(
    r"\bcan(?:'t| not)? we (?:please )?(?:(?:keep|not|avoid|stop)\b|(?:just )?.{5,120}\b(?:automatically|instead)\b)",
    re.IGNORECASE,
)
POLITELY = re.compile(r"^can (?:we|you) (?:please )?(?=(?:always|never|stick to)\b)", re.IGNORECASE)
# Said of more than the task at hand.
GENERAL = _any(
    r"\b(?:always|never|every|each|any|all|from now on|going forward|in (?:the )?future|by default|everywhere|whenever"
    r"|remember|prefer|nobody|usually|in general|generally|as a rule|without exception)\b",
    r"\bwe (?:\w+ )?(?:should|must|need to|have to|always|never|do(?:n'?t| not)?|use|only|want|keep)\b|\bour\b",
    r"\b(?:this|the|our) (?:repo(?:sitory)?|project|code ?base|team)\b",
    r"\b(?:immer|nie(?:mals)?|jede\w*|alle|toujours|jamais|chaque|siempre|nunca|cada|todos)\b",
)
# It points at what they were looking at; the second only where it does not speak generally.
_LASTING = (
    r"(?! (?:\w+ )?(?:repo(?:sitory)?|project|code ?base|machine|server|team|app|service|module|package|company|org"
    r"|office|workspace|monorepo|family|city|house|environment|setup|cluster)\b)"
)
THIS = _any(
    r"\b(?:merge|use|do|push|run|commit|change|touch|remove|keep|ship|have|want|call|of|in) (?:this|these|those)\b"
    + _LASTING
)
FOR_THIS = _any(r"\b(?:for|on|with|to|from) (?:this|these|those)\b" + _LASTING)
# Begun as people think aloud, or typed without stops: nobody who was not there can read it.
RAMBLING = _any(
    r"^\W*(?:like|i mean|(?:i )?feel like|idk|honestly|anyways?|kinda|main actually)\b",
    r"\b[^\W\d_]+\.{2,}\s*[^\W\d_]",
)
# An answer to what was said just before.
ANSWERING = _any(
    r"\.{2,}\s*$|…\s*$",
    r"\bthen\s*(?:[,.;!]|$)",
    r"^\W*(?:then|in that case)\b",
    r"\bwould be (?:great|nice|good|cool) if\b",
)
ON = re.compile(
    r"^(?:but|and|so|because|otherwise|that way|since|if|instead|or|then|unless|except|thats?|just|only)\b",
    re.IGNORECASE,
)
NOT_TRUE = _any(
    r"\b(?:is|are|was|'s)(?:n'?t| not) (?:correct|right|true|how|what|the case|supposed)\b",
    r"\bdas (?:ist|stimmt) (?:falsch|nicht)\b|\bce n'est pas\b|\beso no es\b",
)
WITHDRAWN = re.compile(
    r"^(?:oh |ah |sorry[,. ]*|actually[,. ]*)*(?:never ?mind|nvm|scratch that|forget (?:it"
    r"|that|what i)|ignore (?:that|my|what i)"
    r"|(?:i )?mis-?(?:s?typed|spoke|read)|my mistake|my bad|i was wrong|vergiss (?:es|das)|laisse tomber|olvídalo)\b",
    re.IGNORECASE,
)
ASKED = re.compile(r"[\s,;]+(?:(?:so|and|but|then) )?(?:can|could|would) you\b", re.IGNORECASE)
RUN_ON = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|so|and|but)[, ]+)*(?:can|could|would) (?:you|we)\b[^?.!]{0,160}?[,;:] (?=(?:i (?:think"
    r"|don'?t|want|would|prefer)|i'd|we (?:should|don'?t|need|want)|let'?s)\b)",
    re.IGNORECASE,
)
PRONOUN = re.compile(
    r"^(?:that|this|it|they|those|these|theyre|its|thats|it's|that's|they're|he|she|one of)\b", re.IGNORECASE
)
ONLY_CHOICE = re.compile(
    r"^\W*(?:[\w']+[\s,]+){0,6}(?:[Oo]ption|[Aa]pproach|#)\s?#?(?:[A-Ha-h]|\d+)\W*$"
    r"|.{0,300}\b(?:do|use|with|take) [B-H]\b"
)
SLASH = re.compile(r"^/[\w:.-]+\s+")
FILLER = re.compile(
    r"^(?:(?:sure|or|actually|ok(?:ay)?|yes|yeah|yep|no(?=[,.:!-]| (?:it|its|they|theyre|that|thats|this|we|i|you)\b)"
    r"|nope|oh|ah|well|so|and"
    r"|but|also|btw|by the way|then|hm+"
    r"|please|though|alright|right|good|great|cool|thanks|nice|perfect)\b[\s,.:!-]+)+",
    re.IGNORECASE,
)
REASON = re.compile(r"\b(?:because|since|so that|weil|damit|parce que|porque)\b\s+", re.IGNORECASE)
DENIAL = re.compile(
    r"\b(?:not?|never|none|nothing|without|avoid|stop|if|unless|except|only|until|when"
    r"|nicht|nie|kein\w*|ohne|wenn|pas|jamais|sans|nunca|sin)\b|n't\b|\bdont\b",
    re.IGNORECASE,
)
LAST = re.compile(
    r"[\s,]+(?:please|thanks|thank you|by the way|btw|ok\??|right\?|yeah\?"
    r"|(?:so )?that'?s (?:your|the|our) \w+,? right\?)[.!]*$",
    re.IGNORECASE,
)
DONT = re.compile(r"\bdont\b")
WORD = re.compile(r"[^\W\d_]{3,}")
