"""What the database itself promises of appeals, whoever writes to it."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.validation.applications.submissions import service as submissions
from almoner.validation.decisions.appeals import domain as appeals_domain
from almoner.validation.decisions.appeals import store as appeals_store
from almoner.validation.decisions.appeals.domain import APPEAL
from tests.support import appeals
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.plans import Explaining
from tests.support.service import Service, serving
from tests.support.submissions import PATH, applied, configured, ended


async def refused(service: Service, api: Client) -> dict[str, Any]:
    """A submission that failed."""
    alone = await configured(api, "validation_request")
    made = await applied(api, organisationName="test_reject_other", configurationId=alone)
    return await ended(service, api, made)


async def run(service: Service, statement: str, *values: object) -> None:
    """Write as the service's own role may."""
    async with service.db.write() as tx:
        await tx.execute(statement, *values)


async def test_the_arrows_in_the_database_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_transition where resource = 'appeal'")
    assert sorted(tuple(row) for row in rows) == list(APPEAL.transitions())


async def test_nobody_judges_their_own_decision(service: Service, api: Client) -> None:
    appeal = appeals.id_of(service, await appeals.made(api, await refused(service, api)))
    with pytest.raises(asyncpg.CheckViolationError, match="appeal_by_another"):
        await run(
            service,
            """
            insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, status,
                                created_at, due_at, decided_at, decided_by, status_changed_at)
            select gen_random_uuid(), partner_id, validation_submission_id, text, appellant, array['operator_a'],
                'upheld', created_at, due_at, created_at, 'operator_a', created_at from appeal where id = $1
            """,
            appeal,
        )


async def test_one_appeal_is_open_at_a_time(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    answers = await asyncio.gather(
        *(api.post(f"{PATH}/{failed['id']}/appeals", {"text": f"Appeal {number}"}) for number in range(4))
    )
    assert sorted(answer.status_code for answer in answers) == [200, 400, 400, 400]
    with pytest.raises(asyncpg.UniqueViolationError, match="appeal_open"):
        await run(
            service,
            """
            insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, status,
                                created_at, due_at, status_changed_at)
            select gen_random_uuid(), partner_id, validation_submission_id, text, appellant, '{}', status, created_at,
                due_at, created_at from appeal where status = 'open'
            """,
        )


async def test_what_did_not_fail_is_not_appealed_against(service: Service, api: Client) -> None:
    pending = service.db.deployment.ids.decode("validationsubmission", (await applied(api))["id"])
    with pytest.raises(asyncpg.CheckViolationError, match="has not failed"):
        await run(
            service,
            """
            insert into appeal (id, partner_id, validation_submission_id, text, appellant, first_decided_by, status,
                                created_at, due_at, status_changed_at)
            select gen_random_uuid(), partner_id, id, 'x', 'partner', '{}', 'open', created_at,
                created_at + interval '1 day', created_at from validation_submission where id = $1
            """,
            pending,
        )


async def test_a_refusal_is_undone_by_an_appeal_alone(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    ids = service.db.deployment.ids
    rows: dict[str, UUID | None] = {
        "validation_submission set status = 'succeeded', failure_reasons = null": ids.decode(
            "validationsubmission", failed["id"]
        ),
        """validation_request set status = 'accepted', accepted_at = rejected_at, rejected_at = null,
           rejection_reason = null, rejection_reason_code = null,
           organisation_id = (select id from organisation limit 1)""": ids.decode(
            "validationrequest", failed["validationRequestId"]
        ),
    }
    for change, row in rows.items():
        with pytest.raises(asyncpg.CheckViolationError, match="no appeal has reversed"):
            await run(service, f"update {change} where id = $1", row)


async def test_what_was_said_and_decided_stays(service: Service, api: Client) -> None:
    made = await appeals.made(api, await refused(service, api))
    for change in ("text = 'other'", "due_at = due_at + interval '1 day'", "first_decided_by = array['x']"):
        with pytest.raises(asyncpg.PostgresError):
            await run(service, f"update appeal set {change} where id = $1", appeals.id_of(service, made))
    await appeals.decide(service, made, "rejected")
    with pytest.raises(asyncpg.PostgresError):
        await run(service, "update appeal set decided_by = 'x' where id = $1", appeals.id_of(service, made))


async def test_two_operators_who_decide_at_once_decide_once(service: Service, api: Client) -> None:
    failed = await refused(service, api)
    made = await appeals.made(api, failed)
    found = await asyncio.gather(
        appeals.decide(service, made, "accepted"), appeals.decide(service, made, "rejected"), return_exceptions=True
    )
    assert sum(one is None for one in found) == 1, found
    async with service.db.read() as tx:
        assert await tx.fetchval("select count(*) from review_decision where kind = 'appeal'") >= 1
    assert (await appeals.shown(api, made))["status"] in ("upheld", "reversed")


COMPARED = """
insert into screening_subject (
    id, type, subject_id, partner_id, kind, names, countries, identifiers, monitored, screened_at, engine_version
)
select gen_random_uuid(), 'organisation', gen_random_uuid(), $1, 'organisation', '{a}', '{}', '{}',
    false, $2, 0
from generate_series(1, 3000)
"""
DECIDED = """
insert into review_decision (id, kind, subject_id, partner_id, verdict, note, decided_by, decided_at)
select gen_random_uuid(), 'match', gen_random_uuid(), $1, 'accepted', 'x', 'operator_a', $2
from generate_series(1, 3000)
"""


async def test_who_may_not_decide_is_found_by_indexes(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as service:
        tenant = await service.tenant()
        failed = await refused(service, service.client(tenant.secret))
        made = service.db.deployment.ids.decode("validationsubmission", failed["id"])
        assert made is not None
        connection = await asyncpg.connect(service.database.owner_dsn)
        for rows in (COMPARED, DECIDED):
            await connection.execute(rows, tenant.partner.id, service.clock.now())
        await connection.execute("analyze screening_subject, screening_match, review_decision, agent_verification")
        await connection.close()
        async with service.db.read() as tx:
            held = await submissions.get(tx, ALL_PARTNERS, made)
            asking: Any = Explaining(tx)
            assert await appeals_store.list_decision_makers_of_submission(asking, tenant.partner, held, [made]) == ()
    small = {"agent_verification", "appeal", "screening_match"}
    assert not asking.scans() - small
    assert asking.indexes() >= {"review_decision_of_subject"}


@pytest.mark.parametrize(("day", "expected"), [(2, 16), (6, 20), (7, 20), (8, 20)])  # Monday, Friday, the weekend
def test_ten_business_days(day: int, expected: int) -> None:
    made = datetime(2026, 3, day, 9, 30, tzinfo=UTC)
    assert appeals_domain.compute_decision_due_at(made) == datetime(2026, 3, expected, 9, 30, tzinfo=UTC)
    assert appeals_domain.compute_decision_due_at(made) - made >= timedelta(days=12)


@pytest.mark.parametrize(
    ("open_too", "change"),
    [
        (True, "text = null"),
        (True, "text = 'Another'"),
        (False, "text = 'Another'"),
        (False, "decided_by = 'sandbox_operator_x'"),
        (False, "overridden_checks = '{compliance}'"),
    ],
)
async def test_what_an_appeal_says_is_forgotten_after_its_decision_and_not_changed(
    service: Service, api: Client, *, open_too: bool, change: str
) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    one = await appeals.made(api, failed)
    if not open_too:
        await appeals.decide(service, one, "rejected")
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(f"update appeal set {change} where id = $1", appeals.id_of(service, one))
    assert refused.value.constraint_name in {"appeal_immutable", "appeal_has_text"}
