"""Loading a register from files: read, guard, merge, and say where it came from, in one transaction."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.organisations.domain import searchable
from almoner.nonprofits.registers import domain, files, store
from almoner.nonprofits.registers.domain import BadRow, Entry, FileFacts, ImportRefused, Load, Progress
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.db import EVERYONE, Database, Tx

Report = Callable[[Progress], None]

_ROWS_BETWEEN_REPORTS: Final = 5_000
_KEPT_QUARANTINE: Final = 50_000
_FIRST_ROW: Final = 2  # the header is line 1


async def import_files(
    db: Database,
    source: RegisterSource,
    paths: Sequence[Path],
    *,
    as_of: datetime | None = None,
    force: bool = False,
    report: Report | None = None,
) -> Load:
    """Load the files of one register as one snapshot, all or nothing.

    ``as_of`` is the day of the data (00:00 UTC), by default as ``files.day_of`` finds it. ``force`` loads a file
    that shrank
    or is older than what is loaded. Files that are what is loaded already are skipped. Raises ImportRefused.
    """
    if not paths:
        raise ImportRefused("no file was named")
    found = [(path, files.facts(path)) for path in paths]
    if len({facts.sha256 for _, facts in found}) < len(found):
        raise ImportRefused("two of the files have the same content")
    async with db.write() as tx:
        registry = await _registry(tx, source)
        await store.lock_registry(tx, EVERYONE, registry.id)
        standing = await store.standing_files(tx, EVERYONE, registry.id, [facts.sha256 for _, facts in found])
        fresh = [(path, facts) for path, facts in found if facts.sha256 not in standing]
        if not fresh:
            return _unchanged(tx, source, registry, [facts for _, facts in found])
        day = as_of or files.day_of([path for path, _ in fresh])
        reading = _Reading(tx, source, fresh, report)
        await store.create_rows(tx, EVERYONE)
        await store.copy_rows(tx, EVERYONE, reading.records())
        return await _load(tx, reading, registry, day, force=force)


async def list_loads(db: Database, limit: int = 50) -> list[Load]:
    """The newest loads, newest first."""
    async with db.read() as tx:
        return await store.every_load(tx, EVERYONE, limit)


async def _registry(tx: Tx, source: RegisterSource) -> Registry:
    return next(row for row in await registries.called(tx, source.registry_code) if row.code == source.registry_code)


def _unchanged(tx: Tx, source: RegisterSource, registry: Registry, found: list[FileFacts]) -> Load:
    assert registry.data_as_of is not None  # a standing file dated it
    return Load(
        tx.new_id(),
        registry.code,
        source.code,
        registry.data_as_of,
        tx.now,
        0,
        0,
        0,
        0,
        0,
        False,
        tuple(found),
        "unchanged",
    )


@dataclass(slots=True)
class _Reading:
    """Reads the files into records for COPY, and keeps what COPY does not take."""

    tx: Tx
    source: RegisterSource
    found: list[tuple[Path, FileFacts]]
    report: Report | None
    quarantine: list[tuple[int, BadRow]] = field(default_factory=list)
    rows: int = 0
    _started: datetime = field(init=False)
    _before: int = 0

    def __post_init__(self) -> None:
        self._started = self.tx.clock.wall()

    @property
    def bytes(self) -> int:
        """The size of all files."""
        return sum(facts.bytes for _, facts in self.found)

    def records(self) -> Iterator[tuple[Any, ...]]:
        """One record for each good row, in the order of ``store.COPIED``."""
        return chain.from_iterable(self._file(place, path) for place, (path, _) in enumerate(self.found))

    def _file(self, place: int, path: Path) -> Iterator[tuple[Any, ...]]:
        code, new_id = self.source.registry_code, self.tx.new_id
        with files.lines(path, self.source.encoding) as lines:
            for nth, row in enumerate(self.source.read(lines)):
                if nth % _ROWS_BETWEEN_REPORTS == 0:
                    self.tell("reading", self._before + lines.position)
                if isinstance(row, BadRow):
                    self.put_aside(place, row)
                    continue
                self.rows += 1
                key = registries_domain.number_key(code, row.number) or row.number
                yield _record(new_id(), place, nth + _FIRST_ROW, key, row)
        self._before += self.found[place][1].bytes

    def put_aside(self, place: int, row: BadRow) -> None:
        """Keep a bad row. Raises ImportRefused when there are more than any register has."""
        self.quarantine.append((place, row))
        if len(self.quarantine) > _KEPT_QUARANTINE:
            raise ImportRefused(f"more than {_KEPT_QUARANTINE} rows are bad; the first: {self.quarantine[0][1].reason}")

    def tell(self, stage: Any, position: int) -> None:
        """Report how far it is."""
        if self.report is None:
            return
        elapsed = max((self.tx.clock.wall() - self._started).total_seconds(), 1e-6)
        share = position / self.bytes if self.bytes else 1.0
        self.report(Progress(stage, self.rows, self.rows / elapsed, share, domain.seconds_left(share, elapsed)))


def _record(new_id: UUID, place: int, line: int, key: str, row: Entry) -> tuple[Any, ...]:
    return (
        new_id,
        place,
        line,
        row.number,
        key,
        *row[1:],
        searchable(row.name),
        searchable(row.other_name),
    )


async def _load(tx: Tx, reading: _Reading, registry: Registry, day: datetime, *, force: bool) -> Load:
    reading.tell("merging", reading.bytes)
    for place, row in await store.take_repeated(tx, EVERYONE):
        reading.put_aside(place, row)
    counts = await store.count_parts(tx, EVERYONE)
    parts: dict[str, int] = {}
    for (_, part), rows in counts.items():
        parts[part] = parts.get(part, 0) + rows
    _check_rows(sum(parts.values()), reading)
    if not force:
        await _check_against_loaded(tx, registry, parts, day)
    load_id = tx.new_id()
    await store.tell_changes(tx, EVERYONE, registry.id, load_id, day)
    changed = await store.merge_changed(tx, EVERYONE, registry.id)
    added = await store.merge_new(tx, EVERYONE, registry.id, day)
    gone = await store.retire_missing(tx, EVERYONE, registry.id, list(parts), load_id, day)
    await store.join_branches(tx, EVERYONE, registry.id)
    await store.learn_words(tx, EVERYONE)
    await store.settle(tx, EVERYONE)
    load = Load(
        id=load_id,
        registry_code=registry.code,
        source=reading.source.code,
        data_as_of=day,
        loaded_at=tx.now,
        rows=sum(parts.values()),
        added=added,
        changed=changed,
        gone=gone,
        quarantined=len(reading.quarantine),
        forced=force,
        files=tuple(_with_counts(reading, place, counts) for place in range(len(reading.found))),
    )
    named = [(reading.found[place][1].name, row) for place, row in reading.quarantine]
    await store.insert_load(tx, EVERYONE, registry.id, load, named)
    await store.date_parts(tx, EVERYONE, registry.id, load, parts)
    return load


def _with_counts(reading: _Reading, place: int, counts: dict[tuple[int, str], int]) -> FileFacts:
    own = {part: rows for (file, part), rows in counts.items() if file == place}
    aside = sum(file == place for file, _ in reading.quarantine)
    return replace(reading.found[place][1], parts=tuple(sorted(own)), rows=sum(own.values()), quarantined=aside)


def _check_rows(good: int, reading: _Reading) -> None:
    bad = len(reading.quarantine)
    if domain.too_many_bad(good, bad):
        raise ImportRefused(
            f"{bad} of {good + bad} rows are bad, the first in line {reading.quarantine[0][1].line}: "
            f"{reading.quarantine[0][1].reason}"
        )
    if good == 0:
        raise ImportRefused("the files hold no rows")


async def _check_against_loaded(tx: Tx, registry: Registry, parts: dict[str, int], day: datetime) -> None:
    loaded = await store.loaded_parts(tx, EVERYONE, registry.id, list(parts))
    before = {row["part"]: row["rows"] for row in loaded}
    after = {part: rows for part, rows in parts.items() if part in before}
    if found := domain.shrunken(before, after):
        raise ImportRefused(
            f"the register shrank: {'; '.join(found)}. Fetch the files again, or load them as they are with --force"
        )
    newest = max((row["data_as_of"] for row in loaded), default=None)
    if newest is not None and day < newest:
        raise ImportRefused(
            f"the data are of {day:%Y-%m-%d}, data of {newest:%Y-%m-%d} are loaded. Say --as-of if that day is wrong, "
            f"or --force to go back"
        )
