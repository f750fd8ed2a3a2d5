"""What a configuration makes fail and allows in both kinds of subscriptions (settled 4), anew when it changes."""

from typing import Any
from uuid import UUID

import pytest

from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.service import ConfigurationInput
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.eligibility.domain import EligibilitySubscriptionInput
from almoner.validation.ongoing.monitoring import service as monitoring
from tests.support import eligibility as activities
from tests.support import factories, validation
from tests.support import monitoring as watching
from tests.support.client import Client, data
from tests.support.service import Service, Tenant

PATH = "/v1/validation-submission-configurations"
DOGS, CATS, CHOIRS, PERFORMING = "AN102", "AN101", "AR301", "AR300"


async def configured(service: Service, api: Client, **body: Any) -> UUID:
    """A new configuration of the partner."""
    made = data(await api.post(PATH, body))
    found = service.db.deployment.ids.decode("hostedconfiguration", made["id"])
    assert found is not None
    return found


async def default_of(api: Client) -> str:
    """The id of the partner's default configuration."""
    [only] = [one["id"] for one in data(await api.get(PATH)) if one["isDefault"]]
    return str(only)


async def change(service: Service, api: Client, configuration: str, **body: Any) -> None:
    """Change a configuration, and do what follows."""
    data(await api.patch(f"{PATH}/{configuration}", body))
    await service.drain()


async def monitored(service: Service, api: Client, tenant: Tenant, of: str, configuration: UUID) -> dict[str, Any]:
    """A subscription with a configuration, looked at."""
    async with service.db.write() as tx:
        made = await monitoring.create(tx, tenant.partner, of, None, configuration)
        text = tx.ids.encode("monitoringsubscription", made.id)
    await service.drain()
    return await watching.shown(api, {"id": text})


async def judged(service: Service, api: Client, tenant: Tenant, of: str, configuration: UUID) -> dict[str, Any]:
    """The same for what an organisation does."""
    async with service.db.write() as tx:
        made = await eligibility.create(
            tx, tenant.partner, EligibilitySubscriptionInput(of, configuration_id=configuration)
        )
        text = tx.ids.encode("eligibilitysubscription", made.id)
    await service.drain()
    return await activities.shown(api, {"id": text})


async def test_the_flags_of_the_configuration_fail_compliance(service: Service, api: Client, tenant: Tenant) -> None:
    strict = await configured(service, api, complianceFlags=["adverseMedia"])
    of = await factories.nonprofit(service)
    record = await monitored(service, api, tenant, of, strict)
    assert record["configurationId"] == service.db.deployment.ids.encode("hostedconfiguration", strict)
    media = await watching.set_results(api, record, adverseMedia={"status": "flag"})
    assert media["results"]["complianceStatus"] == "fail"
    media = await watching.set_results(api, record, adverseMedia={"status": "clear"}, sanction={"status": "flag"})
    assert media["results"]["complianceStatus"] == "pass"
    plain = await watching.looked(service, api, organisationId=of)
    assert plain["configurationId"] is None
    flagged = await watching.set_results(api, plain, sanction={"status": "flag"}, adverseMedia={"status": "flag"})
    assert flagged["results"]["complianceStatus"] == "fail"


@pytest.mark.parametrize("flag", CATEGORIES)
async def test_each_flag_counts_where_it_is_named(service: Service, api: Client, tenant: Tenant, flag: str) -> None:
    strict = await configured(service, api, complianceFlags=[flag])
    of = await factories.nonprofit(service)
    record = await monitored(service, api, tenant, of, strict)
    for category in CATEGORIES:
        stated: dict[str, Any] = {one: {"status": "flag" if one == category else "clear"} for one in CATEGORIES}
        results = (await watching.set_results(api, record, **stated))["results"]
        assert results["complianceStatus"] == ("fail" if category == flag else "pass"), category


async def test_changed_flags_judge_live_subscriptions_anew_and_tell_only_changes(
    service: Service, api: Client, tenant: Tenant
) -> None:
    other = await configured(service, api)
    flagged, clear, apart, gone = [await watching.looked(service, api) for _ in range(4)]
    of = await factories.nonprofit(service)
    apart = await monitored(service, api, tenant, of, other)
    for record in (flagged, apart, gone):
        await watching.set_results(api, record, commercial={"status": "flag"})
    ended = await watching.cancelled(api, gone)
    request = await validation.requested(api)
    waiting = await watching.looked(service, api, validationRequestId=request["id"])
    before = await watching.told(service, api)
    await change(service, api, await default_of(api), complianceFlags=["sanction", "commercial"])
    now = await watching.shown(api, flagged)
    assert now["results"]["complianceStatus"] == "fail"
    assert (await watching.told(service, api))[len(before) :] == [now]
    assert await watching.shown(api, clear) == clear
    assert (await watching.shown(api, apart))["results"]["complianceStatus"] == "pass"
    assert await watching.shown(api, gone) == ended
    assert await watching.shown(api, waiting) == waiting
    await change(service, api, await default_of(api), complianceFlags=["sanction", "commercial", "warning"])
    assert len(await watching.told(service, api)) == len(before) + 1
    named = service.db.deployment.ids.encode("hostedconfiguration", other)
    await change(service, api, named, complianceFlags=["commercial"])
    assert (await watching.shown(api, apart))["results"]["complianceStatus"] == "fail"
    assert len(await watching.told(service, api)) == len(before) + 2


async def test_another_default_judges_those_that_name_none(service: Service, api: Client, tenant: Tenant) -> None:
    dogs = await activities.body_of(service, {DOGS: "ntee:D20"})
    plain, old = await activities.evaluated(service, api, dogs), await default_of(api)
    only_cats = {"allowedActivitySubTags": [activities.tag(service, CATS)]}
    await configured(service, api, isDefault=True, **only_cats)
    await service.drain()
    assert activities.summary(await activities.shown(api, plain)) == ("fail", ["ntee:D20"], ["ntee:D20"])
    await change(service, api, old, isDefault=True)
    assert activities.summary(await activities.shown(api, plain)) == ("pass", ["ntee:D20"], [])
    flagged = await watching.looked(service, api)
    await watching.set_results(api, flagged, controversial={"status": "flag"})
    await configured(service, api, isDefault=True, complianceFlags=["controversial"])
    await service.drain()
    assert (await watching.shown(api, flagged))["results"]["complianceStatus"] == "fail"


async def test_allowed_activities_decide_anew_and_tell_only_changes(
    service: Service, api: Client, tenant: Tenant
) -> None:
    both = await activities.evaluated(service, api, await activities.body_of(service, {DOGS: "d", CHOIRS: "c"}))
    cats = await activities.evaluated(service, api, await activities.body_of(service, {CATS: "k"}))
    choir = await activities.evaluated(service, api, await activities.body_of(service, {CHOIRS: "c"}))
    gone = await activities.evaluated(service, api, await activities.body_of(service, {DOGS: "d"}))
    await activities.cancel(api, gone)
    before, own = await activities.told(service, api), await default_of(api)
    await change(service, api, own, allowedActivitySubTags=[activities.tag(service, one) for one in (DOGS, PERFORMING)])
    now = {made["id"]: await activities.shown(api, made) for made in (both, cats, choir, gone)}
    assert activities.summary(now[both["id"]])[::2] == ("pass", [])
    assert activities.summary(now[cats["id"]]) == ("fail", ["k"], ["k"])
    assert activities.summary(now[choir["id"]]) == ("pass", ["c"], []), "allowed with the wider one"
    assert (await activities.told(service, api))[len(before) :] == [now[cats["id"]]]
    (_, last) = await activities.evidence(service, choir)
    assert (last.occasion, last.facts["resultsChanged"]) == ("configuration_changed", False)
    assert last.facts["allowed"] == sorted((DOGS, PERFORMING))
    await change(service, api, own, allowedActivitySubTags=[activities.tag(service, DOGS)])
    status, confirmed, rejected = activities.summary(await activities.shown(api, both))
    assert (status, set(confirmed), rejected) == ("pass", {"d", "c"}, ["c"])
    assert activities.summary(await activities.shown(api, choir))[0] == "fail"
    count = len(await activities.told(service, api))
    await change(service, api, own, name="The same in other words")
    assert len(await activities.told(service, api)) == count
    assert (await activities.shown(api, gone))["results"] == gone["results"]
    await change(service, api, own, allowedActivitySubTags=None)
    assert activities.summary(await activities.shown(api, choir))[0] == "pass"


async def test_a_configuration_concerns_its_own_subscriptions_alone(
    service: Service, api: Client, tenant: Tenant
) -> None:
    dogs = await activities.body_of(service, {DOGS: "d"})
    plain = await activities.evaluated(service, api, dogs)
    narrow = await configured(service, api, allowedActivitySubTags=[activities.tag(service, CATS)])
    record = await judged(service, api, tenant, dogs, narrow)
    assert activities.summary(record) == ("fail", ["d"], ["d"])
    text = service.db.deployment.ids.encode("hostedconfiguration", narrow)
    assert record["configurationId"] == text
    await change(service, api, text, allowedActivitySubTags=[activities.tag(service, DOGS)])
    assert activities.summary(await activities.shown(api, record)) == ("pass", ["d"], [])
    assert await activities.shown(api, plain) == plain


async def test_many_are_judged_in_batches(service: Service, tenant: Tenant) -> None:
    of = await factories.nonprofit(service)
    async with service.db.write() as tx:
        own = await configurations.find_default(tx, tenant.partner)
        assert own is not None
        made = [await monitoring.create(tx, tenant.partner, f"{of}-complianceStatus:pass", None) for _ in range(5)]
        seen: list[UUID] = []
        after: UUID | None = None
        await configurations.update(tx, tenant.partner, own.id, ConfigurationInput(compliance_flags=("commercial",)))
        while after := await monitoring.enqueue_evaluation_batch_and_get_last_id(
            tx, tenant.partner, own.id, after, batch_size=2
        ):
            seen.append(after)
    assert seen == [made[1].id, made[3].id]
