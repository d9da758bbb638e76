"""Every call to a language model is paid for here, before it is made: a question in, a reply out, or `NoBudget`.

The worst a try can cost is debited in the ledger, in one transaction that looks at the caps; when the answer is there,
the real figures take its place. What fails stays spent, what was refused before a model read it does not. There are at
most three tries with pauses between them, each debited by itself, and none while the model has stopped answering.
Whoever asks treats any `ModelError` alike: what can be done without a model is done without one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from recollect.capture.prices import priced
from recollect.clock import Clock
from recollect.errors import ModelRefused, ModelUnavailable, NoBudget
from recollect.model import Cost, Scope
from recollect.models.language import MAX_CALL_BYTES, Ask, LanguageModel, Reply
from recollect.models.wire import TRIES, RetryableError, backoffs, encoded
from recollect.settings import Settings
from recollect.store.ports.distill import Caps, Charge, Ledger

BYTES_PER_TOKEN = 2  # at the worst; English has four, Chinese about two and a half
SILENT_AFTER = 6  # calls in a row without an answer, and it is left alone ...
FIRST_PAUSE, LONGEST_PAUSE = timedelta(minutes=15), timedelta(hours=2)  # ... for so long, doubled each time

_READ_A_TURN, _WRITTEN_A_TURN = 1_940, 120  # on average, of 847 turns of real coding sessions

_NEVER = datetime.min.replace(tzinfo=UTC)


class Purse:
    """Asks one language model within the caps of the settings."""

    def __init__(
        self,
        ledger: Ledger,
        model: LanguageModel,
        settings: Settings,
        clock: Clock,
        redact: Callable[[str], str],
        *,
        sleep: Callable[[float], None] = time.sleep,
        stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._ledger = ledger
        self._model = model
        self._settings = settings
        self._clock = clock
        self._redact = redact
        self._sleep = sleep
        self._stopping = stopping

    @property
    def maker(self) -> str:
        """The model's name, as it is kept with what it made."""
        return self._model.name

    def ask(self, scope: Scope, use: str, ask: Ask, *, project: str | None = None) -> Reply:
        """Ask, and pay for it from what `scope` may spend; raises `NoBudget` or another `ModelError`."""
        ask = replace(ask, system=self._redact(ask.system), prompt=self._redact(ask.prompt))
        size = len(encoded({"system": ask.system, "prompt": ask.prompt, "schema": ask.schema}))
        if size > MAX_CALL_BYTES:
            raise ModelRefused(f"a call may have {MAX_CALL_BYTES:,} bytes, this one has {size:,}")
        worst = -(-size // BYTES_PER_TOKEN) + self._model.overhead
        for backoff in backoffs():
            charge = self._charge(use, worst, ask.max_tokens, project)
            ticket = self._reserve(scope, charge)
            try:
                reply = self._model.complete(ask)
            except RetryableError as failure:
                if not failure.spent:
                    self._settle(scope, ticket, charge, 0, 0)
                if backoff is None:
                    raise _given_up(failure) from None
                self._sleep(failure.pause(backoff))
            except ModelRefused:
                self._settle(scope, ticket, charge, 0, 0)
                raise
            else:
                self._settle(scope, ticket, charge, reply.input_tokens, reply.output_tokens, reply.usd)
                return reply
        raise AssertionError("unreachable")

    def _reserve(self, scope: Scope, charge: Charge) -> int:
        if self._stopping():
            raise ModelUnavailable("The language model is not asked any more: this process ends.")
        self._check_answers(scope, charge.at)
        settings = self._settings
        own = settings.llm_project_daily_usd.get(charge.project) if charge.project else None
        ticket = self._ledger.reserve(scope, charge, Caps(settings.llm_daily_tokens, settings.llm_daily_usd, own))
        if ticket is None:
            raise NoBudget(
                "What language models may cost today is spent.", hint="`recollect budget` shows it and sets more."
            )
        return ticket

    def _check_answers(self, scope: Scope, now: datetime) -> None:
        until = silent_until(self._ledger, scope, self._model.name, now)
        if until is not None:
            raise NoBudget(
                f"The language model does not answer; it is left alone until {until:%H:%M} UTC.",
                hint="Check the settings llm, llm_url, llm_model and the key.",
            )

    def _charge(self, use: str, read: int, written: int, project: str | None) -> Charge:
        usd = self._price(read, written) or 0.0
        return Charge(use, self._model.name, read, written, usd, self._clock(), project)

    def _settle(
        self, scope: Scope, ticket: int, charge: Charge, read: int, written: int, usd: float | None = None
    ) -> None:
        if usd is None:
            usd = self._price(read, written) or 0.0
        self._ledger.settle(scope, ticket, replace(charge, input=read, output=written, usd=usd))

    def _price(self, read: int, written: int) -> float | None:
        return price_of(self._model.name, read, written, self._settings)


def silent_until(ledger: Ledger, scope: Scope, model: str, now: datetime) -> datetime | None:
    """Until when a model that stopped answering is left alone, by every process of the owner; None when it is not."""
    calls, last = ledger.unanswered(scope.within(None), model=model, since=now - timedelta(days=1))
    if calls < SILENT_AFTER or last is None:
        return None
    until = last + min(FIRST_PAUSE * 2 ** min(calls - SILENT_AFTER, 10), LONGEST_PAUSE)
    return until if last <= now < until else None


def price_of(model: str, read: int, written: int, settings: Settings) -> float | None:
    """What so many tokens cost by the list of prices; None for a model that is not on it."""
    name = model.partition(":")[2]
    return priced(Cost("", "", _NEVER, name, input=read, output=written), settings.prices).usd


def estimate(turns: int, settings: Settings) -> tuple[int, float | None]:
    """About how many tokens distilling so many turns takes, and their price where it is known; 0 without a model."""
    if settings.llm == "none":
        return 0, 0.0
    read, written = turns * _READ_A_TURN, turns * _WRITTEN_A_TURN
    return read + written, price_of(f"{settings.llm}:{settings.llm_model}", read, written, settings)


def _given_up(failure: RetryableError) -> ModelUnavailable:
    return ModelUnavailable(f"The language model cannot be used: {failure.reason}, {TRIES} times.")
