"""Pages about payments that match no donation: a list, and a page for each payment with its actions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPages
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_records import (
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    build_fixed_explanation,
    build_list_page,
    build_operator_name_lookup,
    donor_name,
    label_amount,
    parse_cursor,
    parse_filter_choice,
    render_record_page,
)
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import (
    NOTE_LENGTH,
    RULES,
    UNALLOCATED_PAYMENT,
    AutomaticAction,
    NoSuchUnallocatedPayment,
    UnallocatedPayment,
    UnallocatedPaymentError,
)
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation, InvalidState
from almoner.giving.checkout.payments.domain import UnallocatedReason
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = "heldpayment"
_PATH: Final = "/unallocated-payments"
_NOTE: Final = ActionField("note", "Reason", "area", maxlength=NOTE_LENGTH)
_BY_HAND: Final = ActionField(
    "reference",
    "ID of the refund",
    hint="Enter the reference as shown by the payment provider or your bank.",
    maxlength=255,
)


@dataclass(frozen=True, slots=True)
class _Origin:
    """Who paid, what they wrote, and the donation that the payment names."""

    payer: str | None = None
    text: str | None = None
    donation: Donation | None = None


async def _load_origins(tx: Tx, found: Sequence[UnallocatedPayment]) -> dict[UUID, _Origin]:
    """The origin of each payment: of a bank transfer from its statement, otherwise the donor of its donation."""
    moved = await bank_statements.load_movements_by_unallocated_payment(tx, [one.id for one in found])
    named = await donations.load_donations_by_id(tx, [one.donation_id for one in found if one.donation_id])
    origins = {}
    for one in found:
        movement, donation = moved.get(one.id), named.get(one.donation_id) if one.donation_id else None
        text = movement.remittance_information if movement else None
        origins[one.id] = _Origin(movement.counterparty if movement else donor_name(donation), text, donation)
    return origins


async def _facts(tx: Tx, unallocated_payment: UnallocatedPayment) -> Sequence[LabelledValue]:
    origin = (await _load_origins(tx, [unallocated_payment]))[unallocated_payment.id]
    donation = tx.ids.encode_or_none("donation", unallocated_payment.donation_id)
    return [
        label_amount("Amount", unallocated_payment.money),
        LabelledValue("Why it is unallocated", [unallocated_payment.reason.value], "values"),
        LabelledValue("Provider", unallocated_payment.provider),
        LabelledValue("Payment ID at the provider", unallocated_payment.provider_payment_id),
        LabelledValue("Payer", origin.payer),
        LabelledValue("Reference", unallocated_payment.reference or None),
        LabelledValue("Message on the transfer", origin.text),
        LabelledValue("Donation", donation, "text"),
        label_amount("Amount of the donation", origin.donation.money if origin.donation else None),
    ]


def _undecided(unallocated_payment: UnallocatedPayment) -> str:
    return (
        ""
        if unallocated_payment.status == "held"
        else f"This payment is {unallocated_payment.status.replace('_', ' ')}."
    )


def _refundable(unallocated_payment: UnallocatedPayment) -> str:
    if not unallocated_payment.is_posted_to_ledger:
        return "The payment is not in our ledger, so the only available action is to write it off."
    by_provider = unallocated_payment.status == "refunding" and not unallocated_payment.is_bank_transfer
    return (
        ""
        if unallocated_payment.status == "held" or by_provider
        else f"This payment is {unallocated_payment.status.replace('_', ' ')}."
    )


def _refunded_by_hand(unallocated_payment: UnallocatedPayment) -> str:
    if not unallocated_payment.is_posted_to_ledger:
        return "The payment is not in our ledger, so the only available action is to write it off."
    return (
        ""
        if unallocated_payment.status in ("held", "refunding")
        else f"This payment is {unallocated_payment.status.replace('_', ' ')}."
    )


def _applicable(unallocated_payment: UnallocatedPayment) -> str:
    if not unallocated_payment.is_bank_transfer or unallocated_payment.payment_id is None:
        return "Only a bank transfer that contains the reference of a donation can be applied to a donation."
    return _undecided(unallocated_payment)


async def _about_refund(_tx: Tx, unallocated_payment: UnallocatedPayment) -> Sequence[str]:
    if unallocated_payment.status == "refunding":
        return [f"The refund will be requested again from {unallocated_payment.provider}."]
    if unallocated_payment.is_bank_transfer:
        return [
            (
                "The payment is marked for refund. Because it was a bank transfer, you must send the money back "
                "through your bank. Then record the refund here, or import the bank statement that contains your "
                "transfer."
            ),
            (
                f"Enter {unallocated_payment.provider_payment_id.partition('/')[0]} as the reference of your transfer, "
                "so that the statement is matched to this refund."
            ),
        ]
    return [
        (
            f"The payer is refunded through {unallocated_payment.provider}. "
            "The donor gets an email once the refund has been sent."
        )
    ]


async def _refund(
    tx: Tx, officer: ActingOperator, unallocated_payment: UnallocatedPayment, entered_values: Mapping[str, str]
) -> None:
    name = tx.ids.encode(_TYPE, unallocated_payment.id)
    await officer.record_audit_entry(tx, DEPLOYMENT, "unallocated_payment.refunded", name, done_as=None)
    await suspense.begin_refund(tx, unallocated_payment.id, entered_values["note"], officer.id)


async def _record_refund(
    tx: Tx, officer: ActingOperator, unallocated_payment: UnallocatedPayment, entered_values: Mapping[str, str]
) -> None:
    name, called = tx.ids.encode(_TYPE, unallocated_payment.id), entered_values["reference"]
    await officer.record_audit_entry(tx, DEPLOYMENT, "unallocated_payment.refunded", name, done_as=called)
    await suspense.record_manual_refund(tx, unallocated_payment.id, called, entered_values["note"], officer.id)


async def _about_apply(tx: Tx, unallocated_payment: UnallocatedPayment) -> Sequence[str]:
    named = (
        tx.ids.encode_or_none("donation", unallocated_payment.donation_id) or "the donation that its reference names"
    )
    return [f"The payment is applied to {named}. The donation's amount is changed to the amount received."]


async def _apply(
    tx: Tx, officer: ActingOperator, unallocated_payment: UnallocatedPayment, entered_values: Mapping[str, str]
) -> None:
    await officer.record_audit_entry(
        tx, DEPLOYMENT, "unallocated_payment.applied", tx.ids.encode(_TYPE, unallocated_payment.id)
    )
    await bank_transfers.apply_unallocated_payment_to_donation(
        tx, unallocated_payment.id, entered_values["note"], officer.id
    )


async def _write_off(
    tx: Tx, officer: ActingOperator, unallocated_payment: UnallocatedPayment, entered_values: Mapping[str, str]
) -> None:
    await officer.record_audit_entry(
        tx, DEPLOYMENT, "unallocated_payment.written_off", tx.ids.encode(_TYPE, unallocated_payment.id)
    )
    await suspense.write_off(tx, unallocated_payment.id, entered_values["note"], officer.id)


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Unallocated payment",
    get=suspense.get,
    get_record_id=lambda held: held.id,
    load_facts=_facts,
    actions=(
        RecordAction("refund", "Refund payment", _about_refund, _refund, (_NOTE,), _refundable, "Refund started.", "r"),
        RecordAction(
            "record-refund",
            "Record a refund that was sent",
            build_fixed_explanation(
                "Record the refund here after you sent it by bank transfer or in the payment provider's dashboard. "
                "Almoner does not contact the payment provider."
            ),
            _record_refund,
            (_BY_HAND, _NOTE),
            _refunded_by_hand,
            "Refund recorded.",
            "s",
        ),
        RecordAction(
            "apply",
            "Apply to donation",
            _about_apply,
            _apply,
            (_NOTE,),
            _applicable,
            "Payment applied to the donation.",
            "a",
        ),
        RecordAction(
            "write-off",
            "Write off",
            build_fixed_explanation(
                "The payment is removed from our ledger because it was not meant for us. Nothing is refunded, and "
                "nobody is notified."
            ),
            _write_off,
            (_NOTE,),
            _undecided,
            "Payment written off.",
            "w",
        ),
    ),
    refusal_errors=(UnallocatedPaymentError, InvalidState),
    not_found_errors=(NoSuchUnallocatedPayment,),
)


class UnallocatedPaymentPages:
    """Pages about unallocated payments."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Unallocated payments",
            about="Payments that match no donation are listed here, with the reason and any automatic decision.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Payer"),
                Column("Reference", place="below"),
                Column("Received", "age"),
                Column("Reason", "status"),
                Column("Status", "status"),
                Column("Automatic decision", "moment"),
                Column("Provider"),
                Column("ID", "id", place="file"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", tuple(sorted(UNALLOCATED_PAYMENT.states())), label_member="Status"),
                Filter("reason", "choice", tuple(one.value for one in UnallocatedReason), label_member="Reason"),
            ),
            views=(("Waiting", {"status": "held"}), ("Refunding", {"status": "refunding"}), ("All", {})),
            sort_order_description="newest first",
            oldest_first_filter=("status", "held"),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        actions = ActionPages(self._context).routes(*_KIND.declare_actions(self._context))
        record = self._context.route(f"{_PATH}/{{id}}", self.show_payment, *FINANCE, methods=["GET"])
        return [*ListRouteBuilder(self._context).routes(self._list), *actions, record]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        status = parse_filter_choice(query, "status", sorted(UNALLOCATED_PAYMENT.states()))
        reason = parse_filter_choice(query, "reason", tuple(UnallocatedReason))
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await suspense.list_for_operators(tx, status, reason, after, query.limit + 1)
            total = await suspense.count_for_operators(tx, status, reason, MOST_COUNTED)
            origins = await _load_origins(tx, found)
            rows = [
                (
                    one.id,
                    ListRow(
                        _KIND.page_path(tx, one),
                        (
                            one.money,
                            origins[one.id].payer,
                            origins[one.id].text or one.reference,
                            one.received_at,
                            one.reason.value,
                            one.status,
                            one.auto_decide_at if one.status == "held" else None,
                            one.provider,
                            tx.ids.encode(_TYPE, one.id),
                        ),
                    ),
                )
                for one in found
            ]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def show_payment(self, visitor: SignedInRequest) -> Response:
        """Show an unallocated payment."""
        async with self._context.db.read() as tx:
            held = await _KIND.get_from_url(self._context, tx, visitor)
            decisions = await suspense.list_decisions(tx, [held.id])
            by = await build_operator_name_lookup(tx, [one.decided_by for one in decisions])
            rule = RULES[held.reason].action
            steps = [TimelineStep("Received", "done", iso_timestamp(held.received_at))]
            steps += [
                TimelineStep(
                    one.resolution.value.replace("_", " ").capitalize(),
                    "done",
                    iso_timestamp(one.decided_at),
                    f"{by(one.decided_by)}: {one.note}",
                )
                for one in decisions
            ]
            if held.status == "held":
                what = "Refunded by rule" if rule is AutomaticAction.REFUND else "Written off by rule"
                steps.append(
                    TimelineStep(what, "next", iso_timestamp(held.auto_decide_at), "unless somebody decides earlier")
                )
            page = RecordPage(
                title="Unallocated payment",
                id=tx.ids.encode(_TYPE, held.id),
                status=held.status,
                back=_PATH,
                back_label="Unallocated payments",
                facts=await _facts(tx, held),
                steps=steps,
                actions=_KIND.list_available_actions(tx, held),
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))
