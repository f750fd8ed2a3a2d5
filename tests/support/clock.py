"""The clocks that tests move."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

from almoner.kit.ids import created_at_of_id, new_id

START = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


class TestClock:
    """Business time is fixed until a test moves it, forwards only; real time is real, plus what a test adds."""

    __test__ = False

    def __init__(self, start: datetime = START) -> None:
        self._start = self._now = start
        self._ahead = timedelta()
        self._wall: datetime | None = None

    def now(self) -> datetime:
        """Business time."""
        return self._now

    def real_now(self) -> datetime:
        """Real time."""
        return (self._wall or datetime.now(UTC)) + self._ahead

    @property
    def offset(self) -> timedelta:
        """How far business time has been moved."""
        return self._now - self._start

    def advance_to_offset(self, offset: timedelta) -> None:
        """Apply a move of the deployment's clock."""
        self._now = max(self._now, self._start + offset)

    def advance(self, by: timedelta | None = None, **amount: float) -> datetime:
        """Move business time: ``advance(hours=24)``; returns the new time."""
        step = timedelta(**amount) if by is None else by
        assert step >= timedelta(), "business time moves forwards only"
        self._now += step
        return self._now

    def advance_to(self, moment: datetime) -> datetime:
        """Move business time to a future time."""
        return self.advance(moment - self._now)

    def advance_to_newest_id(self) -> datetime:
        """Move business time to the newest ID: IDs never go back in a process, where another clock may be further."""
        return self.advance_to(max(self._now, created_at_of_id(new_id(self._now))))

    def set_back(self) -> None:
        """Reset for the next test of a shared service."""
        self._now, self._ahead, self._wall = self._start, timedelta(), None

    def stop_wall(self) -> None:
        """Stop real time, too, until a test moves it."""
        self._wall = datetime.now(UTC)

    @contextmanager
    def wall_stopped(self) -> Iterator[None]:
        """The same while the block runs."""
        self.stop_wall()
        try:
            yield
        finally:
            self._wall = None

    def advance_wall(self, **amount: float) -> None:
        """Move real time: leases, limits and one-time passwords expire."""
        self._ahead += timedelta(**amount)
