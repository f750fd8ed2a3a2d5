"""Disputes in the database: states, what may not be written, and plans of what is asked often."""

from pathlib import Path
from uuid import UUID

import pytest
from asyncpg import CheckViolationError, InsufficientPrivilegeError, UniqueViolationError

from almoner.adapters.storage_objects import open_storage
from almoner.giving.accounting.dispute_evidence import service as evidence
from almoner.giving.accounting.dispute_evidence.domain import EVIDENCE
from almoner.giving.accounting.dispute_evidence.jobs import EvidenceJobDependencies, submit_evidence
from almoner.giving.accounting.disputes import store as disputes_store
from almoner.giving.accounting.disputes.domain import DISPUTE
from almoner.platform.files.storage import BlobStore
from almoner.platform.jobs.background_tasks import JobContext
from almoner.platform.jobs.queue import Answer, DecodedJob, JobDone, JobRetry
from tests.support import factories
from tests.support.client import Client
from tests.support.fake_provider import FakeProvider
from tests.support.payouts import payouts, settled, simulate, uuid_of
from tests.support.service import Service


@pytest.fixture
async def open_dispute(service: Service, api: Client) -> UUID:
    """A settled gift that is disputed."""
    nonprofit = await factories.nonprofit(service)
    made = await settled(service, api, nonprofit)
    await simulate(api, made["id"], "dispute")
    async with service.db.read() as tx:
        found: UUID = await tx.fetchval(
            "select id from dispute where donation_id = $1", uuid_of(service, "donation", made["id"])
        )
    return found


async def test_its_lifecycle_is_the_databases(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            DISPUTE.resource,
        )
    assert [tuple(row) for row in rows] == list(DISPUTE.transitions())


async def test_the_lifecycle_of_evidence_is_the_databases(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            EVIDENCE.resource,
        )
    assert [tuple(row) for row in rows] == list(EVIDENCE.transitions())


async def test_submitted_evidence_stays_as_it_is(service: Service, open_dispute: UUID) -> None:
    async with service.db.write() as tx:
        await evidence.update_texts(tx, open_dispute, (await evidence.get(tx, open_dispute)).version, "A gift", None)
        await evidence.request_submission(tx, open_dispute, (await evidence.get(tx, open_dispute)).version, "ann")
        await tx.execute(
            "delete from job where kind = 'disputes.submit_evidence' and payload->>'dispute' = $1", str(open_dispute)
        )
    for change, constraint in (
        ("update dispute_evidence set explanation = 'x' where id = $1", "dispute_evidence_immutable"),
        ("update dispute_evidence set status = 'draft' where id = $1", "lifecycle_dispute_evidence"),
        ("update dispute_evidence set status = 'submitted' where id = $1", "dispute_evidence_requested"),
        (
            FILE,
            "dispute_evidence_file_submitted",
        ),
    ):
        async with service.db.write() as tx:
            with pytest.raises(CheckViolationError) as refused:
                await tx.execute(change, open_dispute)
        assert refused.value.constraint_name == constraint


async def test_evidence_that_cannot_be_submitted_can_be_submitted_again(
    service: Service, open_dispute: UUID, tmp_path: Path
) -> None:
    provider = FakeProvider(name="test")  # which does not know the dispute
    own = service.db.deployment
    parts = EvidenceJobDependencies(provider, BlobStore(open_storage(None, tmp_path), own.vault, own.identity))

    async def submit(attempt: int, *, away: bool) -> tuple[Answer, str, str | None]:
        provider.refuse = int(away)
        details = evidence.SubmitEvidenceJob(open_dispute)
        job = DecodedJob(1, evidence.SUBMIT.name, {}, attempt, 0, service.clock.now(), None, details)
        answer = await submit_evidence(parts, JobContext(service.db), job)
        async with service.db.read() as tx:
            found = await evidence.get(tx, open_dispute)
        return answer, found.status, found.reason

    async def request() -> None:
        async with service.db.write() as tx:
            version = (await evidence.get(tx, open_dispute)).version
            await evidence.request_submission(tx, open_dispute, version, "ann")
            await tx.execute(
                "delete from job where kind = 'disputes.submit_evidence' and payload->>'dispute' = $1",
                str(open_dispute),
            )

    async with service.db.write() as tx:
        await evidence.update_texts(tx, open_dispute, (await evidence.get(tx, open_dispute)).version, "A gift", None)
    await request()
    answer, status, _ = await submit(1, away=True)
    assert isinstance(answer, JobRetry)
    assert status == "submitting"
    given_up = (JobDone(), "rejected", "The evidence could not be submitted. Last error: the provider is away")
    assert await submit(50, away=True) == given_up
    await request()
    assert await submit(1, away=False) == (
        JobDone(), "rejected", "The payment provider does not know this dispute.",
    )  # fmt: skip
    await request()
    async with service.db.write() as tx:
        await tx.execute("update dispute set evidence_due_at = $2 where id = $1", open_dispute, tx.now)
    assert await submit(1, away=True) == given_up


FILE = f"""
insert into dispute_evidence_file values ($1, 'other', 'a', 'image/png', 1, sha256('a'), '{34 * "0"}', 'ann', now())
"""
BORNE = "decided_at = now(), status_changed_at = now(), absorbed_minor = 0"


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'lost', decided_at = now(), status_changed_at = now()", "dispute_decided"),
        ("status = 'won', status_changed_at = now()", "dispute_decided"),
        ("decided_at = now()", "dispute_decided"),
        (f"status = 'won', {BORNE}", "dispute_decided"),
        (f"status = 'lost', {BORNE}, decided_by = 'ann'", "dispute_decided"),
        ("status = 'lost', decided_at = now(), status_changed_at = now(), absorbed_minor = 2501", "dispute_decided"),
        (f"status = 'lost', {BORNE}, recovered_minor = 0", "dispute_decided"),
    ],
)
async def test_what_makes_no_sense_is_refused(
    service: Service, open_dispute: UUID, change: str, constraint: str
) -> None:
    async with service.db.write() as tx:
        with pytest.raises(CheckViolationError) as refused:
            await tx.execute(f"update dispute set {change} where id = $1", open_dispute)
    assert refused.value.constraint_name == constraint


async def test_what_its_provider_said_is_never_changed(service: Service, open_dispute: UUID) -> None:
    async with service.db.write() as tx:
        with pytest.raises(InsufficientPrivilegeError):
            await tx.execute("update dispute set amount_minor = 1 where id = $1", open_dispute)
    async with service.db.write() as tx:
        with pytest.raises(InsufficientPrivilegeError):
            await tx.execute("delete from dispute where id = $1", open_dispute)


@pytest.mark.parametrize(
    "change",
    ["status = 'won', absorbed_minor = null", "absorbed_minor = 1", "status = 'open', decided_at = null", "note = 'x'"],
)
async def test_a_decided_one_stays_decided(service: Service, open_dispute: UUID, change: str) -> None:
    async with service.db.write() as tx:
        await tx.execute(f"update dispute set status = 'lost', {BORNE} where id = $1", open_dispute)
        with pytest.raises(CheckViolationError):
            await tx.execute(f"update dispute set {change} where id = $1", open_dispute)


COPY = """
insert into dispute (id, provider, provider_payment, provider_dispute, donation_id, amount_minor, currency, status,
                     reason, opened_at, received_at, checked_at, status_changed_at)
select gen_random_uuid(), provider, provider_payment, {}, donation_id, {}, {}, 'open', reason, now(), now(), now(),
       now()
from dispute where id = $1
"""


async def test_one_is_known_once(service: Service, open_dispute: UUID) -> None:
    async with service.db.write() as tx:
        with pytest.raises(UniqueViolationError) as refused:
            await tx.execute(COPY.format("provider_dispute", "1", "currency"), open_dispute)
    assert refused.value.constraint_name == "dispute_once"


async def test_one_of_another_currency_or_of_more_than_the_gift_is_refused(
    service: Service, open_dispute: UUID
) -> None:
    async with service.db.write() as tx:
        with pytest.raises(CheckViolationError) as refused:
            await tx.execute(COPY.format("'another'", "1", "'EUR'"), open_dispute)
    assert refused.value.constraint_name == "dispute_matches_donation"
    async with service.db.write() as tx:
        await tx.execute(COPY.format("'more ' || id", "2501", "currency"), open_dispute)
        with pytest.raises(CheckViolationError) as refused:
            await tx.execute(
                f"update dispute set status = 'lost', {BORNE} where provider_dispute = 'more ' || $1",
                str(open_dispute),
            )
    assert refused.value.constraint_name in ("donation_withdrawn", "donation_refunded")


async def test_a_disputed_gift_goes_nowhere(service: Service, api: Client, open_dispute: UUID) -> None:
    await service.drain()
    other = uuid_of(service, "organisation", await factories.nonprofit(service))
    async with service.db.read() as tx:
        gift = await tx.fetchrow(
            "select d.* from donation d join dispute on d.id = donation_id where dispute.id = $1", open_dispute
        )
    assert gift is not None
    assert gift["disbursement_id"] is None
    assert await payouts(api) == []
    refund = """
        insert into refund (id, donation_id, payment_id, provider, amount_minor, currency, deducted_minor, status,
                            started_at, status_changed_at)
        values (gen_random_uuid(), $1, $2, 'test', 1, 'USD', 0, 'pending', now(), now())
    """
    for sql, values, constraint in (
        ("update donation set organisation_id = $2 where id = $1", (gift["id"], other), "donation_disputed"),
        (refund, (gift["id"], gift["payment_id"]), "refund_matches_donation"),
    ):
        async with service.db.write() as tx:
            with pytest.raises(CheckViolationError) as refused:
                await tx.execute(sql, *values)
        assert refused.value.constraint_name == constraint


@pytest.mark.parametrize(
    ("sql", "values", "index"),
    [
        (disputes_store.OLDEST_REFRESH, (), "dispute_unchecked"),
        (disputes_store.COUNT_OPEN, (), "dispute_"),
        (disputes_store.OF_PAYMENT, ("test", "tp_1"), "dispute_of_payment"),
        (disputes_store.UNRECOVERED, (UUID(int=1),), "dispute_of_donation"),
    ],
)
async def test_what_is_asked_often_reads_an_index(
    service: Service, sql: str, values: tuple[object, ...], index: str
) -> None:
    async with service.db.read() as tx:
        await tx.execute("set local enable_seqscan = off")
        plan = "\n".join(row[0] for row in await tx.fetch(f"explain {sql}", *values))
    assert index in plan, plan
