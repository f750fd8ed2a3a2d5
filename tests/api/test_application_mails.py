"""What applicants are written about their application, and what their page leaves in the audit log (spec 3.5; V8)."""

import re
from typing import Any

from tests.support import appeals
from tests.support.client import Client, data
from tests.support.service import Service
from tests.support.submissions import ADA, applied, configured, ended


async def subjects(service: Service, api: Client) -> list[str]:
    """Of all that was written about applications, sorted."""
    await service.drain()
    mails = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100))
    return sorted(
        mail["subject"].split(" – ")[0] for mail in mails if any("/application?" in link for link in mail["links"])
    )


async def mail(api: Client, subject: str) -> dict[str, Any]:
    """The one mail whose subject begins so."""
    mails = data(await api.get("/v1/sandbox/mailbox", to=ADA["email"], pageSize=100))
    [found] = [one for one in mails if one["subject"].startswith(subject)]
    return dict(found)


async def test_each_step_is_told_once(service: Service, api: Client) -> None:
    alone = await configured(api, "validation_request", "agent_verification", emailVerification=False)
    failed = await applied(api, organisationName="test_reject_not_eligible", configurationId=alone)
    received, refused = "We are checking your application", "Your application was not accepted"
    assert await subjects(service, api) == sorted([received, refused])
    told = await mail(api, refused)
    assert "does not accept organisations of this kind." in told["text"]
    assert "another check was not passed" not in told["text"]
    assert "you can appeal" in told["text"]
    await appeals.decide(service, await appeals.made(api, failed), "rejected")
    appealed, stands = "Your appeal has arrived", "The decision stands"
    assert await subjects(service, api) == sorted([received, refused, appealed, stands])
    assert re.search(r"by \w+ \d+, \d{4} at the latest", (await mail(api, appealed))["text"])
    await appeals.decide(service, await appeals.made(api, failed, "Once more."), "accepted")
    now = await subjects(service, api)
    assert now.count("Your application was accepted") == 1
    assert "Your appeal was successful" not in now  # all had ended: the answer itself says it
    assert now.count(appealed) == 2


async def test_a_reversed_appeal_that_opens_checks_is_told(service: Service, api: Client) -> None:
    failed = await ended(service, api, await applied(api, organisationName="test_reject_other"))
    await appeals.decide(service, await appeals.made(api, failed), "accepted")
    now = await subjects(service, api)
    assert "Your appeal was successful" in now
    assert "Your application was accepted" not in now


async def test_what_is_missing_is_asked_for_ten_minutes_later_and_once(service: Service, api: Client) -> None:
    await applied(api, registryId="99-1234567")
    missing = "Something is missing"
    assert missing not in await subjects(service, api)
    service.clock.advance(minutes=11)
    assert (await subjects(service, api)).count(missing) == 1
    assert "a registration certificate" in (await mail(api, missing))["text"]
    service.clock.advance(days=2)
    assert (await subjects(service, api)).count(missing) == 1


async def test_who_has_only_to_confirm_is_not_written_to_twice(service: Service, api: Client) -> None:
    await applied(api, organisationName="test_accept")
    await subjects(service, api)
    service.clock.advance(minutes=11)
    assert "Something is missing" not in await subjects(service, api)


async def test_who_gave_no_address_is_not_written_to(service: Service, api: Client) -> None:
    alone = await configured(api, "validation_request")
    await applied(api, configurationId=alone, firstName=None, lastName=None, email=None)
    await service.drain()
    assert data(await api.get("/v1/sandbox/mailbox")) == []
