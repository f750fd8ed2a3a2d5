"""CSV files of large lists: request one, list the person's files, and download them."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.datastructures import QueryParams
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.people.domain import Role
from almoner.dashboard import exports, store_exports
from almoner.dashboard.domain import EXPORTERS, CsvExport, RecordList
from almoner.dashboard.exports import MOST_EXPORTS, PATH
from almoner.dashboard.list_files import MAX_DOWNLOAD, RecordListReader, build_query_string_of_list
from almoner.dashboard.member_api_client import ApiCallRejected
from almoner.dashboard.record_lists import LISTS
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import NotFound
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.files.storage import BlobMissing, BlobStore
from almoner.platform.pages.csv_files import stream_file_download

ID_TYPE: Final = "csvexport"
ROLES: Final[frozenset[Role]] = frozenset[Role]().union(*EXPORTERS.values())
_LISTS: Final[Mapping[str, RecordList]] = {one.path: one for one in LISTS}
_MOST_TYPED: Final = 4000


class ExportPages:
    """Pages about CSV files."""

    def __init__(self, context: PageContext, files: RecordListReader, blobs: BlobStore) -> None:
        self._context = context
        self._files = files
        self._blobs = blobs

    def routes(self) -> list[Route]:
        """Starlette routes."""
        route = self._context.route
        return [
            route(f"{PATH}/{{id}}", self.download, *sorted(ROLES), methods=["GET"]),
            route(PATH, self.show_exports, *sorted(ROLES)),
        ]

    async def show_exports(self, visitor: SignedInRequest) -> Response:
        """Show the person's files, and the list named in the URL, which can be exported. A POST requests its file."""
        if visitor.form:
            return await self._request(visitor)
        declared, query = _requested_export(visitor, visitor.query.get("list", ""), visitor.query.get("query", ""))
        return await self._render(visitor, declared, query)

    async def download(self, visitor: SignedInRequest) -> Response:
        """Download a file, for the person who requested it."""
        export_id = self._context.parse_id_from_path(visitor, ID_TYPE)
        async with self._context.db.read() as tx:
            export = await store_exports.find_export(tx, partner_from_request(visitor), export_id)
            ready = export is not None and export.storage_key is not None and export.expires_at > tx.now
        if export is None or export.storage_key is None or not ready or not exports.may_download(visitor, export):
            raise NotFound
        async with self._context.db.write() as tx:
            await self._record(tx, visitor, "csv_export.downloaded", export)
        name = f"{export.list[1:]}-{export.created_at.date()}.csv"
        try:
            return await stream_file_download(self._blobs.read(export.storage_key), name)
        except BlobMissing:
            await self._blobs.ensure_mounted(export.id)
            raise NotFound from None

    async def _request(self, visitor: SignedInRequest) -> Response:
        declared, query = _requested_export(visitor, visitor.form_value("list"), visitor.form_value("query"))
        if declared is None:
            raise NotFound
        async with self._context.db.write() as tx:
            done = await visitor.apply_form_once(tx, partial(self._request_export, tx, visitor, declared, query), str)
        if not done:
            return await self._render(visitor, declared, query, problem="dashboard.exports.problem.limit")
        return redirect_to(f"{visitor.path}?done={done}")

    async def _request_export(self, tx: Tx, visitor: SignedInRequest, record_list: RecordList, query: str) -> str:
        """Request the file; returns what was done, empty if the partner has reached the limit."""
        export = await exports.request_export(tx, visitor, record_list, query)
        if export is None:
            return ""
        await self._record(tx, visitor, "csv_export.requested", export)
        return "requested"

    async def _record(self, tx: Tx, visitor: SignedInRequest, action: str, export: CsvExport) -> None:
        by = self._context.audit_context(visitor)
        subject, details = self._context.format_id(ID_TYPE, export.id), {"list": export.list[1:]}
        await audit.record_entry(
            tx, visitor.realm.id, by.actor, action, subject, ip_address=by.ip_address, details=details
        )

    async def _render(
        self, visitor: SignedInRequest, declared: RecordList | None, query: str, *, problem: str = ""
    ) -> Response:
        texts, total = build_page_texts(self._context, visitor), 0
        if declared is not None:
            try:
                total = await self._files.count_records(visitor, declared, QueryParams(query))
            except ApiCallRejected:
                declared = None  # the list reports invalid filters
        async with self._context.db.read() as tx:
            own = await store_exports.list_exports(tx, partner_from_request(visitor), visitor.person.id)
            shown = [one for one in own if one.expires_at > tx.now]
        return render_page(
            self._context,
            visitor,
            "exports.html",
            status=422 if problem else 200,
            problems={"list": texts.text(problem, limit=texts.number_text(MOST_EXPORTS))} if problem else {},
            message="dashboard.exports.pending" if visitor.query.get("done") == "requested" else "",
            wanted=declared,
            query=query,
            total=total,
            most=MAX_DOWNLOAD,
            exports=shown,
            lists=_LISTS,
            may_download=partial(exports.may_download, visitor),
            export_id=lambda export: self._context.format_id(ID_TYPE, export.id),
        )


def _requested_export(visitor: SignedInRequest, path: str, query: str) -> tuple[RecordList | None, str]:
    """(requested list, its filters and order); the list is None if the visitor may not export it."""
    declared = _LISTS.get(path)
    if declared is None or not exports.may_export(visitor.person, declared):
        return None, ""
    return declared, build_query_string_of_list(declared, QueryParams(query[:_MOST_TYPED]))
