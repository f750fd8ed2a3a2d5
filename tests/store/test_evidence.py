"""Evidence at rest: the database refuses what does not belong to its kind, its record and its partner."""

from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.validation.ongoing.monitoring.checks import checks as monitoring_checks
from tests.support.client import Client
from tests.support.service import Service, Tenant
from tests.support.validation import decided

REQUEST, AGENT, MONITORING, ELIGIBILITY, VERIFICATION = (
    "validation_request",
    "agent_verification",
    "monitoring_subscription",
    "eligibility_subscription",
    "monetary_donation_verification",
)
STEP = {"name": "compliance", "verdict": "pass", "code": "r", "source": "a list", "facts": {}}
VALID: dict[str, dict[str, Any]] = {
    REQUEST: {"occasion": "created", "outcome": "accept", "steps": [STEP]},
    AGENT: {"occasion": None, "outcome": "review", "steps": [STEP]},
    MONITORING: {"occasion": "chosen", "outcome": None, "steps": []},
    ELIGIBILITY: {"occasion": "simulated", "outcome": "fail", "steps": [STEP]},
    VERIFICATION: {"occasion": None, "outcome": None, "steps": [STEP]},
}
"""Evidence of each kind that only lacks its record."""


async def refused(service: Service, kind: str, record_id: UUID, partner_id: UUID, **changes: object) -> str | None:
    """The constraint that evidence breaks."""
    row = {"reasons": []} | VALID[kind] | changes
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as broken:
        async with service.db.write() as tx:
            await tx.execute(
                """
                insert into evidence (
                    id, kind, record_id, partner_id, occasion, outcome, reasons, facts, steps, recorded_at
                ) values ($1, $2, $3, $4, $5, $6, $7, '{}', $8, now())
                """,
                uuid4(),
                kind,
                record_id,
                partner_id,
                row["occasion"],
                row["outcome"],
                row["reasons"],
                row["steps"],
            )
    return broken.value.constraint_name


@pytest.mark.parametrize(
    ("kind", "changes", "broken"),
    [
        (REQUEST, {"occasion": None}, "occasion"),
        (REQUEST, {"occasion": "chosen"}, "occasion"),
        (AGENT, {"occasion": "created"}, "occasion"),
        (MONITORING, {"occasion": None}, "occasion"),
        (MONITORING, {"occasion": "simulated"}, "occasion"),
        (ELIGIBILITY, {"occasion": None}, "occasion"),
        (ELIGIBILITY, {"occasion": "chosen"}, "occasion"),
        (VERIFICATION, {"occasion": "asked"}, "occasion"),
        (REQUEST, {"outcome": None}, "outcome"),
        (REQUEST, {"outcome": "pass", "reasons": ["not_listed"]}, "outcome"),
        (AGENT, {"outcome": "fail"}, "outcome"),
        (MONITORING, {"outcome": "accept"}, "outcome"),
        (ELIGIBILITY, {"outcome": "review"}, "outcome"),
        (VERIFICATION, {"outcome": "pass"}, "outcome"),
        (REQUEST, {"steps": [STEP, {**STEP, "verdict": "fail"}]}, "steps_named"),
        (ELIGIBILITY, {"steps": [STEP, {**STEP, "verdict": "fail"}]}, "steps_named"),
        (AGENT, {"steps": [{**STEP, "name": None}]}, "steps"),
        (AGENT, {"steps": [{"verdict": "pass"}]}, "steps"),
        (AGENT, {"steps": [{**STEP, "verdict": "maybe"}]}, "steps"),
        (AGENT, {"steps": [{**STEP, "verdict": 1}]}, "steps"),
        (REQUEST, {"steps": [{**STEP, "code": None}]}, "of_request"),
        (ELIGIBILITY, {"steps": [{"name": "x", "verdict": "pass"}]}, "of_eligibility"),
        (ELIGIBILITY, {"steps": [{"name": "x", "verdict": "not_applicable"}]}, "of_eligibility"),
        (ELIGIBILITY, {"steps": [{**STEP, "verdict": "warn"}]}, "of_eligibility"),
        (VERIFICATION, {"steps": []}, "of_verification"),
        (VERIFICATION, {"steps": [{**STEP, "name": "website"}]}, "of_verification"),
        (VERIFICATION, {"steps": [{**STEP, "verdict": "warn"}]}, "of_verification"),
        (VERIFICATION, {"steps": [{**STEP, "source": None}]}, "of_verification"),
    ],
)
async def test_a_kind_has_its_own_occasions_outcomes_and_steps(
    service: Service, tenant: Tenant, kind: str, changes: dict[str, object], broken: str
) -> None:
    assert await refused(service, kind, uuid4(), tenant.partner.id, **changes) == f"evidence_{broken}"


@pytest.mark.parametrize("kind", VALID)
async def test_a_record_of_the_kind_exists(service: Service, tenant: Tenant, kind: str) -> None:
    assert await refused(service, kind, uuid4(), tenant.partner.id) == f"evidence_partner_id_{kind}_id_fkey"


async def test_a_record_is_of_its_kind_and_partner_and_stays(service: Service, api: Client, tenant: Tenant) -> None:
    request_id = service.db.deployment.ids.decode("validationrequest", (await decided(service, api))["id"])
    assert request_id is not None
    other = (await service.tenant()).partner
    assert await refused(service, REQUEST, request_id, other.id) == f"evidence_partner_id_{REQUEST}_id_fkey"
    assert await refused(service, AGENT, request_id, tenant.partner.id) == f"evidence_partner_id_{AGENT}_id_fkey"
    owner = await asyncpg.connect(service.database.owner_dsn)
    try:
        with pytest.raises(asyncpg.ForeignKeyViolationError, match=f"evidence_partner_id_{REQUEST}_id_fkey"):
            await owner.execute(f"delete from {REQUEST} where id = $1", request_id)
    finally:
        await owner.close()


async def test_the_changes_of_monitoring_are_compared_by_an_index(service: Service) -> None:
    (check,) = [one for one in monitoring_checks if one.name == "monitoring.changes_reported_once"]
    async with service.db.read() as tx:
        await tx.execute("set local enable_seqscan = off")
        rows = await tx.fetch(f"explain {check.statement}", tx.now, tx.now, None)
    plan = "\n".join(row[0] for row in rows)
    assert "evidence_of_monitoring_recorded" in plan, plan
