"""The page of an application, and what is forgotten with it, are answered from indexes; rows keep their promises."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.platform.db import EVERYONE
from almoner.validation.agents import store_mails as questions
from almoner.validation.appeals import store as appeals
from almoner.validation.applications import status_views
from almoner.validation.applications import store as applications
from almoner.validation.submission_documents import store as documents
from tests.store.test_submissions import fill
from tests.support import appeals as made
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.service import Service, serving
from tests.support.submissions import applied, ended

TABLES = (
    "appeal, application_language, application_link, agent_question, validation_submission, agent_verification, "
    "validation_request, validation_submission_document, document, partner, hosted_configuration"
)


async def surround(service: Service) -> UUID:
    """An appeal, a language, a link that was mailed and a question to a nonprofit, of thousands; one failed one."""
    async with service.db.write() as tx:
        for sql in (
            """
            insert into appeal
            select gen_random_uuid(), partner_id, id, 'Look again', 'applicant', '{}', '{}', 'upheld', created_at,
                created_at + interval '14 days', created_at + n * interval '1 min', 'sandbox', created_at
            from (select *, row_number() over () as n from validation_submission where status = 'failed') s
            """,
            """
            insert into application_language
            select id, partner_id, 'de', created_at from validation_submission where status = 'failed'
            """,
            "insert into application_link select id, partner_id, array[created_at] from validation_submission",
            """
            insert into agent_question
            select gen_random_uuid(), id, 'office@example.org', created_at, created_at + n * interval '1 min'
            from (select *, row_number() over () as n from agent_verification) a
            """,
        ):
            await tx.execute(sql)
        sql = "select id from validation_submission where status = 'failed' order by id offset 5000 limit 1"
        found = await tx.fetchval(sql)
    connection = await asyncpg.connect(service.database.owner_dsn)
    await connection.execute(f"vacuum analyze {TABLES}")
    await connection.close()
    return UUID(str(found))


async def test_the_page_of_an_application_is_answered_from_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await fill(service, [(await service.tenant()).partner.id for _ in range(50)])
        submission = await surround(service)
        async with service.db.read() as reading:
            asking: Any = Explaining(reading)
            known = await status_views.know(asking, submission)
            assert (known.language, known.appeal is None, known.submission.status) == ("de", False, "failed")
            assert await status_views.language_of(asking, submission) == "de"
            assert len(await applications.links_mailed(asking, EVERYONE, submission)) == 1
            assert await applications.sent_with(asking, EVERYONE, submission) is None
            assert await documents.submission_of(asking, EVERYONE, submission) is None
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


async def test_what_is_to_be_forgotten_is_found_by_an_index_however_much_there_is(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        await fill(service, [(await service.tenant()).partner.id for _ in range(50)])
        await surround(service)
        async with service.db.write() as tx:
            asking: Any = Explaining(tx)
            first = await appeals.next_forgotten(asking, EVERYONE)
            assert first is not None
            assert await appeals.forget(asking, EVERYONE, first, 10) == 1
            first = await questions.next_forgotten(asking, EVERYONE)
            assert first is not None
            assert await questions.forget_questions(asking, EVERYONE, first, 10) == 1
        assert not asking.scans() & {"appeal", "agent_question"}
        assert {"appeal_to_forget", "agent_question_to_forget"} <= asking.indexes()


@pytest.mark.parametrize(
    ("open_too", "change"),
    [
        (True, "text = null"),
        (True, "text = 'Another'"),
        (False, "text = 'Another'"),
        (False, "decided_by = 'sandbox_operator_x'"),
        (False, "overruled = '{compliance}'"),
    ],
)
async def test_what_an_appeal_says_is_forgotten_after_its_decision_and_not_changed(
    service: Service, api: Client, *, open_too: bool, change: str
) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    one = await made.made(api, failed)
    if not open_too:
        await made.decide(service, one, "rejected")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(f"update appeal set {change} where id = $1", made.id_of(service, one))
    assert refused.value.constraint_name in {"appeal_promise", "appeal_says"}
