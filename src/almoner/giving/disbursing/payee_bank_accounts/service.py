"""Operations on nonprofits' bank accounts."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import CheckViolationError

from almoner.giving.disbursing.payee_bank_accounts import account_numbers, domain, store
from almoner.giving.disbursing.payee_bank_accounts.domain import (
    AccountNumbers,
    AccountProposal,
    AccountReview,
    Address,
    Payee,
    PayeeAccount,
    PayeeAccountError,
    PayeeAccountProposedEvent,
)
from almoner.giving.disbursing.payee_bank_accounts.store import count_for_operators as count_for_operators
from almoner.giving.disbursing.payee_bank_accounts.store import list_approved_accounts as list_approved_accounts
from almoner.giving.disbursing.payee_bank_accounts.store import list_for_operators as list_for_operators
from almoner.giving.disbursing.payee_bank_accounts.store import list_newest as list_newest
from almoner.giving.disbursing.payee_bank_accounts.store import (
    list_organisation_ids_sharing_account as list_organisation_ids_sharing_account,
)
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.ports import ApprovedPayeeAccount
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from almoner.platform.events import outbox
from almoner.platform.observability.telemetry import Telemetry
from almoner.screening.matching.service import best_name_similarity

_CONTEXT: Final = "payee_bank_account"
_OTHER_NUMBER: Final = (
    "the number differs from the proposed one. Check your evidence. If your number is right, reject the account"
)
_ASKED: Final = "payee_contact_separation"
"""The constraint that one operator cannot set both a nonprofit's contact address and its account."""


def parse_account_numbers(fields: Mapping[str, str | None]) -> AccountNumbers:
    """Parse entered account numbers. Raises PayeeAccountError with all problems."""
    return account_numbers.parse_account_numbers(fields)


async def parse_proposal(
    tx: Tx,
    organisation_id: UUID | None,
    *,
    currency: str,
    holder: str,
    address: Address,
    fields: Mapping[str, str | None],
    note: str,
) -> AccountProposal:
    """Parse the input of a proposal. ``fields``: as in ``parse_account_numbers``.

    Raises PayeeAccountError with all problems.
    """
    found: list[str] = []
    try:
        if organisation_id is None:
            raise NotFound
        await organisations.get(tx, ALL_PARTNERS, organisation_id)
    except NotFound:
        found.append("there is no such organisation")
    typed: AccountNumbers | None = None
    try:
        typed = account_numbers.parse_account_numbers(fields)
    except PayeeAccountError as refused:
        found.append(str(refused))
    found += domain.find_proposal_problems(holder, address, currency, typed.scheme if typed else None) + _note_problems(
        note
    )
    if found or typed is None or organisation_id is None:
        raise PayeeAccountError("; ".join(found))
    return AccountProposal(organisation_id, currency, holder, typed, address)


async def propose_account(tx: Tx, proposal: AccountProposal, *, note: str, proposed_by: str) -> PayeeAccount:
    """Propose a nonprofit's bank account for a currency; other operators must approve it.

    If an earlier account of the nonprofit was verified, its disbursements wait for the approval. ``note``: the
    evidence. Raises NotFound, PayeeAccountError.
    """
    organisation = await organisations.get(tx, ALL_PARTNERS, proposal.organisation_id)
    account_id, read_ = tx.new_id(), proposal.numbers
    if found := domain.find_proposal_problems(
        proposal.holder, proposal.address, proposal.currency, read_.scheme
    ) + _note_problems(note):
        raise PayeeAccountError("; ".join(found))
    await store.lock_accounts_of_organisation(tx, organisation.id)
    plain = msgspec.json.encode(read_)
    created = PayeeAccount(
        id=account_id,
        organisation_id=proposal.organisation_id,
        currency=proposal.currency,
        scheme=read_.scheme,
        holder=proposal.holder,
        encrypted_number=tx.vault.encrypt(plain, context=_CONTEXT, associated_data=account_id.bytes),
        masked_number=read_.masked_number,
        address=proposal.address,
        name_match_score=_name_score(proposal.holder, organisation),
        requires_second_approval=await store.requires_second_approval(tx, organisation.id, proposal.currency),
        status="proposed",
        proposal=AccountReview(proposed_by, note, tx.now),
        first_review=None,
        second_review=None,
        refused_by=None,
        refused_note=None,
        denied_at=None,
    )
    try:
        stored = await store.insert(tx, created, tx.vault.compute_keyed_hash(_CONTEXT, plain))
    except CheckViolationError as refused:
        if refused.constraint_name != _ASKED:
            raise
        raise PayeeAccountError(
            "You set the contact address of this organisation, so somebody else must propose its account."
        ) from refused
    if not stored:
        raise PayeeAccountError(
            f"Another account in {proposal.currency} is proposed for this nonprofit. Approve or reject it first."
        )
    await verifications.on_account_proposed(
        tx, created.organisation_id, _account_id_text(tx, created), _account_facts(created)
    )
    await outbox.emit_internal_event(tx, domain.ACCOUNT_PROPOSED, PayeeAccountProposedEvent(created.id))
    return created


def _name_score(holder: str, organisation: Organisation) -> int:
    """How well the holder's name matches the register's, in hundredths."""
    listed = [name for name in (organisation.name, organisation.display_name) if name]
    return round(100 * best_name_similarity([holder], listed).score)


def _account_id_text(tx: Tx, account: PayeeAccount) -> str:
    return tx.ids.encode("payeeaccount", account.id)


def _account_facts(account: PayeeAccount) -> dict[str, object]:
    """The facts of an account that verifications store; they contain no account numbers."""
    return {"currency": account.currency, "nameAgrees": account.name_match_score}


async def get(tx: Tx, account_id: UUID) -> PayeeAccount:
    """One account. Raises NotFound."""
    if (found := await store.find(tx, account_id)) is None:
        raise NotFound
    return found


async def approve(
    tx: Tx, account_id: UUID, *, entered_account_number: str, note: str, approved_by: str
) -> PayeeAccount:
    """Record an approving review; the last one approves the account and replaces the former one.

    ``entered_account_number``: typed again from the evidence, because the proposed number is not shown
    (``is_same_account_number``). The bank account check of the nonprofit's pending verifications then succeeds; a
    holder whose name differs from the register's is flagged there. Raises NotFound, PayeeAccountError.
    """
    held = await _lock_account(tx, account_id)
    domain.ensure_may_approve(held, approved_by)
    found = (
        []
        if account_numbers.is_same_account_number(_decrypt_numbers(tx, held), entered_account_number)
        else [_OTHER_NUMBER]
    )
    if found := found + _note_problems(note):
        raise PayeeAccountError("; ".join(found))
    mine = AccountReview(approved_by, note, tx.now)
    await store.record_review(tx, account_id, mine, is_first_review=held.first_review is None)
    of, named = held.organisation_id, _account_id_text(tx, held)
    # An account proposed as the first may by now follow a completed check.
    two = held.required_review_count == 2 or await store.requires_second_approval(tx, of, held.currency)
    if held.completed_review_count + 1 < (2 if two else 1):
        if not held.requires_second_approval:
            await verifications.on_account_proposed(tx, of, named, _account_facts(held))
        return await get(tx, account_id)
    await store.approve(tx, account_id)
    # The proposer of a nonprofit's first account counts as one of its two reviewers, unless a check was completed
    # before.
    seen = [look for look in (None if two else held.proposal, held.first_review, mine) if look]
    looks = [verifications.FlagReview(look.by, look.note, look.at) for look in seen]
    differs = held.name_match_score < domain.MIN_PLAUSIBLE_SCORE
    await verifications.on_account_approved(tx, of, named, _account_facts(held), looks, holder_name_differs=differs)
    await outbox.emit_internal_event(tx, domain.ACCOUNT_PROPOSED, PayeeAccountProposedEvent(account_id))
    return await get(tx, account_id)


async def refuse(tx: Tx, account_id: UUID, *, note: str, refused_by: str) -> PayeeAccount:
    """Refuse a proposed account. Raises NotFound, PayeeAccountError."""
    held = await _lock_account(tx, account_id)
    if held.status != "proposed":
        raise PayeeAccountError(f"The account is {held.status}. Only a proposed account can be rejected.")
    if found := _note_problems(note):
        raise PayeeAccountError("; ".join(found))
    await _refuse(tx, held, refused_by, note)
    return await get(tx, account_id)


async def _refuse(tx: Tx, held: PayeeAccount, by: str, note: str) -> None:
    await store.refuse(tx, held.id, by, note)
    await verifications.on_account_refused(
        tx, held.organisation_id, _account_id_text(tx, held), verifications.FlagReview(by, note, tx.now)
    )


async def record_ownership_denial(tx: Tx, account_id: UUID) -> bool:
    """Record that the nonprofit denies the account: a proposed one is rejected, an approved one is flagged.

    False if the account is not in use, or if it was already denied. Raises NotFound.
    """
    held = await _lock_account(tx, account_id)
    if held.denied_at is not None or held.status not in ("proposed", "approved"):
        return False
    if held.status == "proposed":
        await _refuse(tx, held, domain.NONPROFIT, "the nonprofit says that the account is not its own")
    else:
        await verifications.on_account_ownership_denied(
            tx, held.organisation_id, _account_id_text(tx, held), _account_facts(held)
        )
    await store.record_ownership_denial(tx, held.id)
    return True


async def collect_metrics(tx: Tx, telemetry: Telemetry) -> None:
    """Collect metrics: accounts that wait for approval, and the age of the oldest."""
    total, since = await store.count_proposed_accounts(tx)
    telemetry.payees.set_open_checks("account", total, (tx.now - since).total_seconds() if since else 0.0)


async def load_approved_payees_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID], currency: str
) -> Mapping[UUID, Payee]:
    """The approved accounts of these nonprofits in a currency."""
    return {
        one.organisation_id: Payee(one.id, one.holder, _decrypt_numbers(tx, one), one.address)
        for one in await store.list_approved_accounts_in_currency(tx, list(organisation_ids), currency)
    }


async def list_account_warnings(tx: Tx, account: PayeeAccount) -> list[str]:
    """Warnings for operators who review an account."""
    organisation = await organisations.get(tx, ALL_PARTNERS, account.organisation_id)
    return domain.account_warnings(account, _decrypt_numbers(tx, account), organisation.country_code)


async def find_approved_account(tx: Tx, organisation_id: UUID) -> ApprovedPayeeAccount | None:
    """The first approved account of a nonprofit, for a verification that starts later."""
    for one in await store.list_approved_accounts(tx, organisation_id):
        organisation = await organisations.get(tx, ALL_PARTNERS, organisation_id)
        agrees = _name_score(one.holder, organisation)  # with its current name
        facts = {**_account_facts(one), "nameAgrees": agrees}
        return ApprovedPayeeAccount(
            _account_id_text(tx, one),
            facts,
            agrees < domain.MIN_PLAUSIBLE_SCORE,
            ownership_denied=one.denied_at is not None,
        )
    return None


def _decrypt_numbers(tx: Tx, account: PayeeAccount) -> AccountNumbers:
    plain = tx.vault.decrypt(account.encrypted_number, context=_CONTEXT, associated_data=account.id.bytes)
    return msgspec.json.decode(plain, type=AccountNumbers)


async def _lock_account(tx: Tx, account_id: UUID) -> PayeeAccount:
    if (known := await store.find(tx, account_id)) is None:
        raise NotFound
    await store.lock_accounts_of_organisation(tx, known.organisation_id)
    locked = await store.find_for_update(tx, account_id)
    assert locked is not None, "accounts stay"
    return locked


def _note_problems(note: str) -> list[str]:
    return [] if 1 <= len(note) <= domain.MAX_NOTE else [f"the note must have 1 to {domain.MAX_NOTE} characters"]
