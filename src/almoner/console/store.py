"""Queries that read the tables of several modules."""

import re
from typing import Final
from uuid import UUID

from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.transactions import Tx

_OF_DONATION: Final = """
select $1::uuid
union select id from payment where donation_id = $1
union select id from refund where donation_id = $1
union select id from dispute where donation_id = $1
union select id from unallocated_payment where donation_id = $1
union select id from reassignment where donation_id = $1
union select id from settlement_line where payment_id in (select id from payment where donation_id = $1)
union select id from settlement_line where refund_id in (select id from refund where donation_id = $1)
union select id from settlement_line where dispute_id in (select id from dispute where donation_id = $1)
"""
_OF_REFUND: Final = "select $1::uuid union select id from settlement_line where refund_id = $1"
_OF_DISPUTE: Final = "select $1::uuid union select id from settlement_line where dispute_id = $1"
_OF_HELD: Final = "select $1::uuid union select id from settlement_line where unallocated_payment_id = $1"
_OF_LINE: Final = """
select l.id from settlement_line l join bank_statement_line b on b.settlement_id = l.settlement_id where b.id = $1
union select request_payment_id from bank_statement_line where id = $1 and request_payment_id is not null
union select disbursement_id from bank_statement_line where id = $1 and disbursement_id is not null
"""
_OWNERS: Final = {
    "donation": _OF_DONATION,
    "refund": _OF_REFUND,
    "dispute": _OF_DISPUTE,
    "heldpayment": _OF_HELD,
    "bankline": _OF_LINE,
    "disbursement": "select $1::uuid",
}
_PLAIN: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)
"""Matches a UUID in the format of ledger exports."""
_BY_END_TO_END_ID: Final = "select id from disbursement where end_to_end_id = $1"
_BY_REQUEST: Final = """
select p.id from request_payment p join donation_request r on r.id = p.donation_request_id where r.reference = $1
"""


@across_partners("operators")
async def find_ledger_transfer_source_ids(tx: Tx, id_or_payment_reference: str) -> list[UUID]:
    """Find the records that own ledger transfers, by an ID, an end-to-end ID or a payment reference."""
    for id_type, sql in _OWNERS.items():
        if (record_id := tx.ids.decode(id_type, id_or_payment_reference)) is not None:
            return [row[0] for row in await tx.fetch(sql, record_id)]
    if _PLAIN.fullmatch(id_or_payment_reference):
        return [UUID(id_or_payment_reference)]
    found = await tx.fetch(_BY_END_TO_END_ID, id_or_payment_reference.lower())
    found += await tx.fetch(_BY_REQUEST, id_or_payment_reference.upper())
    return [row[0] for row in found]
