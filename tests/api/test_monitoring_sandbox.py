"""Test values of monitoring (spec 4.11): a suffix on an id says the results, on the next GET, events included."""

import asyncio
from collections.abc import AsyncIterator
from itertools import permutations
from typing import Any, Final

import pytest

from almoner.screening.watchlists.domain import CATEGORIES
from tests.support import factories, validation
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.monitoring import (
    UNKNOWN,
    cancelled,
    listed,
    looked,
    refused,
    set_results,
    shown,
    statuses,
    subscribe,
    told,
)
from tests.support.service import Service

ALL: Final = {"pass": "clear", "fail": "flag"}


@pytest.fixture
async def worked(service: Service) -> AsyncIterator[Service]:
    """The service with a worker beside it, as it runs in life."""
    stop = asyncio.Event()
    running = asyncio.create_task(service.services.background_worker.run(stop))
    yield service
    stop.set()
    await running


async def said(service: Service, api: Client, suffix: str, **body: Any) -> dict[str, Any]:
    """The record that the next GET within a second shows."""
    made = await subscribe(service, api, suffix, **body)
    assert made["results"] == UNKNOWN

    async def known() -> bool:
        return bool((await shown(api, made))["results"] != UNKNOWN)

    await eventually(known)
    return await shown(api, made)


@pytest.mark.parametrize("overall", ["pass", "fail"])
async def test_4_11_the_overall_status_says_all_results(worked: Service, api: Client, overall: str) -> None:
    organisation = await factories.nonprofit(worked)
    record = await said(worked, api, f"-complianceStatus:{overall}", organisationId=organisation)
    assert (record["status"], record["organisationId"], record["sources"]) == ("live", organisation, [])
    assert record["results"]["complianceStatus"] == overall
    assert statuses(record) == dict.fromkeys(CATEGORIES, ALL[overall])
    assert record["results"]["registration"] == {"active": "yes"}


@pytest.mark.parametrize("overall", ["pass", "fail"])
@pytest.mark.parametrize("parameter", [*CATEGORIES, "compliance"])
@pytest.mark.parametrize("status", ["clear", "flag"])
async def test_4_11_an_override_changes_its_result_and_never_the_overall_status(
    service: Service, api: Client, overall: str, parameter: str, status: str
) -> None:
    record = await looked(service, api, f"-complianceStatus:{overall}-{parameter}:{status}")
    results = dict.fromkeys(CATEGORIES, ALL[overall])
    if parameter != "compliance":  # accepted, and changes nothing (settled 4)
        results = {category: status if category == parameter else ALL[overall] for category in CATEGORIES}
    assert statuses(record) == results
    assert record["results"]["complianceStatus"] == overall
    assert await told(service, api) == [record]


async def test_4_11_overrides_come_in_any_order_and_number(service: Service, api: Client) -> None:
    parts = ["-complianceStatus:pass", "-sanction:flag", "-adverseMedia:flag", "-compliance:flag"]
    wanted = {**dict.fromkeys(CATEGORIES, "clear"), "sanction": "flag", "adverseMedia": "flag"}
    organisation = await factories.nonprofit(service)
    made = [await subscribe(service, api, "".join(order), organisationId=organisation) for order in permutations(parts)]
    assert len(made) == 24
    await service.drain()
    for record in [await shown(api, one) for one in made]:
        assert (record["organisationId"], statuses(record)) == (organisation, wanted)
        assert record["results"]["complianceStatus"] == "pass"
    twice = await looked(service, api, "-complianceStatus:pass-warning:flag-warning:clear")
    assert statuses(twice) == dict.fromkeys(CATEGORIES, "clear")


@pytest.mark.parametrize("decision", ["accept", "reject", None])
async def test_4_11_it_holds_for_a_validation_request(service: Service, api: Client, decision: str | None) -> None:
    request = await validation.requested(api)
    suffix = "-complianceStatus:fail-warning:clear"
    record = await looked(service, api, suffix, validationRequestId=request["id"])
    assert (record["status"], record["validationRequestId"]) == ("pending_validation_request", request["id"])
    results = {**dict.fromkeys(CATEGORIES, "flag"), "warning": "clear"}
    assert (statuses(record), record["results"]["complianceStatus"]) == (results, "fail")
    assert await told(service, api) == [record]
    if decision is None:
        return
    await validation.simulate(api, request, decision)
    await service.drain()
    after = await shown(api, record)
    assert statuses(after) == results
    assert after["status"] == ("live" if decision == "accept" else "validation_request_failed")
    events = [record, after] if decision == "accept" else [record]
    assert await told(service, api) == events


async def test_4_11_what_is_no_suffix_is_part_of_the_id(service: Service, api: Client) -> None:
    organisation = await factories.nonprofit(service)
    for suffix in (
        "-complianceStatus:maybe",
        "-complianceStatus:pass-",
        "--complianceStatus:pass",
        "-compliancestatus:pass",
        "-complianceStatus:pass-sanctions:flag",
        "-complianceStatus:pass-sanction:pass",
        "-sanction:flag",
        "-monetaryDonation:approve",
        "-",
    ):
        status, code, _ = await refused(api, organisationId=organisation + suffix)
        assert (status, code) == (400, "monitoring_subscription/entity_not_found"), suffix
    assert await listed(api) == ([], 0)


async def test_a_suffix_keeps_the_rules_of_life(service: Service, api: Client) -> None:
    inactive = await factories.nonprofit(service, active=False)
    refusal = await refused(api, organisationId=f"{inactive}-complianceStatus:pass")
    assert refusal[:2] == (400, "monitoring_subscription/organisation_not_active")
    made = await subscribe(service, api, "-complianceStatus:fail")
    ended = await cancelled(api, made)
    await service.drain()
    assert await shown(api, made) == ended
    assert await told(service, api) == []


async def test_what_was_said_stays_until_something_else_is_said(service: Service, api: Client) -> None:
    record = await looked(service, api, "-complianceStatus:pass-sanction:flag")
    changed = await set_results(api, record, sanction={"status": "clear"}, hateSpeech={"status": "flag"})
    assert statuses(changed) == {**dict.fromkeys(CATEGORIES, "clear"), "hateSpeech": "flag"}
    assert changed["results"]["complianceStatus"] == "fail"
    assert await told(service, api) == [record, changed]
