"""Corrections of undecided submissions: unconfirmed email address and registration number.

Earlier values are kept: another address starts another verification, and the request stores the previous number.
"""

from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.validation.agents import service as agents
from almoner.validation.applications.submissions import (
    domain,
    loader,
    schemas,
    search_text,
    store,
    submission_evaluation,
)
from almoner.validation.applications.submissions.domain import Submission
from almoner.validation.applications.submissions.requirements import may_correct_registry_number
from almoner.validation.requests import service as validation_requests

Scope = Partner | AllPartners


async def correct_email(tx: Tx, scope: Scope, submission_id: UUID, email: str) -> Submission | None:
    """Verify the applicant at another email address; None if limits forbid an email. Raises NotFound, InvalidState."""
    locked = await submission_evaluation.get_for_update(tx, scope, submission_id)
    agent = locked.check_records.agent
    if not (
        (locked.is_open or locked.has_checks_resumed_by_appeal) and agent is not None and agent.is_email_unconfirmed
    ):
        raise domain.InvalidState("there is no address that nobody has confirmed")
    made = await agents.correct_email(tx, Partner(locked.partner_id), agent.id, email)
    if made is None:
        return None
    await store.set_agent_verification(tx, locked.id, made.id)
    return await reload_submission_and_emit_updated(tx, locked)


async def correct_registry_number(
    tx: Tx, scope: Scope, submission_id: UUID, registry_name: str, number: str
) -> Submission:
    """Look the nonprofit up by another register or number.

    Raises NotFound, InvalidState, and what ``requests.correct_registry_number`` raises.
    """
    if (row := await store.find_for_update(tx, scope, submission_id)) is None:
        raise NotFound
    if (request_id := row["validation_request_id"]) is not None:
        # Wait for concurrent decisions and new references to the request; the reload below sees them.
        await validation_requests.lock_request_exclusively(tx, request_id)
    locked = await submission_evaluation.get_for_update(tx, scope, submission_id)
    if locked.validation_request_id is None or not may_correct_registry_number(locked):
        raise domain.InvalidState("its number is corrected no more")
    await validation_requests.correct_registry_number(
        tx, Partner(locked.partner_id), locked.validation_request_id, registry_name, number
    )
    await store.add_search_words(tx, locked.id, search_text.build_number_search_text(number))
    return await reload_submission_and_emit_updated(tx, locked)


async def reload_submission_and_emit_updated(tx: Tx, submission: Submission) -> Submission:
    """Emit the locked submission's update event, and return the reloaded submission."""
    row = await store.find(tx, ALL_PARTNERS, submission.id)
    assert row is not None, "it is held"
    new = (await loader.load_submissions(tx, Partner(submission.partner_id), [row]))[0]
    await outbox.emit_event(tx, new.partner_id, domain.UPDATED, schemas.submission_response(tx, new))
    return new
