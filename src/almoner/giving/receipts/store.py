"""SQL of receipts and their issuers."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.giving.receipts.domain import Issuer, Receipt
from almoner.kit.money import Money
from almoner.platform.database.transactions import AllPartners, Partner, Tx

_COLUMNS: Final = (
    "partner_id, donation_id, number, prefix, issuer, language, organisation, register, register_number, first_name, "
    "last_name, anonymous, payment_id, amount_minor, currency, cover_minor, received_at, issued_at"
)


def _receipt(row: Record) -> Receipt:
    values = dict(row)
    money = Money(values.pop("amount_minor"), values.pop("currency"))
    return Receipt(money=money, **values)


async def find(tx: Tx, scope: Partner | AllPartners, donation_id: UUID) -> Receipt | None:
    """The receipt of a donation."""
    partner_id = scope.id if isinstance(scope, Partner) else None
    row = await tx.fetchrow(
        f"select {_COLUMNS} from receipt where donation_id = $1 and ($2::uuid is null or partner_id = $2)",
        donation_id,
        partner_id,
    )
    return _receipt(row) if row else None


async def receipts_of(tx: Tx, partner: Partner, donation_ids: Sequence[UUID]) -> list[Receipt]:
    """The receipts of these donations."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from receipt where partner_id = $1 and donation_id = any($2::uuid[])",
        partner.id,
        list(donation_ids),
    )
    return [_receipt(row) for row in rows]


async def issuer_name(tx: Tx, partner: Partner) -> str | None:
    """What the issuer is called, where it has a name of its own."""
    name: str | None = await tx.fetchval("select name from receipt_issuer where partner_id = $1", partner.id)
    return name


async def lock_issuer(tx: Tx, partner: Partner) -> Issuer:
    """Who issues the partner's receipts, held until the transaction ends; made on first use."""
    row = await _locked(tx, partner)
    if row is None:
        await tx.execute("insert into receipt_issuer (partner_id) values ($1) on conflict do nothing", partner.id)
        row = await _locked(tx, partner)
    assert row is not None, "an issuer is never deleted"
    return Issuer(**row)


async def _locked(tx: Tx, partner: Partner) -> Record | None:
    return await tx.fetchrow(
        "select name, prefix, last_number from receipt_issuer where partner_id = $1 for no key update", partner.id
    )


async def update_issuer(tx: Tx, partner: Partner, issuer: Issuer) -> None:
    """What the receipts that come after this say; the caller has locked the issuer."""
    await tx.execute(
        "update receipt_issuer set name = $2, prefix = $3 where partner_id = $1", partner.id, issuer.name, issuer.prefix
    )


async def insert(tx: Tx, partner: Partner, receipt: Receipt) -> None:
    """Store a new receipt and its number as the last of its issuer, whom the caller has locked."""
    await tx.execute(
        f"""
        with numbered as (update receipt_issuer set last_number = $3 where partner_id = $1)
        insert into receipt ({_COLUMNS})
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18)
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
    )
