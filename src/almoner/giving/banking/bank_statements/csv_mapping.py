"""Mapping files for a bank's CSV exports, in the language of all mapping files (docs/runbooks/bank.md)."""

import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.kit.money import EXPONENTS
from almoner.platform.files.mappings import ENCODINGS, FILE_OPTIONS, ColumnMapping, MappingParser

_COLUMNS: Final = {
    "day": "day",
    "amount": "text",
    "debit": "text",
    "credit": "text",
    "incoming": "flag",
    "booked": "flag",
    "account": "text",
    "currency": "text",
    "reference": "text",
    "end_to_end_id": "text",
    "counterparty": "text",
    "words": "text",
}
"""The fields that can be mapped. ``incoming``: whether an amount without a sign is incoming; ``booked``: whether the
row is booked.
"""
_OPTIONS: Final[Mapping[str, frozenset[str]]] = {
    "text": frozenset({"column", "columns", "join", "remove"}),
    "day": frozenset({"column", "format"}),
    "flag": frozenset({"column", "true", "false"}),
}
_TABLES: Final = frozenset({"account", "currency", "file", "columns"})
_FILE: Final = FILE_OPTIONS | {"decimal", "header", "skip"}
_MORE_ENCODINGS: Final = frozenset({"utf-16", "utf-16-le", "utf-16-be", "cp850", "cp852"})


@dataclass(frozen=True, slots=True)
class CsvStatementMapping:
    """How the columns of a bank's CSV export map to statement fields."""

    account: str
    currency: str
    encoding: str
    delimiter: str
    quote: str
    decimal: str
    header: bool
    skip: int
    columns: Mapping[str, ColumnMapping] = field(default_factory=dict)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns that are read."""
        return list(dict.fromkeys(name for one in self.columns.values() for name in one.columns))


def load_mapping(path: Path) -> CsvStatementMapping:
    """Load a mapping file. Raises BankStatementError with every problem."""
    try:
        text = unicodedata.normalize("NFC", path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BankStatementError(f"{path} cannot be read as a text file") from error
    return parse_mapping(text, str(path))


def parse_mapping(text: str, file_name: str) -> CsvStatementMapping:
    """Parse a mapping file; ``file_name``: used in problems. Raises BankStatementError with every problem."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise BankStatementError(f"{file_name} is not valid TOML: {error}") from error
    parser = _Parser(document)
    mapping = parser.mapping()
    if parser.problems:
        raise BankStatementError(f"{file_name}: " + "; ".join(parser.problems))
    return mapping


class _Parser(MappingParser):
    def mapping(self) -> CsvStatementMapping:
        """Return the parsed mapping; only valid without problems."""
        self._reject_unknown_keys("the mapping", self.document, _TABLES, "member")
        file, columns = self._table("file", _FILE), self._table("columns", frozenset(_COLUMNS))
        taken = {
            name: taking
            for name, stated in columns.items()
            if (kind := _COLUMNS.get(name))
            and (taking := self._taking(f"columns.{name}", stated, _OPTIONS[kind], kind))
        }
        self._require(columns)
        decimal, skip = file.get("decimal", "."), file.get("skip", 0)
        if decimal not in (".", ","):
            self.add_problem('file.decimal must be "." or ","')
        if not isinstance(skip, int) or isinstance(skip, bool) or not 0 <= skip <= 1000:
            self.add_problem("file.skip is not a number of lines from 0 to 1000")
        header = self._flag(file, "file.header", default=True)
        if not header and any(not name.isdigit() or name == "0" for one in taken.values() for name in one.columns):
            self.add_problem('without a header, columns are named by their number: "1" is the first')
        return CsvStatementMapping(
            account=str(self.document.get("account", "")),
            currency=str(self.document.get("currency", "")),
            decimal=decimal,
            header=header,
            skip=skip,
            columns=taken,
            **self._file_options({"encoding": "utf-8-or-windows-1252", **file}, ENCODINGS | _MORE_ENCODINGS),
        )

    def _require(self, columns: Mapping[str, Any]) -> None:
        for name in ("account", "currency"):
            stated = self.document.get(name)
            if name not in self.document and name not in columns:
                self.add_problem(f"{name} is required")
            elif name in self.document and not (isinstance(stated, str) and stated.strip()):
                self.add_problem(f"{name} is not a text")
        if (currency := self.document.get("currency")) and currency not in EXPONENTS:
            self.add_problem("currency is not an active ISO 4217 currency")
        if "day" not in columns:
            self.add_problem("columns.day is required")
        has_two = {"debit", "credit"} <= set(columns)
        if ("amount" in columns) == has_two or (not has_two and {"debit", "credit"} & set(columns)):
            self.add_problem("columns.amount is required, or columns.debit and columns.credit")
        if "incoming" in columns and "amount" not in columns:
            self.add_problem("columns.incoming says which way columns.amount went: it needs that")
