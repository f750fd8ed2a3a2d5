"""Submissions in all states, and corruptions of their records that bypass the service."""

from collections.abc import Iterator

from almoner.validation.decisions.reviews.domain import Verdict
from tests.support import appeals, submissions
from tests.support.client import Client
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create submissions that succeeded, failed, are undecided, wait for the applicant, and were appealed."""
    for name in ("test_accept", "test_reject_other", "Casper Relief Fund"):
        await submissions.applied(api, organisationName=name, firstName="test_accept")
    await submissions.of_organisation(service, api)
    restricted = await submissions.configured(api, "eligibility", allowedActivitySubTags=[submissions.CHOIRS])
    await submissions.of_organisation(service, api, configurationId=restricted)
    await service.drain()
    alone = await submissions.configured(api, "validation_request")
    verdicts: tuple[Verdict | None, ...] = ("accepted", "rejected", None)
    for verdict in verdicts:
        failed = await submissions.applied(api, organisationName="test_reject_other", configurationId=alone)
        await service.drain()
        made = await appeals.made(api, failed)
        if verdict is not None:
            await appeals.decide(service, made, verdict)
    await service.drain()


def of_submissions() -> Iterator[Fault]:
    """Corruptions of submissions and their records."""
    ended = "update {} set status_changed_at = {old}"
    old = "".join(
        f"update {table} set {column} = {OLD};"
        for table, column in (
            ("validation_request", "status_changed_at"),
            ("evidence", "recorded_at"),
            ("eligibility_subscription", "updated_at"),
            ("agent_verification", "status_changed_at"),
        )
    )
    assert ended
    yield Fault(
        "validation_submissions.decided_on_time",
        f"""
        update validation_submission set status = 'pending', processed_at = null, failure_reasons = null,
            created_at = {OLD};
        {old}
        """,
    )
    again = "insert into event (id, partner_id, type, payload, created_at) select gen_random_uuid(), {} from event "
    yield Fault(
        "validation_submissions.results_reported_once",
        again.format("partner_id, type, payload, created_at")
        + "where type = 'validation_submission.succeeded' limit 1",
    )
    yield Fault(
        "validation_submissions.results_reported_once", "delete from event where type = 'validation_submission.failed'"
    )
    yield Fault(
        "validation_submissions.have_organisations",
        """
        update validation_submission s
        set organisation_id = (select o.id from organisation o where o.id <> s.organisation_id limit 1)
        where status = 'succeeded' and validation_request_id is not null
        """,
    )
    yield from of_appeals()


def of_appeals() -> Iterator[Fault]:
    """Corruptions of appeals."""
    yield Fault(
        "appeals.decided_on_time",
        f"update appeal set created_at = {OLD}, due_at = {OLD} + interval '1 day' where status = 'open'",
    )
    yield Fault(
        "appeals.open_have_reviews",
        "update review set status = 'withdrawn', ended_at = asked_at where kind = 'appeal' and status = 'open'",
    )
    yield Fault(
        "appeals.open_have_reviews",
        """
        update validation_submission s set status = 'succeeded', failure_reasons = null
        from appeal a where a.validation_submission_id = s.id and a.status = 'open'
        """,
    )
    yield Fault("appeals.outcomes_match_reviews", "update appeal set decided_by = 'somebody' where status = 'upheld'")
    yield Fault(
        "appeals.outcomes_match_reviews",
        "update appeal set status = 'upheld', overridden_checks = '{}', completed_at = null where status = 'reversed'",
    )
    yield Fault(
        "appeals.reversed_have_results",
        f"""
        with back as (
            update appeal set decided_at = {OLD}, created_at = {OLD}
            where status = 'reversed' returning validation_submission_id
        )
        update validation_submission s set status = 'failed', failure_reasons = '{{"validation_request": {{}}}}'
        from back where back.validation_submission_id = s.id
        """,
    )
    yield Fault(
        "appeals.reversed_requests_are_accepted",
        """
        update validation_request r set status = 'rejected', rejected_at = accepted_at, accepted_at = null,
            organisation_id = null, rejection_reason = 'x', rejection_reason_code = 'other'
        from validation_submission s join appeal a on a.validation_submission_id = s.id
        where r.id = s.validation_request_id and a.status = 'reversed'
        """,
    )
