"""Everything that can go wrong, as one tree; each class's docstring is its default message.

RecollectError
├── InvalidInput          the caller gave something that cannot be kept or asked
├── ScopeError            a call without a scope, or outside it
├── NotFound              no such session, memory or event in this scope
├── Conflict              the row changed since it was read
├── BadTranscript         an agent's file cannot be read as a session
├── InvalidKey            an API key that does not open anything
├── NotAllowed            a key that is not for that
├── QuotaExceeded         an owner has as much as they may have
├── StoreError
│   ├── StoreUnavailable  the data directory or database cannot be used
│   ├── StoreBusy         another writer held the database for too long
│   ├── StoreFull         no space left on the disk
│   ├── StoreReadOnly     the database can only be read, such as a standby
│   ├── StoreCorrupt      the database is damaged
│   ├── StoreTooNew       written by a later version of Recollect
│   └── ForkedHandle      a handle opened before fork() was used in the child
└── ModelError
    ├── ModelUnavailable  an embedder or a language model cannot be loaded or reached
    │   └── ModelRefused  its server did not take the request, so nothing was spent
    ├── NoBudget          what language models may cost today is spent
    ├── ModelMismatch     the store's vectors were made by another embedder
    └── BadVector         an embedder returned something that is not a unit vector
"""

from __future__ import annotations


class RecollectError(Exception):
    """Recollect could not do that."""

    exit_code = 1

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip())
        self.hint = hint

    @property
    def code(self) -> str:
        """A stable word for programs: the class name in snake case."""
        name = type(self).__name__
        return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))


class InvalidInput(RecollectError, ValueError):
    """The input cannot be used as it is."""

    exit_code = 2


class ScopeError(RecollectError):
    """The call is outside its scope."""


class NotFound(RecollectError, LookupError):
    """There is no such thing in this scope."""


class Conflict(RecollectError):
    """It changed since it was read; read it again and retry."""


class BadTranscript(RecollectError):
    """This file cannot be read as a session."""


class InvalidKey(RecollectError):
    """not a valid key"""


class NotAllowed(RecollectError):
    """This key is not for that."""


class QuotaExceeded(RecollectError):
    """There is as much as there may be."""

    def __init__(
        self, message: str | None = None, *, hint: str | None = None, what: str = "", limit: int = 0, left: int = 0
    ) -> None:
        super().__init__(message, hint=hint)
        self.what, self.limit, self.left = what, limit, left


class StoreError(RecollectError):
    """The store failed."""


class StoreUnavailable(StoreError):
    """The data directory or the database cannot be used."""


class StoreBusy(StoreError):
    """Another writer held the database for too long; try again."""


class StoreFull(StoreError):
    """The disk is full; nothing was changed. Free some space and try again."""


class StoreReadOnly(StoreError):
    """This database can only be read, such as a standby; write to the primary."""


class StoreCorrupt(StoreError):
    """The database is damaged."""


class StoreTooNew(StoreError):
    """The database was written by a later version of Recollect; upgrade Recollect to open it."""


class ForkedHandle(StoreError):
    """This handle was opened before fork(); open a new one in the child process."""


class ModelError(RecollectError):
    """A model failed."""


class ModelUnavailable(ModelError):
    """The model cannot be loaded or reached."""


class ModelRefused(ModelUnavailable):
    """The model's server did not take the request; nothing was spent."""

    def __init__(self, message: str | None = None, *, hint: str | None = None, status: int | None = None) -> None:
        super().__init__(message, hint=hint)
        self.status = status  # what HTTP says; None when there was no connection


class NoBudget(ModelError):
    """What language models may cost today is spent, or they do not answer."""


class ModelMismatch(ModelError):
    """The vectors in this store were made by another embedder."""


class BadVector(ModelError):
    """The embedder returned something that is not a usable vector."""
