"""SQL for monthly reports: sums of the ledger's transfers, by the partner of the records that caused them."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.giving.accounting.monthly_reports.domain import MonthlyReport, ReportLine
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

_COLUMNS: Final = "id, partner_id, month, time_zone, begins_at, ends_at, status, made_at, closed_at, closed_by"

_SUMS: Final = """
with posted as materialized (
    select kind, owner_id, debit_account_id, credit_account_id, currency, amount_minor from ledger_transfer
    where posted_at >= $2 and posted_at < $3
), of_donation as (
    select posted.*, donation.organisation_id from posted
    join payment on payment.id = posted.owner_id
    join donation on donation.id = payment.donation_id and donation.partner_id = $1
    where posted.kind = 'payment_received'
    union all
    select posted.*, donation.organisation_id from posted
    join donation on donation.id = posted.owner_id and donation.partner_id = $1
    where posted.kind = 'request_allocated'
    union all
    select posted.*, donation.organisation_id from posted
    join settlement_line line on line.id = posted.owner_id
    left join payment on payment.id = line.payment_id
    left join refund on refund.id = line.refund_id
    left join dispute on dispute.id = line.dispute_id
    join donation on donation.id = coalesce(payment.donation_id, refund.donation_id, dispute.donation_id)
        and donation.partner_id = $1
    where posted.kind in ('settled', 'provider_fee', 'fee_charged')
    union all
    select posted.*, donation.organisation_id from posted
    join refund on refund.id = posted.owner_id
    join donation on donation.id = refund.donation_id and donation.partner_id = $1
    where posted.kind in ('donation_refund_started', 'donation_refund_reversed', 'donation_refund_fee_covered',
                   'donation_refund_fee_restored')
    union all
    select posted.*, donation.organisation_id from posted
    join dispute on dispute.id = posted.owner_id
    join donation on donation.id = dispute.donation_id and donation.partner_id = $1
    where posted.kind in ('dispute_lost', 'dispute_recovered')
    union all
    select posted.*, disbursement.organisation_id from posted
    join disbursement on disbursement.id = posted.owner_id and disbursement.partner_id = $1
    where posted.kind in ('disbursement_sent', 'disbursement_paid', 'disbursement_returned', 'disbursement_reversed')
), sided as (
    select of_donation.kind, coalesce(debit.organisation_id, credit.organisation_id, of_donation.organisation_id)
        as organisation_id, of_donation.currency, amount_minor
    from of_donation
    join ledger_account debit on debit.id = debit_account_id
    join ledger_account credit on credit.id = credit_account_id
    union all
    select side.kind, side.organisation_id, posted.currency, posted.amount_minor from posted
    join reassignment on reassignment.id = posted.owner_id
    join donation on donation.id = reassignment.donation_id and donation.partner_id = $1
    cross join lateral (values ('reassigned_from', from_organisation_id), ('reassigned_to', to_organisation_id))
        as side (kind, organisation_id)
    where posted.kind = 'reassigned'
)
select organisation_id, currency::text, kind, count(*)::int, sum(amount_minor)::bigint from sided group by 1, 2, 3
"""


def _report(row: Record) -> MonthlyReport:
    return MonthlyReport(*row)


async def sum_transfers(tx: Tx, partner: Partner, begins_at: datetime, ends_at: datetime) -> list[ReportLine]:
    """Sum the postings of the partner's donations in a period."""
    return [ReportLine(*row) for row in await tx.fetch(_SUMS, partner.id, begins_at, ends_at)]


async def find(tx: Tx, partner: Partner, month: date) -> MonthlyReport | None:
    """The report of a month; None if there is none."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from monthly_report where partner_id = $1 and month = $2", partner.id, month
    )
    return None if row is None else _report(row)


async def find_last_closed(tx: Tx, partner: Partner, ends_by: datetime) -> MonthlyReport | None:
    """The last closed report that ends by that time."""
    row = await tx.fetchrow(
        f"""
        select {_COLUMNS} from monthly_report
        where partner_id = $1 and status = 'closed' and ends_at <= $2 order by month desc limit 1
        """,
        partner.id,
        ends_by,
    )
    return None if row is None else _report(row)


async def list_since_month(tx: Tx, partner: Partner, first_month: date) -> list[MonthlyReport]:
    """The reports of a month and all later ones."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from monthly_report where partner_id = $1 and month >= $2", partner.id, first_month
    )
    return [_report(row) for row in rows]


async def list_lines(tx: Tx, report: MonthlyReport) -> list[ReportLine]:
    """List the lines of a report."""
    rows = await tx.fetch(
        """
        select organisation_id, currency::text, kind, transfers, amount_minor from monthly_report_line
        where report_id = $1
        """,
        report.id,
    )
    return [ReportLine(*row) for row in rows]


async def upsert_report_request(tx: Tx, report: MonthlyReport) -> MonthlyReport | None:
    """Store a request to generate a report; None if it is closed."""
    row = await tx.fetchrow(
        f"""
        insert into monthly_report (id, partner_id, month, time_zone, begins_at, ends_at, status)
        values ($1, $2, $3, $4, $5, $6, 'pending')
        on conflict (partner_id, month) do update set status = 'pending', time_zone = excluded.time_zone,
            begins_at = excluded.begins_at, ends_at = excluded.ends_at, made_at = null
        where monthly_report.status <> 'closed'
        returning {_COLUMNS}
        """,
        report.id,
        report.partner_id,
        report.month,
        report.time_zone,
        report.begins_at,
        report.ends_at,
    )
    return None if row is None else _report(row)


@across_partners("held")
async def find_for_update(tx: Tx, report_id: UUID) -> MonthlyReport | None:
    """A report, locked until the transaction ends; None if there is none."""
    row = await tx.fetchrow(f"select {_COLUMNS} from monthly_report where id = $1 for update", report_id)
    return None if row is None else _report(row)


async def replace_lines(tx: Tx, report: MonthlyReport, lines: Sequence[ReportLine]) -> None:
    """Store the lines of a report and mark it as ready."""
    await tx.execute("delete from monthly_report_line where report_id = $1", report.id)
    await tx.execute(
        """
        insert into monthly_report_line (report_id, organisation_id, currency, kind, transfers, amount_minor)
        select $1, * from unnest($2::uuid[], $3::text[], $4::text[], $5::int[], $6::bigint[])
        """,
        report.id,
        [line.organisation_id for line in lines],
        [line.currency for line in lines],
        [line.kind for line in lines],
        [line.transfer_count for line in lines],
        [line.amount_minor for line in lines],
    )
    await tx.execute("update monthly_report set status = 'ready', made_at = $2 where id = $1", report.id, tx.now)


async def close(tx: Tx, report: MonthlyReport, closed_by: str) -> None:
    """Make a report final."""
    await tx.execute(
        """
        update monthly_report set status = 'closed', closed_at = $2, closed_by = $3
        where id = $1 and status = 'ready'
        """,
        report.id,
        tx.now,
        closed_by,
    )


async def set_report_subscription(tx: Tx, partner: Partner, person_id: UUID, *, subscribed: bool, month: date) -> None:
    """Store whether a person gets the monthly report by email."""
    if subscribed:
        await tx.execute(
            """
            insert into monthly_report_reader (partner_id, person_id, notified_month) values ($1, $2, $3)
            on conflict do nothing
            """,
            partner.id,
            person_id,
            month,
        )
    else:
        await tx.execute(
            "delete from monthly_report_reader where partner_id = $1 and person_id = $2", partner.id, person_id
        )


async def is_report_recipient(tx: Tx, partner: Partner, person_id: UUID) -> bool:
    """Whether a person is emailed after each month."""
    found: bool = await tx.fetchval(
        "select exists (select from monthly_report_reader where partner_id = $1 and person_id = $2)",
        partner.id,
        person_id,
    )
    return found


@across_partners("sweep")
async def find_earliest_last_notified_month(tx: Tx) -> date | None:
    """The earliest of the months that recipients were last notified of; None without recipients."""
    found: date | None = await tx.fetchval("select min(notified_month) from monthly_report_reader")
    return found


class ReportRecipient(NamedTuple):
    """A member of a partner, to be notified of a monthly report."""

    partner_id: UUID
    person_id: UUID


@across_partners("sweep")
async def claim_report_recipients(tx: Tx, month: date, limit: int) -> list[ReportRecipient]:
    """Claim the recipients who were not yet notified about a month."""
    rows = await tx.fetch(
        """
        update monthly_report_reader reader set notified_month = $1 from (
            select partner_id, person_id from monthly_report_reader where notified_month < $1
            order by notified_month, partner_id, person_id limit $2 for update skip locked
        ) as due where (reader.partner_id, reader.person_id) = (due.partner_id, due.person_id)
        returning reader.partner_id, reader.person_id
        """,
        month,
        limit,
    )
    return [ReportRecipient(row["partner_id"], row["person_id"]) for row in rows]
