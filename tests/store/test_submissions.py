"""The database keeps the rules of submissions and configurations by itself."""

from dataclasses import replace
from typing import Any, get_args
from uuid import UUID

import asyncpg
import pytest

from almoner.platform.database.transactions import Partner
from almoner.platform.http.paging import RequestedPage
from almoner.validation.applications.submissions import loader
from almoner.validation.applications.submissions import store as submissions_store
from almoner.validation.applications.submissions.domain import SUBMISSION, SubmissionFilters, SubmissionStatus
from tests.support import factories
from tests.support.client import Client, data
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant
from tests.support.submissions import applied, configured, ended, of_organisation

RECORD = "validation_submission"


async def named(service: Service, record: dict[str, Any]) -> UUID:
    """The id that the database knows."""
    found = service.db.deployment.ids.decode("validationsubmission", record["id"])
    assert found is not None
    return found


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_s1_the_moves_are_those_of_the_lifecycle(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select from_status, to_status from lifecycle_transition where resource = $1", RECORD)
    assert {tuple(row) for row in rows} == set(SUBMISSION.transitions())


@pytest.mark.parametrize(
    ("target", "also"),
    [("pending", "failure_reasons = null, processed_at = null"), ("failed", "failure_reasons = '{}'")],
)
async def test_s1_an_answer_stays(service: Service, api: Client, target: str, also: str) -> None:
    made = await of_organisation(service, api, firstName="test_accept")
    assert (await ended(service, api, made))["status"] == "succeeded"
    sql = f"update {RECORD} set status = $2, {also} where id = $1"
    assert await refuses(service, sql, await named(service, made), target) == f"lifecycle_{RECORD}"


@pytest.mark.parametrize(
    ("change", "constraint"),
    [
        ("status = 'failed', processed_at = now()", "failed"),
        ("status = 'succeeded'", "processed"),
        ("failure_reasons = '{}'", "failed"),
        ("metadata = '[]'", "metadata_check"),
        ("country_code = 'us'", "immutable"),
        ("checks = '{compliance}'", "immutable"),
        ("validation_request_id = null", "immutable"),
        ("agent_verification_id = null", "applicant_corrected"),
        ("monitoring_subscription_id = null", "immutable"),
        ("eligibility_subscription_id = null", "immutable"),
        ("organisation_name = 'Another'", "immutable"),
        ("email = 'ada@example.org'", "applicant"),
    ],
)
async def test_what_does_not_belong_together_is_refused(
    service: Service, api: Client, change: str, constraint: str
) -> None:
    made = await named(service, await applied(api))
    assert await refuses(service, f"update {RECORD} set {change} where id = $1", made) == f"{RECORD}_{constraint}"


async def test_an_organisation_is_filled_in_once(service: Service, api: Client) -> None:
    made = await named(service, await of_organisation(service, api))
    other = service.db.deployment.ids.decode("organisation", await factories.nonprofit(service))
    sql = f"update {RECORD} set organisation_id = $2 where id = $1"
    assert await refuses(service, sql, made, other) == f"{RECORD}_immutable"


_COPY = f"""
insert into {RECORD} (
    id, partner_id, configuration_id, validation_invite_id, status, checks, organisation_id, validation_request_id,
    monitoring_subscription_id, eligibility_subscription_id, agent_verification_id, organisation_name, country_code,
    search_name, language, created_at, status_changed_at
) select gen_random_uuid(), {{partner}}, configuration_id, {{invite}}, status, checks, organisation_id,
    validation_request_id, {{monitoring}}, {{eligibility}}, {{agent}}, organisation_name, country_code, search_name,
    language, created_at, status_changed_at
from {RECORD} where id = $1
"""


async def test_each_check_and_each_invite_is_of_one_submission(service: Service, api: Client, other: Client) -> None:
    invite = data(await api.post("/v1/validation-invites", {}))["id"]
    made = await named(service, await applied(api, validationInviteId=invite))
    own = {
        "partner": "partner_id",
        "invite": "validation_invite_id",
        "monitoring": "monitoring_subscription_id",
        "eligibility": "eligibility_subscription_id",
        "agent": "agent_verification_id",
    }
    for kind in ("invite", "monitoring", "eligibility", "agent"):
        without = {k: v if k in (kind, "partner") else "null" for k, v in own.items()}
        broken = await refuses(service, _COPY.format(**without), made)
        assert broken is not None
        assert broken.startswith(RECORD), kind
    # What another partner has is nobody's check here.
    theirs = await named(service, await applied(other))
    stolen = f"""
        update {RECORD} set validation_request_id = (select validation_request_id from {RECORD} where id = $2)
        where id = $1
    """
    assert await refuses(service, stolen, made, theirs) == f"{RECORD}_immutable"
    partner = f"(select partner_id from {RECORD} where id = '{theirs}')"
    broken = await refuses(service, _COPY.format(**{**own, "partner": partner, "invite": "null"}), made)
    assert broken is not None


async def test_there_is_one_default_configuration(service: Service, api: Client) -> None:
    await configured(api)
    assert (
        await refuses(service, "update hosted_configuration set is_default = true where not is_default")
        == "hosted_configuration_default"
    )


@pytest.mark.parametrize(
    "change",
    [
        "checks = '{}'",
        "checks = '{other}'",
        "compliance_flags = '{other}'",
        "allowed_organisation_types = '{}'",
        "allowed_activity_sub_tags = '{}'",
        "primary_color = 'red'",
        "partner_fields = '{}'",
        "display_name = ''",
    ],
)
async def test_configurations_hold_what_they_may(service: Service, tenant: Tenant, change: str) -> None:
    sql = f"update hosted_configuration set {change} where partner_id = $1"
    assert await refuses(service, sql, tenant.partner.id) is not None


async def test_a_page_of_submissions_costs_a_handful_of_statements(service: Service, api: Client) -> None:
    counted = []
    for _ in range(2):
        for _ in range(3):
            await applied(api)
        answer = await api.get("/v1/validation-submissions")
        assert answer.status_code == 200
        async with service.db.read() as reading:
            asking: Any = Explaining(reading)
            tenant = await reading.fetchval(
                f"select partner_id from {RECORD} where id = $1", await named(service, data(answer)[0])
            )
            rows, _ = await submissions_store.list_page(
                asking, Partner(tenant), RequestedPage(25, descending=True), SubmissionFilters()
            )
            await loader.load_submissions(asking, Partner(tenant), rows)
        counted.append(len(asking.plans))
    assert counted[0] == counted[1]


async def test_s1_who_saw_another_state_moves_nothing(service: Service, api: Client, tenant: Tenant) -> None:
    made = await named(service, await of_organisation(service, api))
    async with service.db.write() as tx:
        row = await submissions_store.find_for_update(tx, tenant.partner, made)
        assert row is not None
        (seen,) = await loader.load_submissions(tx, tenant.partner, [row])
        moved = replace(seen, status="failed", failure_reasons={}, processed_at=tx.now)
        for before in set(get_args(SubmissionStatus)) - {seen.status}:
            assert not await submissions_store.update_status(tx, moved, before)
        assert await tx.fetchval(f"select status from {RECORD} where id = $1", made) == seen.status
