"""Checks a verification against register, watchlists and accounts, and records results and changes."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.giving.disbursing.verifications import findings, store, store_findings, transitions
from almoner.giving.disbursing.verifications.domain import (
    FLAGGED,
    CheckType,
    InvalidState,
    MonetaryDonationVerification,
    Outcome,
    VerificationFlaggedEvent,
)
from almoner.giving.disbursing.verifications.findings import BLOCKING_CATEGORIES, RENEWAL_PERIOD, CheckFinding
from almoner.giving.disbursing.verifications.ports import (
    ApprovedAccountLookup,
    ApprovedPayeeAccount,
    OrganisationScreener,
)
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.screening.screenings import service as screenings
from almoner.screening.screenings.domain import ScreenedSubject, ScreeningMatch, StoredSubject

_SOON: Final = timedelta(days=1)
"""When unchanged data are checked again, because no event reports that they are current."""
ACCOUNTS: Final = "accounts of nonprofits"
"""The source of account findings."""


async def run_verification_checks(
    tx: Tx, screening: OrganisationScreener, account_lookup: ApprovedAccountLookup, verification_id: UUID
) -> MonetaryDonationVerification:
    """Check a verification against register and watchlists; repeating it changes nothing.

    An account approved earlier counts. Watchlists are decided last, with their current matches.
    """
    locked = await transitions.get_for_update(tx, ALL_PARTNERS, verification_id)
    if not locked.is_pending_or_approved:
        return locked
    organisation = await organisations.get(tx, Partner(locked.partner_id), locked.organisation_id)
    records = [organisation, *await organisations.list_merged_records(tx, organisation.id)]
    results = await screening.screen(tx, records, locked.partner_id)
    listed = findings.build_registration_finding(organisation, tx.now, tx.deployment.max_data_age)
    screened = findings.build_compliance_finding(results, tx.ids, tx.now)
    for finding in (listed, screened):
        await record_finding(tx, locked, finding)
    expired = await store_findings.has_expired_finding(tx, locked.id)
    await store_findings.set_next_check_at(tx, locked.id, tx.now + (_SOON if expired else RENEWAL_PERIOD))
    waits = locked.status == "pending" and locked.checks["bank_details"] == "pending" and listed.outcome != "failed"
    known = await account_lookup(tx, organisation.id) if waits else None
    ended = _ended_checks(locked, listed, screened, known)
    if known is not None and ("bank_details", "succeeded") in ended:
        await record_approved_account_finding(tx, locked, known)
    return await transitions.record_check_outcomes(tx, locked, ended) if ended else locked


def _ended_checks(
    verification: MonetaryDonationVerification,
    listed: CheckFinding,
    screened: CheckFinding,
    known: ApprovedPayeeAccount | None,
) -> list[tuple[CheckType, Outcome]]:
    """The checks that end with these findings."""
    if verification.status != "pending":
        return []
    ended: list[tuple[CheckType, Outcome]] = []
    remaining = set(verification.remaining_checks)
    if "registration" in remaining and listed.outcome != "unclear":
        ended.append(("registration", listed.outcome))
        remaining.discard("registration")
        if listed.outcome == "failed":
            return ended
    if "compliance" in remaining and screened.outcome == "failed":
        return [*ended, ("compliance", "failed")]
    if known is not None:
        ended.append(("bank_details", "succeeded"))
        remaining.discard("bank_details")
    if screened.outcome == "succeeded" and remaining == {"compliance"}:
        ended.append(("compliance", "succeeded"))
    return ended


async def record_registration_finding(
    tx: Tx, verification: MonetaryDonationVerification
) -> tuple[Organisation, CheckFinding]:
    """Check the register and record the finding."""
    organisation = await organisations.get(tx, Partner(verification.partner_id), verification.organisation_id)
    finding = findings.build_registration_finding(organisation, tx.now, tx.deployment.max_data_age)
    await record_finding(tx, verification, finding)
    return organisation, finding


async def record_finding(tx: Tx, verification: MonetaryDonationVerification, finding: CheckFinding) -> None:
    """Store a new finding, and raise a flag if it contradicts a check that succeeded."""
    before = await store_findings.find_newest_finding(tx, verification.id, finding.check)
    fresh = before is not None and (before.finding.expires_at is None or before.finding.expires_at > tx.now)
    if before is not None and fresh and before.finding.has_same_content(finding):
        return
    created = await store_findings.insert_finding(tx, verification, finding)
    if not verification.is_pending_or_approved or verification.checks[finding.check] != "succeeded":
        return
    kinds = list(findings.flag_kinds_for_changes(before.finding if before else None, finding))
    for kind in kinds:
        await store_findings.raise_flag(tx, verification.id, created, kind)
    gone = finding.outcome == "succeeded" and await store_findings.withdraw_expired_evidence_flags(
        tx, verification.id, finding.check
    )
    if kinds or gone:
        await emit_verification_flagged(tx, verification)


async def record_operator_finding(
    tx: Tx,
    verification: MonetaryDonationVerification,
    check: CheckType,
    outcome: Outcome,
    decided_by: str,
    decision_facts: Mapping[str, object] | None = None,
) -> None:
    """Store that an operator ended a check, with the facts known at that time."""
    before = await store_findings.find_newest_finding(tx, verification.id, check)
    facts = {**(before.finding.facts if before else {}), **(decision_facts or {})}
    if check == "compliance":
        facts["matches"] = findings.reviewer_decisions_by_match_id(
            await list_watchlist_matches(tx, verification), tx.ids
        )
    of_data = before.finding.data_as_of if before else None
    await store_findings.insert_finding(
        tx, verification, CheckFinding(check, outcome, decided_by, "decided", facts, of_data, None)
    )


async def list_watchlist_matches(tx: Tx, verification: MonetaryDonationVerification) -> list[ScreeningMatch]:
    """The watchlist matches of all the nonprofit's records."""
    whos = [
        ScreenedSubject("organisation", one, verification.partner_id) for one in await _record_ids(tx, verification)
    ]
    return [match for who in whos for match in (await screenings.get_screening_result(tx, who)).matches]


async def find_unscreened_subject(tx: Tx, verification: MonetaryDonationVerification) -> StoredSubject | None:
    """The first of the nonprofit's records with a name that could not be compared with the watchlists."""
    for one in await _record_ids(tx, verification):
        stored = await screenings.find_screened_subject(tx, "organisation", one)
        if stored is not None and stored.obstacle is not None:
            return stored
    return None


async def _record_ids(tx: Tx, verification: MonetaryDonationVerification) -> list[UUID]:
    others = await organisations.list_merged_records(tx, verification.organisation_id)
    return [verification.organisation_id, *(one.id for one in others)]


async def record_approved_account_finding(
    tx: Tx, verification: MonetaryDonationVerification, account: ApprovedPayeeAccount
) -> None:
    """Record that the nonprofit has an approved account; flags a differing name or a denial."""
    kinds = list(findings.flag_kinds_for_account(account))
    finding = CheckFinding(
        "bank_details", "succeeded", ACCOUNTS, None, {**account.facts, "account": account.account_id}
    )
    created = await store_findings.insert_finding(tx, verification, replace(finding, reason=", ".join(kinds) or None))
    for kind in kinds:
        await store_findings.raise_flag(tx, verification.id, created, kind)
    if kinds:
        await emit_verification_flagged(tx, verification)


async def ensure_no_watchlist_match(tx: Tx, verification: MonetaryDonationVerification) -> None:
    """Check that no watchlist match prevents approval. Raises InvalidState.

    A reviewer must decide every match first; confirmed sanctions and the like can never be approved.
    """
    known = await list_watchlist_matches(tx, verification)
    waiting = sorted(tx.ids.encode("screeningmatch", one.id) for one in known if one.awaiting_review)
    if waiting:
        raise InvalidState(f"a watchlist may name the organisation: decide about {', '.join(waiting)} first")
    if any(one.decision == "confirmed" and one.category in BLOCKING_CATEGORIES for one in known):
        raise InvalidState("a watchlist of sanctions, warnings or hate speech names the organisation: it is not paid")


async def emit_verification_flagged(tx: Tx, verification: MonetaryDonationVerification) -> None:
    """Update why the partner's disbursements to the nonprofit wait."""
    reported = VerificationFlaggedEvent(verification.partner_id, verification.organisation_id)
    await outbox.emit_internal_event(tx, FLAGGED, reported, partner_id=verification.partner_id)


async def enqueue_rechecks(tx: Tx, organisation_ids: list[UUID]) -> None:
    """Enqueue rechecks of live verifications of these nonprofits."""
    for verification_id, _, _ in await store.list_pending_and_approved_verification_ids(tx, organisation_ids):
        await transitions.enqueue_check(tx, verification_id)
