"""The page of a giving link: its address and code to share, and the picture that donors see."""

from typing import Final

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.domain import MEMBERS_HOME
from almoner.access.accounts.page_guard import PageContext, Visitor, redirect_to
from almoner.access.accounts.page_texts import in_english_joined
from almoner.dashboard.domain import has_scope, roles_with
from almoner.dashboard.member_calls import CallRefused, MemberCalls
from almoner.dashboard.record_lists import GIVING_LINKS
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import new_form_key, render_page
from almoner.kit.errors import ContentTooLarge, Problem
from almoner.platform.http import uploads
from almoner.platform.http.uploads import ReceivedUpload, UploadDeclaration

_WRITE: Final = "giving_links:write"
_IMAGE: Final = UploadDeclaration("image", max_bytes=5 * 1024 * 1024, media_types=())


class GivingLinkPages:
    """Pages about giving links."""

    def __init__(self, context: PageContext, calls: MemberCalls, records: RecordPages) -> None:
        self._context = context
        self._calls = calls
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        path = f"{GIVING_LINKS.path}/{{id}}"
        readers = sorted(roles_with(GIVING_LINKS.scope))
        return [
            self._context.gate.public_route(f"{MEMBERS_HOME}/{{partner}}{path}/image", self.change_image),
            self._context.route(path, self.show, *readers, methods=["GET"]),
        ]

    async def show(self, visitor: Visitor) -> Response:
        """The link: what to copy and print, then its facts."""
        record = await self._records.get_record(visitor, GIVING_LINKS)
        return await self._records.render_record(
            visitor,
            GIVING_LINKS,
            record,
            "giving_link.html",
            editable=has_scope(visitor.person.roles, _WRITE),
            image_changed=visitor.query.get("done") == "image",
        )

    async def change_image(self, request: Request) -> Response:
        """The form with a picture, and what is sent with it: a file, which no other form has."""
        gate, roles = self._context.gate, sorted(roles_with(_WRITE))
        if request.method != "POST":
            visitor = await gate.require_visitor(request, *roles)
            return visitor if isinstance(visitor, Response) else await self._form(visitor)
        signed_in = await gate.find_sign_in(request, await gate.portal_of_request(request))
        received = await _receive(request) if signed_in else ReceivedUpload(None)
        try:
            fields = received.uploaded.fields if received.uploaded else {}
            visitor = await gate.require_visitor(request, *roles, form=FormData(fields))
            if isinstance(visitor, Response):
                return visitor
            return await self._send(visitor, received)
        finally:
            received.close()

    async def _send(self, visitor: Visitor, received: ReceivedUpload) -> Response:
        record = await self._records.get_record(visitor, GIVING_LINKS)
        path, key = f"{GIVING_LINKS.call}/{record['id']}/image", visitor.form_value("form_key")[:100] or None
        try:
            content = received.get_uploaded_file().content
            content.seek(0)
            await self._calls.upload(visitor, path, content.read(), "image", key=key)
        except (CallRefused, Problem) as refused:
            reasons = refused.reasons or (str(refused),)
            return await self._form(visitor, {"image": in_english_joined(reasons)})
        return redirect_to(f"{visitor.place.home}{GIVING_LINKS.path}/{record['id']}?done=image")

    async def _form(self, visitor: Visitor, problems: dict[str, str] | None = None) -> Response:
        return render_page(
            self._context,
            visitor,
            "giving_link_image.html",
            status=422 if problems else 200,
            declared=GIVING_LINKS,
            record=await self._records.get_record(visitor, GIVING_LINKS),
            form_key=new_form_key(),
            problems=problems or {},
        )


async def _receive(request: Request) -> ReceivedUpload:
    try:
        return await uploads.receive_upload(request.receive, request.headers, _IMAGE)
    except ContentTooLarge as problem:
        return ReceivedUpload(None, problem)
