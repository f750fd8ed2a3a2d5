"""Pages about disbursements of all partners: the list, a disbursement and its actions, and the disbursement run."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.access.partners import service as partners
from almoner.console.actions import ActionField, ActionPage, ActionPages
from almoner.console.bank_reasons import describe_bank_return_reason, list_bank_return_reason_facts
from almoner.console.context import MOST_COUNTED, ConsoleContext, capitalise
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow
from almoner.console.money_donations import REASSIGN
from almoner.console.money_downloads import DownloadDeclaration, DownloadedFile, DownloadPages
from almoner.console.money_records import (
    FIRST,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    RecordTable,
    build_fixed_explanation,
    build_list_page,
    label_amount,
    load_organisation_names_by_id,
    parse_cursor,
    parse_filter_choice,
    parse_filter_id,
    render_record_page,
)
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import Donation
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import (
    MAX_NOTE_LENGTH,
    MAX_REASON_LENGTH,
    Disbursement,
    DisbursementConfirmation,
    DisbursementError,
    DisbursementStatus,
    OperatorDisbursementFilters,
    WaitingReason,
)
from almoner.giving.disbursing.disbursements.flows import DisbursementRunResult
from almoner.giving.disbursing.remittances import service as remittances
from almoner.kit.money import format_amount
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = "disbursement"
_PATH: Final = "/disbursements"
_STATUSES: Final[tuple[DisbursementStatus, ...]] = ("PENDING", "SENT", "PAID", "RETURNED")
_SHOWN: Final = 100
_ENOUGH: Final = "This disbursement is part of a released payment file, so one person may confirm it."
_NOTE: Final = ActionField(
    "note",
    "Where you saw that the bank made the payment",
    "area",
    hint="Required if two people must confirm.",
    required=False,
    maxlength=MAX_NOTE_LENGTH,
)


async def _get(tx: Tx, disbursement_id: UUID) -> Disbursement:
    return await disbursements.get(tx, ALL_PARTNERS, disbursement_id)


async def _facts(tx: Tx, one: Disbursement) -> Sequence[LabelledValue]:
    names = await load_organisation_names_by_id(tx, [(one.partner_id, one.organisation_id)])
    partner = (await partners.load_partner_names_by_id(tx, [one.partner_id]))[one.partner_id]
    return [
        LabelledValue("Nonprofit", names.get(one.organisation_id)),
        LabelledValue("Nonprofit ID", tx.ids.encode("organisation", one.organisation_id)),
        LabelledValue("Partner", partner),
        label_amount("Amount", one.money),
        LabelledValue("Donations", f"{one.donation_count:,}"),
        LabelledValue("End-to-end ID", one.end_to_end_id),
        LabelledValue("Reason for waiting", _waiting_reason(one)),
        *list_bank_return_reason_facts("Why it was returned", one.return_reason),
    ]


def _waiting_reason(one: Disbursement) -> str | None:
    waits = one.status == "PENDING" and one.waiting_reason
    return capitalise(waits.description) if waits else None


def _sent(one: Disbursement) -> str:
    return (
        ""
        if one.status == "SENT"
        else (f"This disbursement is {one.status}. Only a SENT disbursement can be confirmed.")
    )


def _returnable(one: Disbursement) -> str:
    return (
        ""
        if one.status in ("SENT", "PAID")
        else (f"This disbursement is {one.status}. Only a SENT or PAID disbursement can be returned.")
    )


async def _mark_returned(tx: Tx, officer: ActingOperator, one: Disbursement, entered_values: Mapping[str, str]) -> None:
    returned = await disbursements.mark_returned(tx, one.id, entered_values["reason"], recorded_by=officer.id)
    await officer.record_audit_entry(tx, returned.partner_id, "disbursement.returned", tx.ids.encode(_TYPE, one.id))


class DisbursementPages:
    """Pages about disbursements."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._kind = RecordKind(
            path=_PATH,
            id_type=_TYPE,
            name="Disbursement",
            get=_get,
            get_record_id=lambda one: one.id,
            load_facts=_facts,
            actions=self._actions(),
            refusal_errors=(DisbursementError, PaymentFileError),
        )

    def _actions(self) -> tuple[RecordAction[Disbursement], ...]:
        return (
            RecordAction(
                "confirm",
                "Confirm that the bank made the payment",
                self._about_confirmation,
                self._confirm,
                (_NOTE,),
                _sent,
                "The payment is confirmed. The status of the donations in this disbursement is now DISBURSED.",
                "c",
            ),
            RecordAction(
                "mark-returned",
                "Record as returned",
                build_fixed_explanation(
                    "The donations are added to the next disbursement. Disbursements to this nonprofit stay on hold "
                    "until somebody releases the hold. The partner is notified.",
                ),
                _mark_returned,
                (ActionField("reason", "The bank's reason", "area", maxlength=MAX_REASON_LENGTH),),
                _returnable,
                "The disbursement is recorded as returned. Further disbursements to this nonprofit are on hold.",
                "t",
            ),
            RecordAction(
                "hold",
                "Hold disbursements to this nonprofit",
                build_fixed_explanation(
                    "Nothing is paid to this nonprofit until somebody releases the hold. The nonprofit and "
                    "the partner are not notified."
                ),
                self._place_hold,
                (
                    ActionField(
                        "whose",
                        "Donations to hold",
                        "choice",
                        choices=(
                            ("all", "Donations of all partners"),
                            ("partner", "Only donations through this partner"),
                        ),
                    ),
                    ActionField("note", "Reason", "area", maxlength=MAX_NOTE_LENGTH),
                ),
                success_message="Disbursements put on hold.",
                shortcut_key="h",
            ),
        )

    def _declared(self) -> ConsoleList:
        return ConsoleList(
            path=_PATH,
            title="Disbursements",
            about="A disbursement pays out several donations to one nonprofit. Disbursements are listed here.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Nonprofit"),
                Column("Donations", place="below"),
                Column("Status", "status"),
                Column("Reason for waiting", place="below"),
                Column("Created", "age"),
                Column("Sent", "moment", place="below"),
                Column("Paid", "moment", place="below"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", _STATUSES, label_member="Status"),
                Filter(
                    "waiting", "choice", tuple(one.value for one in WaitingReason), label_member="Reason for waiting"
                ),
                Filter("nonprofit", label_member="Nonprofit ID"),
                Filter("partner", label_member="Partner ID"),
            ),
            views=(
                ("On hold", {"status": "PENDING", "waiting": WaitingReason.ON_HOLD.value}),
                ("Waiting", {"status": "PENDING"}),
                ("Sent, not confirmed", {"status": "SENT"}),
                ("Returned", {"status": "RETURNED"}),
                ("All", {}),
            ),
            actions=(
                (f"{_PATH}/run", "Send disbursements"),
                (f"{_PATH}/holds", "Holds"),
                (REASSIGN, "Reassign a donation"),
            ),
            message=_list_message,
            sort_order_description="newest first",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        remittance = DownloadDeclaration(
            f"{_PATH}/{{id}}/remittance",
            self._about_remittance,
            self._write_remittance,
            (DisbursementError,),
        )
        return [
            *ListRouteBuilder(context).routes(self._declared()),
            context.route(f"{_PATH}/run", self.run_disbursements, *FINANCE, requires_reauthentication=True),
            *DownloadPages(context).routes(remittance),
            *ActionPages(context).routes(*self._kind.declare_actions(context)),
            context.route(f"{_PATH}/{{id}}", self.show_disbursement, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            filters = OperatorDisbursementFilters(
                status=parse_filter_choice(query, "status", _STATUSES),
                waiting_reason=parse_filter_choice(query, "waiting", tuple(WaitingReason)),
                partner_id=parse_filter_id(tx, query, "partner", "partner"),
                organisation_id=parse_filter_id(tx, query, "nonprofit", "organisation"),
            )
            found = await disbursements.list_for_operators(tx, filters, after, query.limit + 1)
            total = await disbursements.count_for_operators(tx, filters, MOST_COUNTED)
            names = await load_organisation_names_by_id(tx, [(one.partner_id, one.organisation_id) for one in found])
            rows = [(one.id, self._row(tx, one, names)) for one in found]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    def _row(self, tx: Tx, one: Disbursement, names: Mapping[UUID, str]) -> ListRow:
        values = (
            one.money,
            names.get(one.organisation_id),
            one.donation_count,
            one.status,
            _waiting_reason(one),
            one.created_at,
        )
        return ListRow(self._kind.page_path(tx, one), (*values, one.sent_at, one.paid_at, tx.ids.encode(_TYPE, one.id)))

    async def show_disbursement(self, visitor: SignedInRequest) -> Response:
        """Show a disbursement, with its payment file and the first of its donations."""
        async with self._context.db.read() as tx:
            one = await self._kind.get_from_url(self._context, tx, visitor)
            file_id = await payment_files.find_file_id_of_disbursement(tx, one.id)
            found = await donations.list_donations_of_disbursement(tx, one.id, None, _SHOWN + 1)
            here = self._kind.page_path(tx, one)
            actions = self._kind.list_available_actions(tx, one)
            downloads = [(f"{here}/remittance", "Remittance statement (PDF)")] if one.status in ("SENT", "PAID") else []
            facts = list(await _facts(tx, one))
            if file_id is not None:
                name = tx.ids.encode("bankfile", file_id)
                facts.append(LabelledValue("Payment file", name, "link", f"{visitor.portal.home}/payment-files/{name}"))
            page = RecordPage(
                title=f"Disbursement of {format_amount(one.money)}",
                id=tx.ids.encode(_TYPE, one.id),
                status=one.status,
                back=_PATH,
                back_label="Disbursements",
                facts=facts,
                steps=_steps(one),
                actions=actions,
                tables=[_donations_table(tx, one, found)],
                downloads=downloads,
            )
        return await render_record_page(self._context, visitor, page, self._kind.success_message(visitor))

    async def _about_confirmation(self, tx: Tx, one: Disbursement) -> Sequence[str]:
        needed = await payment_files.get_confirmation_requirement(tx, one.id, self._context.services.own_accounts or {})
        told = (
            f"The bank has paid {format_amount(one.money)}. Its {one.donation_count:,} donations become "
            "DISBURSED, and the partner is notified."
        )
        match needed.required_operator_count:
            case 0:
                return [told, _ENOUGH]
            case 1:
                return [told, "The amount is within the limit for one person."]
            case _:
                return [
                    told,
                    (
                        "Two finance operators must confirm this disbursement, either here or with the CLI command. "
                        "Each operator must provide their own evidence."
                    ),
                ]

    async def _confirm(
        self, tx: Tx, officer: ActingOperator, one: Disbursement, entered_values: Mapping[str, str]
    ) -> str | None:
        needed = await payment_files.get_confirmation_requirement(tx, one.id, self._context.services.own_accounts or {})
        name, note, alone = (
            tx.ids.encode(_TYPE, one.id),
            entered_values["note"] or None,
            needed.single_operator_limit_minor,
        )
        stated = DisbursementConfirmation(officer.id, alone, note) if needed.required_operator_count == 1 else None
        if needed.required_operator_count == 2:
            if note is None:
                raise DisbursementError(
                    f"{format_amount(one.money)} is above the limit for one person. Say where you saw that the "
                    "bank made the payment."
                )
            agreed = await officer.confirm_with_second_operator(
                tx, one.partner_id, "disbursements.confirm", name, needed.fingerprint, note, mandatory=True
            )
            if agreed is None:
                return FIRST
            stated = DisbursementConfirmation(agreed.decided_by, alone, agreed.note, agreed.second_approval)
        confirmed = await disbursements.confirm_paid(tx, one.id, stated)
        people = 2 if stated and stated.second_operator_and_note else 1
        await officer.record_audit_entry(tx, confirmed.partner_id, "disbursement.confirmed", name, people=people)
        return None

    async def _place_hold(
        self, tx: Tx, officer: ActingOperator, one: Disbursement, entered_values: Mapping[str, str]
    ) -> None:
        scope = Partner(one.partner_id) if entered_values["whose"] == "partner" else ALL_PARTNERS
        await disbursements.hold_disbursements(
            tx,
            scope,
            one.organisation_id,
            note=entered_values["note"],
            decided_by=officer.id,
            rules=self._context.services.disbursement_rules,
        )
        of = scope.id if isinstance(scope, Partner) else DEPLOYMENT
        await officer.record_audit_entry(
            tx, of, "disbursements.held", tx.ids.encode("organisation", one.organisation_id)
        )

    async def _about_remittance(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        one = await self._kind.get_from_url(self._context, tx, visitor)
        return ActionPage(
            "Remittance statement",
            "Download PDF",
            self._kind.page_path(tx, one),
            "Disbursement",
            (
                (
                    "This statement lists the donations, the deductions and the total for the nonprofit, in the "
                    "language of the nonprofit's country."
                ),
                (
                    "The statement names donors who did not donate anonymously. Send the statement only to the "
                    "nonprofit. Each download is recorded."
                ),
            ),
            facts=await _facts(tx, one),
        )

    async def _write_remittance(self, visitor: SignedInRequest, _values: Mapping[str, str]) -> DownloadedFile:
        papers = remittances.RemittanceRenderer(self._context.db.deployment)
        async with self._context.db.read() as tx:
            one = await self._kind.get_from_url(self._context, tx, visitor)
            made = await remittances.build_remittance(tx, one.id)
        document = await papers.render_pdf(made)
        name, digest = self._context.format_id(_TYPE, one.id), sha256_digest(document).hex()
        async with self._context.db.write() as tx:
            await ActingOperator(self._context, visitor).record_audit_entry(
                tx, one.partner_id, "disbursement.remittance_created", name, language=made.language, sha256=digest
            )
        return DownloadedFile(f"{name}.pdf", "application/pdf", document)

    async def run_disbursements(self, visitor: SignedInRequest) -> Response:
        """Preview a disbursement run, then start it.

        The preview lists disbursements that cannot be sent yet, with the reasons. After the run, the page lists the
        disbursements that were sent.
        """
        async with self._context.db.read() as tx:
            waiting, ready = (
                await disbursements.count_waiting_disbursements_by_reason(tx),
                await disbursements.count_and_sum_ready_disbursements_by_currency(tx),
            )
        ran: DisbursementRunResult | None = None
        if visitor.form:
            officer = ActingOperator(self._context, visitor)

            async def record(tx: Tx, result: DisbursementRunResult) -> None:
                sent = sum(sums.disbursement_count for sums in result.sent_totals_by_currency.values())
                await officer.record_audit_entry(
                    tx, DEPLOYMENT, "disbursements.run", "all", sent=sent, refused=len(result.refused_disbursements)
                )

            ran = await disbursements_flows.run_disbursements(
                self._context.db, self._context.services.disbursement_rules, on_finished=record
            )
            if not ran.refused_disbursements and not ran.sent_totals_by_currency:
                return redirect_to(f"{visitor.portal.home}{_PATH}/run?done=nothing")
            if not ran.refused_disbursements:
                sent = sum(sums.disbursement_count for sums in ran.sent_totals_by_currency.values())
                return redirect_to(f"{visitor.portal.home}{_PATH}?sent={sent}")
        return await self._context.render_console_page(
            visitor,
            "money_run.html",
            waiting=waiting,
            ready=[f"{count:,} of {format_amount(total)}" for count, total in ready],
            message="No more disbursements are ready to be sent." if visitor.query.get("done") == "nothing" else "",
            refused=[(self._context.format_id(_TYPE, one), why) for one, why in ran.refused_disbursements]
            if ran
            else [],
        )


def _donations_table(tx: Tx, one: Disbursement, found: Sequence[Donation]) -> RecordTable:
    """The first of the donations. Those of a disbursement that is not sent yet can be reassigned."""
    names = [(tx.ids.encode("donation", gift.id), gift) for gift in found[:_SHOWN]]
    pending = one.status == "PENDING"
    more = [
        *([f"Only the first {_SHOWN} are shown."] if len(found) > _SHOWN else []),
        *(["Open a donation to reassign it to another nonprofit."] if pending else []),
    ]
    return RecordTable(
        "Donations",
        (
            Column("Donation", "id"),
            Column("Created", "moment"),
            Column("Donated", "amount"),
            Column("Paid out", "amount"),
        ),
        [
            ListRow(
                f"{REASSIGN}?donation={name}" if pending else "",
                (name, gift.created_at, gift.money, gift.net_amount_for_nonprofit),
            )
            for name, gift in names
        ],
        "No donations.",
        " ".join(more),
    )


def _list_message(visitor: SignedInRequest) -> str:
    """The message that says how many disbursements were sent, or that a donation was reassigned."""
    if visitor.query.get("done") == "reassigned":
        return "Donation reassigned. The partner and the donor are notified."
    count = visitor.query.get("sent", "")[:9]
    return f"Disbursements sent: {count}." if count.isdecimal() else ""


def _steps(one: Disbursement) -> list[TimelineStep]:
    steps = [TimelineStep("Begun", "done", iso_timestamp(one.created_at))]
    for words, at in (("Sent", one.sent_at), ("Paid", one.paid_at), ("Returned", one.returned_at)):
        if at is not None:
            note = describe_bank_return_reason(one.return_reason) or "" if words == "Returned" else ""
            steps.append(TimelineStep(words, "done", iso_timestamp(at), note))
    if one.status == "PENDING":
        why = one.waiting_reason.description if one.waiting_reason else "the next disbursement run sends it"
        steps.append(TimelineStep("Sent", "waiting" if one.waiting_reason else "next", None, why))
    if one.status == "SENT":
        steps.append(
            TimelineStep(
                "Paid",
                "waiting",
                None,
                "not yet confirmed by the bank's status report, a bank statement or an operator",
            )
        )
    return steps
