"""The database keeps the rules of eligibility by itself, answers from indexes, and loads decide anew."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.nonprofits.registers.domain import RegisterLink
from almoner.platform.database.transactions import Tx
from almoner.platform.evidence import store as evidence_store
from almoner.platform.http.paging import RequestedPage
from almoner.validation.ongoing.eligibility import store as eligibility_store
from almoner.validation.ongoing.eligibility.domain import SUBSCRIPTION, EligibilityFilters
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.eligibility import body_of, cancel, create, evaluated, evidence, shown, summary, tag, told, uuid
from tests.support.plans import Explaining
from tests.support.service import Service, serving
from tests.support.validation import decided
from tests.support.written_register import Loader, Written, entry

RECORD = "eligibility_subscription"
SETTLED = """
pending -> live cannot_define_eligibility cancelled
pending_validation_request -> pending validation_request_failed cancelled
validation_request_failed -> pending_validation_request cancelled
live -> cannot_define_eligibility cancelled
cannot_define_eligibility -> live cancelled
"""
"""Settled 4 and 5: to live, or failed with the request, and back by an appeal alone; any is cancelled once; what cannot
be defined may be later."""
SPEC = {
    (source, target)
    for source, targets in (line.split(" -> ") for line in SETTLED.strip().splitlines())
    for target in targets.split()
}
DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 8)]
CCEW, OSCR, LINKS = (
    Written("ccew", "CCEW"),
    Written("oscr", "OSCR"),
    Written("gb-links", "CCEW", lists_organisations=False),
)
DOGS, HOUSING = "AN102", "HO"


@pytest.fixture
async def pending(service: Service, api: Client) -> UUID:
    """A new subscription."""
    return uuid(service, (await create(api, await body_of(service, {DOGS: "ntee:D20"})))["id"])


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


@asynccontextmanager
async def trial(service: Service) -> AsyncIterator[Tx]:
    """A transaction that is rolled back."""

    class Enough(Exception):
        pass

    try:
        async with service.db.write() as tx:
            yield tx
            raise Enough
    except Enough:
        return


async def move(tx: Tx, subscription_id: UUID, status: str) -> None:
    """Move it with all that belongs to its state, past the service."""
    await tx.execute(
        f"""
        update {RECORD} set status = $2::text, status_changed_at = $3,
            organisation_id = case
                when $2::text in ('pending_validation_request', 'validation_request_failed') then null
                else coalesce(organisation_id, (select id from organisation limit 1)) end,
            eligibility_status = case $2::text when 'live' then 'pass' when 'cancelled' then eligibility_status end,
            cancelled_at = case $2::text when 'cancelled' then $3::timestamptz end
        where id = $1
        """,
        subscription_id,
        status,
        tx.now,
    )


async def test_s1_the_moves_are_those_of_the_specification_in_code_and_database(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_transition where resource = $1", RECORD)
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1", f"{RECORD}_status_check"
        )
    assert {tuple(row) for row in rows} == set(SUBSCRIPTION.transitions()) == SPEC
    assert set(re.findall(r"'(\w+)'", check)) == SUBSCRIPTION.states()


@pytest.mark.parametrize("source", sorted(SUBSCRIPTION.states()))
@pytest.mark.parametrize("target", sorted(SUBSCRIPTION.states()))
async def test_s1_the_database_knows_no_other_moves(service: Service, api: Client, source: str, target: str) -> None:
    request = await decided(service, api)
    await body_of(service)
    made = await create(api, "", organisationId=None, validationRequestId=request["id"])
    subscription = uuid(service, made["id"])
    ways = {
        "pending_validation_request": (),
        "validation_request_failed": ("validation_request_failed",),
        "cancelled": ("cancelled",),
        "pending": ("pending",),
        "live": ("pending", "live"),
        "cannot_define_eligibility": ("pending", "cannot_define_eligibility"),
    }
    async with service.db.write() as tx:
        for status in ways[source]:
            await move(tx, subscription, status)
    if source == target:
        return
    if SUBSCRIPTION.allows_transition(source, target):
        async with trial(service) as tx:
            await move(tx, subscription, target)
        return
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with service.db.write() as tx:
            await move(tx, subscription, target)
    assert refused.value.constraint_name in (f"lifecycle_{RECORD}", f"{RECORD}_immutable")


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("eligibility_status = 'pass'", f"{RECORD}_results"),
        ("eligibility_status = 'maybe'", f"{RECORD}_eligibility_status_check"),
        ("""confirmed = '{"AN102": "x"}'""", f"{RECORD}_results"),
        ("status = 'live'", f"{RECORD}_results"),
        ("status = 'live', eligibility_status = 'fail', rejected = '{AN102}'", f"{RECORD}_rejected"),
        ("status = 'cannot_define_eligibility', confirmed = '[]'", f"{RECORD}_confirmed_check"),
        ("cancelled_at = created_at", f"{RECORD}_cancelled"),
        ("status = 'cancelled'", f"{RECORD}_cancelled"),
        ("metadata = '[]'", f"{RECORD}_metadata_check"),
        ("organisation_id = null", f"{RECORD}_immutable"),
        ("organisation_id = id", f"{RECORD}_immutable"),
        ("validation_request_id = id", f"{RECORD}_immutable"),
        ("configuration_id = id", f"{RECORD}_immutable"),
        ("suggested = '{AN101}'", f"{RECORD}_immutable"),
        ("simulated_status = 'pass'", f"{RECORD}_immutable"),
        ("partner_id = id", f"{RECORD}_immutable"),
        ("created_at = created_at + interval '1 s'", f"{RECORD}_immutable"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, pending: UUID, change: str, broken: str
) -> None:
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", pending) == broken


async def test_what_was_cancelled_keeps_its_results(service: Service, api: Client, pending: UUID) -> None:
    await service.drain()
    assert await cancel(api, {"id": service.db.deployment.ids.encode("eligibilitysubscription", pending)})
    changed = f"update {RECORD} set eligibility_status = 'fail' where id = $1"
    assert await refuses(service, changed, pending) == f"{RECORD}_immutable"


async def test_a_request_of_another_partner_is_refused(service: Service, api: Client, other: Client) -> None:
    own, foreign = await decided(service, api), await decided(service, other)
    made = await create(api, "", organisationId=None, validationRequestId=own["id"])
    again = f"""
        insert into {RECORD} (id, partner_id, validation_request_id, suggested, status, created_at, updated_at,
                              status_changed_at, search_name)
        select $1, partner_id, $2, '{{}}', status, created_at, created_at, created_at, search_name from {RECORD}
        where id = $3
    """
    ids = (uuid(service, foreign["id"], "validationrequest"), uuid(service, made["id"]))
    assert "validation_request" in str(await refuses(service, again, UUID(int=9), *ids))


async def test_evidence_is_added_only(service: Service, api: Client) -> None:
    await evaluated(service, api, await body_of(service, {DOGS: "ntee:D20"}))
    for sql in ("delete from evidence", "update evidence set steps = steps", f"delete from {RECORD}"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)


async def test_a_confirmed_one_names_its_rule(service: Service, api: Client) -> None:
    made = await evaluated(service, api, await body_of(service, {DOGS: "ntee:D20"}, name="X"), tag(service, HOUSING))
    (stored,) = await evidence(service, made)
    insert = """
        insert into evidence (id, kind, record_id, partner_id, occasion, reasons, facts, steps, recorded_at)
        select gen_random_uuid(), kind, record_id, partner_id, occasion, '{}', '{}', $2::jsonb, now()
        from evidence where id = $1
    """
    for rule, suggested, verdict in (
        (None, True, "pass"),
        ("r", True, "not_applicable"),
        (None, True, "fail"),
        (None, False, "not_applicable"),
    ):
        step = {"name": "x", "verdict": verdict, "code": rule, "facts": {"suggested": suggested}}
        assert await refuses(service, insert, stored.id, [step]) == "evidence_of_eligibility"


async def fill(service: Service, partners: list[UUID]) -> None:
    """400 subscriptions of each partner with their evidence, that the planner knows of."""
    organisations = [uuid(service, await body_of(service), "organisation") for _ in range(40)]
    async with service.db.write() as tx:
        await tx.execute(
            f"""
            with made as (
                insert into {RECORD} (
                    id, partner_id, organisation_id, suggested, status, eligibility_status, created_at, updated_at,
                    cancelled_at, status_changed_at, search_name
                )
                select gen_random_uuid(), p, ($2::uuid[])[1 + n % 40], '{{}}',
                    case when n % 20 = 0 then 'live' else 'cancelled' end, 'pass', $3, $3,
                    case when n % 20 <> 0 then $3::timestamptz end, $3, 'casper ' || n
                from unnest($1::uuid[]) as p, generate_series(1, 400) as n returning id, partner_id
            )
            insert into evidence (
                id, kind, record_id, partner_id, occasion, outcome, reasons, facts, steps, recorded_at
            )
            select gen_random_uuid(), 'eligibility_subscription', id, partner_id, 'created', 'pass', '{{}}', '{{}}',
                '[{{"name": "code", "verdict": "pass", "code": "r"}}]', $3
            from made
            """,
            partners,
            organisations,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, evidence")
    await connection.close()


async def test_lists_evidence_and_followers_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        await fill(service, [partner.id for partner in partners])
        partner = partners[7]
        async with service.db.read() as tx:
            (some,) = await tx.fetch(
                f"select * from {RECORD} where partner_id = $1 and status = 'live' limit 1", partner.id
            )
        for index, filters in (
            ("partner_id_id_key", EligibilityFilters()),
            ("with_status", EligibilityFilters(status="live")),
        ):
            for page in (RequestedPage(25, descending=True), RequestedPage(25, descending=False)):
                async with service.db.read() as reading:
                    listing: Any = Explaining(reading)
                    rows, _ = await eligibility_store.list_page(listing, partner, page, filters, "id")
                assert rows
                assert f"{RECORD}_{index}" in listing.indexes()
                assert RECORD not in listing.scans()
        async with service.db.read() as reading:
            tx_: Any = Explaining(reading)
            assert await eligibility_store.find(tx_, partner, some["id"])
            assert await eligibility_store.load_subscribed_partner_ids_by_organisation(tx_, [some["organisation_id"]])
            assert await eligibility_store.list_subscription_ids_by_organisations(
                tx_, partner, [some["organisation_id"]]
            )
            assert await eligibility_store.list_evaluated_subscription_ids(tx_, UUID(int=0), 10)
            assert await eligibility_store.list_subscription_ids_by_configuration(
                tx_, partner, UUID(int=0), UUID(int=0), 10, include_unconfigured=True
            )
            assert await eligibility_store.list_subscription_ids_waiting_for_requests(tx_, [some["id"]]) == []
            assert await evidence_store.find_latest_evaluation(tx_, some["id"])
        ours = {RECORD, "evidence"}
        assert not tx_.scans() & ours, tx_.scans()
        assert {f"{RECORD}_of_organisation", "evidence_pkey"} <= tx_.indexes()


async def listed(api: Client, registry: str, number: str) -> str:
    """The id of the organisation of a number."""
    return str(data(await api.get(f"/v1/organisations/GBR/{registry}/{number}"))["id"])


async def test_a_load_decides_anew_and_is_told_once(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        api, loader = service.client((await service.tenant()).secret), Loader(service.db, tmp_path)
        fund = entry("263710", "Shelter Fund", facts={"classification": ["107"]})
        choir = entry("SC002327", "Shelter Fund Scotland", registration_date=DAYS[0], facts={"purposes": []})
        await loader.load(CCEW, DAYS[0], fund)
        await loader.load(OSCR, DAYS[0], choir)
        organisation = await listed(api, "CCEW", "263710")
        made = await evaluated(service, api, organisation)
        assert summary(made) == ("pass", ["ccew:107"], [])
        await loader.load(CCEW, DAYS[1], fund._replace(city="Leeds"))
        assert await told(service, api) == [made]
        await loader.load(CCEW, DAYS[2], fund._replace(facts={"classification": ["102"]}))
        heard = await told(service, api)
        assert heard[1:] == [await shown(api, made)]
        assert summary(heard[1]) == ("pass", ["ccew:102"], [])
        # The same body in another register answers for it from here on: what that one says counts.
        await loader.load(
            LINKS, DAYS[3], entry("199999", "Links"), RegisterLink("same", "CCEW", "263710", "OSCR", "SC002327")
        )
        await service.drain()
        assert await listed(api, "CCEW", "263710") != organisation
        now = await shown(api, made)
        assert (now["organisationId"], now["status"]) == (organisation, "cannot_define_eligibility")
        await api.close()
