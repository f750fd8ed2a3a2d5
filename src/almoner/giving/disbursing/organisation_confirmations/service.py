"""What can be done with the questions to nonprofits: asked, opened, answered, forgotten.

Whatever changes one holds its verification first.
"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.giving.disbursing.organisation_confirmations import domain, store
from almoner.giving.disbursing.organisation_confirmations.domain import (
    Account,
    Answer,
    Changed,
    Confirmation,
    Contact,
    Page,
)
from almoner.giving.disbursing.payee_bank_accounts import service as payees
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import InvalidState, Outcome, Verification
from almoner.kit.errors import NotFound
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.crypto import digest
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.jobs import queue

MAILS: Final = Path(__file__).parent / "mails"
SEND: Final = "confirmations.send"
ASK: Final = "confirmations.ask"
FORGET: Final = "confirmations.forget_names"
BATCH: Final = 1000  # S4
_HASHED: Final = "monetary_donation_confirmation_email"
_OUTCOMES: Final[dict[Answer, Outcome]] = {"confirmed": "succeeded", "declined": "failed"}


async def ask(tx: Tx, verification_id: UUID, contact: Contact, *, by: str, language: str | None = None) -> Confirmation:
    """Have the nonprofit asked, or sent its mail once more where it was asked at this address.

    A link to another address works no more. Raises NotFound; InvalidState when there is nothing to confirm, and where
    the address has had its share of mails.
    """
    held = await verifications.hold(tx, EVERYONE, verification_id)
    if held.status != "pending" or held.checks["organisation_confirmation"] != "pending" or held.expires_at is None:
        raise InvalidState("there is nothing for the organisation to confirm")
    organisation = await organisations.get(tx, Partner(held.partner_id), held.organisation_id)
    spoken = language or domain.language_of(organisation.country_code)
    new = domain.question(tx.new_id(), held.id, contact, spoken, by, tx.now, held.expires_at)
    asked = next((one for one in await store.of(tx, EVERYONE, held.id) if one.asks(held)), None)
    again = asked is not None and asked.email == contact.email and language in (None, asked.language)
    wanted = asked if asked is not None and again else new
    email_hash = tx.vault.keyed_hash(_HASHED, contact.email.lower().encode())
    reached = await store.reached(tx, EVERYONE, email_hash, tx.wall - domain.DAY)
    sent = await store.sent(tx, EVERYONE, asked.id) if asked is not None else []
    if not domain.may_send(sent, reached, tx.wall, sandbox=tx.deployment.sandbox):
        raise InvalidState("the address has had its share of mails: look at the newest one, or try again later")
    if wanted is new:
        await store.insert(tx, EVERYONE, new)
    mail = await store.insert_mail(tx, EVERYONE, wanted.id, email_hash)
    await queue.enqueue(tx, SEND, {"mail": str(mail)})
    return wanted


async def ask_once(tx: Tx, verification_id: UUID, contact: Contact | None) -> None:
    """Have the nonprofit asked by rule: its address is known, and nobody has asked in this round. Raises NotFound."""
    held = await verifications.hold(tx, EVERYONE, verification_id)
    known = await store.of(tx, EVERYONE, held.id)
    asked = any(one.expires_at == held.expires_at and not one.withdrawn for one in known)
    waits = held.awaits_answer and held.checks["organisation_confirmation"] == "pending"
    if contact is not None and waits and not asked:
        await ask(tx, held.id, contact, by="rules")


async def enqueue_ask(tx: Tx, verification_id: UUID) -> None:
    """Have it asked right after the commit, where its address is known."""
    await queue.enqueue(tx, ASK, {"verification": str(verification_id)}, unique=str(verification_id))


async def of(tx: Tx, verification_id: UUID) -> list[Confirmation]:
    """What a nonprofit was asked, and what it answered, oldest first."""
    return await store.of(tx, EVERYONE, verification_id)


async def opened(tx: Tx, confirmation_id: UUID) -> Page:
    """What a link opens, true at this moment. Raises NotFound."""
    if (found := await store.find(tx, EVERYONE, confirmation_id)) is None:
        raise NotFound
    return await _page(tx, found, await verifications.get(tx, EVERYONE, found.verification_id))


async def _page(tx: Tx, found: Confirmation, verification: Verification) -> Page:
    partner = await partners.get(tx, Partner(verification.partner_id))
    organisation = await organisations.get(tx, Partner(verification.partner_id), verification.organisation_id)
    accounts = [
        Account(one.id, one.currency, one.holder, one.masked_number)
        for one in await payees.approved_of(tx, organisation.id)
    ]
    shown = (found.id, partner.name, organisation.shown_name, [one.id for one in accounts])
    seen = digest(msgspec.json.encode(shown))
    return Page(found, verification, partner.name, organisation.shown_name, accounts, seen)


async def answer(tx: Tx, confirmation_id: UUID, given: Answer, *, name: str, role: str, seen: str) -> Page:
    """The nonprofit answers, once: the check ends with it.

    ``seen``: the fingerprint of the page that it saw, as hexadecimal digits. Raises NotFound; Changed when that is not
    what is so now; InvalidState when no answer is needed any more.
    """
    if (known := await store.find(tx, EVERYONE, confirmation_id)) is None:
        raise NotFound
    held = await verifications.hold(tx, EVERYONE, known.verification_id)
    found = await store.find(tx, EVERYONE, confirmation_id)  # as it is under the lock
    assert found is not None, "questions stay"
    page = await _page(tx, found, held)
    if not found.asks(held):
        raise InvalidState("no answer is needed any more")
    if page.seen.hex() != seen:
        raise Changed
    if not await store.answer(tx, EVERYONE, found.id, given, name, role, page.seen):
        raise InvalidState("it was answered already")
    facts = {
        "confirmation": tx.ids.text("payeeconfirmation", found.id),
        "domain": (found.email or "").rpartition("@")[2],
        "accounts": [tx.ids.text("payeeaccount", one.id) for one in page.accounts],
    }
    ended = await verifications.end_check(
        tx, EVERYONE, held.id, "organisation_confirmation", _OUTCOMES[given], by="nonprofit", facts=facts
    )
    return replace(page, confirmation=replace(found, answer=given), verification=ended)


async def to_send(tx: Tx, mail_id: UUID) -> Page | None:
    """What a mail asks; None when nobody need answer any more. Raises NotFound."""
    if (found := await store.of_mail(tx, EVERYONE, mail_id)) is None:
        raise NotFound
    page = await opened(tx, found.id)
    return page if page.state == "open" and found.email is not None else None


async def forget(tx: Tx, limit: int = BATCH) -> int:
    """Forget where nonprofits were asked, 30 days after that was over (V6); how many."""
    return await store.forget(tx, EVERYONE, tx.now - domain.FORGOTTEN_AFTER, limit)


async def next_forgotten(tx: Tx) -> datetime | None:
    """When the next address is forgotten."""
    over = await store.next_forgotten(tx, EVERYONE)
    return None if over is None else over + domain.FORGOTTEN_AFTER


async def enqueue_forgetting(tx: Tx, verification_id: UUID) -> None:
    """A verification has ended: have it forgotten in 30 days who answered about it, if anybody has (V6)."""
    if any(one.name is not None for one in await store.of(tx, EVERYONE, verification_id)):
        due = tx.now + domain.FORGOTTEN_AFTER
        await queue.enqueue(tx, FORGET, {"verification": str(verification_id)}, due=due)


async def forget_names(tx: Tx, verification_id: UUID) -> None:
    """Forget who answered, unless the verification was reopened since, or has ended anew just now. Raises NotFound."""
    held = await verifications.hold(tx, EVERYONE, verification_id)
    if held.processed_at is not None and not held.live and tx.now >= held.processed_at + domain.FORGOTTEN_AFTER:
        await store.forget_names(tx, EVERYONE, verification_id)


def answer_of(given: object) -> Answer | None:
    """What a button says; None for anything else."""
    return next((one for one in _OUTCOMES if one == given), None)
