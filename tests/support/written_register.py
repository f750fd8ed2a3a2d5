"""A source for any registry, for imports that tests write themselves: one entry or link per line."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.domain import RegisterEntry, RegisterImport, RegisterLink, RejectedRow
from almoner.nonprofits.registers.ports import SourceFile
from almoner.nonprofits.registers.store_merge import FEW_ROWS
from almoner.platform.database.transactions import Database


@dataclass(frozen=True)
class Written:
    """A format of our own (``ports.RegisterSource``)."""

    code: str
    registry_code: str
    lists_organisations: bool = True
    is_format_unverified: bool = False
    has_repeated_numbers: bool = False
    reads_files_together: bool = False
    ignored_columns: frozenset[str] = field(default_factory=frozenset)
    canary_numbers: frozenset[str] = field(default_factory=frozenset)

    def read(self, files: Sequence[SourceFile]) -> Iterator[RegisterEntry | RegisterLink | RejectedRow]:
        """Read the rows as written."""
        for file in files:
            for line in file.lines("utf-8"):
                if not line.strip():
                    continue
                row = json.loads(line)
                if "kind" in row:
                    yield RegisterLink(**{**row, "at": _day(row["at"])})
                else:
                    yield RegisterEntry(
                        **{**row, "registration_date": _day(row["registration_date"]), "until": _day(row["until"])}
                    )


def _day(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


def entry(number: str, name: str, **members: Any) -> RegisterEntry:
    """An entry of a register in one file; by default a nonprofit."""
    return RegisterEntry(number, members.pop("part", "all"), name, **{"types": ["nonprofit"], **members})


@dataclass
class Loader:
    """Imports what is written, each time from a new file. ``few``: see ``import_files``."""

    db: Database
    folder: Path
    few: int = FEW_ROWS
    _files: int = 0

    async def load(self, source: Written, day: datetime, *rows: RegisterEntry | RegisterLink) -> RegisterImport:
        """Import once, however much the register shrank."""
        file = self.written(source, *rows)
        return await registers_flows.import_files(
            self.db, source, [file], as_of=day, force=True, max_row_lookups=self.few
        )

    def written(self, source: Written, *rows: RegisterEntry | RegisterLink) -> Path:
        """Write a file with the rows."""
        self._files += 1
        file = self.folder / f"{source.code}-{self._files}.jsonl"
        with file.open("w", encoding="utf-8") as lines:
            for row in rows:
                lines.write(json.dumps({**row._asdict(), **_facts(row)}, default=datetime.isoformat) + "\n")
            lines.write("\n" * self._files)  # so that no two files have the same content
        return file


def _facts(row: RegisterEntry | RegisterLink) -> dict[str, Any]:
    return {"facts": dict(row.facts)} if isinstance(row, RegisterEntry) else {}
