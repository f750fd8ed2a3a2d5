"""Journeys of applications, and what might be done to their records behind the service's back."""

from collections.abc import Iterator

from tests.support import submissions
from tests.support.client import Client
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Succeeded, failed, undecided, waiting for the applicant."""
    for name in ("test_accept", "test_reject_other", "Casper Relief Fund"):
        await submissions.applied(api, organisationName=name, firstName="test_accept")
    await submissions.of_organisation(service, api)
    restricted = await submissions.configured(api, "eligibility", allowedActivitySubTags=[submissions.CHOIRS])
    await submissions.of_organisation(service, api, configurationId=restricted)
    await service.drain()


def of_submissions() -> Iterator[Fault]:
    """What might become of all its records."""
    ended = "update {} set status_changed_at = {old}"
    old = "".join(
        f"update {table} set {column} = {OLD};"
        for table, column in (
            ("validation_request", "status_changed_at"),
            ("monitoring_change", "changed_at"),
            ("eligibility_subscription", "updated_at"),
            ("agent_verification", "status_changed_at"),
        )
    )
    assert ended
    yield Fault(
        "submissions.answered",
        f"""
        update validation_submission set status = 'pending', processed_at = null, failure_reasons = null,
            created_at = {OLD};
        {old}
        """,
    )
    again = "insert into event (id, partner_id, type, payload, created_at) select gen_random_uuid(), {} from event "
    yield Fault(
        "submissions.answers_are_told",
        again.format("partner_id, type, payload, created_at")
        + "where type = 'validation_submission.succeeded' limit 1",
    )
    yield Fault("submissions.answers_are_told", "delete from event where type = 'validation_submission.failed'")
    yield Fault(
        "submissions.lead_to_organisations",
        """
        update validation_submission set organisation_id = (select id from organisation order by id desc limit 1)
        where status = 'succeeded' and validation_request_id is not null
        """,
    )
