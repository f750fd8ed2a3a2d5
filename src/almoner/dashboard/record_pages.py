"""Lists of records with filters, as a page and as a file, and the page of one record."""

from collections.abc import Collection, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import (
    PageContext,
    Visitor,
    VisitorHandler,
    partner_of_visitor,
    redirect_to,
)
from almoner.access.accounts.page_texts import PageTexts, texts_of
from almoner.access.people.domain import Role
from almoner.dashboard import store_views
from almoner.dashboard.domain import (
    EXPORTERS,
    PERSONAL,
    RecordAction,
    RecordList,
    SavedView,
    SortOrder,
    has_scope,
    roles_with,
)
from almoner.dashboard.exports import PATH as EXPORTS_PATH
from almoner.dashboard.exports import may_export
from almoner.dashboard.facts import sections_of_record, value_at_path
from almoner.dashboard.list_files import MAX_DOWNLOAD, ListFiles, filters_in, order_in, query_of, typed_in
from almoner.dashboard.member_calls import CallRefused, MemberCalls, Record
from almoner.dashboard.record_lists import ORGANISATIONS
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.pages.csv_files import file_response
from almoner.platform.pages.record_tables import Cell, Chip, ColumnHead

_PAGE_SIZE: Final = 50
_SEARCHED: Final = 10_000
"""Nonprofits that a list counts at most."""

_TITLES: Final = ("title", "displayName", "name", "organisationName", "eventType", "email")
"""Members that a record is known by."""


class RecordPages:
    """The pages of all lists."""

    def __init__(
        self,
        context: PageContext,
        calls: MemberCalls,
        lists: Sequence[RecordList],
        files: ListFiles,
    ) -> None:
        """``files``: reads the records of lists."""
        self._context = context
        self._calls = calls
        self.files = files
        self.lists = tuple(lists)

    def routes(self, *, without_page: Collection[RecordList]) -> list[Route]:
        """Starlette routes; files before pages, whose addresses would match them.

        ``without_page``: lists whose records have pages of their own.
        """
        made: list[Route] = []
        for one in self.lists:
            readers = roles_with(one.scope)
            exporters = EXPORTERS[one.area] & readers
            made += [
                self._route(f"{one.path}.csv", self._downloader(one), exporters),
                self._route(one.path, self._lister(one), readers),
            ]
            if one not in without_page:
                made.append(self._route(f"{one.path}/{{id}}", self._viewer(one), readers))
        return made

    def _route(self, path: str, handler: VisitorHandler, roles: frozenset[Role]) -> Route:
        return self._context.route(path, handler, *sorted(roles), methods=["GET"])

    def _lister(self, declared: RecordList) -> VisitorHandler:
        async def show_list(visitor: Visitor) -> Response:
            return await self.list_records(visitor, declared)

        return show_list

    def _viewer(self, declared: RecordList) -> VisitorHandler:
        async def show_record(visitor: Visitor) -> Response:
            record = await self.get_record(visitor, declared)
            return await self.render_record(visitor, declared, record)

        return show_record

    def _downloader(self, declared: RecordList) -> VisitorHandler:
        async def download(visitor: Visitor) -> Response:
            return await self._download(visitor, declared)

        return download

    async def list_records(self, visitor: Visitor, declared: RecordList) -> Response:
        """One page of a list, filtered as its address says."""
        texts, given = texts_of(self._context, visitor), filters_in(declared, visitor.query)
        order = order_in(declared, visitor.query)
        asked = [*given, *order.call_parameters, ("pageSize", str(_PAGE_SIZE))]
        cursor = visitor.query.get("cursor")
        problems: dict[str, str] = {}
        try:
            page = await self.files.list_page(visitor, declared, [*asked, *([("cursor", cursor)] if cursor else [])])
        except CallRefused as refused:
            if refused.status != 400:
                raise
            problems = _problems(refused, declared, texts)
            page = await self.files.list_page(visitor, declared, [("pageSize", str(_PAGE_SIZE))])
            given, order = [], SortOrder()
        shown = [*given, *order.parameters]
        await self.files.note_donors(visitor, declared, page.records)
        address = visitor.place.home + declared.path
        return render_page(
            self._context,
            visitor,
            "records.html",
            status=422 if problems else 200,
            declared=declared,
            rows=await self.rows(visitor, declared, page.records),
            caption=_caption(texts, declared, page.total, order),
            heads=_heads(declared, given, order, address),
            usual_order=not order.parameters,
            typed=dict(typed_in(declared, visitor.query)),
            chips=_chips(given, declared, order, address, texts),
            order=order,
            views=await self._views(visitor, declared),
            query=urlencode(shown),
            next=page.next and _link(address, shown, page.next),
            prev=page.prev and _link(address, shown, page.prev),
            export=f"{address}.csv?{urlencode(shown)}".rstrip("?") if may_export(visitor.person, declared) else None,
            creatable=declared.form is not None and has_scope(visitor.person.roles, declared.form.scope),
            masked=declared.shows_donors and not has_scope(visitor.person.roles, PERSONAL),
            problems=problems,
        )

    async def _views(self, visitor: Visitor, declared: RecordList) -> list[SavedView]:
        """The visitor's own views of the list."""
        if not declared.filters:
            return []
        async with self._context.db.read() as tx:
            views = await store_views.list_saved_views(tx, partner_of_visitor(visitor), visitor.person.id)
        return [view for view in views if view.list == declared.path]

    async def get_record(self, visitor: Visitor, declared: RecordList) -> Record:
        """The record that the address names. Raises NotFound."""
        name = visitor.path.removeprefix(visitor.place.home + declared.path + "/").split("/")[0]
        if source := self.files.sources.get(declared):
            return await source.get(visitor, name)
        self._context.parse_id(declared.id_type, name)
        try:
            record = await self._calls.get(visitor, f"{declared.call}/{name}")
        except CallRefused as refused:
            if refused.status == 404:
                raise NotFound from None
            raise
        await self.files.note_donors(visitor, declared, [record])
        return record

    async def render_record(
        self,
        visitor: Visitor,
        declared: RecordList,
        record: Record,
        template: str = "",
        *,
        status: int = 200,
        **more: Any,
    ) -> Response:
        """The page of one record: its facts, then its raw form."""
        names, texts = await self._names(visitor, [record]), texts_of(self._context, visitor)
        return render_page(
            self._context,
            visitor,
            template or declared.template,
            status=status,
            declared=declared,
            record=record,
            title=next(
                (record[one] for one in _TITLES if record.get(one)), texts.text(declared.translation_key("singular"))
            ),
            message=_outcome_key(visitor, declared),
            actions=_offered_actions(visitor, declared, record),
            image=_offered_image(visitor, declared),
            sections=sections_of_record(
                record, visitor.place.home, names, lambda member: texts.label(declared.label_of(member))
            ),
            raw=msgspec.json.format(msgspec.json.encode(record), indent=2).decode(),
            **more,
        )

    async def _download(self, visitor: Visitor, declared: RecordList) -> Response:
        """The list as a file; a large one is prepared by a job."""
        day, texts = self._context.db.deployment.clock.now().date(), texts_of(self._context, visitor)
        notice = texts.text("dashboard.list.limit", limit=texts.number(MAX_DOWNLOAD))
        try:
            if declared.counted and await self.files.count(visitor, declared, visitor.query) > MAX_DOWNLOAD:
                wanted = urlencode({"list": declared.path, "query": query_of(declared, visitor.query)})
                return redirect_to(f"{visitor.place.home}{EXPORTS_PATH}?{wanted}")
            lines = self.files.lines(visitor, declared, visitor.query, MAX_DOWNLOAD, notice)
            return await file_response(lines, f"{declared.path[1:]}-{day}.csv")
        except CallRefused as refused:
            if refused.status != 400:
                raise
            return await self.list_records(visitor, declared)

    async def rows(self, visitor: Visitor, declared: RecordList, records: Sequence[Record]) -> list[list[Cell]]:
        """What a list shows of each record."""
        names = await self._names(visitor, records)
        return [self._cells(visitor, declared, record, names) for record in records]

    def _cells(self, visitor: Visitor, declared: RecordList, record: Record, names: dict[str, str]) -> list[Cell]:
        made = []
        for position, column in enumerate(declared.columns):
            value = value_at_path(record, column.member)
            if column.kind == "organisation":
                value = names.get(str(value), value)
            href = f"{visitor.place.home}{declared.path}/{record['id']}" if position == 0 else None
            made.append(Cell(column, value, record.get("currencyCode"), href))
        return made

    async def _names(self, visitor: Visitor, records: Sequence[Record]) -> dict[str, str]:
        """What the organisations of these records are called, by their identifiers."""
        parts = [part for record in records for part in (record, record.get("eventData") or {})]
        given = {name for part in parts if isinstance(name := part.get("organisationId"), str)}
        given |= {name for part in parts for name in part.get("organisationIds") or ()}
        return await self.organisation_names(visitor, given)

    async def organisation_names(self, visitor: Visitor, given: Collection[str]) -> dict[str, str]:
        """What organisations are called, by their identifiers; those alone that there are."""
        async with self._context.db.read() as tx:
            parsed = {name: id_ for name in given if (id_ := tx.ids.parse("organisation", name)) is not None}
            called = await organisations.readable_names(tx, partner_of_visitor(visitor), set(parsed.values()))
        return {name: called[id_] for name, id_ in parsed.items() if id_ in called}


def _offered_actions(visitor: Visitor, declared: RecordList, record: Record) -> list[RecordAction]:
    """What the visitor may do to the record as it is."""
    return [
        action
        for action in declared.actions
        if has_scope(visitor.person.roles, action.scope) and action.is_offered(record)
    ]


def _offered_image(visitor: Visitor, declared: RecordList) -> str:
    """The picture that the visitor may change."""
    return declared.image if declared.form and has_scope(visitor.person.roles, declared.form.scope) else ""


def _outcome_key(visitor: Visitor, declared: RecordList) -> str:
    """The key of what the form or the action that led here has just done."""
    name = visitor.query.get("done", "")
    done = ["new"] if declared.form is not None else []
    done += [*(action.path for action in declared.actions), *([declared.image] if declared.image else [])]
    return declared.translation_key(f"{name}.done") if name in done else ""


def _heads(
    declared: RecordList, given: Sequence[tuple[str, str]], order: SortOrder, address: str
) -> dict[str, ColumnHead]:
    """The heads of the columns that the list can be sorted by, by their members."""
    return {
        column.member: ColumnHead(
            _link(address, [*given, *order.of_column(column).parameters], None) or address,
            ("ascending" if order.ascending else "descending") if column == order.column else None,
        )
        for column in declared.sortable(dict(given))
    }


def _chips(
    given: Sequence[tuple[str, str]], declared: RecordList, order: SortOrder, address: str, texts: PageTexts
) -> list[Chip]:
    filters = {one.parameter: one for one in declared.filters}
    return [
        Chip(
            filters[name].label,
            texts.value(value) if filters[name].kind == "choice" else value,
            _link(address, [*(pair for pair in given if pair[0] != name), *order.parameters], None) or address,
        )
        for name, value in given
    ]


def _caption(texts: PageTexts, declared: RecordList, total: int, order: SortOrder) -> str:
    """How many records there are; a search that stops counting says so."""
    if not declared.counted:
        return texts.text("dashboard.list.uncounted")
    counted = texts.text("dashboard.list.found", count=total, number=texts.number(total))
    if declared is not ORGANISATIONS:
        return texts.text(order.caption, counted=counted)
    return counted if total < _SEARCHED else texts.text("dashboard.list.many", number=texts.number(total))


def _link(address: str, given: Sequence[tuple[str, str]], cursor: str | None) -> str | None:
    """The list at a cursor; without one, its beginning where a filter is set."""
    asked = [*given, *([("cursor", cursor)] if cursor else [])]
    return f"{address}?{urlencode(asked)}" if asked and (cursor or given) else None


def _problems(refused: CallRefused, declared: RecordList, texts: PageTexts) -> dict[str, str]:
    """The sentences of a refused list under the filters that they are about."""
    labels = {one.parameter: one.label for one in declared.filters}
    found: dict[str, str] = {}
    for reason in refused.reasons:
        name, _, rest = reason.removeprefix("query.").partition(" ")
        field = name if name in labels else next(iter(labels), "filters")
        found[field] = texts.problem(texts.label(labels.get(name, name)), rest)
    return found
