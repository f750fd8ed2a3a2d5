"""A file of very many payments through the database: made, released, and answered by the bank (M11)."""

from pathlib import Path
from time import perf_counter
from uuid import UUID

import pytest
from lxml import etree

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.banking.payment_files import checks as payment_files_checks
from almoner.kit.money import Money
from almoner.platform.observability import selfcheck
from tests.support import bank, books, factories
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.payouts import uuid_of, verified
from tests.support.requests import bundle
from tests.support.service import Service, serving

SPACE = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"}


@pytest.mark.soak
async def test_m11_a_file_of_very_many_payments_is_made_released_and_answered(
    empty_database: TestDatabase, figures: Figures, tmp_path: Path
) -> None:
    nonprofits, times = figures.count(5, 200), figures.count(4, 50)
    many = nonprofits * times
    async with serving(empty_database) as service:
        api = service.client((await service.tenant()).secret)
        causes = [await _nonprofit(service, api) for _ in range(nonprofits)]
        before = await books.in_bank(service, "USD")
        async with service.db.write() as tx:
            partner = await tx.fetchval("select id from partner order by created_at desc, id desc limit 1")
            request = await bundle(tx, partner)
        for _ in range(times):
            await _gifts(service, partner, request, causes)
            await bank.sent(service)
        started = perf_counter()
        made = await bank.made(service, bank.own(tmp_path, "USD"))
        assert made.file is not None
        assert (
            made.file.payment_count,
            made.file.total.minor,
            made.disbursements_without_account,
            made.disbursements_on_hold,
        ) == (
            many,
            100 * many,
            [],
            [],
        )
        wrote = perf_counter()
        content = await bank.released(service, made.file)
        released = perf_counter()
        named = [one.text for one in etree.fromstring(content).iterfind(".//p:EndToEndId", SPACE)]
        assert len(set(named)) == many
        reported = await bank.heard(service, bank.answer(made.file, *((str(one), "ACSC") for one in named)))
        heard = perf_counter()
        assert (reported.confirmed_count, reported.refused_disbursements, reported.contradicted_disbursement_ids) == (
            many,
            [],
            [],
        )
        async with service.db.read() as tx:
            assert await tx.fetchval("select count(*) from disbursement where status = 'PAID'") == many
        assert before - await books.in_bank(service, "USD") == 100 * many
        assert await books.balanced(service)
        assert not (await selfcheck.run_selfcheck(service.db, payment_files_checks.checks)).findings
        await api.close()
    figures.write(
        "bank-file-of-many",
        "A file of very many payments through the database (M11)",
        f"{many:,} payouts to {nonprofits} nonprofits: made, valid and stored in {wrote - started:.1f} s, "
        f"released and written in {released - wrote:.1f} s",
        f"the bank's answer that all are paid: {many:,} transactions in {heard - released:.1f} s",
    )


async def _nonprofit(service: Service, api: Client) -> str:
    made = await factories.nonprofit(service)
    await verified(service, api, made)
    await bank.account(service, made)
    return made


async def _gifts(service: Service, partner: UUID, request: UUID, causes: list[str]) -> None:
    """A settled gift for each, with the money for it in the books."""
    ids = [uuid_of(service, "organisation", one) for one in causes]
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented,
                                  anonymous, metadata, created_at, status_changed_at, settled_at, settled_minor,
                                  settled_currency, donation_request_id)
            select gen_random_uuid(), $1, one, 'direct', 'RECEIVED_PAYMENT', 103, 'USD', true, false, '{}', $3, $3, $3,
                   100, 'USD', $4
            from unnest($2::uuid[]) as one
            """,
            partner,
            ids,
            tx.now,
            request,
        )
        for one in ids:
            ledger.post_at_commit(
                tx, ledger_domain.build_payment_transfers(tx.new_id(), "bulk", one, Money(100, "USD"))
            )
