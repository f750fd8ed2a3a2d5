"""The database keeps the rules of validation requests by itself, and answers their lists from indexes."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.checks import checks as organisation_checks
from almoner.nonprofits.organisations.domain import RegistryNumberTaken, UnlistedOrganisation
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.evidence import store as evidence_store
from almoner.platform.http.paging import RequestedPage
from almoner.platform.observability import selfcheck
from almoner.validation.requests import store as requests_store
from almoner.validation.requests.domain import REJECTION_REASONS, REQUEST, RequestFilters
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant, serving
from tests.support.validation import BODY, decided, requested

RECORD = "validation_request"
SPEC = {("pending", "accepted"), ("pending", "rejected"), ("rejected", "accepted")}
"""Settled 5: pending -> accepted | rejected, once; settled 4: an appeal makes rejected accepted."""


@pytest.fixture
async def pending(service: Service, api: Client) -> UUID:
    """A new request."""
    found = service.db.deployment.ids.decode("validationrequest", (await requested(api))["id"])
    assert found is not None
    return found


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


async def decide(tx: Tx, request_id: UUID, status: str, organisation_id: UUID) -> None:
    """Move it with all that belongs to its state, past the service."""
    await tx.execute(
        f"""
        update {RECORD} set status = $2::text, status_changed_at = $3,
            accepted_at = case $2::text when 'accepted' then $3::timestamptz end,
            organisation_id = case $2::text when 'accepted' then $4::uuid end,
            rejected_at = case $2::text when 'rejected' then $3::timestamptz end,
            rejection_reason_code = case $2::text when 'rejected' then 'other' end,
            rejection_reason = case $2::text when 'rejected' then 'x' end
        where id = $1
        """,
        request_id,
        status,
        tx.now,
        organisation_id,
    )


async def test_s1_the_moves_are_those_of_the_specification_in_code_and_database(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_transition where resource = $1", RECORD)
        checks = [
            await tx.fetchval("select pg_get_constraintdef(oid) from pg_constraint where conname = $1", name)
            for name in (f"{RECORD}_status_check", f"{RECORD}_rejection_reason_code_check")
        ]
    assert {tuple(row) for row in rows} == set(REQUEST.transitions()) == SPEC
    assert [set(re.findall(r"'(\w+)'", check)) for check in checks] == [REQUEST.states(), set(REJECTION_REASONS)]


@pytest.mark.parametrize("source", sorted(REQUEST.states()))
@pytest.mark.parametrize("target", sorted(REQUEST.states()))
async def test_s1_the_database_knows_no_other_moves(service: Service, pending: UUID, source: str, target: str) -> None:
    organisation = service.db.deployment.ids.decode("organisation", await factories.nonprofit(service))
    assert organisation is not None
    if source != "pending":
        async with service.db.write() as tx:
            await decide(tx, pending, source, organisation)
    if source == target:
        return
    if REQUEST.allows_transition(source, target) and source != "rejected":
        async with trial(service) as tx:
            await decide(tx, pending, target, organisation)
        return
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with service.db.write() as tx:
            await decide(tx, pending, target, organisation)
    by_appeal = (
        {"reversed_by_an_appeal"} if REQUEST.allows_transition(source, target) else set()
    )  # tests of appeals show it
    assert refused.value.constraint_name in (by_appeal or {f"lifecycle_{RECORD}", f"{RECORD}_immutable"})


@pytest.mark.parametrize(
    ("change", "broken"),
    [
        ("accepted_at = created_at", "validation_request_accepted"),
        ("organisation_id = (select id from organisation limit 1)", "validation_request_accepted"),
        ("rejected_at = created_at", "validation_request_rejected"),
        ("rejection_reason_code = 'other'", "validation_request_rejected"),
        ("rejection_reason = 'mood'", "validation_request_rejected"),
        ("organisation_types = '{club}'", "validation_request_organisation_types_check"),
        ("name = 'other'", "validation_request_immutable"),
        ("number_key = 'other'", "validation_request_corrected_and_kept"),
        ("partner_id = id", "validation_request_immutable"),
        ("created_at = created_at + interval '1 s'", "validation_request_immutable"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, pending: UUID, change: str, broken: str
) -> None:
    await factories.nonprofit(service)
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", pending) == broken


async def test_a_decision_stands_and_a_person_can_be_erased(service: Service, api: Client) -> None:
    made = await decided(service, api, name="test_accept", email="ada@example.org")
    request_id = service.db.deployment.ids.decode("validationrequest", made["id"])
    other = f"update {RECORD} set organisation_types = '{{}}' where id = $1"
    assert await refuses(service, other, request_id) == "validation_request_immutable"
    async with service.db.write() as tx:
        await tx.execute(f"update {RECORD} set email = null, address_line_1 = null where id = $1", request_id)


async def test_evidence_is_added_only(service: Service, api: Client) -> None:
    await decided(service, api)
    for sql in ("delete from evidence", "update evidence set id = id"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(sql)
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.db.write() as tx:
            await tx.execute(f"delete from {RECORD}")


async def test_a_document_of_another_partner_is_no_evidence(service: Service, api: Client, other: Client) -> None:
    ids = service.db.deployment.ids
    own, foreign = [ids.decode("validationrequest", (await requested(one))["id"]) for one in (api, other)]
    async with service.db.write() as tx:
        document = await tx.fetchval(
            """
            insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                                  status_changed_at, created_at, next_check_at)
            select $1, partner_id, 'image/png', 1, $2, $3, '{}', 'clean', created_at, created_at, created_at
            from validation_request where id = $4 returning id
            """,
            tx.new_id(),
            bytes(32),
            f"{uuid4().hex}00",
            foreign,
        )
    attach = "insert into validation_request_document select $1, $2, partner_id from validation_request where id = $2"
    assert "document" in str(await refuses(service, attach, document, own))


async def test_one_organisation_of_a_number_for_a_partner_and_publishing_it(service: Service, tenant: Tenant) -> None:
    new = UnlistedOrganisation(factories.IRS, "98-7654321", "987654321", "Somewhere Fund", "USA")
    other = (await service.tenant()).partner
    async with service.db.write() as tx:
        ours = await organisations.find_or_create_unlisted(tx, tenant.partner, new)
        assert (await organisations.find_or_create_unlisted(tx, tenant.partner, new)).id == ours.id
        second = await organisations.find_or_create_unlisted(tx, other, new)
        assert second.id != ours.id
    again = "insert into organisation select (o).* from (select o from organisation o where id = $1) x"
    assert await refuses(service, again, ours.id) == "organisation_pkey"
    async with service.db.write() as tx:
        await organisations.make_organisation_public(tx, ours.id)
        assert (await organisations.get(tx, ALL_PARTNERS, ours.id)).partner_id is None
        with pytest.raises(RegistryNumberTaken):
            await organisations.make_organisation_public(tx, second.id)
        with pytest.raises(NotFound):
            await organisations.make_organisation_public(tx, ours.id)
        found = await organisations.find_by_number_key(tx, other, factories.IRS, "987654321")
        assert found is not None
        assert found.id == ours.id


async def test_what_is_published_is_found_by_everybody(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        api, other = [service.client((await service.tenant()).secret) for _ in range(2)]
        made = await decided(service, api, name="test_accept", city="Zanesville")
        ids = service.db.deployment.ids
        organisation = ids.decode("organisation", made["organisationId"])
        assert organisation is not None
        for words in ("test accept", "zanesville"):
            assert [row["id"] for row in data(await api.get("/v1/organisations", query=words))] == [
                made["organisationId"]
            ]
            assert data(await other.get("/v1/organisations", query=words)) == []
        async with service.db.write() as tx:
            await organisations.make_organisation_public(tx, organisation)
        assert [row["id"] for row in data(await other.get("/v1/organisations", query="test accept"))] == [
            made["organisationId"]
        ]
        assert (await selfcheck.run_selfcheck(service.db, organisation_checks)).findings == ()
        for client in (api, other):
            await client.close()


async def fill(service: Service, partners: list[UUID]) -> None:
    """400 requests of each partner, half of them decided, that the planner knows of."""
    async with service.db.write() as tx:
        await tx.execute(
            f"""
            with made as (
                insert into {RECORD} (
                    id, partner_id, status, name, registry_id, registry_name, registry_number, number_key, website,
                    country_code, search_name, created_at, rejected_at, rejection_reason, rejection_reason_code,
                    status_changed_at
                )
                select gen_random_uuid(), p, case when n % 20 = 0 then 'pending' else 'rejected' end, 'fund ' || n, $2,
                    'IRS', n::text, lpad(n::text, 9, '0'), 'example.org', 'USA', 'fund ' || n,
                    $3::timestamptz + n * interval '1 h', case when n % 20 <> 0 then $3::timestamptz end,
                    case when n % 20 <> 0 then 'x' end, case when n % 20 <> 0 then 'other' end, $3
                from unnest($1::uuid[]) as p, generate_series(1, 400) as n returning id, partner_id
            )
            insert into evidence (
                id, kind, record_id, partner_id, occasion, outcome, reasons, facts, steps, recorded_at
            )
            select gen_random_uuid(), 'validation_request', id, partner_id, 'created', 'review', '{{not_listed}}',
                '{{"corrections": 0}}', '[{{"name": "status", "verdict": "pass", "code": "active"}}]', $3
            from made
           """,
            partners,
            factories.IRS,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, evidence")
    await connection.close()


async def test_lists_and_evidence_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        await fill(service, [partner.id for partner in partners])
        partner, now = partners[7], service.clock.now()
        first, last = RequestedPage(25, descending=True), RequestedPage(25, descending=False)
        async with service.db.read() as tx:
            some = await tx.fetchval(f"select id from {RECORD} where partner_id = $1 limit 1", partner.id)
        wanted: dict[str, tuple[RequestFilters, Any]] = {
            f"{RECORD}_partner_id_id_key": (RequestFilters(), "id"),
            f"{RECORD}_status": (RequestFilters(status="pending"), "id"),
            f"{RECORD}_name": (RequestFilters(), "name"),
            f"{RECORD}_created": (
                RequestFilters(created_from=now, created_before=now.replace(year=now.year + 1)),
                "id",
            ),
        }
        for index, (filters, sort) in wanted.items():
            for page in (first, last):
                assert index in await used(service, partner, filters, page, sort), (index, page)
        assert await used(service, partner, RequestFilters(search_words=("fund", "000000399")), first, "id")
        assert f"{RECORD}_words" not in await used(service, partner, RequestFilters(search_words=("fu",)), first, "id")
        async with service.db.read() as reading:
            explaining: Any = Explaining(reading)
            assert await evidence_store.list_evaluations(explaining, some)
            assert await evidence_store.find_latest_evaluation(explaining, some, facts={"corrections": 0})
            assert await requests_store.list_pending_request_ids(explaining, factories.IRS, UUID(int=0), 10)
            assert await requests_store.find(explaining, partner, some)
            assert await requests_store.load_request_ids_by_document_id(explaining, [some]) == {}
        assert explaining.scans() <= {"validation_request_document"}, explaining.scans()
        assert {"evidence_pkey", f"{RECORD}_pending"} <= explaining.indexes()


async def used(service: Service, partner: Partner, filters: RequestFilters, page: RequestedPage, sort: Any) -> set[str]:
    """The indexes that answer a list, which reads no table whole."""
    async with service.db.read() as reading:
        tx: Any = Explaining(reading)
        rows, total = await requests_store.list_page(tx, partner, page, filters, sort)
        assert rows
        assert total or (filters == RequestFilters() and sort == "id"), "the counters were passed by"
    assert not tx.scans() - {"list_counter"}, tx.scans()
    indexes: set[str] = tx.indexes()
    return indexes


async def test_numbers_of_the_same_body_have_one_key(service: Service, api: Client) -> None:
    made = [await requested(api, registryId=number) for number in (BODY["registryId"], "850196605", "US-EIN-850196605")]
    ids = service.db.deployment.ids
    async with service.db.read() as tx:
        keys = [
            await tx.fetchval(
                f"select number_key from {RECORD} where id = $1", ids.decode("validationrequest", one["id"])
            )
            for one in made
        ]
    assert set(keys) == {"850196605"}
