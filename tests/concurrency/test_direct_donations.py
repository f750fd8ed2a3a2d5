"""Very many direct donations: asked for, paid, and paid out, in a minute (S4)."""

from time import perf_counter

import pytest

from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donation_requests.domain import PartnerCurrency
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.kit.money import Money
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import books, database, factories
from tests.support.figures import Figures
from tests.support.payouts import uuid_of, verified
from tests.support.service import serving


@pytest.mark.soak
async def test_s4_many_direct_donations_are_asked_for_paid_and_paid_out(
    postgres_server: PostgresServer, figures: Figures
) -> None:
    many = figures.count(400, 10_000)
    async with database.copied(postgres_server) as copy, serving(copy) as service:
        tenant = await service.tenant()
        api = service.client(tenant.secret)
        causes = [await factories.nonprofit(service) for _ in range(10)]
        for cause in causes:
            await verified(service, api, cause)
        async with service.db.write() as tx:
            await tx.execute(
                """
                insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented,
                                      anonymous, metadata, created_at, status_changed_at)
                select gen_random_uuid(), $1, ($2::uuid[])[1 + n % 10], 'direct', 'ACTIVE', 1000, 'USD', true, false,
                       '{}', $3, $3
                from generate_series(1, $4) n
                """,
                tenant.partner.id,
                [uuid_of(service, "organisation", cause) for cause in causes],
                tx.now,
                many,
            )
        service.clock.advance(days=32)
        started = perf_counter()
        [request] = await donation_requests_flows.invoice_partner(service.db, PartnerCurrency(tenant.partner.id, "USD"))
        asked = perf_counter()
        whole = Money(1000 * many, "USD")
        await donation_requests_flows.receive_payment(
            service.db, ALL_PARTNERS, request.id, whole, "TX-ALL", recorded_by="officer"
        )
        received = perf_counter()
        await disbursements_flows.run_disbursements(service.db, DisbursementRules())
        ended = perf_counter()
        paid = await api.get("/v1/donations", status="DISBURSED", pageSize=1)
        assert paid.json()["totalResults"] == many
        assert [await books.owed(service, cause) for cause in causes] == [0] * 10
        assert await books.balanced(service)
        await api.close()
    figures.write(
        "direct-donations",
        "Very many direct donations (S4)",
        f"{many:,} donations for 10 nonprofits: bundled in {asked - started:.1f} s, received with a posting each in "
        f"{received - asked:.1f} s, paid out in {ended - received:.1f} s",
    )
