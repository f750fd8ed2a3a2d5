"""The page of a donation, and its actions: refund it, reassign it, or resend its receipt."""

from collections.abc import Mapping
from functools import partial
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import PageContext, SignedInRequest, partner_from_request, redirect_to
from almoner.access.accounts.page_texts import build_page_texts, join_reasons_as_english, mark_as_english
from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.dashboard import store
from almoner.dashboard.domain import PERSONAL, RECEIPT_SENDERS, REFUNDERS, has_scope, roles_with_scope
from almoner.dashboard.member_api_client import ApiCallRejected, MemberApiClient, Record
from almoner.dashboard.record_lists import DONATIONS
from almoner.dashboard.record_pages import RecordPages
from almoner.dashboard.rendering import render_page
from almoner.dashboard.timelines import PAID, donation_timeline
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.reassignments.domain import MAX_REASON_LENGTH, UnknownOrganisation
from almoner.giving.checkout.donations import service as donations
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.receipts import service as receipts
from almoner.kit.errors import Problem
from almoner.kit.time import iso_timestamp
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.pages import formats
from almoner.platform.pages.numbers import parse_amount

_WRITE: Final = "donations:write"
_DONE: Final = {
    "refunded": "dashboard.donation.refunded",
    "reassigned": "dashboard.donation.reassigned",
    "receipt": "dashboard.donation.receipt_sent",
}
_VIEWS: Final = 20
_GROUNDS: Final = ("failed_compliance", "payment_impossible")
"""Reasons for reassigning a donation, as shown to the donor."""


class DonationPages:
    """Pages about donations."""

    def __init__(
        self, context: PageContext, calls: MemberApiClient, records: RecordPages, rules: DisbursementRules
    ) -> None:
        self._context = context
        self._calls = calls
        self._records = records
        self._rules = rules

    def routes(self) -> list[Route]:
        """Starlette routes. Moving money requires a recent reauthentication."""
        context, path = self._context, f"{DONATIONS.path}/{{id}}"
        readers, writers = sorted(roles_with_scope(DONATIONS.scope)), sorted(roles_with_scope(_WRITE))
        return [
            context.route(path, self.show_donation, *readers, methods=["GET"]),
            context.route(f"{path}/refund", self.refund, *sorted(REFUNDERS), requires_reauthentication=True),
            context.route(f"{path}/reassign", self.reassign, *writers, requires_reauthentication=True),
            context.route(f"{path}/receipt", self.resend_receipt, *sorted(RECEIPT_SENDERS)),
        ]

    async def show_donation(self, visitor: SignedInRequest) -> Response:
        """Show a donation: what happened, what comes next, and its details."""
        donation = await self._records.get_record(visitor, DONATIONS)
        return await self._records.render_record(
            visitor,
            DONATIONS,
            donation,
            "donation.html",
            done=_DONE.get(visitor.query.get("done", "")),
            receipt_resendable=visitor.person.has_role(*RECEIPT_SENDERS)
            and donation["receiptDelivery"] in ("sent", "undeliverable"),
            steps=donation_timeline(donation, await self._received_at(visitor, donation)),
            masked=not has_scope(visitor.person.roles, PERSONAL),
            refundable=await self._refundable(visitor, donation) > 0,
            reassignable=has_scope(visitor.person.roles, _WRITE) and _refundable_minor(donation) > 0,
            views=await self._views(visitor, donation) if visitor.person.has_role("owner") else None,
        )

    async def _received_at(self, visitor: SignedInRequest, donation: Record) -> str | None:
        """When the donation's payment was received; None if it is not paid.

        The time of a bank transfer is not known, only its day: it is not before the donation was created.
        """
        if donation["status"] not in PAID:
            return None
        donation_id = self._context.parse_id("donation", donation["id"])
        async with self._context.db.read() as tx:
            paid = await donations.get(tx, partner_from_request(visitor), donation_id)
            return iso_timestamp(max(await receipts.load_payment_received_at(tx, paid), paid.created_at))

    async def refund(self, visitor: SignedInRequest) -> Response:
        """Show a form with the refundable amount, then start the refund, once for each form."""
        donation = await self._records.get_record(visitor, DONATIONS)
        most = await self._refundable(visitor, donation)
        texts, currency = build_page_texts(self._context, visitor), donation["currencyCode"]
        locale = texts.language.locale
        problems: dict[str, str] = {}
        if visitor.form:
            minor = parse_amount(visitor.form_value("amount"), currency, locale)
            if not isinstance(minor, int):
                example = formats.format_amount_without_currency(donation["amount"], currency, locale)
                problems = {"amount": texts.text("dashboard.refund.problem", example=example)}
            else:
                try:
                    await self._calls.post(
                        visitor,
                        f"/v1/donations/{donation['id']}/refund",
                        {"amount": minor},
                        idempotency_key=visitor.form_key,
                    )
                    return redirect_to(f"{visitor.portal.home}{DONATIONS.path}/{donation['id']}?done=refunded")
                except ApiCallRejected as refused:
                    reason = join_reasons_as_english(refused.reasons)
                    problems = {"amount": texts.language.html("dashboard.refund.refused", reason=reason)}
        return render_page(
            self._context,
            visitor,
            "donation_refund.html",
            status=422 if problems else 200,
            donation=donation,
            left=most,
            limited=most < _refundable_minor(donation),
            typed=visitor.form_value("amount") or formats.format_amount_without_currency(most, currency, locale),
            problems=problems,
        )

    async def _refundable(self, visitor: SignedInRequest, donation: Record) -> int:
        """The amount that the visitor may refund, in minor units."""
        left = _refundable_minor(donation)
        if has_scope(visitor.person.roles, _WRITE):
            return left
        if not visitor.person.has_role(*REFUNDERS):
            return 0
        async with self._context.db.read() as tx:
            limits = await partners.load_support_refund_limits_by_currency(tx, partner_from_request(visitor))
        gone = donation["refundedAmount"] or 0
        return max(0, min(left, limits.get(donation["currencyCode"], 0) - gone))

    async def reassign(self, visitor: SignedInRequest) -> Response:
        """Reassign a donation to another nonprofit, with a reason, once for each form."""
        donation = await self._records.get_record(visitor, DONATIONS)
        texts = build_page_texts(self._context, visitor)
        typed = {name: visitor.form_value(name).strip() for name in ("organisationId", "ground", "reason")}
        problems: dict[str, str] = {}
        if visitor.form and (wrong := self._entry_problems(typed)):
            problems = {
                field: texts.language.html("dashboard.reassign.refused", reason=mark_as_english(reason))
                for field, reason in wrong.items()
            }
        elif visitor.form:
            try:
                async with self._context.db.write() as tx:
                    done = await visitor.apply_form_once(tx, partial(self._reassign, tx, visitor, donation, typed), str)
                return redirect_to(f"{visitor.portal.home}{DONATIONS.path}/{donation['id']}?done={done}")
            except Problem as refused:
                reason = join_reasons_as_english(refused.reasons or [refused.message])
                problems = {"organisationId": texts.language.html("dashboard.reassign.refused", reason=reason)}
        return render_page(
            self._context,
            visitor,
            "donation_reassign.html",
            status=422 if problems else 200,
            donation=donation,
            reassignable=_refundable_minor(donation) > 0,
            typed=typed,
            grounds=[(ground, texts.text(f"dashboard.reassign.{ground}")) for ground in _GROUNDS],
            problems=problems,
        )

    def _entry_problems(self, entered_values: Mapping[str, str]) -> dict[str, str]:
        """What is wrong with the entered values themselves, by field."""
        found = {}
        if self._context.db.deployment.ids.decode("organisation", entered_values["organisationId"]) is None:
            found["organisationId"] = UnknownOrganisation.message
        if not 1 <= len(entered_values["reason"]) <= MAX_REASON_LENGTH:
            found["reason"] = f"the reason must have 1 to {MAX_REASON_LENGTH} characters"
        return found

    async def _reassign(
        self, tx: Tx, visitor: SignedInRequest, donation: Record, entered_values: Mapping[str, str]
    ) -> str:
        """Reassign the donation as entered; returns what the page says then. Raises Problem."""
        organisation_id = self._context.parse_id("organisation", entered_values["organisationId"])
        by, partner = self._context.audit_context(visitor), partner_from_request(visitor)
        given = await reassignments.reassign_donation(
            tx,
            partner,
            self._context.parse_id("donation", donation["id"]),
            organisation_id,
            ground="payment_impossible" if entered_values["ground"] == "payment_impossible" else "failed_compliance",
            reason=entered_values["reason"],
            reassigned_by=by.actor.id,
            rules=self._rules,
        )
        named = {"organisation": tx.ids.encode("organisation", given.organisation_id)}
        await audit.record_entry(
            tx, partner.id, by.actor, "donation.reassigned", donation["id"], ip_address=by.ip_address, details=named
        )
        return "reassigned"

    async def resend_receipt(self, visitor: SignedInRequest) -> Response:
        """Resend the donor's receipt after confirmation, unless it is being sent already."""
        donation = await self._records.get_record(visitor, DONATIONS)
        own = f"{visitor.portal.home}{DONATIONS.path}/{donation['id']}"
        if not visitor.form:
            return render_page(self._context, visitor, "donation_receipt.html", donation=donation, own=own)
        partner, by = partner_from_request(visitor), self._context.audit_context(visitor)
        async with self._context.db.write() as tx:
            donation_id = self._context.parse_id("donation", donation["id"])
            if await donations.resend_receipt(tx, partner, donation_id):
                await audit.record_entry(
                    tx, partner.id, by.actor, "receipt.resent", donation["id"], ip_address=by.ip_address
                )
        return redirect_to(f"{own}?done=receipt")

    async def _views(self, visitor: SignedInRequest, donation: Record) -> list[dict[str, object]]:
        """The most recent views of the donor's data."""
        partner = partner_from_request(visitor)
        async with self._context.db.read() as tx:
            donation_id = self._context.parse_id("donation", donation["id"])
            found = await store.list_donor_data_accesses(tx, partner, donation_id, _VIEWS)
            known = await people.load_people_by_id(tx, member_realm(partner), {view.person_id for view in found})
        return [
            {
                "who": known[view.person_id].display_name if view.person_id in known else None,
                "at": view.viewed_at,
            }
            for view in found
        ]


def _refundable_minor(donation: Record) -> int:
    """The amount of a donation that can still be refunded, in minor units."""
    return (
        0 if donation["status"] != "RECEIVED_PAYMENT" else int(donation["amount"] - (donation["refundedAmount"] or 0))
    )
