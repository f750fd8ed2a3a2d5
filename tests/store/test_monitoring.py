"""Monitoring subscriptions at rest: constraints refuse what must not be, lists and reactions are read from indexes."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.registers.domain import RegisterLink
from almoner.platform.evidence import store as evidence_store
from almoner.platform.http.paging import RequestedPage
from almoner.validation.ongoing.monitoring import store as monitoring_store
from almoner.validation.ongoing.monitoring.domain import SUBSCRIPTION, MonitoringFilters, Sort
from tests.support import factories, validation
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.monitoring import cancelled, looked, shown, subscribe, told
from tests.support.plans import Explaining
from tests.support.service import Service, serving
from tests.support.written_register import Loader, Written, entry

RECORD = "monitoring_subscription"
DAYS = [datetime(2026, month, 9, tzinfo=UTC) for month in range(1, 5)]
CCEW, OSCR, LINKS = (
    Written("ccew", "CCEW"),
    Written("oscr", "OSCR"),
    Written("gb-links", "CCEW", lists_organisations=False),
)


def uuid(service: Service, record: dict[str, Any]) -> UUID:
    """The id of a subscription."""
    found = service.db.deployment.ids.decode("monitoringsubscription", record["id"])
    assert found is not None
    return found


@pytest.fixture
async def live(service: Service, api: Client) -> UUID:
    """One of which nothing is known but that it passes."""
    return uuid(service, await looked(service, api))


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_the_arrows_in_the_database_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2", RECORD
        )
        check = await tx.fetchval(
            f"""
            select pg_get_constraintdef(oid) from pg_constraint
            where conrelid = '{RECORD}'::regclass and conname = '{RECORD}_status_check'
            """
        )
    assert [tuple(row) for row in rows] == list(SUBSCRIPTION.transitions())
    assert {state for state in SUBSCRIPTION.states() if f"'{state}'" in check} == SUBSCRIPTION.states()


async def test_s1_no_hand_makes_a_move_that_the_lifecycle_lacks(service: Service, api: Client) -> None:
    request = await validation.requested(api)
    failed = await validation.requested(api)
    ways: dict[str, dict[str, Any]] = {
        "pending_validation_request": await subscribe(service, api, validationRequestId=request["id"]),
        "validation_request_failed": await subscribe(service, api, validationRequestId=failed["id"]),
        "live": await subscribe(service, api),
        "cancelled": await cancelled(api, await subscribe(service, api)),
    }
    await validation.simulate(api, failed, "reject")
    await service.drain()
    ways["pending"] = await subscribe(service, api)
    arrows = set(SUBSCRIPTION.transitions())
    for source, record in ways.items():
        assert (await shown(api, record))["status"] == source
        for target in ways:
            if source == target or (source, target) in arrows:
                continue
            ended = "cancelled_at = created_at" if target == "cancelled" else "cancelled_at = null"
            move = f"update {RECORD} set status = $2, {ended}, screened_at = created_at where id = $1"
            assert await refuses(service, move, uuid(service, record), target) is not None, (source, target)


CATEGORIES = {
    "warning": "warning",
    "sanction": "sanction",
    "hate_speech": "hateSpeech",
    "commercial": "commercial",
    "adverse_media": "adverseMedia",
    "controversial": "controversial",
}


@pytest.mark.parametrize(("column", "category"), CATEGORIES.items())
async def test_nothing_is_clear_that_no_list_was_looked_into_for(
    service: Service, live: UUID, column: str, category: str
) -> None:
    other = "sanction" if category != "sanction" else "warning"
    change = f"update {RECORD} set {column} = 'clear', sources = $2 where id = $1"
    screened = {"list": "l", "version": "1", "category": category, "status": "screened"}
    for sources in (
        [],
        [{**screened, "category": other}],
        [{**screened, "status": "not_screened"}],
        [screened, {**screened, "list": "m", "status": "not_screened"}],
    ):
        assert await refuses(service, change, live, sources) == f"{RECORD}_{column}_checked"
    async with service.db.write() as tx:
        await tx.execute(change, live, [screened])
        await tx.execute(f"update {RECORD} set {column} = 'flag', sources = '[]' where id = $1", live)
    assert await refuses(service, f"update {RECORD} set {column} = 'red' where id = $1", live) == (
        f"{RECORD}_{column}_check"
    )


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("compliance_status = 'perhaps'", "compliance_status_check"),
        ("registration_active = 'maybe'", "registration_active_check"),
        ("sources = '{}'", "sources_check"),
        ("simulated_results = '[]'", "simulated_results_check"),
        ("screened_at = null", "known"),
        ("cancelled_at = created_at", "cancelled"),
        ("status = 'cancelled'", "cancelled"),
        ("organisation_id = null", "immutable"),
        ("organisation_id = id", "immutable"),
        ("validation_request_id = id", "immutable"),
        ("partner_id = id", "immutable"),
        ("created_at = created_at - interval '1 s'", "immutable"),
    ],
)
async def test_what_does_not_belong_together_is_refused(service: Service, live: UUID, change: str, broken: str) -> None:
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", live) == f"{RECORD}_{broken}"


async def test_a_cancelled_one_changes_no_more_and_changes_are_only_added_to(service: Service, api: Client) -> None:
    ended = uuid(service, await cancelled(api, await looked(service, api)))
    change = f"update {RECORD} set compliance_status = 'fail' where id = $1"
    assert await refuses(service, change, ended) == f"{RECORD}_immutable"
    for sql in ("update evidence set occasion = 'chosen'", "delete from evidence"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)


async def fill(service: Service, partners: list[UUID]) -> None:
    """400 of each partner: 20 wait for a request, 20 are cancelled, the others live, each with an own organisation."""
    async with service.db.write() as tx:
        await tx.execute(
            """
            insert into organisation (id, registry_id, registry_number, number_key, name, country_code, types, active,
                                      websites, search_name, created_at, updated_at)
            select gen_random_uuid(), $2, 'n' || n, 'n' || n, 'Fund ' || n, 'USA', array['nonprofit'], true, '{}',
                   'fund ' || n, $1, $1
            from generate_series(1, 400) as n
            """,
            tx.now,
            factories.IRS,
        )
        await tx.execute(
            """
            insert into validation_request (id, partner_id, status, name, registry_id, registry_name, registry_number,
                                            number_key, website, country_code, search_name, created_at,
                                            status_changed_at)
            select gen_random_uuid(), p, 'pending', 'Fund ' || n, $2, 'IRS', 'n' || n, 'n' || n, 'a.example', 'USA',
                   'fund ' || n, $3, $3
            from unnest($1::uuid[]) as p, generate_series(1, 20) as n
            """,
            partners,
            factories.IRS,
            tx.now,
        )
        await tx.execute(
            f"""
            insert into {RECORD} (id, partner_id, organisation_id, validation_request_id, status, search_name,
                                  screened_at, created_at, cancelled_at, status_changed_at)
            select gen_random_uuid(), p, o.id, null,
                   case when n > 380 then 'cancelled' else 'live' end, 'fund ' || n, $2::timestamptz, $2,
                   case when n > 380 then $2::timestamptz end, $2
            from unnest($1::uuid[]) as p, generate_series(21, 400) as n
            join organisation o on o.registry_number = 'n' || n
            union all
            select gen_random_uuid(), partner_id, null, id, 'pending_validation_request', search_name, null, $2,
                   null::timestamptz, $2
            from validation_request where partner_id = any($1)
            """,
            partners,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, organisation, validation_request")
    await connection.close()


async def test_lists_and_reactions_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        await fill(service, [partner.id for partner in partners])
        partner, page = partners[7], RequestedPage(25, descending=True)
        wanted: list[tuple[MonitoringFilters, Sort, str]] = [
            (MonitoringFilters(), "id", "partner_id_id_key"),
            (MonitoringFilters(), "name", "name"),
            (MonitoringFilters(status="cancelled"), "id", "with_status"),
            (MonitoringFilters(status="pending_validation_request"), "name", "with_status"),
            (MonitoringFilters(has_organisation=False), "id", "without_organisation"),
            (MonitoringFilters(search_words=("fund", "399")), "id", ""),  # of few, all of the partner
        ]
        for filters, sort, index in wanted:
            async with service.db.read() as reading:
                tx: Any = Explaining(reading)
                rows, _ = await monitoring_store.list_page(tx, partner, page, filters, sort)
            assert rows, filters
            assert not index or f"{RECORD}_{index}" in tx.indexes(), (filters, tx.indexes())
            assert RECORD not in tx.scans(), filters
        async with service.db.read() as reading:
            one = next(
                row
                for row in (
                    await monitoring_store.list_page(reading, partner, page, MonitoringFilters(status="live"), "id")
                )[0]
            )
            asking: Any = Explaining(reading)
            assert await monitoring_store.find(asking, partner, one.id)
            assert one.organisation_id is not None
            assert (
                len(
                    (await monitoring_store.load_subscribed_partner_ids_by_organisation(asking, [one.organisation_id]))[
                        one.organisation_id
                    ]
                )
                == 50
            )
            assert (
                len(await monitoring_store.list_subscription_ids_by_organisations(asking, [one.organisation_id])) == 50
            )
            assert (
                len(
                    await monitoring_store.list_subscription_ids_by_configuration(
                        asking, partner, uuid4(), None, 10, include_unconfigured=True
                    )
                )
                == 10
            )
            await monitoring_store.mark_due_for_evaluation(asking, [one.id])
            assert await organisations.list_merged_records(asking, one.organisation_id) == []
            assert await monitoring_store.list_subscription_ids_waiting_for_requests(asking, [uuid4()]) == []
            assert await evidence_store.list_evaluation_page(asking, one.id, RequestedPage(25, descending=True)) == (
                [],
                0,
            )
        assert not asking.scans() & {RECORD, "organisation"}, asking.scans()
        assert {f"{RECORD}_of_organisation", f"{RECORD}_of_request"} <= asking.indexes()


async def test_a_load_is_told_once_to_whoever_monitors(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        api, loader = service.client((await service.tenant()).secret), Loader(service.db, tmp_path)
        fund = entry("263710", "Shelter Fund")
        await loader.load(CCEW, DAYS[0], fund)
        organisation = data(await api.get("/v1/organisations/GBR/CCEW/263710"))["id"]
        made = await looked(service, api, organisationId=organisation)
        assert made["results"]["registration"] == {"active": "yes"}
        await loader.load(CCEW, DAYS[1], fund._replace(city="Leeds"))
        assert await told(service, api) == [made]
        await loader.load(CCEW, DAYS[2], entry("263711", "Another Fund"))
        gone = (await told(service, api))[1:]
        assert gone == [{**made, "results": {**made["results"], "registration": {"active": "no"}}}]
        assert await shown(api, made) == gone[0]
        events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
        assert [event["eventType"] for event in events].count("organisation.updated") == 2
        await api.close()


async def test_another_record_that_answers_for_the_organisation_is_looked_at(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as service:
        api, loader = service.client((await service.tenant()).secret), Loader(service.db, tmp_path)
        await loader.load(CCEW, DAYS[0], entry("263710", "Shelter Fund"))
        await loader.load(OSCR, DAYS[0], entry("SC002327", "Shelter Fund Scotland", registration_date=DAYS[0]))
        organisation = data(await api.get("/v1/organisations/GBR/CCEW/263710"))["id"]
        made = await looked(service, api, organisationId=organisation)
        await loader.load(
            LINKS, DAYS[1], entry("199999", "Links"), RegisterLink("same", "CCEW", "263710", "OSCR", "SC002327")
        )
        await service.drain()
        assert data(await api.get("/v1/organisations/GBR/CCEW/263710"))["id"] != organisation
        assert (await shown(api, made))["organisation"] == {"name": "Shelter Fund Scotland"}
        for register, number in ((OSCR, "SC000001"), (CCEW, "1")):
            await loader.load(register, DAYS[2], entry(number, "Another Fund"))
        await service.drain()
        now = await shown(api, made)
        assert (now["organisationId"], now["status"]) == (organisation, "live")
        assert now["results"]["registration"] == {"active": "no"}
        assert (await told(service, api))[-1] == now
        assert data(await api.get("/v1/monitoring-subscriptions")) == [now]
        await api.close()
