"""SQL for a received donation's money: settlement, disbursement, return and reassignment."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.checkout.donations.domain import DisbursementBatch, Donation, DonationsAddedToDisbursement
from almoner.giving.checkout.donations.store import BASE_COLUMNS, COLUMNS, DONOR_SHOWN_COLUMN, donation_from_row
from almoner.kit.money import Money
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Partner, Tx

# The updated table has the same columns, so each is qualified with it.
_RETURNED: Final = ", ".join([*(f"d.{column}" for column in BASE_COLUMNS.split(", ")), DONOR_SHOWN_COLUMN])

_LOCK_DONATIONS: Final = f"select {COLUMNS} from donation where id = any($1::uuid[]) order by id for no key update"


@across_partners("held")
async def lock_donations(tx: Tx, donation_ids: Sequence[UUID]) -> list[Donation]:
    """Lock donations in a fixed order until the transaction ends."""
    return [donation_from_row(row) for row in await tx.fetch(_LOCK_DONATIONS, sorted(donation_ids))]


async def mark_donations_settled(tx: Tx, donation_ids: Sequence[UUID], net_amounts: Sequence[Money]) -> list[Donation]:
    """Store the settled amount of each donation; skips donations that are not waiting for settlement."""
    rows = await tx.fetch(
        f"""
        update donation d set settled_at = $4, settled_minor = given.minor, settled_currency = given.currency
        from unnest($1::uuid[], $2::bigint[], $3::text[]) as given (donation_id, minor, currency)
        where d.id = given.donation_id and d.status = 'RECEIVED_PAYMENT' and d.settled_at is null
        returning {_RETURNED}
        """,
        donation_ids,
        [net.minor for net in net_amounts],
        [net.currency for net in net_amounts],
        tx.now,
    )
    return sorted((donation_from_row(row) for row in rows), key=lambda donation: donation.id)


_PAYABLE: Final = """
settled_at is not null and disbursement_id is null and disputed_at is null and withdrawn_minor = refunded_minor
    and (withdrawn_minor = 0 or withdrawn_minor < settled_minor)
"""
"""Settled, in no disbursement, not disputed, not being refunded; as in the index ``donation_payable``."""

_OWED: Final = "greatest(0, settled_minor - withdrawn_minor)"
"""The amount owed for a settled donation, in minor units."""

UNPAID_BALANCES: Final = f"""
select distinct partner_id, organisation_id, settled_currency from donation where {_PAYABLE} order by 1, 2, 3
"""


@across_partners("held")
async def unpaid_balances(tx: Tx) -> list[DisbursementBatch]:
    """The partners, nonprofits and currencies with settled donations that are in no disbursement."""
    return [DisbursementBatch(*row) for row in await tx.fetch(UNPAID_BALANCES)]


UNPAID_BALANCES_OF: Final = f"""
select distinct partner_id, organisation_id, settled_currency from donation
where partner_id = $1 and organisation_id = $2 and {_PAYABLE} order by 3
"""


async def unpaid_balances_of_organisation(tx: Tx, partner: Partner, organisation_id: UUID) -> list[DisbursementBatch]:
    """Like ``unpaid_balances``, for one partner and nonprofit."""
    return [DisbursementBatch(*row) for row in await tx.fetch(UNPAID_BALANCES_OF, partner.id, organisation_id)]


NEXT_UNDISBURSED_DONATION_FITS: Final = f"""
select coalesce((
    select {_OWED} <= $4 from donation
    where partner_id = $1 and organisation_id = $2 and settled_currency = $3 and {_PAYABLE} order by id limit 1
), false)
"""


async def is_next_undisbursed_donation_within_limit(
    tx: Tx, partner: Partner, batch: DisbursementBatch, max_minor: int
) -> bool:
    """Whether a batch has settled donations in no disbursement, the oldest of which is at most ``max_minor``."""
    return bool(
        await tx.fetchval(NEXT_UNDISBURSED_DONATION_FITS, partner.id, batch.organisation_id, batch.currency, max_minor)
    )


ADD_TO_DISBURSEMENT: Final = f"""
with oldest as (
    select id, {_OWED} as minor from donation
    where partner_id = $1 and organisation_id = $2 and settled_currency = $3 and {_PAYABLE}
    order by id limit $5 for no key update skip locked
), chosen as (
    select id from (select id, sum(minor) over (order by id) as up_to from oldest) running where up_to <= $6
), taken as (
    update donation d set disbursement_id = $4 from chosen where d.id = chosen.id returning {_OWED} as minor
)
select count(*)::int as donations, coalesce(sum(minor), 0)::bigint as minor from taken
"""


async def add_donations_to_disbursement(
    tx: Tx, partner: Partner, batch: DisbursementBatch, disbursement_id: UUID, limit: int, max_total_minor: int
) -> DonationsAddedToDisbursement:
    """Add the oldest settled donations, up to ``limit`` and ``max_total_minor``, to a disbursement.

    The disbursement is locked. Donations that another transaction has locked are skipped.
    """
    row = await tx.fetchrow(
        ADD_TO_DISBURSEMENT,
        partner.id,
        batch.organisation_id,
        batch.currency,
        disbursement_id,
        limit,
        max_total_minor,
    )
    return DonationsAddedToDisbursement(row["donations"], row["minor"]) if row else DonationsAddedToDisbursement(0, 0)


@across_partners("held")
async def remove_from_disbursement(tx: Tx, donation_id: UUID) -> None:
    """Remove one donation from its disbursement."""
    await tx.execute("update donation set disbursement_id = null where id = $1", donation_id)


MARK_DISBURSED: Final = f"""
with oldest as materialized (
    select id from donation where disbursement_id = $1 and status = 'RECEIVED_PAYMENT'
    order by id limit $3 for no key update
)
update donation d set status = 'DISBURSED', disbursed_at = $2, status_changed_at = $2
from oldest where d.id = oldest.id returning {_RETURNED}
"""


@across_partners("held")
async def mark_donations_disbursed(tx: Tx, disbursement_id: UUID, limit: int) -> list[Donation]:
    """Move donations of a paid disbursement to DISBURSED."""
    rows = await tx.fetch(MARK_DISBURSED, disbursement_id, tx.now, limit)
    return sorted((donation_from_row(row) for row in rows), key=lambda donation: donation.id)


REVERT_DONATIONS: Final = f"""
with chosen as materialized (
    select id, {_OWED} as minor from donation where disbursement_id = $1
    order by status, id limit $3 for no key update
), kept as (
    insert into returned_disbursement_donation (disbursement_id, donation_id, amount_minor) select $1, id, minor
    from chosen
)
update donation d
set status = 'RECEIVED_PAYMENT', disbursed_at = null, disbursement_id = null, status_changed_at = $2
from chosen where d.id = chosen.id returning {_RETURNED}
"""


@across_partners("held")
async def revert_donations(tx: Tx, disbursement_id: UUID, limit: int) -> list[Donation]:
    """Move donations of a returned disbursement back to RECEIVED_PAYMENT, without a disbursement."""
    rows = await tx.fetch(REVERT_DONATIONS, disbursement_id, tx.now, limit)
    return sorted((donation_from_row(row) for row in rows), key=lambda donation: donation.id)


DONATIONS_OF_DISBURSEMENT: Final = f"""
select {COLUMNS} from donation
where id in (
    select id from donation where disbursement_id = $1
    union all select donation_id from returned_disbursement_donation where disbursement_id = $1
) and ($2::uuid is null or id > $2)
order by id limit $3
"""


@across_partners("held")
async def list_donations_of_disbursement(
    tx: Tx, disbursement_id: UUID, after: UUID | None, limit: int
) -> list[Donation]:
    """The donations of a disbursement, including a returned one, in order of creation."""
    return [donation_from_row(row) for row in await tx.fetch(DONATIONS_OF_DISBURSEMENT, disbursement_id, after, limit)]


@across_partners("held")
async def reassign_donation(tx: Tx, donation_id: UUID, organisation_id: UUID) -> Donation | None:
    """Assign a received donation to another nonprofit, without Gift Aid; None if its status does not allow this."""
    row = await tx.fetchrow(
        f"""
        update donation d set reassigned_from = organisation_id, organisation_id = $2, reassigned_at = $3,
            gift_aid_id = null
        where id = $1 and status = 'RECEIVED_PAYMENT' and disbursement_id is null and disputed_at is null
        returning {_RETURNED}
        """,
        donation_id,
        organisation_id,
        tx.now,
    )
    return donation_from_row(row) if row else None


@across_partners("held")
async def remove_declaration_from_donations(tx: Tx, declaration_id: UUID, created_since: datetime) -> None:
    """Remove a declaration from the donations made since a given time."""
    await tx.execute(
        "update donation set gift_aid_id = null where gift_aid_id = $1 and created_at >= $2",
        declaration_id,
        created_since,
    )
