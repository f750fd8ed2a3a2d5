"""Import a register or watchlist by uploading a file. The file is stored, and a background job imports it."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import PureWindowsPath
from typing import Any, Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.operators import service as operators
from almoner.console.context import ConsoleContext
from almoner.console.data_register_pages import LOADS
from almoner.console.data_watchlist_pages import PATH as WATCHLISTS
from almoner.console.links import ADMINISTRATORS
from almoner.console.money_records import RecordPage, label_timestamp, render_record_page
from almoner.kit.errors import NotFound, Problem
from almoner.nonprofits.registers import jobs as registers_jobs
from almoner.nonprofits.registers import service as registers
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.files import import_uploads
from almoner.platform.files.import_uploads import ID, MAX_UPLOAD, ImportUpload, Kind, NewUpload
from almoner.platform.files.storage import StorageUnavailable
from almoner.platform.files.uploads.problems import FileTooLarge
from almoner.platform.http.uploads import UploadDeclaration, UploadedFile
from almoner.platform.pages.record_tables import LabelledValue
from almoner.screening.watchlists import jobs as watchlists_jobs

_FILE: Final = UploadDeclaration("file", MAX_UPLOAD, ())
_MEGABYTES: Final = MAX_UPLOAD // 1024 // 1024
_LISTED: Final = 20
_LONGEST_NAME: Final = 255


@dataclass(frozen=True, slots=True)
class _Imports:
    """A kind of import: registers or watchlists.

    ``path``: the page that lists them. ``sources``: the codes of the available import formats.
    """

    kind: Kind
    path: str
    path_words: str
    title: str
    source_words: str
    sources: Sequence[str]
    enqueue: Callable[[Tx, UUID], Awaitable[None]]


class ImportUploadPages:
    """The pages."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        services = context.services
        self._kinds = (
            _Imports(
                "register",
                LOADS,
                "Register imports",
                "Import a register",
                "Source",
                services.register_sources,
                registers_jobs.enqueue_import,
            ),
            _Imports(
                "watchlist",
                WATCHLISTS,
                "Watchlists",
                "Import a watchlist",
                "Watchlist",
                services.watchlist_sources,
                watchlists_jobs.enqueue_import,
            ),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context, roles = self._context, sorted(ADMINISTRATORS)
        return [
            route
            for one in self._kinds
            for route in (
                context.route(
                    f"{one.path}/upload", self._uploader(one), *roles, requires_reauthentication=True, upload=_FILE
                ),
                context.route(f"{one.path}/uploads/{{id}}", self._shower(one), *roles, methods=["GET"]),
            )
        ]

    def _uploader(self, imports: _Imports) -> Callable[[SignedInRequest], Awaitable[Response]]:
        async def upload(visitor: SignedInRequest) -> Response:
            typed = {name: visitor.form_value(name).strip() for name in ("source", "day", "force")}
            problems: dict[str, str] = {}
            if visitor.form:
                uploaded = visitor.upload.uploaded_file if visitor.upload else None
                problems = _problems(visitor, imports, typed)
                if not problems and uploaded is not None:
                    return redirect_to(
                        visitor.portal.home + await self._store_upload(visitor, imports, typed, uploaded)
                    )
            async with self._context.db.read() as tx:
                newest = await import_uploads.list_newest_uploads(tx, imports.kind, _LISTED)
                listed = [(f"{imports.path}/uploads/{tx.ids.encode(ID, one.id)}", one) for one in newest]
            return await self._context.render_console_page(
                visitor,
                "data_upload.html",
                status=422 if problems else 200,
                problems=problems,
                imports=imports,
                choices=[("", "Choose"), *((code, code) for code in imports.sources)],
                typed=typed,
                uploads=listed,
                most=_MEGABYTES,
            )

        return upload

    async def _store_upload(
        self, visitor: SignedInRequest, imports: _Imports, typed: dict[str, str], uploaded: UploadedFile
    ) -> str:
        """Store the file and enqueue its import. Returns the path of the upload's page."""
        uploaded.content.seek(0)
        key = await self._context.services.blobs.put(uploaded.content)
        new = NewUpload(
            imports.kind,
            typed["source"],
            _file_name(uploaded),
            uploaded.size,
            _parse_day(typed["day"]),
            typed["force"] == "yes",
            key,
            self._context.operator_id(visitor),
        )
        try:
            async with self._context.db.write() as tx:
                start = partial(self._start_import, tx, visitor, imports, new, uploaded.sha256)
                upload_id, used = await visitor.apply_form_once(tx, start, tuple[UUID, str])
        except Problem:  # nothing was committed; after other errors something may have been, and the sweep checks
            await self._discard(key)
            raise
        if used != key:  # the form was submitted twice
            await self._discard(key)
        return f"{imports.path}/uploads/{self._context.format_id(ID, upload_id)}"

    async def _start_import(
        self, tx: Tx, visitor: SignedInRequest, imports: _Imports, new: NewUpload, sha256: bytes
    ) -> tuple[UUID, str]:
        """Store the upload and enqueue its import; returns its ID and the storage key of its file."""
        upload_id = await import_uploads.insert_upload(tx, new)
        await imports.enqueue(tx, upload_id)
        await self._context.record_audit_entry(
            tx,
            visitor,
            DEPLOYMENT,
            f"{imports.kind}.uploaded",
            new.source,
            sha256=sha256.hex(),
            forced=new.forced,
        )
        return upload_id, new.storage_key

    async def _discard(self, storage_key: str) -> None:
        """Delete a file that no upload has, if the storage is available; a sweep deletes others."""
        with suppress(StorageUnavailable):
            await self._context.services.blobs.remove(storage_key)

    def _shower(self, imports: _Imports) -> Callable[[SignedInRequest], Awaitable[Response]]:
        async def show(visitor: SignedInRequest) -> Response:
            upload_id = self._context.parse_id_from_path(visitor, ID)
            async with self._context.db.snapshot() as tx:
                upload = await import_uploads.find_upload(tx, imports.kind, upload_id)
                if upload is None:
                    raise NotFound
                names = await operators.load_display_names_by_operator_id(tx, [upload.uploaded_by])
                notices = await _notices(tx, upload)
                page = RecordPage(
                    upload.file_name,
                    tx.ids.encode(ID, upload.id),
                    upload.status,
                    f"{imports.path}/upload",
                    imports.title,
                    self._facts(visitor, imports, upload, names.get(upload.uploaded_by, upload.uploaded_by)),
                    notices=notices,
                )
            return await render_record_page(self._context, visitor, page)

        return show

    def _facts(self, visitor: SignedInRequest, imports: _Imports, upload: ImportUpload, by: str) -> list[LabelledValue]:
        home = visitor.portal.home
        load: list[LabelledValue] = []
        if upload.load_id is not None and imports.kind == "register":
            name = self._context.format_id("registerload", upload.load_id)
            load = [LabelledValue("Import", name, href=f"{home}{LOADS}/{name}")]
        elif upload.load_id is not None:
            load = [LabelledValue("Watchlist", upload.source, href=f"{home}{WATCHLISTS}/{upload.source}")]
        return [
            LabelledValue(imports.source_words, upload.source),
            LabelledValue("Size", f"{upload.size_bytes:,} bytes"),
            LabelledValue(
                "Date of the data", str(upload.data_as_of.date()) if upload.data_as_of else "As stated in the file"
            ),
            LabelledValue("Import checks", "Overridden" if upload.forced else "Applied"),
            LabelledValue("Uploaded by", by),
            label_timestamp("Uploaded", upload.uploaded_at),
            label_timestamp("Finished", upload.finished_at),
            LabelledValue("Why the file was not imported", upload.reason),
            *load,
        ]


def _problems(visitor: SignedInRequest, imports: _Imports, typed: dict[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    if typed["source"] not in imports.sources:
        found["source"] = "Choose a source from the list."
    try:
        _parse_day(typed["day"])
    except ValueError:
        found["day"] = "Enter a date such as 2026-04-30."
    received = visitor.upload
    if received is not None and isinstance(received.problem, FileTooLarge):
        found["file"] = f"The file is too large. The limit is {_MEGABYTES} MB. For larger files, use the command line."
    elif received is None or received.uploaded_file is None:
        found["file"] = "Choose a file."
    elif not _file_name(received.uploaded_file):
        found["file"] = "The file must have a name."
    return found


def _parse_day(text: str) -> datetime | None:
    """Parse a date as midnight UTC. None if the text is empty. Raises ValueError."""
    return datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC) if text else None


def _file_name(uploaded: UploadedFile) -> str:
    """The file name without folders, and without characters that cannot be printed."""
    name = PureWindowsPath(uploaded.filename).name
    kept = "".join(sign for sign in name if sign.isprintable())[-_LONGEST_NAME:]
    while len(kept.encode()) > _LONGEST_NAME:
        kept = kept[1:]
    return "" if kept in (".", "..") else kept


async def _notices(tx: Tx, upload: ImportUpload) -> list[str]:
    match upload.status:
        case "waiting":
            return ["A background worker will import the file soon. Reload this page to see the progress."]
        case "importing":
            return [
                (
                    f"A background worker is importing the file{await _rows_read(tx, upload)}. Reload this page to see "
                    "its progress."
                )
            ]
        case "unchanged":
            return ["This file had already been imported. Nothing has changed."]
        case "quarantined":
            return ["The file looks damaged, so it was not imported. The current data stays in use."]
        case _:
            return []


async def _rows_read(tx: Tx, upload: ImportUpload) -> str:
    if upload.kind == "watchlist":
        return ""
    ages: dict[str, Any] = {one.source: one.reading for one in await registers.list_source_freshness(tx)}
    return f": {ages[upload.source]:,} rows read" if ages.get(upload.source) is not None else ""
