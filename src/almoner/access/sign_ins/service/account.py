"""Changes to a person's own credentials, each reported by a security email (ASVS 6.3.7).

The caller has checked for a recent authentication (``is_recently_authenticated``).
"""

from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AuditContext, Passkey
from almoner.access.credentials.service import authenticators, passkeys, passwords, recovery
from almoner.access.people import service as people
from almoner.access.people.domain import Person
from almoner.access.security_emails import service as security_emails
from almoner.access.security_emails.domain import Kind
from almoner.access.sign_ins import service
from almoner.access.sign_ins.domain import Browser, EmailLink, SignIn, device_label
from almoner.access.sign_ins.service import links
from almoner.platform.database.transactions import Database, Tx


async def change_password_and_issue_device_cookie(
    db: Database, person: Person, sign_in: SignIn, password: str, browser: Browser
) -> str:
    """Set a new password and end the other sign-ins, in its own transaction.

    Raises PasswordTooWeak, SignInOverloaded. Returns this browser's new device cookie; all earlier device cookies
    become void.
    """
    hashed = await passwords.hash_new_password(db.deployment.vault, person, password)
    async with db.write() as tx:
        there = await people.get_for_update(tx, person.realm, person.id)
        by = credentials.build_audit_context_of_person(tx, there, browser.ip_address)
        await passwords.store_password(tx, there, hashed, by, changed_through="account")
        await service.end_all_sign_ins(tx, there, "password_changed", by, except_id=sign_in.id)
        await _notify(tx, there, "password_changed", browser)
        return await service.issue_device_cookie(tx, there)


async def confirm_authenticator(tx: Tx, person: Person, code: str, browser: Browser) -> bool:
    """Activate the authenticator app if its first code is right. Raises AuthenticatorNotPending."""
    right = await authenticators.confirm_setup(
        tx, person, code, credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    )
    if right:
        await _notify(tx, person, "authenticator_added", browser)
    return right


async def remove_authenticator(tx: Tx, person: Person, browser: Browser) -> None:
    """Remove the authenticator app. Raises LastSecondFactorCannotBeRemoved."""
    await people.get_for_update(tx, person.realm, person.id)
    if await authenticators.remove_authenticator(
        tx, person, credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    ):
        await _notify(tx, person, "authenticator_removed", browser)


async def reset_credentials_and_send_invitation(tx: Tx, person: Person, audit_context: AuditContext) -> EmailLink:
    """Delete all credentials of a locked person who lost their second factor, and email a link to start again.

    Every sign-in ends, known browsers are forgotten and earlier links become void, so that only the mailbox and the
    partner's identity provider remain. The caller must have verified the person's identity. Raises
    EmailAddressRecentlyChanged.
    """
    await credentials.remove_all_credentials(tx, person, audit_context)
    await service.end_all_sign_ins(tx, person, "revoked", audit_context)
    await links.revoke_links(tx, person)
    await security_emails.enqueue_email(tx, person, "second_factor_reset")
    return await links.send_invitation(tx, person)


async def create_recovery_codes(tx: Tx, person: Person, browser: Browser) -> list[str]:
    """Create ten recovery codes, shown once; earlier ones stop working."""
    await people.get_for_update(tx, person.realm, person.id)
    codes = await recovery.create_recovery_codes(
        tx, person, credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    )
    await _notify(tx, person, "recovery_codes_created", browser)
    return codes


async def add_passkey(
    tx: Tx, person: Person, challenge_binding: bytes, response_json: str, name: str, browser: Browser
) -> Passkey:
    """Verify and store the passkey that the browser created.

    Raises InvalidPasskeyResponse.
    """
    by = credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    passkey = await passkeys.add_passkey(tx, person, challenge_binding, response_json, name, by)
    await _notify(tx, person, "passkey_added", browser, name=passkey.name)
    return passkey


async def remove_passkey(tx: Tx, person: Person, passkey_id: UUID, browser: Browser) -> None:
    """Delete a passkey. Raises NoSuchPasskey, LastSecondFactorCannotBeRemoved."""
    await people.get_for_update(tx, person.realm, person.id)
    gone = await passkeys.remove_passkey(
        tx, person, passkey_id, credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    )
    await _notify(tx, person, "passkey_removed", browser, name=gone.name)


async def _notify(tx: Tx, person: Person, kind: Kind, browser: Browser, **values: str) -> None:
    facts = service.build_time_browser_and_ip_lines(tx, browser.ip_address, device_label(browser.user_agent))
    await security_emails.enqueue_email(tx, person, kind, placeholder_values=values, detail_lines=facts)
