"""Mailed links, each used once: an invitation (7 days), a new password (1 hour). Both by business time."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.service import login_attempts, passwords
from almoner.access.people import service as people
from almoner.access.people.domain import LONGEST_NAME, NoSuchPerson, Person, Realm
from almoner.access.security_emails import service as letters
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins import store
from almoner.access.sign_ins.domain import LIVES, RESETS_AN_HOUR, Browser, Link, LinkClosed, Purpose, device_of
from almoner.platform.crypto import SealBroken
from almoner.platform.database.transactions import EVERYONE, Database, Tx
from almoner.platform.jobs import queue

ASKED: Final = "sign_ins.reset_asked"
_CONTEXT: Final = "reset-asked"


async def invite(tx: Tx, person: Person) -> Link:
    """A new invitation, mailed to the person; an earlier one opens nothing any more. Who invites records it."""
    return await _make(tx, person, "invitation")


async def invitation(tx: Tx, person: Person) -> Link | None:
    """The newest invitation of a person, whatever has become of it."""
    return await store.newest_link(tx, person, "invitation")


async def revoke(tx: Tx, person: Person) -> None:
    """Let no link of a person open anything that was mailed until now."""
    await store.revoke_links(tx, person)


def token(tx: Tx, link: Link) -> str:
    """The token of a link, for who has no mailbox: whoever shows it records that."""
    return tx.vault.page_token(link.purpose, link.id)


async def ask_reset(tx: Tx, realm: Realm, user_name: str, address: str) -> None:
    """Have a new password offered by mail to whoever has this name; the same work whether anybody has."""
    user_name = user_name[:LONGEST_NAME]
    sealed = tx.vault.seal(user_name.encode(errors="replace"), context=_CONTEXT, binding=realm.id.bytes)
    unique = tx.vault.keyed_hash(_CONTEXT, realm.id.bytes + user_name.lower().encode(errors="replace")).hex()
    payload = {"realm": str(realm.id), "name": sealed.hex(), "address": address}
    await queue.enqueue(tx, ASKED, payload, unique=unique)


async def offer_reset(tx: Tx, payload: Mapping[str, Any]) -> None:
    """Mail the link, unless nobody has the name, or may sign in here; at most three in an hour.

    Who has no password but a second factor gets it too: with the password, recovery codes let them in when the passkey
    is lost. Who has nothing of the kind has an invitation, or signs in at the provider.
    """
    realm = Realm(UUID(payload["realm"]))
    try:
        name = tx.vault.open(bytes.fromhex(payload["name"]), context=_CONTEXT, binding=realm.id.bytes).decode()
    except SealBroken:
        return
    known = await passwords.look_up(tx, realm, name)
    person = known.person
    if person is None or not person.active or person.email is None:
        return
    if known.hash is None and not (await credentials.factors(tx, person)).second:
        return
    person = await people.lock(tx, realm, person.id)
    if await store.count_links(tx, person, "reset", tx.now - LIVES["reset"]) >= RESETS_AN_HOUR:
        return
    await _make(tx, person, "reset")
    by = credentials.themself(tx, person, payload["address"])
    await credentials.record(tx, person, by, "reset.asked")


async def open_link(tx: Tx, token: str, purpose: Purpose) -> tuple[Link, Person]:
    """The link of a token, and whose it is. Raises LinkClosed, which says why."""
    link_id = tx.vault.read_page_token(purpose, token)
    found = await store.find_link(tx, EVERYONE, link_id, purpose) if link_id else None
    if found is None or not found[1].active:
        raise LinkClosed("unknown")
    if why := found[0].closed(tx.now):
        raise LinkClosed(why)
    return found


async def use_link(tx: Tx, link: Link, person: Person) -> None:
    """Use it up, in the transaction of what it was for. Raises LinkClosed.

    The person is held first, as by whoever else ends links.
    """
    try:
        await people.lock(tx, person.realm, person.id)
    except NoSuchPerson:
        raise LinkClosed("unknown") from None
    if not await store.use_link(tx, person, link):
        raise LinkClosed("used")


async def set_password(db: Database, token: str, purpose: Purpose, password: str, browser: Browser) -> Person:
    """Choose a password by a link. All sign-ins end, and wrong tries are forgiven.

    It opens its own transactions. Raises LinkClosed, WeakPassword, TooBusy.
    """
    async with db.read() as tx:
        link, person = await open_link(tx, token, purpose)
    hashed = await passwords.make(db.deployment.vault, person, password)
    async with db.write() as tx:
        person = await people.lock(tx, person.realm, person.id)
        if not person.active:
            raise LinkClosed("unknown")
        await use_link(tx, link, person)
        by = credentials.themself(tx, person, browser.address)
        known = purpose == "reset" or await _came_before(tx, person)
        await passwords.set_new(tx, person, hashed, by, how=purpose)
        await sign_ins.end_all(tx, person, "password_changed", by)
        await login_attempts.forget(tx, person)
        if known:
            facts = sign_ins.told(tx, browser.address, device_of(browser.user_agent))
            await letters.send(tx, person, "password_changed", facts=facts)
    return person


async def _came_before(tx: Tx, person: Person) -> bool:
    """Whether there was anything to sign in by, or a sign-in: then somebody else may be choosing the password."""
    held = await credentials.factors(tx, person)
    return held.password or held.second or bool(await store.addresses(tx, person.realm, person.id, 1))


async def _make(tx: Tx, person: Person, purpose: Purpose) -> Link:
    held = await people.lock(tx, person.realm, person.id)
    link = Link(tx.new_id(), held.id, purpose, tx.now, tx.now + LIVES[purpose])
    await store.insert_link(tx, link)
    await letters.send(tx, held, purpose, link=link.id)
    return link
