"""Operations on monetary donation verifications.

Every change locks the row first and emits one event with the record as GET returns it (settled 6); a failed check and
the resulting rejection are one change.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

import asyncpg
import msgspec

from almoner.giving.disbursing.verifications import (
    checking,
    domain,
    findings,
    store,
    store_findings,
    test_values,
    transitions,
)
from almoner.giving.disbursing.verifications.checking import find_unscreened_subject as find_unscreened_subject
from almoner.giving.disbursing.verifications.domain import (
    CheckType,
    DecisionGrounds,
    EligibilityStatus,
    InvalidState,
    MonetaryDonationVerification,
    Outcome,
    RecordedDecision,
    RejectionReason,
    VerificationFilters,
)
from almoner.giving.disbursing.verifications.findings import BLOCKING_CATEGORIES as BLOCKING_CATEGORIES
from almoner.giving.disbursing.verifications.findings import RENEWAL_PERIOD, CheckFinding
from almoner.giving.disbursing.verifications.findings import FlagReview as FlagReview
from almoner.giving.disbursing.verifications.findings import VerificationFlag as VerificationFlag
from almoner.giving.disbursing.verifications.findings import WaitingKind as WaitingKind
from almoner.giving.disbursing.verifications.findings import WaitingReviewItem as WaitingReviewItem
from almoner.giving.disbursing.verifications.flagging import on_account_approved as on_account_approved
from almoner.giving.disbursing.verifications.flagging import on_account_ownership_denied as on_account_ownership_denied
from almoner.giving.disbursing.verifications.flagging import on_account_proposed as on_account_proposed
from almoner.giving.disbursing.verifications.flagging import on_account_refused as on_account_refused
from almoner.giving.disbursing.verifications.flagging import review_flag as review_flag
from almoner.giving.disbursing.verifications.schemas import MonetaryDonationVerificationResponse
from almoner.giving.disbursing.verifications.store import list_decisions as list_decisions
from almoner.giving.disbursing.verifications.store import (
    list_pending_and_approved_verification_ids as list_pending_and_approved_verification_ids,
)
from almoner.giving.disbursing.verifications.store_findings import (
    count_waiting_by_kind_up_to as count_waiting_by_kind_up_to,
)
from almoner.giving.disbursing.verifications.store_findings import list_findings as list_findings
from almoner.giving.disbursing.verifications.store_findings import list_flags as list_flags
from almoner.giving.disbursing.verifications.store_findings import (
    list_waiting_review_items as list_waiting_review_items,
)
from almoner.giving.disbursing.verifications.store_findings import next_check_at as next_check_at
from almoner.giving.disbursing.verifications.transitions import CHECK as CHECK
from almoner.giving.disbursing.verifications.transitions import CheckVerificationJob as CheckVerificationJob
from almoner.giving.disbursing.verifications.transitions import Scope
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.crypto import sha256_digest
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.paging import RequestedPage
from almoner.platform.jobs.failing_rows import process_due_rows
from almoner.platform.observability.telemetry import Telemetry

BATCH: Final = 1000  # S4
_SANDBOX_EVIDENCE: Final = DecisionGrounds("sandbox", "A test value in organisationId asked for it.")


async def load_eligibility_by_organisation(
    tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]
) -> dict[UUID, EligibilityStatus]:
    """For each organisation, whether the partner's donations may be disbursed (settled 5)."""
    found: dict[UUID, list[MonetaryDonationVerification]] = {
        organisation_id: [] for organisation_id in organisation_ids
    }
    for verification in await store.list_verifications_of_organisations(tx, partner, list(found)):
        found[verification.organisation_id].append(verification.with_expiry_applied(tx.now))
    return {organisation_id: domain.eligibility_status_of(its) for organisation_id, its in found.items()}


async def create(
    tx: Tx, partner: Partner, organisation_id: str, metadata: Mapping[str, str] | None = None
) -> MonetaryDonationVerification:
    """Create a verification, or return the one that a donation has started; it is checked after the commit.

    Raises OrganisationNotFound, InvalidMetadata; InvalidState while another is pending or approved.
    """
    named, action = test_values.split_test_value(organisation_id) if tx.deployment.sandbox else (organisation_id, None)
    found = tx.ids.decode("organisation", named)
    try:
        organisation = await organisations.get(tx, partner, found) if found else None
    except NotFound:
        organisation = None
    if organisation is None:
        raise domain.OrganisationNotFound(f"body.organisationId '{organisation_id[:100]}' names no organisation")
    if metadata and (problems := metadata_rules.find_metadata_problems(metadata)):
        raise domain.InvalidMetadata(*problems)
    if (started := await _expire_stale(tx, partner, organisation.id)) is not None:
        return await _adopt(tx, started, metadata, action)
    created = domain.new_verification(tx.new_id(), partner.id, organisation.id, metadata, tx.now)
    if not await store.insert(tx, partner, created):
        if (started := await _expire_stale(tx, partner, organisation.id)) is not None:
            return await _adopt(tx, started, metadata, action)
        raise InvalidState(_CONCURRENT_VERIFICATION)
    await outbox.emit_event(tx, partner.id, domain.RECEIVED, serialise_for_api(tx, created))
    await transitions.enqueue_check(tx, created.id, action)
    return created


async def _adopt(
    tx: Tx, started: MonetaryDonationVerification, metadata: Mapping[str, str] | None, action: test_values.Action | None
) -> MonetaryDonationVerification:
    """Turn a verification started by a payment into one that the partner requested; it is returned as a new one."""
    adopted = replace(started, is_requested_by_partner=True, metadata=metadata, updated_at=tx.now)
    await store.mark_requested_by_partner(tx, adopted)
    await transitions.enqueue_check(tx, adopted.id, action)
    return adopted


async def start_verification_on_first_payment(tx: Tx, partner: Partner, organisation_id: UUID) -> bool:
    """Start a verification when the first money arrives for a nonprofit; False if there is one."""
    if await store.list_verifications_of_organisations(tx, partner, [organisation_id]):
        return False
    created = domain.new_verification(
        tx.new_id(), partner.id, organisation_id, None, tx.now, is_requested_by_partner=False
    )
    if not await store.insert(tx, partner, created):
        return False  # another transaction has just created it
    await outbox.emit_event(tx, partner.id, domain.RECEIVED, serialise_for_api(tx, created))
    await transitions.enqueue_check(tx, created.id)
    return True


def strip_test_value(tx: Tx, organisation_id: str) -> str:
    """The organisation ID without a sandbox test value's suffix (settled 9)."""
    return test_values.split_test_value(organisation_id)[0] if tx.deployment.sandbox else organisation_id


async def apply_test_value(tx: Tx, partner: Partner, organisation_id: str) -> None:
    """Apply a sandbox test value to the organisation's pending or new verification.

    An approved one does not change.
    """
    wanted, action = test_values.split_test_value(organisation_id) if tx.deployment.sandbox else (organisation_id, None)
    found = tx.ids.decode("organisation", wanted)
    if action is None or found is None:
        return
    live = await store.find_pending_or_approved_id(tx, partner, found)
    locked = await transitions.get_for_update(tx, partner, live) if live else None
    if locked is not None and locked.status == "pending":
        await transitions.enqueue_check(tx, locked.id, action)
    elif locked is None or locked.status != "approved":
        with suppress(InvalidState):  # another request has just created it
            await create(tx, partner, organisation_id)


async def _expire_stale(tx: Tx, partner: Partner, organisation_id: UUID) -> MonetaryDonationVerification | None:
    """Record an overdue expiry; returns a pending verification that the partner has not requested, if any.

    Raises InvalidState if another one is pending or approved.
    """
    live = await store.find_pending_or_approved_id(tx, partner, organisation_id)
    if live is None:
        return None
    locked = await transitions.get_for_update(tx, partner, live)
    if locked.status == "pending" and not locked.is_requested_by_partner:
        return locked
    if locked.is_pending_or_approved:
        named = tx.ids.encode("monetarydonationverification", locked.id)
        raise InvalidState(f"the organisation has {named}, which is {locked.status}")
    return None


_CONCURRENT_VERIFICATION: Final = "the organisation was given another verification at the same time"


async def get(tx: Tx, scope: Scope, verification_id: UUID) -> MonetaryDonationVerification:
    """Get one verification at the current time. Raises NotFound."""
    if (found := await store.find(tx, scope, verification_id)) is None:
        raise NotFound
    return found.with_expiry_applied(tx.now)


def serialise_for_api(tx: Tx, verification: MonetaryDonationVerification) -> MonetaryDonationVerificationResponse:
    """The verification as an API record."""
    return transitions.serialise_for_api(tx, verification)


async def get_for_update(tx: Tx, scope: Scope, verification_id: UUID) -> MonetaryDonationVerification:
    """Get one verification at the current time, locked until the transaction ends. Raises NotFound."""
    return await transitions.get_for_update(tx, scope, verification_id)


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: VerificationFilters
) -> tuple[list[MonetaryDonationVerification], int]:
    """One page at the current time, and the exact total."""
    rows, total = await store.list_page(tx, partner, page_, filters)
    return [row.with_expiry_applied(tx.now) for row in rows], total


async def list_newest(
    tx: Tx, scope: Scope, filters: VerificationFilters, limit: int
) -> list[MonetaryDonationVerification]:
    """The newest verifications, for operators."""
    return [row.with_expiry_applied(tx.now) for row in await store.list_newest(tx, scope, filters, limit)]


async def list_open_flags(tx: Tx, limit: int) -> list[VerificationFlag]:
    """Open flags that wait for two reviewers, newest first."""
    return await store_findings.list_flags_with_status(tx, "open", limit)


async def get_flag(tx: Tx, flag_id: UUID) -> VerificationFlag:
    """One flag. Raises NotFound."""
    if (found := await store_findings.find_flag(tx, flag_id)) is None:
        raise NotFound
    return found


async def change_metadata(
    tx: Tx, partner: Partner, verification_id: UUID, patch: Mapping[str, str | None] | None
) -> MonetaryDonationVerification:
    """Merge the metadata key by key; None removes all (settled 1). Raises NotFound, InvalidMetadata."""
    if patch and (found := metadata_rules.find_metadata_problems(patch, is_patch=True)):
        raise domain.InvalidMetadata(*found)
    locked = await transitions.get_for_update(tx, partner, verification_id)
    merged = None if patch is None else metadata_rules.merge_metadata(locked.metadata or {}, patch)
    if merged and (found := metadata_rules.find_metadata_problems(merged)):
        raise domain.InvalidMetadata(*found)
    changed = replace(locked, metadata=merged, updated_at=tx.now)
    await store.set_metadata(tx, changed)
    return changed


async def apply_test_action(tx: Tx, verification_id: UUID, action: test_values.Action) -> None:
    """Apply the action of a test value, if the lifecycle allows it."""
    if (await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)).status != "pending":
        return
    match action:
        case "approve":
            with suppress(InvalidState):  # its register is not conclusive: an operator must decide
                await approve(tx, ALL_PARTNERS, verification_id, _SANDBOX_EVIDENCE)
        case "reject":
            await reject(tx, ALL_PARTNERS, verification_id, "other", _SANDBOX_EVIDENCE)
        case "expire":
            await expire_verification_now(tx, ALL_PARTNERS, verification_id)


async def record_check_outcome(
    tx: Tx,
    scope: Scope,
    verification_id: UUID,
    check: CheckType,
    outcome: Outcome,
    *,
    decided_by: str,
    decision_facts: Mapping[str, object] | None = None,
) -> MonetaryDonationVerification:
    """Record the outcome of a check, and what follows for the verification.

    Raises NotFound, InvalidState.
    """
    locked = await transitions.get_for_update(tx, scope, verification_id)
    locked.with_check_outcome(check, outcome, tx.now)
    await checking.record_operator_finding(tx, locked, check, outcome, decided_by, decision_facts)
    return await transitions.record_check_outcomes(tx, locked, [(check, outcome)])


async def compute_approval_fingerprint(tx: Tx, scope: Scope, verification_id: UUID) -> bytes:
    """A fingerprint of what is approved.

    It is locked until the transaction ends. Raises NotFound; InvalidState if it cannot be approved, also while a watch
    list match is undecided, or one for sanctions and the like is confirmed.
    """
    held, organisation = await _lock_and_check(tx, scope, verification_id)
    held.as_approved(tx.now)
    await checking.ensure_no_watchlist_match(tx, held)
    return _fingerprint(held, organisation)


def _fingerprint(held: MonetaryDonationVerification, organisation: Organisation) -> bytes:
    listed = (organisation.name, organisation.registry_name, organisation.registry_number)
    seen = (held.id, held.organisation_id, held.checks, held.created_at, held.expires_at, *listed)
    return sha256_digest(msgspec.json.encode(seen))


async def load_approval_fingerprints_by_verification_id(tx: Tx, verification_ids: Sequence[UUID]) -> dict[UUID, bytes]:
    """The fingerprints of what would be approved now, by ID. Locks nothing, and stores no finding.

    Without verifications whose status or register does not allow approval.
    """
    found = await store.list_by_ids(tx, verification_ids) if verification_ids else []
    by_partner: dict[UUID, list[MonetaryDonationVerification]] = {}
    for one in found:
        by_partner.setdefault(one.partner_id, []).append(one.with_expiry_applied(tx.now))
    fingerprints: dict[UUID, bytes] = {}
    for partner_id, own in by_partner.items():
        ids = {one.organisation_id for one in own}
        known = await organisations.load_primary_records_by_given_id(tx, Partner(partner_id), ids)
        for one in own:
            with suppress(InvalidState):
                checked = _with_registration_check(tx, one, known[one.organisation_id])
                checked.as_approved(tx.now)
                fingerprints[one.id] = _fingerprint(checked, known[one.organisation_id])
    return fingerprints


def _with_registration_check(
    tx: Tx, verification: MonetaryDonationVerification, organisation: Organisation
) -> MonetaryDonationVerification:
    """The verification as ``_lock_and_check`` would return it."""
    if verification.status != "pending" or verification.checks["registration"] != "pending":
        return verification
    seen = findings.build_registration_finding(organisation, tx.now, tx.deployment.max_data_age)
    if seen.outcome != "unclear":
        return verification.with_check_outcome("registration", seen.outcome, tx.now)
    return _with_accepted_registration(verification, seen)


def _with_accepted_registration(
    verification: MonetaryDonationVerification, seen: CheckFinding
) -> MonetaryDonationVerification:
    """The verification as an operator may approve it, although its register alone does not suffice."""
    if not seen.facts["active"]:
        return verification
    return replace(verification, checks={**verification.checks, "registration": "succeeded"})


async def _lock_and_check(
    tx: Tx, scope: Scope, verification_id: UUID
) -> tuple[MonetaryDonationVerification, Organisation]:
    """Lock the verification and check its register at once, without waiting for the job.

    A finding from an unverified or outdated source ends no check by itself, but suffices for an operator's approval:
    such a check has succeeded in the result, and is not stored yet.
    """
    locked = await transitions.get_for_update(tx, scope, verification_id)
    if locked.status != "pending" or locked.checks["registration"] != "pending":
        return locked, await organisations.get(tx, Partner(locked.partner_id), locked.organisation_id)
    organisation, seen = await checking.record_registration_finding(tx, locked)
    if seen.outcome != "unclear":
        return await transitions.record_check_outcomes(tx, locked, [("registration", seen.outcome)]), organisation
    return _with_accepted_registration(locked, seen), organisation


async def approve(
    tx: Tx, scope: Scope, verification_id: UUID, grounds: DecisionGrounds
) -> MonetaryDonationVerification:
    """Approve the verification on an operator's decision, with every open check. Raises NotFound, InvalidState."""
    held, _ = await _lock_and_check(tx, scope, verification_id)
    approved = held.as_approved(tx.now)
    stored = (await transitions.get_for_update(tx, scope, verification_id)).remaining_checks
    for check in stored:
        await checking.record_operator_finding(tx, held, check, "succeeded", grounds.decided_by)
    await store.update_checks(tx, approved, stored)
    await store.insert_decision(tx, approved, RecordedDecision("approved", None, grounds, tx.now))
    return await transitions.store_transition(tx, approved)


async def reject(
    tx: Tx, scope: Scope, verification_id: UUID, reason: RejectionReason, grounds: DecisionGrounds
) -> MonetaryDonationVerification:
    """Reject the verification on an operator's decision. Raises NotFound, InvalidState."""
    rejected = (await transitions.get_for_update(tx, scope, verification_id)).as_rejected(reason, tx.now)
    await store.insert_decision(tx, rejected, RecordedDecision("rejected", reason, grounds, tx.now))
    return await transitions.store_transition(tx, rejected)


async def reopen(tx: Tx, scope: Scope, verification_id: UUID, grounds: DecisionGrounds) -> MonetaryDonationVerification:
    """Reopen a rejected or expired verification.

    Raises NotFound; InvalidState, also while the organisation has another that is pending or approved.
    """
    reopened = (await transitions.get_for_update(tx, scope, verification_id)).as_reopened(tx.now)
    if await _expire_stale(tx, Partner(reopened.partner_id), reopened.organisation_id) is not None:
        raise InvalidState("the organisation has another one, which was begun when money came for it")
    await store.insert_decision(tx, reopened, RecordedDecision("reopened", None, grounds, tx.now))
    try:
        reported = await transitions.store_transition(tx, reopened)
    except asyncpg.UniqueViolationError:
        raise InvalidState(_CONCURRENT_VERIFICATION) from None
    await store.update_checks(tx, reopened, domain.CHECKS)
    await transitions.enqueue_check(tx, reopened.id, None)
    return reported


async def expire_verification_now(tx: Tx, scope: Scope, verification_id: UUID) -> MonetaryDonationVerification:
    """Expire a verification early, in the sandbox. Raises NotFound, InvalidState."""
    return await transitions.store_transition(
        tx, (await transitions.get_for_update(tx, scope, verification_id)).as_expired(tx.now)
    )


async def expire_due_verifications(tx: Tx, limit: int = BATCH) -> int:
    """Record expiries that have passed; returns how many. Reads apply them anyway (S3)."""

    async def expire(verifications: Sequence[MonetaryDonationVerification]) -> None:
        for one in verifications:
            await transitions.store_transition(tx, one.with_expiry_applied(tx.now))

    return await process_due_rows(tx, "verifications.expire", store.lock_due_for_expiry, expire, limit)


async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next pending verification expires."""
    return await store.next_expiry_at(tx)


async def load_partner_ids_with_verifications_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> Mapping[UUID, set[UUID]]:
    """The partners with a verification of each of these nonprofits, to be notified of changes (settled 6)."""
    found: dict[UUID, set[UUID]] = {}
    for _, partner_id, organisation_id in await store.list_pending_and_approved_verification_ids(
        tx, list(organisation_ids)
    ):
        found.setdefault(organisation_id, set()).add(partner_id)
    return found


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Collect metrics: waiting verifications and flags, and the age of the oldest."""
    counts = await store_findings.load_open_verification_counts(tx)
    waiting = {
        "verification": (counts.pending_count, counts.first_expires_at and counts.first_expires_at - domain.LIFETIME),
        "flag": (counts.open_flag_count, counts.oldest_flag_raised_at),
    }
    for kind, (total, since) in waiting.items():
        telemetry.payees.set_open_checks(kind, total, (tx.now - since).total_seconds() if since else 0.0)


async def enqueue_due_checks(tx: Tx, limit: int = BATCH) -> int:
    """Enqueue checks of verifications that were checked too long ago; returns how many."""
    due = await store_findings.claim_verifications_due_for_check(tx, tx.now + RENEWAL_PERIOD, limit)
    for verification_id in due:
        await transitions.enqueue_check(tx, verification_id)
    return len(due)


async def list_pending_and_approved_verifications(tx: Tx, organisation_id: UUID) -> list[MonetaryDonationVerification]:
    """Pending and approved verifications of a nonprofit, of any partner."""
    found = await store.list_pending_and_approved_verification_ids(tx, [organisation_id])
    known = [await get(tx, ALL_PARTNERS, verification_id) for verification_id, _, _ in found]
    return [one for one in known if one.is_pending_or_approved]
