"""A line of the log that cannot be written ends nothing, holds nothing up, and is told of later."""

import errno
import json
import logging
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import structlog

from almoner.cli import logs
from almoner.cli.logs import LogFile
from almoner.platform.observability.log_lines import LogLineWriter, StderrWriter
from almoner.platform.observability.telemetry import Telemetry

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class Place:
    """Where lines go, unless something is wrong there."""

    def __init__(self) -> None:
        self.wrong: Exception | None = None
        self.lines: list[bytes] = []

    def __call__(self, line: bytes) -> None:
        if self.wrong is not None:
            raise self.wrong
        self.lines.append(line)


@pytest.mark.parametrize("wrong", [FULL, BrokenPipeError(), BlockingIOError(), ValueError("closed"), AttributeError()])
def test_lost_lines_are_counted_and_told_once_writing_works_again(wrong: Exception) -> None:
    place = Place()
    telemetry = Telemetry(place)
    place.wrong = wrong
    for _ in range(3):
        telemetry.log("anything", datetime.now(UTC))
    assert b"almoner_log_lines_dropped_total 3.0" in telemetry.render_metrics()
    place.wrong = None
    telemetry.log("again", datetime.now(UTC))
    telemetry.log("further", datetime.now(UTC))
    reported = [json.loads(line) for line in place.lines]
    assert [one["event"] for one in reported] == ["log_lines_lost", "again", "further"]
    assert reported[0]["lines"] == 3


@pytest.mark.parametrize("odd", ["\ud800", object(), {1: 2}, float("nan")])
def test_whatever_a_line_holds_it_is_written(odd: object) -> None:
    place = Place()
    Telemetry(place).log("odd", datetime.now(UTC), value=odd)
    assert json.loads(place.lines[0])["event"] == "odd"


def test_lines_of_libraries_and_of_our_own_fail_for_nobody() -> None:
    before = structlog.get_config(), logging.getLogger().handlers[:], logging.getLogger().level
    place = Place()
    lines = LogLineWriter(place)
    try:
        logs.configure_logging(lines, "info")
        place.wrong = FULL
        logging.getLogger("asyncio").error("something")
        structlog.get_logger().info("something", value="\ud800")
        assert lines.lost == 2
        place.wrong = None
        logging.getLogger("uvicorn.error").warning("%s and %s", *["one value"])
        assert [json.loads(line).get("message") for line in place.lines] == [None, "%s and %s"]
    finally:
        structlog.configure(**before[0])
        logging.getLogger().handlers[:] = before[1]
        logging.getLogger().setLevel(before[2])


def test_nobody_is_waited_for_who_does_not_read() -> None:
    reader, writer = os.pipe()
    try:
        lines, line = LogLineWriter(StderrWriter(writer)), b"x" * 1000 + b"\n"
        while not lines.lost:
            lines(line)
        assert os.get_blocking(writer), "others that write to the same pipe are not to notice"
        os.set_blocking(reader, False)
        _emptied(reader)
        lines(b"y" * 20_000 + b"\n")
        lines(b"z\n")
        reported, long, last, end = _emptied(reader).split(b"\n")
        assert (json.loads(reported)["lines"], long, last, end) == (1, b"y" * 20_000, b"z", b"")
    finally:
        os.close(reader)
        os.close(writer)


def _emptied(reader: int) -> bytes:
    read = b""
    try:
        while some := os.read(reader, 1 << 20):
            read += some
    except BlockingIOError:
        pass
    return read


def test_a_reader_that_has_gone_and_a_closed_stream_end_nothing() -> None:
    reader, writer = os.pipe()
    lines = LogLineWriter(StderrWriter(writer))
    os.close(reader)
    lines(b"a line\n")
    os.close(writer)
    lines(b"a line\n")
    left, right = socket.socketpair()
    with left, right:
        of_a_socket = LogLineWriter(StderrWriter(left.fileno()))
        while not of_a_socket.lost:
            of_a_socket(b"x" * 1000)
    assert lines.lost == 2


@contextmanager
def _no_larger_than(size: int) -> Iterator[None]:
    """Files of this process cannot grow over ``size``, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_of_a_line_for_which_there_is_no_room_nothing_stays(tmp_path: Path) -> None:
    with LogFile(tmp_path / "a.log", largest=1000) as log:
        lines = LogLineWriter(log.write)
        lines(b"a" * 9 + b"\n")
        with _no_larger_than(15):
            lines(b"b" * 9 + b"\n")
        lines(b"c" * 9 + b"\n")
    first, reported, last = (tmp_path / "a.log").read_bytes().splitlines()
    assert (first, json.loads(reported)["lines"], last) == (b"a" * 9, 1, b"c" * 9)


def test_a_log_that_cannot_begin_a_new_file_goes_on_when_it_can_and_loses_no_old_one(tmp_path: Path) -> None:
    file, in_the_way = tmp_path / "a.log", tmp_path / "a.log.1"
    with LogFile(file, largest=10, old_files=3) as log:
        lines = LogLineWriter(log.write)
        for letter in (b"a", b"b", b"c"):
            lines(letter * 9)
        in_the_way.rename(tmp_path / "kept")
        (in_the_way / "something").mkdir(parents=True)
        (tmp_path / "a.log.3").mkdir()
        (tmp_path / "a.log.3" / "something").mkdir()
        for _ in range(3):
            lines(b"d" * 9)
        assert lines.lost == 3
        (in_the_way / "something").rmdir()
        in_the_way.rmdir()
        lines(b"e" * 5)
    assert (tmp_path / "a.log.2").read_bytes() == b"a" * 9
    assert in_the_way.read_bytes() == b"c" * 9


def test_what_a_serving_command_prints_may_be_lost() -> None:
    code = "from almoner.cli import outputs; outputs.ignore_output_errors(); print('x' * 100_000, flush=True)"
    with Path("/dev/full").open("w") as full:
        subprocess.run([sys.executable, "-c", code], stdout=full, check=True)


def test_no_socket_has_the_number_of_a_stream_that_was_closed_before_the_start() -> None:
    code = (
        "import socket, sys; from almoner.cli import outputs; outputs.ignore_output_errors(); "
        "sys.exit(min(socket.socket().fileno(), 9))"
    )
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", code]
    assert subprocess.run(command, check=False).returncode in range(3, 10)
