"""The database keeps the rules of submissions and configurations by itself, and answers their lists from indexes."""

from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.db import EVERYONE, Partner
from almoner.platform.http.paging import Page
from almoner.validation.agents import store as agents
from almoner.validation.agents.domain import Ended
from almoner.validation.submissions import domain as submissions
from almoner.validation.submissions import parts, store, store_earlier, store_forgetting
from almoner.validation.submissions.domain import SUBMISSION, Filters
from tests.support import factories
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant, serving
from tests.support.submissions import applied, configured, ended, of_organisation

RECORD = "validation_submission"


async def named(service: Service, record: dict[str, Any]) -> UUID:
    """The id that the database knows."""
    found = service.db.deployment.ids.parse("validationsubmission", record["id"])
    assert found is not None
    return found


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_s1_the_moves_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_move where resource = $1", RECORD)
    assert {tuple(row) for row in rows} == set(SUBMISSION.arrows())


@pytest.mark.parametrize(
    ("target", "also"),
    [("pending", "failure_reasons = null, processed_at = null"), ("failed", "failure_reasons = '{}'")],
)
async def test_s1_an_answer_stays(service: Service, api: Client, target: str, also: str) -> None:
    made = await of_organisation(service, api, firstName="test_accept")
    assert (await ended(service, api, made))["status"] == "succeeded"
    sql = f"update {RECORD} set status = $2, {also} where id = $1"
    assert await refuses(service, sql, await named(service, made), target) == f"lifecycle_{RECORD}"


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'failed', processed_at = now()", "failed"),
        ("status = 'succeeded'", "processed"),
        ("failure_reasons = '{}'", "failed"),
        ("metadata = '[]'", "metadata_check"),
        ("country_code = 'us'", "promise"),
        ("checks = '{compliance}'", "promise"),
        ("validation_request_id = null", "promise"),
        ("agent_verification_id = null", "applicant_corrected"),
        ("monitoring_subscription_id = null", "promise"),
        ("eligibility_subscription_id = null", "promise"),
        ("organisation_name = 'Another'", "promise"),
        ("email = 'ada@example.org'", "applicant"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, api: Client, change: str, constraint: str
) -> None:
    made = await named(service, await applied(api))
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", made) == f"{RECORD}_{constraint}"


async def test_an_organisation_is_filled_in_once(service: Service, api: Client) -> None:
    made = await named(service, await of_organisation(service, api))
    other = service.db.deployment.ids.parse("organisation", await factories.nonprofit(service))
    sql = f"update {RECORD} set organisation_id = $2 where id = $1"
    assert await refuses(service, sql, made, other) == f"{RECORD}_promise"


_COPY = f"""
insert into {RECORD} (
    id, partner_id, configuration_id, validation_invite_id, status, checks, organisation_id, validation_request_id,
    monitoring_subscription_id, eligibility_subscription_id, agent_verification_id, organisation_name, country_code,
    search_name, language, created_at, status_changed_at
) select gen_random_uuid(), {{partner}}, configuration_id, {{invite}}, status, checks, organisation_id,
    validation_request_id, {{monitoring}}, {{eligibility}}, {{agent}}, organisation_name, country_code, search_name,
    language, created_at, status_changed_at
from {RECORD} where id = $1
"""


async def test_each_check_and_each_invite_is_of_one_submission(service: Service, api: Client, other: Client) -> None:
    invite = data(await api.post("/v1/validation-invites", {}))["id"]
    made = await named(service, await applied(api, validationInviteId=invite))
    own = {
        "partner": "partner_id",
        "invite": "validation_invite_id",
        "monitoring": "monitoring_subscription_id",
        "eligibility": "eligibility_subscription_id",
        "agent": "agent_verification_id",
    }
    for kind in ("invite", "monitoring", "eligibility", "agent"):
        without = {k: v if k in (kind, "partner") else "null" for k, v in own.items()}
        broken = await refuses(service, _COPY.format(**without), made)
        assert broken is not None
        assert broken.startswith(RECORD), kind
    # What another partner has is nobody's check here.
    theirs = await named(service, await applied(other))
    stolen = f"""
        update {RECORD} set validation_request_id = (select validation_request_id from {RECORD} where id = $2)
        where id = $1
    """
    assert await refuses(service, stolen, made, theirs) == f"{RECORD}_promise"
    partner = f"(select partner_id from {RECORD} where id = '{theirs}')"
    broken = await refuses(service, _COPY.format(**{**own, "partner": partner, "invite": "null"}), made)
    assert broken is not None


async def test_there_is_one_default_configuration(service: Service, api: Client) -> None:
    await configured(api)
    assert (
        await refuses(service, "update hosted_configuration set is_default = true where not is_default")
        == "hosted_configuration_default"
    )


@pytest.mark.parametrize(
    "change",
    [
        "checks = '{}'",
        "checks = '{other}'",
        "compliance_flags = '{other}'",
        "allowed_organisation_types = '{}'",
        "allowed_activity_sub_tags = '{}'",
        "primary_color = 'red'",
        "partner_fields = '{}'",
        "display_name = ''",
    ],
)
async def test_configurations_hold_what_they_may(service: Service, tenant: Tenant, change: str) -> None:
    sql = f"update hosted_configuration set {change} where partner_id = $1"
    assert await refuses(service, sql, tenant.partner.id) is not None


async def fill(service: Service, partners: list[UUID]) -> None:
    """400 submissions of each partner, one in twenty of them pending, that the planner knows of."""
    async with service.db.write() as tx:
        await tx.execute(
            f"""
            with requests as (
                insert into validation_request (
                    id, partner_id, status, name, registry_id, registry_name, registry_number, number_key, website,
                    country_code, search_name, created_at, status_changed_at
                )
                select gen_random_uuid(), p, 'pending', 'Fund ' || n, $2, 'IRS', 'n' || n, 'n' || n, 'a.example',
                    'USA', 'fund ' || n, $3, $3
                from unnest($1::uuid[]) as p, generate_series(1, 400) as n returning id, partner_id, search_name
            ), agents as (
                insert into agent_verification (
                    id, partner_id, validation_request_id, first_name, last_name, email, language, email_check, status,
                    created_at, expires_at, status_changed_at
                )
                select gen_random_uuid(), partner_id, id, 'Ada', 'E', replace(search_name, ' ', '') || '@example.org',
                    'en', true, 'pending', $3, $3::timestamptz + interval '30 days', $3
                from requests returning id, partner_id, validation_request_id
            ), numbered as (
                select a.*, row_number() over (partition by a.partner_id order by a.id) as n from agents a
            )
            insert into {RECORD} (
                id, partner_id, configuration_id, status, checks, validation_request_id, agent_verification_id,
                organisation_name, country_code, search_name, language, failure_reasons, created_at, processed_at,
                status_changed_at
            )
            select gen_random_uuid(), a.partner_id, c.id,
                case n % 20 when 0 then 'pending' when 13 then 'processed' else 'failed' end,
                '{{validation_request,agent_verification}}', validation_request_id, a.id, 'Fund ' || n,
                case when n % 40 = 0 then 'GBR' else 'USA' end, 'fund ' || n, 'en',
                case when n % 20 not in (0, 13) then '{{}}'::jsonb end, $3,
                case when n % 20 <> 0 then $3::timestamptz end, $3
            from numbered a join hosted_configuration c on c.partner_id = a.partner_id
            """,
            partners,
            factories.IRS,
            tx.now,
        )
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"analyze {RECORD}, agent_verification, validation_request, organisation")
    await connection.close()


async def test_lists_and_reactions_are_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        await fill(service, [partner.id for partner in partners])
        partner = partners[7]
        async with service.db.read() as tx:
            some = await tx.fetchrow(
                f"select * from {RECORD} where partner_id = $1 and status = 'pending' limit 1", partner.id
            )
        assert some is not None
        wanted: list[tuple[Filters, str]] = [
            (Filters(), "partner_id_id_key"),
            (Filters(statuses=("pending",)), "status"),
            (Filters(configuration_ids=(some["configuration_id"],)), ""),  # all of the partner
            (Filters(validation_request_ids=(some["validation_request_id"],)), "of_request"),
            (Filters(country_codes=("GBR",)), "country"),
            (Filters(email="FUND7@example.org"), "of_agent"),
            (Filters(words=("fund", "399")), ""),  # of few, all of the partner
            (Filters(words=("fu",)), ""),
        ]
        for filters, index in wanted:
            for page in (Page(25, descending=True), Page(25, descending=False)):
                async with service.db.read() as reading:
                    asking: Any = Explaining(reading)
                    rows, _ = await store.page(asking, partner, page, filters)
                assert rows, filters
                assert not asking.scans() & {RECORD, "agent_verification"}, filters
                assert not index or f"{RECORD}_{index}" in asking.indexes(), (filters, asking.indexes())
        nobody = Filters(organisation_ids=(uuid4(),))
        async with service.db.read() as reading:
            asking = Explaining(reading)
            assert await store.page(asking, partner, Page(25, descending=True), nobody) == ([], 0)
            rows, _ = await store.page(reading, partner, Page(25, descending=True), Filters())
            assert len(await parts.read(asking, partner, rows)) == len(rows)
            assert await store.of_checks(asking, EVERYONE, "validation_request", [some["validation_request_id"]])
            assert await store.of_checks(asking, EVERYONE, "agent_verification", [some["agent_verification_id"]])
            assert await store.of_checks(asking, EVERYONE, "compliance", [uuid4()]) == []
            assert await store.of_checks(asking, EVERYONE, "eligibility", [uuid4()]) == []
            assert await store.undecided(asking, partner, some["configuration_id"])
            assert await store.alone(asking, EVERYONE, [some["id"]]) == {some["id"]}
            several = [row["id"] for row in await reading.fetch(f"select id from {RECORD} limit 100")]
            assert await store.alone(asking, EVERYONE, several) == set(several)
        assert not asking.scans() & {RECORD, "agent_verification", "validation_request"}
        assert {f"{RECORD}_of_{check}" for check in ("organisation", "request", "agent")} <= asking.indexes()
        assert "agent_verification_of_request" in asking.indexes()


async def test_the_appeals_of_a_page_are_found_by_an_index(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await fill(service, [(await service.tenant()).partner.id for _ in range(10)])
        connection = await asyncpg.connect(service.database.owner_dsn)
        await connection.execute(
            f"""
            insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, status,
                created_at, due_at, status_changed_at)
            select gen_random_uuid(), partner_id, id, 'Why?', 'partner', '{{}}', 'open', created_at,
                created_at + interval '14 days', created_at
            from {RECORD} where status = 'failed'
            """
        )
        await connection.execute("analyze appeal")
        await connection.close()
        async with service.db.read() as reading:
            asking: Any = Explaining(reading)
            page = [
                row["id"] for row in await reading.fetch(f"select id from {RECORD} where status = 'failed' limit 25")
            ]
            assert set(await store.appeals_of(asking, EVERYONE, page)) == set(page)
        assert "appeal_of_submission" in asking.indexes()
        assert "appeal" not in asking.scans()


async def test_a_page_of_submissions_costs_a_handful_of_statements(service: Service, api: Client) -> None:
    counted = []
    for _ in range(2):
        for _ in range(3):
            await applied(api)
        answer = await api.get("/v1/validation-submissions")
        assert answer.status_code == 200
        async with service.db.read() as reading:
            asking: Any = Explaining(reading)
            tenant = await reading.fetchval(
                f"select partner_id from {RECORD} where id = $1", await named(service, data(answer)[0])
            )
            rows, _ = await store.page(asking, Partner(tenant), Page(25, descending=True), Filters())
            await parts.read(asking, Partner(tenant), rows)
        counted.append(len(asking.plans))
    assert counted[0] == counted[1]


@pytest.mark.parametrize(
    ("ended", "status", "index"),
    [("answered", "failed", f"{RECORD}_to_forget"), ("undecided", "processed", f"{RECORD}_undecided_to_forget")],
)
async def test_what_is_to_be_forgotten_is_found_by_an_index_however_much_there_is(
    empty_database: TestDatabase, ended: submissions.Ended, status: str, index: str
) -> None:
    async with serving(empty_database) as service:
        await fill(service, [(await service.tenant()).partner.id for _ in range(50)])
        connection = await asyncpg.connect(service.database.owner_dsn)
        await connection.execute(
            f"""
            update {RECORD} set partner_fields = '{{"use": "x"}}'
            where status = $1 and organisation_name like '%3'
            """,
            status,
        )
        await connection.execute(f"vacuum analyze {RECORD}")
        await connection.close()
        async with service.db.write() as tx:
            asking: Any = Explaining(tx)
            assert await store_forgetting.next_forgotten(asking, EVERYONE, ended, tx.now) == tx.now
            assert await store_forgetting.forget(asking, EVERYONE, ended, tx.now, 10) == 10
        assert RECORD not in asking.scans()
        assert index in asking.indexes()


@pytest.mark.parametrize("ended", ["unconfirmed", "rejected"])
async def test_agents_to_forget_are_found_by_indexes_however_many_applications_wait(
    empty_database: TestDatabase, ended: Ended
) -> None:
    async with serving(empty_database) as service:
        await fill(service, [(await service.tenant()).partner.id for _ in range(50)])
        connection = await asyncpg.connect(service.database.owner_dsn)
        await connection.execute(
            """
            update agent_verification set status = 'rejected', rejection_code = 'user_verification_expired',
                expires_at = null, processed_at = created_at
            """
        )
        await connection.execute(f"vacuum analyze {RECORD}, agent_verification")
        await connection.close()
        async with service.db.write() as tx:
            asking: Any = Explaining(tx)
            assert await agents.next_forgotten(asking, EVERYONE, ended, tx.now) == tx.now
            assert len(await agents.forget(asking, EVERYONE, ended, tx.now, 10)) == 10
            waiting = await tx.fetchval(
                f"""
                select count(*) from {RECORD} s join agent_verification a on a.id = s.agent_verification_id
                where s.status = 'pending' and a.email is null
                """
            )
        assert waiting == 0
        assert not asking.scans() & {RECORD, "agent_verification"}
        assert asking.indexes() & {"agent_verification_ended", "agent_verification_to_forget"}
        assert f"{RECORD}_of_agent" in asking.indexes()


async def test_earlier_applications_are_found_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        partners = [(await service.tenant()).partner for _ in range(50)]
        await fill(service, [partner.id for partner in partners])
        async with service.db.read() as reading:
            sql = f"select validation_request_id from {RECORD} where partner_id = $1 limit 1"
            request = await reading.fetchval(sql, partners[7].id)
            asking: Any = Explaining(reading)
            partner = partners[7]
            assert len(await store_earlier.earlier(asking, partner, None, [request], [], 100)) == 1
            assert await store_earlier.earlier(asking, partner, [uuid4()], None, ["fund"], 100) == []
            assert len(await store_earlier.earlier(asking, partner, None, None, ["fund", "399"], 100)) == 1
            assert len(await store_earlier.earlier(asking, partner, None, None, ["fu"], 100)) == 100
        assert RECORD not in asking.scans()


async def test_a_rare_word_of_an_earlier_application_is_found_by_the_index_of_words(
    empty_database: TestDatabase,
) -> None:
    async with serving(empty_database) as service:
        partner = (await service.tenant()).partner
        await fill(service, [partner.id] * 25)
        connection = await asyncpg.connect(service.database.owner_dsn)
        await connection.execute(f"vacuum analyze {RECORD}")  # what is new waits beside the index until then
        await connection.close()
        async with service.db.read() as reading:
            asking: Any = Explaining(reading)
            assert await store_earlier.earlier(asking, partner, None, None, ["nobody", "fund"], 100) == []
        assert RECORD not in asking.scans()
        assert f"{RECORD}_words" in asking.indexes()
