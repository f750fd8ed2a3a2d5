"""Lists in the console, with filters in the URL, cursor-based pagination and CSV downloads."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Final
from urllib.parse import urlencode
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_guard import SignedInRequest, VisitorHandler
from almoner.access.accounts.page_texts import PageTexts
from almoner.access.people.domain import Role
from almoner.console.context import ConsoleContext
from almoner.kit.errors import IncorrectParams
from almoner.kit.money import Money, currency_exponent
from almoner.platform.pages.csv_files import csv_header_line, csv_line, stream_file_download
from almoner.platform.pages.record_tables import ActiveFilter, Cell, Column, Filter, humanise_field_name

_PAGE_SIZE: Final = 50
_EXPORT_SIZE: Final = 500
_MAX_EXPORT: Final = 50_000
"""Maximum number of rows in a CSV download. If a list has more rows, the last line of the file says so."""
_MOST_DIGITS: Final = 18
"""Maximum number of digits of a number in a cursor."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The parsed query string of a list.

    ``filters``: the filters that are set. ``cursor``: the position after the previous page.
    """

    filters: Mapping[str, str]
    cursor: str | None
    limit: int


@dataclass(frozen=True, slots=True)
class SignedAmount:
    """An amount that can be negative, such as a balance or a statement line."""

    minor: int
    currency: str


@dataclass(frozen=True, slots=True)
class ListRow:
    """A row of a list.

    ``path``: the page of the record, below ``/operator``. ``values``: one for each column, in order.
    """

    path: str
    values: Sequence[object]


@dataclass(frozen=True, slots=True)
class ListPage:
    """A page of a list.

    ``total``: the number of matching records, or None if they are not counted. ``has_more_than_total``: whether there
    are more than ``total`` records.
    """

    rows: Sequence[ListRow]
    next_cursor: str | None = None
    total: int | None = None
    has_more_than_total: bool = False


@dataclass(frozen=True, slots=True)
class ConsoleList:
    """A list of the console.

    ``load`` raises IncorrectParams with the message "name: reason" for an invalid filter. ``about``: the text that an
    empty list shows. ``sort_order_description``: a description of the sort order. ``views``: tabs, each with a label
    and filters. ``actions``: the paths and labels of pages that create records.
    """

    path: str
    title: str
    about: str
    roles: frozenset[Role]
    columns: Sequence[Column]
    load: Callable[[SignedInRequest, ListQuery], Awaitable[ListPage]]
    filters: Sequence[Filter] = ()
    sort_order_description: str = "oldest first"
    oldest_first_filter: tuple[str, str] | None = None
    """A filter and its value. With this filter, the list is sorted from oldest to newest."""
    views: Sequence[tuple[str, Mapping[str, str]]] = ()
    actions: Sequence[tuple[str, str]] = ()
    action_roles: frozenset[Role] | None = None
    """Who can open the pages of ``actions``. None: everybody who sees the list."""
    exported: bool = True
    lead: str = ""
    choice_words: Mapping[str, str] = field(default_factory=dict)
    """The labels of filter values whose code is not a clear label."""
    begin: tuple[str, str] | None = None
    """The path and the label of a button above the list.

    The button posts to the path, which then opens the first record.
    """
    message: Callable[[SignedInRequest], str] = lambda _visitor: ""
    """The message about the action that redirected to the list."""

    def sort_order_text(self, filters: Mapping[str, str]) -> str:
        """Describe the sort order of the list with these filters."""
        turned = self.oldest_first_filter is not None and self.oldest_first_filter in filters.items()
        return "oldest first" if turned else self.sort_order_description

    def value_label(self, value: str) -> str:
        """The label of a filter value or status."""
        return self.choice_words.get(value) or humanise_field_name(value)


def build_success_message_lookup(messages_by_done_parameter: Mapping[str, str]) -> Callable[[SignedInRequest], str]:
    """Choose the message above a list by the value of ``done`` in its URL, which an action sets."""
    return lambda visitor: messages_by_done_parameter.get(visitor.query.get("done", ""), "")


def encode_time_cursor(at: datetime, record_id: UUID) -> str:
    """Encode a cursor from the time and the ID of the last record on a page."""
    return f"{at.isoformat()}~{record_id}"


def parse_time_cursor(cursor: str | None) -> tuple[datetime, UUID] | None:
    """Decode a cursor of ``encode_time_cursor``. Raises IncorrectParams."""
    if cursor is None:
        return None
    moment, _, record = cursor.partition("~")
    try:
        at = datetime.fromisoformat(moment.replace(" ", "+"))
        if at.tzinfo is None:
            raise ValueError(moment)
        return at.astimezone(UTC), UUID(record)
    except (ValueError, OverflowError):
        raise IncorrectParams("cursor: this page address is not valid; start with the first page") from None


def parse_number_cursor(cursor: str | None) -> int | None:
    """Parse a cursor that is the number of the last record on the previous page. Raises IncorrectParams."""
    if cursor is None:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) <= _MOST_DIGITS):
        raise IncorrectParams("cursor: this page address is not valid; start with the first page")
    return int(cursor)


def build_time_sorted_page(
    rows: Sequence[tuple[datetime, UUID, ListRow]], limit: int, total: int | None = None
) -> ListPage:
    """A page of a list that is sorted by time. ``rows``: one row more than ``limit`` if there is a next page."""
    shown = rows[:limit]
    following = encode_time_cursor(*shown[-1][:2]) if len(rows) > limit else None
    return ListPage([row for *_, row in shown], following, total)


class ListRouteBuilder:
    """Builds the routes of list pages and of their CSV downloads."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self, *lists: ConsoleList) -> list[Route]:
        """The Starlette routes.

        The routes of downloads come first, because the routes of pages would also match their URLs.
        """
        made = []
        for one in lists:
            roles = sorted(one.roles)
            if one.exported:
                made.append(self._context.route(f"{one.path}.csv", self._downloader(one), *roles, methods=["GET"]))
            made.append(self._context.route(one.path, self._lister(one), *roles, methods=["GET"]))
        return made

    def _lister(self, declared: ConsoleList) -> VisitorHandler:
        async def show_list(visitor: SignedInRequest) -> Response:
            return await self._show(visitor, declared)

        return show_list

    def _downloader(self, declared: ConsoleList) -> VisitorHandler:
        async def download(visitor: SignedInRequest) -> Response:
            day = self._context.db.deployment.clock.now().date()
            name = f"{declared.path[1:].replace('/', '-')}-{day}.csv"
            try:
                return await stream_file_download(self._lines(visitor, declared), name)
            except IncorrectParams:
                return await self._show(visitor, declared)

        return download

    async def _show(self, visitor: SignedInRequest, declared: ConsoleList) -> Response:
        entered_values = _filter_values(visitor, declared)
        given = {name: value for name, value in entered_values.items() if value}
        problems: dict[str, str] = {}
        try:
            page = await declared.load(visitor, ListQuery(given, visitor.query.get("cursor"), _PAGE_SIZE))
        except IncorrectParams as error:
            problems = problems_by_field(error, next(iter(entered_values), "filters"))
            given, page = {}, await declared.load(visitor, ListQuery({}, None, _PAGE_SIZE))
        acts = declared.action_roles is None or visitor.person.has_role(*declared.action_roles)
        address = visitor.portal.home + declared.path
        shown, texts = list(given.items()), self._context.texts(visitor)
        return await self._context.render_console_page(
            visitor,
            "list.html",
            status=422 if problems else 200,
            declared=declared,
            actions=declared.actions if acts else (),
            columns=[one for one in declared.columns if one.place == "column"],
            rows=[_cells(visitor, texts, declared, row) for row in page.rows],
            caption=self._caption(visitor, declared.sort_order_text(given), page),
            typed=entered_values,
            chips=_chips(given, declared, address),
            views=[(f"{address}?{urlencode(query)}".rstrip("?"), words) for words, query in declared.views],
            current=f"{address}?{urlencode(shown)}".rstrip("?"),
            first=f"{address}?{urlencode(shown)}".rstrip("?") if "cursor" in visitor.query else None,
            next=page.next_cursor and f"{address}?{urlencode([*shown, ('cursor', page.next_cursor)])}",
            export=f"{address}.csv?{urlencode(shown)}".rstrip("?") if declared.exported else None,
            problems=problems,
            message=declared.message(visitor),
            value_text=declared.value_label,
        )

    def _caption(self, visitor: SignedInRequest, order: str, page: ListPage) -> str:
        if page.total is None:
            return order.capitalize()
        counted = self._context.texts(visitor).number_text(page.total)
        return f"{'More than ' if page.has_more_than_total else ''}{counted}, {order}"

    async def _lines(self, visitor: SignedInRequest, declared: ConsoleList) -> AsyncIterator[bytes]:
        """Generate the CSV file, one page of the list at a time."""
        yield csv_header_line(name for one in declared.columns for name in _file_columns(one))
        given = {name: value for name, value in _filter_values(visitor, declared).items() if value}
        cursor, written = None, 0
        while True:
            page = await declared.load(visitor, ListQuery(given, cursor, _EXPORT_SIZE))
            written += len(page.rows)
            yield b"".join(
                csv_line(
                    text for one, value in zip(declared.columns, row.values, strict=True) for text in _texts(one, value)
                )
                for row in page.rows
            )
            if page.next_cursor is None:
                return
            if written >= _MAX_EXPORT:
                yield csv_line(
                    [f"Only the first {written} rows are included. To see the other rows, set more filters."]
                )
                return
            cursor = page.next_cursor


def _filter_values(visitor: SignedInRequest, declared: ConsoleList) -> dict[str, str]:
    """The filters in the URL, exactly as entered."""
    return {one.parameter: visitor.query.get(one.parameter, "").strip()[:500] for one in declared.filters}


def _chips(given: Mapping[str, str], declared: ConsoleList, address: str) -> list[ActiveFilter]:
    filters = {one.parameter: one for one in declared.filters}
    return [
        ActiveFilter(
            filters[name].label,
            declared.value_label(value) if filters[name].kind == "choice" else value,
            f"{address}?{urlencode([pair for pair in given.items() if pair[0] != name])}".rstrip("?"),
        )
        for name, value in given.items()
    ]


def _cells(visitor: SignedInRequest, texts: PageTexts, declared: ConsoleList, row: ListRow) -> list[Cell]:
    made: list[Cell] = []
    for shown, value in zip(declared.columns, row.values, strict=True):
        cell = _cell(shown, value, texts)
        if shown.place == "below":
            made[-1] = replace(made[-1], below=[*made[-1].below, cell])
        elif shown.place == "column":
            made.append(cell if made else replace(cell, href=visitor.portal.home + row.path))
    return made


def _cell(shown: Column, value: object, texts: PageTexts) -> Cell:
    match value:
        case Money(minor, currency) | SignedAmount(minor, currency):
            return Cell(shown, minor, currency)
        case datetime():
            return Cell(shown, value.isoformat())
        case int() if not isinstance(value, bool):
            return Cell(shown, texts.number_text(value))
        case _:
            return Cell(shown, value)


def _file_columns(one: Column) -> list[str]:
    return [one.label, "Currency"] if one.kind == "amount" else [one.label]


def _texts(one: Column, value: object) -> list[str | Decimal]:
    if isinstance(value, Money | SignedAmount):
        return [Decimal(value.minor).scaleb(-currency_exponent(value.currency)), value.currency]
    if one.kind == "amount":
        return ["", ""]
    return ["" if value is None else value.isoformat() if isinstance(value, datetime) else str(value)]
