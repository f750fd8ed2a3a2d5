"""Record lists with filters, as a page and as a file, and the page of one record."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import (
    PageContext,
    SignedInRequest,
    VisitorHandler,
    partner_from_request,
    redirect_to,
)
from almoner.access.accounts.page_texts import PageTexts, build_page_texts
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
    roles_with_scope,
)
from almoner.dashboard.exports import PATH as EXPORTS_PATH
from almoner.dashboard.exports import may_export
from almoner.dashboard.facts import build_record_sections, value_at_path
from almoner.dashboard.list_files import (
    MAX_DOWNLOAD,
    RecordListReader,
    build_filter_parameters,
    build_query_string_of_list,
    entered_filter_values,
    requested_sort_order,
)
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record
from almoner.dashboard.record_lists import EVENTS, ORGANISATIONS
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.evidence.dossier import DossierLoader
from almoner.platform.evidence.dossier_files import MEDIA_TYPES, DossierFormat, build_dossier_file
from almoner.platform.pages.csv_files import stream_file_download
from almoner.platform.pages.record_tables import ActiveFilter, Cell, ColumnHead

_PAGE_SIZE: Final = 50
_SEARCHED: Final = 10_000
"""The maximum number of nonprofits that a list counts."""

_TITLES: Final = ("title", "displayName", "name", "organisationName", "eventType", "email")
"""Members that can be a record's title."""


class RecordPages:
    """The pages of all lists."""

    def __init__(
        self,
        context: PageContext,
        calls: MemberApiClient,
        lists: Sequence[RecordList],
        files: RecordListReader,
        dossiers: Mapping[str, DossierLoader],
    ) -> None:
        """Create them. ``files``: reads the records of lists. ``dossiers``: by ID type."""
        self._context = context
        self._calls = calls
        self.files = files
        self.lists = tuple(lists)
        self._dossiers = dossiers

    def routes(self, *, lists_with_custom_pages: Collection[RecordList]) -> list[Route]:
        """Starlette routes; files come before pages, whose paths would match them.

        ``lists_with_custom_pages``: lists whose records have pages of their own.
        """
        made: list[Route] = []
        for one in self.lists:
            readers = roles_with_scope(one.scope)
            exporters = EXPORTERS[one.area] & readers
            made += [
                self._route(f"{one.path}.csv", self._downloader(one), exporters),
                self._route(one.path, self._lister(one), readers),
            ]
            made += [
                self._route(f"{one.path}/{{id}}/dossier.{format_}", self._dossier(one, format_), readers)
                for format_ in MEDIA_TYPES
                if one.id_type in self._dossiers
            ]
            if one not in lists_with_custom_pages:
                made.append(self._route(f"{one.path}/{{id}}", self._viewer(one), readers))
        return made

    def _route(self, path: str, handler: VisitorHandler, roles: frozenset[Role]) -> Route:
        return self._context.route(path, handler, *sorted(roles), methods=["GET"])

    def _lister(self, record_list: RecordList) -> VisitorHandler:
        async def show_list(visitor: SignedInRequest) -> Response:
            return await self.list_records(visitor, record_list)

        return show_list

    def _viewer(self, record_list: RecordList) -> VisitorHandler:
        async def show_record(visitor: SignedInRequest) -> Response:
            record = await self.get_record(visitor, record_list)
            return await self.render_record(visitor, record_list, record)

        return show_record

    def _dossier(self, record_list: RecordList, format_: DossierFormat) -> VisitorHandler:
        """A handler that returns the signed dossier of a record as a file."""

        async def download(visitor: SignedInRequest) -> Response:
            record_id = self._context.parse_id(record_list.id_type, visitor.path.split("/")[-2])
            load, partner = self._dossiers[record_list.id_type], partner_from_request(visitor)
            return (await build_dossier_file(self._context.db, load, partner, record_id, format_)).to_response()

        return download

    def _downloader(self, record_list: RecordList) -> VisitorHandler:
        async def download(visitor: SignedInRequest) -> Response:
            return await self._download(visitor, record_list)

        return download

    async def list_records(self, visitor: SignedInRequest, record_list: RecordList) -> Response:
        """Show one page of a list, filtered by the query."""
        texts, given = build_page_texts(self._context, visitor), build_filter_parameters(record_list, visitor.query)
        order = requested_sort_order(record_list, visitor.query)
        asked = [*given, *order.api_parameters, ("pageSize", str(_PAGE_SIZE))]
        cursor = visitor.query.get("cursor")
        problems: dict[str, str] = {}
        try:
            page = await self.files.list_page(visitor, record_list, [*asked, *([("cursor", cursor)] if cursor else [])])
        except ApiCallRejected as refused:
            if refused.status != 400:
                raise
            problems = _problems(refused, record_list, texts)
            page = await self.files.list_page(visitor, record_list, [("pageSize", str(_PAGE_SIZE))])
            given, order = [], SortOrder()
        shown = [*given, *order.page_parameters]
        await self.files.record_donor_data_access(visitor, record_list, page.records)
        address = visitor.portal.home + record_list.path
        return render_page(
            self._context,
            visitor,
            "records.html",
            status=422 if problems else 200,
            declared=record_list,
            rows=await self.build_rows(visitor, record_list, page.records),
            caption=_caption(texts, record_list, page.total, order),
            heads=_heads(record_list, given, order, address),
            usual_order=not order.page_parameters,
            typed=dict(entered_filter_values(record_list, visitor.query)),
            chips=_chips(given, record_list, order, address, texts),
            order=order,
            views=await self._views(visitor, record_list),
            query=urlencode(shown),
            next=page.next_cursor and _link(address, shown, page.next_cursor),
            prev=page.previous_cursor and _link(address, shown, page.previous_cursor),
            export=f"{address}.csv?{urlencode(shown)}".rstrip("?") if may_export(visitor.person, record_list) else None,
            creatable=record_list.form is not None and has_scope(visitor.person.roles, record_list.form.scope),
            masked=record_list.contains_donor_data and not has_scope(visitor.person.roles, PERSONAL),
            problems=problems,
        )

    async def _views(self, visitor: SignedInRequest, record_list: RecordList) -> list[SavedView]:
        """The visitor's own views of the list."""
        if not record_list.filters:
            return []
        async with self._context.db.read() as tx:
            views = await store_views.list_saved_views(tx, partner_from_request(visitor), visitor.person.id)
        return [view for view in views if view.list == record_list.path]

    async def get_record(self, visitor: SignedInRequest, record_list: RecordList) -> Record:
        """The record named in the URL. Raises NotFound."""
        name = visitor.path.removeprefix(visitor.portal.home + record_list.path + "/").split("/")[0]
        if source := self.files.sources.get(record_list):
            return await source.get(visitor, name)
        self._context.parse_id(record_list.id_type, name)
        try:
            record = await self._calls.get(visitor, f"{record_list.api_path}/{name}")
        except ApiCallRejected as refused:
            if refused.status == 404:
                raise NotFound from None
            raise
        shown_list, shown = self._with_donor(record_list, record)
        await self.files.record_donor_data_access(visitor, shown_list, [shown])
        return record

    def _with_donor(self, record_list: RecordList, record: Record) -> tuple[RecordList, Record]:
        """The record whose donor is shown, with its list; for an event, the record in it."""
        if record_list is not EVENTS:
            return record_list, record
        shown: Record = record["eventData"]
        id_type = str(shown.get("id")).removeprefix("sandbox_").partition("_")[0]
        return next((one for one in self.lists if one.id_type == id_type), record_list), shown

    async def render_record(
        self,
        visitor: SignedInRequest,
        record_list: RecordList,
        record: Record,
        template: str = "",
        *,
        status: int = 200,
        **more: Any,
    ) -> Response:
        """Render the page of one record: its facts, then its JSON."""
        names, texts = await self._names(visitor, [record]), build_page_texts(self._context, visitor)
        return render_page(
            self._context,
            visitor,
            template or record_list.template,
            status=status,
            declared=record_list,
            record=record,
            title=next(
                (record[one] for one in _TITLES if record.get(one)), texts.text(record_list.translation_key("singular"))
            ),
            message=_outcome_key(visitor, record_list),
            actions=_offered_actions(visitor, record_list, record),
            image=_offered_image(visitor, record_list),
            dossier=list(MEDIA_TYPES) if record_list.id_type in self._dossiers else [],
            sections=build_record_sections(
                record,
                visitor.portal.home,
                names,
                lambda member: texts.field_label(record_list.label_field_name(member)),
            ),
            raw=msgspec.json.format(msgspec.json.encode(record), indent=2).decode(),
            **more,
        )

    async def _download(self, visitor: SignedInRequest, record_list: RecordList) -> Response:
        """Download the list as a file; a job prepares a large one."""
        day, texts = self._context.db.deployment.clock.now().date(), build_page_texts(self._context, visitor)
        notice = texts.text("dashboard.list.limit", limit=texts.number_text(MAX_DOWNLOAD))
        try:
            if (
                record_list.has_total_count
                and await self.files.count_records(visitor, record_list, visitor.query) > MAX_DOWNLOAD
            ):
                wanted = urlencode(
                    {"list": record_list.path, "query": build_query_string_of_list(record_list, visitor.query)}
                )
                return redirect_to(f"{visitor.portal.home}{EXPORTS_PATH}?{wanted}")
            lines = self.files.stream_csv_lines(visitor, record_list, visitor.query, MAX_DOWNLOAD, notice)
            return await stream_file_download(lines, f"{record_list.path[1:]}-{day}.csv")
        except ApiCallRejected as refused:
            if refused.status != 400:
                raise
            return await self.list_records(visitor, record_list)

    async def build_rows(
        self, visitor: SignedInRequest, record_list: RecordList, records: Sequence[Record]
    ) -> list[list[Cell]]:
        """The table cells of each record."""
        names = await self._names(visitor, records)
        return [self._cells(visitor, record_list, record, names) for record in records]

    def _cells(
        self, visitor: SignedInRequest, record_list: RecordList, record: Record, names: dict[str, str]
    ) -> list[Cell]:
        made = []
        for position, column in enumerate(record_list.columns):
            value = value_at_path(record, column.member)
            if column.kind == "organisation":
                value = names.get(str(value), value)
            href = f"{visitor.portal.home}{record_list.path}/{record['id']}" if position == 0 else None
            made.append(Cell(column, value, record.get("currencyCode"), href))
        return made

    async def _names(self, visitor: SignedInRequest, records: Sequence[Record]) -> dict[str, str]:
        """The names of the records' organisations, by ID."""
        parts = [part for record in records for part in (record, record.get("eventData") or {})]
        given = {name for part in parts if isinstance(name := part.get("organisationId"), str)}
        given |= {name for part in parts for name in part.get("organisationIds") or ()}
        return await self.load_organisation_names_by_id(visitor, given)

    async def load_organisation_names_by_id(
        self, visitor: SignedInRequest, organisation_ids: Collection[str]
    ) -> dict[str, str]:
        """The display names of organisations by ID; unknown ones are left out."""
        async with self._context.db.read() as tx:
            parsed = {
                name: id_ for name in organisation_ids if (id_ := tx.ids.decode("organisation", name)) is not None
            }
            called = await organisations.load_display_names_by_id(
                tx, partner_from_request(visitor), set(parsed.values())
            )
        return {name: called[id_] for name, id_ in parsed.items() if id_ in called}


def _offered_actions(visitor: SignedInRequest, record_list: RecordList, record: Record) -> list[RecordAction]:
    """The actions that the visitor can take on the record now."""
    return [
        action
        for action in record_list.actions
        if has_scope(visitor.person.roles, action.scope) and action.is_offered(record)
    ]


def _offered_image(visitor: SignedInRequest, record_list: RecordList) -> str:
    """The image that the visitor may change; empty if there is none."""
    return record_list.image if record_list.form and has_scope(visitor.person.roles, record_list.form.scope) else ""


def _outcome_key(visitor: SignedInRequest, record_list: RecordList) -> str:
    """The key of the message about the form or action that led here; empty if there is none."""
    name = visitor.query.get("done", "")
    done = ["new"] if record_list.form is not None else []
    done += [*(action.path for action in record_list.actions), *([record_list.image] if record_list.image else [])]
    return record_list.translation_key(f"{name}.done") if name in done else ""


def _heads(
    record_list: RecordList, given: Sequence[tuple[str, str]], order: SortOrder, address: str
) -> dict[str, ColumnHead]:
    """The heads of sortable columns, by member."""
    return {
        column.member: ColumnHead(
            _link(address, [*given, *order.toggle_column(column).page_parameters], None) or address,
            ("ascending" if order.ascending else "descending") if column == order.column else None,
        )
        for column in record_list.sortable_columns(dict(given))
    }


def _chips(
    given: Sequence[tuple[str, str]], record_list: RecordList, order: SortOrder, address: str, texts: PageTexts
) -> list[ActiveFilter]:
    filters = {one.parameter: one for one in record_list.filters}
    return [
        ActiveFilter(
            filters[name].label,
            texts.value_label(value) if filters[name].kind == "choice" else value,
            _link(address, [*(pair for pair in given if pair[0] != name), *order.page_parameters], None) or address,
        )
        for name, value in given
    ]


def _caption(texts: PageTexts, record_list: RecordList, total: int, order: SortOrder) -> str:
    """The number of records; if the search stops counting, the text says so."""
    if not record_list.has_total_count:
        return texts.text("dashboard.list.uncounted")
    counted = texts.text("dashboard.list.found", count=total, number=texts.number_text(total))
    if record_list is not ORGANISATIONS:
        return texts.text(order.caption_key, counted=counted)
    return counted if total < _SEARCHED else texts.text("dashboard.list.many", number=texts.number_text(total))


def _link(address: str, given: Sequence[tuple[str, str]], cursor: str | None) -> str | None:
    """The URL of the list at a cursor; without one, of the first page if a filter is set."""
    asked = [*given, *([("cursor", cursor)] if cursor else [])]
    return f"{address}?{urlencode(asked)}" if asked and (cursor or given) else None


def _problems(refused: ApiCallRejected, record_list: RecordList, texts: PageTexts) -> dict[str, str]:
    """The error sentences of a refused list by filter."""
    labels = {one.parameter: one.label for one in record_list.filters}
    found: dict[str, str] = {}
    for reason in refused.reasons:
        name, _, rest = reason.removeprefix("query.").partition(" ")
        field = name if name in labels else next(iter(labels), "filters")
        found[field] = texts.field_error(texts.field_label(labels.get(name, name)), rest)
    return found
