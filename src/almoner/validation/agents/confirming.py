"""The e-mail to the applicant: a link to a page with a button, or a code of six digits (settled 5)."""

from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import EVERYONE, Tx
from almoner.platform.jobs import queue
from almoner.validation.agents import codes, store, store_mails, transitions
from almoner.validation.agents.codes import CODE_DIGITS, Confirmation, TypedCode
from almoner.validation.agents.domain import AgentVerification
from almoner.validation.agents.evaluate import Step

SEND = "agent_verifications.send_confirmation"


async def send(tx: Tx, verification: AgentVerification) -> bool:
    """Have a mail sent to the applicant; the code in earlier ones works no more.

    Not where the address has had its share of the hour or the day, by whichever verifications: that is noted. Whether
    it is sent.
    """
    assert verification.email is not None, "nobody unconfirmed is forgotten"
    if not await _may_reach(tx, verification.email):
        await store.insert_steps(tx, verification.id, [Step("confirmation_mail", "warn", "address_has_its_share")])
        return False
    new = Confirmation(tx.new_id(), verification.id, tx.wall, 0)
    await store_mails.insert_confirmation(tx, new)
    await queue.enqueue(tx, SEND, {"confirmation": str(new.id)})
    return True


async def _may_reach(tx: Tx, email: str) -> bool:
    """Whether an address has not had its share; nobody else asks until the transaction ends."""
    reached = await store_mails.reached(tx, EVERYONE, email, tx.wall - codes.DAY)
    return codes.may_reach(reached, tx.wall, sandbox=tx.deployment.sandbox)


async def may_send_elsewhere(tx: Tx, held: AgentVerification, email: str) -> bool:
    """Whether the limits of an applicant, and of another address, allow a mail to that."""
    before = await store_mails.sent(tx, EVERYONE, held.id)
    return codes.may_send(before, tx.wall, elsewhere=True) and await _may_reach(tx, email)


async def send_again(tx: Tx, verification_id: UUID) -> bool:
    """Have one more mail sent, where the limits allow it and there is something to confirm; whether they do.

    Raises NotFound.
    """
    held = await transitions.hold(tx, EVERYONE, verification_id)
    if not held.unconfirmed or not codes.may_send(await store_mails.sent(tx, EVERYONE, held.id), tx.wall):
        return False
    return await send(tx, held)


async def check_code(tx: Tx, verification_id: UUID, typed: str) -> TypedCode:
    """What becomes of a typed code; it confirms nothing yet. A wrong one is counted: the caller must commit."""
    await transitions.hold(tx, EVERYONE, verification_id)  # tries are counted one at a time
    newest = await store_mails.newest_confirmation(tx, EVERYONE, verification_id)
    if newest is None:
        return TypedCode.OVER if codes.digits(typed) else TypedCode.MISSING
    answer = newest.judge(typed, digits(tx, newest.id))
    if answer is TypedCode.WRONG:
        await store_mails.record_code_attempt(tx, EVERYONE, newest.id)
    return answer


async def to_send(tx: Tx, confirmation_id: UUID) -> AgentVerification | None:
    """Whose mail it is; None when there is nothing to confirm any more."""
    found = await store_mails.find_confirmation(tx, EVERYONE, confirmation_id)
    if found is None:
        raise NotFound
    verification = await store.find(tx, EVERYONE, found.verification_id)
    return verification if verification is not None and verification.as_at(tx.now).unconfirmed else None


def digits(tx: Tx, confirmation_id: UUID) -> str:
    """The six digits: computed with the master key, so that no database has them."""
    number = int.from_bytes(tx.vault.keyed_hash("agent-code", confirmation_id.bytes)[:8])
    return f"{number % 10**CODE_DIGITS:0{CODE_DIGITS}}"
