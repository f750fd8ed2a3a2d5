"""The TOML format that maps file columns to fields, for registers and bank statements.

Only named columns are read. A mapping is validated as a whole, and all problems are reported together.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from difflib import get_close_matches
from typing import Any, Final

FILE_OPTIONS: Final = frozenset({"encoding", "delimiter", "quote"})
ENCODINGS: Final = frozenset(
    """
    utf-8 utf-8-or-windows-1252 latin-1 iso-8859-1 iso-8859-2 iso-8859-15 windows-1250 windows-1251 windows-1252
    windows-1253 windows-1254 windows-1255 windows-1256 windows-1257 windows-1258 gb18030 big5 shift_jis euc-jp euc-kr
    """.split()
)
"""Encodings in which the end of a line is one byte."""
_DIRECTIVES: Final = re.compile(r"%(.)")
_KNOWN_DIRECTIVES: Final = frozenset("YmdHMSfBbyzpI%")


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """How one field is read: from which columns, and in which format."""

    columns: tuple[str, ...]
    join_separator: str = " "
    split_separator: str | None = None
    formats: tuple[str, ...] = ()
    true_values: frozenset[str] = frozenset()
    false_values: frozenset[str] = frozenset()
    removed_text: str = ""


@dataclass
class MappingParser:
    """Parses a mapping file and collects all problems."""

    document: dict[str, Any]
    problems: list[str] = field(default_factory=list)

    def add_problem(self, problem: str) -> None:
        """Add a problem with the mapping file."""
        self.problems.append(problem)

    def _table(self, name: str, known: frozenset[str] | None) -> dict[str, Any]:
        table = self.document.get(name, {})
        if not isinstance(table, dict):
            self.add_problem(f"{name} is not a table: write [{name}] and its members below it")
            return {}
        if known is not None:
            self._reject_unknown_keys(name, table, known, "member")
        return table

    def _reject_unknown_keys(self, where: str, table: Mapping[str, Any], known: frozenset[str], what: str) -> None:
        for name in table:
            if name not in known:
                near = get_close_matches(name, sorted(known), 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(sorted(known))}"
                self.add_problem(f"{where} has no {what} {name}: {hint}")

    def _file_options(self, file: Mapping[str, Any], encodings: frozenset[str]) -> dict[str, Any]:
        """The options of the file's text format."""
        encoding = file.get("encoding", "utf-8")
        if not isinstance(encoding, str) or encoding not in encodings:
            self.add_problem(f"file.encoding {encoding} is not known: use one of {', '.join(sorted(encodings))}")
        delimiter, quote = file.get("delimiter", ","), file.get("quote", '"')
        if not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '\r\n"':
            self.add_problem('file.delimiter is not one character: "," or ";" or "\\t" or "|"')
        if not isinstance(quote, str) or len(quote) > 1 or quote in ("\n", "\r") or (quote and quote == delimiter):
            self.add_problem('file.quote is not one character: "\\"" or "\'", or "" where nothing is quoted')
        return {"encoding": encoding, "delimiter": delimiter, "quote": quote}

    def _taking(self, where: str, stated: object, options: frozenset[str], kind: str) -> ColumnMapping | None:
        before = len(self.problems)
        if isinstance(stated, str):
            stated = {"column": stated}
        if not isinstance(stated, dict):
            self.add_problem(f"{where} is neither the name of a column nor a table: {where} = " + '{ column = "..." }')
            return None
        self._reject_unknown_keys(where, stated, options, "option")
        columns = [stated["column"]] if "column" in stated else stated.get("columns")
        if not isinstance(columns, list) or not columns or not all(isinstance(each, str) and each for each in columns):
            self.add_problem(f"{where} names no column: write column = or columns = [...]")
            columns = []
        if "column" in stated and "columns" in stated:
            self.add_problem(f"{where} has column and columns: keep one of them")
        taking = ColumnMapping(
            columns=tuple(columns),
            join_separator="" if stated.get("join") == "" else self._text(stated, f"{where}.join", " "),
            split_separator=self._text(stated, f"{where}.separator", None),
            formats=self._formats(where, stated),
            true_values=frozenset(text.casefold() for text in self._texts(stated, f"{where}.true")),
            false_values=frozenset(text.casefold() for text in self._texts(stated, f"{where}.false")),
            removed_text=self._text(stated, f"{where}.remove", ""),
        )
        if kind == "day" and not taking.formats:
            self.add_problem(f'{where} has no format: say how days are written, such as format = "%d/%m/%Y"')
        if kind == "flag" and not taking.true_values:
            self.add_problem(f'{where} does not say which values mean yes: true = ["Registered"]')
        if taking.true_values & taking.false_values:
            self.add_problem(
                f"{where}: {', '.join(sorted(taking.true_values & taking.false_values))} is both true and false"
            )
        if len([1 for asked in (taking.split_separator, taking.formats, taking.true_values) if asked]) > 1:
            self.add_problem(f"{where} has more than one of separator, format and true: keep one of them")
        return taking if len(self.problems) == before else None

    def _formats(self, where: str, stated: Mapping[str, Any]) -> tuple[str, ...]:
        given = stated.get("format", [])
        formats = [given] if isinstance(given, str) else given
        if not isinstance(formats, list) or not all(isinstance(each, str) and each for each in formats):
            self.add_problem(f'{where}.format is not a text or a list of texts: "%d/%m/%Y"')
            return ()
        for each in formats:
            used = set(_DIRECTIVES.findall(each))
            whole = {"d"} < used and ("Y" in used or "y" in used) and used & set("mBb")
            if not used <= _KNOWN_DIRECTIVES or not whole or not _is_readable_format(each):
                self.add_problem(
                    f"{where}.format {each} does not name year, month and day: %Y %m %d, %B for names of months"
                )
        return tuple(formats)

    def _flag(self, table: Mapping[str, Any], where: str, *, default: bool) -> bool:
        value = table.get(where.rpartition(".")[2], default)
        if not isinstance(value, bool):
            self.add_problem(f"{where} is not true or false")
        return bool(value)

    def _text(self, table: Mapping[str, Any], where: str, default: Any) -> Any:
        value = table.get(where.rpartition(".")[2], default)
        if value is not default and (not isinstance(value, str) or not value):
            self.add_problem(f"{where} is not a text")
            return default
        return value

    def _texts(self, table: Mapping[str, Any], where: str) -> list[str]:
        value = table.get(where.rpartition(".")[2], [])
        if isinstance(value, list) and all(isinstance(each, str) for each in value):
            return value
        self.add_problem(f'{where} is not a list of texts: ["..."]')
        return []


def _is_readable_format(form: str) -> bool:
    day = datetime(2013, 6, 17)  # noqa: DTZ001 (only tries the format)
    try:
        return datetime.strptime(day.strftime(form), form).date() == day.date()  # noqa: DTZ007
    except ValueError:
        return False
