"""The page on which a donor sees a Gift Aid declaration for several donations, and can cancel it with one click."""

from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from almoner.access.partners import service as partners
from almoner.giving.checkout.hosted_page import service as hosted_page
from almoner.giving.gift_aid.declarations.domain import NOTIFY_CHARITY
from almoner.giving.gift_aid.reminders import service
from almoner.giving.gift_aid.reminders.domain import PAGE_PURPOSE, RegularDonationDeclaration
from almoner.giving.subscriptions.donation_subscriptions.domain import DonationSubscription
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.pages.error_handling import with_error_pages
from almoner.platform.pages.headers import NO_PAGE
from almoner.platform.pages.link_sessions import LinkSession
from almoner.platform.pages.linked_pages import PrivateLinkPages
from almoner.platform.pages.rendering import PageRenderer

TEMPLATES: Final = Path(__file__).parent / "templates"


class GiftAidDeclarationPages(PrivateLinkPages):
    """The pages of donors who declared Gift Aid for a regular donation."""

    def __init__(self, db: Database, pages: PageRenderer) -> None:
        super().__init__(db, pages, PAGE_PURPOSE, "giftaid")

    def not_found_page(self, request: Request, status: int = 404) -> Response:
        """The page for an invalid link or missing cookie."""
        return self.pages.render_message(
            "regular.unknown", self.pages.preferred_language(request), status=status, icon="link"
        )

    @with_error_pages
    async def show(self, request: Request) -> Response:
        """Show the declaration with a button to cancel it, or that it has ended."""
        declaration_id, visit = self._visited(request)
        async with self._db.read() as tx:
            return await self._page(tx, *await service.get_declaration_and_subscription(tx, declaration_id), visit)

    @with_error_pages
    async def submit_form(self, request: Request) -> Response:
        """Cancel the declaration."""
        declaration_id, visit = self._visited(request)
        form = await self._posted(request, visit)
        async with self._db.write() as tx:
            declared, subscription = await service.get_declaration_and_subscription(tx, declaration_id)
            if form is None:
                return await self._page(tx, declared, subscription, visit, refused=True)
            if await service.cancel_declaration_by_donor(tx, declaration_id):
                await audit.record_entry(
                    tx,
                    declared.partner_id,
                    Actor("system", "donor"),
                    "gift_aid.cancelled",
                    self._ids.encode("giftaid", declaration_id),
                    ip_address=request.client.host if request.client else None,
                    details={"cancelled_from": iso_timestamp(tx.now)},
                )
        return RedirectResponse(request.url.path, 303, NO_PAGE)

    async def _page(
        self,
        tx: Tx,
        declared: RegularDonationDeclaration,
        subscription: DonationSubscription,
        visit: LinkSession,
        *,
        refused: bool = False,
    ) -> Response:
        language, partner = self.pages.language_for_tag(subscription.language), Partner(declared.partner_id)
        charity = (await hosted_page.load_profile_of_organisation(tx, partner, declared.organisation_id)).name
        links = (await partners.get(tx, partner)).public_links
        if declared.has_ended:
            return self.pages.render_message(
                "regular.aid.cancelled", language, status=200, icon="check", partner_links=links, organisation=charity
            )
        return self.pages.render_page(
            "gift_aid.html",
            language,
            status=403 if refused else 200,
            notice="give.again" if refused else None,
            partner_links=links,
            organisation=charity,
            on=declared.declared_at,
            statement=declared.declaration_text(charity),
            notify=NOTIFY_CHARITY,
            csrf=visit.csrf,
            action=self._action(declared.id),
        )
