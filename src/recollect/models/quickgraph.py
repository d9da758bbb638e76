"""Writes the same encoder as `onnxgraph` with weights of 8 bits: for questions, several times quicker, nearly the same.

In: the path of model.safetensors. Out: some eleven MB of ONNX that hold the linear layers' weights as int8, one scale
an output; everything else still points into that file. What goes into a layer becomes 8 bits on the way, with one scale
for a whole run: so one text a run, or a text's vector would depend on the texts beside it.

Many processors add two products, of neighbouring weights, in 16 bits and cut what is too large. So no two neighbours
are larger together than one weight may be: whatever they are multiplied with, nothing has to be cut.

A text that nothing is padded to needs nothing hidden: query, key and value, and what attention makes of them, are one
operator of the runtime's own, which takes a tenth less than the many it stands for.

Two things would spoil that one scale, and are taken out before it is chosen and put back after: a few numbers that are
many times larger than the rest in every text (`LOUD`), and tokens that are louder than others.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from recollect.models.onnxgraph import (
    FLOAT,
    HEADS,
    INNER,
    LAYERS,
    OPSET,
    WIDTH,
    Graph,
    Weights,
    chunk,
    embed_tokens,
    encode,
    give,
    value_info,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

INT8 = 3  # TensorProto.DataType
RUNTIME = "com.microsoft"  # the domain of onnxruntime's own operators
MOST = 127  # of a weight, and of two neighbours together: 16 bits hold what they make of two times 255
# Which of the 384 numbers between the layers are always the largest, and what they are divided by. Measured: up to 30
# where others stay below 8; without this the mean cosine to the exact vector is .995 instead of .999.
LOUD = {99: 4.0, 63: 2.0, 157: 2.0, 223: 2.0}
LEAST = 0.17  # GELU gives nothing below -0.17: divided by at least this, a token's numbers lie between -1 and 1


class QuickGraph(Graph):
    """A graph whose linear layers multiply 8-bit numbers."""

    opsets: ClassVar[Mapping[str, int]] = {"": OPSET, RUNTIME: 1}

    def linear(self, x: str, name: str, inward: int, outward: int) -> str:
        weight, bias = self._read(f"{name}.weight", outward, inward), self.weight(f"{name}.bias", outward)
        if inward == INNER:  # tokens differ by a factor of ten here: each is brought to its own largest number
            loudest = self.op("Max", self.op("ReduceMax", x, axes=(-1,), keepdims=1), self.real(LEAST))
            made = self.product(self.op("Div", x, loudest), name, weight)
            return self.op("Add", self.op("Mul", made, loudest), bias)
        if not name.endswith("attention.output.dense"):  # what comes out of a norm
            x, weight = self.soften(x), weight * loudness()
        return self.product(x, name, weight, bias)

    def soften(self, x: str) -> str:
        """What comes out of a norm, its largest numbers made smaller; whose weights are made larger for it."""
        return self.op("Mul", x, self.kept("softer", FLOAT, (WIDTH,), (1 / loudness()).tobytes()))

    def attend(self, place: str, x: str) -> str:
        import numpy as np

        roles = [f"{place}{role}" for role in ("query", "key", "value")]
        weight = np.concatenate([self._read(f"{role}.weight", WIDTH, WIDTH) for role in roles]) * loudness()
        bias = np.concatenate([self._read(f"{role}.bias", WIDTH) for role in roles])
        eight, scale = self.rounded(place, weight)
        bias_name = self.kept(f"{place}bias", FLOAT, bias.shape, bias.tobytes())
        made, made_scale, zero = self.parts("DynamicQuantizeLinear", 3, self.soften(x))
        given = (made, eight, bias_name, made_scale, scale, "", zero)
        return self.op("QAttention", *given, domain=RUNTIME, num_heads=HEADS)

    def product(self, x: str, name: str, weight: Floats, *bias: str) -> str:
        """x times a weight that lies as PyTorch stores it, one row an output."""
        eight, scale = self.rounded(name, weight)
        return self.op("DynamicQuantizeMatMul", x, eight, scale, "", *bias, domain=RUNTIME)

    def rounded(self, name: str, weight: Floats) -> tuple[str, str]:
        """A weight in 8 bits, and what each output of it is multiplied by."""
        import numpy as np

        outward, inward = weight.shape
        largest = np.abs(weight).max(axis=1)
        together = np.abs(weight.reshape(outward, -1, 2).sum(axis=2)).max(axis=1)
        scales = np.maximum(np.maximum(largest, together), np.float32(1e-12)) / np.float32(MOST)
        rounded = weight / scales[:, None]
        np.rint(rounded, out=rounded)
        eight = self.kept(f"{name}.eight", INT8, (inward, outward), rounded.astype(np.int8).tobytes("F"))
        return eight, self.kept(f"{name}.scale", FLOAT, (outward,), scales.tobytes())

    def _read(self, name: str, *shape: int) -> Floats:
        import numpy as np

        place = self._weights.find(name, shape)
        return np.memmap(self._weights.path, np.dtype("<f4"), "r", place.offset, shape)


def loudness() -> Floats:
    """For each number between the layers what it is divided by."""
    import numpy as np

    factors = np.ones(WIDTH, dtype=np.float32)
    factors[list(LOUD)] = list(LOUD.values())
    return factors


def build_quick_model(weights_file: Path) -> bytes:
    """Return the serialised model; what is not of 8 bits is found relative to the folder of `weights_file`."""
    graph = QuickGraph(Weights(weights_file))
    x = embed_tokens(graph, graph.op("Shape", "ids"))
    for number in range(LAYERS):
        x = encode(graph, f"encoder.layer.{number}.", x, graph.attend)
    give(graph, graph.op("ReduceSum", x, graph.ints(1), keepdims=0))
    return graph.model()


def build_trial(weights_file: Path, weight: Floats) -> bytes:
    """A model that multiplies what it is given by one weight, as every layer of the quick one does."""
    graph = QuickGraph(Weights(weights_file))
    made = graph.product("rows", "trial", weight)
    outward, inward = weight.shape
    ends = chunk(11, value_info("rows", FLOAT, ("tokens", inward)))
    return graph.between(ends + chunk(12, value_info(made, FLOAT, ("tokens", outward))))


def trial_weight() -> Floats:
    """Weights as large as neighbours can be: where others than those are added in 16 bits, sums do not fit."""
    import numpy as np

    half = MOST // 2
    pairs = np.array([(half, MOST - half), (MOST, 0), (0, MOST), (MOST, -MOST)], dtype=np.float32)
    return np.tile(np.concatenate([pairs, -pairs]), (4, WIDTH // 2))


def multiplies_exactly(session: Any) -> bool:
    """Whether this processor's 8-bit products are exact: it may add those of neighbours in 16 bits, and no others.

    `session` runs the model of `build_trial(…, trial_weight())`. Rows from 0 to 255 have the scale one: sums are whole.
    """
    import numpy as np

    for tokens in (1, 2, 5, 16):  # the runtime has other ways for few rows than for many
        rows = np.full((tokens, WIDTH), 255, dtype=np.float32)
        rows[:, ::7] = 0
        (found,) = session.run(None, {"rows": rows})
        if not np.array_equal(found, rows @ trial_weight().T):
            return False
    return True
