"""Parses CSV statements: any bank's columns, through a mapping to our fields (``csv_mapping``).

Skips lines before the heading, sums after the last row and rows that are not booked; keeps an unreadable row with the
reason and reads on.
"""

import codecs
import csv
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from itertools import repeat
from typing import Final

from almoner.giving.banking.bank_statements import movements
from almoner.giving.banking.bank_statements.csv_mapping import CsvStatementMapping
from almoner.giving.banking.bank_statements.domain import BankMovement, BankStatement, BankStatementError
from almoner.kit.money import EXPONENTS, MAX_MINOR
from almoner.kit.text import clean_line, clean_text
from almoner.platform.files.mappings import ColumnMapping

_GROUPS: Final = " \u00a0\u2009\u202f'\u2019"
"""The thousands separators of banks, besides a comma or point that is not the decimal sign."""
_FORM: Final = (
    "(?:[0-9]+|(?!0)[0-9]{{1,3}}([{groups}])[0-9]{{3}}(?:\\1[0-9]{{3}})*|{lakhs}|(?={decimal}[0-9]))"
    "(?:{decimal}([0-9]*))?"
)
_LAKHS: Final = "(?!0)[0-9]{1,2}(?:,[0-9]{2})+,[0-9]{3}"
_BY_LAKHS: Final = frozenset({"INR", "PKR", "BDT", "NPR", "LKR"})
"""Currencies whose amounts are grouped as in India: ``1,23,456.78``."""
_MINUS: Final = re.compile("[\u2212\u2010\u2011\u2013\ufe63\uff0d\u25b2\u25b3]")
"""Minus signs, among them the triangles of Japanese accounts."""
_NO_DECIMALS: Final = re.compile("(?<=[0-9][.,])(?:-{1,2}|\u2014)(?![0-9])")
"""The dash of ``5,-``, in place of decimals: no sign."""
_MONEY: Final = (
    "[A-Z]{3}(?![A-Za-z])|[A-Z]{0,3}[$\u00a2-\u00a5\u20a0-\u20cf]|[Kk]r\\.?|zł|Kč|Ft|lei|Rs\\.?|Fr\\.?|R|TL|円|元|원|лв\\.?|"
    "грн\\.?|руб\\.?"
)
_BEFORE: Final = re.compile(rf"(?:(?P<sign>[+-])|(?P<money>{_MONEY}))\s*")
_BEHIND: Final = re.compile(rf"\s*(?:(?P<sign>[+-]|(?<![A-Za-z])(?:(?:C[Rr]|D[Rr])\.?|[HS]))|(?P<money>{_MONEY}))$")
"""``H`` and ``S``: credit and debit in German (``Haben``, ``Soll``)."""
_INCOMING: Final = ("+", "CR", "H")
_CURRENCIES: Final = {"€": "EUR", "₹": "INR", "₪": "ILS", "₺": "TRY", "₽": "RUB", "₴": "UAH", "₦": "NGN", "zł": "PLN"}
"""The symbols of one currency each."""
_SPREADSHEET: Final = re.compile(r"[0-9][.,][0-9]+E\+[0-9]+", re.IGNORECASE)
"""A long number that a spreadsheet has rounded; it is no longer a reference."""
_DIGIT: Final = re.compile(r"\d")
_HEADINGS: Final = 30
_MEASURED: Final = 200
"""The lines from which the usual number of columns is taken."""
_LONGEST_RECORD: Final = 100
"""Lines that a row with quoted texts may have."""
_SHOWN: Final = 60
_LONGEST_AMOUNT: Final = 100
"""Characters, with sign and currency: longer texts are not amounts, and to look for currencies in them is costly."""


class _Unreadable(Exception):
    """A row cannot be read; the message says why."""


def parse_statements(content: bytes, mapping: CsvStatementMapping) -> list[BankStatement]:
    """Parse a file; returns a statement for each account. Raises BankStatementError if the mapping does not fit it."""
    digest = sha256(content).digest()
    found: dict[tuple[str, str], tuple[list[BankMovement], list[str]]] = {}
    for number, row in _rows(content, mapping):
        if (where := _where(row, mapping)) is None:
            continue
        moved, rejected = found.setdefault(where, ([], []))
        try:
            if one := _movement(row, mapping, where[1]):
                moved.append(one)
        except _Unreadable as why:
            rejected.append(f"line {number}: {why}")
    return [
        BankStatement(
            account=account,
            reference=digest.hex()[:16],
            currency=currency,
            opening_minor=None,
            closing_minor=None,
            sha256=digest,
            movements=tuple(moved),
            is_account_export=True,
            file_format="csv",
            rejected=tuple(rejected),
        )
        for (account, currency), (moved, rejected) in found.items()
    ]


def _decoded(content: bytes, encoding: str) -> str:
    """Decode the file; a byte order mark takes precedence over the mapping's encoding."""
    for mark, stated in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
    ):
        if content.startswith(mark):
            return content[len(mark) :].decode(stated, "replace")
    if encoding == "utf-8-or-windows-1252":
        try:
            return content.decode("utf-8")
        except UnicodeDecodeError:
            return content.decode("cp1252", "replace")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise BankStatementError(f"the file is not {encoding}: see file.encoding in the mapping") from error


def _rows(content: bytes, form: CsvStatementMapping) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows below the heading by column name, each with its line number."""
    text = _decoded(content, form.encoding).replace("\x00", "")
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")[form.skip :]
    names: dict[str, int] | None = {} if form.header else None
    passed: list[str] = []
    number = form.skip

    def is_movement(cells: Sequence[str]) -> bool:
        if names is not None and not names:
            return True  # the columns are not known before the heading
        row = _by_name(cells, names)
        with suppress(_Unreadable):
            _movement(row, form, (_text(row, form, "currency") or form.currency).upper())
            return True
        return False

    try:
        for taken, fields in _records(lines, form, is_movement):
            number += taken
            is_known = names is None or bool(names)
            if is_known and not _DIGIT.search("".join(fields)):
                continue  # no movement: it has no day
            cells = [clean_line(cell) for cell in fields]
            if is_known:
                yield number, _by_name(cells, names)
            elif (named := _columns_of_heading(cells)).keys() >= set(form.column_names):
                names = named
            else:
                passed += cells
                if number - form.skip > _HEADINGS:
                    break
    except csv.Error as error:
        raise BankStatementError(f"the file is not valid CSV near line {number + 1}") from error
    if names is not None and not names:
        missing = [name for name in form.column_names if name not in passed] or form.column_names
        raise BankStatementError(f"the file has no column {', '.join(missing)}")


def _by_name(cells: Sequence[str], names: Mapping[str, int] | None) -> Mapping[str, str]:
    """The cells by the names of their columns; by their numbers if there is no heading."""
    if names is None:
        return {f"{at}": cell for at, cell in enumerate(cells, 1)}
    return {name: cells[at] for name, at in names.items() if at < len(cells)}


def _records(
    lines: Sequence[str], form: CsvStatementMapping, is_movement: Callable[[Sequence[str]], bool]
) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row, and the number of its lines.

    A row goes on in the next line only within a quoted text that ends as it should. Any other quotation mark is text:
    the one that a payer typed must not hide the rows behind it. ``is_movement``: whether fields are a movement's.
    """
    if not form.quote or not any(form.quote in line for line in lines):
        return zip(repeat(1), csv.reader(lines, delimiter=form.delimiter, quoting=csv.QUOTE_NONE), strict=False)
    return _quoted_records(lines, form, is_movement)


def _quoted_records(
    lines: Sequence[str], form: CsvStatementMapping, is_movement: Callable[[Sequence[str]], bool]
) -> Iterator[tuple[int, list[str]]]:
    usual = _usual_columns(lines[:_MEASURED], form)

    def is_row(fields: Sequence[str]) -> bool:
        return len(fields) >= usual and is_movement(fields)

    at = passed = 0
    while at < len(lines):
        taken, text = 1, lines[at]
        if not text:
            at, passed = at + 1, passed + 1
            continue
        fields = _strict_fields(text, form) if form.quote in text else text.split(form.delimiter)
        if fields is None and _strict_fields(text + form.quote, form):  # a quoted text is open at the line's end
            taken = _lines_of_record(lines[at : at + _LONGEST_RECORD], form, is_row)
            joined = _strict_fields("\n".join(lines[at : at + taken]), form)
            taken, fields = (taken, joined) if joined and len(joined) >= usual else (1, None)
        if fields is None:
            fields = _plain_fields(text, form) if text.count(form.quote) % 2 else _fields(text, form)
        yield passed + taken, fields
        at, passed = at + taken, 0


def _usual_columns(lines: Sequence[str], form: CsvStatementMapping) -> int:
    """The number of columns that most rows of one line have, without empty ones at their ends."""
    widths: Counter[int] = Counter()
    is_within = False
    for line in lines:
        if line.count(form.quote) % 2:
            is_within = not is_within
        elif not is_within and (fields := _strict_fields(line.rstrip(form.delimiter), form)) and len(fields) > 1:
            widths[len(fields)] += 1
    return max(widths, key=widths.__getitem__, default=1)


def _lines_of_record(lines: Sequence[str], form: CsvStatementMapping, is_row: Callable[[Sequence[str]], bool]) -> int:
    """The lines up to the next with an odd number of quotation marks; 1 if they are rows of their own."""
    for at, line in enumerate(lines[1:], 1):
        if line.count(form.quote) % 2:
            return 1 if all(is_row(_plain_fields(one, form)) for one in (lines[0], line)) else at + 1
        if is_row(_strict_fields(line, form) or []):
            return 1
    return 1


def _plain_fields(text: str, form: CsvStatementMapping) -> list[str]:
    """The fields of one row where quotation marks are text."""
    return [one.strip(form.quote) for one in text.split(form.delimiter)]


def _fields(text: str, form: CsvStatementMapping, *, strict: bool = False) -> list[str]:
    """The fields of one row with quotation marks. Raises csv.Error."""
    lines = [f"{line}\n" for line in text.split("\n")]
    found = list(csv.reader(lines, delimiter=form.delimiter, quotechar=form.quote, strict=strict))
    if len(found) > 1:
        raise csv.Error("these are several rows")
    return found[0] if found else []


def _strict_fields(text: str, form: CsvStatementMapping) -> list[str] | None:
    """The fields of one row whose quoted texts all end; None if it is not one."""
    with suppress(csv.Error):
        return _fields(text, form, strict=True)
    return None


def _columns_of_heading(cells: Sequence[str]) -> dict[str, int]:
    """The columns of a heading: the second with the same name is ``name (2)``, one without a name has its number."""
    found: dict[str, int] = {}
    for at, cell in enumerate(cells):
        stated = name = clean_line(cell) or f"{at + 1}"
        rank = 1
        while name in found:
            rank += 1
            name = f"{stated} ({rank})"
        found[name] = at
    return found


def _text(row: Mapping[str, str], form: CsvStatementMapping, name: str) -> str:
    if (taking := form.columns.get(name)) is None:
        return ""
    text = taking.join_separator.join(cell for column in taking.columns if (cell := row.get(column, "").strip()))
    for mark in taking.removed_text:
        text = text.replace(mark, "")
    return text


def _where(row: Mapping[str, str], form: CsvStatementMapping) -> tuple[str, str] | None:
    """The account and currency of a row; None if it is no movement, not booked or in another currency."""
    if not any(one.isdigit() for one in _text(row, form, "day")):
        return None
    if (booked := form.columns.get("booked")) and _flag(_text(row, form, "booked"), booked) is False:
        return None
    currency = (_text(row, form, "currency") or form.currency).upper()
    if form.currency and currency != form.currency:
        return None
    return _text(row, form, "account").strip("'") or form.account, currency


def _flag(text: str, taking: ColumnMapping) -> bool | None:
    folded = text.casefold()
    if folded in taking.true_values:
        return True
    return False if folded in taking.false_values or not taking.false_values else None


def _movement(row: Mapping[str, str], form: CsvStatementMapping, currency: str) -> BankMovement | None:
    if currency not in EXPONENTS:
        raise _Unreadable(f"{currency[:_SHOWN]!r} is not an ISO 4217 currency")
    stated = _text(row, form, "day")
    if (day := _day(stated, form.columns["day"])) is None:
        formats = " or ".join(form.columns["day"].formats)
        raise _Unreadable(f"{stated[:_SHOWN]!r} is not a date in the format {formats}")
    minor = _amount(row, form, currency)
    if minor == 0:
        return None
    reference = _text(row, form, "reference")
    return movements.new_movement(
        booked_on=day,
        amount_minor=minor,
        currency=currency,
        bank_reference=None if _SPREADSHEET.fullmatch(reference) else reference,
        end_to_end_id=_text(row, form, "end_to_end_id"),
        counterparty=_text(row, form, "counterparty"),
        remittance_texts=[_text(row, form, "words")],
        return_reason=None,
    )


def _amount(row: Mapping[str, str], form: CsvStatementMapping, currency: str) -> int:
    """The amount, negative if outgoing: from a column with its sign, a column beside a sign, or two columns."""
    if "amount" not in form.columns:
        debit, credit = (_minor(_text(row, form, name), form.decimal, currency) for name in ("debit", "credit"))
        if debit and credit:
            raise _Unreadable("it has a debit and a credit")
        return credit - abs(debit)
    minor = _minor(_text(row, form, "amount"), form.decimal, currency, empty=False)
    if (incoming := form.columns.get("incoming")) is None:
        return minor
    way = _flag(stated := _text(row, form, "incoming"), incoming)
    if way is None:
        raise _Unreadable(f"{stated[:_SHOWN]!r} does not say whether it came or left")
    return minor if way else -minor


def _minor(text: str, decimal: str, currency: str, *, empty: bool = True) -> int:
    """An amount in minor units. Thousands are grouped by three or not at all; any other separator is an error."""
    if not text and empty:
        return 0
    sign, plain = _sign_and_number(text, currency) if len(text) <= _LONGEST_AMOUNT else (1, "")
    groups = _GROUPS + ("," if decimal == "." else ".")
    exponent = EXPONENTS[currency]
    found = re.fullmatch(
        _FORM.format(
            groups=re.escape(groups), decimal=re.escape(decimal), lakhs=_LAKHS if currency in _BY_LAKHS else "(?!)"
        ),
        plain,
        re.ASCII,
    )
    if (
        found is not None
        and len((found[2] or "").rstrip("0")) <= max(exponent, 0)
        and len(found[2] or "") <= max(exponent, 2)
    ):
        value = Decimal(re.sub(f"[{re.escape(groups)}]", "", plain).replace(decimal, ".") or "0").scaleb(exponent)
        if value == int(value) and abs(value) <= MAX_MINOR:
            return sign * int(value)
    raise _Unreadable(f"{text[:_SHOWN]!r} is not a valid amount in {currency}")


def _sign_and_number(text: str, currency: str) -> tuple[int, str]:
    """The sign of an amount, and its number without sign and currency."""
    plain, sign = _NO_DECIMALS.sub("", _MINUS.sub("-", unicodedata.normalize("NFKC", text))).strip(), 0
    while True:
        if plain.startswith("(") and plain.endswith(")"):
            plain = f"-{plain[1:-1].strip()}"
        if (found := _BEFORE.match(plain) or _BEHIND.search(plain)) is None:
            return sign or 1, plain
        if stated := found["sign"]:
            if sign:
                raise _Unreadable(f"{text[:_SHOWN]!r} has two signs")
            sign = 1 if stated.upper().rstrip(".") in _INCOMING else -1
        elif (code := _CURRENCIES.get(found["money"], found["money"])) != currency and code in EXPONENTS:
            raise _Unreadable(f"{text[:_SHOWN]!r} is not in {currency}")
        plain = (plain[: found.start()] + plain[found.end() :]).strip()


def _day(text: str, taking: ColumnMapping) -> date | None:
    """Parse a date in one of the mapping's formats, with or without a time after it, or spaces in it."""
    text = clean_text(text)
    for tried in dict.fromkeys((text, text.split(" ")[0], text.split("T")[0], text.replace(" ", ""))):
        for form in taking.formats:
            try:
                return datetime.strptime(tried, form).replace(tzinfo=UTC).date()
            except ValueError:
                continue
    return None
