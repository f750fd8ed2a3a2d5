"""What can be done with nonprofits' accounts."""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.payees import domain, numbers, store
from almoner.giving.payees.domain import Look, Numbers, Payee, PayeeAccount, PayeeRefused, PayeeStatus, Proposal
from almoner.giving.verifications import service as verifications
from almoner.kit.errors import NotFound
from almoner.nonprofits.countries.domain import COUNTRIES
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.db import EVERYONE, Tx
from almoner.screening.matching.service import names_agree

_CONTEXT: Final = "payee_account"


def read(given: Mapping[str, str | None]) -> Numbers:
    """The numbers of an account as somebody typed them. Raises PayeeRefused with all that is wrong."""
    return numbers.read(given)


async def propose(tx: Tx, proposal: Proposal, *, note: str, by: str) -> PayeeAccount:
    """Somebody says where a nonprofit is to be paid in a currency; others have to look at it.

    While it is to take the place of another account, payouts to the nonprofit wait. ``note``: the evidence. Raises
    NotFound, PayeeRefused.
    """
    organisation = await organisations.get(tx, EVERYONE, proposal.organisation_id)
    if found := [*domain.problems(proposal, COUNTRIES), *_of_note(note)]:
        raise PayeeRefused("; ".join(found))
    listed = [name for name in (organisation.name, organisation.display_name) if name]
    account_id, read_ = tx.new_id(), proposal.numbers
    plain = msgspec.json.encode(read_)
    made = PayeeAccount(
        id=account_id,
        organisation_id=proposal.organisation_id,
        currency=proposal.currency,
        scheme=read_.scheme,
        holder=proposal.holder,
        sealed=tx.vault.seal(plain, context=_CONTEXT, binding=account_id.bytes),
        shown=read_.shown,
        address=proposal.address,
        name_score=round(100 * names_agree([proposal.holder], listed, lines=False).score),
        is_change=bool(await store.current(tx, EVERYONE, [proposal.organisation_id], proposal.currency)),
        status="proposed",
        proposed=Look(by, note, tx.now),
        first=None,
        second=None,
        refused_by=None,
        refused_note=None,
    )
    if not await store.insert(tx, EVERYONE, made, tx.vault.keyed_hash(_CONTEXT, plain)):
        raise PayeeRefused(
            f"Another account in {proposal.currency} is proposed for this organisation: approve or refuse it first."
        )
    if made.is_change:
        await verifications.account_proposed(tx, made.organisation_id, _named(tx, made), _facts(made))
    return made


def _named(tx: Tx, account: PayeeAccount) -> str:
    return tx.ids.text("payeeaccount", account.id)


def _facts(account: PayeeAccount) -> dict[str, object]:
    """What verifications keep of an account: nothing that anybody could be paid by."""
    return {"currency": account.currency, "nameAgrees": account.name_score}


async def get(tx: Tx, account_id: UUID) -> PayeeAccount:
    """One account. Raises NotFound."""
    if (found := await store.find(tx, EVERYONE, account_id)) is None:
        raise NotFound
    return found


async def newest(tx: Tx, status: PayeeStatus | None, limit: int) -> list[PayeeAccount]:
    """The newest accounts, of one status or of all."""
    return await store.newest(tx, EVERYONE, status, limit)


async def others_with(tx: Tx, account_id: UUID) -> list[UUID]:
    """Other nonprofits that have given the same account."""
    return await store.others_with(tx, EVERYONE, account_id)


async def approve(tx: Tx, account_id: UUID, *, note: str, by: str) -> PayeeAccount:
    """Somebody else has looked at it; with the last look it is approved, and the one before is replaced.

    With it the check ``bank_details`` of the nonprofit's pending verifications succeeds; a holder who is named quite
    otherwise than the register has it is flagged there. Raises NotFound, PayeeRefused.
    """
    held = await _lock(tx, account_id)
    domain.ensure_may_approve(held, by)
    if found := _of_note(note):
        raise PayeeRefused("; ".join(found))
    await store.look(tx, EVERYONE, account_id, Look(by, note, tx.now), first=held.first is None)
    if held.seen + 1 == held.looks:
        await store.approve(tx, EVERYONE, account_id)
        looks = [
            verifications.Look(look.by, look.note, look.at) for look in (held.first, Look(by, note, tx.now)) if look
        ]
        differs = held.name_score < domain.DIFFERS
        of, named = held.organisation_id, _named(tx, held)
        await verifications.account_approved(tx, of, named, _facts(held), looks, differs=differs)
    return await get(tx, account_id)


async def refuse(tx: Tx, account_id: UUID, *, note: str, by: str) -> PayeeAccount:
    """It is not the nonprofit's, or cannot be paid to. Raises NotFound, PayeeRefused."""
    held = await _lock(tx, account_id)
    if held.status != "proposed":
        raise PayeeRefused(f"The account is {held.status}: only one that is proposed can be refused.")
    if found := _of_note(note):
        raise PayeeRefused("; ".join(found))
    await store.refuse(tx, EVERYONE, account_id, by, note)
    await verifications.account_refused(
        tx, held.organisation_id, _named(tx, held), verifications.Look(by, note, tx.now)
    )
    return await get(tx, account_id)


async def current(tx: Tx, organisation_ids: Sequence[UUID], currency: str) -> Mapping[UUID, Payee]:
    """Where these nonprofits are paid in a currency, as far as that is approved."""
    return {
        one.organisation_id: Payee(one.id, one.holder, _open(tx, one), one.address)
        for one in await store.current(tx, EVERYONE, list(organisation_ids), currency)
    }


async def approved_of(tx: Tx, organisation_id: UUID) -> list[PayeeAccount]:
    """The approved accounts of a nonprofit, one for each currency."""
    return await store.approved_of(tx, EVERYONE, organisation_id)


def _open(tx: Tx, account: PayeeAccount) -> Numbers:
    plain = tx.vault.open(account.sealed, context=_CONTEXT, binding=account.id.bytes)
    return msgspec.json.decode(plain, type=Numbers)


async def _lock(tx: Tx, account_id: UUID) -> PayeeAccount:
    if (held := await store.lock(tx, EVERYONE, account_id)) is None:
        raise NotFound
    return held


def _of_note(note: str) -> list[str]:
    return [] if 1 <= len(note) <= domain.MAX_NOTE else [f"the note must have 1 to {domain.MAX_NOTE} characters"]
