"""Checks that end in two processes at once, and checks that end before their request by what partners may do."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring
from tests.concurrency.test_submissions import answered
from tests.support import factories
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.figures import Figures
from tests.support.service import Service
from tests.support.submissions import CHOIRS, applied, configured, ended, shown, simulate

REQUESTS = {"passed": "test_accept", "failed": "test_reject_other"}
AGENTS = {"passed": "test_accept", "failed": "test_reject_reapply"}
TAGS = {"passed": ["test_pass"], "failed": ["test_fail"]}
ALIVE = "select count(*) from process where role = 'worker' and last_seen_at > started_at"
DECIDED = "select not exists (select from validation_submission where status = 'pending')"


@contextmanager
def worker(service: Service, folder: Path) -> Iterator[None]:
    """``almoner worker`` over the test's database, with a pool, a clock and a memory of its own."""
    settings = service.services.settings
    assert settings.master_key is not None
    folder.mkdir()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("ALMONER_")} | {
        "ALMONER_DATABASE_URL": settings.dsn,
        "ALMONER_MASTER_KEY": settings.master_key.get_secret_value(),
        "ALMONER_DATA_DIR": str(folder),
    }
    with (folder / "worker.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "almoner", "worker"], env=environment, stdout=log, stderr=subprocess.STDOUT
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(30)


@pytest.mark.soak
async def test_checks_that_end_in_two_processes_at_once_give_one_answer_once(
    alone: Service, tmp_path: Path, figures: Figures
) -> None:
    alone.clock.advance_to(alone.clock.real_now())  # the workers live in real time
    api = alone.client((await alone.tenant()).secret)
    waiting: list[tuple[dict[str, Any], bool]] = []

    async def alive() -> bool:
        async with alone.db.read() as tx:
            return bool(await tx.fetchval(ALIVE) == 2)

    with worker(alone, tmp_path / "one"), worker(alone, tmp_path / "other"):
        await eventually(alive, within=60)
        for turn in range(figures.count(2, 20)):
            kinds = [(request, agent, tags) for request in REQUESTS for agent in AGENTS for tags in TAGS]
            made = await asyncio.gather(
                *(
                    applied(
                        api,
                        organisationName=REQUESTS[request],
                        registryId=f"85-{turn:03}{place:04}",
                        firstName=AGENTS[agent],
                        suggestedActivitySubTags=TAGS[tags],
                    )
                    for place, (request, agent, tags) in enumerate(kinds)
                )
            )
            waiting += zip(made, [all(one == "passed" for one in kind) for kind in kinds], strict=True)

        async def done() -> bool:
            async with alone.db.read() as tx:
                return bool(await tx.fetchval(DECIDED))

        await eventually(done, within=60)
    await alone.drain()
    reported = await everything(api)
    for one, passes in waiting:
        status = "succeeded" if passes else "failed"
        assert (await shown(api, one))["status"] == status
        assert reported[one["id"]] == ["created", "updated", status]
    await api.close()


async def everything(api: Client) -> dict[str, list[str]]:
    """What was told of every submission, in order."""
    reported: dict[str, list[str]] = {}
    path: str | None = "/v1/events?direction=ASC&pageSize=100"
    while path is not None:
        page = (await api.get(path)).json()
        for event in page["data"]:
            area, _, name = event["eventType"].partition(".")
            if area == "validation_submission":
                reported.setdefault(event["eventData"]["id"], []).append(name)
        path = page["_links"]["next"]
    return reported


@pytest.mark.parametrize("request_first", [False, True])
@pytest.mark.parametrize("request_passes", [False, True])
async def test_what_the_partner_cancels_ends_before_or_after_its_request(
    service: Service, api: Client, *, request_first: bool, request_passes: bool
) -> None:
    restricted = await configured(api, allowedActivitySubTags=[CHOIRS])
    made = await ended(
        service,
        api,
        await applied(api, configurationId=restricted, registryId="91-1110001", organisationName="Order Of Ends"),
    )
    subscriptions = [
        ("monitoring-subscriptions", made["monitoringSubscriptionId"]),
        ("eligibility-subscriptions", made["eligibilitySubscriptionId"]),
    ]

    async def decide() -> None:
        """A reviewer does, and then about the agent."""
        verdict = {"action": "accept"} if request_passes else {"action": "reject", "rejectionReasonCode": "other"}
        await simulate(api, made["validationRequestId"], **verdict)

    async def cancel() -> None:
        for path, name in subscriptions:
            data(await api.post(f"/v1/{path}/{name}/cancel"))

    for step in (decide, cancel) if request_first else (cancel, decide):
        await step()
        if step is cancel:
            await service.drain()
    if request_passes:
        await simulate(api, made["agentVerificationId"], "confirm_email")
        await simulate(api, made["agentVerificationId"], "approve")
    # What was cancelled before anything was known cannot be decided; a refusal is one in either order.
    await ended(service, api, made)
    await answered(service, api, made, "processed" if request_passes else "failed")


@pytest.mark.parametrize("last", [monitoring.EVALUATE.name, eligibility.EVALUATE.name])
async def test_a_check_that_fails_with_its_request_may_do_so_last(service: Service, api: Client, last: str) -> None:
    made = await applied(
        api, registryId=f"91-111{len(last):04}", organisationName="Last Of All", firstName="test_accept"
    )
    await service.drain()
    await simulate(api, made["validationRequestId"], "reject", rejectionReasonCode="other")
    while await service.services.background_worker.dispatcher.dispatch_next_events():
        pass
    async with service.db.write() as tx:
        await tx.execute("update job set due_at = due_at + interval '1 hour' where kind = $1", last)
    await service.drain()
    assert (await shown(api, made))["status"] == "pending"
    service.clock.advance(hours=1)
    await ended(service, api, made)
    await answered(service, api, made, "failed")


async def test_a_listed_nonprofit_ends_each_check_by_itself_in_whatever_order(service: Service, api: Client) -> None:
    """Without a request nothing waits for another check: whatever ends first, the last one answers."""
    organisation = await factories.nonprofit(service)
    for first in ("agent", "results"):
        made = await applied(api, organisationId=organisation, email=f"{first}@order.example")
        agent = made["agentVerificationId"]
        if first == "agent":
            for action in ("confirm_email", "approve"):
                await simulate(api, agent, action)
            await simulate(api, made["monitoringSubscriptionId"], "set_results", results={"complianceStatus": "pass"})
            await simulate(api, made["eligibilitySubscriptionId"], "set_results", results={"eligibilityStatus": "pass"})
        else:
            await simulate(api, made["eligibilitySubscriptionId"], "set_results", results={"eligibilityStatus": "pass"})
            await ended(service, api, made)
            for action in ("confirm_email", "approve"):
                await simulate(api, agent, action)
        await ended(service, api, made)
        await answered(service, api, made, "succeeded")
