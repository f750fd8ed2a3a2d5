"""Change an organisation's branding or contact, or publish an organisation that a partner entered.

All of these are also available as commands.
"""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.data_organisation_pages import ID, ORGANISATIONS, organisation_path
from almoner.console.links import ADMINISTRATORS, REVIEWERS
from almoner.console.logo_uploads import LOGO, handle_logo_upload
from almoner.console.review_confirmations import (
    official_contact_fields,
    parse_official_email,
    record_official_contact,
)
from almoner.giving.checkout.giving_links import service as giving_links
from almoner.kit import web
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.branding import domain as branding_domain
from almoner.nonprofits.branding import service as branding
from almoner.nonprofits.branding.service import BrandingChange
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation, RegistryNumberTaken
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.files.images import Image
from almoner.platform.pages.record_tables import LabelledValue
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import OfficialContact, OfficialContactRefused

_LONGEST_WEBSITE: Final = 255
_SHOWN: Final = (
    "Hosted pages, emails and search results show the new details immediately. Partners that monitor the organisation "
    "are notified."
)


class OrganisationActions:
    """The actions."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [
            *ActionPages(self._context).routes(
                *(self._brand(), self._clear_brand(), self._publish(), self._contact()),
                *(self._refuse_giving_links(), self._allow_giving_links()),
            ),
            self._context.route(f"{ORGANISATIONS}/{{id}}/logo", self.upload_logo, *sorted(ADMINISTRATORS), upload=LOGO),
        ]

    def _brand(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            own = await branding.load_branding_overrides(tx, one.id)
            return ActionPage(
                "Change branding",
                "Save",
                organisation_path(tx, one.id),
                one.effective_display_name,
                [
                    _SHOWN,
                    "Leave a field empty to show the value from the register. The registered name does not change.",
                ],
                fields=[
                    ActionField(
                        "name",
                        "Display name",
                        required=False,
                        value=own.display_name or "",
                        maxlength=branding_domain.MAX_NAME_LENGTH,
                    ),
                    ActionField(
                        "description",
                        "Description",
                        "area",
                        required=False,
                        value=own.description or "",
                        maxlength=branding_domain.MAX_DESCRIPTION_LENGTH,
                    ),
                    ActionField(
                        "colour",
                        "Brand colour",
                        hint="Such as #0d5c4a.",
                        required=False,
                        value=own.primary_color or "",
                        maxlength=7,
                    ),
                ],
                facts=[LabelledValue("Registered name", one.full_name)],
                closed=_unpublished_reason(one),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            own = await branding.load_branding_overrides(tx, one.id)
            if own.primary_color and not entered_values["colour"]:
                raise IncorrectParams("colour: to remove the colour, remove all branding")
            try:
                change = BrandingChange(
                    entered_values["name"], entered_values["description"], colour=entered_values["colour"] or None
                )
                branded = await branding.update_branding_of_primary_record(tx, one.id, change)
            except branding_domain.InvalidBranding as error:
                raise IncorrectParams(f"{'name' if 'the name' in str(error) else 'description'}: {error}") from None
            except ValueError as error:
                raise IncorrectParams(f"colour: {error}") from None
            if branded.overrides == own:
                return f"{organisation_path(tx, one.id)}?done=branded"
            return await self._branded(tx, visitor, one.id, cleared=False)

        return ConsoleAction(f"{ORGANISATIONS}/{{id}}/brand", ADMINISTRATORS, describe, perform)

    def _clear_brand(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            own = await branding.load_branding_overrides(tx, one.id)
            return ActionPage(
                "Remove the branding",
                "Remove the branding",
                organisation_path(tx, one.id),
                one.effective_display_name,
                [
                    "The display name, description, colour, logo and images are removed.",
                    "The name and description from the register are used instead.",
                ],
                closed=_unpublished_reason(one)
                or ("This organisation has no branding." if own == branding_domain.BrandingOverrides() else None),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            await branding.reset_branding_of_primary_record(tx, one.id)
            return await self._branded(tx, visitor, one.id, cleared=True)

        return ConsoleAction(f"{ORGANISATIONS}/{{id}}/brand/clear", ADMINISTRATORS, describe, perform)

    def _publish(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            return ActionPage(
                "Publish the organisation",
                "Publish",
                organisation_path(tx, one.id),
                one.effective_display_name,
                [
                    "All partners can then find the organisation and take donations for it. This cannot be undone.",
                    (
                        "Websites that the partner entered are not published. A website that you enter here is used to "
                        "verify agents, so check that it belongs to the organisation."
                    ),
                ],
                fields=[
                    ActionField(
                        "note", "Evidence", "area", hint="Describe what you checked and which sources you used."
                    ),
                    ActionField("websites", "Websites, one per line", "area", required=False),
                ],
                facts=[
                    LabelledValue("Registered name", one.full_name),
                    LabelledValue("Registry number", f"{one.registry_code} {one.registry_number}"),
                    LabelledValue("Websites that the partner entered", " ".join(one.websites) or None),
                ],
                closed=None if one.partner_id else "This organisation is published.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            websites = entered_values["websites"].split()
            if any(not web.is_web_address(site) or len(site) > _LONGEST_WEBSITE for site in websites):
                raise IncorrectParams("websites: enter web addresses such as https://example.org")
            await organisations.make_organisation_public(tx, one.id, websites)
            await self._context.record_audit_entry(
                tx,
                visitor,
                DEPLOYMENT,
                "organisation.published",
                tx.ids.encode(ID, one.id),
                note=entered_values["note"],
                websites=", ".join(websites),
            )
            return f"{organisation_path(tx, one.id)}?done=published"

        path = f"{ORGANISATIONS}/{{id}}/publish"
        return ConsoleAction(
            path, REVIEWERS, describe, perform, refusal_errors=(RegistryNumberTaken,), requires_reauthentication=True
        )

    def _contact(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            known = await agents.find_official_contact(tx, one.id)
            return ActionPage(
                "Set the contact address",
                "Save",
                organisation_path(tx, one.id),
                one.effective_display_name,
                [
                    "We send requests to confirm applicants and verifications to this address.",
                    "If an applicant of the organisation is in review, this address is asked about them immediately.",
                ],
                fields=official_contact_fields(known.email if known else "", known.source if known else ""),
                facts=[LabelledValue("Registered websites", " ".join(one.websites) or None)],
                closed=_unpublished_reason(one),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            contact = OfficialContact(one.id, *parse_official_email(entered_values))
            await record_official_contact(self._context, tx, visitor, contact)
            return f"{organisation_path(tx, one.id)}?done=contact"

        path = f"{ORGANISATIONS}/{{id}}/contact"
        return ConsoleAction(
            path, REVIEWERS, describe, perform, refusal_errors=(OfficialContactRefused,), requires_reauthentication=True
        )

    def _refuse_giving_links(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            opted_out = await giving_links.find_opt_out(tx, one.id) is not None
            return ActionPage(
                "Stop giving links",
                "Stop giving links",
                organisation_path(tx, one.id),
                one.effective_display_name,
                [
                    (
                        "Use this if the organisation does not want donations through giving links. No new giving "
                        "links can be created for it, and existing giving links no longer offer it."
                    ),
                    "Donation sessions are not affected, and nobody is notified.",
                ],
                fields=[ActionField("note", "Reason", "area", maxlength=giving_links.MAX_REASON)],
                closed=_unpublished_reason(one) or ("This organisation has opted out already." if opted_out else None),
            )

        async def perform(tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            by = self._context.operator_id(visitor)
            changed = await giving_links.record_opt_out(tx, one.id, entered_values["note"], by)
            return await self._changed_giving_links(tx, visitor, one.id, "giving_link.refused", changed=changed)

        return ConsoleAction(
            f"{ORGANISATIONS}/{{id}}/giving-links/refuse", REVIEWERS, describe, perform, requires_reauthentication=True
        )

    def _allow_giving_links(self) -> ConsoleAction:
        async def describe(tx: Tx, visitor: SignedInRequest) -> ActionPage:
            one = await self._organisation(tx, visitor)
            opt_out = await giving_links.find_opt_out(tx, one.id)
            return ActionPage(
                "Allow giving links",
                "Allow giving links",
                organisation_path(tx, one.id),
                one.effective_display_name,
                ["Giving links can offer this organisation again."],
                facts=[LabelledValue("Reason why they were stopped", opt_out.reason if opt_out else None)],
                closed=None if opt_out else "This organisation has not opted out of giving links.",
            )

        async def perform(tx: Tx, visitor: SignedInRequest, _entered_values: Mapping[str, str]) -> str:
            one = await self._organisation(tx, visitor)
            changed = await giving_links.withdraw_opt_out(tx, one.id)
            return await self._changed_giving_links(tx, visitor, one.id, "giving_link.allowed", changed=changed)

        return ConsoleAction(
            f"{ORGANISATIONS}/{{id}}/giving-links/allow", REVIEWERS, describe, perform, requires_reauthentication=True
        )

    async def _changed_giving_links(
        self, tx: Tx, visitor: SignedInRequest, organisation_id: UUID, action: str, *, changed: bool
    ) -> str:
        """The path to go to. ``changed``: False if another reviewer was faster."""
        if changed:
            own = tx.ids.encode(ID, organisation_id)
            await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, action, own)
        return f"{organisation_path(tx, organisation_id)}?done={action.rpartition('.')[2]}"

    async def upload_logo(self, visitor: SignedInRequest) -> Response:
        """Upload a logo."""
        async with self._context.db.read() as tx:
            one = await self._organisation(tx, visitor)
            if one.partner_id:
                raise NotFound
            back = organisation_path(tx, one.id)

        async def store(logo: Image) -> str:
            async with self._context.db.write() as tx:
                await branding.update_branding_of_primary_record(tx, one.id, BrandingChange(logo=logo))
                return await self._branded(tx, visitor, one.id, cleared=False)

        side = branding_domain.LOGO_SIDE
        return await handle_logo_upload(
            self._context,
            visitor,
            store,
            max_side_pixels=side,
            return_path=back,
            return_label=one.effective_display_name,
        )

    async def _branded(self, tx: Tx, visitor: SignedInRequest, organisation_id: UUID, *, cleared: bool) -> str:
        own = tx.ids.encode(ID, organisation_id)
        await self._context.record_audit_entry(tx, visitor, DEPLOYMENT, "organisation.branded", own, cleared=cleared)
        return f"{organisation_path(tx, organisation_id)}?done=branded"

    async def _organisation(self, tx: Tx, visitor: SignedInRequest) -> Organisation:
        name = visitor.path.removeprefix(f"{visitor.portal.home}{ORGANISATIONS}/").split("/")[0]
        return await organisations.get_for_operators(tx, self._context.parse_id(ID, name))


def _unpublished_reason(one: Organisation) -> str | None:
    return "Publish the organisation first." if one.partner_id else None
