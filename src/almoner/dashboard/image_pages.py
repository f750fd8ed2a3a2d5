"""Images of records: the upload form and its submission."""

from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME
from almoner.access.accounts.page_guard import Handler, PageContext, SignedInRequest, redirect_to
from almoner.access.accounts.page_texts import join_reasons_as_english
from almoner.dashboard.domain import RecordList, roles_with_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import render_page
from almoner.kit.errors import ContentTooLarge, Problem
from almoner.platform.http import uploads
from almoner.platform.http.uploads import ReceivedUpload, UploadDeclaration

_MAX_BYTES: Final = 5 * 1024 * 1024


class RecordImagePages:
    """The image pages of each list whose records have an image."""

    def __init__(self, context: PageContext, calls: MemberApiClient, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            self._context.guard.public_route(
                f"{MEMBERS_HOME}/{{partner}}{one.path}/{{id}}/{one.image}", self._changer(one)
            )
            for one in self._records.lists
            if one.image
        ]

    def _changer(self, record_list: RecordList) -> Handler:
        async def change(request: Request) -> Response:
            return await self._change(request, record_list)

        return change

    async def _change(self, request: Request, record_list: RecordList) -> Response:
        """Show the upload form, or store the uploaded file; no other form has a file."""
        assert record_list.form is not None
        gate, roles = self._context.guard, sorted(roles_with_scope(record_list.form.scope))
        if request.method != "POST":
            visitor = await gate.require_sign_in(request, *roles)
            return visitor if isinstance(visitor, Response) else await self._form(visitor, record_list)
        signed_in = await gate.find_sign_in(request, await gate.get_portal_for_request(request))
        received = await _receive(request, record_list) if signed_in else ReceivedUpload(None)
        try:
            fields = received.uploaded_file.form_fields if received.uploaded_file else {}
            visitor = await gate.require_sign_in(request, *roles, form=FormData(fields))
            if isinstance(visitor, Response):
                return visitor
            return await self._send(visitor, record_list, received)
        finally:
            received.close()

    async def _send(self, visitor: SignedInRequest, record_list: RecordList, received: ReceivedUpload) -> Response:
        record = await self._records.get_record(visitor, record_list)
        path = f"{record_list.api_path}/{record['id']}/{record_list.image}"
        try:
            content = received.get_uploaded_file().content
            content.seek(0)
            await self._calls.upload_file(
                visitor, path, content.read(), record_list.image, idempotency_key=visitor.form_key
            )
        except (ApiCallRejected, Problem) as refused:
            reasons = refused.reasons or (str(refused),)
            return await self._form(visitor, record_list, {"image": join_reasons_as_english(reasons)})
        return redirect_to(f"{visitor.portal.home}{record_list.path}/{record['id']}?done={record_list.image}")

    async def _form(
        self, visitor: SignedInRequest, record_list: RecordList, problems: dict[str, str] | None = None
    ) -> Response:
        return render_page(
            self._context,
            visitor,
            "record_image.html",
            status=422 if problems else 200,
            declared=record_list,
            record=await self._records.get_record(visitor, record_list),
            problems=problems or {},
        )


async def _receive(request: Request, record_list: RecordList) -> ReceivedUpload:
    try:
        wanted = UploadDeclaration(record_list.image, max_bytes=_MAX_BYTES, media_types=())
        return await uploads.receive_upload(request.receive, request.headers, wanted)
    except ContentTooLarge as problem:
        return ReceivedUpload(None, problem)
