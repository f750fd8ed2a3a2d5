"""Loads submissions with the results of their checks in a fixed number of statements."""

from collections.abc import Iterable, Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.agents import service as agents
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.submissions import store
from almoner.validation.applications.submissions.domain import CheckRecords, Submission
from almoner.validation.ongoing.eligibility import service as eligibility
from almoner.validation.ongoing.monitoring import service as monitoring
from almoner.validation.requests import service as validation_requests


async def load_submissions(tx: Tx, partner: Partner, submission_rows: Sequence[Record]) -> list[Submission]:
    """The submissions of these rows of one partner, in their order."""
    if not submission_rows:
        return []
    own = [store.submission_fields_of_row(row) for row in submission_rows]

    def named(column: str) -> list[UUID]:
        return list(_present(row[column] for row in submission_rows))

    known_configurations = await configurations.load_configurations_by_id(tx, partner, named("configuration_id"))
    known_requests = await validation_requests.load_requests_by_id(tx, partner, named("validation_request_id"))
    known_monitoring = await monitoring.load_subscriptions_by_id(tx, partner, named("monitoring_subscription_id"))
    known_eligibility = await eligibility.load_subscriptions_by_id(tx, partner, named("eligibility_subscription_id"))
    known_agents = await agents.load_verifications_by_id(tx, partner, named("agent_verification_id"))
    known_organisations = await store.load_organisations_by_submission(tx, [row["id"] for row in submission_rows])
    pending = [request.id for request in known_requests.values() if request.status == "pending"]
    evaluated = await store.load_pending_reviews_by_request_id(tx, pending) if pending else {}
    waiting = [row["id"] for row in submission_rows if row["validation_request_id"] in evaluated]
    alone = await store.filter_submission_ids_with_exclusive_request(tx, waiting) if waiting else set()
    attempt = [agent.id for agent in known_agents.values() if agent.status == "pending_review"]
    asked = await store.load_unanswered_request_times_by_verification_id(tx, attempt) if attempt else {}
    answered = [row["id"] for row in submission_rows if row["processed_at"] is not None]
    undecided = [row["id"] for row in submission_rows if row["status"] == "pending"]
    requested = await store.load_requested_evidence_by_submission_and_check(tx, undecided) if undecided else {}
    appeals = await store.load_latest_appeals_by_submission(tx, answered) if answered else {}

    def made(members: dict[str, Any]) -> Submission:
        parts = CheckRecords(
            configuration=known_configurations[members["configuration_id"]],
            organisation=known_organisations.get(members["id"]),
            request=known_requests.get(members["validation_request_id"]),
            monitoring=known_monitoring.get(members["monitoring_subscription_id"]),
            eligibility=known_eligibility.get(members["eligibility_subscription_id"]),
            agent=known_agents.get(members["agent_verification_id"]),
            pending_review=evaluated.get(members["validation_request_id"]),
            exclusive_request=members["id"] in alone,
            nonprofit_asked_at=asked.get(members["agent_verification_id"]),
            appeal=appeals.get(members["id"]),
            requested_evidence=requested.get(members["id"], {}),
        )
        if parts.organisation is not None:
            members = {**members, "organisation_id": parts.organisation.id}
        return Submission(**members, check_records=parts)

    return [made(members) for members in own]


def _present(ids: Iterable[UUID | None]) -> dict[UUID, None]:
    return {one: None for one in ids if one is not None}
