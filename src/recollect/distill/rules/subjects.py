"""What a question is about: "Where should the summaries be stored?" is about the summaries.

A question comes in; its subject goes out as the head of a sentence ("The summaries"), or nothing where it has none that
somebody would understand who was not asked. English only. A decision without a subject tells nobody anything.
"""

from __future__ import annotations

import re

from recollect.distill.sentences import plain, sentence_case
from recollect.distill.vetting.stated import telling

_LONGEST = 80
_VERB = (
    r"(?:be|have|use|import|go|live|stay|run|keep|return|fail|handle|include|support|default|come|take|accept|show"
    r"|store|get|happen|work|apply|look|read|write|follow|match|stop|skip|ignore|report|raise|log|print|create|send"
    r"|call|copy|contain|remain|behave|expose|require|allow|start|end|cover|target|do|act|reuse|need|warn)\b"
)
_ALWAYS = r"(?:also |always |only |still |then |just )?"
_SHOULD = r"(?:should|shall|will|would|must|can|could|do|does|did)"
_WHICH = r"^(?:what|which) ((?!of\b|one\b)[\w'`./-]+(?: [\w'`./-]+){0,3}?) "
_KEPT = r"(?:\w+ed|kept|put|set|made|built|sent|written|run|held)\b"
_PLACED = r"(?:store|put|handle|save|write|name|call|place|expose|represent|show|display|load|track|log)"
_NO_NAME = (
    r"(?!(?:is|are|was|do|does|did|can|could|should|shall|will|would|has|have|what|which|who|how|why|where|when|any|ok"
    r"|or|and|so|if|want|ready|rename|add|drop|keep|use|remove|fix|make|move|merge)\b)"
)
_LABEL = re.compile(r"^[^?:]{3,60}:\s+(?=\w)")
_FORMS = tuple(
    (re.compile(form, re.IGNORECASE), told)
    for form, told in (
        # "What should happen when the key is missing?"
        (
            r"^what (?:should|must|does|do|will|would) (?:we do|happens?|i do) (when|if|with|about|for) (.{4,})$",
            r"\1 \2",
        ),
        # "Which tools should we set up?"
        (rf"{_WHICH}{_SHOULD} (?:we|i) (.{{2,}})$", r"\1 to \2"),
        # "How should we name the branches?"
        (rf"^(how|where|when) {_SHOULD} (?:we|i) (?!do (?:this|that|it)\b)(\w+ .{{3,}})$", r"\1 to \2"),
        # "What permission mode should the agent run with?"
        (rf"{_WHICH}(?:should|shall|must|will|would|can) (.{{3,40}}?) ({_VERB}.*)$", r"\1 \2 should \3"),
        # "Where should the summaries be stored?", "Should the tests import the helpers, or …?"
        (
            rf"^(?:(?:how|where|when|what|why) )?{_SHOULD} (?!(?:we|i|you)\b)(.{{3,60}}?) {_ALWAYS}{_VERB}.*$",
            r"\1",
        ),
        # "Which platforms are released?"
        (rf"{_WHICH}(?:is|are) ({_KEPT}.*)$", r"\1 \2"),
        # "Where are the keys kept?"
        (rf"^(?:how|where|when|what) (?:is|are) ((?:the|our|all|new|this) .{{3,50}}?) (?:to be )?{_KEPT}.*$", r"\1"),
        # "Should we store summaries in the file or beside it?"
        (
            rf"^{_SHOULD} (?:we|i) {_PLACED} ((?:the |our |all )?.{{3,50}}?)"
            r"(?: (?:in|as|or|with|by|to|from|on|at|via|when|if|under|inside)\b|,| \().*$",
            r"\1",
        ),
        # "Windows build?"
        (rf"^({_NO_NAME}[\w'`./-]+(?: [\w'`./-]+){{0,4}})$", r"\1"),
    )
)
_POINTING = re.compile(
    r"^(?:the )?(?:it|they|them|he|she|one|thing|former|latter|there|we)\b|\b(?:this|that|it|these|those|above|you|your"
    r"|me|i)\b",
    re.IGNORECASE,
)


def subject_of(question: str) -> str:
    """The subject of a question; empty where there is none that can be told."""
    asked = plain(question).rstrip(" ?")
    for said in (asked, _LABEL.sub("", asked)):
        for form, told in _FORMS:
            found = form.match(said)
            if found is None:
                continue
            subject = found.expand(told).strip(" ,;")
            if len(subject) <= _LONGEST and telling(subject) and not _POINTING.search(subject) and _closed(subject):
                return sentence_case(subject)
            break
    return ""


def _closed(text: str) -> bool:
    return text.count("(") == text.count(")") and text.count("`") % 2 == 0
