"""Head and body of an answer leave together, in order, and nothing stays behind."""

import asyncio
from typing import cast

import pytest

from almoner.cli.write_coalescing import WriteCoalescingTransport


class Sent:
    """A transport that notes what it is given."""

    def __init__(self) -> None:
        self.calls: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        """Note it."""
        self.calls.append(data)

    def is_closing(self) -> bool:
        """Whether it was closed."""
        return self.closed

    def close(self) -> None:
        """Close it."""
        self.closed = True


@pytest.fixture
async def ends() -> tuple[WriteCoalescingTransport, Sent]:
    sent = Sent()
    return WriteCoalescingTransport(cast("asyncio.Transport", sent), asyncio.get_running_loop()), sent


async def test_head_and_body_are_one_write(ends: tuple[WriteCoalescingTransport, Sent]) -> None:
    joined, sent = ends
    joined.write(b"head ")
    assert sent.calls == []
    joined.write(b"body")
    assert sent.calls == [b"head body"]
    await asyncio.sleep(0)
    assert sent.calls == [b"head body"]


async def test_a_head_alone_waits_for_no_body(ends: tuple[WriteCoalescingTransport, Sent]) -> None:
    joined, sent = ends
    joined.write(b"head")
    await asyncio.sleep(0)
    assert sent.calls == [b"head"]


async def test_of_a_stream_no_more_than_one_piece_is_held(ends: tuple[WriteCoalescingTransport, Sent]) -> None:
    joined, sent = ends
    for piece in (b"1", b"2", b"3", b"4", b"5"):
        joined.write(piece)
    assert sent.calls == [b"12", b"34"]
    await asyncio.sleep(0)
    assert b"".join(sent.calls) == b"12345"


async def test_what_is_held_goes_before_the_end(ends: tuple[WriteCoalescingTransport, Sent]) -> None:
    joined, sent = ends
    joined.write(b"all")
    joined.close()
    assert (sent.calls, joined.is_closing()) == ([b"all"], True)


async def test_nothing_is_written_to_one_who_left(ends: tuple[WriteCoalescingTransport, Sent]) -> None:
    joined, sent = ends
    joined.write(b"late")
    sent.close()
    await asyncio.sleep(0)
    assert sent.calls == []
