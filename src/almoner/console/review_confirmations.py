"""Ask a nonprofit whether it wants to receive donations, and show what it answered."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.partners import service as partners
from almoner.console.actions import ActionField, ActionLink, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import REVIEWERS
from almoner.console.lists import ListRow
from almoner.console.money_records import RecordTable, build_operator_name_lookup
from almoner.giving.disbursing.organisation_confirmations import service as organisation_confirmations
from almoner.giving.disbursing.organisation_confirmations.domain import NonprofitContact, language_of_country
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState, MonetaryDonationVerification
from almoner.kit.errors import IncorrectParams
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.outbound import email_addresses
from almoner.platform.pages.record_tables import Column, humanise_field_name
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.validation.agents import service as agents
from almoner.validation.agents.domain import OfficialContact, OfficialContactRefused

_LONGEST_EMAIL: Final = 255
_LONGEST_SOURCE: Final = 500
_ACTION: Final = "request-confirmation"


class OfficialEmail(NamedTuple):
    """A nonprofit's official email address and where it is published."""

    email: str
    source: str


def confirmation_success_message(visitor: SignedInRequest) -> str:
    """The message after the nonprofit was asked."""
    return "We have asked the nonprofit. Its answer appears here." if visitor.query.get("done") == _ACTION else ""


def confirmation_request_actions(page_path: str, verification: MonetaryDonationVerification) -> list[ActionLink]:
    """The action that asks the nonprofit, if there is something to confirm. ``page_path``: of the verification."""
    return [ActionLink(f"{page_path}/{_ACTION}", "Ask the nonprofit", "q")] if _is_confirmable(verification) else []


def _is_confirmable(one: MonetaryDonationVerification) -> bool:
    """Whether the verification waits for the confirmation of the nonprofit."""
    return one.status == "pending" and one.checks["organisation_confirmation"] == "pending"


async def build_confirmation_table(tx: Tx, verification: MonetaryDonationVerification) -> RecordTable:
    """A table of the requests to the nonprofit, oldest first, with its answers."""
    found = await organisation_confirmations.list_confirmations(tx, verification.id)
    by = await build_operator_name_lookup(tx, [row.requested_by for row in found])
    rows = [
        ListRow(
            "",
            (
                row.requested_at,
                row.email or "Deleted",
                row.contact_source,
                by(row.requested_by),
                humanise_field_name(row.answer)
                if row.answer
                else "Replaced by a later request"
                if row.is_withdrawn
                else None,
                row.answered_at,
                ", ".join(part for part in (row.respondent_name, row.respondent_role) if part) or None,
            ),
        )
        for row in found
    ]
    columns = (
        *(Column("Asked", "moment"), Column("Email address"), Column("Published at"), Column("By")),
        *(Column("Answer"), Column("Answered", "moment"), Column("Answered by")),
    )
    return RecordTable("Requests to the nonprofit", columns, rows, "The nonprofit has not been asked yet.")


def parse_official_email(values: Mapping[str, str]) -> OfficialEmail:
    """The official email address in a form, and its source. Raises IncorrectParams."""
    email = email_addresses.clean_email_address(values["email"])
    if len(email) > _LONGEST_EMAIL or not email_addresses.is_email_address(email):
        raise IncorrectParams("email: enter an email address such as office@example.org")
    return OfficialEmail(email, values["source"])


def official_contact_fields(email: str, source: str) -> Sequence[ActionField]:
    """The fields for the contact of a nonprofit, with their initial values."""
    return (
        ActionField(
            "email",
            "Email address",
            hint="A shared address of the nonprofit's office, not a personal address.",
            value=email,
            maxlength=_LONGEST_EMAIL,
        ),
        ActionField(
            "source",
            "Where the address is published",
            hint="For example, the address of a page of the nonprofit's register.",
            value=source,
            maxlength=_LONGEST_SOURCE,
        ),
    )


class ConfirmationRequestPages:
    """The page that asks a nonprofit."""

    def __init__(self, context: ConsoleContext, path: str, id_type: str) -> None:
        self._context = context
        self._path = path
        self._id_type = id_type

    def routes(self) -> list[Route]:
        """Starlette routes."""
        refusals = (InvalidState, OfficialContactRefused)
        action = ConsoleAction(
            f"{self._path}/{{id}}/{_ACTION}",
            REVIEWERS,
            self._describe,
            self._perform,
            refusals,
            requires_reauthentication=True,
        )
        return ActionPages(self._context).routes(action)

    async def _find(self, tx: Tx, visitor: SignedInRequest) -> MonetaryDonationVerification:
        name = visitor.path.split("/")[-2]
        return await verifications.get(tx, ALL_PARTNERS, self._context.parse_id(self._id_type, name))

    async def _describe(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        one = await self._find(tx, visitor)
        organisation = await organisations.get(tx, Partner(one.partner_id), one.organisation_id)
        partner = (await partners.get(tx, Partner(one.partner_id))).name
        known = await agents.find_official_contact(tx, one.organisation_id)
        language = self._context.texts(visitor).language_name
        offered = [(code, language(code)) for code in TranslationCatalogues().offered_languages]
        return ActionPage(
            "Ask the nonprofit",
            "Send email",
            f"{self._path}/{tx.ids.encode(self._id_type, one.id)}",
            organisation.effective_display_name,
            (
                (
                    f"{organisation.effective_display_name} gets an email with a link. On the page behind the link, it "
                    f"says whether it wants to receive donations through {partner}."
                ),
                "Anyone who can read this mailbox can confirm. Enter an address that the nonprofit publishes itself.",
                "A link that was sent to another address stops working.",
            ),
            (
                *official_contact_fields(known.email if known else "", known.source if known else ""),
                ActionField(
                    "language",
                    "Language of the email",
                    "choice",
                    choices=offered,
                    value=language_of_country(organisation.country_code),
                ),
            ),
            closed=None if _is_confirmable(one) else "There is nothing for the nonprofit to confirm.",
        )

    async def _perform(self, tx: Tx, visitor: SignedInRequest, values: Mapping[str, str]) -> str:
        one = await self._find(tx, visitor)
        email, source = parse_official_email(values)
        by, name = self._context.operator_id(visitor), tx.ids.encode(self._id_type, one.id)
        known = await agents.find_official_contact(tx, one.organisation_id)
        published = (await organisations.get(tx, Partner(one.partner_id), one.organisation_id)).partner_id is None
        if published and (known is None or (known.email, known.source) != (email, source)):
            await record_official_contact(
                self._context, tx, visitor, OfficialContact(one.organisation_id, email, source)
            )
        await organisation_confirmations.request_confirmation(
            tx, one.id, NonprofitContact(email, source), requested_by=by, language=values["language"]
        )
        await self._context.record_audit_entry(tx, visitor, one.partner_id, "verification.confirmation_requested", name)
        return f"{self._path}/{name}?done={_ACTION}"


async def record_official_contact(
    context: ConsoleContext, tx: Tx, visitor: SignedInRequest, contact: OfficialContact
) -> None:
    """Record the contact of a nonprofit, which is then asked about its agents in review."""
    asked = await agents.set_official_contact_and_enqueue_reviews(tx, contact, context.operator_id(visitor))
    organisation = tx.ids.encode("organisation", contact.organisation_id)
    await context.record_audit_entry(
        tx, visitor, DEPLOYMENT, "organisation.contact_recorded", organisation, asked=asked
    )
