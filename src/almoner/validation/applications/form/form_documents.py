"""The form's step in which documents are uploaded."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, get_args

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive

from almoner.kit.errors import ContentTooLarge, Problem, RateExceeded
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from almoner.platform.files.uploads.files import StoredFile
from almoner.platform.files.uploads.problems import (
    ContentTypeError,
    FileIsMissing,
    FileTooLarge,
    FiletypeNotSupported,
    MultipartBoundaryNotFound,
    TooManyFiles,
)
from almoner.platform.files.uploads.verdicts import RefusalCause
from almoner.platform.http import uploads
from almoner.platform.http.upload_intake import UploadIntake
from almoner.platform.http.uploads import ReceivedUpload
from almoner.platform.pages.link_sessions import CSRF_FIELD
from almoner.platform.pages.rendering import PageRenderer
from almoner.validation.applications.documents import service as documents
from almoner.validation.applications.documents.domain import DocumentCountExceeded, DocumentSizeExceeded
from almoner.validation.applications.form import view_models
from almoner.validation.applications.form.drafts import Problems
from almoner.validation.applications.form.form_session import (
    FormPagesBase,
    FormRequest,
    InvalidFormPost,
    StepNotRequired,
    redirect_to,
    with_form_error_pages,
)
from almoner.validation.applications.form.form_views import DocumentRow, FormNotice
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submission_documents.domain import Kind

_MAX_DRAINED_BYTES: Final = 64 * 1024 * 1024
"""How much of an oversized file is read and discarded: a browser that is cut off shows its own error, not our page."""

_CAUSES: Final[Mapping[RefusalCause, str]] = {
    "type": "apply.problem.file.type",
    "damaged": "apply.problem.file.damaged",
    "encrypted": "apply.problem.file.encrypted",
    "pixels": "apply.problem.file.pixels",
    "pages": "apply.problem.file.pages",
    "large": "apply.problem.file.large",
    "complex": "apply.problem.file.complex",
    "animation": "apply.problem.file.animation",
}
_PROBLEMS: Final[tuple[tuple[type[Problem], str], ...]] = (
    (DocumentCountExceeded, "apply.problem.file.many"),
    (DocumentSizeExceeded, "apply.problem.file.many"),
    (TooManyFiles, "apply.problem.file.one"),
    (FileTooLarge, "apply.problem.file.large"),
    (ContentTooLarge, "apply.problem.file.large"),
    (FileIsMissing, "apply.problem.file.missing"),
    (RateExceeded, "apply.problem.file.later"),
)


class FormDocumentPages(FormPagesBase):
    """The documents step."""

    def __init__(self, db: Database, pages: PageRenderer, intake: UploadIntake) -> None:
        super().__init__(db, pages)
        self._intake = intake

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            Route("/apply/{id}/documents", self.documents_page, methods=["GET", "POST"]),
            Route("/apply/{id}/documents/remove", self.remove_document, methods=["POST"]),
            Route("/apply/{id}/documents/done", self.finish_documents_step, methods=["POST"]),
        ]

    @with_form_error_pages
    async def documents_page(self, request: Request) -> Response:
        """The uploaded documents, and a form to upload another one."""
        opened = await self._here(request)
        if request.method == "GET":
            notices = {"added": "apply.documents.added", "removed": "apply.documents.removed"}
            key = notices.get(request.query_params.get("did", ""))
            return await self._page(opened, notice=FormNotice(key) if key else None)
        received = await receive_upload(request)
        try:
            return await self._accept_upload(opened, received)
        finally:
            received.close()

    async def _accept_upload(self, opened: FormRequest, received: ReceivedUpload) -> Response:
        chosen = None
        try:
            uploaded = received.get_uploaded_file()
            self.ensure_valid_csrf_token(opened, uploaded.form_fields.get(CSRF_FIELD))
            kinds = view_models.accepted_document_kinds(opened.application.configuration)
            chosen = kind = parse_document_kind_or_first(uploaded.form_fields.get("type", ""), kinds)
            async with (
                self._intake.receive_file(None, uploaded, documents.PAGE_DOCUMENT) as stored,
                self.db.write() as tx,
            ):
                invite = await invites.get_for_update(tx, ALL_PARTNERS, opened.invite_id)
                invite.ensure_open(tx.now)
                assert isinstance(stored, StoredFile), "documents are stored"
                await submission_documents.add_to_invite(tx, invite, kind, stored)
                await self.record_audit(tx, opened, "application.document_added", {"type": kind})
        except Problem as problem:
            if (key := upload_problem_text_key(problem)) is None:
                raise
            # The query says which form was used: a rejected body has no readable fields.
            field = "photo" if opened.request.query_params.get("source") == "photo" else "file"
            return await self._page(opened, problems={field: key}, chosen=chosen)
        return redirect_to(f"{opened.form_context.base_path}/documents?did=added")

    @with_form_error_pages
    async def remove_document(self, request: Request) -> Response:
        """Remove an uploaded document."""
        opened = await self._here(request)
        form = await self.read_form(opened)
        named = self._ids.decode(submission_documents.TYPE, str(form.get("remove", "")))
        async with self.db.write() as tx:
            invite = await invites.get_for_update(tx, ALL_PARTNERS, opened.invite_id)
            invite.ensure_open(tx.now)
            if named is not None and await submission_documents.remove_from_invite(tx, invite, named):
                await self.record_audit(tx, opened, "application.document_removed")
        return redirect_to(f"{opened.form_context.base_path}/documents?did=removed")

    @with_form_error_pages
    async def finish_documents_step(self, request: Request) -> Response:
        """Continue with the next step."""
        opened = await self._here(request)
        await self.read_form(opened)
        stored = await self.save_step_answers(opened, "documents", lambda draft: replace(draft, documents=True))
        return self.redirect_to_next_step(stored, "documents")

    async def _here(self, request: Request) -> FormRequest:
        """The form at the documents step. Raises StepNotRequired."""
        opened = await self.load_form_request(request)
        if not view_models.accepted_document_kinds(opened.application.configuration):
            raise StepNotRequired(opened.first_incomplete_step_url)
        return opened

    async def _page(
        self,
        opened: FormRequest,
        *,
        problems: Problems | None = None,
        notice: FormNotice | None = None,
        chosen: str | None = None,
    ) -> Response:
        async with self.db.read() as tx:
            found = await submission_documents.list_by_invite(tx, opened.application.invite)
            listed = [
                DocumentRow(one.document, tx.ids.encode(submission_documents.TYPE, one.id), one.type) for one in found
            ]
        return self.views.render_documents_page(
            opened.form_context,
            listed,
            status=422 if problems else 200,
            problems=problems,
            notice=notice,
            chosen_kind=chosen,
        )


def parse_document_kind_or_first(value: str, possible_kinds: Sequence[str]) -> Kind:
    """The kind of document chosen in a form, else the first possible one."""
    named = value if value in possible_kinds else possible_kinds[0]
    return next(kind for kind in get_args(Kind) if kind == named)


def upload_problem_text_key(problem: Problem) -> str | None:
    """The text key of why a file was rejected; None if the file is not at fault.

    Raises InvalidFormPost for what none of our forms sends.
    """
    if isinstance(problem, ContentTypeError | MultipartBoundaryNotFound):
        raise InvalidFormPost from problem
    if isinstance(problem, FiletypeNotSupported):
        return _CAUSES[problem.cause]
    return next((key for known, key in _PROBLEMS if isinstance(problem, known)), None)


async def receive_upload(request: Request) -> ReceivedUpload:
    """Receive an uploaded file, or return its problem; the body is always read to the end."""
    body = _RequestBody(request.receive)
    try:
        received = await uploads.receive_upload(body.receive, request.headers, documents.PAGE_DOCUMENT)
    except ContentTooLarge as problem:
        received = ReceivedUpload(None, problem)
    await body.drain()
    return received


class _RequestBody:
    """The body of a request as it arrives, and whether its end was received."""

    def __init__(self, source: Receive) -> None:
        self._source = source
        self.ended = False

    async def receive(self) -> Message:
        """Return the next ASGI message."""
        message = await self._source()
        self.ended = not message.get("more_body", False)
        return message

    async def drain(self) -> None:
        """Read the rest and discard it."""
        size = 0
        while not self.ended and size < _MAX_DRAINED_BYTES:
            size += len((await self.receive()).get("body", b""))
