"""The log of `almoner run` does not grow for ever."""

from pathlib import Path

import pytest

from almoner.cli.logs import LogFile
from tests.support.small_disk import BLOCK, fill, small_disk


def held(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_a_full_log_makes_room_and_few_old_ones_are_kept(tmp_path: Path) -> None:
    with LogFile(tmp_path / "a.log", largest=10, old_files=2) as log:
        for letter in (b"a", b"b", b"c", b"d", b"e", b"f", b"g"):
            log.write(letter * 4 + b"\n")
    assert held(tmp_path) == {"a.log": b"gggg\n", "a.log.1": b"eeee\nffff\n", "a.log.2": b"cccc\ndddd\n"}


def test_a_new_start_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    for letter in (b"a", b"b", b"c"):
        with LogFile(tmp_path / "a.log", largest=10) as log:
            log.write(letter * 4 + b"\n")
    assert held(tmp_path) == {"a.log": b"cccc\n", "a.log.1": b"aaaa\nbbbb\n"}


def test_a_line_longer_than_a_file_is_written_whole(tmp_path: Path) -> None:
    with LogFile(tmp_path / "a.log", largest=10) as log:
        log.write(b"x" * 30)
        log.write(b"y")
    assert held(tmp_path) == {"a.log": b"y", "a.log.1": b"x" * 30}


def test_a_line_that_a_full_disk_cuts_off_takes_no_line_of_another_process_with_it(tmp_path: Path) -> None:
    with small_disk(tmp_path / "disk", 1) as data, LogFile(data / "a.log") as one, LogFile(data / "a.log") as other:
        one.write(b"one\n")
        other.write(b"other\n")
        fill(data / "filler", leave=BLOCK)
        with pytest.raises(OSError, match="No space"):
            one.write(b"x" * 4 * BLOCK)
        assert (data / "a.log").read_bytes() == b"one\nother\n"
