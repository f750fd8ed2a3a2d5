"""Pages about settlement reports: upload a report, and list unmatched lines and provider payouts."""

from collections.abc import Mapping
from typing import Final

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.console.actions import ActionPage, ActionPages, ConsoleAction
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    SignedAmount,
    build_success_message_lookup,
    build_time_sorted_page,
    parse_time_cursor,
)
from almoner.console.money_records import NOTE, ActingOperator, build_list_page, parse_cursor
from almoner.console.money_uploads import BANK_FILE, upload_problem_message, uploaded_bytes
from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.accounting.settlements import service as settlements
from almoner.giving.accounting.settlements.domain import (
    ImportInterrupted,
    LineNotDismissible,
    Settlement,
    SettlementReportError,
    UnmatchedSettlementLine,
)
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankStatementError, MissingProviderPayout
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, LabelledValue

_PATH: Final = "/settlements"
_LINE: Final = "settlementline"


class SettlementPages:
    """Pages about settlements."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def _reports(self) -> ConsoleList:
        return ConsoleList(
            path=_PATH,
            title="Settlement reports",
            about="A settlement report lists the payments in a payout from a payment provider to us. Imported "
            "reports are listed here.",
            roles=FINANCE,
            columns=(
                Column("Reference"),
                Column("Provider"),
                Column("Settled on"),
                Column("Lines"),
                Column("Booked"),
                Column("Unmatched"),
                Column("Fees", "amount"),
                Column("Net", "amount"),
                Column("Imported", "age"),
            ),
            load=self._load,
            actions=(
                (f"{_PATH}/import", "Import a report"),
                (f"{_PATH}/unmatched", "Unmatched lines"),
                (f"{_PATH}/provider-payouts", "Payouts without a bank statement line"),
            ),
            sort_order_description="newest first",
        )

    def _unmatched(self) -> ConsoleList:
        return ConsoleList(
            path=f"{_PATH}/unmatched",
            title="Unmatched settlement lines",
            message=build_success_message_lookup({"dismissed": "Settlement line dismissed."}),
            about="Lines of settlement reports that match no payment are listed here. Almoner tries to match these "
            "lines again every night.",
            roles=FINANCE,
            columns=(
                Column("Payment ID at the provider"),
                Column("Kind", "status"),
                Column("Gross", "amount"),
                Column("Fee", "amount"),
                Column("Provider"),
                Column("Report"),
                Column("Since", "age"),
                Column("Reason"),
                Column("Booked in"),
            ),
            load=self._load_unmatched,
        )

    def _payouts(self) -> ConsoleList:
        return ConsoleList(
            path=f"{_PATH}/provider-payouts",
            title="Provider payouts without a bank statement line",
            message=build_success_message_lookup({"explained": "Explanation recorded."}),
            about="All provider payouts match a line of a bank statement.",
            roles=FINANCE,
            columns=(
                Column("Payout"),
                Column("Amount", "amount"),
                Column("Settled on"),
                Column("Since", "age"),
                Column("Reason"),
            ),
            load=self._load_payouts,
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        dismiss = ConsoleAction(
            f"{_PATH}/unmatched/{{id}}/dismiss",
            FINANCE,
            self._describe_line,
            self._dismiss,
            (LineNotDismissible,),
            requires_reauthentication=True,
        )
        explain = ConsoleAction(
            f"{_PATH}/provider-payouts/{{provider}}/{{reference:path}}/explain",
            FINANCE,
            self._describe_payout,
            self._explain,
            (BankStatementError,),
            requires_reauthentication=True,
        )
        return [
            *ListRouteBuilder(context).routes(self._unmatched(), self._payouts(), self._reports()),
            context.route(
                f"{_PATH}/import", self.import_report, *FINANCE, requires_reauthentication=True, upload=BANK_FILE
            ),
            *ActionPages(context).routes(dismiss, explain),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            before = parse_time_cursor(query.cursor)
            found = await settlements.list_newest(tx, query.limit + 1, before and before[1])
            return build_time_sorted_page([(one.imported_at, one.id, _row(one)) for one in found], query.limit)

    async def _load_unmatched(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            found = await settlements.list_unmatched_lines(
                tx, query.limit + 1, parse_cursor(self._context, query, _LINE)
            )
            total = sum(one.line_count for one in await settlements.sum_unmatched_lines_by_currency(tx))
            rows = [(one.stored_line.id, _unmatched_row(tx, one)) for one in found]
            return build_list_page(tx, _LINE, rows, query.limit, total)

    async def _load_payouts(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            after = parse_time_cursor(query.cursor)
            found = await bank_statements.list_missing_provider_payouts(tx, query.limit + 1, after)
            return build_time_sorted_page(
                [(one.imported_at, one.payout.id, _payout_row(one)) for one in found], query.limit
            )

    async def import_report(self, visitor: SignedInRequest) -> Response:
        """Import the settlement report of a provider payout. Importing the same report again changes nothing."""
        problems: dict[str, str] = {}
        refused = ""
        async with self._context.db.read() as tx:
            providers = [one for one in await settlements.list_providers(tx) if one != BANK_TRANSFER]
        provider = visitor.form_value("provider") or (providers[0] if len(providers) == 1 else "")
        if visitor.form:
            content = uploaded_bytes(visitor)
            if content is None:
                problems["file"] = upload_problem_message(visitor)
            if provider not in providers:
                problems["provider"] = "Choose the payment provider of the report."
            if content is not None and not problems:
                try:
                    found = await self._import(visitor, provider, content)
                    told = f"lines={found.line_count}&booked={found.matched_count}&unmatched={found.unmatched_count}"
                    return redirect_to(f"{visitor.portal.home}{_PATH}/import?{told}")
                except (SettlementReportError, ImportInterrupted) as error:
                    refused = str(error)
        counts = [visitor.query.get(name, "")[:9] for name in ("lines", "booked", "unmatched")]
        known = all(one.isdecimal() for one in counts)
        message = f"{counts[0]} lines: {counts[1]} booked, {counts[2]} unmatched." if known else ""
        return await self._context.render_console_page(
            visitor,
            "money_settlement.html",
            status=422 if problems else 409 if refused else 200,
            problems=problems,
            refused=refused,
            provider=provider,
            choices=[("", "Choose"), *((one, one) for one in providers)] if providers else [],
            unmatched=known and int(counts[2]),
            columns=", ".join(settlements_flows.COLUMNS),
            message=message,
        )

    async def _import(self, visitor: SignedInRequest, provider: str, content: bytes) -> Settlement:
        officer = ActingOperator(self._context, visitor)

        async def record(tx: Tx, settlement: Settlement) -> None:
            digest = sha256_digest(content).hex()
            await officer.record_audit_entry(
                tx, DEPLOYMENT, "settlement.imported", provider, reference=settlement.reference, sha256=digest
            )

        return await settlements_flows.import_report(self._context.db, provider, content, on_finished=record)

    async def _find_line(self, tx: Tx, visitor: SignedInRequest) -> UnmatchedSettlementLine:
        line_id = self._context.parse_id(_LINE, visitor.path.split("/")[-2])
        if (found := await settlements.find_unmatched_line(tx, line_id)) is None:
            raise NotFound
        return found

    async def _describe_line(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        one = await self._find_line(tx, visitor)
        line = one.stored_line.line
        return ActionPage(
            "Dismiss settlement line",
            "Dismiss line",
            f"{_PATH}/unmatched",
            "Unmatched settlement lines",
            (
                (
                    "Dismiss a report line that will never be booked, such as a line that the payment provider has "
                    "reversed. No money moves."
                ),
            ),
            (NOTE,),
            (
                LabelledValue("Provider", one.stored_line.provider),
                LabelledValue("Report", one.report_reference),
                LabelledValue("Payment ID at the provider", line.provider_payment_id),
                LabelledValue("Kind", [line.kind.value], "values"),
                LabelledValue("Gross", line.signed_gross_minor, "amount", currency=line.gross.currency),
                LabelledValue(
                    "Why it is unmatched",
                    one.stored_line.mismatch_reason.explanation if one.stored_line.mismatch_reason else None,
                ),
                LabelledValue("Booked in", one.booked_in_report_reference),
            ),
        )

    async def _dismiss(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        one, officer = await self._find_line(tx, visitor), ActingOperator(self._context, visitor)
        line, provider = one.stored_line.line, one.stored_line.provider
        await settlements.dismiss_line(
            tx, provider, one.report_reference, line.key, dismissed_by=officer.id, note=entered_values["note"]
        )
        await officer.record_audit_entry(
            tx,
            DEPLOYMENT,
            "settlement_line.dismissed",
            provider,
            reference=one.report_reference,
            payment=line.provider_payment_id,
            kind=line.kind.value,
        )
        return f"{_PATH}/unmatched?done=dismissed"

    async def _find_payout(self, tx: Tx, visitor: SignedInRequest) -> MissingProviderPayout:
        below = visitor.path.removeprefix(f"{visitor.portal.home}{_PATH}/provider-payouts/").removesuffix("/explain")
        provider, _, reference = below.partition("/")
        if (found := await bank_statements.find_missing_provider_payout(tx, provider, reference)) is None:
            raise NotFound
        return found

    async def _describe_payout(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        one = await self._find_payout(tx, visitor)
        return ActionPage(
            "Mark a missing provider payout as explained",
            "Explain",
            f"{_PATH}/provider-payouts",
            "Payouts without a bank statement line",
            (
                f"{one.explanation[:1].upper()}{one.explanation[1:]}.",
                (
                    "First look up the payout in the payment provider's dashboard. No money moves. The payout is "
                    "removed from this list, and your explanation stays in the audit log."
                ),
            ),
            (NOTE,),
            (
                LabelledValue("Payout", f"{one.provider}/{one.payout.reference}"),
                LabelledValue("Amount", one.payout.net_minor, "amount", currency=one.payout.currency),
                LabelledValue("Settled on", one.settled_on.isoformat()),
            ),
        )

    async def _explain(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        one, officer = await self._find_payout(tx, visitor), ActingOperator(self._context, visitor)
        await bank_statements.record_provider_payout_explanation(
            tx, one.provider, one.payout.reference, note=entered_values["note"], explained_by=officer.id
        )
        named = f"{one.provider}/{one.payout.reference}"
        await officer.record_audit_entry(tx, DEPLOYMENT, "settlement.explained", named)
        return f"{_PATH}/provider-payouts?done=explained"


def _row(one: Settlement) -> ListRow:
    counts = (one.line_count, one.matched_count, one.unmatched_count)
    sums = (Money(one.fee_minor, one.currency), SignedAmount(one.net_minor, one.currency))
    values = (one.reference, one.provider, one.settled_on.isoformat(), *counts, *sums, one.imported_at)
    return ListRow(f"{_PATH}/unmatched", values)


def _unmatched_row(tx: Tx, one: UnmatchedSettlementLine) -> ListRow:
    line, stored = one.stored_line.line, one.stored_line
    why = stored.mismatch_reason.explanation if stored.mismatch_reason else None
    gross = SignedAmount(line.signed_gross_minor, line.gross.currency)
    values = (line.provider_payment_id, line.kind.value, gross, line.fee, stored.provider, one.report_reference)
    return ListRow(
        f"{_PATH}/unmatched/{tx.ids.encode(_LINE, stored.id)}/dismiss",
        (*values, stored.imported_at, why, one.booked_in_report_reference),
    )


def _payout_row(one: MissingProviderPayout) -> ListRow:
    named = f"{one.provider}/{one.payout.reference}"
    net = SignedAmount(one.payout.net_minor, one.payout.currency)
    return ListRow(
        f"{_PATH}/provider-payouts/{named}/explain",
        (named, net, one.settled_on.isoformat(), one.imported_at, one.explanation),
    )
