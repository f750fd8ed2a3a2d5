"""Flags: a change after a successful check holds disbursements until two operators have reviewed it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from uuid import UUID

from almoner.giving.disbursing.verifications import store, store_findings, transitions
from almoner.giving.disbursing.verifications.checking import (
    ACCOUNTS,
    emit_verification_flagged,
    ensure_no_watchlist_match,
    record_approved_account_finding,
)
from almoner.giving.disbursing.verifications.domain import MAX_NOTE_LENGTH, InvalidState, MonetaryDonationVerification
from almoner.giving.disbursing.verifications.findings import CheckFinding, FlagKind, FlagReview, VerificationFlag
from almoner.giving.disbursing.verifications.ports import ApprovedPayeeAccount
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import ALL_PARTNERS, Tx

_MATCH: Final[FlagKind] = "new_match"
_CHANGED: Final[FlagKind] = "payee_changed"
_DENIED: Final[FlagKind] = "account_denied"


async def review_flag(tx: Tx, flag_id: UUID, *, note: str, reviewed_by: str) -> VerificationFlag:
    """Record an operator's review of a flag; the second one lifts it. Raises NotFound, InvalidState."""
    if not 1 <= len(note) <= MAX_NOTE_LENGTH:
        raise InvalidState(f"the note must have 1 to {MAX_NOTE_LENGTH} characters")
    if (known := await store_findings.find_flag(tx, flag_id)) is None:
        raise NotFound
    verification = await transitions.get_for_update(tx, ALL_PARTNERS, known.verification_id)
    held = await store_findings.find_flag(tx, flag_id)  # with the state under the lock
    assert held is not None, "flags stay"
    if held.status != "open":
        raise InvalidState(f"the flag is {held.status}: only one that is open can be lifted")
    if held.first_review is not None and held.first_review.by == reviewed_by:
        raise InvalidState("you have looked at it before: somebody else has to look as well")
    if held.kind == _MATCH:
        await ensure_no_watchlist_match(tx, verification)
    look = FlagReview(reviewed_by, note, tx.now)
    looked = (
        replace(held, first_review=look)
        if held.first_review is None
        else replace(held, second_review=look, status="lifted")
    )
    await _store_review(tx, verification, looked)
    return looked


async def _store_review(tx: Tx, verification: MonetaryDonationVerification, looked: VerificationFlag) -> None:
    await store_findings.update_flag_reviews_and_status(tx, looked, looked.status)
    if looked.status != "open":
        await emit_verification_flagged(tx, verification)


async def on_account_proposed(
    tx: Tx, organisation_id: UUID, account_id: str, account_facts: Mapping[str, object]
) -> None:
    """Flag a different account proposed after the check succeeded, until two operators have reviewed it."""
    for held in await _lock_live(tx, organisation_id):
        if held.checks["bank_details"] == "succeeded" and not await _open_account_flags(tx, held, account_id):
            finding = CheckFinding(
                "bank_details", "unclear", ACCOUNTS, _CHANGED, {**account_facts, "account": account_id}
            )
            created = await store_findings.insert_finding(tx, held, finding)
            await store_findings.raise_flag(tx, held.id, created, _CHANGED)
            await emit_verification_flagged(tx, held)


async def on_account_approved(
    tx: Tx,
    organisation_id: UUID,
    account_id: str,
    account_facts: Mapping[str, object],
    reviews: Sequence[FlagReview],
    *,
    holder_name_differs: bool,
) -> None:
    """Lift the account's flags with its two reviews; a pending check succeeds.

    ``holder_name_differs``: the holder's name differs from the register's, which needs two more reviews.
    """
    known = ApprovedPayeeAccount(account_id, account_facts, holder_name_differs)
    for held in await _lock_live(tx, organisation_id):
        waited = held.status == "pending" and held.checks["bank_details"] == "pending"
        await record_approved_account_finding(
            tx, held, replace(known, holder_name_differs=waited and holder_name_differs)
        )
        for flag in await _open_account_flags(tx, held, account_id):
            both = (
                reviews
                if flag.first_review is None
                else (flag.first_review, next(one for one in reviews if one.by != flag.first_review.by))
            )
            await _store_review(tx, held, replace(flag, first_review=both[0], second_review=both[1], status="lifted"))
        if waited:
            await transitions.record_check_outcomes(tx, held, [("bank_details", "succeeded")])


async def on_account_refused(tx: Tx, organisation_id: UUID, account_id: str, review: FlagReview) -> None:
    """Close the flag of a proposed account that was rejected."""
    for held in await _lock_live(tx, organisation_id):
        for flag in await _open_account_flags(tx, held, account_id):
            await _store_review(tx, held, replace(flag, first_review=flag.first_review or review, status="withdrawn"))


async def on_account_ownership_denied(
    tx: Tx, organisation_id: UUID, account_id: str, account_facts: Mapping[str, object]
) -> None:
    """Flag an approved account that the nonprofit denies, until two operators have reviewed it."""
    for held in await _lock_live(tx, organisation_id):
        finding = CheckFinding(
            "bank_details", "unclear", "nonprofit", _DENIED, {**account_facts, "account": account_id}
        )
        created = await store_findings.insert_finding(tx, held, finding)
        await store_findings.raise_flag(tx, held.id, created, _DENIED)
        await emit_verification_flagged(tx, held)


async def _lock_live(tx: Tx, organisation_id: UUID) -> list[MonetaryDonationVerification]:
    """Lock the pending and approved verifications of a nonprofit, of all partners, in ID order."""
    found = [one for one, _, _ in await store.list_pending_and_approved_verification_ids(tx, [organisation_id])]
    locked = [await transitions.get_for_update(tx, ALL_PARTNERS, verification_id) for verification_id in found]
    return [one for one in locked if one.is_pending_or_approved]


async def _open_account_flags(
    tx: Tx, verification: MonetaryDonationVerification, account: str
) -> list[VerificationFlag]:
    return await store_findings.list_open_account_flags(tx, _CHANGED, verification.id, account)
