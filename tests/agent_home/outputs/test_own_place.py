"""Nothing leaves or enters the home through a link below its outputs."""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

import pytest

from agent_home.checkpoints.checkpoint import CheckpointDamaged, checkpoints, find_checkpoint
from agent_home.checkpoints.making import make_checkpoint
from agent_home.home import Home
from agent_home.outputs.blobs import blob_path, blobs, drop_content, leftovers
from agent_home.outputs.entry import OutputDamaged, record_path
from agent_home.outputs.own_place import PlaceIsLink, linked_places, require_own
from agent_home.outputs.reading import check_outputs, find_output, output_content, outputs
from agent_home.outputs.store import store_output
from interfaces.doctor.stored import outputs_check

LONG = b"a line of an output\n" * 3000


def lead_out(home: Home, relative: str, tmp_path: Path) -> Path:
    """Move what lies there out of the home, and put a link in its place."""
    place, outside = home.root / relative, tmp_path / "outside"
    if place.exists():
        place.rename(outside)
    else:
        outside.mkdir()
        place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(outside)
    return outside


@pytest.mark.parametrize("place", ["outputs", "outputs/blobs"])
def test_a_content_is_not_written_through_a_link(home: Home, now: datetime, tmp_path: Path, place: str) -> None:
    outside = lead_out(home, place, tmp_path)
    with pytest.raises(PlaceIsLink, match=f"{place} is a link. Remove it"):
        store_output(home, [LONG], now=now)
    assert list(outside.iterdir()) == []


def test_a_content_is_not_written_into_a_linked_folder_of_contents(home: Home, now: datetime, tmp_path: Path) -> None:
    stored = store_output(home, [LONG], now=now)
    folder = blob_path(home, stored.digest).parent
    blob_path(home, stored.digest).unlink()
    outside = lead_out(home, folder.relative_to(home.root).as_posix(), tmp_path)
    with pytest.raises(PlaceIsLink):
        store_output(home, [LONG], now=now)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("place", ["outputs", "outputs/checkpoints"])
def test_a_checkpoint_is_not_written_through_a_link(home: Home, now: datetime, tmp_path: Path, place: str) -> None:
    outside = lead_out(home, place, tmp_path)
    with pytest.raises(PlaceIsLink, match=f"{place} is a link"):
        make_checkpoint(home, now=now, folder=tmp_path)
    assert list(outside.iterdir()) == []


@pytest.mark.parametrize("place", ["outputs", "outputs/2026", "outputs/2026/11", "outputs/2026/11/21"])
def test_a_linked_folder_of_records_is_refused(home: Home, now: datetime, tmp_path: Path, place: str) -> None:
    lead_out(home, place, tmp_path)
    with pytest.raises(PlaceIsLink, match=f"^{place} is a link"):
        require_own(home, home.root / record_path("mem-20261121-090000-1a2b3c4d"))


def test_a_linked_record_and_a_linked_content_are_damaged(home: Home, now: datetime, tmp_path: Path) -> None:
    stored = store_output(home, [LONG], now=now)
    made = make_checkpoint(home, now=now, folder=tmp_path)
    (tmp_path / "a").mkdir()
    outside = lead_out(home, blob_path(home, stored.digest).relative_to(home.root).as_posix(), tmp_path / "a")
    with pytest.raises(OutputDamaged, match="is a link"):
        list(output_content(home, stored))
    assert [error.name for error in check_outputs(home, most_bytes=0).damaged] == [stored.id]
    assert list(blobs(home)) == []
    with pytest.raises(PlaceIsLink):
        drop_content(home, stored.digest)
    assert outside.exists()
    lead_out(home, record_path(stored.id), tmp_path)
    with pytest.raises(OutputDamaged, match="is a link"):
        find_output(home, stored.id)
    assert list(outputs(home)) == []
    (tmp_path / "b").mkdir()
    lead_out(home, f"outputs/checkpoints/{made.id}.json", tmp_path / "b")
    with pytest.raises(CheckpointDamaged):
        find_checkpoint(home)
    assert list(checkpoints(home)) == []
    status, detail = outputs_check(home)
    assert status == "failed"
    assert set(linked_places(home)) == {
        blob_path(home, stored.digest).relative_to(home.root).as_posix(), record_path(stored.id),
        f"outputs/checkpoints/{made.id}.json",
    }  # fmt: skip
    assert all(place in detail for place in linked_places(home))


def test_nothing_behind_a_link_is_a_leftover(home: Home, now: datetime, tmp_path: Path) -> None:
    outside = lead_out(home, "outputs", tmp_path)
    (outside / ".theirs.tmp").touch()
    os.utime(outside / ".theirs.tmp", (0, 0))
    assert leftovers(home) == []
    assert outputs_check(home)[1].startswith("links: outputs. ")
