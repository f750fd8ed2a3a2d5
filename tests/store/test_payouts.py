"""The database itself refuses payouts that must never be (S1, M1-M4), and answers a run's questions from indexes."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.accounting.settlements import store as settlements_store
from almoner.giving.accounting.settlements.domain import SETTLEMENT_LINE
from almoner.giving.checkout.donations import store_money as donations_store_money
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements import store as disbursements_store
from almoner.giving.disbursing.disbursements.domain import DISBURSEMENT, SANDBOX_CONFIRMATION, DisbursementRules
from almoner.kit.money import MAX_MINOR
from almoner.kit.states import Lifecycle
from tests.support import factories
from tests.support.client import Client, data
from tests.support.clock import START
from tests.support.database import TestDatabase
from tests.support.payouts import payouts, run, settled, uuid_of, verified
from tests.support.service import Service, Tenant

NEW: Final = """
insert into disbursement (id, partner_id, organisation_id, currency, amount_minor, donations, status, waiting_reason,
                          end_to_end_id, created_at, status_changed_at, sent_at, ready_at)
select $1, partner_id, organisation_id, currency, amount_minor, donations, $2, waiting_reason, $3, created_at,
       created_at, $4, ready_at
from disbursement where id = $5
"""


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def bucket(service: Service, api: Client) -> tuple[UUID, UUID]:
    """An open payout with one gift of a nonprofit that is not verified."""
    gift = await settled(service, api, await factories.nonprofit(service))
    await service.drain()
    (made,) = await payouts(api)
    return uuid_of(service, "disbursement", made["id"]), uuid_of(service, "donation", gift["id"])


async def paid(service: Service, api: Client) -> tuple[UUID, UUID]:
    """A payout that was paid, and its gift."""
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    gift = await settled(service, api, nonprofit)
    await run(service)
    (made,) = await payouts(api, organisationId=nonprofit)
    return uuid_of(service, "disbursement", made["id"]), uuid_of(service, "donation", gift["id"])


@pytest.mark.parametrize("lifecycle", [DISBURSEMENT, SETTLEMENT_LINE], ids=lambda table: table.resource)
async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service, lifecycle: Lifecycle) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            lifecycle.resource,
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
            f"{lifecycle.resource}_status_check",
        )
    assert [tuple(row) for row in rows] == list(lifecycle.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == lifecycle.states()


async def test_a_nonprofit_has_one_open_payout_of_a_currency_and_all_begin_open(service: Service, api: Client) -> None:
    payout, _ = await bucket(service, api)
    assert await refuses(service, NEW, uuid4(), "PENDING", uuid4().hex, None, payout) == "disbursement_open"
    sent = await refuses(service, NEW, uuid4(), "SENT", uuid4().hex, START, payout)
    assert sent in {"disbursement_starts_pending", "disbursement_waiting"}


async def test_a_payout_is_sent_to_who_was_verified_for_exactly_what_is_in_it(service: Service, api: Client) -> None:
    payout, _ = await bucket(service, api)
    fill = "update disbursement set waiting_reason = null, ready_at = created_at where id = $1"
    async with service.db.write() as tx:
        await tx.execute(fill, payout)
    send = "update disbursement set status = 'SENT', sent_at = created_at, status_changed_at = created_at where id = $1"
    assert await refuses(service, send, payout) == "disbursement_verified"
    async with service.db.write() as tx:
        await tx.execute("update disbursement set amount_minor = amount_minor + 1 where id = $1", payout)
    assert await refuses(service, send, payout) == "disbursement_sum"
    async with service.db.write() as tx:
        await tx.execute("update disbursement set amount_minor = amount_minor - 1, donations = 2 where id = $1", payout)
    assert await refuses(service, send, payout) == "disbursement_sum"


async def test_what_was_sent_stays_as_it_was_sent(service: Service, api: Client) -> None:
    payout, gift = await paid(service, api)
    for change in ("amount_minor = 1", "donations = 0", "currency = 'EUR'", "end_to_end_id = 'x'"):
        broken = await refuses(service, f"update disbursement set {change} where id = $1", payout)
        assert broken == "disbursement_immutable"
    for status in ("PENDING", "SENT"):
        broken = await refuses(service, "update disbursement set status = $2 where id = $1", payout, status)
        assert broken == "lifecycle_disbursement"
    assert await refuses(service, "update donation set disbursement_id = null where id = $1", gift) in {
        "donation_disbursement_state",
        "donation_disbursed",
    }
    back = "update donation set status = 'RECEIVED_PAYMENT', disbursed_at = null where id = $1"
    assert await refuses(service, back, gift) == "donation_disbursement_state"


async def test_m4_a_gift_is_paid_out_with_a_payout_of_its_own_alone(service: Service, api: Client) -> None:
    payout, gift = await bucket(service, api)
    disburse = "update donation set status = 'DISBURSED', disbursed_at = $2 where id = $1"
    assert await refuses(service, disburse, gift, START) == "donation_disbursement_state"
    strangers, _ = await paid(service, api)
    attach = "update donation set disbursement_id = $2 where id = $1"
    assert await refuses(service, attach, gift, strangers) == "donation_disbursement_state"
    late = await settled(service, api, data(await api.get("/v1/disbursements"))[0]["organisationId"])
    await service.drain()
    other = uuid_of(service, "donation", late["id"])
    async with service.db.write() as tx:
        await tx.execute("update donation set disbursement_id = null where id = $1", other)
    assert await refuses(service, attach, other, payout) == "donation_disbursement"
    assert await refuses(service, attach, other, uuid4()) == "donation_disbursement"


async def test_what_was_decided_and_returned_is_only_added_to(service: Service, api: Client, tenant: Tenant) -> None:
    async with service.db.read() as tx:
        grants = await tx.fetch(
            """
            select table_name, privilege_type from information_schema.role_table_grants
            where grantee = 'almoner_app' and table_name = any($1)
            """,
            ["reassignment", "returned_disbursement_donation", "settlement"],
        )
    assert {row["privilege_type"] for row in grants} == {"SELECT", "INSERT"}
    assert len(grants) == 6


LINE: Final = """
insert into settlement_line (id, settlement_id, provider, currency, kind, provider_payment, gross_minor, fee_minor,
                             net_minor, status, reason, payment_id, created_at, checked_at, status_changed_at)
select gen_random_uuid(), l.settlement_id, l.provider, l.currency, $2, $3, $4, $5, $6, $7::text, $8,
       case $7::text when 'matched' then l.payment_id end, l.created_at, l.checked_at, l.created_at
from settlement_line l join donation d on d.payment_id = l.payment_id where d.id = $1
"""


@pytest.mark.parametrize(
    ("line", "constraint"),
    [
        (("payment", "tp_x", 100, 10, 80, "exception", "not_paid"), "settlement_line_net"),
        (("payment", "tp_x", -100, 0, -100, "exception", "not_paid"), "settlement_line_signs"),
        (("refund", "tp_x", 100, 0, 100, "exception", "not_paid"), "settlement_line_signs"),
        (("payment", "tp_x", 100, 0, 100, "matched", "not_paid"), "settlement_line_matched"),
        (("payment", "tp_x", 100, 0, 100, "exception", None), "settlement_line_matched"),
        (("payment", "tp_x", 100, 0, 100, "matched", None), "settlement_line_payment"),
    ],
)
async def test_m4_a_payment_is_settled_by_one_line_that_adds_up(
    service: Service, api: Client, line: tuple[object, ...], constraint: str
) -> None:
    gift = await settled(service, api, await factories.nonprofit(service))
    gift_id = uuid_of(service, "donation", gift["id"])
    assert await refuses(service, LINE, gift_id, *line) == constraint
    change = (
        "update settlement_line l set fee_minor = 0 from donation d where d.payment_id = l.payment_id and d.id = $1"
    )
    assert await refuses(service, change, gift_id) == "settlement_line_immutable"


@pytest.fixture(scope="module")
async def filled(session_database: TestDatabase) -> AsyncIterator["asyncpg.Connection[asyncpg.Record]"]:
    """30,000 settled gifts of 60 nonprofits, half of them in 300 payouts; sequential scans priced out."""
    connection = await asyncpg.connect(session_database.server.superuser_url(session_database.name))
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("set local enable_seqscan = off")
    await connection.execute("set local session_replication_role = replica")
    partner, organisations = uuid4(), [uuid4() for _ in range(60)]
    await connection.execute(
        """
        insert into disbursement (id, partner_id, organisation_id, currency, amount_minor, donations, status,
                                  waiting_reason, end_to_end_id, created_at, status_changed_at, sent_at, paid_at,
                                  ready_at)
        select md5('p' || n)::uuid, $1, ($2::uuid[])[1 + n % 60], 'USD', 50, 50,
               case when n < 60 then 'PENDING' else 'PAID' end, case when n < 50 then 'below_threshold' end,
               md5('p' || n), $3, $3, case when n >= 60 then $3::timestamptz end,
               case when n >= 60 then $3::timestamptz end, $3
        from generate_series(0, 299) n
        """,
        partner,
        organisations,
        START,
    )
    await connection.execute(
        """
        insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented,
                              anonymous, metadata, created_at, status_changed_at, settled_at, settled_minor,
                              settled_currency, disbursement_id, disbursed_at, donation_request_id)
        select gen_random_uuid(), $1, ($2::uuid[])[1 + n % 60], 'direct',
               case when n % 600 between 60 and 299 then 'DISBURSED' else 'RECEIVED_PAYMENT' end, 1, 'USD', true, false,
               '{}', $3, $3, $3, 1, 'USD', case when n % 600 < 300 then md5('p' || n % 600)::uuid end,
               case when n % 600 between 60 and 299 then $3::timestamptz end, gen_random_uuid()
        from generate_series(1, 30000) n
        """,
        partner,
        organisations,
        START,
    )
    await connection.execute(
        """
        insert into settlement_line (id, settlement_id, provider, currency, kind, provider_payment, gross_minor,
                                     fee_minor, net_minor, status, reason, payment_id, created_at, checked_at,
                                     status_changed_at)
        select gen_random_uuid(), $1, 'test', 'USD', 'payment', 'tp_plan' || n, 2, 1, 1,
               case when n % 100 = 0 then 'exception' else 'matched' end, case when n % 100 = 0 then 'not_paid' end,
               case when n % 100 > 0 then gen_random_uuid() end, $2, $2, $2
        from generate_series(1, 20000) n
        """,
        partner,
        START,
    )
    await connection.execute("analyze donation, disbursement, settlement_line")
    await connection.execute(
        "create temporary table asked as select $1::uuid as partner, $2::uuid as organisation",
        partner,
        organisations[3],
    )
    yield connection
    await transaction.rollback()
    await connection.close()


async def plan(connection: "asyncpg.Connection[asyncpg.Record]", sql: str, *args: object) -> tuple[set[str], set[str]]:
    """The indexes that a statement reads, and the tables that it scans."""
    reported = await connection.fetchval("explain (format json) " + sql, *args)
    waiting = [json.loads(reported)[0]["Plan"]]
    indexes: set[str] = set()
    scanned: set[str] = set()
    while waiting:
        node: dict[str, Any] = waiting.pop()
        waiting += node.get("Plans", [])
        if "Index Name" in node:
            indexes.add(node["Index Name"])
        if node["Node Type"] == "Seq Scan":
            scanned.add(node["Relation Name"])
    return indexes, scanned


async def test_a_run_reads_indexes_alone(filled: "asyncpg.Connection[asyncpg.Record]") -> None:
    row = await filled.fetchrow("select * from asked")
    assert row is not None
    partner, organisation = row
    payout = UUID("00000000-0000-0000-0000-000000000001")
    asked: list[tuple[str, tuple[object, ...], set[str]]] = [
        (donations_store_money.UNPAID_BALANCES, (), {"donation_payable"}),
        (donations_store_money.UNPAID_BALANCES_OF, (partner, organisation), {"donation_payable"}),
        (
            donations_store_money.NEXT_UNDISBURSED_DONATION_FITS,
            (partner, organisation, "USD", MAX_MINOR),
            {"donation_payable"},
        ),
        (
            donations_store_money.ADD_TO_DISBURSEMENT,
            (partner, organisation, "USD", payout, 1000, MAX_MINOR),
            {"donation_payable"},
        ),
        (donations_store_money.MARK_DISBURSED, (payout, START, 1000), {"donation_of_disbursement"}),
        (donations_store_money.REVERT_DONATIONS, (payout, START, 1000), {"donation_of_disbursement"}),
        (donations_store_money.DONATIONS_OF_DISBURSEMENT, (payout, payout, 1000), {"donation_of_disbursement"}),
        (disbursements_store.OPEN, (partner, organisation, "USD"), {"disbursement_open"}),
        (disbursements_store.WAITING_SINCE, ("disbursements.run",), {"disbursement_by_status"}),
        (disbursements_store.TO_PROPAGATE, (1,), {"disbursement_propagating"}),
        (disbursements_store.WITH_STATUS, ("SENT", payout, 500), {"disbursement_by_status"}),
        (settlements_store.BOOKED_KINDS, ("test", ["tp_plan1", "tp_plan2"]), {"settlement_line_counted"}),
        (settlements_store.EXCEPTIONS, (START, 500), {"settlement_line_exceptions"}),
        (settlements_store.OLDEST_CHECK, (), {"settlement_line_exceptions"}),
    ]
    for sql, args, expected in asked:
        indexes, scanned = await plan(filled, sql, *args)
        assert scanned == set(), sql
        assert expected <= indexes, (sql, indexes)


async def test_m12_a_payout_is_paid_by_the_banks_word_or_by_as_many_people_as_it_takes(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    await service.drain()
    (made,) = await payouts(api, organisationId=nonprofit)
    async with service.db.write() as tx:
        await disbursements.send_disbursement(tx, uuid_of(service, "disbursement", made["id"]), DisbursementRules())
    payout, officer, other = uuid_of(service, "disbursement", made["id"]), "operator_a", "operator_b"
    pay = "update disbursement set status = 'PAID', paid_at = sent_at, status_changed_at = sent_at where id = $1"
    assert await refuses(service, pay, payout) == "disbursement_confirmed"
    confirm = """
    insert into disbursement_confirmation (disbursement_id, amount_minor, single_approval_limit_minor, confirmed_by,
                                     note, second_by,
                                     second_note, confirmed_at)
    select id, amount_minor, amount_minor - $2, $3, 'seen', $4::text, $5, sent_at from disbursement where id = $1
    """
    for first, *second in ((officer, None, None), (officer, officer, "seen"), ("olive", None, None)):
        broken = await refuses(service, confirm, payout, 1, first, *second)
        assert broken == "disbursement_confirmation_dual_control"
    assert await refuses(service, confirm, payout, 1, officer, other, None) == "disbursement_confirmation_seconded"
    async with service.db.write() as tx:
        await tx.execute(confirm, payout, 1, officer, other, "seen")
    assert await refuses(service, confirm, payout, 0, officer, None, None) == "disbursement_confirmation_pkey"
    with pytest.raises(asyncpg.PostgresError):
        async with service.db.write() as tx:
            await tx.execute("update disbursement_confirmation set second_by = 'x'")
    async with service.db.write() as tx:
        await disbursements.confirm_paid(tx, payout)


async def test_s4_no_plan_moves_more_gifts_at_once_than_asked_for(service: Service, api: Client) -> None:
    """PostgreSQL may run a subquery again for each row that it joins: one that locks would lock the next ones then."""
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    gifts = [await settled(service, api, nonprofit) for _ in range(3)]
    await service.drain()
    (made,) = await payouts(api, organisationId=nonprofit)
    payout = uuid_of(service, "disbursement", made["id"])
    async with service.db.write() as tx:
        await disbursements.send_disbursement(tx, payout, DisbursementRules())
    async with service.db.write() as tx:
        for step in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
            await tx.execute(f"set local enable_{step} = off")
        assert (await disbursements.confirm_paid(tx, payout, SANDBOX_CONFIRMATION, max_donations=1)).propagating
    statuses = [data(await api.get(f"/v1/donations/{gift['id']}"))["status"] for gift in gifts]
    assert sorted(statuses) == ["DISBURSED", "RECEIVED_PAYMENT", "RECEIVED_PAYMENT"]


async def test_when_a_payout_came_back_is_kept(service: Service, api: Client, tenant: Tenant) -> None:
    payout, gift = await paid(service, api)
    service.clock.advance(days=2)
    async with service.db.write() as tx:
        returned = await disbursements.mark_returned(tx, payout, "closed", recorded_by="officer")
        moment = tx.now
    async with service.db.read() as tx:
        assert await disbursements.find_last_disbursement_return_at(tx, tenant.partner, gift) == moment
    assert returned.sent_at is not None
    assert returned.sent_at < moment
