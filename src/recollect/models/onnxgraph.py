"""Writes the ONNX model for a six-layer BERT encoder whose weights lie in a safetensors file.

In: the path of model.safetensors. Out: some twenty kB of ONNX whose tensors point into that very file, so
nothing is converted or copied and the `onnx` package is not needed. The graph takes token ids padded with
0 and gives unit vectors. Invariant: the same file gives the same bytes.

Wire format: protobuf, fields numbered as in onnx.proto3 (ModelProto, GraphProto, NodeProto, TensorProto).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from recollect.errors import ModelUnavailable

LAYERS, HEADS, WIDTH, INNER = 6, 12, 384, 1536
VOCABULARY, POSITIONS = 30_522, 512
EPSILON = 1e-12  # of the layer norms, from the model's config
MASKED = -1e4  # added to the scores of padding: its share of the attention becomes exactly zero
OPSET, IR_VERSION = 17, 8
FLOAT, INT64, BOOL = 1, 7, 9  # TensorProto.DataType
MAX_HEADER = 1_000_000

Attribute = int | float | Sequence[int]


def varint(value: int) -> bytes:
    """Encode an integer seven bits at a time; negative ones as 64-bit two's complement."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def head(field: int, length: int) -> bytes:
    """What stands before so many bytes."""
    return varint(field << 3 | 2) + varint(length)


def chunk(field: int, value: bytes | str) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return head(field, len(data)) + data


def attribute(name: str, value: Attribute) -> bytes:
    if isinstance(value, float):
        return chunk(1, name) + varint(2 << 3 | 5) + struct.pack("<f", value) + number(20, 1)
    if isinstance(value, int):
        return chunk(1, name) + number(3, value) + number(20, 2)
    return chunk(1, name) + b"".join(number(8, item) for item in value) + number(20, 7)


def node(
    kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Mapping[str, Attribute], domain: str = ""
) -> bytes:
    ends = b"".join([chunk(1, name) for name in inputs] + [chunk(2, name) for name in outputs])
    made = (
        ends
        + chunk(3, f"make_{outputs[0]}")
        + chunk(4, kind)
        + b"".join(chunk(5, attribute(*pair)) for pair in attributes.items())
    )
    return made + chunk(7, domain) if domain else made


def tensor(name: str, kind: int, shape: Sequence[int]) -> bytes:
    return b"".join(number(1, size) for size in shape) + number(2, kind) + chunk(8, name)


def value_info(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = (chunk(2, size) if isinstance(size, str) else number(1, size) for size in shape)
    dims = b"".join(chunk(1, size) for size in sizes)
    return chunk(1, name) + chunk(2, chunk(1, number(1, kind) + chunk(2, dims)))


@dataclass(frozen=True, slots=True)
class Place:
    """Where one tensor's bytes lie in the weights file."""

    offset: int
    length: int


class Weights:
    """The table of contents of a safetensors file, checked against the shapes the graph expects."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                (length,) = struct.unpack("<Q", file.read(8))
                if length > min(size, MAX_HEADER):
                    raise ValueError(length)
                self._contents = json.loads(file.read(length))
        except (OSError, ValueError, struct.error) as error:
            raise damaged() from error
        self._start = 8 + length
        self._size = size

    def find(self, name: str, shape: tuple[int, ...]) -> Place:
        try:
            entry = self._contents[name]
            begin, end = (int(edge) for edge in entry["data_offsets"])
            found = entry["dtype"], tuple(entry["shape"])
        except (KeyError, TypeError, ValueError) as error:
            raise damaged() from error
        count = 1
        for size in shape:
            count *= size
        if found != ("F32", shape) or begin < 0 or end - begin != 4 * count or self._start + end > self._size:
            raise damaged()
        return Place(self._start + begin, end - begin)


def damaged() -> ModelUnavailable:
    return ModelUnavailable("The embedding model's weights are damaged or not those of all-MiniLM-L6-v2.")


class Graph:
    """Nodes and tensors written so far; every method returns the name of what it made."""

    opsets: ClassVar[Mapping[str, int]] = {"": OPSET}  # by domain: which version of its operators is meant

    def __init__(self, weights: Weights) -> None:
        self._weights = weights
        self._nodes: list[bytes] = []
        self._tensors: dict[str, tuple[bytes, ...]] = {}  # in pieces: large ones are copied once, at the end

    def op(self, kind: str, *inputs: str, output: str = "", domain: str = "", **attributes: Attribute) -> str:
        output = output or f"v{len(self._nodes)}"
        self._nodes.append(node(kind, inputs, [output], attributes, domain))
        return output

    def parts(self, kind: str, number: int, *inputs: str) -> list[str]:
        """What an operator makes that makes several."""
        outputs = [f"v{len(self._nodes)}_{part}" for part in range(number)]
        self._nodes.append(node(kind, inputs, outputs, {}))
        return outputs

    def ints(self, *values: int) -> str:
        """A one-dimensional constant."""
        name = "ints_" + "_".join(map(str, values))
        return self.kept(name, INT64, (len(values),), struct.pack(f"<{len(values)}q", *values))

    def real(self, value: float) -> str:
        """A scalar constant."""
        return self.kept(f"real_{value!r}", FLOAT, (), struct.pack("<f", value))

    def kept(self, name: str, kind: int, shape: Sequence[int], data: bytes) -> str:
        """A tensor that is part of the model itself."""
        self._tensors[name] = tensor(name, kind, shape) + head(9, len(data)), data
        return name

    def weight(self, name: str, *shape: int) -> str:
        """A tensor that stays in the weights file."""
        place = self._weights.find(name, shape)
        where = {"location": self._weights.path.name, "offset": str(place.offset), "length": str(place.length)}
        entries = b"".join(chunk(13, chunk(1, key) + chunk(2, value)) for key, value in where.items())
        self._tensors[name] = (tensor(name, FLOAT, shape) + entries + number(14, 1),)
        return name

    def linear(self, x: str, name: str, inward: int, outward: int) -> str:
        """Gemm reads the weight as PyTorch stores it, transposed, so it can stay where it lies."""
        weight, bias = self.weight(f"{name}.weight", outward, inward), self.weight(f"{name}.bias", outward)
        return self.op("Gemm", x, weight, bias, transB=1)

    def model(self) -> bytes:
        ends = chunk(11, value_info("ids", INT64, ("texts", "tokens")))
        return self.between(ends + chunk(12, value_info("vectors", FLOAT, ("texts", WIDTH))))

    def between(self, ends: bytes) -> bytes:
        """The serialised model of all that was written, with these inputs and outputs."""
        graph = [chunk(1, made) for made in self._nodes] + [chunk(2, "minilm")]
        for pieces in self._tensors.values():
            graph += [head(5, sum(map(len, pieces))), *pieces]
        graph.append(ends)
        opsets = [chunk(8, chunk(1, domain) + number(2, version)) for domain, version in self.opsets.items()]
        begin = number(1, IR_VERSION) + chunk(2, "recollect") + head(7, sum(map(len, graph)))
        return b"".join([begin, *graph, *opsets])


def build_model(weights_file: Path) -> bytes:
    """Return the serialised model; its tensors are found relative to the folder of `weights_file`."""
    graph = Graph(Weights(weights_file))
    write_encoder(graph)
    return graph.model()


def write_encoder(graph: Graph) -> None:
    """The whole way from token ids to unit vectors."""
    shape = graph.op("Shape", "ids")
    present = graph.op("Cast", graph.op("Cast", "ids", to=BOOL), to=FLOAT)
    hide = graph.op("Mul", graph.op("Sub", graph.real(1.0), present), graph.real(MASKED))
    hide = graph.op("Unsqueeze", hide, graph.ints(1, 2))  # (texts, 1, 1, tokens)
    split = graph.op("Concat", shape, graph.ints(HEADS, WIDTH // HEADS), axis=0)
    x = graph.op("Reshape", embed_tokens(graph, shape), graph.ints(-1, WIDTH))  # all tokens of all texts in one column
    for number_ in range(LAYERS):
        x = encode(graph, f"encoder.layer.{number_}.", x, partial(attend, graph, hide=hide, split=split))
    pool(graph, x, shape, present)


def embed_tokens(graph: Graph, shape: str) -> str:
    """Word + position + type."""
    tokens = graph.op("Slice", shape, graph.ints(1), graph.ints(2))
    words = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight", VOCABULARY, WIDTH), "ids")
    positions = graph.weight("embeddings.position_embeddings.weight", POSITIONS, WIDTH)
    positions = graph.op("Slice", positions, graph.ints(0), tokens)
    types = graph.weight("embeddings.token_type_embeddings.weight", 2, WIDTH)
    first_type = graph.op("Slice", types, graph.ints(0), graph.ints(1))
    return norm(graph, graph.op("Add", words, graph.op("Add", positions, first_type)), "embeddings.LayerNorm")


def encode(graph: Graph, layer: str, x: str, attention: Callable[[str, str], str]) -> str:
    """One transformer layer: attention, then the inner network, each added to what came in and normed."""
    attended = attention(f"{layer}attention.self.", x)
    attended = graph.linear(attended, f"{layer}attention.output.dense", WIDTH, WIDTH)
    x = norm(graph, graph.op("Add", attended, x), f"{layer}attention.output.LayerNorm")
    inner = gelu(graph, graph.linear(x, f"{layer}intermediate.dense", WIDTH, INNER))
    inner = graph.linear(inner, f"{layer}output.dense", INNER, WIDTH)
    return norm(graph, graph.op("Add", inner, x), f"{layer}output.LayerNorm")


def attend(graph: Graph, place: str, x: str, *, hide: str, split: str) -> str:
    def heads(role: str, order: Sequence[int]) -> str:
        flat = graph.linear(x, f"{place}{role}", WIDTH, WIDTH)
        return graph.op("Transpose", graph.op("Reshape", flat, split), perm=order)

    query, key, value = heads("query", (0, 2, 1, 3)), heads("key", (0, 2, 3, 1)), heads("value", (0, 2, 1, 3))
    scores = graph.op("Mul", graph.op("MatMul", query, key), graph.real((WIDTH // HEADS) ** -0.5))
    shares = graph.op("Softmax", graph.op("Add", scores, hide), axis=-1)
    mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=(0, 2, 1, 3))
    return graph.op("Reshape", mixed, graph.ints(-1, WIDTH))


def norm(graph: Graph, x: str, name: str) -> str:
    scale, shift = graph.weight(f"{name}.weight", WIDTH), graph.weight(f"{name}.bias", WIDTH)
    return graph.op("LayerNormalization", x, scale, shift, axis=-1, epsilon=EPSILON)


def gelu(graph: Graph, x: str) -> str:
    """x/2 * (1 + erf(x/sqrt 2)), in the form the runtime recognises and fuses."""
    error = graph.op("Erf", graph.op("Div", x, graph.real(2**0.5)))
    return graph.op("Mul", graph.op("Mul", x, graph.op("Add", error, graph.real(1.0))), graph.real(0.5))


def pool(graph: Graph, x: str, shape: str, present: str) -> None:
    """Sum the tokens that are present, scale to length one: the sum has the direction of the mean."""
    whole = graph.op("Reshape", x, graph.op("Concat", shape, graph.ints(WIDTH), axis=0))
    total = graph.op("MatMul", graph.op("Unsqueeze", present, graph.ints(1)), whole)
    give(graph, graph.op("Squeeze", total, graph.ints(1)))


def give(graph: Graph, total: str) -> None:
    graph.op("Div", total, graph.op("ReduceL2", total, axes=(1,), keepdims=1), output="vectors")
