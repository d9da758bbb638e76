"""Synthetic text for the benchmarks: sentences as people and agents write them, and questions about them.

About 5,000 words whose frequencies follow Zipf's law, so that common words are common at every size, mixed with names,
numbers and paths. The same seed gives the same text on every machine.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import accumulate

from recollect import clock
from recollect.ids import uuid7
from recollect.model import Memory

VOCABULARY = 5_000
KINDS = ("note", "fact", "decision", "lesson", "event")
SHORTEST, LONGEST = 80, 200  # characters in a sentence

# The commonest first, as in any English text.
FUNCTION_WORDS = """the to of and a in is it we that for on with as was be this by are not from at or have an they
which but all has there can when if will more so no out do up about their what one who would other into than some
could them now only then its may after over also these two our""".split()
ROOTS = """agent answer apple archive arrow author badge balance banner basket battery beacon bench billing blanket
block board border bottle branch breakfast bridge browser bucket budget buffer build button cable cache calendar
camera campaign candle canvas capture carbon career carpet castle center chain chair change channel charge chart check
chicken circle claim class client clock cloud cluster coach coast code coffee column comment commit company compile
concert config connect contract control cookie copper corner cotton council counter country course cover cream credit
crystal culture cursor curtain custom damage dance data deadline debate debug decide default deliver demand deploy
deposit desert design desk detail device diagram dinner direct doctor document dollar domain draft drawer dream driver
editor effect elbow email energy engine error escape event exam example export fabric factor failure family farm
feature fence festival field figure file filter finger finish flag flavor flight floor flower folder forest format
forward frame friend frost function future garden gateway gather ginger glass global graph gravel green grocer group
growth guard guest guide guitar habit hammer handle harbor hardware harvest heading health heart helper history hobby
holiday hook horse hotel hour house import index insect install intent island issue item jacket journal journey judge
jungle kernel kettle keyboard kitchen label ladder lake language laptop latency lawyer layer leader leather ledger
lemon lesson letter library license limit linen list loader local lock logger lunch machine manage manual map margin
market marriage matter meadow measure meeting member memory menu merge message metal method metric middle migrate
mirror mobile model module moment monitor morning motor mountain museum music network notebook notice number object
ocean office olive option orange orbit order owner packet page paint panel paper parcel parent parser partner party
password patch pattern payment pencil pepper permit person phone picture pillow pilot pipeline planet plant plastic
player pocket poem point policy portal prefer press price print process product profile project prompt proxy purchase
query queue quiet rabbit radio railway random reason recipe record release remark render repair reply report request
rescue reset restore result retry return review river roadmap rocket roof router sailor salad sample sandal scanner
schema school script search season secret section select sensor server session settle shadow shelf shell signal silver
singer sister sketch socket soccer soup source spider spring staff stage stamp station status stone storage store
stream street student studio submit sugar summer support surface survey switch symbol syntax system table tailor
target teacher temple tenant tennis test thread ticket timer token tomato topic tower track train transfer travel
trigger tunnel update upload vector vendor version video village vision voice volume wallet water weather weekend
window winter wizard worker writer yellow zebra""".split()
PREFIXES = ("", "re", "pre", "over", "under", "inter", "sub", "co")
SUFFIXES = ("", "s", "ed", "ing", "er")
FIRST_NAMES = """Alice Amir Anna Boris Carla Chen Dana David Elena Emma Farid Grace Hana Hugo Ines Ivan Jonas Julia
Kemal Lena Liam Maria Marco Mei Nadia Noah Olga Omar Paula Priya Rafael Rosa Sam Sara Tomas Uma Victor Wanda Yuki
Zoe""".split()
LAST_NAMES = """Adler Baker Costa Duarte Evans Fischer Garcia Haddad Ito Jansen Kim Lopez Meyer Novak Okafor Patel
Quinn Rossi Silva Tanaka Ueda Vogel Weber Xu Young Zimmer""".split()
FRAMES = (
    "What did we say about {0}?",
    "what was the {0}",
    "How did {0} end up?",
    "Which {0} did they mention, and when?",
    "Remind me of {0}",
    "{0}",
)
_WORD = re.compile(r"[\w./-]*\w")


class Corpus:
    """An endless, seeded source of sentences and of questions about sentences."""

    def __init__(self, seed: int = 1) -> None:
        self.random = random.Random(seed)
        self.words = vocabulary()
        self._weights = list(accumulate((rank + 2.7) ** -1.15 for rank in range(1, len(self.words) + 1)))
        self._common = frozenset(FUNCTION_WORDS)

    def sentence(self) -> str:
        """One sentence of 80 to 200 characters."""
        choose, target = self.random.random, self.random.randint(SHORTEST, LONGEST - 32)
        parts, length = [], 0
        for word in self.random.choices(self.words, cum_weights=self._weights, k=target // 3):
            said = self._special() if choose() < 0.06 else word
            parts.append(said)
            length += len(said) + 1
            if length >= target:
                break
        text = " ".join(parts)
        return f"{text[:1].upper()}{text[1:]}."

    def sentences(self, count: int) -> Iterator[str]:
        """That many sentences."""
        return (self.sentence() for _ in range(count))

    def question(self, about: str) -> str:
        """A question with two to five telling words of a sentence, sometimes with one it does not hold."""
        telling = [word for word in _WORD.findall(about) if word.lower() not in self._common]
        asked = self.random.sample(telling, min(len(telling), self.random.randint(2, 5)))
        if self.random.random() < 0.3:
            asked.append(self.random.choice(self.words))
        return self.random.choice(FRAMES).format(" ".join(asked))

    def questions(self, about: Sequence[str]) -> Iterator[str]:
        """Endlessly many different questions about these sentences."""
        asked: set[str] = set()
        while True:
            question = self.question(self.random.choice(about))
            if question not in asked:
                asked.add(question)
                yield question

    def memory(self) -> Memory:
        """A sentence as a memory of the last two years."""
        at = clock.now() - timedelta(days=self.random.random() * 700)
        return Memory(
            id=uuid7(),
            kind=self.random.choice(KINDS),
            content=self.sentence(),
            project=None,
            origin="user",
            occurred_at=at,
            recorded_at=at,
            tags=(f"tag{self.random.randrange(200)}",),
            importance=self.random.randrange(3, 9) / 10,
        )

    def conversation(self, session: str, turns: int) -> list[tuple[str, str, str]]:
        """What was said in a session: a sentence from the user, two from the assistant, and so on."""
        said = []
        for _ in range(turns):
            said.append((session, "user", self.sentence()))
            said.append((session, "assistant", " ".join(self.sentences(2))))
        return said

    def _special(self) -> str:
        """A name, a number or a path."""
        pick, kind = self.random, self.random.randrange(4)
        if kind == 0:
            return f"{pick.choice(FIRST_NAMES)} {pick.choice(LAST_NAMES)}"
        if kind == 1:
            return str(pick.randint(2, 9_999))
        if kind == 2:
            return f"v{pick.randint(0, 9)}.{pick.randint(0, 30)}"
        return f"src/{pick.choice(ROOTS)}/{pick.choice(ROOTS)}_{pick.choice(ROOTS)}.py"


def vocabulary() -> list[str]:
    """The words, the commonest first: function words, plain words, then their derivatives."""
    order = random.Random(0)
    plain, derived = list(ROOTS), [p + root + s for root in ROOTS for p in PREFIXES for s in SUFFIXES if p or s]
    order.shuffle(plain)
    order.shuffle(derived)
    return list(dict.fromkeys(FUNCTION_WORDS + plain + derived))[:VOCABULARY]
