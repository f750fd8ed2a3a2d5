"""Lists of applications, their pages and what is forgotten of them: answered from indexes however many there are."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.agents import store as agents_store
from almoner.validation.agents import store_mails as agents_store_mails
from almoner.validation.agents.domain import EndReason
from almoner.validation.applications.form import status_views
from almoner.validation.applications.form import store as form_store
from almoner.validation.applications.submission_documents import store as submission_documents_store
from almoner.validation.applications.submissions import domain as submissions_domain
from almoner.validation.applications.submissions import loader
from almoner.validation.applications.submissions import store as submissions_store
from almoner.validation.applications.submissions import store_erasure as submissions_store_erasure
from almoner.validation.applications.submissions import store_previous as submissions_store_previous
from almoner.validation.applications.submissions.domain import SubmissionFilters
from almoner.validation.decisions.appeals import store as appeals_store
from tests.support import database, factories
from tests.support.planning import Connection
from tests.support.plans import Explaining
from tests.support.service import Service, serving

RECORD = "validation_submission"
TABLES = (
    "appeal, application_language, application_link, requested_evidence, agent_representation_request, "
    "validation_submission, "
    "agent_verification, "
    "validation_request, validation_submission_document, document, partner, hosted_configuration, organisation"
)


@dataclass(frozen=True, slots=True)
class World:
    """Applications of many partners: ``large`` has ten thousand, ``partner`` 400 like each of the others."""

    service: Service
    large: Partner
    partner: Partner


class _UndoneError(Exception):
    pass


@asynccontextmanager
async def undone(service: Service) -> AsyncIterator[Tx]:
    """A transaction of which nothing stays for the next test."""
    with suppress(_UndoneError):
        async with service.db.write() as tx:
            yield tx
            raise _UndoneError


@pytest.fixture(scope="module")
async def world(postgres_server: PostgresServer) -> AsyncIterator[World]:
    """With what is written beside thousands of applications, that the planner knows of."""
    async with database.copied(postgres_server) as made, serving(made) as service:
        large, *others = [(await service.tenant()).partner for _ in range(26)]
        connection = await asyncpg.connect(postgres_server.superuser_url(made.name))
        await connection.execute("set session_replication_role = replica")  # no trigger looks at row after row
        await fill(connection, [*[large.id] * 25, *(one.id for one in others)], service.clock.now())
        await surround(connection)
        await connection.execute(f"vacuum analyze {TABLES}")  # what is new waits beside the index of words until then
        await connection.close()
        yield World(service, large, others[7])


async def fill(connection: Connection, partners: list[UUID], now: datetime) -> None:
    """400 applications of each partner: most failed, some to be forgotten, one in twenty waits for an agent."""
    await connection.execute(
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
                rejection_code, created_at, processed_at, status_changed_at
            )
            select gen_random_uuid(), partner_id, id, 'Ada', 'E', replace(search_name, ' ', '') || '@example.org',
                'en', true, 'rejected', 'user_verification_expired', $3, $3, $3
            from requests returning id, partner_id, validation_request_id
        ), numbered as (
            select a.*, row_number() over (partition by a.partner_id order by a.id) as n from agents a
        )
        insert into {RECORD} (
            id, partner_id, configuration_id, status, checks, validation_request_id, agent_verification_id,
            organisation_name, country_code, search_name, language, failure_reasons, partner_fields, created_at,
            processed_at, status_changed_at
        )
        select gen_random_uuid(), a.partner_id, c.id,
            case n % 20 when 0 then 'pending' when 13 then 'processed' else 'failed' end,
            '{{validation_request,agent_verification}}', validation_request_id, a.id, 'Fund ' || n,
            case when n % 40 = 0 then 'GBR' else 'USA' end, 'fund ' || n, 'en',
            case when n % 20 not in (0, 13) then '{{}}'::jsonb end,
            case when n % 10 = 3 then '{{"use": "x"}}'::jsonb end, $3,
            case when n % 20 <> 0 then $3::timestamptz end, $3
        from numbered a join hosted_configuration c on c.partner_id = a.partner_id
        """,
        partners,
        factories.IRS,
        now,
    )


async def surround(connection: Connection) -> None:
    """Beside each that failed: an appeal and a language; beside each: a mailed link, and a question to a nonprofit."""
    await connection.execute(
        """
        insert into appeal
        select gen_random_uuid(), partner_id, id, 'Look again', 'applicant', '{}', '{}', 'upheld', made,
            made + interval '14 days', made + n * interval '1 min', 'sandbox', made
        from (
            select *, created_at - interval '1 month' as made, row_number() over () as n
            from validation_submission where status = 'failed'
        ) s;
        insert into application_language
        select id, partner_id, 'de', created_at from validation_submission where status = 'failed';
        insert into application_link select id, partner_id, array[created_at] from validation_submission;
        insert into requested_evidence
        select id, 'validation_request', partner_id, 'governing_document', 'operator_x', created_at
        from validation_submission where status = 'pending';
        insert into agent_representation_request
        select gen_random_uuid(), id, 'office@example.org', created_at, created_at + n * interval '1 min'
        from (select *, row_number() over () as n from agent_verification) a
        """
    )


async def test_lists_and_reactions_are_answered_from_indexes(world: World) -> None:
    db, partner = world.service.db, world.partner
    async with db.read() as tx:
        some = await tx.fetchrow(
            f"select * from {RECORD} where partner_id = $1 and status = 'pending' limit 1", partner.id
        )
    assert some is not None
    wanted: list[tuple[SubmissionFilters, str]] = [
        (SubmissionFilters(), "partner_id_id_key"),
        (SubmissionFilters(statuses=("pending",)), "status"),
        (SubmissionFilters(configuration_ids=(some["configuration_id"],)), ""),  # all of the partner
        (SubmissionFilters(validation_request_ids=(some["validation_request_id"],)), "of_request"),
        (SubmissionFilters(country_codes=("GBR",)), "country"),
        (SubmissionFilters(email="FUND7@example.org"), "of_agent"),
        (SubmissionFilters(search_words=("fund", "399")), ""),  # of few, all of the partner
        (SubmissionFilters(search_words=("fu",)), ""),
    ]
    for filters, index in wanted:
        for page in (RequestedPage(25, descending=True), RequestedPage(25, descending=False)):
            async with db.read() as reading:
                asking: Any = Explaining(reading)
                rows, _ = await submissions_store.list_page(asking, partner, page, filters)
            assert rows, filters
            assert not asking.scans() & {RECORD, "agent_verification"}, filters
            assert not index or f"{RECORD}_{index}" in asking.indexes(), (filters, asking.indexes())
    nobody = SubmissionFilters(organisation_ids=(uuid4(),))
    async with db.read() as reading:
        asking = Explaining(reading)
        assert await submissions_store.list_page(asking, partner, RequestedPage(25, descending=True), nobody) == ([], 0)
        rows, _ = await submissions_store.list_page(
            reading, partner, RequestedPage(25, descending=True), SubmissionFilters()
        )
        assert len(await loader.load_submissions(asking, partner, rows)) == len(rows)
        assert await submissions_store.list_open_submission_ids(
            asking, "validation_request", [some["validation_request_id"]]
        )
        assert await submissions_store.list_open_submission_ids(
            asking, "agent_verification", [some["agent_verification_id"]]
        )
        assert await submissions_store.list_open_submission_ids(asking, "compliance", [uuid4()]) == []
        assert await submissions_store.list_open_submission_ids(asking, "eligibility", [uuid4()]) == []
        assert await submissions_store.list_undecided_submission_ids(asking, partner, some["configuration_id"])
        assert await submissions_store.filter_submission_ids_with_exclusive_request(asking, [some["id"]]) == {
            some["id"]
        }
        several = [row["id"] for row in await reading.fetch(f"select id from {RECORD} limit 100")]
        assert await submissions_store.filter_submission_ids_with_exclusive_request(asking, several) == set(several)
    assert not asking.scans() & {RECORD, "agent_verification", "validation_request"}
    assert {f"{RECORD}_of_{check}" for check in ("organisation", "request", "agent")} <= asking.indexes()
    assert "agent_verification_of_request" in asking.indexes()


async def test_the_appeals_of_a_page_are_found_by_an_index(world: World) -> None:
    async with world.service.db.read() as reading:
        asking: Any = Explaining(reading)
        failed = await reading.fetch(f"select id from {RECORD} where status = 'failed' limit 25")
        page = [row["id"] for row in failed]
        assert set(await submissions_store.load_latest_appeals_by_submission(asking, page)) == set(page)
    assert "appeal_of_submission" in asking.indexes()
    assert "appeal" not in asking.scans()


@pytest.mark.parametrize(
    ("ended", "index"), [("answered", f"{RECORD}_to_erase"), ("undecided", f"{RECORD}_undecided_to_erase")]
)
async def test_what_is_to_be_forgotten_is_found_by_an_index_however_much_there_is(
    world: World, ended: submissions_domain.EndState, index: str
) -> None:
    async with undone(world.service) as tx:
        asking: Any = Explaining(tx)
        assert await submissions_store_erasure.find_earliest_unerased_submission_end(asking, ended, tx.now) == tx.now
        assert await submissions_store_erasure.erase_personal_data(asking, ended, tx.now, 10) == 10
    assert RECORD not in asking.scans()
    assert index in asking.indexes()


@pytest.mark.parametrize("ended", ["unconfirmed", "rejected"])
async def test_agents_to_forget_are_found_by_indexes_however_many_applications_wait(
    world: World, ended: EndReason
) -> None:
    async with undone(world.service) as tx:
        asking: Any = Explaining(tx)
        assert await agents_store.find_earliest_unerased_verification_end(asking, ended, tx.now) == tx.now
        assert len(await agents_store.erase_personal_data(asking, ended, tx.now, 10)) == 10
        waiting = await tx.fetchval(
            f"""
            select count(*) from {RECORD} s join agent_verification a on a.id = s.agent_verification_id
            where s.status = 'pending' and a.email is null
            """
        )
    assert waiting == 0
    assert not asking.scans() & {RECORD, "agent_verification"}
    assert asking.indexes() & {"agent_verification_ended", "agent_verification_to_erase"}
    assert f"{RECORD}_of_agent" in asking.indexes()


async def test_earlier_applications_are_found_from_indexes(world: World) -> None:
    partner = world.partner
    async with world.service.db.read() as reading:
        sql = f"select validation_request_id from {RECORD} where partner_id = $1 limit 1"
        request = await reading.fetchval(sql, partner.id)
        asking: Any = Explaining(reading)
        assert (
            len(await submissions_store_previous.list_previous_applications(asking, partner, None, [request], [], 100))
            == 1
        )
        assert (
            await submissions_store_previous.list_previous_applications(asking, partner, [uuid4()], None, ["fund"], 100)
            == []
        )
        assert (
            len(
                await submissions_store_previous.list_previous_applications(
                    asking, partner, None, None, ["fund", "399"], 100
                )
            )
            == 1
        )
        assert (
            len(await submissions_store_previous.list_previous_applications(asking, partner, None, None, ["fu"], 100))
            == 100
        )
    assert RECORD not in asking.scans()


async def test_a_rare_word_of_an_earlier_application_is_found_by_the_index_of_words(world: World) -> None:
    async with world.service.db.read() as reading:
        asking: Any = Explaining(reading)
        assert (
            await submissions_store_previous.list_previous_applications(
                asking, world.large, None, None, ["nobody", "fund"], 100
            )
            == []
        )
    assert RECORD not in asking.scans()
    assert f"{RECORD}_words" in asking.indexes()


async def test_the_page_of_an_application_is_answered_from_indexes(world: World) -> None:
    async with world.service.db.read() as reading:
        sql = f"select id from {RECORD} where status = 'failed' order by id offset 5000 limit 1"
        submission = await reading.fetchval(sql)
        asking: Any = Explaining(reading)
        known = await status_views.load_application_status(asking, submission)
        assert (known.language, known.appeal is None, known.submission.status) == ("de", False, "failed")
        assert await status_views.get_application_language(asking, submission) == "de"
        assert len(await form_store.list_application_link_send_times(asking, submission)) == 1
        assert await form_store.find_submission_id_and_creation_time(asking, submission) is None
        assert await submission_documents_store.find_by_document_id(asking, submission) is None
    # These are small or empty here; tests of their own look at them.
    small = {"partner", "hosted_configuration", "document", "organisation_contact", "organisation"}
    assert asking.scans() <= {*small, "validation_submission_document"}, asking.scans()
    assert {
        "validation_submission_pkey",
        "application_language_pkey",
        "application_link_pkey",
        "appeal_of_submission",
        "validation_submission_of_invite",
    } <= asking.indexes()
    assert len(asking.plans) <= 24, len(asking.plans)


async def test_appeals_and_questions_to_forget_are_found_by_an_index(world: World) -> None:
    async with undone(world.service) as tx:
        asking: Any = Explaining(tx)
        first = await appeals_store.find_earliest_unerased_decision_time(asking)
        assert first is not None
        assert await appeals_store.erase_appeal_texts(asking, first, 10) == 1
        first = await agents_store_mails.find_earliest_unerased_representation_request_end(asking)
        assert first is not None
        assert await agents_store_mails.erase_representation_requests(asking, first, 10) == 1
    assert not asking.scans() & {"appeal", "agent_representation_request"}
    assert {"appeal_to_erase", "agent_representation_request_to_erase"} <= asking.indexes()
