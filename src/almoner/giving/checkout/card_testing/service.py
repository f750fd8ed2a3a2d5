"""Who may begin a payment, what declined cards teach, and the code by e-mail (H6, H7, H11)."""

from datetime import datetime
from typing import Final
from uuid import UUID

import structlog

from almoner.giving.checkout.card_testing import domain, store
from almoner.giving.checkout.card_testing.domain import (
    CODE_DIGITS,
    CODE_LIVES,
    DAY,
    HOUR,
    MAILS_AN_HOUR,
    MAILS_OF_AN_ADDRESS,
    Answer,
    CardTestingLimits,
    Code,
    CodesUsedUp,
    Learnt,
    Sent,
    Visitor,
    Why,
)
from almoner.kit.time import iso
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import EVERYONE, Partner, Tx
from almoner.platform.jobs import queue

SEND_CODE: Final = "brakes.send_code"
BATCH: Final = 1000
_CONTEXT: Final = "gift-code"
_log: Final = structlog.get_logger("almoner.giving")


def visitor(vault: Vault, address: str, device: bytes | None) -> Visitor:
    """Whose browser asks, in a form that names nobody: keyed hashes."""
    hashed = None if device is None else vault.sign("brakes:device", device)
    return Visitor(vault.sign("brakes:address", domain.source_of(address).encode()), hashed)


async def check_velocity(
    tx: Tx, figures: CardTestingLimits, partner: Partner, session_id: UUID, browser: Visitor, email: str
) -> tuple[int, UUID | None]:
    """How many cards may be tried on a new payment, and the code that it spends. Raises TooSoon, CodeNeeded.

    Others of the same address or device wait here until this transaction ends.
    """
    await store.take_turn(tx, EVERYONE, browser.sources)
    most = (figures.per_hour, figures.per_day)
    sight, code_id = await store.look(tx, partner, session_id, browser, _email_hash(tx, email), most)
    return domain.allowance(sight, figures, tx.wall), code_id


async def begin(
    tx: Tx, partner: Partner, payment_id: UUID, browser: Visitor, allowed: int, code_id: UUID | None
) -> None:
    """Remember whose browser began the payment that was admitted; the code is spent."""
    await store.insert_attempt(tx, partner, payment_id, browser, allowed)
    if code_id is not None:
        await store.spend(tx, EVERYONE, code_id)


async def record_payment_outcome(tx: Tx, figures: CardTestingLimits, learnt: Learnt) -> None:
    """Count declined cards, each once however often it is reported; block where they come from, see who is attacked."""
    suspect = await store.record_payment_outcome(tx, EVERYONE, learnt)
    if suspect is None:
        return
    partner = Partner(suspect.partner_id)
    recent = await store.recent(tx, partner, suspect.visitor)
    if sources := domain.sources_to_block(suspect.visitor, recent, figures):
        await store.block_source(tx, EVERYONE, sources)
    if domain.under_attack(recent, figures) and await store.alert(tx, partner, recent.declines, recent.tries):
        told = {
            "partner": tx.ids.text("partner", partner.id),
            "declines": recent.declines,
            "tries": recent.tries,
            "until": iso(tx.wall + domain.CALM_AFTER),
        }
        tx.after_commit(lambda: _log.error("card_testing_suspected", **told))


async def alerts(tx: Tx) -> dict[UUID, datetime]:
    """The partners whose donors are asked for a code, and until when at least (H7)."""
    return await store.alerts(tx, EVERYONE)


async def send_code(tx: Tx, session_id: UUID, browser: Visitor, email: str) -> None:
    """Have a new code sent to the e-mail address; every earlier one of the session is void. Raises CodesUsedUp."""
    hashed = _email_hash(tx, email)
    await store.take_turn(tx, EVERYONE, [browser.address, hashed])
    ours, theirs = await store.codes_sent(tx, EVERYONE, browser.address, hashed)
    if len(theirs) >= MAILS_AN_HOUR:
        raise CodesUsedUp(theirs[-MAILS_AN_HOUR] + HOUR, Why.CODES)
    if len(ours) >= MAILS_OF_AN_ADDRESS:
        raise CodesUsedUp(ours[-MAILS_OF_AN_ADDRESS] + HOUR, Why.CODES_CROWDED)
    code_id = tx.new_id()
    sealed = tx.vault.seal(email.encode(), context=_CONTEXT, binding=code_id.bytes)
    code = Code(code_id, session_id, hashed, sealed, tx.wall + CODE_LIVES, 0, spent=False)
    await store.insert_code(tx, EVERYONE, code, browser.address)
    await queue.enqueue(tx, SEND_CODE, {"code": str(code_id)})


async def has_code(tx: Tx, session_id: UUID, email: str) -> bool:
    """Whether a code that still works was sent to this e-mail address for this session."""
    code = await store.newest_code(tx, EVERYONE, session_id)
    return code is not None and code.works(tx.wall) and code.email == _email_hash(tx, email)


async def was_asked(tx: Tx, session_id: UUID, email: str) -> bool:
    """Whether a code was sent to this e-mail address for this session, whatever has become of it."""
    code = await store.newest_code(tx, EVERYONE, session_id)
    return code is not None and code.email == _email_hash(tx, email)


async def check_code(tx: Tx, session_id: UUID, email: str, typed: str) -> Answer:
    """What becomes of a typed code. A wrong one is counted: the caller must commit."""
    code = await store.lock_newest_code(tx, EVERYONE, session_id)
    if code is None or code.email != _email_hash(tx, email):
        return Answer.OVER
    answer = code.judge(typed, digits(tx, code.id), tx.wall)
    if answer in (Answer.RIGHT, Answer.WRONG):
        await store.record_code_attempt(tx, EVERYONE, code.id, right=answer is Answer.RIGHT)
    return answer


async def to_send(tx: Tx, code_id: UUID) -> tuple[Sent, str] | None:
    """A code that still works, with the e-mail address that it goes to."""
    sent = await store.find_code(tx, EVERYONE, code_id)
    if sent is None or not sent.code.works(tx.wall):
        return None
    return sent, tx.vault.open(sent.code.recipient, context=_CONTEXT, binding=code_id.bytes).decode()


def digits(tx: Tx, code_id: UUID) -> str:
    """The six digits: computed with the master key, so that no database has them."""
    number = int.from_bytes(tx.vault.keyed_hash("gift-code", code_id.bytes)[:8])
    return f"{number % 10**CODE_DIGITS:0{CODE_DIGITS}}"


async def next_due(tx: Tx) -> datetime | None:
    """The brakes forget by real time: what is a day old is due now."""
    oldest = await store.oldest(tx, EVERYONE)
    return tx.now if oldest is not None and oldest <= tx.wall - DAY else None


async def forget(tx: Tx, limit: int = BATCH) -> int:
    """Sweep: remove what is a day old; how many records went."""
    return await store.forget(tx, EVERYONE, tx.wall - DAY, limit)


def _email_hash(tx: Tx, email: str) -> bytes:
    return tx.vault.sign("brakes:email", email.casefold().encode())
