"""Pages about Gift Aid claims: draft a claim, download the schedule for HMRC, and record the outcome."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.actions import ActionField, ActionPage, ActionPages, ConsoleAction
from almoner.console.context import MOST_COUNTED, ConsoleContext, capitalise
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    build_success_message_lookup,
    build_time_sorted_page,
    parse_time_cursor,
)
from almoner.console.money_donations import CANCEL_DECLARATION
from almoner.console.money_downloads import DownloadDeclaration, DownloadedFile, DownloadPages
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
    label_amount,
    label_timestamp,
    load_organisation_names_by_id,
    parse_cursor,
    parse_entered_amount,
    parse_filter_choice,
    parse_filter_id,
    render_record_page,
)
from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import (
    AccountingYearEnd,
    ClaimAdjustment,
    ClaimStatus,
    GiftAidClaim,
    GiftAidClaimError,
    format_pounds,
)
from almoner.giving.gift_aid.declarations.domain import CURRENCY
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter, LabelledValue, TimelineStep

_TYPE: Final = gift_aid_claims.ID_TYPE
_PATH: Final = "/gift-aid-claims"
_STATUSES: Final[tuple[ClaimStatus, ...]] = ("drafted", "submitted", "paid", "rejected", "withdrawn")
_SHOWN: Final = 100
_NO_CHARITY: Final = "charity: there is no organisation with this ID"
_ACTIONS: Final = (
    (f"{_PATH}/draft", "Draft a claim"),
    (f"{_PATH}/adjustments", "Adjustments"),
    (CANCEL_DECLARATION, "Cancel a declaration"),
)


def _pounds(minor: int | None) -> Money | None:
    return None if minor is None else Money(minor, CURRENCY)


async def _facts(tx: Tx, claim: GiftAidClaim) -> Sequence[LabelledValue]:
    names = await load_organisation_names_by_id(tx, [(None, claim.organisation_id)])
    return [
        LabelledValue("Charity", names.get(claim.organisation_id)),
        LabelledValue("Charity ID", tx.ids.encode("organisation", claim.organisation_id)),
        LabelledValue("Donations", f"{claim.donation_count:,} in {claim.line_count:,} lines"),
        label_amount("Total donated", _pounds(claim.amount_minor)),
        label_amount("Tax claimed", _pounds(claim.tax_minor)),
        label_amount("Adjustment", _pounds(claim.adjustment_minor)),
        label_amount("Gift Aid due", _pounds(claim.hmrc_payment_minor)),
        label_amount("Paid", _pounds(claim.paid_minor)),
        label_timestamp("Donations before", claim.cutoff_at),
        LabelledValue("HMRC's reference", claim.hmrc_reference),
        LabelledValue("Note", claim.note),
    ]


def _is(*statuses: ClaimStatus) -> Callable[[GiftAidClaim], str]:
    def closed(claim: GiftAidClaim) -> str:
        return "" if claim.status in statuses else f"This claim is {claim.status}."

    return closed


async def _audit(tx: Tx, officer: ActingOperator, action: str, claim: GiftAidClaim) -> None:
    await officer.record_audit_entry(tx, DEPLOYMENT, f"gift_aid_claim.{action}", tx.ids.encode(_TYPE, claim.id))


async def _submit(tx: Tx, officer: ActingOperator, claim: GiftAidClaim, entered_values: Mapping[str, str]) -> None:
    await _audit(tx, officer, "submitted", claim)
    await gift_aid_claims.mark_submitted(tx, claim.id, entered_values["reference"], recorded_by=officer.id)


async def _pay(tx: Tx, officer: ActingOperator, claim: GiftAidClaim, entered_values: Mapping[str, str]) -> None:
    minor = parse_entered_amount("amount", entered_values["amount"], CURRENCY) if entered_values["amount"] else None
    await _audit(tx, officer, "paid", claim)
    await gift_aid_claims.mark_paid(tx, claim.id, minor, note=entered_values["note"] or None, recorded_by=officer.id)


async def _reject(tx: Tx, officer: ActingOperator, claim: GiftAidClaim, entered_values: Mapping[str, str]) -> None:
    await _audit(tx, officer, "rejected", claim)
    await gift_aid_claims.mark_rejected(tx, claim.id, entered_values["note"], recorded_by=officer.id)


async def _withdraw(tx: Tx, officer: ActingOperator, claim: GiftAidClaim, entered_values: Mapping[str, str]) -> None:
    await _audit(tx, officer, "withdrawn", claim)
    await gift_aid_claims.withdraw_draft(tx, claim.id, entered_values["note"], recorded_by=officer.id)


async def _about_payment(_tx: Tx, claim: GiftAidClaim) -> Sequence[str]:
    return [
        (
            f"HMRC has paid the charity. {format_pounds(claim.hmrc_payment_minor)} is due. If HMRC paid a different "
            "amount, give the reason."
        )
    ]


_KIND: Final = RecordKind(
    path=_PATH,
    id_type=_TYPE,
    name="Gift Aid claim",
    get=gift_aid_claims.get,
    get_record_id=lambda claim: claim.id,
    load_facts=_facts,
    actions=(
        RecordAction(
            "mark-submitted",
            "Mark as sent to HMRC",
            build_fixed_explanation("Donations refunded since the claim was drafted are deducted from the next claim."),
            _submit,
            (ActionField("reference", "HMRC's reference", maxlength=gift_aid_claims_domain.MAX_REFERENCE),),
            _is("drafted"),
            "Claim marked as sent to HMRC.",
            "s",
        ),
        RecordAction(
            "mark-paid",
            "Record HMRC's payment",
            _about_payment,
            _pay,
            (
                ActionField(
                    "amount",
                    "Amount in GBP",
                    hint="Enter the amount only if it differs from the amount due.",
                    required=False,
                    maxlength=30,
                ),
                ActionField("note", "Why HMRC paid a different amount", "area", required=False),
            ),
            _is("submitted"),
            "Claim recorded as paid.",
            "p",
        ),
        RecordAction(
            "mark-rejected",
            "Record that HMRC rejected the claim",
            build_fixed_explanation("The donations in the claim can be claimed again."),
            _reject,
            (NOTE,),
            _is("submitted"),
            "Claim recorded as rejected.",
        ),
        RecordAction(
            "withdraw",
            "Withdraw draft",
            build_fixed_explanation("The donations in the claim can be claimed again."),
            _withdraw,
            (NOTE,),
            _is("drafted"),
            "Withdrawn.",
            "w",
        ),
    ),
    refusal_errors=(GiftAidClaimError,),
)


class GiftAidClaimPages:
    """Pages about Gift Aid claims."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=_PATH,
            title="Gift Aid claims",
            about="Gift Aid claims of UK charities appear here. Draft a claim for a charity.",
            roles=FINANCE,
            columns=(
                Column("Gift Aid due", "amount"),
                Column("Charity"),
                Column("Status", "status"),
                Column("Donations"),
                Column("Donated", "amount"),
                Column("Adjustment", "amount", place="below"),
                Column("Paid", "amount", place="below"),
                Column("Drafted", "age"),
                Column("HMRC's reference", place="below"),
                Column("ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("status", "choice", _STATUSES, label_member="Status"),
                Filter("charity", label_member="Charity ID"),
            ),
            views=(("Drafts", {"status": "drafted"}), ("With HMRC", {"status": "submitted"}), ("All", {})),
            actions=_ACTIONS,
            sort_order_description="newest first",
            message=build_success_message_lookup({"cancelled": "Declaration cancelled."}),
        )
        self._adjustments = ConsoleList(
            path=f"{_PATH}/adjustments",
            title="Adjustments to Gift Aid claims",
            about="When a claimed donation is refunded or reassigned, or its declaration is cancelled, an adjustment "
            "is listed here.",
            roles=FINANCE,
            columns=(
                Column("Donation", "id"),
                Column("Amount", "amount"),
                Column("Not yet deducted", "amount"),
                Column("Reason", "status"),
                Column("Recorded", "age"),
                Column("Claim", "id"),
            ),
            load=self._load_adjustments,
            filters=(Filter("charity", label_member="Charity ID"),),
            sort_order_description="newest first",
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        draft = ConsoleAction(
            f"{_PATH}/draft",
            FINANCE,
            self._describe_draft,
            self._draft,
            (GiftAidClaimError,),
            requires_reauthentication=True,
        )
        schedule = DownloadDeclaration(
            f"{_PATH}/{{id}}/schedule", self._about_schedule, self._write_schedule, (GiftAidClaimError,)
        )
        return [
            *ListRouteBuilder(context).routes(self._adjustments, self._list),
            *DownloadPages(context).routes(schedule),
            *ActionPages(context).routes(draft, *_KIND.declare_actions(context)),
            context.route(f"{_PATH}/{{id}}", self.show_claim, *FINANCE, methods=["GET"]),
        ]

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        status, after = parse_filter_choice(query, "status", _STATUSES), parse_cursor(self._context, query, _TYPE)
        async with self._context.db.read() as tx:
            charity = parse_filter_id(tx, query, "charity", "organisation")
            found = await gift_aid_claims.list_for_operators(tx, status, charity, after, query.limit + 1)
            total = await gift_aid_claims.count_for_operators(tx, status, charity, MOST_COUNTED)
            names = await load_organisation_names_by_id(tx, [(None, one.organisation_id) for one in found])
            rows = [
                (
                    one.id,
                    ListRow(
                        _KIND.page_path(tx, one),
                        (
                            _pounds(one.hmrc_payment_minor),
                            names.get(one.organisation_id),
                            one.status,
                            one.donation_count,
                            _pounds(one.amount_minor),
                            _pounds(one.adjustment_minor),
                            _pounds(one.paid_minor),
                            one.drafted_at,
                            one.hmrc_reference,
                            tx.ids.encode(_TYPE, one.id),
                        ),
                    ),
                )
                for one in found
            ]
            return build_list_page(tx, _TYPE, rows, query.limit, total)

    async def _load_adjustments(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        async with self._context.db.read() as tx:
            charity = parse_filter_id(tx, query, "charity", "organisation")
            before = parse_time_cursor(query.cursor)
            found = await gift_aid_claims.list_newest_adjustments(tx, charity, query.limit + 1, before and before[1])
            return build_time_sorted_page(
                [(one.created_at, one.id, _adjustment_row(tx, one)) for one in found], query.limit
            )

    async def show_claim(self, visitor: SignedInRequest) -> Response:
        """Show a claim, and those of its donations that have changed since the claim was drafted."""
        async with self._context.db.read() as tx:
            claim = await _KIND.get_from_url(self._context, tx, visitor)
            over = await gift_aid_claims.list_overclaimed_donation_ids(tx, claim.id)
            by = await build_operator_name_lookup(tx, [claim.drafted_by])
            steps = [TimelineStep("Drafted", "done", iso_timestamp(claim.drafted_at), by(claim.drafted_by) or "")]
            match claim.status:
                case "drafted":
                    steps.append(
                        TimelineStep("Sent to HMRC", "waiting", None, "export the schedule and submit it to HMRC")
                    )
                case "submitted":
                    steps.append(TimelineStep("Sent to HMRC", "done", None, claim.hmrc_reference or ""))
                    steps.append(TimelineStep("Paid", "waiting", None, "HMRC has not paid the charity yet"))
                case other:
                    steps.append(TimelineStep(other.capitalize(), "done", None, claim.note or ""))
            changed = RecordTable(
                "Changes since the draft",
                (Column("Donation", "id"),),
                [ListRow("", (tx.ids.encode("donation", one),)) for one in over[:_SHOWN]],
                "All donations in this claim can still be claimed.",
                f"The first {_SHOWN} of {len(over):,} are shown." if len(over) > _SHOWN else "",
            )
            here = _KIND.page_path(tx, claim)
            tables = [
                changed,
                *([await build_excluded_donations_table(tx, claim)] if claim.status == "drafted" else []),
            ]
            page = RecordPage(
                title=f"Gift Aid claim of {format_pounds(claim.hmrc_payment_minor)}",
                id=tx.ids.encode(_TYPE, claim.id),
                status=claim.status,
                back=_PATH,
                back_label="Gift Aid claims",
                facts=await _facts(tx, claim),
                steps=steps,
                actions=_KIND.list_available_actions(tx, claim),
                tables=tables,
                downloads=[(f"{here}/schedule", "HMRC's schedule (CSV)")],
                notices=[_left_out_message(visitor)] if _left_out_message(visitor) else [],
            )
        return await render_record_page(self._context, visitor, page, _KIND.success_message(visitor))

    async def _describe_draft(self, _tx: Tx, _visitor: SignedInRequest) -> ActionPage:
        return ActionPage(
            "Draft a Gift Aid claim",
            "Draft claim",
            _PATH,
            "Gift Aid claims",
            (
                (
                    "The draft contains the donations for which the charity can claim Gift Aid now. The page of the "
                    "draft lists the donations that it leaves out because HMRC would reject them, with the reasons. A "
                    "charity can have only one draft at a time."
                ),
            ),
            (
                ActionField("charity", "Charity ID", maxlength=255),
                ActionField(
                    "before",
                    "Donations before",
                    hint="For example, 2026-11-01. Leave empty to include all donations until now.",
                    required=False,
                    maxlength=30,
                ),
                ActionField(
                    "year_end",
                    "Last day of the charity's financial year",
                    hint="Month and day, such as 12-31. For a trust, enter 04-05.",
                    value="04-05",
                    maxlength=5,
                ),
                ActionField(
                    "aggregate",
                    "Combine donations of up to 20 GBP each into one row without donor names",
                    "check",
                    hint="HMRC allows combined rows.",
                    required=False,
                ),
            ),
        )

    async def _draft(self, tx: Tx, visitor: SignedInRequest, entered_values: Mapping[str, str]) -> str:
        officer = ActingOperator(self._context, visitor)
        charity, cutoff_at, year = _parse_draft(tx, entered_values)
        try:
            created = await gift_aid_claims.draft_claim(
                tx,
                charity,
                cutoff_at,
                year_end=year,
                aggregate_small_donations=entered_values["aggregate"] == "yes",
                drafted_by=officer.id,
            )
        except NotFound:
            raise IncorrectParams(_NO_CHARITY) from None
        left = [
            f"{tx.ids.encode('donation', one.donation_id)}: {one.problems_text}"
            for one in created.excluded_donations[:20]
        ]
        if created.claim is None:
            raise GiftAidClaimError(" ".join(["No donations can be claimed.", *left]))
        claim_id = tx.ids.encode(_TYPE, created.claim.id)
        await officer.record_audit_entry(
            tx,
            DEPLOYMENT,
            "gift_aid_claim.drafted",
            claim_id,
            donations=created.claim.donation_count,
            charity=entered_values["charity"],
        )
        excluded = len(created.excluded_donations)
        counts = f"left={excluded}&expired={created.expired_donation_count}&waiting={created.deferred_donation_count}"
        return f"{_PATH}/{claim_id}?{counts}"

    async def _about_schedule(self, tx: Tx, visitor: SignedInRequest) -> ActionPage:
        claim = await _KIND.get_from_url(self._context, tx, visitor)
        return ActionPage(
            "HMRC's schedule",
            "Download CSV",
            _KIND.page_path(tx, claim),
            "Gift Aid claim",
            (
                (
                    "The file has the columns of HMRC's schedule spreadsheet. The file contains donors' names and "
                    "addresses, so delete it after you submit it to HMRC. Each download is recorded."
                ),
            ),
            facts=await _facts(tx, claim),
        )

    async def _write_schedule(self, visitor: SignedInRequest, _values: Mapping[str, str]) -> DownloadedFile:
        async with self._context.db.write() as tx:
            claim = await _KIND.get_from_url(self._context, tx, visitor)
            schedule = await gift_aid_claims.render_schedule_csv(tx, claim.id)
            await _audit(tx, ActingOperator(self._context, visitor), "downloaded", claim)
            name = tx.ids.encode(_TYPE, claim.id)
        return DownloadedFile(f"{name}.csv", "text/csv; charset=utf-8", schedule.encode())


async def build_excluded_donations_table(
    tx: Tx, claim: GiftAidClaim, limit: int = gift_aid_claims.BATCH
) -> RecordTable:
    """A table of the donations that a draft leaves out because HMRC would reject them, with the reasons.

    ``limit``: how many of the charity's unclaimed donations are checked.
    """
    found, has_others = await gift_aid_claims.list_excluded_donations_and_has_more(tx, claim, limit)
    rows = [
        ListRow("", (tx.ids.encode("donation", one.donation_id), capitalise(one.problems_text)))
        for one in found[:_SHOWN]
    ]
    unchecked = f"Only the oldest {limit:,} unclaimed donations of the charity were checked." if has_others else ""
    more = f"The first {_SHOWN} of {len(found):,} are shown." if len(found) > _SHOWN else ""
    columns = (Column("Donation", "id"), Column("Why HMRC would reject it"))
    return RecordTable("Left out", columns, rows, f"None. {unchecked}".strip(), f"{more} {unchecked}".strip())


def _parse_draft(tx: Tx, entered_values: Mapping[str, str]) -> tuple[UUID, datetime, AccountingYearEnd]:
    """The charity, the end of the period and the charity's year. Raises IncorrectParams with every problem."""
    reasons: list[str] = []
    before, year = tx.now, None
    if (charity := tx.ids.decode("organisation", entered_values["charity"])) is None:
        reasons.append(_NO_CHARITY)
    try:
        if entered_values["before"]:
            before = gift_aid_claims_domain.parse_london_day_or_timestamp(entered_values["before"])
    except ValueError:
        reasons.append("before: enter a date such as 2026-11-01")
    try:
        year = gift_aid_claims_domain.parse_year_end(entered_values["year_end"])
    except ValueError as error:
        reasons.append(f"year_end: {error}")
    if charity is None or year is None or reasons:
        raise IncorrectParams(*reasons)
    return charity, before, year


def _left_out_message(visitor: SignedInRequest) -> str:
    """The message about donations that are missing from a new draft claim."""
    found = []
    for name, words in (
        ("left", "Donations left out because HMRC would reject them"),
        ("expired", "Donations past HMRC's deadline"),
        ("waiting", "Donations left for the next claim because this claim is full"),
    ):
        text = visitor.query.get(name, "")
        if text.isdecimal() and int(text[:9]):
            found.append(f"{words}: {int(text[:9]):,}.")
    return " ".join(found)


def _adjustment_row(tx: Tx, one: ClaimAdjustment) -> ListRow:
    claim, donation = tx.ids.encode(_TYPE, one.claim_id), tx.ids.encode("donation", one.donation_id)
    values = (donation, _pounds(one.amount_minor), _pounds(one.remaining_minor), one.reason, one.created_at, claim)
    return ListRow(f"{_PATH}/{claim}", values)
