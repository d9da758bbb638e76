"""Which embedder the settings ask for, or why there is none. Nothing heavy is loaded before the first text."""

from __future__ import annotations

from recollect.errors import InvalidInput
from recollect.models import weights
from recollect.models.port import Embedder
from recollect.settings import Settings


def choose(settings: Settings) -> tuple[Embedder | None, str | None]:
    """The embedder and None, or None and the reason."""
    if settings.embedder == "none":
        return None, "the embedder is set to none"
    if settings.embedder == "minilm":
        folder = settings.model_dir or weights.model_dir(settings.data_dir)
        if not weights.is_installed(folder):
            return None, "the embedding model is not installed: run `recollect model install`"
        from recollect.models.minilm import MiniLM

        return MiniLM(folder, settings.threads, quick=settings.quick_questions), None
    if settings.embedder == "remote":
        from recollect.models.remote import RemoteEmbedder

        where = (settings.embedding_url, settings.embedding_api_key)
        how = (settings.embedding_model, settings.embedding_dim)
        return RemoteEmbedder(*where, *how, plain=settings.embedding_plain_hosts), None
    raise InvalidInput(f"unknown embedder {settings.embedder[:40]!r}", hint="Embedders: minilm, remote, none.")
