"""A whole extract, as many bodies and rows as the real one, in bounded memory and without a file left behind."""

import io
import os
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import psutil
import pytest

from almoner.adapters.registers_ccew import CcewReader
from almoner.nonprofits.registers.domain import RegisterEntry
from tests.support.figures import Figures
from tests.support.uk_registers import DAY, charity, columns_of, said

MOST_MEMORY = 150 * 2**20
"""Bytes above what the process had: the page cache of the join, and what is read and written at once."""
WORDS = (
    "relief of poverty in the ancient parish and its villages by grants to schools and homes for aged people".split()
)


@dataclass(frozen=True)
class Generated:
    """A table that is written while it is read."""

    table: str
    count: int
    look: Callable[[], None]
    each: int = 1
    cost: list[float] = field(default_factory=lambda: [0.0])
    """Seconds of the processor that the writing of the rows took."""

    @property
    def name(self) -> str:
        """As published."""
        return f"publicextract.{self.table}.txt"

    def lines(self, encoding: str) -> Iterator[str]:
        """The rows in no order of the bodies: as long as real ones."""
        assert encoding == "utf-8-sig"
        columns = columns_of(self.table)
        yield "\t".join(columns) + "\r\n"
        chance = random.Random(self.table)
        for nth in range(self.count * self.each):
            if nth % 20_000 == 0:
                self.look()
            started = time.process_time()
            organisation = nth * 7919 % self.count + 1  # a prime: every body, far from its neighbour
            row = {"date_of_extract": DAY, **self._row(organisation, nth // self.count, chance)}
            line = "\t".join(row.get(column, "") for column in columns) + "\r\n"
            self.cost[0] += time.process_time() - started
            yield line

    def _row(self, organisation: int, turn: int, chance: random.Random) -> dict[str, str]:
        if self.table == "charity":
            linked = str(organisation % 40) if organisation % 4 == 0 else "0"
            removed = {"charity_registration_status": "Removed", "date_of_removal": "2015-06-01"}
            return charity(
                organisation,
                registered_charity_number=str(1_000_000 + organisation),
                linked_charity_number=linked,
                charity_name=f"{chance.choice(WORDS)} {chance.choice(WORDS)} fund {organisation}",
                charity_activities=" ".join(chance.choices(WORDS, k=40)),
                latest_income=str(chance.randrange(10**6)),
                **(removed if organisation % 2 else {}),
            )
        return said(organisation, **self._said(organisation, turn, chance))

    def _said(self, organisation: int, turn: int, chance: random.Random) -> dict[str, str]:
        match self.table:
            case "charity_classification":
                return {"classification_code": str((101, 201, 301, 102, 207)[turn])}
            case "charity_event_history":
                kind = ("Standard registration", "Asset transfer out")[turn]
                return {
                    "event_type": kind,
                    "date_of_event": "2015-06-01",
                    "assoc_organisation_number": str(organisation % self.count + 1) if turn else "",
                }
            case "charity_other_names":
                return {"charity_name_type": "Working name", "charity_name": f"The {organisation}"}
            case _:
                return {"charitable_objects": " ".join(chance.choices(WORDS, k=90)), "area_of_benefit": "NATIONAL"}

    def open_binary(self) -> BinaryIO:
        """Never asked for."""
        return io.BytesIO()


@pytest.mark.timeout(0)
def test_bounded_memory(figures: Figures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables in the worst order are joined in bounded memory; nothing is left where the join lay."""
    monkeypatch.setenv("SQLITE_TMPDIR", str(tmp_path))
    organisations = figures.count(2_000, 400_000)
    process = psutil.Process(os.getpid())
    before, grown = process.memory_info().rss, [0]

    def look() -> None:
        grown.append(process.memory_info().rss - before)
        assert list(tmp_path.iterdir()) == []  # unlinked as soon as it was open: a killed process leaves nothing

    files = [
        Generated("charity_governing_document", organisations, look),
        Generated("charity_event_history", organisations, look, 2),
        Generated("charity_classification", organisations, look, 5),
        Generated("charity_other_names", organisations, look),
        Generated("charity", organisations, look),
    ]
    rows = sum(file.count * file.each for file in files)
    started, worked = time.monotonic(), time.process_time()
    seen: Counter[str] = Counter()
    first = 0.0
    for nth, row in enumerate(CcewReader().read(files)):
        seen[type(row).__name__] += 1
        if isinstance(row, RegisterEntry):
            first = first or time.monotonic() - started
            assert len(row.facts["classification"]) == 5  # type: ignore[arg-type]
        if nth % 20_000 == 0:
            look()
    took = time.monotonic() - started
    worked = time.process_time() - worked - sum(file.cost[0] for file in files)
    assert seen == {"RegisterEntry": organisations, "RegisterLink": organisations // 2, "RegisterFileRemark": 6}
    assert max(grown) < MOST_MEMORY
    pace = f"{rows / worked:,.0f} rows/s, {organisations / worked:,.0f} bodies/s"
    figures.write(
        "ccew-extract",
        "An extract of the Charity Commission, read and joined",
        f"{organisations:,} charities and {rows - organisations:,} rows of four further tables, in no order",
        f"{worked:.0f} s of one processor, without the writing of the rows: {pace}",
        f"{took:.0f} s by the clock on a busy machine, of which {first:.0f} s until the first body",
        f"memory grew by {max(grown) / 2**20:.0f} MiB at most",
    )
