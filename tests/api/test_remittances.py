"""What a nonprofit is told of a payout: the sums of the books, or nothing."""

import asyncpg
import pytest

from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.giving.disbursing.remittances import service as remittances
from tests.support import factories
from tests.support.client import Client
from tests.support.payouts import payouts, run, settled, uuid_of, verified
from tests.support.service import Service


async def test_m12_a_remittance_is_the_payout_to_the_cent_or_is_not_made(service: Service, api: Client) -> None:
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    for _ in range(2):
        await settled(service, api, cause)
    await run(service)
    [made] = await payouts(api, organisationId=cause)
    payout = uuid_of(service, "disbursement", made["id"])
    async with service.db.read() as tx:
        reported = await remittances.build_remittance(tx, payout)
    assert (reported.totals.paid_minor, reported.totals.donation_count, len(reported.lines)) == (made["amount"], 2, 2)
    assert sum(line.paid_minor for line in reported.lines) == made["amount"]
    connection = await asyncpg.connect(service.database.server.superuser_url(service.database.name))
    try:
        await connection.execute("set session_replication_role = replica")  # no trigger holds it back
        wrong = "update disbursement set amount_minor = amount_minor + $2 where id = $1"
        await connection.execute(wrong, payout, 1)
        with pytest.raises(DisbursementError, match="is not the sum of its donations"):
            async with service.db.read() as tx:
                await remittances.build_remittance(tx, payout)
        await connection.execute(wrong, payout, -1)
    finally:
        await connection.close()
