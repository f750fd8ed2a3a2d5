"""Actions on one donation: reassign it to another nonprofit, or cancel the donor's Gift Aid declaration."""

from collections.abc import Mapping
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.money_records import ActingOperator, donor_name, label_amount, load_organisation_names_by_id
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.reassignments.domain import (
    MAX_REASON_LENGTH,
    ReassignmentGround,
    UnknownOrganisation,
    amount_owed_to_nonprofit,
)
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.declarations.domain import DeclarationError
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.record_tables import LabelledValue

REASSIGN: Final = "/disbursements/reassign"
CANCEL_DECLARATION: Final = "/gift-aid-claims/cancel-declaration"
_NO_DECLARATION: Final = "declaration: no Gift Aid declaration has this ID"
_NO_ORGANISATION: Final = "organisation: no nonprofit has this ID"
_GROUNDS: Final[Mapping[ReassignmentGround, str]] = {
    "failed_compliance": "The nonprofit no longer meets the requirements to receive donations",
    "payment_impossible": "The nonprofit could not be paid",
    "merged": "The nonprofit has merged with another nonprofit",
}


class DonationActions:
    """The actions."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        reassign = ConsoleAction(
            REASSIGN, FINANCE, self._describe_reassignment, self._reassign, requires_reauthentication=True
        )
        cancel = ConsoleAction(
            CANCEL_DECLARATION,
            FINANCE,
            _describe_cancellation,
            self._cancel,
            (DeclarationError,),
            requires_reauthentication=True,
        )
        return ActionPages(self._context).routes(reassign, cancel)

    async def _describe_reassignment(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        donation = await _find_donation(tx, visitor.form_value("donation") or visitor.query.get("donation", ""))
        return ActionPage(
            "Reassign a donation",
            "Reassign donation",
            "/disbursements",
            "Disbursements",
            (
                (
                    "The donation is paid out to another nonprofit. This is possible only if the donation was received "
                    "and is not part of a disbursement that has been sent."
                ),
                (
                    "The amount of the donation, minus any refunds, goes to the other nonprofit. The partner is "
                    "notified, and the donor gets an email with the reason."
                ),
                "If the donation has a Gift Aid declaration, the declaration no longer covers it.",
            ),
            (
                ActionField("donation", "Donation ID", maxlength=255, takes_value_from_query=True),
                ActionField("organisation", "ID of the other nonprofit", maxlength=255),
                ActionField("ground", "Reason for the donor", "choice", choices=tuple(_GROUNDS.items())),
                ActionField("note", "Evidence", "area", maxlength=MAX_REASON_LENGTH),
            ),
            await _facts(tx, donation) if donation else (),
        )

    async def _reassign(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer = ActingOperator(self._context, visitor)
        reasons: list[str] = []
        if (donation := await _find_donation(tx, entered_values["donation"])) is None:
            reasons.append("donation: no donation has this ID")
        if (organisation_id := tx.ids.decode("organisation", entered_values["organisation"])) is None:
            reasons.append(_NO_ORGANISATION)
        if donation is None or organisation_id is None:
            raise IncorrectParams(*reasons)
        ground = next(one for one in _GROUNDS if one == entered_values["ground"])
        try:
            given = await reassignments.reassign_donation(
                tx,
                ALL_PARTNERS,
                donation.id,
                organisation_id,
                ground=ground,
                reason=entered_values["note"],
                reassigned_by=officer.id,
                rules=self._context.services.disbursement_rules,
            )
        except UnknownOrganisation:
            raise IncorrectParams(_NO_ORGANISATION) from None
        await officer.record_audit_entry(
            tx,
            given.partner_id,
            "donation.reassigned",
            tx.ids.encode("donation", given.id),
            organisation=tx.ids.encode("organisation", given.organisation_id),
        )
        return "/disbursements?done=reassigned"

    async def _cancel(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer, declaration = ActingOperator(self._context, visitor), entered_values["declaration"]
        reasons: list[str] = []
        since = None
        if (declaration_id := tx.ids.decode("giftaid", declaration)) is None:
            reasons.append(_NO_DECLARATION)
        try:
            entered = entered_values["since"]
            since = gift_aid_claims_domain.parse_london_day_or_timestamp(entered) if entered else None
        except ValueError as error:
            reasons.append(f"since: {error}")
        if declaration_id is None or reasons:
            raise IncorrectParams(*reasons)
        try:
            cancelled = await gift_aid_claims.cancel_declaration_and_adjust_claims(tx, declaration_id, since)
        except NotFound:
            raise IncorrectParams(_NO_DECLARATION) from None
        assert cancelled.cancelled_from is not None, "it was just cancelled"
        ends = iso_timestamp(cancelled.cancelled_from)
        await officer.record_audit_entry(
            tx, cancelled.partner_id, "gift_aid.cancelled", declaration, cancelled_from=ends
        )
        return "/gift-aid-claims?done=cancelled"


async def _describe_cancellation(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
    return ActionPage(
        "Cancel a Gift Aid declaration",
        "Cancel declaration",
        "/gift-aid-claims",
        "Gift Aid claims",
        (
            (
                "Record here that a donor has cancelled a Gift Aid declaration. The declaration no longer covers "
                "donations made from the time that you enter."
            ),
            "Gift Aid that was claimed for such donations is deducted from the next claim.",
        ),
        (
            ActionField("declaration", "Declaration ID", hint="A donation shows it as giftAidId.", maxlength=255),
            ActionField(
                "since",
                "Cancelled from",
                hint="For example, 2026-11-01. Leave the field empty to cancel the declaration from now.",
                required=False,
                maxlength=40,
            ),
        ),
    )


async def _find_donation(tx: Tx, text: str) -> Donation | None:
    if (donation_id := tx.ids.decode("donation", text.strip())) is None:
        return None
    return (await donations.load_donations_by_id(tx, [donation_id])).get(donation_id)


async def _facts(tx: Tx, donation: Donation) -> list[LabelledValue]:
    names = await load_organisation_names_by_id(tx, [(donation.partner_id, donation.organisation_id)])
    return [
        LabelledValue("Nonprofit now", names.get(donation.organisation_id)),
        LabelledValue("Donor", donor_name(donation)),
        label_amount("Amount of the donation", donation.money),
        label_amount("Amount owed to the nonprofit", amount_owed_to_nonprofit(donation)),
        LabelledValue("Status", donation.status, "status"),
    ]
