"""Pages about refunds: lists of pending and failed refunds, and a page for each refund with its actions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    build_time_sorted_page,
    parse_time_cursor,
)
from almoner.console.money_records import (
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    build_fixed_explanation,
    build_list_page,
    build_operator_name_lookup,
    label_amount,
    label_timestamp,
    parse_cursor,
    parse_entered_amount,
    parse_filter_choice,
    render_record_page,
)
from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import NOTE_LENGTH, NoSuchRefund, Refund, RefundError, RefundStatus
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import InvalidState
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = "refund"
_PATH: Final = "/refunds"
_STATUSES: Final[Mapping[str, RefundStatus]] = {"pending": "pending", "sent": "sent", "failed": "refused"}
_WORDS: Final = {stored: shown for shown, stored in _STATUSES.items()}
_NOTE: Final = ActionField("note", "Reason", "area", maxlength=NOTE_LENGTH)
_REFERENCE: Final = ActionField(
    "reference", "Reference", hint="Reference of the bank transfer, or the provider's refund ID.", maxlength=255
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A refund, and whether it is a failed refund that somebody still needs to handle."""

    refund: Refund
    unsent: bool


async def _get(tx: Tx, refund_id: UUID) -> _Shown:
    return _Shown(await refunds.get(tx, refund_id), await refunds.needs_resolution(tx, refund_id))


async def _facts(tx: Tx, shown: _Shown) -> Sequence[LabelledValue]:
    one = shown.refund
    return [
        label_amount("Amount", one.money),
        label_amount("Part of the refund taken from the amount owed to the nonprofit", one.nonprofit_share),
        LabelledValue("Donation", tx.ids.encode("donation", one.donation_id)),
        LabelledValue("Sent by", "us, by bank transfer" if one.is_sent_by_bank_transfer else one.provider),
        LabelledValue("Reference", one.provider_refund),
        label_timestamp("Started", one.started_at),
        label_timestamp("Ended", one.ended_at),
    ]


def _pending(shown: _Shown) -> str:
    return "" if shown.refund.status == "pending" else f"This refund is {_WORDS[shown.refund.status]}."


def _retryable(shown: _Shown) -> str:
    if shown.refund.is_sent_by_bank_transfer:
        return "This refund is a bank transfer. Send the money through your bank, and then record the refund here."
    return _pending(shown)


def _unhandled(shown: _Shown) -> str:
    return "" if shown.unsent else "Only a failed or returned refund that has not been handled yet can be resolved."


async def _mark_sent(tx: Tx, officer: ActingOperator, shown: _Shown, entered_values: Mapping[str, str]) -> None:
    name = tx.ids.encode(_TYPE, shown.refund.id)
    await officer.record_audit_entry(tx, DEPLOYMENT, "refund.marked_sent", name, called=entered_values["reference"])
    await refunds.record_manual_refund(
        tx, shown.refund.id, entered_values["reference"], entered_values["note"], officer.id
    )


async def _mark_failed(tx: Tx, officer: ActingOperator, shown: _Shown, entered_values: Mapping[str, str]) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, "refund.marked_failed", tx.ids.encode(_TYPE, shown.refund.id))
    await refunds.mark_refused(tx, shown.refund.id, entered_values["note"], officer.id)


async def _resolve(tx: Tx, officer: ActingOperator, shown: _Shown, entered_values: Mapping[str, str]) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, "refund.resolved", tx.ids.encode(_TYPE, shown.refund.id))
    await refunds.resolve_failed_refund(tx, shown.refund.id, entered_values["note"], officer.id)


async def _retry(tx: Tx, officer: ActingOperator, shown: _Shown, _entered_values: Mapping[str, str]) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, "refund.retried", tx.ids.encode(_TYPE, shown.refund.id))
    await refunds.retry_refund(tx, shown.refund.id)


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Refund",
    get=_get,
    get_record_id=lambda shown: shown.refund.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "mark-sent",
            "Record as sent",
            build_fixed_explanation(
                "Record the refund here after you sent it by bank transfer or in the payment provider's dashboard.",
                "The donation is treated as refunded, and the partner and the donor are notified as for any refund.",
            ),
            _mark_sent,
            (_REFERENCE, _NOTE),
            _pending,
            "Refund recorded as sent.",
            "s",
        ),
        RecordAction(
            "retry",
            "Retry the refund",
            build_fixed_explanation("A background worker requests this refund from the payment provider again."),
            _retry,
            (),
            _retryable,
            "The refund is requested from the payment provider again.",
            "t",
        ),
        RecordAction(
            "mark-failed",
            "Record as failed",
            build_fixed_explanation(
                "The refund will not be sent. The amount is owed to the nonprofit again, and the partner is notified."
            ),
            _mark_failed,
            (_NOTE,),
            _pending,
            "Refund recorded as failed.",
            "f",
        ),
        RecordAction(
            "resolve",
            "Mark as handled",
            build_fixed_explanation(
                "The refund is removed from the list of failed refunds and will not be sent again."
            ),
            _resolve,
            (_NOTE,),
            _unhandled,
            "Refund marked as handled.",
            "h",
        ),
    ),
    refusal_errors=(RefundError, InvalidState),
    not_found_errors=(NoSuchRefund,),
)


class RefundPages:
    """Pages about refunds."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        columns = (
            Column("Amount", "amount"),
            Column("Since", "age"),
            Column("Status", "status"),
            Column("Sent by"),
            Column("Donation", "id"),
            Column("Reference"),
            Column("ID", "id"),
        )
        self._list = ConsoleList(
            path=_PATH,
            title="Refunds",
            about="Refunds of donations are listed here: pending, sent and failed.",
            roles=FINANCE,
            columns=columns,
            load=self._load,
            filters=(
                Filter("status", "choice", tuple(_STATUSES), label_member="Status"),
                Filter("provider", label_member="Sent by"),
            ),
            views=(("Pending", {"status": "pending"}), ("Sent", {"status": "sent"}), ("All", {})),
            actions=((f"{_PATH}/new", "Refund a donation"), (f"{_PATH}/failed", "Failed refunds")),
            sort_order_description="newest first",
            oldest_first_filter=("status", "pending"),
            lead="If a refund is paid to a partner or donor by bank transfer, send the money through your bank and "
            "then record the refund here.",
        )
        self._failed = ConsoleList(
            path=f"{_PATH}/failed",
            title="Failed refunds",
            about="Refunds that were rejected by a payment provider or returned by a bank are listed here until "
            "somebody handles them.",
            roles=FINANCE,
            columns=(*columns[:-1], Column("Reason"), Column("ID", "id")),
            load=self._load_failed,
            sort_order_description="oldest first",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        actions = ActionPages(self._context).routes(self._new(), *_KIND.declare_actions(self._context))
        record = self._context.route(f"{_PATH}/{{id}}", self.show_refund, *FINANCE, methods=["GET"])
        return [*ListRouteBuilder(self._context).routes(self._list, self._failed), *actions, record]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        shown, provider = parse_filter_choice(query, "status", tuple(_STATUSES)), query.filters.get("provider")
        status = _STATUSES[shown] if shown else None
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await refunds.list_for_operators(tx, status, provider, after, query.limit + 1)
            total = await refunds.count_for_operators(tx, status, provider, MOST_COUNTED)
            return build_list_page(tx, _TYPE, [(one.id, _row(tx, one)) for one in found], query.limit, total)

    async def _load_failed(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            found = await refunds.list_unresolved(tx, query.limit + 1, parse_time_cursor(query.cursor))
            rows = [(one.ended_at, one.id, _row(tx, one, failed=True)) for one in found if one.ended_at]
            return build_time_sorted_page(rows, query.limit, await refunds.count_unresolved(tx))

    async def show_refund(self, visitor: SignedInRequest) -> Response:
        """Show a refund."""
        async with self._context.db.read() as tx:
            shown = await _KIND.get_from_url(self._context, tx, visitor)
            one = shown.refund
            by = await build_operator_name_lookup(tx, [one.started_by, one.ended_by])
            started = by(one.started_by) or "the partner"
            steps = [
                TimelineStep("Started", "done", iso_timestamp(one.started_at), f"{started}{_after_colon(one.note)}")
            ]
            if one.ended_at is not None:
                who = by(one.ended_by) or one.provider
                ended = f"{who}{_after_colon(one.ended_note)}"
                steps.append(TimelineStep(_WORDS[one.status].capitalize(), "done", iso_timestamp(one.ended_at), ended))
            else:
                waits = (
                    "send it through your bank, then record it here"
                    if one.is_sent_by_bank_transfer
                    else (f"{one.provider} has not sent it yet")
                )
                steps.append(TimelineStep("Sent", "waiting", None, waits))
            page = RecordPage(
                title="Refund",
                id=tx.ids.encode(_TYPE, one.id),
                status=_WORDS[one.status],
                back=_PATH,
                back_label="Refunds",
                facts=await _facts(tx, shown),
                steps=steps,
                actions=_KIND.list_available_actions(tx, shown),
                notices=[
                    (
                        "This refund did not reach the donor or partner. Create a new refund, or mark this refund as "
                        "handled."
                    )
                ]
                if shown.unsent
                else [],
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))

    def _new(self) -> ConsoleAction:
        async def describe(_tx: Tx, _visitor: SignedInRequest) -> ActionPage:
            return ActionPage(
                "Refund a donation",
                "Refund donation",
                _PATH,
                "Refunds",
                (
                    (
                        "A background worker sends the refund through the payment provider. If the partner collected "
                        "the donation, the refund stays pending until you send the partner a bank transfer and record "
                        "the refund."
                    ),
                    "The partner and the donor are notified once the refund has been sent.",
                ),
                (
                    ActionField("donation", "Donation ID", maxlength=255),
                    ActionField(
                        "amount",
                        "Amount",
                        hint="Enter an amount in the donation's currency, for example 12.50. Leave the field empty "
                        "to refund the remaining amount.",
                        required=False,
                        maxlength=30,
                    ),
                    ActionField(
                        "reference",
                        "Reference",
                        hint="If you have already sent the refund, enter the reference of the bank transfer, or the "
                        "payment provider's refund ID.",
                        required=False,
                        maxlength=255,
                    ),
                    _NOTE,
                ),
            )

        return ConsoleAction(
            f"{_PATH}/new", FINANCE, describe, self._begin, (RefundError, InvalidState), requires_reauthentication=True
        )

    async def _begin(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer = ActingOperator(self._context, visitor)
        donation_id = tx.ids.decode("donation", entered_values["donation"])
        try:
            if donation_id is None:
                raise NotFound
            gift = await donations.get(tx, ALL_PARTNERS, donation_id)
        except NotFound:
            raise IncorrectParams("donation: no donation has this ID") from None
        minor = (
            parse_entered_amount("amount", entered_values["amount"], gift.money.currency)
            if entered_values["amount"]
            else None
        )
        started = await refunds.begin_operator_refund(
            tx,
            gift.id,
            minor,
            self._context.services.disbursement_rules,
            started_by=officer.id,
            note=entered_values["note"],
            manual_refund_reference=entered_values["reference"] or None,
        )
        named = tx.ids.encode(_TYPE, started.id)
        await officer.record_audit_entry(
            tx, gift.partner_id, "refund.created", entered_values["donation"], refund=named, amount=started.money.minor
        )
        return f"{_PATH}/{named}"


def _after_colon(note: str | None) -> str:
    return f": {note}" if note else ""


def _row(tx: Tx, one: Refund, *, failed: bool = False) -> ListRow:
    name = tx.ids.encode(_TYPE, one.id)
    since = (one.ended_at or one.started_at) if failed else one.started_at
    values = [one.money, since, _WORDS[one.status], one.provider, tx.ids.encode("donation", one.donation_id)]
    return ListRow(f"{_PATH}/{name}", (*values, one.provider_refund, *([one.ended_note] if failed else []), name))
