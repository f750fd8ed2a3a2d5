"""Credentials of a person, with a module for each kind.

``passwords``, ``authenticators`` (one-time passwords from an app), ``recovery`` (codes), ``passkeys``, and
``login_attempts`` (throttles failed attempts). Every function that changes something records it in the audit log.
"""

from almoner.access.credentials import store
from almoner.access.credentials.domain import AuditContext, AuthenticationFactors, LastSecondFactorCannotBeRemoved
from almoner.access.people.domain import Person
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, Details
from almoner.platform.database.transactions import Tx


async def get_authentication_factors(tx: Tx, person: Person) -> AuthenticationFactors:
    """The authentication factors that a person has set up."""
    return await store.load_authentication_factors(tx, person)


def requires_second_factor(person: Person) -> bool:
    """Whether the person must have a second factor: operators, and owners of a partner (0028)."""
    return person.realm.partner is None or "owner" in person.roles


def build_audit_context_of_person(tx: Tx, person: Person, ip_address: str | None) -> AuditContext:
    """The audit context of a person who changes their own credentials."""
    name = tx.ids.encode(person.realm.person_id_type, person.id)
    return AuditContext(Actor("operator" if person.realm.partner is None else "member", name), ip_address)


async def record_audit_entry(
    tx: Tx, person: Person, audit_context: AuditContext, action: str, details: Details | None = None
) -> None:
    """Write an entry about a person into their realm's audit log."""
    subject = tx.ids.encode(person.realm.person_id_type, person.id)
    await audit.record_entry(
        tx, person.realm.id, audit_context.actor, action, subject, ip_address=audit_context.ip_address, details=details
    )


async def ensure_second_factor_remains(tx: Tx, person: Person, *, removes_authenticator: bool) -> None:
    """Raises LastSecondFactorCannotBeRemoved if this removal would leave no second factor where one is required."""
    if requires_second_factor(person):
        factors = await store.load_authentication_factors(tx, person)
        if not (factors.passkeys if removes_authenticator else factors.authenticator or factors.passkeys > 1):
            raise LastSecondFactorCannotBeRemoved


async def remove_unusable_recovery_codes(tx: Tx, person: Person) -> None:
    """Delete the recovery codes of a person who no longer has a second factor."""
    if not (await store.load_authentication_factors(tx, person)).has_second_factor:
        await store.replace_recovery_codes(tx, person, [])


async def remove_all_credentials(tx: Tx, person: Person, audit_context: AuditContext) -> None:
    """Delete a person's password and all second factors after they lost a factor.

    If the password stayed, anyone who knows it could add a second factor. The caller must have verified the person's
    identity, and must end the person's sign-ins and email a link.
    """
    await store.delete_password(tx, person)
    await remove_second_factors(tx, person)
    await record_audit_entry(tx, person, audit_context, "second_factor.reset")


async def remove_second_factors(tx: Tx, person: Person) -> None:
    """Delete all second factors of a person; the caller adds another one and audits it."""
    await store.delete_authenticator(tx, person)
    for passkey in await store.list_passkeys(tx, person):
        await store.delete_passkey(tx, person, passkey.id)
    await store.replace_recovery_codes(tx, person, [])
