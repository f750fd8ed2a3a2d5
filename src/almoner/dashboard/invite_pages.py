"""The page of an invite: a message for its partner to send to the nonprofit, in the invite's language."""

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request
from almoner.access.accounts.page_texts import build_page_texts
from almoner.access.partners import service as partners
from almoner.dashboard.domain import roles_with_scope
from almoner.dashboard.member_api_client import Record
from almoner.dashboard.record_lists import INVITES
from almoner.dashboard.record_pages import RecordPages
from almoner.kit.time import parse_timestamp
from almoner.platform.pages import formats


class NonprofitInvitePages:
    """The page."""

    def __init__(self, context: PageContext, records: RecordPages) -> None:
        self._context = context
        self._records = records

    def routes(self) -> list[Route]:
        """Starlette routes."""
        readers = sorted(roles_with_scope(INVITES.scope))
        return [self._context.route(f"{INVITES.path}/{{id}}", self.show_invite, *readers, methods=["GET"])]

    async def show_invite(self, visitor: SignedInRequest) -> Response:
        """Show an invite and, while it is open, a text to send with its link. We send nothing (spec 4.6)."""
        record = await self._records.get_record(visitor, INVITES)
        language = self._context.page_renderer.language_for_tag(record["language"])
        return await self._records.render_record(
            visitor,
            INVITES,
            record,
            "validation_invite.html",
            message_language=language,
            message_to_send=await self._message(visitor, record) if record["status"] == "open" else None,
        )

    async def _message(self, visitor: SignedInRequest, record: Record) -> str:
        language = self._context.page_renderer.language_for_tag(record["language"])
        zone = build_page_texts(self._context, visitor).zone
        async with self._context.db.read() as tx:
            account = await partners.get(tx, partner_from_request(visitor))
        until = parse_timestamp(record["expiresAt"]).astimezone(zone).date()
        return language.text(
            "dashboard.invite.message",
            partner=account.name,
            date=formats.format_day(until, language.locale),
            link=record["url"],
        )
