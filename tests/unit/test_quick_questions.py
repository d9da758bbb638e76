"""Questions are embedded with weights of 8 bits: near the exact vectors, the same in any company, or not at all.

Where the processor does not multiply 8 bits exactly, the exact model embeds them, and all of this holds too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from recollect.errors import ModelUnavailable
from recollect.models import quickgraph, weights
from recollect.models.choose import choose
from recollect.models.minilm import MiniLM
from recollect.models.onnxgraph import WIDTH
from recollect.models.port import Embedder, for_questions
from recollect.models.remote import RemoteEmbedder
from recollect.models.tiny import TinyEmbedder
from recollect.settings import load

TEXTS = {
    "empty": "",
    "one letter": "a",
    "one mark": "?",
    "blanks": " \n\t ",
    "short": "where is the api key",
    "usual": "On which port does Postgres listen for local development, and who decided that?",
    "names": "Did Zbigniew or María-José rename kubectl's --dry-run flag in ops/deploy_v2.sh?",
    "code": "SELECT count(*) FROM users WHERE id = 3; -- why does this time out?",
    "trace": "File \"/srv/app/main.py\", line 88, in <module> KeyError: 'tenant' (exit 137, 0xdeadbeef)",
    "numbers": "3.14159 2,718 42 1e-9 2026-11-15T12:00:00Z 192.168.0.1:5433",
    "emoji": "🙂🙃🔥 why 🤷‍♀️ does 🚀 it ✨ fail 🇩🇪",
    "german": "Wie lautet das Passwort für die Übungsdatenbank in Zürich?",
    "russian": "Где лежит ключ от базы данных?",
    "chinese": "数据库密码在哪里",
    "arabic": "أين مفتاح واجهة برمجة التطبيقات؟",
    "the same word": "port " * 120,
    "shouting": "WHY IS THE BUILD RED AGAIN!!!!!!!!!!!!!!",
    "no such characters": "\x00\x07\ufffd\u200b",
    "as long as it reads": "the deploy of the billing service failed because a migration held a lock; " * 18,
    "longer": "we moved the queue from Redis to PostgreSQL, and nobody told the people on call about it. " * 60,
}
LOUDEST = "!!!! ???? ((((( 00000 ##### " * 30


@pytest.fixture(scope="module")
def model(minilm_dir: Path) -> MiniLM:
    return MiniLM(minilm_dir)


@pytest.fixture(scope="module")
def quick(model: MiniLM) -> Embedder:
    return model.questions()


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_question_is_near_its_exact_vector(model: MiniLM, quick: Embedder, text: str) -> None:
    (exact,), (near,) = model.embed([text]), quick.embed([text])
    assert near.dtype == np.float32
    assert abs(np.linalg.norm(near) - 1) < 1e-5
    assert exact @ near >= 0.98


def test_questions_are_on_the_whole_nearer_than_that(model: MiniLM, quick: Embedder) -> None:
    """What is loud is made softer before it is rounded; without that the mean is below .997."""
    cosines = (model.embed(list(TEXTS.values())) * quick.embed(list(TEXTS.values()))).sum(axis=1)
    assert cosines.mean() >= 0.998


def test_the_same_question_has_the_same_vector_to_the_bit(quick: Embedder, minilm_dir: Path) -> None:
    texts = list(TEXTS.values())
    first = quick.embed(texts)
    np.testing.assert_array_equal(quick.embed(texts), first)
    np.testing.assert_array_equal(MiniLM(minilm_dir).questions().embed(texts), first)


def alone(quick: Embedder, text: str) -> NDArray[np.float32]:
    made: NDArray[np.float32] = quick.embed([text])[0]
    return made


def test_what_others_ask_at_the_same_time_changes_not_a_bit(model: MiniLM, quick: Embedder) -> None:
    if quick is model:
        pytest.skip("this processor does not multiply 8 bits exactly: questions are embedded exactly, in batches")
    asked = list(TEXTS.values())
    for together in ([LOUDEST, *asked], [*reversed(asked), LOUDEST], [asked[4], LOUDEST] * 3):
        for text, vector in zip(together, quick.embed(together), strict=True):
            np.testing.assert_array_equal(vector, alone(quick, text))


def test_threads_share_the_quick_model(quick: Embedder) -> None:
    texts = list(TEXTS.values())
    expected = [alone(quick, text) for text in texts]
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda at: alone(quick, texts[at % len(texts)]), range(5 * len(texts))))
    for at, vector in enumerate(found):
        np.testing.assert_allclose(vector, expected[at % len(texts)], atol=0 if type(quick) is not MiniLM else 2e-5)


def test_no_questions(quick: Embedder) -> None:
    assert quick.embed([]).shape == (0, 384)


def test_name_and_dimension_are_those_of_what_it_is_held_against(model: MiniLM, quick: Embedder) -> None:
    assert (quick.name, quick.dim) == (model.name, model.dim)


class Watched(onnxruntime.InferenceSession):  # type: ignore[misc]
    """A session that notes what was opened; `sizes` are those of the models."""

    sizes: list[int] = []  # noqa: RUF012 - emptied by the fixture

    def __init__(self, model: bytes, *given: Any, **named: Any) -> None:
        self.sizes.append(len(model))
        super().__init__(model, *given, **named)


def cut(rows: NDArray[np.float32], weight: NDArray[np.float32]) -> NDArray[np.float32]:
    """What a processor makes of it that adds the products of neighbours in 16 bits, and cuts what is too large."""
    sums = np.einsum("tkp,okp->tok", rows.reshape(len(rows), -1, 2), weight.reshape(len(weight), -1, 2))
    made: NDArray[np.float32] = np.clip(sums, -(2**15), 2**15 - 1).sum(axis=2, dtype=np.float32)
    return made


class CuttingOthers(Watched):
    """A processor that adds the products of others than neighbours in 16 bits."""

    def run(self, names: Any, feeds: dict[str, Any], *given: Any) -> Any:
        if "rows" not in feeds:
            return super().run(names, feeds, *given)
        order = np.arange(WIDTH).reshape(-1, 2, 2).swapaxes(1, 2).ravel()  # 0 2 1 3 4 6 5 7 ...
        return [cut(feeds["rows"][:, order], quickgraph.trial_weight()[:, order])]


class WithoutTheOperator(Watched):
    """An onnxruntime that does not know how to multiply 8 bits so."""

    def __init__(self, model: bytes, *given: Any, **named: Any) -> None:
        if b"DynamicQuantizeMatMul" in model:
            raise RuntimeError("DynamicQuantizeMatMul is not a registered function/op")
        super().__init__(model, *given, **named)


@pytest.fixture
def sizes() -> Iterator[list[int]]:
    Watched.sizes.clear()
    yield Watched.sizes
    Watched.sizes.clear()


def eight_bits(minilm_dir: Path) -> dict[str, NDArray[np.int8]]:
    """The rounded weights of the quick model as they are multiplied, a row an output."""
    made: dict[str, NDArray[np.int8]] = {}

    class Seen(quickgraph.QuickGraph):
        def kept(self, name: str, kind: int, shape: Sequence[int], data: bytes) -> str:
            if kind == quickgraph.INT8:
                made[name] = np.frombuffer(data, dtype=np.int8).reshape(shape).T
            return super().kept(name, kind, shape, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quickgraph, "QuickGraph", Seen)
        quickgraph.build_quick_model(minilm_dir / weights.WEIGHTS)
    return made


def test_no_two_neighbours_are_too_large_for_16_bits_whatever_they_are_multiplied_with(minilm_dir: Path) -> None:
    """With weights that use all of their 8 bits, one in eighty of them is, in four of five outputs."""
    found = eight_bits(minilm_dir)
    assert len(found) == 4 * 6
    for weight in found.values():
        pairs = weight.astype(np.int32).reshape(len(weight), -1, 2)
        most = np.maximum(np.abs(pairs).max(axis=2), np.abs(pairs.sum(axis=2)))
        assert 255 * most.max() <= 2**15 - 1
        assert most.max() >= 127  # and none smaller than they need to be


def test_a_processor_that_cuts_sums_of_neighbours_multiplies_exactly() -> None:
    class Cutting:
        def run(self, names: Any, feeds: dict[str, Any]) -> Any:
            return [cut(feeds["rows"], quickgraph.trial_weight())]

    assert quickgraph.multiplies_exactly(Cutting())


@pytest.mark.parametrize("session", [CuttingOthers, WithoutTheOperator], ids=["it cuts sums", "it cannot"])
def test_where_8_bits_are_not_multiplied_exactly_the_exact_model_embeds_questions(
    minilm_dir: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int], session: type[Watched]
) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", session)
    model = MiniLM(minilm_dir)
    assert model.questions() is model
    assert model.questions() is model  # and it is not tried again
    np.testing.assert_array_equal(model.questions().embed(["the port"]), model.embed(["the port"]))
    assert all(size < 100_000 for size in sizes)  # the model of 8 bits was not even opened
    assert len(sizes) <= 2


def test_who_only_asks_opens_only_the_quick_model(
    minilm_dir: Path, quick: Embedder, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    if isinstance(quick, MiniLM):
        pytest.skip("this processor does not multiply 8 bits exactly")
    monkeypatch.setattr(onnxruntime, "InferenceSession", Watched)
    model = MiniLM(minilm_dir)
    for text in ("one", "two"):
        model.questions().embed([text])
    trial, only = sizes
    assert trial < 100_000 < 10_000_000 < only
    model.embed(["kept"])
    assert len(sizes) == 3
    assert sizes[2] < 40_000


def test_who_only_keeps_opens_only_the_exact_model(
    minilm_dir: Path, monkeypatch: pytest.MonkeyPatch, sizes: list[int]
) -> None:
    monkeypatch.setattr(onnxruntime, "InferenceSession", Watched)
    MiniLM(minilm_dir).embed(["kept"])
    (only,) = sizes
    assert only < 40_000


@pytest.mark.parametrize("wanted", [True, False], ids=["on", "off"])
def test_a_setting_switches_it_off(minilm_dir: Path, tmp_path: Path, quick: Embedder, wanted: bool) -> None:
    given = {} if wanted else {"RECOLLECT_QUICK_QUESTIONS": "off"}
    chosen, why = choose(load(given, data_dir=tmp_path, embedder="minilm", model_dir=minilm_dir).settings)
    assert chosen is not None, why
    assert (for_questions(chosen) is chosen) is (not wanted or isinstance(quick, MiniLM))


@pytest.mark.parametrize(
    "other", [TinyEmbedder(), RemoteEmbedder("http://127.0.0.1:1", "", "m", 8)], ids=["tiny", "remote"]
)
def test_other_embedders_embed_questions_themselves(other: Embedder) -> None:
    assert for_questions(other) is other


def test_missing_weights_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable) as caught:
        MiniLM(tmp_path).questions()
    assert "recollect model install" in (caught.value.hint or "")


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    path = tmp_path / weights.WEIGHTS
    path.write_bytes(b"\x02" + bytes(7) + b"{}")
    with pytest.raises(ModelUnavailable):
        quickgraph.build_quick_model(path)


def test_the_quick_graph_is_always_the_same(minilm_dir: Path) -> None:
    first = quickgraph.build_quick_model(minilm_dir / weights.WEIGHTS)
    assert first == quickgraph.build_quick_model(minilm_dir / weights.WEIGHTS)
    assert 10_000_000 < len(first) < 12_000_000
