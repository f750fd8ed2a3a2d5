"""Simulates what happens to a donation's money: settled, disbursed, returned, reassigned (settled 9)."""

from typing import Final
from uuid import UUID

from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.reassignments.domain import UnknownOrganisation
from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import CannotAcceptDonations, Donation, InvalidState, WrongTargetCurrency
from almoner.giving.checkout.payments import service as payments
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.giving.checkout.payments.ports import PaymentProvider
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.ids import encode_uuid
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions, ensure_required_fields

ERRORS: Final = (InvalidState, CannotAcceptDonations, WrongTargetCurrency)
_WHY: Final = "Simulated by the partner."


def simulated_settlement_and_disbursement_actions(
    db: Database, provider: PaymentProvider, rules: DisbursementRules
) -> SimulatedActions:
    """The simulated settlement and disbursement of a donation, with the provider's fee."""
    money = _Money(db, provider, rules)
    return {
        ("donation", "settle"): money.settle,
        ("donation", "disburse"): money.disburse,
        ("donation", "return"): money.return_payment,
        ("donation", "release"): money.release,
        ("donation", "reassign"): money.reassign,
        ("donation", "refund"): money.refund,
    }


class _Money:
    def __init__(self, db: Database, provider: PaymentProvider, rules: DisbursementRules) -> None:
        self._db = db
        self._provider = provider
        self._rules = rules

    async def settle(self, partner: Partner, donation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """The provider pays the donation out to us, less its fee. Raises NotFound, InvalidState."""
        async with self._db.write() as tx:
            donation = await donations.get(tx, partner, donation_id)
            await settlements.settle_donation_in_sandbox(
                tx, partner, donation_id, self._provider.fee_schedule.fee_for(donation.money)
            )
            return await self._record(tx, partner, donation_id)

    async def disburse(self, partner: Partner, donation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """Send and confirm the donation's disbursement. Raises NotFound; InvalidState if it waits."""
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
        if donation.status != "RECEIVED_PAYMENT" or donation.settlement is None:
            raise InvalidState(f"the donation is {_status_text(donation)}: only one that is settled can be paid out")
        if (why := _undisbursed_reason(donation)) is not None:
            raise InvalidState(why)
        paid = await disbursements_flows.pay_donation_in_sandbox(self._db, partner, donation, self._rules)
        if paid is None:
            raise InvalidState("the donation is being worked on by another call; try again in a moment")
        if paid.waiting_reason is not None:
            raise InvalidState(
                f"the disbursement waits, {paid.waiting_reason.value}: {paid.waiting_reason.description}"
            )
        async with self._db.read() as tx:
            return await self._record(tx, partner, donation_id)

    async def return_payment(self, partner: Partner, donation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """Return the donation's disbursement. Raises NotFound, InvalidState."""
        async with self._db.read() as tx:
            donation = await donations.get(tx, partner, donation_id)
        if donation.status != "DISBURSED" or donation.disbursement_id is None:
            raise InvalidState(f"the donation is {donation.status}: only one that is DISBURSED can come back")
        try:
            await disbursements_flows.mark_returned(self._db, donation.disbursement_id, _WHY, recorded_by="sandbox")
        except DisbursementError as refused:
            raise InvalidState(str(refused)) from refused
        async with self._db.read() as tx:
            return await self._record(tx, partner, donation_id)

    async def release(self, partner: Partner, donation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        """People let the partner's donations to the donation's organisation be paid out again.

        Raises NotFound; InvalidState when they are not held.
        """
        async with self._db.write() as tx:
            donation = await donations.get(tx, partner, donation_id)
            try:
                await disbursements.release_holds(
                    tx, partner, donation.organisation_id, note=_WHY, decided_by="sandbox", rules=self._rules
                )
            except DisbursementError as refused:
                raise InvalidState(str(refused)) from refused
            return await self._record(tx, partner, donation_id)

    async def reassign(self, partner: Partner, donation_id: UUID, body: SimulateBody) -> ResponseRecord:
        """The donation is given to another organisation.

        Raises NotFound, InvalidState, CannotAcceptDonations, WrongTargetCurrency.
        """
        ensure_required_fields(organisationId=body.organisation_id)
        async with self._db.write() as tx:
            target = tx.ids.decode("organisation", body.organisation_id or "")
            if target is None:
                raise UnknownOrganisation(f"body.organisationId '{body.organisation_id}' names no organisation")
            await reassignments.reassign_donation(
                tx,
                partner,
                donation_id,
                target,
                ground=body.ground,
                reason=_WHY,
                reassigned_by="sandbox",
                rules=self._rules,
            )
            return await self._record(tx, partner, donation_id)

    async def refund(self, partner: Partner, donation_id: UUID, body: SimulateBody) -> ResponseRecord:
        """The donation goes back, whole or in part, and is sent. Raises NotFound, InvalidState, IncorrectParams."""
        async with self._db.write() as tx:
            donation = await donations.get(tx, partner, donation_id)
            payment = await payments.find(tx, donation.payment_id) if donation.payment_id else None
            is_transfer = donation.type == "direct" or (payment is not None and payment.provider == BANK_TRANSFER)
            called = f"simulated-{encode_uuid(tx.new_id())}" if is_transfer else None
            refund = await refunds.begin_refund(
                tx,
                partner,
                donation_id,
                body.amount,
                self._rules,
                started_by="sandbox",
                note=_WHY,
                manual_refund_reference=called,
            )
        await refunds_flows.send_refund(self._db, self._provider, refund.id)
        async with self._db.read() as tx:
            return await self._record(tx, partner, donation_id)

    async def _record(self, tx: Tx, partner: Partner, donation_id: UUID) -> ResponseRecord:
        return donations.serialise_for_api(tx, await donations.get(tx, partner, donation_id))


def _undisbursed_reason(donation: Donation) -> str | None:
    """Why a settled donation is in no disbursement."""
    gone = donation.refunded.money.minor if donation.refunded else 0
    if donation.disputed_at is not None:
        return "the donation is disputed: the donor's bank decides over its money"
    if donation.withdrawn_minor != gone:
        return "a refund or a dispute of the donation is being worked on; try again in a moment"
    return None if donation.net_amount_for_nonprofit else "nothing of the donation is left to be paid out"


def _status_text(donation: Donation) -> str:
    return f"{donation.status} and not settled" if donation.status == "RECEIVED_PAYMENT" else donation.status
