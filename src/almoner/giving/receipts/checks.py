"""What the self-check asks of receipts: their numbers."""

from typing import Final

from almoner.platform.observability.selfcheck import ConsistencyCheck

checks: Final = (
    ConsistencyCheck(
        "receipts.numbered",
        "An issuer's receipts are numbered from 1 to its last number, none missing",
        "Somebody has written to the tables around the service: restore the receipts from a backup",
        """
        select partner_id from receipt_issuer i left join (
            select partner_id, count(*) as issued, max(number) as highest from receipt group by partner_id
        ) r using (partner_id)
        where (i.last_number, i.last_number) <> (coalesce(r.issued, 0), coalesce(r.highest, 0))
        """,
        "partner",
    ),
)
