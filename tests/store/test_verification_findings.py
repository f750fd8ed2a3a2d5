"""Findings, flags and confirmations at rest: constraints refuse what must not be, and sweeps read their indexes."""

from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import pytest

from almoner.giving.disbursing.organisation_confirmations import store as organisation_confirmations_store
from almoner.giving.disbursing.verifications import findings
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications import store_findings as verifications_store_findings
from almoner.platform.evidence import store as evidence_store
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.confirmations import asked
from tests.support.payouts import settled, uuid_of, verified
from tests.support.service import Service


async def flagged(service: Service, api: Client) -> tuple[str, UUID]:
    """A nonprofit that is paid nothing because of a flag, and the flag's id."""
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit)
    made = await verified(service, api, nonprofit)
    async with service.db.write() as tx:
        organisation_id = uuid_of(service, "organisation", nonprofit)
        await verifications.on_account_proposed(tx, organisation_id, "payeeaccount_x", {})
        [flag] = await verifications.list_flags(tx, uuid_of(service, "monetarydonationverification", made["id"]))
    return nonprofit, flag.id


async def written(service: Service, sql: str, *values: object) -> None:
    """Write past the service."""
    async with service.db.write() as tx:
        await tx.execute(sql, *values)


async def test_a_flag_is_lifted_by_two_people_or_not_at_all(service: Service, api: Client) -> None:
    _, flag = await flagged(service, api)
    first = "first_by = 'one', first_note = 'x', first_at = now()"
    second = "second_by = 'one', second_note = 'x', second_at = now()"
    for sql in (
        "status = 'lifted'",
        f"{first}, status = 'lifted'",
        f"{first}, {second}, status = 'lifted'",
        f"{second.replace('one', 'two')}, status = 'lifted'",
        f"{first}, {second.replace('one', 'two')}",
        "status = 'withdrawn'",
    ):
        with pytest.raises(asyncpg.CheckViolationError, match="monetary_donation_flag_"):
            await written(service, f"update monetary_donation_flag set {sql} where id = $1", flag)
    await written(service, f"update monetary_donation_flag set {first} where id = $1", flag)
    with pytest.raises(asyncpg.CheckViolationError):
        await written(service, "update monetary_donation_flag set first_by = 'three' where id = $1", flag)
    with pytest.raises(asyncpg.CheckViolationError):
        await written(service, "update monetary_donation_flag set kind = 'new_match' where id = $1", flag)
    async with service.db.write() as tx:
        assert (await verifications.review_flag(tx, flag, note="seen", reviewed_by="two")).status == "lifted"
    with pytest.raises(asyncpg.CheckViolationError, match="may not move"):
        await written(service, "update monetary_donation_flag set status = 'open' where id = $1", flag)


async def test_the_database_sends_no_payout_past_a_flag(service: Service, api: Client) -> None:
    nonprofit, _ = await flagged(service, api)
    await settled(service, api, nonprofit)
    await service.drain()
    with pytest.raises(asyncpg.CheckViolationError, match="on hold"):
        await written(
            service,
            """
            update disbursement
            set status = 'SENT', waiting_reason = null, ready_at = now(), sent_at = now(), status_changed_at = now()
            where organisation_id = $1
            """,
            uuid_of(service, "organisation", nonprofit),
        )


async def test_findings_and_answers_stay_as_they_are(service: Service, api: Client) -> None:
    made, _ = await asked(service, api)
    verification = uuid_of(service, "monetarydonationverification", made["id"])
    with pytest.raises(asyncpg.PostgresError):
        await written(service, "update evidence set steps = '[]'")
    for sql in ("email = 'x@y.example'", "expires_at = now()", "asked_by = 'x'"):
        with pytest.raises(asyncpg.CheckViolationError):
            await written(
                service, f"update monetary_donation_confirmation set {sql} where verification_id = $1", verification
            )
    with pytest.raises(asyncpg.UniqueViolationError, match="monetary_donation_confirmation_open"):
        await written(
            service,
            """
            insert into monetary_donation_confirmation
                (id, verification_id, email, source, language, asked_by, asked_at, expires_at)
            select gen_random_uuid(), verification_id, email, source, language, asked_by, asked_at, expires_at
            from monetary_donation_confirmation where verification_id = $1
            """,
            verification,
        )


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [
        (
            evidence_store.LATEST,
            ("00000000-0000-0000-0000-000000000000", {}, [{"name": "compliance"}]),
            "evidence_pkey",
        ),
        (verifications_store_findings.NEXT_CHECK, (), "monetary_donation_verification_next_check"),
        *(
            (verifications_store_findings.COUNT_WAITING, (datetime(2026, 1, 1, tzinfo=UTC), 1001), index)
            for index in ("monetary_donation_verification_waiting", "monetary_donation_flag_waiting")
        ),
        (organisation_confirmations_store.NEXT_ERASURE, (), "monetary_donation_confirmation_to_erase"),
    ],
)
async def test_what_is_asked_often_is_read_from_an_index(
    service: Service, sql: str, values: tuple[object, ...], index: str
) -> None:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        await tx.execute("set local enable_sort = off")
        plan = "\n".join(row[0] for row in await tx.fetch(f"explain {sql}", *values))
    assert index in plan, plan


async def test_the_table_of_flags_is_that_of_the_code(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = 'monetary_donation_flag' order "
            "by 1, 2"
        )
    assert [tuple(row) for row in rows] == list(findings.FLAG.transitions())
