"""When writes are refused for want of room, when they are accepted again, and when the ballast comes and goes."""

import json
from pathlib import Path

import pytest

from almoner.kit.time import SystemClock
from almoner.platform.database import ballast
from almoner.platform.database.ballast import BALLAST_BYTES, next_ballast_file_step
from almoner.platform.database.disk_space import (
    MEBIBYTE,
    RESERVED_INODES,
    DiskSpace,
    DiskSpaceLow,
    FreeSpace,
    is_space_low,
    measure_free_space,
    refuse_writes_when_disk_low,
)
from almoner.platform.database.disk_watch import DiskSpaceMonitor
from almoner.platform.observability.telemetry import Telemetry

RESERVE = 256 * MEBIBYTE
MORE_THAN_THERE_IS = 2**60


@pytest.mark.parametrize(
    ("megabytes", "inodes", "was_low", "low"),
    [
        (256, None, False, False),
        (255, None, False, True),
        (319, None, True, True),
        (320, None, True, False),
        (9_999, RESERVED_INODES, False, False),
        (9_999, RESERVED_INODES - 1, False, True),
        (9_999, RESERVED_INODES * 5 // 4 - 1, True, True),
        (9_999, RESERVED_INODES * 5 // 4, True, False),
        (0, 0, False, True),
    ],
)
def test_writes_are_refused_below_the_reserve_until_a_quarter_more_is_free(
    megabytes: int, inodes: int | None, was_low: bool, low: bool
) -> None:
    assert is_space_low(FreeSpace(megabytes * MEBIBYTE, inodes), RESERVE, was_low=was_low) is low


def test_without_a_reserve_or_a_folder_nothing_is_refused(tmp_path: Path) -> None:
    assert not is_space_low(FreeSpace(0, 0), 0, was_low=True)
    assert not is_space_low(measure_free_space([tmp_path / "nowhere"]), RESERVE, was_low=True)


def test_the_least_of_the_folders_that_exist_counts(tmp_path: Path) -> None:
    alone = measure_free_space([tmp_path])
    together = measure_free_space([tmp_path, tmp_path / "nowhere", Path("/proc")])  # a disk without any room
    assert alone is not None
    assert together is not None
    assert together.free_bytes == 0 < alone.free_bytes


def test_only_requests_are_refused() -> None:
    space = DiskSpace()
    space.low_since = SystemClock().real_now()
    space.ensure_writable()
    with refuse_writes_when_disk_low():
        with pytest.raises(DiskSpaceLow):
            space.ensure_writable()
        with refuse_writes_when_disk_low(enabled=False):
            space.ensure_writable()
    space.low_since = None
    with refuse_writes_when_disk_low():
        space.ensure_writable()


def test_the_watch_says_it_once_and_measures_it_always(tmp_path: Path) -> None:
    space, lines = DiskSpace(), list[bytes]()
    telemetry = Telemetry(lines.append)
    strict = DiskSpaceMonitor(space, [tmp_path], MORE_THAN_THERE_IS, SystemClock(), telemetry)
    for _ in range(3):
        strict.check()
    assert strict.low_space_warning is not None
    assert "writes are refused until" in strict.low_space_warning
    assert b"almoner_writes_refused 1.0" in telemetry.render_metrics()
    lenient = DiskSpaceMonitor(space, [tmp_path], 0, SystemClock(), telemetry)
    lenient.check()
    assert lenient.low_space_warning is None
    assert [json.loads(line)["event"] for line in lines] == ["writes_refused", "writes_resumed"]
    metrics = telemetry.render_metrics()
    assert b"almoner_writes_refused 0.0" in metrics
    assert b"almoner_disk_free_bytes " in metrics


def test_nothing_is_said_of_a_folder_that_is_not_there(tmp_path: Path) -> None:
    telemetry = Telemetry(lambda _line: None)
    DiskSpaceMonitor(DiskSpace(), [tmp_path / "nowhere"], RESERVE, SystemClock(), telemetry).check()
    assert b"almoner_disk_free" not in telemetry.render_metrics()


@pytest.mark.parametrize(
    ("megabytes", "present", "step"),
    [
        (384, False, "create"),
        (383, False, None),
        (64, True, None),
        (63, True, "remove"),
        (0, False, None),
    ],
)
def test_the_ballast_is_created_with_room_to_spare_and_removed_near_the_end(
    megabytes: int, present: bool, step: str | None
) -> None:
    assert next_ballast_file_step(megabytes * MEBIBYTE, RESERVE, ballast_exists=present) == step


@pytest.mark.parametrize("reserve", [0, 2 * BALLAST_BYTES - 1])
def test_there_is_no_ballast_whose_removal_would_let_writes_in_again(reserve: int) -> None:
    assert next_ballast_file_step(MORE_THAN_THERE_IS, reserve, ballast_exists=False) is None
    assert next_ballast_file_step(MORE_THAN_THERE_IS, reserve, ballast_exists=True) == "remove"


def test_the_room_of_the_ballast_is_really_taken(tmp_path: Path) -> None:
    (tmp_path / ballast.FILE).write_bytes(b"left over by a crash")
    assert not ballast.has_ballast_file(tmp_path)
    ballast.create_ballast_file(tmp_path)
    assert ballast.has_ballast_file(tmp_path)
    assert (tmp_path / ballast.FILE).stat().st_blocks * 512 >= BALLAST_BYTES
    assert ballast.remove_ballast_file(tmp_path)
    assert not ballast.remove_ballast_file(tmp_path)
