"""The ONNX graph of a BERT sentence encoder, written from its published weights.

Owns the arithmetic of one architecture (post-layer-norm BERT with an exact GELU, as in all-MiniLM-L6-v2) and its
quantisation. Promises a graph of standard operators (opset 17) with the inputs and the output that fastembed and
other runners expect, whose bytes depend on the weights alone. Pooling is the reader's: the output
is one vector a token. Where the weights lie and where the file goes is :mod:`recall.embedding.model`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

__all__ = ["BertShape", "bert_graph"]

OPSET = 17
IR_VERSION = 8
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
# Seven bits: two products of an unsigned and a signed byte then always fit the 16-bit sum of CPUs without VNNI, so
# that integer products are exact, and equal, on every machine.
WEIGHT_LEVELS = 63
MASKED = -10000.0  # added to the score of a padding token, whose share of the softmax becomes zero

Weights = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BertShape:
    """The numbers of a BERT ``config.json`` that the graph needs."""

    layers: int
    heads: int
    width: int
    epsilon: float

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> BertShape:
        """Read ``config.json``. Raises ``ValueError`` where it describes another architecture."""
        expected = {"model_type": "bert", "hidden_act": "gelu"}
        for key, value in expected.items():
            if config.get(key) != value:
                raise ValueError(f"config.json has {key} = {config.get(key)!r}, expected {value!r}")
        return cls(
            layers=int(config["num_hidden_layers"]),
            heads=int(config["num_attention_heads"]),
            width=int(config["hidden_size"]),
            epsilon=float(config["layer_norm_eps"]),
        )


def bert_graph(weights: Weights, shape: BertShape, *, quantise: bool) -> ModelProto:
    """Return the ONNX model for *weights*, named as in the published safetensors file.

    Args:
        weights: tensor name -> array; linear weights are (out, in), as published.
        shape: layers, heads, width and epsilon.
        quantise: store tables and matrices as 8-bit integers with one scale a row or column, and quantise
            activations while running. The scale of activations is taken over the whole input, so a text's vector
            depends on the other texts of its batch: run one text at a time where vectors must be reproducible.

    Raises:
        KeyError: a tensor is missing.
    """
    from onnx import TensorProto, helper

    graph = _Graph(weights=weights, shape=shape, quantise=quantise)
    hidden = graph.embed()
    mask = graph.mask()
    for layer in range(shape.layers):
        attended = graph.attend(hidden, mask, f"encoder.layer.{layer}.attention")
        hidden = graph.feed_forward(attended, f"encoder.layer.{layer}")
    graph.add("Identity", [hidden], OUTPUT)
    axes: list[str | int] = ["batch", "sequence"]
    body = helper.make_graph(
        graph.nodes,
        "bert",
        [helper.make_tensor_value_info(name, TensorProto.INT64, axes) for name in INPUTS],
        [helper.make_tensor_value_info(OUTPUT, TensorProto.FLOAT, [*axes, shape.width])],
        list(graph.constants.values()),
    )
    return helper.make_model(
        body, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION, producer_name="agent-home"
    )


@dataclass(slots=True, kw_only=True)
class _Graph:
    """Nodes and constants of the graph under construction. Every method returns the name of the tensor it adds."""

    weights: Weights
    shape: BertShape
    quantise: bool
    nodes: list[NodeProto] = field(default_factory=list)
    constants: dict[str, TensorProto] = field(default_factory=dict)

    def add(self, operator: str, inputs: list[str], name: str, **attributes: Any) -> str:
        from onnx import helper

        self.nodes.append(helper.make_node(operator, inputs, [name], name=name, **attributes))
        return name

    def constant(self, name: str, array: Any) -> str:
        from onnx import numpy_helper

        if name not in self.constants:
            self.constants[name] = numpy_helper.from_array(np.array(array, order="C"), name)
        return name

    def embed(self) -> str:
        """Add the word, type and position vectors, summed and normalised: (batch, sequence, width)."""
        table = self.weights["embeddings.position_embeddings.weight"]
        length = self.add("Shape", ["input_ids"], "length", start=1, end=2)
        begin = self.constant("begin", np.array([0], np.int64))
        place = self.add("Slice", [self.constant("positions", table), begin, length, begin], "position")
        kind_table = self.constant("types", self.weights["embeddings.token_type_embeddings.weight"])
        kind = self.add("Gather", [kind_table, "token_type_ids"], "type")
        total = self.add("Add", [self.add("Add", [self.words(), kind], "word_type"), place], "summed")
        return self.normalise(total, "embeddings.LayerNorm")

    def words(self) -> str:
        from onnx import TensorProto

        table = self.weights["embeddings.word_embeddings.weight"]
        if not self.quantise:
            return self.add("Gather", [self.constant("vocabulary", table), "input_ids"], "word")
        levels, scale = _quantised(table, axis=1, levels=127)
        row = self.add("Gather", [self.constant("vocabulary", levels), "input_ids"], "word_levels")
        row = self.add("Cast", [row], "word_unscaled", to=TensorProto.FLOAT)
        return self.add(
            "Mul", [row, self.add("Gather", [self.constant("scales", scale), "input_ids"], "scale")], "word"
        )

    def mask(self) -> str:
        """Add the mask (batch, 1, 1, sequence): 0 where a token counts, a large negative number where it is padding."""
        from onnx import TensorProto

        mask = self.add("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
        mask = self.add("Unsqueeze", [mask, self.constant("mask_axes", np.array([1, 2], np.int64))], "mask_wide")
        mask = self.add("Sub", [self.constant("unit", np.float32(1)), mask], "mask_inverse")
        return self.add("Mul", [mask, self.constant("masked", np.float32(MASKED))], "mask")

    def attend(self, hidden: str, mask: str, name: str) -> str:
        """Add self-attention, its output projection, the residual and the layer norm."""
        size = self.shape.width // self.shape.heads
        parts = [f"{name}.self.{part}" for part in ("query", "key", "value")]
        joint = self.linear(hidden, f"{name}.self", sources=parts)
        split = self.constant("heads", np.array([0, 0, 3, self.shape.heads, size], np.int64))
        joint = self.add("Reshape", [joint, split], f"{name}.split")
        # (3, batch, heads, sequence, size): query, key and value are then slices of the first axis.
        joint = self.add("Transpose", [joint], f"{name}.turned", perm=[2, 0, 3, 1, 4])
        query, key, value = (
            self.add("Gather", [joint, self.constant(f"slice{i}", np.int64(i))], f"{part}.heads", axis=0)
            for i, part in enumerate(parts)
        )
        turned = self.add("Transpose", [key], f"{name}.key_turned", perm=[0, 1, 3, 2])
        score = self.add("MatMul", [query, turned], f"{name}.product")
        score = self.add("Div", [score, self.constant("root", np.float32(np.sqrt(size)))], f"{name}.scaled")
        share = self.add("Softmax", [self.add("Add", [score, mask], f"{name}.score")], f"{name}.share", axis=-1)
        mixed = self.add("MatMul", [share, value], f"{name}.mixed")
        mixed = self.add("Transpose", [mixed], f"{name}.mixed_turned", perm=[0, 2, 1, 3])
        joined = self.constant("joined", np.array([0, 0, self.shape.width], np.int64))
        mixed = self.add("Reshape", [mixed, joined], f"{name}.context")
        return self.residual(self.linear(mixed, f"{name}.output.dense"), hidden, f"{name}.output.LayerNorm")

    def feed_forward(self, hidden: str, name: str) -> str:
        """Add the two linear layers with GELU between them, the residual and the layer norm."""
        inner = self.linear(hidden, f"{name}.intermediate.dense")
        error = self.add("Div", [inner, self.constant("root2", np.float32(np.sqrt(2)))], f"{name}.gelu_arg")
        error = self.add("Erf", [error], f"{name}.gelu_erf")
        error = self.add("Add", [error, self.constant("unit", np.float32(1))], f"{name}.gelu_one")
        inner = self.add("Mul", [inner, error], f"{name}.gelu_double")
        inner = self.add("Mul", [inner, self.constant("half", np.float32(0.5))], f"{name}.gelu")
        return self.residual(self.linear(inner, f"{name}.output.dense"), hidden, f"{name}.output.LayerNorm")

    def residual(self, value: str, hidden: str, norm: str) -> str:
        return self.normalise(self.add("Add", [value, hidden], f"{norm}.sum"), norm)

    def normalise(self, value: str, norm: str) -> str:
        gain = self.constant(f"{norm}.weight", self.weights[f"{norm}.weight"])
        bias = self.constant(f"{norm}.bias", self.weights[f"{norm}.bias"])
        return self.add("LayerNormalization", [value, gain, bias], norm, axis=-1, epsilon=self.shape.epsilon)

    def linear(self, value: str, name: str, sources: list[str] | None = None) -> str:
        """Add value @ matrix + bias. Several *sources* become one product with their columns side by side."""
        matrix = np.concatenate([self.weights[f"{source}.weight"].T for source in sources or [name]], axis=1)
        bias = np.concatenate([self.weights[f"{source}.bias"] for source in sources or [name]])
        if self.quantise:
            product = self.integer_product(value, name, matrix)
        else:
            product = self.add("MatMul", [value, self.constant(f"{name}.matrix", matrix)], f"{name}.product")
        return self.add("Add", [product, self.constant(f"{name}.bias", bias)], f"{name}.linear")

    def integer_product(self, value: str, name: str, matrix: NDArray[np.float32]) -> str:
        """Add value @ matrix in 8-bit integers, in the pattern that onnxruntime fuses into one kernel."""
        from onnx import TensorProto, helper

        levels, scale = _quantised(matrix, axis=0, levels=WEIGHT_LEVELS)
        outputs = [f"{name}.input", f"{name}.input_scale", f"{name}.input_zero"]
        self.nodes.append(helper.make_node("DynamicQuantizeLinear", [value], outputs, name=f"{name}.quantise"))
        zero = self.constant(f"{name}.zero", np.zeros(matrix.shape[1], np.int8))
        whole = [outputs[0], self.constant(f"{name}.matrix", levels), outputs[2], zero]
        whole_product = self.add("MatMulInteger", whole, f"{name}.integer")
        product = self.add("Cast", [whole_product], f"{name}.unscaled", to=TensorProto.FLOAT)
        factor = self.add("Mul", [outputs[1], self.constant(f"{name}.scale", scale.ravel())], f"{name}.factor")
        return self.add("Mul", [product, factor], f"{name}.product")


def _quantised(matrix: NDArray[np.float32], *, axis: int, levels: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return whole numbers in ±levels and the scale of each slice along *axis* (kept as an axis of length 1)."""
    scale = np.abs(matrix).max(axis=axis, keepdims=True) / np.float32(levels)
    scale = np.where(scale > 0, scale, np.float32(1)).astype(np.float32)
    return np.rint(matrix / scale).astype(np.int8), scale
