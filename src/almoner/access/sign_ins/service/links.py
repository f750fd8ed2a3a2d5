"""Emailed single-use links: invitations (7 days) and password resets (1 hour), by business time."""

from typing import Final
from uuid import UUID

import msgspec

from almoner.access.credentials import service as credentials
from almoner.access.credentials.service import login_attempts, passwords
from almoner.access.people import service as people
from almoner.access.people.domain import LONGEST_NAME, NoSuchPerson, Person, Realm
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import service, store
from almoner.access.sign_ins.domain import (
    LINK_LIFETIMES,
    MAX_HOURLY_RESETS,
    Browser,
    EmailAddressRecentlyChanged,
    EmailLink,
    InvalidEmailLink,
    Purpose,
    device_label,
)
from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Database, Tx
from almoner.platform.jobs.queue import JobKind


class RequestPasswordResetJob(msgspec.Struct, frozen=True):
    """A password reset request: the realm, the IP address and the encrypted user name."""

    realm: UUID
    name: str
    address: str


RESET_REQUESTED: Final = JobKind("sign_ins.request_password_reset", RequestPasswordResetJob)
_CONTEXT: Final = "reset-asked"


async def send_invitation(tx: Tx, person: Person) -> EmailLink:
    """Email a new invitation link; earlier ones stop working. The caller audits. Raises EmailAddressRecentlyChanged."""
    return await _create_link(tx, person, "invitation")


async def find_invitation_link(tx: Tx, person: Person) -> EmailLink | None:
    """The newest invitation of a person, in any state."""
    return await store.find_newest_link(tx, person, "invitation")


async def revoke_links(tx: Tx, person: Person) -> None:
    """Revoke all open links of a person."""
    await store.revoke_links(tx, person)


def create_link_token(tx: Tx, link: EmailLink) -> str:
    """The token of a link, to show it where no email is sent; the caller audits this."""
    return tx.vault.create_page_token(link.purpose, link.id)


async def request_password_reset(tx: Tx, realm: Realm, user_name: str, ip_address: str) -> None:
    """Enqueue a password reset email for a user name; takes equally long if nobody has it."""
    user_name = user_name[:LONGEST_NAME]
    sealed = tx.vault.encrypt(user_name.encode(errors="replace"), context=_CONTEXT, associated_data=realm.id.bytes)
    unique = tx.vault.compute_keyed_hash(_CONTEXT, realm.id.bytes + user_name.lower().encode(errors="replace")).hex()
    await RESET_REQUESTED.enqueue(tx, RequestPasswordResetJob(realm.id, sealed.hex(), ip_address), unique_key=unique)


async def send_password_reset(tx: Tx, request: RequestPasswordResetJob) -> None:
    """Email a password reset link, at most three an hour, if the person exists and may sign in here.

    No link goes to an address that was changed in the last 7 days: whoever changed it could take over the account.

    A person with a second factor but no password gets the link, too, because recovery codes need a password. Everybody
    else has an invitation or signs in with SSO.
    """
    realm = Realm(request.realm)
    try:
        name = tx.vault.decrypt(bytes.fromhex(request.name), context=_CONTEXT, associated_data=realm.id.bytes).decode()
    except DecryptionFailed:
        return
    known = await passwords.load_password_of_user_name(tx, realm, name)
    person = known.person
    if person is None or not person.active or person.email is None:
        return
    if known.hash is None and not (await credentials.get_authentication_factors(tx, person)).has_second_factor:
        return
    person = await people.get_for_update(tx, realm, person.id)
    if await store.count_links(tx, person, "reset", tx.now - LINK_LIFETIMES["reset"]) >= MAX_HOURLY_RESETS:
        return
    try:
        await _create_link(tx, person, "reset")
    except EmailAddressRecentlyChanged:
        return
    by = credentials.build_audit_context_of_person(tx, person, request.address)
    await credentials.record_audit_entry(tx, person, by, "password_reset.requested")


async def get_valid_link(tx: Tx, token: str, purpose: Purpose) -> tuple[EmailLink, Person]:
    """The link with this token, and its person. Raises InvalidEmailLink."""
    link_id = tx.vault.read_page_token(purpose, token)
    found = await store.find_link(tx, link_id, purpose) if link_id else None
    if found is None or not found[1].active:
        raise InvalidEmailLink("unknown")
    if why := found[0].invalid_reason(tx.now):
        raise InvalidEmailLink(why)
    return found


async def consume_link(tx: Tx, link: EmailLink, person: Person) -> None:
    """Use up the link in the transaction of its effect.

    The person is locked first, as everywhere that ends links. Raises InvalidEmailLink.
    """
    try:
        await people.get_for_update(tx, person.realm, person.id)
    except NoSuchPerson:
        raise InvalidEmailLink("unknown") from None
    if not await store.consume_link(tx, person, link):
        raise InvalidEmailLink("used")


async def set_password_by_link(db: Database, token: str, purpose: Purpose, password: str, browser: Browser) -> Person:
    """Set a password through a link; ends all sign-ins and clears failed attempts.

    It opens its own transactions. Raises InvalidEmailLink, PasswordTooWeak, SignInOverloaded.
    """
    async with db.read() as tx:
        link, person = await get_valid_link(tx, token, purpose)
    hashed = await passwords.hash_new_password(db.deployment.vault, person, password)
    async with db.write() as tx:
        person = await people.get_for_update(tx, person.realm, person.id)
        if not person.active:
            raise InvalidEmailLink("unknown")
        await consume_link(tx, link, person)
        by = credentials.build_audit_context_of_person(tx, person, browser.ip_address)
        known = purpose == "reset" or await _has_signed_in(tx, person)
        await passwords.store_password(tx, person, hashed, by, changed_through=purpose)
        await service.end_all_sign_ins(tx, person, "password_changed", by)
        await login_attempts.clear_attempts(tx, person)
        if known:
            facts = service.build_time_browser_and_ip_lines(tx, browser.ip_address, device_label(browser.user_agent))
            await security_emails.enqueue_email(tx, person, "password_changed", detail_lines=facts)
    return person


async def _has_signed_in(tx: Tx, person: Person) -> bool:
    """Whether the person has a sign-in method or has signed in: then somebody else may be setting the password."""
    factors = await credentials.get_authentication_factors(tx, person)
    return (
        factors.password
        or factors.has_second_factor
        or bool(await store.list_recent_ip_addresses(tx, person.realm, person.id, 1))
    )


async def _create_link(tx: Tx, person: Person, purpose: Purpose) -> EmailLink:
    locked = await people.get_for_update(tx, person.realm, person.id)
    if until := await store.find_password_link_block_end(tx, locked):
        raise EmailAddressRecentlyChanged(locked.display_name, until)
    link = EmailLink(tx.new_id(), locked.id, purpose, tx.now, tx.now + LINK_LIFETIMES[purpose])
    await store.insert_link(tx, link)
    await security_emails.enqueue_email(tx, locked, purpose, link_id=link.id)
    return link
