"""Pages about payment disputes: a list of disputes, and a page for each dispute and its outcome."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.operators import service as operators
from almoner.console.actions import ActionPages
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_dispute_evidence import (
    DisputeEvidencePages,
    build_evidence_facts,
    build_evidence_table,
    evidence_success_message,
    list_evidence_actions,
)
from almoner.console.money_records import (
    NOTE,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    build_fixed_explanation,
    build_list_page,
    label_amount,
    label_timestamp,
    parse_cursor,
    parse_filter_choice,
    render_record_page,
)
from almoner.giving.accounting.dispute_evidence import service as dispute_evidence
from almoner.giving.accounting.disputes import service as disputes
from almoner.giving.accounting.disputes.domain import (
    ConcurrentChangeError,
    Dispute,
    DisputeError,
    DisputeOutcome,
    Outcome,
)
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep, humanise_field_name

_TYPE: Final = "dispute"
_PATH: Final = "/disputes"


def _subject(tx: Tx, dispute: Dispute) -> str | None:
    return tx.ids.encode_or_none("donation", dispute.donation_id) or tx.ids.encode_or_none(
        "heldpayment", dispute.unallocated_payment_id
    )


async def _facts(tx: Tx, dispute: Dispute) -> Sequence[LabelledValue]:
    found = [
        label_amount("Amount", dispute.money),
        LabelledValue("Reason", humanise_field_name(dispute.reason) if dispute.reason else None),
        LabelledValue("Donation or payment", _subject(tx, dispute)),
        LabelledValue("Provider", dispute.provider),
        LabelledValue("Payment ID at the provider", dispute.provider_payment_id),
        LabelledValue("Dispute ID at the provider", dispute.provider_dispute_id),
        label_timestamp("Opened", dispute.opened_at),
    ]
    if dispute.loss:
        found.append(label_amount("Absorbed by us", dispute.loss.absorbed_amount))
        found.append(LabelledValue("Already disbursed", dispute.loss.was_disbursed, "yes_no"))
        found.append(label_amount("Recovered", dispute.loss.recovered_amount))
    return found


def _open(dispute: Dispute) -> str:
    return "" if dispute.status is DisputeStatus.OPEN else f"This dispute is {dispute.status.value}."


async def _refresh(tx: Tx, officer: ActingOperator, dispute: Dispute, _entered_values: Mapping[str, str]) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, "dispute.refreshed", tx.ids.encode(_TYPE, dispute.id))
    await disputes.enqueue_refresh(tx, dispute.provider_payment_id)


_REFRESH: Final = RecordAction(
    "refresh",
    "Fetch the status",
    build_fixed_explanation(
        "A background worker fetches the current status from the payment provider. A worker also does this "
        "automatically every day."
    ),
    _refresh,
    (),
    _open,
    "A background worker is fetching the status from the payment provider.",
    "r",
)


def _kind(rules: DisbursementRules) -> RecordKind[Dispute]:
    async def end(tx: Tx, officer: ActingOperator, dispute: Dispute, outcome: Outcome, note: str) -> None:
        await officer.record_audit_entry(tx, DEPLOYMENT, f"dispute.{outcome}", tx.ids.encode(_TYPE, dispute.id))
        try:
            await disputes.record_outcome(tx, dispute.id, DisputeOutcome(outcome, officer.id, note), rules)
        except ConcurrentChangeError:
            raise DisputeError(
                "A refund or disbursement of this donation is in progress. Try again in a minute."
            ) from None

    async def mark_won(tx: Tx, officer: ActingOperator, dispute: Dispute, entered_values: Mapping[str, str]) -> None:
        await end(tx, officer, dispute, "won", entered_values["note"])

    async def mark_lost(tx: Tx, officer: ActingOperator, dispute: Dispute, entered_values: Mapping[str, str]) -> None:
        await end(tx, officer, dispute, "lost", entered_values["note"])

    only = "Record the outcome here only if the payment provider does not report it."
    return RecordKind(
        path=_PATH,
        id_type=_TYPE,
        name="Dispute",
        get=disputes.get,
        get_record_id=lambda one: one.id,
        load_facts=_facts,
        actions=(
            _REFRESH,
            RecordAction(
                "mark-won",
                "Record as won",
                build_fixed_explanation(only, "The donation is disbursed as usual. The partner is notified."),
                mark_won,
                (NOTE,),
                _open,
                "Dispute recorded as won.",
                "w",
            ),
            RecordAction(
                "mark-lost",
                "Record as lost",
                build_fixed_explanation(
                    only,
                    (
                        "The donation is treated as refunded. If the donation was already disbursed, we absorb the "
                        "loss. The partner is notified."
                    ),
                ),
                mark_lost,
                (NOTE,),
                _open,
                "Dispute recorded as lost.",
                "l",
            ),
        ),
        refusal_errors=(DisputeError,),
        not_found_errors=(DisputeError,),
    )


class DisputePages:
    """Pages about disputes."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._kind = _kind(context.services.disbursement_rules)
        self._list = ConsoleList(
            path=_PATH,
            title="Disputes",
            about="When a donor's bank reverses a payment, the dispute (chargeback) is listed here. Won and lost "
            "disputes stay in the list.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Opened", "age"),
                Column("Status", "status"),
                Column("Reason"),
                Column("Evidence due", "moment"),
                Column("Donation", "id"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(Filter("status", "choice", tuple(one.value for one in DisputeStatus), label_member="Status"),),
            views=(("Open", {"status": "open"}), ("Lost", {"status": "lost"}), ("All", {})),
            sort_order_description="newest first",
            oldest_first_filter=("status", "open"),
            lead="Open a dispute to submit evidence before the deadline. The outcome appears here automatically.",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        actions = ActionPages(self._context).routes(*self._kind.declare_actions(self._context))
        record = self._context.route(f"{_PATH}/{{id}}", self.show_dispute, *FINANCE, methods=["GET"])
        evidence = DisputeEvidencePages(self._context).routes()
        return [*ListRouteBuilder(self._context).routes(self._list), *evidence, *actions, record]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        status = parse_filter_choice(query, "status", tuple(DisputeStatus))
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await disputes.list_for_operators(tx, status, after, query.limit + 1)
            total = await disputes.count_for_operators(tx, status, MOST_COUNTED)
            rows = [
                (
                    one.id,
                    ListRow(
                        self._kind.page_path(tx, one),
                        (
                            one.money,
                            one.opened_at,
                            one.status.value,
                            one.reason and humanise_field_name(one.reason),
                            one.evidence_due_at,
                            _subject(tx, one),
                            tx.ids.encode(_TYPE, one.id),
                        ),
                    ),
                )
                for one in found
            ]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def show_dispute(self, visitor: SignedInRequest) -> Response:
        """Show a dispute, and who absorbs the loss."""
        async with self._context.db.read() as tx:
            one = await self._kind.get_from_url(self._context, tx, visitor)
            evidence = await dispute_evidence.get(tx, one.id)
            deciders = [one.decided_by, evidence.requested_by, *(file.uploaded_by for file in evidence.files)]
            names = await operators.load_display_names_by_operator_id(tx, deciders)
            steps = [
                TimelineStep("Opened by the donor's bank", "done", iso_timestamp(one.opened_at)),
                TimelineStep("Recorded", "done", iso_timestamp(one.received_at)),
            ]
            if evidence.requested_at is not None and evidence.requested_by is not None:
                who = names.get(evidence.requested_by, evidence.requested_by)
                steps.append(TimelineStep("Evidence submitted", "done", iso_timestamp(evidence.requested_at), who))
            if evidence.ended_at is not None:
                ended = "Evidence accepted by the provider" if evidence.status == "submitted" else "Evidence rejected"
                steps.append(TimelineStep(ended, "done", iso_timestamp(evidence.ended_at), evidence.reason or ""))
            if one.decided_at is not None:
                who = names.get(one.decided_by, one.decided_by) if one.decided_by else one.provider
                note = f"{who}: {one.note}" if one.note else who
                steps.append(TimelineStep(one.status.value.capitalize(), "done", iso_timestamp(one.decided_at), note))
            else:
                steps.append(TimelineStep("Outcome", "waiting", None, "the donor's bank has not decided yet"))
            page = RecordPage(
                title="Dispute",
                id=tx.ids.encode(_TYPE, one.id),
                status=one.status.value,
                back=_PATH,
                back_label="Disputes",
                facts=[*await _facts(tx, one), *build_evidence_facts(one, evidence)],
                steps=steps,
                actions=[*list_evidence_actions(tx, one, evidence), *self._kind.list_available_actions(tx, one)],
                tables=[build_evidence_table(tx, evidence, names)] if evidence.files else [],
            )
        return await render_record_page(
            self._context, visitor, page, evidence_success_message(visitor) or self._kind.success_message(visitor)
        )
