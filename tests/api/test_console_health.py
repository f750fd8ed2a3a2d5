"""The service's health in the console, and what administrators do about it."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial

import pytest

from almoner.access.notifications import store as notifications_store
from almoner.access.notifications.domain import UndeliverableEmail
from almoner.access.people.domain import Person
from almoner.platform.jobs import dead_jobs, queue
from almoner.platform.observability import backups, selfcheck
from tests.support import factories
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.console import entries, listed, words
from tests.support.eventually import eventually
from tests.support.locking import waits_for_lock
from tests.support.operators import operator, signed_in
from tests.support.service import Service, Tenant

HEALTH = "/operator/health"


@pytest.fixture
async def person(service: Service) -> Person:
    """An administrator."""
    return await operator(service, "administrator")


@pytest.fixture
async def admin(service: Service, person: Person) -> AsyncIterator[Browser]:
    """Their browser."""
    browser = await signed_in(service, person)
    yield browser
    await browser.close()


async def gave_up(service: Service, error: str = "the moon is full") -> str:
    """A job that gave up; its number."""
    async with service.db.write() as tx:
        await queue.enqueue_job(tx, "selfcheck.run", {}, due_at=tx.now + timedelta(days=400))
        return str(
            await tx.fetchval(
                """
                update job set dead_at = $1, failures = 20, attempt = 20, last_error = $2
                where id = (select max(id) from job where kind = 'selfcheck.run') returning id
                """,
                tx.now,
                error,
            )
        )


async def test_the_overview_says_what_is_wrong_and_what_to_do(service: Service, admin: Browser) -> None:
    await admin.open(HEALTH)
    said = words(admin)
    assert "0 servers and 0 workers are running" in said
    assert "`almoner serve`" in said
    await gave_up(service)
    await admin.open(HEALTH)
    assert "failed job" in words(admin)
    assert "Failed jobs" in words(admin), "the navigation leads there"
    for page in ("queues", "jobs", "receivers", "emails", "findings", "processes"):
        assert (await admin.get(f"{HEALTH}/{page}")).status_code == 200, page
    for wrong in ("emails?answer=maybe", "receivers?status=tired"):
        assert (await admin.get(f"{HEALTH}/{wrong}")).status_code == 422, "it would show all under that filter"


async def test_a_job_that_gave_up_is_seen_retried_and_dropped(service: Service, admin: Browser, person: Person) -> None:
    first, second = await gave_up(service), await gave_up(service, "nobody knows")
    await admin.open(f"{HEALTH}/jobs?kind=selfcheck.run")
    assert "nobody knows" in words(admin)
    assert (await admin.get(f"{HEALTH}/jobs?kind=no.such")).text.count("nobody knows") == 0
    await admin.open(f"{HEALTH}/jobs/{first}")
    assert "the moon is full" in words(admin)
    await admin.open(f"{HEALTH}/jobs/{first}/retry")
    assert (await admin.post(f"{HEALTH}/jobs/{first}/retry", {"sure": "yes"})).status_code == 303
    assert await entries(service, "job.retried", first) == 1
    assert (await admin.post(f"{HEALTH}/jobs/{first}/retry", {"sure": "yes"})).status_code == 404, "it acts once"
    await admin.open(f"{HEALTH}/jobs/{second}/drop")
    assert (await admin.post(f"{HEALTH}/jobs/{second}/drop", {"note": ""})).status_code == 422
    assert (await admin.post(f"{HEALTH}/jobs/{second}/drop", {"note": "asked for twice"})).status_code == 303
    assert await entries(service, "job.dropped", second) == 1
    async with service.db.read() as tx:
        left = await tx.fetch("select id, dead_at from job where id = any($1::bigint[])", [int(first), int(second)])
    assert [(str(row["id"]), row["dead_at"]) for row in left] == [(first, None)]
    own = service.db.deployment.ids.encode("operator", person.id)
    await gave_up(service)
    await admin.open(f"{HEALTH}/jobs/retry")
    async with service.db.write() as tx:
        await dead_jobs.retry_dead_jobs(tx, "selfcheck.run")
        pressed = asyncio.create_task(admin.post(f"{HEALTH}/jobs/retry", {"kind": "selfcheck.run"}))
        await eventually(partial(waits_for_lock, service))
    assert ((await pressed).status_code, await entries(service, "job.kind_retried", own)) == (303, 0), "too late"
    await gave_up(service)
    await admin.open(f"{HEALTH}/jobs/retry")
    assert (await admin.post(f"{HEALTH}/jobs/retry", {"kind": "selfcheck.run"})).status_code == 303
    assert await entries(service, "job.kind_retried", own) == 1
    assert (await admin.get(f"{HEALTH}/jobs/99999999999999999999")).status_code == 404


async def test_a_periodic_job_is_seen_and_run_now(service: Service, admin: Browser, person: Person) -> None:
    name, own = selfcheck.NIGHTLY, service.db.deployment.ids.encode("operator", person.id)
    await service.drain()
    async with service.db.write() as tx:
        await tx.execute(
            "update schedule set failed_at = $2, last_error = 'the moon is full' where name = $1", name, tx.now
        )
    await admin.open(f"{HEALTH}/periodic")
    shown = words(admin)
    for part in (
        "credentials.delete_expired every hour",
        "sessions.expire when there is work to do",
        "the moon is full",
    ):
        assert part in shown, part
    path = f"{HEALTH}/periodic/{name}/run"
    assert (await admin.get(f"{HEALTH}/periodic/no.such/run")).status_code == 404
    await admin.open(path)
    assert (await admin.post(path, {"sure": "yes"})).status_code == 303
    assert await entries(service, "periodic_job.run_requested", own) == 1
    await service.drain()
    async with service.db.write() as tx:
        sql = "update schedule set failed_at = null, last_error = null where name = $1 returning run_requested_at"
        assert await tx.fetchval(sql, name) is None, "nothing was due"


async def test_only_administrators_decide_about_jobs(service: Service) -> None:
    number = await gave_up(service)
    browser = await signed_in(service, await operator(service, "finance"))
    await browser.open(f"{HEALTH}/jobs/{number}")
    assert "Retry the job" not in words(browser)
    assert (await browser.get(f"{HEALTH}/jobs/{number}/retry")).status_code == 403
    assert (await browser.get(f"{HEALTH}/emails")).status_code == 403, "it shows people's addresses"
    await browser.close()


async def test_an_email_is_sent_again(service: Service, admin: Browser, tenant: Tenant) -> None:
    async with service.db.write() as tx:
        one = UndeliverableEmail(
            tx.new_id(), tenant.partner.id, "receipts.send", "ada@nowhere.example", "550 unknown", True, tx.now
        )
        await notifications_store.insert_undeliverable_email(tx, one, {"id": str(one.id)})
    text = service.db.deployment.ids.encode("email", one.id)
    await admin.open(f"{HEALTH}/emails?answer=rejected")
    assert "ada@nowhere.example" in words(admin)
    await admin.open(f"{HEALTH}/emails/{text}")
    assert "550 unknown" in words(admin)
    await admin.open(f"{HEALTH}/emails/{text}/resend")
    assert (await admin.post(f"{HEALTH}/emails/{text}/resend", {"sure": "yes"})).status_code == 303
    async with service.db.read() as tx:
        payload = await tx.fetchval("select payload from job where kind = 'receipts.send' order by id desc limit 1")
    assert payload == {"id": str(one.id)}, "the job is given what the first was"
    assert await entries(service, "email.resent", text) == 1
    assert (await admin.get(f"{HEALTH}/emails/{text}")).status_code == 404


async def test_a_failing_receiver_is_seen_across_partners(service: Service, api: Client, admin: Browser) -> None:
    text = (await factories.subscription(api, url="https://hooks.example.org/in"))["id"]
    async with service.db.write() as tx:
        await tx.execute(
            """
            update webhook_health
            set failures = 3, failing_since = $2, failing_since_real = $2, failing_days = 1,
                last_failing_day = current_date
            where subscription_id = $1
            """,
            tx.ids.decode("webhooksubscription", text),
            tx.now,
        )
    assert await listed(admin, f"{HEALTH}/receivers?status=failing", text)
    assert "https://hooks.example.org/in" in words(admin)
    await admin.open(f"{HEALTH}/receivers/{text}")
    assert "Consecutive failed attempts 3" in words(admin)
    assert (await admin.get(f"{HEALTH}/receivers?status=suspended")).text.count("hooks.example.org/in") == 0


async def test_the_self_check_is_run_and_says_what_to_do(service: Service, admin: Browser, person: Person) -> None:
    await gave_up(service)
    await admin.open(f"{HEALTH}/findings/run")
    assert (await admin.post(f"{HEALTH}/findings/run", {"sure": "yes"})).status_code == 303
    assert await entries(service, "selfcheck.started", service.db.deployment.ids.encode("operator", person.id)) == 1
    await service.drain()
    await admin.open(f"{HEALTH}/findings")
    said = words(admin)
    assert "No job has died in the last seven days" in said
    assert "Find the cause with docs/runbooks/stuck-queue.md" in said


async def test_backups_and_processes_are_seen(service: Service, admin: Browser) -> None:
    async with service.db.write() as tx:
        await backups.record_backup(tx, "documents", "nightly run")
    await admin.open(f"{HEALTH}/processes")
    said = words(admin)
    assert "nightly run" in said
    assert "No backup has been reported" in said


async def test_an_incident_is_reported_updated_and_resolved_once(service: Service, admin: Browser) -> None:
    title = factories.unique("Webhooks are delayed")
    reported = {"title": title, "affected": "webhooks", "status": "investigating", "text": "We are looking into it."}
    path = f"{HEALTH}/incidents"
    await admin.open(f"{path}/new")
    assert (await admin.post(f"{path}/new", {**reported, "status": "resolved"})).status_code == 422
    own = (await admin.post(f"{path}/new", reported)).headers["location"]
    await admin.open(own)
    assert "Status Investigating" in words(admin)
    await admin.open(f"{own}/update")
    assert (await admin.post(f"{own}/update", {"status": "monitoring", "text": "They arrive."})).status_code == 303
    await admin.open(f"{own}/resolve")
    assert (await admin.post(f"{own}/resolve", {"text": "All arrived."})).status_code == 303
    for act in ("update", "resolve"):
        again = {"status": "monitoring", "text": "Not yet."}
        assert (await admin.post(f"{own}/{act}", again)).status_code == 409
        await admin.open(f"{own}/{act}")
        assert "The incident has been resolved." in words(admin)
    await admin.open(own)
    assert "Resolved: All arrived." in words(admin)
    assert "Not yet." not in words(admin)
    text = own.rpartition("/")[2]
    async with service.db.read() as tx:
        recorded = await tx.fetch("select action from audit_entry where subject = $1 order by position", text)
    assert [row["action"] for row in recorded] == ["incident.reported", "incident.updated", "incident.resolved"]
    reader = await signed_in(service, await operator(service, "reviewer"))
    assert title in (await reader.get(path)).text
    assert "Post an update" not in (await reader.get(own)).text
    await reader.close()
