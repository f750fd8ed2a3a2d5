"""Pages about donation requests: what partners owe us for direct donations, their payments, and overpayments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.partners import service as partners
from almoner.console.actions import ActionField, ActionPage, ActionPages
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
)
from almoner.console.money_records import (
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    RecordTable,
    build_fixed_explanation,
    build_list_page,
    label_amount,
    label_timestamp,
    parse_cursor,
    parse_entered_amount,
    parse_filter_choice,
    parse_filter_id,
    render_record_page,
)
from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests.domain import (
    MAX_BANK_REFERENCE,
    MAX_NOTE,
    DonationRequest,
    DonationRequestError,
    DonationRequestPayment,
    DonationRequestStatus,
)
from almoner.giving.checkout.donation_requests.flows import InvoicingResult
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.money import EXPONENTS, Money, format_amount
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue

_TYPE: Final = "donationrequest"
_PAYMENT_TYPE: Final = "requestpayment"
_PATH: Final = "/donation-requests"
_RUN: Final = f"{_PATH}/run"
_OVERPAYMENTS: Final = f"{_PATH}/overpayments"
_STATUSES: Final[tuple[DonationRequestStatus, ...]] = ("OPEN", "PARTLY_PAID", "PAID")
_SHOWN: Final = 100
_NOTE: Final = ActionField("note", "Reason", "area", maxlength=MAX_NOTE)
_PAID: Final = (
    ActionField("amount", "Amount received", hint="For example, 1234.50.", maxlength=30),
    ActionField(
        "currency",
        "Currency",
        hint="Leave the field empty if the partner paid in the currency of the request.",
        required=False,
        maxlength=3,
    ),
    ActionField(
        "reference",
        "Bank's reference",
        hint="The reference of the payment on our bank statement.",
        maxlength=MAX_BANK_REFERENCE,
    ),
)


@dataclass(frozen=True, slots=True)
class _Payment:
    """A partner's payment of a donation request."""

    payment: DonationRequestPayment
    request: DonationRequest

    @property
    def overpaid(self) -> Money:
        """The part of the payment that exceeds the request."""
        return Money(self.payment.overpaid_minor, self.payment.money.currency)


async def _get(tx: Tx, request_id: UUID) -> DonationRequest:
    return await donation_requests.get(tx, ALL_PARTNERS, request_id)


async def _get_payment(tx: Tx, payment_id: UUID) -> _Payment:
    payment = await donation_requests.get_payment(tx, payment_id)
    return _Payment(payment, await _get(tx, payment.donation_request_id))


async def _facts(tx: Tx, one: DonationRequest) -> Sequence[LabelledValue]:
    partner = (await partners.load_partner_names_by_id(tx, [one.partner_id]))[one.partner_id]
    return [
        LabelledValue("Partner", partner),
        LabelledValue("Partner ID", tx.ids.encode("partner", one.partner_id)),
        LabelledValue("Reference", one.reference),
        label_amount("Amount", one.money),
        label_amount("Paid", Money(one.paid_minor, one.money.currency)),
        label_amount("Left to pay", Money(one.outstanding_minor, one.money.currency)),
        LabelledValue("Donations", f"{one.donation_count:,}"),
        label_timestamp("Donations before", one.cutoff_at),
        label_timestamp("Created", one.created_at),
        label_timestamp("Due", one.due_at),
    ]


async def _payment_facts(tx: Tx, one: _Payment) -> Sequence[LabelledValue]:
    partner = (await partners.load_partner_names_by_id(tx, [one.request.partner_id]))[one.request.partner_id]
    payment = one.payment
    return [
        LabelledValue("Partner", partner),
        label_amount("Amount received", payment.money),
        label_amount("Applied to the request", Money(payment.applied_minor, payment.money.currency)),
        label_amount("Overpayment", one.overpaid),
        LabelledValue("Request", one.request.reference),
        LabelledValue("Bank's reference", payment.bank_reference),
        label_timestamp("Received", payment.received_at),
    ]


def _payable(one: DonationRequest) -> str:
    return "Donations are still being added to this request. Try again in a moment." if one.is_adding_donations else ""


def _overpaid(one: _Payment) -> str:
    if one.payment.status == "held":
        return ""
    return "This payment has no overpayment." if one.payment.status == "booked" else f"Already {one.payment.status}."


def _parse_payment(one: DonationRequest, entered_values: Mapping[str, str]) -> Money:
    """The entered payment, by default in the request's currency. Raises IncorrectParams with every problem."""
    reasons: list[str] = []
    if (currency := entered_values["currency"].upper() or one.money.currency) not in EXPONENTS:
        reasons, currency = ["currency: enter a currency such as GBP"], one.money.currency
    try:
        money = Money(parse_entered_amount("amount", entered_values["amount"], currency), currency)
    except IncorrectParams as wrong:
        raise IncorrectParams(*wrong.reasons, *reasons) from None
    if reasons:
        raise IncorrectParams(*reasons)
    return money


async def _record_payment(
    tx: Tx, officer: ActingOperator, one: DonationRequest, entered_values: Mapping[str, str]
) -> str | None:
    money = _parse_payment(one, entered_values)
    made = await donation_requests.receive_payment(
        tx, ALL_PARTNERS, one.id, money, entered_values["reference"], recorded_by=officer.id
    )
    over, _, _ = format_amount(Money(made.overpaid_minor, money.currency)).partition(" ")
    await officer.record_audit_entry(
        tx,
        one.partner_id,
        "donation_request.payment_received",
        tx.ids.encode(_TYPE, one.id),
        amount=format_amount(money),
        over=over,
    )
    return "overpaid" if made.overpaid_minor else None


async def _about_apply(_tx: Tx, one: _Payment) -> Sequence[str]:
    return [
        (
            f"The overpayment of {format_amount(one.overpaid)} pays another donation request of the same partner, in "
            "the same currency. Any remaining amount stays unallocated."
        )
    ]


async def _apply(tx: Tx, officer: ActingOperator, one: _Payment, entered_values: Mapping[str, str]) -> None:
    entered = entered_values["request"].upper()
    named = await donation_requests.find_id_by_payment_reference(tx, entered)
    if (request_id := named or tx.ids.decode(_TYPE, entered_values["request"])) is None:
        raise IncorrectParams("request: no donation request has this reference or ID")
    try:
        part = await donation_requests.apply_overpayment_to_other_request(
            tx, one.payment.id, request_id, note=entered_values["note"], decided_by=officer.id
        )
    except NotFound:
        raise IncorrectParams("request: no donation request has this reference or ID") from None
    applied = Money(part.applied_minor, part.money.currency)
    await officer.record_audit_entry(
        tx,
        one.request.partner_id,
        "donation_request.overpayment_applied",
        tx.ids.encode(_PAYMENT_TYPE, one.payment.id),
        request=tx.ids.encode(_TYPE, request_id),
        amount=format_amount(applied),
    )


async def _return(tx: Tx, officer: ActingOperator, one: _Payment, entered_values: Mapping[str, str]) -> None:
    await donation_requests.return_overpayment(tx, one.payment.id, note=entered_values["note"], decided_by=officer.id)
    await officer.record_audit_entry(
        tx,
        one.request.partner_id,
        "donation_request.overpayment_returned",
        tx.ids.encode(_PAYMENT_TYPE, one.payment.id),
    )


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Donation request",
    get=_get,
    get_record_id=lambda one: one.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "record-payment",
            "Record a payment",
            build_fixed_explanation(
                "The payment is allocated to the donations in the request, oldest first, and the partner is notified. "
                "If the request has many donations, a background worker allocates the rest.",
                "An overpayment stays unallocated until you apply or return it.",
                "If you import bank statements, do not record a payment here that a statement contains. Match the "
                "statement line to the request instead.",
            ),
            _record_payment,
            _PAID,
            _payable,
            "Payment recorded.",
            "p",
        ),
    ),
    refusal_errors=(DonationRequestError,),
)
_PAYMENT_KIND: Final = RecordKind(
    path=_OVERPAYMENTS,
    id_type=_PAYMENT_TYPE,
    name="Payment of a donation request",
    get=_get_payment,
    get_record_id=lambda one: one.payment.id,
    load_facts=_payment_facts,
    actions=(
        RecordAction(
            "apply",
            "Apply to another request",
            _about_apply,
            _apply,
            (ActionField("request", "Reference or ID of the other request", maxlength=255), _NOTE),
            _overpaid,
            "Overpayment applied.",
            "a",
        ),
        RecordAction(
            "return",
            "Record as returned",
            build_fixed_explanation("Record this after you have sent the money back to the partner by bank transfer."),
            _return,
            (_NOTE,),
            _overpaid,
            "Overpayment recorded as returned.",
            "r",
        ),
    ),
    refusal_errors=(DonationRequestError,),
)


class DonationRequestPages:
    """Pages about donation requests."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Donation requests",
            about="A donation request asks a partner to send us the money for its direct donations. Donation requests "
            "of all partners are listed here.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Partner"),
                Column("Reference", place="below"),
                Column("Status", "status"),
                Column("Paid", "amount"),
                Column("Donations"),
                Column("Created", "age"),
                Column("Due", "moment"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", _STATUSES, label_member="Status"),
                Filter("partner", label_member="Partner ID"),
            ),
            views=(("Open", {"status": "OPEN"}), ("Partly paid", {"status": "PARTLY_PAID"}), ("All", {})),
            actions=((_RUN, "Create due requests"), (_OVERPAYMENTS, "Overpayments")),
            sort_order_description="newest first",
            message=_run_message,
        )
        self._overpayments = ConsoleList(
            path=_OVERPAYMENTS,
            title="Overpayments",
            about="Payments that exceed their donation request, or are in another currency, are listed here until "
            "somebody applies or returns the overpayment.",
            roles=FINANCE,
            columns=(
                Column("Overpayment", "amount"),
                Column("Partner"),
                Column("Request"),
                Column("Bank's reference"),
                Column("Received", "age"),
                Column("ID", "id"),
            ),
            load=self._load_overpayments,
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        payments = [*_KIND.declare_actions(context), *_PAYMENT_KIND.declare_actions(context)]
        return [
            *ListRouteBuilder(context).routes(self._list, self._overpayments),
            context.route(_RUN, self.create_due_requests, *FINANCE, requires_reauthentication=True),
            context.route(f"{_OVERPAYMENTS}/{{id}}", self.show_payment, *FINANCE, methods=["GET"]),
            *ActionPages(context).routes(*payments),
            context.route(f"{_PATH}/{{id}}", self.show_request, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        status = parse_filter_choice(query, "status", _STATUSES)
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            partner_id = parse_filter_id(tx, query, "partner", "partner")
            found = await donation_requests.list_for_operators(tx, status, partner_id, after, query.limit + 1)
            total = await donation_requests.count_for_operators(tx, status, partner_id, MOST_COUNTED)
            names = await partners.load_partner_names_by_id(tx, [one.partner_id for one in found])
            rows = [(one.id, _row(tx, one, names)) for one in found]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def _load_overpayments(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        after = parse_cursor(self._context, query, _PAYMENT_TYPE)
        async with self._context.db.read() as tx:
            found = await donation_requests.list_held_overpayments(tx, after, query.limit + 1)
            total = (await donation_requests.count_held_overpayments_up_to(tx, MOST_COUNTED + 1)).total
            paid = await donation_requests.load_donation_requests_by_id(tx, [one.donation_request_id for one in found])
            shown = [_Payment(one, paid[one.donation_request_id]) for one in found]
            names = await partners.load_partner_names_by_id(tx, [one.request.partner_id for one in shown])
            rows = [
                (
                    one.payment.id,
                    ListRow(
                        _PAYMENT_KIND.page_path(tx, one),
                        (
                            one.overpaid,
                            names.get(one.request.partner_id),
                            one.request.reference,
                            one.payment.bank_reference,
                            one.payment.received_at,
                            tx.ids.encode(_PAYMENT_TYPE, one.payment.id),
                        ),
                    ),
                )
                for one in shown
            ]
            return build_list_page(tx, _PAYMENT_TYPE, rows, query.limit, total)

    async def show_request(self, visitor: SignedInRequest) -> Response:
        """Show a donation request and its payments."""
        async with self._context.db.read() as tx:
            one = await _KIND.get_from_url(self._context, tx, visitor)
            paid = await donation_requests.list_request_payments(tx, one.id, _SHOWN + 1)
            page = RecordPage(
                title=f"Donation request {one.reference}",
                id=tx.ids.encode(_TYPE, one.id),
                status=one.status,
                back=_PATH,
                back_label="Donation requests",
                facts=await _facts(tx, one),
                actions=_KIND.list_available_actions(tx, one),
                tables=[_payments_table(tx, [_Payment(payment, one) for payment in paid])],
            )
        over = visitor.query.get("done") == "overpaid"
        message = "Payment recorded. Part of it is an overpayment." if over else _KIND.success_message(visitor)
        return await render_record_page(self._context, visitor, page, message)

    async def show_payment(self, visitor: SignedInRequest) -> Response:
        """Show a payment, and what can be done with its overpayment."""
        async with self._context.db.read() as tx:
            one = await _PAYMENT_KIND.get_from_url(self._context, tx, visitor)
            request, path = one.request.reference, f"{visitor.portal.home}{_KIND.page_path(tx, one.request)}"
            facts = [
                LabelledValue("Request", request, "link", path) if fact.label == "Request" else fact
                for fact in await _payment_facts(tx, one)
            ]
            page = RecordPage(
                title=f"Payment of {format_amount(one.payment.money)}",
                id=tx.ids.encode(_PAYMENT_TYPE, one.payment.id),
                status=one.payment.status,
                back=_OVERPAYMENTS,
                back_label="Overpayments",
                facts=facts,
                actions=_PAYMENT_KIND.list_available_actions(tx, one),
            )
        return await render_record_page(self._context, visitor, page, _PAYMENT_KIND.success_message(visitor))

    async def create_due_requests(self, visitor: SignedInRequest) -> Response:
        """Explain what creating the due requests does, then do it."""
        if visitor.form:
            officer = ActingOperator(self._context, visitor)

            async def record(tx: Tx, ran: InvoicingResult) -> None:
                await officer.record_audit_entry(tx, DEPLOYMENT, "donation_requests.run", "all", **ran.audit_details())

            ran = await donation_requests_flows.run_invoicing(self._context.db, record)
            return redirect_to(
                f"{visitor.portal.home}{_PATH}?made={len(ran.created_requests)}&waiting={ran.uninvoiced_partner_currency_count}"
            )
        page = ActionPage(
            "Create due requests",
            "Create requests",
            _PATH,
            "Donation requests",
            (
                (
                    "A donation request is created for each partner whose period has ended and whose direct donations "
                    "reach the minimum amount. The owners and finance members of these partners get an email."
                ),
                "A background worker also does this every day after midnight (UTC).",
            ),
        )
        return await self._context.render_console_page(
            visitor, "action.html", page=page, typed={}, problems={}, refused=""
        )


def _run_message(visitor: SignedInRequest) -> str:
    """The message that says how many requests were created."""
    made, waiting = (visitor.query.get(name, "")[:9] for name in ("made", "waiting"))
    if not (made.isdecimal() and waiting.isdecimal()):
        return ""
    return f"Donation requests created: {made}. Waiting for the end of their period or for more donations: {waiting}."


def _row(tx: Tx, one: DonationRequest, names: Mapping[UUID, str]) -> ListRow:
    return ListRow(
        _KIND.page_path(tx, one),
        (
            one.money,
            names.get(one.partner_id),
            one.reference,
            one.status,
            Money(one.paid_minor, one.money.currency),
            one.donation_count,
            one.created_at,
            one.due_at,
            tx.ids.encode(_TYPE, one.id),
        ),
    )


def _payments_table(tx: Tx, paid: Sequence[_Payment]) -> RecordTable:
    rows = [
        ListRow(
            _PAYMENT_KIND.page_path(tx, one),
            (
                one.payment.bank_reference,
                one.payment.money,
                Money(one.payment.applied_minor, one.payment.money.currency),
                one.overpaid,
                one.payment.status,
                one.payment.received_at,
            ),
        )
        for one in paid[:_SHOWN]
    ]
    columns = (
        Column("Bank's reference"),
        Column("Amount received", "amount"),
        Column("Applied to the request", "amount"),
        Column("Overpayment", "amount"),
        Column("Status", "status"),
        Column("Received", "moment"),
    )
    more = f"Only the first {_SHOWN} are shown." if len(paid) > _SHOWN else ""
    return RecordTable("Payments", columns, rows, "No payments yet.", more)
