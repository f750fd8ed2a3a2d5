"""Somebody appeals while the applicant is forgotten at the same moment."""

import asyncio
from typing import Any, cast

from asyncpg import Record

from almoner.platform.database.transactions import Tx
from almoner.validation.agents import store as agents_store
from almoner.validation.applications.submissions import store_erasure as submissions_store_erasure
from tests.support import appeals
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.service import Service
from tests.support.submissions import ADA, PATH, applied, configured, ended, of_organisation, shown

WAITS = """
select exists (
    select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'
    and query ~ 'from agent_verification .*for no key update'
)
"""


async def test_nobody_appeals_for_who_was_forgotten_just_now(service: Service, api: Client) -> None:
    alone = await configured(api, "agent_verification")
    made = await of_organisation(service, api, firstName="test_reject_reapply", configurationId=alone)
    failed = await ended(service, api, made)
    agent = service.db.deployment.ids.decode("agentverification", failed["agentVerificationId"])
    assert (failed["status"], agent is not None) == ("failed", True)

    async def appeal() -> int:
        return (await api.post(f"{PATH}/{failed['id']}/appeals", {"text": "Look again."})).status_code

    async def waits(task: "asyncio.Task[int]") -> bool:
        async with service.db.read() as tx:
            return task.done() or bool(await tx.fetchval(WAITS))

    async with service.db.write() as tx:
        gone = await agents_store.erase_personal_data(tx, "rejected", tx.now, 1_000_000)
        assert agent in [verification_id for verification_id, _ in gone]
        task = asyncio.create_task(appeal())
        await eventually(lambda: waits(task))
        assert not task.done()
    assert await task == 400
    assert (await shown(api, failed))["agentVerification"]["email"] is None


class Late:
    """A transaction whose first statement has begun, and seen what it sees, when somebody appeals."""

    def __init__(self, tx: Tx, api: Client, *failed: dict[str, Any]) -> None:
        self.tx = tx
        self.api = api
        self.failed = failed

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        """All rows, as a statement finds them that takes its time."""
        if not self.failed:
            return await self.tx.fetch(sql, *args)
        started = await self.tx._connection.cursor(sql, *args)
        for one in self.failed:
            await appeals.made(self.api, one)
        self.failed = ()
        found: list[Record] = await started.fetch(1_000_000)
        return found


async def test_nobody_is_forgotten_who_appealed_just_now(service: Service, api: Client) -> None:
    ids = service.db.deployment.ids
    alone = await configured(api, "agent_verification")
    made = await of_organisation(service, api, firstName="test_reject_reapply", configurationId=alone)
    failed = await ended(service, api, made)
    agent = ids.decode("agentverification", failed["agentVerificationId"])
    async with service.db.write() as tx:
        late = cast("Tx", Late(tx, api, failed))
        gone = await agents_store.erase_personal_data(late, "rejected", tx.now, 1_000_000)
        assert agent not in [verification_id for verification_id, _ in gone]
    assert (await shown(api, failed))["agentVerification"]["email"] is not None


async def test_no_submission_is_forgotten_that_was_appealed_against_just_now(service: Service, api: Client) -> None:
    without = await configured(api, "validation_request")
    failed = await ended(
        service, api, await applied(api, organisationName="test_reject_not_eligible", configurationId=without)
    )
    named = service.db.deployment.ids.decode("validationsubmission", failed["id"])
    async with service.db.write() as tx:
        await submissions_store_erasure.erase_personal_data(
            cast("Tx", Late(tx, api, failed)), "answered", tx.now, 1_000_000
        )
        stored = await tx.fetchval("select email from validation_submission where id = $1", named)
    assert stored == ADA["email"]
