"""The TOML schedule on which published data sources are refetched. Pure."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, Generic, Protocol, TypeVar

from almoner.platform.outbound.addresses import AddressPolicy, AddressRefused, parse_target

_MEMBERS: Final = frozenset({"every_hours", "urls"})
_MOST_HOURS: Final = 24 * 366
_MOST_URLS: Final = 200
_FIRST_AGAIN: Final = timedelta(minutes=5)
_LATEST_AGAIN: Final = timedelta(hours=12)


class SourceFormat(Protocol):
    """A file format of a published data source."""

    @property
    def code(self) -> str:
        """The format's name in the schedule."""
        ...


Format = TypeVar("Format", bound=SourceFormat)


@dataclass(frozen=True, slots=True)
class ScheduledRefresh(Generic[Format]):
    """A source that is refetched at an interval; its ``urls`` together are one load."""

    format: Format
    interval: timedelta
    urls: tuple[str, ...]

    @property
    def source(self) -> str:
        """The source's code."""
        return self.format.code


class InvalidRefreshSchedule(Exception):
    """The schedule file is invalid; ``problems`` lists why."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def parse_refresh_schedule(
    text: str,
    find_format: Callable[[str], Format],
    address_policy: AddressPolicy,
    unknown_format_error: type[Exception],
) -> tuple[ScheduledRefresh[Format], ...]:
    """Parse the schedule; ``find_format`` looks up formats. Raises InvalidRefreshSchedule."""
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidRefreshSchedule([f"it is not TOML: {error}"]) from error
    problems: list[str] = []
    plan: dict[str, ScheduledRefresh[Format]] = {}
    for name, table in tables.items():
        found = [f"[{name}] {problem}" for problem in _table_problems(table, address_policy)]
        try:
            source = find_format(name)
        except unknown_format_error as error:
            found.append(f"[{name}] {error}")
        else:
            if source.code in plan:
                found.append(f"[{name}] is there twice")
            if not found:
                plan[source.code] = ScheduledRefresh(
                    source, timedelta(hours=table["every_hours"]), tuple(table["urls"])
                )
        problems += found
    if problems:
        raise InvalidRefreshSchedule(problems)
    return tuple(plan.values())


def _table_problems(table: object, policy: AddressPolicy) -> Iterator[str]:
    if not isinstance(table, dict):
        yield "must be a table with every_hours and urls"
        return
    yield from (f"has {name}, which means nothing" for name in sorted(table.keys() - _MEMBERS))
    hours, urls = table.get("every_hours"), table.get("urls")
    if type(hours) is not int or not 1 <= hours <= _MOST_HOURS:
        yield f"needs every_hours, a whole number from 1 to {_MOST_HOURS}"
    if not isinstance(urls, list) or not 1 <= len(urls) <= _MOST_URLS:
        yield f"needs urls, a list of 1 to {_MOST_URLS} web addresses"
        return
    for url in urls:
        try:
            parse_target(str(url), policy)
        except AddressRefused as error:
            yield f"{url} {error.reason}"
    if len({str(url) for url in urls}) < len(urls):
        yield "names an address twice"


def retry_delay(failure_count: int, refresh_interval: timedelta) -> timedelta:
    """The delay after failures in a row: doubled each time, up to the interval."""
    doubled: timedelta = _FIRST_AGAIN * 2 ** min(failure_count - 1, 20)
    return min(doubled, _LATEST_AGAIN, refresh_interval)
