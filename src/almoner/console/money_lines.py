"""Pages about bank statement lines: list them, match them to records, dismiss and reopen them."""

from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionLink, ActionPages
from almoner.console.bank_reasons import list_bank_return_reason_facts
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import ConsoleList, ListPage, ListQuery, ListRouteBuilder, ListRow, SignedAmount
from almoner.console.money_records import (
    NOTE,
    ActingOperator,
    RecordAction,
    RecordKind,
    RecordPage,
    RecordTable,
    build_fixed_explanation,
    build_list_page,
    build_operator_name_lookup,
    donor_name,
    parse_cursor,
    parse_filter_choice,
    render_record_page,
)
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import (
    BankLine,
    BankStatementError,
    LineDetails,
    LineFilters,
    LineStatus,
    MatchProposal,
    UnreconciledLineReason,
    reopen_blocked_reason,
)
from almoner.giving.checkout.donations import service as donations
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.money import MAX_MINOR, format_amount
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = "bankline"
_PATH: Final = "/bank-statement-lines"
_STATUSES: Final[tuple[LineStatus, ...]] = ("open", "matched", "dismissed")
_PROPOSED: Final = 8
_KINDS: Final = {
    "request": "Donation request",
    "donation": "Donation",
    "provider_payout": "Provider payout",
    "disbursement": "Disbursement",
}
_AUDITED: Final = {"request": "request", "donation": "donation", "provider_payout": "report", "disbursement": "payout"}
"""The kinds of records to which a statement line can be matched, with their names in the audit log."""


async def _facts(_tx: Tx, one: LineDetails) -> Sequence[LabelledValue]:
    line, moved = one.line, one.line.movement
    why = line.unreconciled_reason.description if line.unreconciled_reason else None
    if line.booking_error:
        why = f"{why}: {line.booking_error}"
    return [
        LabelledValue("Amount", moved.amount_minor, "amount", currency=moved.currency),
        LabelledValue("Direction", "incoming" if moved.amount_minor > 0 else "outgoing"),
        LabelledValue("Booked on", moved.booked_on.isoformat()),
        LabelledValue("Counterparty", moved.counterparty),
        LabelledValue("Text", moved.remittance_information),
        LabelledValue("End-to-end ID", moved.end_to_end_id),
        LabelledValue("Bank's reference", moved.reference),
        *list_bank_return_reason_facts("Why the payment was returned", moved.return_reason),
        LabelledValue("Account", line.account),
        LabelledValue("Statement", one.statement_reference),
        LabelledValue("Why it is waiting", why),
    ]


def _open(one: LineDetails) -> str:
    if one.line.status == "open":
        return ""
    undo = "" if _decided(one) else " You can reopen the line."
    return f"This line is {one.line.status}.{undo}"


def _decided(one: LineDetails) -> str:
    return reopen_blocked_reason(one.line.status, one.line.matched_as) or ""


async def _match(tx: Tx, officer: ActingOperator, one: LineDetails, entered_values: Mapping[str, str]) -> None:
    kind, thing = entered_values["kind"], entered_values["record"]
    try:
        await _assign(tx, one.line.id, kind, thing, officer.id)
    except NotFound:
        raise BankStatementError(f"There is no {_KINDS[kind].lower()} {thing}.") from None
    name = tx.ids.encode(_TYPE, one.line.id)
    await officer.record_audit_entry(tx, DEPLOYMENT, "bank_statement_line.assigned", name, **{_AUDITED[kind]: thing})


async def _assign(tx: Tx, line_id: UUID, kind: str, thing: str, by: str) -> None:
    match kind:
        case "donation":
            await bank_statements.assign_line_to_donation(tx, line_id, _parsed(tx, "donation", thing), assigned_by=by)
        case "disbursement":
            await bank_statements.assign_line_to_disbursement(
                tx, line_id, _parsed(tx, "disbursement", thing), assigned_by=by
            )
        case "provider_payout":
            provider, _, reference = thing.partition("/")
            await bank_statements.assign_line_to_provider_payout(tx, line_id, provider, reference, assigned_by=by)
        case _:
            await bank_statements.assign_line_to_donation_requests(tx, line_id, thing, assigned_by=by)


def _parsed(tx: Tx, id_type: str, thing: str) -> UUID:
    if (found := tx.ids.decode(id_type, thing)) is None:
        raise NotFound
    return found


async def _dismiss(tx: Tx, officer: ActingOperator, one: LineDetails, entered_values: Mapping[str, str]) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, "bank_statement_line.dismissed", tx.ids.encode(_TYPE, one.line.id))
    await bank_statements.dismiss_line(tx, one.line.id, note=entered_values["note"], dismissed_by=officer.id)


async def _reopen(tx: Tx, officer: ActingOperator, one: LineDetails, entered_values: Mapping[str, str]) -> None:
    await bank_statements.reopen_line(tx, one.line.id, note=entered_values["note"], reopened_by=officer.id)
    await officer.record_audit_entry(tx, DEPLOYMENT, "bank_statement_line.reopened", tx.ids.encode(_TYPE, one.line.id))


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Bank statement line",
    get=bank_statements.get_line_details,
    get_record_id=lambda one: one.line.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "match",
            "Match line",
            build_fixed_explanation(
                "The statement line is booked against the record that you enter. The amount, currency and status must "
                "match. You can undo the match only if the record is a provider payout.",
            ),
            _match,
            (
                ActionField("kind", "Match to", "choice", choices=tuple(_KINDS.items()), takes_value_from_query=True),
                ActionField(
                    "record",
                    "Which",
                    hint="Enter the ID of the record. For a donation request, enter its reference, or up to three "
                    "references if the line pays several requests of one partner. For a provider payout, enter "
                    "provider/reference.",
                    maxlength=255,
                    takes_value_from_query=True,
                ),
            ),
            _open,
            "Matched.",
            "m",
        ),
        RecordAction(
            "dismiss",
            "Dismiss line",
            build_fixed_explanation(
                "Dismiss a line that does not belong to any record, such as a bank fee.",
                "A dismissed line is not booked, so the bank balance in the ledger will differ from the real balance "
                "by the amount of the line.",
            ),
            _dismiss,
            (NOTE,),
            _open,
            "Dismissed.",
            "d",
        ),
        RecordAction(
            "reopen",
            "Reopen line",
            build_fixed_explanation(
                "The line is open again. A reopened line is not matched automatically, so match or dismiss it "
                "manually.",
                "The ledger does not change, because dismissed lines and matches to a provider payout are not booked.",
            ),
            _reopen,
            (NOTE,),
            _decided,
            "Reopened.",
            "o",
        ),
    ),
    refusal_errors=(BankStatementError,),
)


class BankStatementLinePages:
    """Pages about bank statement lines."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Bank statement lines",
            about="Lines of imported bank statements are listed here. Match or dismiss the lines that could not be "
            "matched automatically.",
            roles=FINANCE,
            columns=(
                Column("Amount", "amount"),
                Column("Booked on"),
                Column("Counterparty"),
                Column("Text"),
                Column("Status", "status"),
                Column("Reason"),
                Column("Since", "age"),
                Column("Account"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", _STATUSES, label_member="Status"),
                Filter(
                    "reason",
                    "choice",
                    tuple(one.value for one in UnreconciledLineReason),
                    label_member="Why it is unmatched",
                ),
                Filter("amount", label_member="Amount"),
                Filter("booked", "day", label_member="Booked on"),
                Filter("account", label_member="Account"),
            ),
            views=(("To match", {"status": "open"}), ("Matched", {"status": "matched"}), ("All", {})),
            actions=(("/bank-statements/upload", "Upload a statement"),),
            sort_order_description="newest first",
            message=_booked,
            oldest_first_filter=("status", "open"),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        actions = ActionPages(self._context).routes(*_KIND.declare_actions(self._context))
        record = self._context.route(f"{_PATH}/{{id}}", self.show_line, *FINANCE, methods=["GET"])
        return [*ListRouteBuilder(self._context).routes(self._list), *actions, record]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        filters = LineFilters(
            status=parse_filter_choice(query, "status", _STATUSES),
            reason=parse_filter_choice(query, "reason", tuple(UnreconciledLineReason)),
            account=query.filters.get("account"),
            amounts_minor=_minors(query.filters.get("amount")),
            booked_on=_day(query.filters.get("booked")),
        )
        after = parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            found = await bank_statements.list_filtered_lines(tx, filters, after, query.limit + 1)
            total = await bank_statements.count_lines(tx, filters, MOST_COUNTED)
            return build_list_page(tx, _TYPE, [(one.id, _row(tx, one)) for one in found], query.limit, total)

    async def show_line(self, visitor: SignedInRequest) -> Response:
        """Show a statement line, its possible matches, and a link to the next line to match."""
        async with self._context.db.read() as tx:
            one = await _KIND.get_from_url(self._context, tx, visitor)
            movement, is_open = one.line.movement, one.line.status == "open"
            proposed = await bank_statements.propose_matches(tx, one.line, _PROPOSED) if is_open else []
            here = _KIND.page_path(tx, one)
            following = await bank_statements.list_filtered_lines(
                tx, LineFilters(status="open"), one.line.id if is_open else None, 1
            )
            onward = [
                ActionLink(f"{_PATH}/{tx.ids.encode(_TYPE, line.id)}", "Next line to match", "n") for line in following
            ]
            by = await build_operator_name_lookup(tx, [one.decided_by])
            steps = [TimelineStep("Imported", "done", iso_timestamp(one.line.imported_at))]
            if one.decided_at is not None:
                note = " ".join(part for part in (by(one.decided_by), one.note) if part)
                steps.append(TimelineStep(one.line.status.capitalize(), "done", iso_timestamp(one.decided_at), note))
            else:
                steps.append(
                    TimelineStep(
                        "Matched",
                        "waiting",
                        None,
                        one.line.unreconciled_reason.description if one.line.unreconciled_reason else "",
                    )
                )
            page = RecordPage(
                title=f"{format_amount(movement.money)} {'in' if movement.amount_minor > 0 else 'out'}",
                id=tx.ids.encode(_TYPE, one.line.id),
                status=one.line.status,
                back=f"{_PATH}?status=open",
                back_label="Lines to match",
                facts=await _facts(tx, one),
                steps=steps,
                actions=[*_KIND.list_available_actions(tx, one), *onward],
                tables=[await _proposals(tx, here, proposed)] if is_open else [],
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))


def _booked(visitor: SignedInRequest) -> str:
    """The message after a bank statement is booked: how many of its lines were matched."""
    matched, left = (visitor.query.get(name, "")[:9] for name in ("matched", "open"))
    if not (matched.isdecimal() and left.isdecimal()):
        return ""
    return f"Statement booked. Lines matched: {matched}. Lines still to match: {left}."


async def _proposals(tx: Tx, here: str, proposed: Sequence[MatchProposal]) -> RecordTable:
    given = await donations.load_donations_by_id(tx, [one.record_id for one in proposed if one.kind == "donation"])
    rows = []
    for one in proposed:
        record = _record_name(tx, one)
        difference = one.difference_minor
        differs = SignedAmount(difference, one.currency) if difference else None
        path = f"{here}/match?kind={one.kind}&record={record.replace(', ', ',')}"
        values = (
            record,
            _KINDS[one.kind],
            donor_name(given.get(one.record_id)),
            SignedAmount(one.expected_minor, one.currency),
            differs,
            _match_reason(one),
        )
        rows.append(ListRow(path, values))
    return RecordTable(
        "Possible match",
        (
            Column("Record"),
            Column("Kind"),
            Column("Donor"),
            Column("Amount", "amount"),
            Column("Difference", "amount"),
            Column("Reason"),
        ),
        rows,
        "No record has the same reference or amount as the line. Match the line manually, or dismiss it with a note.",
        opens="Match the line to possible match",
    )


def _match_reason(one: MatchProposal) -> str:
    if one.is_referenced:
        return "The line contains the record's reference"
    if one.difference_minor:
        return "Nearly the same amount"
    return "The requests add up to the line" if ", " in one.display_name else "Same amount"


def _record_name(tx: Tx, one: MatchProposal) -> str:
    match one.kind:
        case "donation":
            return tx.ids.encode("donation", one.record_id)
        case "disbursement":
            return tx.ids.encode("disbursement", one.record_id)
        case _:
            return one.display_name


def _row(tx: Tx, one: BankLine) -> ListRow:
    moved, name = one.movement, tx.ids.encode(_TYPE, one.id)
    why = one.unreconciled_reason.description if one.unreconciled_reason else (one.matched_as or "").replace("_", " ")
    return ListRow(
        f"{_PATH}/{name}",
        (
            SignedAmount(moved.amount_minor, moved.currency),
            moved.booked_on.isoformat(),
            moved.counterparty,
            (moved.reference_search_text or "")[:80] or None,
            one.status,
            why or None,
            one.imported_at,
            one.account,
            name,
        ),
    )


def _minors(text: str | None) -> list[int] | None:
    """An amount as entered, converted to minor units for currencies with 0, 2 and 3 decimals.

    Raises IncorrectParams.
    """
    if text is None:
        return None
    try:
        value = Decimal(text.replace(",", "").lstrip("-+"))
        scaled = [value.scaleb(exponent) for exponent in (0, 2, 3)]
        found = [int(one) for one in scaled if one == one.to_integral_value() and 0 < one <= MAX_MINOR]
    except ArithmeticError:  # no number, or one far too large
        found = []
    if not found:
        raise IncorrectParams("amount: enter an amount such as 12.50")
    return found


def _day(text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise IncorrectParams("booked: enter a date such as 2026-11-01") from None
