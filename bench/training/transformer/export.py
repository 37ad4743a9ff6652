"""Write a trained network as the files that ``guard.inference.passage_network`` reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

from recall.embedding.bert import BertShape, bert_graph

__all__ = ["packed", "write_files", "write_numbers"]

_WORDS = "embeddings.word_embeddings.weight"
WIDTH = 384
_SHAPE = BertShape(layers=6, heads=12, width=WIDTH, epsilon=1e-12)
_LEVELS = 7
#: Nodes of the graph that look up the tokens' vectors, which Python does.
_LOOKUP = frozenset({"word_levels", "word_unscaled", "scale", "word"})
_HEAD = ("head.weight", "head.bias")
#: The layer that says most of what a passage is about: the later ones know only whether it is an order.
_MIDDLE = "encoder.layer.2.output.LayerNorm"


def write_files(weights: Mapping[str, Any], tokens: Tokenizer, folder: Path) -> None:
    """Write layers, vectors and vocabulary into *folder*."""
    arrays = {name: value.detach().float().numpy() for name, value in weights.items()}
    levels, scales = packed(arrays[_WORDS])
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "network_vectors.npy", levels)
    np.save(folder / "network_scales.npy", scales)
    (folder / "network.onnx").write_bytes(_graph(arrays).SerializeToString(deterministic=True))
    vocabulary = sorted(tokens.get_vocab(), key=tokens.get_vocab().__getitem__)
    (folder / "network_vocabulary.txt").write_text("\n".join(vocabulary), "utf-8")


def write_numbers(numbers: Mapping[str, float], folder: Path) -> None:
    """Write ``network.json``: *numbers*, and the digests of the other files in *folder*."""
    digests = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("network*"))
        if path.suffix not in {".json", ".md"}
    }
    (folder / "network.json").write_text(json.dumps({**numbers, "sha256": digests}, indent=2) + "\n", "utf-8")


def packed(table: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float16]]:
    """Return *table* in four bits a number, the first half of a row in the low ones, and the scale of each row."""
    scales = (np.abs(table).max(axis=1) / _LEVELS).astype(np.float16)
    scales = np.where(scales > 0, scales, np.float16(1)).astype(np.float16)
    whole = np.clip(np.rint(table / scales[:, None].astype(np.float32)), -_LEVELS - 1, _LEVELS).astype(np.int8) + 8
    half = table.shape[1] // 2
    return (whole[:, :half] | (whole[:, half:] << 4)).astype(np.uint8), scales


def _graph(arrays: Mapping[str, NDArray[np.float32]]) -> Any:
    """Return the graph: the tokens' vectors go in, its score, its topic and its words come out."""
    model = bert_graph({**arrays, _WORDS: np.zeros((1, WIDTH), np.float32)}, _SHAPE, quantise=True)
    graph = model.graph
    nodes = [node for node in graph.node if node.name not in _LOOKUP]
    for node in nodes:
        for place, name in enumerate(node.input):
            if name == "input_ids":  # only its length is asked for
                node.input[place] = "word"
    nodes += [
        helper.make_node("ReduceMean", ["last_hidden_state"], ["mean"], name="mean", axes=[1], keepdims=0),
        helper.make_node("Gemm", ["mean", "head.weight", "head.bias"], ["score"], name="score"),
        helper.make_node("ReduceMean", [_MIDDLE], ["topic"], name="topic", axes=[1], keepdims=0),
    ]
    graph.ClearField("node")
    graph.node.extend(nodes)
    constants = [item for item in graph.initializer if item.name not in {"vocabulary", "scales"}]
    constants += [numpy_helper.from_array(np.ascontiguousarray(arrays[name]), name) for name in _HEAD]
    graph.ClearField("initializer")
    graph.initializer.extend(constants)
    inputs = [item for item in graph.input if item.name != "input_ids"]
    graph.ClearField("input")
    graph.input.extend([helper.make_tensor_value_info("word", TensorProto.FLOAT, [1, "sequence", WIDTH]), *inputs])
    graph.ClearField("output")
    graph.output.append(helper.make_tensor_value_info("score", TensorProto.FLOAT, [1, 1]))
    graph.output.append(helper.make_tensor_value_info("topic", TensorProto.FLOAT, [1, WIDTH]))
    graph.output.append(helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "sequence", WIDTH]))
    return model
