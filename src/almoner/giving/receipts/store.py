"""SQL for receipts and their issuers."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.checkout.sessions.domain import Benefits
from almoner.giving.receipts.domain import Donee, Receipt, ReceiptIssuer
from almoner.kit.money import Money
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import AllPartners, Partner, Tx

_COLUMNS: Final = (
    "partner_id, donation_id, number, prefix, issuer, language, organisation, register, register_number, first_name, "
    "last_name, anonymous, payment_id, amount_minor, currency, cover_minor, received_at, issued_at, donee_id, "
    "benefits, benefits_minor"
)
_READ: Final = f"select {_COLUMNS}, (select d from receipt_donee d where d.id = donee_id) as donee from receipt"


def _receipt(row: Record) -> Receipt:
    values = dict(row)
    del values["donee_id"]
    money = Money(values.pop("amount_minor"), values.pop("currency"))
    given, value = values.pop("benefits"), values.pop("benefits_minor")
    donee = values.pop("donee")
    return Receipt(
        money=money,
        donee=_donee(donee) if donee else None,
        benefits=Benefits(given, value) if given else None,
        **values,
    )


def _donee(row: Record) -> Donee:
    return Donee(**dict(row.items()))


async def find(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Receipt | None:
    """Find the receipt of a donation."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"{_READ} where donation_id = $1 and ($2::uuid is null or partner_id = $2)",
        donation_id,
        partner_id,
    )
    return _receipt(row) if row else None


async def list_receipts_of_donations(tx: Tx, partner: Partner, donation_ids: Sequence[UUID]) -> list[Receipt]:
    """The receipts of these donations."""
    rows = await tx.fetch(
        f"{_READ} where partner_id = $1 and donation_id = any($2::uuid[])",
        partner.id,
        list(donation_ids),
    )
    return [_receipt(row) for row in rows]


async def find_issuer_name(tx: Tx, partner: Partner) -> str | None:
    """The issuer's own name, if it is set."""
    name: str | None = await tx.fetchval("select name from receipt_issuer where partner_id = $1", partner.id)
    return name


async def lock_receipt_issuer(tx: Tx, partner: Partner) -> ReceiptIssuer:
    """The issuer of the partner's receipts, locked; created on first use."""
    row = await _locked(tx, partner)
    if row is None:
        await tx.execute("insert into receipt_issuer (partner_id) values ($1) on conflict do nothing", partner.id)
        row = await _locked(tx, partner)
    assert row is not None, "an issuer is never deleted"
    return ReceiptIssuer(**row)


async def _locked(tx: Tx, partner: Partner) -> Record | None:
    return await tx.fetchrow(
        "select name, prefix, last_number from receipt_issuer where partner_id = $1 for no key update", partner.id
    )


async def update_receipt_issuer(tx: Tx, partner: Partner, issuer: ReceiptIssuer) -> None:
    """Update a locked issuer, for future receipts."""
    await tx.execute(
        "update receipt_issuer set name = $2, prefix = $3 where partner_id = $1", partner.id, issuer.name, issuer.prefix
    )


async def insert(tx: Tx, partner: Partner, receipt: Receipt) -> None:
    """Store a new receipt and its number as the last one of its locked issuer."""
    await tx.execute(
        f"""
        with numbered as (update receipt_issuer set last_number = $3 where partner_id = $1)
        insert into receipt ({_COLUMNS})
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)
        """,
        partner.id,
        receipt.donation_id,
        receipt.number,
        receipt.prefix,
        receipt.issuer,
        receipt.language,
        receipt.organisation,
        receipt.register,
        receipt.register_number,
        receipt.first_name,
        receipt.last_name,
        receipt.anonymous,
        receipt.payment_id,
        receipt.money.minor,
        receipt.money.currency,
        receipt.cover_minor,
        receipt.received_at,
        receipt.issued_at,
        receipt.donee.id if receipt.donee else None,
        receipt.benefits.description if receipt.benefits else None,
        receipt.benefits.fair_value_minor if receipt.benefits else None,
    )


async def find_current_donee(tx: Tx, partner: Partner) -> Donee | None:
    """The donee that the partner's receipts currently name."""
    row = await tx.fetchrow(
        "select * from receipt_donee where partner_id = $1 and approved_at is not null and ended_at is null", partner.id
    )
    return _donee(row) if row else None


@across_partners("operators")
async def list_donees(tx: Tx, after: UUID | None = None, limit: int | None = None) -> list[Donee]:
    """Donees of all partners, newest first, after the given one."""
    rows = await tx.fetch(
        "select * from receipt_donee where $1::uuid is null or id < $1 order by id desc limit $2", after, limit
    )
    return [_donee(row) for row in rows]


@across_partners("operators")
async def list_proposed_donees(tx: Tx, limit: int) -> list[Donee]:
    """Donees that another operator must approve, oldest first."""
    rows = await tx.fetch(
        "select * from receipt_donee where approved_at is null and ended_at is null order by id limit $1", limit
    )
    return [_donee(row) for row in rows]


@across_partners("operators")
async def find_donee(tx: Tx, donee_id: UUID) -> Donee | None:
    """One donee."""
    row = await tx.fetchrow("select * from receipt_donee where id = $1", donee_id)
    return _donee(row) if row else None


@across_partners("operators")
async def lock_donee(tx: Tx, donee_id: UUID) -> Donee | None:
    """One donee, locked until the transaction ends."""
    row = await tx.fetchrow("select * from receipt_donee where id = $1 for no key update", donee_id)
    return _donee(row) if row else None


async def insert_donee(tx: Tx, partner: Partner, donee: Donee) -> bool:
    """Store a proposed donee; False if there already is a proposal."""
    return bool(
        await tx.fetchval(
            """
            insert into receipt_donee (id, partner_id, legal_name, ein, address, proposed_by, proposed_note,
                                       proposed_at)
            values ($1, $2, $3, $4, $5, $6, $7, $8)
            on conflict (partner_id) where approved_at is null and ended_at is null do nothing returning true
            """,
            donee.id,
            partner.id,
            donee.legal_name,
            donee.ein,
            donee.address,
            donee.proposed_by,
            donee.proposed_note,
            donee.proposed_at,
        )
    )


async def end_current_donee(tx: Tx, partner: Partner, ended_by: str) -> None:
    """End the approved donee, if there is one."""
    await tx.execute(
        """
        update receipt_donee set ended_by = $2, ended_at = $3
        where partner_id = $1 and approved_at is not null and ended_at is null
        """,
        partner.id,
        ended_by,
        tx.now,
    )


async def update_donee(tx: Tx, donee: Donee) -> None:
    """Store who approved and who ended a locked donee."""
    await tx.execute(
        """
        update receipt_donee set approved_by = $2, approved_note = $3, approved_at = $4, ended_by = $5, ended_at = $6
        where id = $1
        """,
        donee.id,
        donee.approved_by,
        donee.approved_note,
        donee.approved_at,
        donee.ended_by,
        donee.ended_at,
    )
