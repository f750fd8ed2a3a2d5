"""Self-checks of receipts: their numbers."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "receipts.numbered",
        "Each issuer's receipts are numbered from 1 to the issuer's last number, without gaps",
        "Somebody changed the tables directly. Restore the receipts from a backup",
        """
        select partner_id from receipt_issuer i left join (
            select partner_id, count(*) as issued, max(number) as highest from receipt group by partner_id
        ) r using (partner_id)
        where (i.last_number, i.last_number) <> (coalesce(r.issued, 0), coalesce(r.highest, 0))
        """,
        "partner",
    ),
)
