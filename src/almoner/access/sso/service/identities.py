"""Links identity provider accounts to people, and unlinks them."""

from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AuditContext
from almoner.access.people import service as people
from almoner.access.people.domain import Person, UserNameTaken, build_profile, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser, SignIn, device_label
from almoner.access.sso import store
from almoner.access.sso.domain import (
    BoundBy,
    IdentityClaims,
    IdentityProvider,
    LastSignInMethodCannotBeRemoved,
    LinkedAccountSummary,
    LinkedIdentity,
    SsoRefusalReason,
    SsoRefused,
    roles_from_groups,
)
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Tx


async def list_linked_accounts(tx: Tx, person: Person) -> list[LinkedAccountSummary]:
    """The provider accounts linked to a person, oldest first."""
    return await store.list_linked_accounts(tx, person)


async def find_or_create_linked_person(
    tx: Tx, provider: IdentityProvider, claims: IdentityClaims, invited_person: Person | None, browser: Browser
) -> Person:
    """The person behind a provider identity, with the roles it gives; may create one. Raises SsoRefused.

    In this order: the person linked to this subject; the person who accepts an invitation in this browser; the member
    provisioned with this externalId; a new member, if the owner allowed it. Email addresses never link accounts.
    """
    if not await store.lock_provider_if_unchanged(tx, provider):
        raise SsoRefused(SsoRefusalReason.CHANGED, "The sign-in settings have changed. Please try again.")
    partner = provider.partner
    identity = await store.find_identity(tx, partner, claims.issuer, claims.subject)
    bound_by: BoundBy | None = None
    if identity is not None:
        person = await people.get_for_update(tx, member_realm(partner), identity.person_id)
    else:
        person, bound_by = await _resolve_new_person(tx, provider, claims, invited_person)
        identity = LinkedIdentity(claims.issuer, claims.subject, person.id)
    if invited_person is not None and invited_person.id != person.id:
        raise SsoRefused(
            SsoRefusalReason.OTHER_PERSON,
            "This SSO account belongs to a different member from the one who was invited.",
        )
    if not person.active:
        raise SsoRefused(SsoRefusalReason.DEACTIVATED, "Your account has been deactivated. Contact an owner for help.")
    if bound_by is None:
        await store.record_identity_use(tx, partner, identity)
    else:
        await _bind_subject(tx, person, identity, bound_by, browser)
    return await people.set_sso_roles(tx, person, roles_from_groups(provider, claims))


async def link_account(
    tx: Tx, provider: IdentityProvider, claims: IdentityClaims, sign_in: SignIn, browser: Browser
) -> None:
    """Link a provider account to the signed-in person. Raises SsoRefused."""
    if not await store.lock_provider_if_unchanged(tx, provider):
        raise SsoRefused(SsoRefusalReason.CHANGED, "The sign-in settings have changed. Please try again.")
    if not sign_ins.is_recently_authenticated(sign_in, tx.real_now):
        raise SsoRefused(SsoRefusalReason.STATE, "Your request has expired. Start again from your account page.")
    identity = LinkedIdentity(claims.issuer, claims.subject, sign_in.person_id)
    known = await store.find_identity(tx, provider.partner, claims.issuer, claims.subject)
    if known is not None and known.person_id != sign_in.person_id:
        raise SsoRefused(SsoRefusalReason.OTHER_PERSON, "This SSO account is connected to another member.")
    if known is None:
        await _bind_subject(
            tx, await people.get_for_update(tx, sign_in.realm, sign_in.person_id), identity, "account", browser
        )


async def ensure_identity_belongs_to_person(
    tx: Tx, provider: IdentityProvider, claims: IdentityClaims, person_id: UUID
) -> None:
    """Check that the provider identity belongs to this person. Raises SsoRefused."""
    identity = await store.find_identity(tx, provider.partner, claims.issuer, claims.subject)
    if identity is None or identity.person_id != person_id:
        raise SsoRefused(
            SsoRefusalReason.OTHER_PERSON,
            "You signed in to the identity provider with a different account. Sign in there with your own account.",
        )


async def unlink_accounts(tx: Tx, person: Person, audit_context: AuditContext) -> None:
    """Unlink all provider accounts of a person, and end the sign-ins and roles that they granted.

    Does nothing if there are none.
    """
    person = await people.get_for_update(tx, person.realm, person.id)
    issuers = await store.delete_identities_and_return_issuers(tx, person)
    if not issuers:
        return
    await people.set_sso_roles(tx, person, ())
    ended = await sign_ins.end_sso_sign_ins(tx, person.realm, person)
    await credentials.record_audit_entry(
        tx, person, audit_context, "identity.unbound", {"issuers": issuers, "signInsEnded": ended}
    )
    await security_emails.enqueue_email(tx, person, "identity_unbound")


async def unlink_accounts_unless_last_method(tx: Tx, person: Person, audit_context: AuditContext) -> None:
    """Unlink a person's own provider accounts. Raises LastSignInMethodCannotBeRemoved."""
    person = await people.get_for_update(tx, person.realm, person.id)
    factors = await credentials.get_authentication_factors(tx, person)
    if not (factors.password or factors.passkeys):
        raise LastSignInMethodCannotBeRemoved("Set a password or add a passkey first")
    await unlink_accounts(tx, person, audit_context)


async def _resolve_new_person(
    tx: Tx, provider: IdentityProvider, claims: IdentityClaims, invited: Person | None
) -> tuple[Person, BoundBy]:
    """The person who signs in through the provider for the first time, and the basis of the link. Raises SsoRefused."""
    realm = member_realm(provider.partner)
    provisioned = await store.find_member_by_external_id(tx, provider.partner, claims.subject)
    if invited is not None and (provisioned is None or provisioned.id == invited.id):
        return await people.get_for_update(tx, realm, invited.id), "invitation"
    if provisioned is not None:
        person = await people.get_for_update(tx, realm, provisioned.id)
        await _ensure_directory_may_claim(tx, person)
        return person, "provisioned"
    if not provider.creates_members:
        raise SsoRefused(SsoRefusalReason.UNKNOWN, "You are not a member yet. Ask an owner to invite you.")
    if not roles_from_groups(provider, claims):
        raise SsoRefused(SsoRefusalReason.NO_ROLE, "None of your groups have access. Contact an owner for help.")
    if claims.user_name is None:
        raise SsoRefused(
            SsoRefusalReason.UNKNOWN, "The identity provider did not send your username. Ask an owner to invite you."
        )
    profile = build_profile(claims.user_name, email=claims.email, name=claims.name)
    try:
        return await people.create(tx, realm, profile), "created"
    except UserNameTaken as error:
        text = f"The username {claims.user_name} is already taken. Ask an owner to invite you."
        raise SsoRefused(SsoRefusalReason.NAME_TAKEN, text) from error
    except IncorrectParams as error:
        raise SsoRefused(
            SsoRefusalReason.UNKNOWN, "Your username cannot be used here. Ask an owner to invite you."
        ) from error


async def _ensure_directory_may_claim(tx: Tx, person: Person) -> None:
    """Check that a directory may link this person: they never had credentials here, and nobody made them an owner.

    Raises SsoRefused. Otherwise the holder of a SCIM key could sign in as any member with a subject of their choice
    (0030).
    """
    factors = await credentials.get_authentication_factors(tx, person)
    by_source = await people.load_roles_by_source(tx, person)
    linked = await store.list_linked_accounts(tx, person)
    if linked or factors.has_second_factor or await people.has_had_credentials(tx, person):
        text = "You already have another way to sign in. Use it, then connect your SSO account on your account page."
        raise SsoRefused(SsoRefusalReason.OTHER_WAY_IN, text)
    if "owner" in by_source.get("granted", ()):
        text = "You are an owner. Open the link in your invitation and continue with SSO from there."
        raise SsoRefused(SsoRefusalReason.OTHER_WAY_IN, text)


async def _bind_subject(tx: Tx, person: Person, identity: LinkedIdentity, bound_by: BoundBy, browser: Browser) -> None:
    """Link a subject to the person, and notify them by email. Raises SsoRefused."""
    if any(one.issuer == identity.issuer for one in await store.list_linked_accounts(tx, person)):
        text = "A different SSO account is already connected. Disconnect it first, or contact an owner for help."
        raise SsoRefused(SsoRefusalReason.OTHER_PERSON, text)
    partner = person.realm.partner
    assert partner is not None, "only partners have a provider"
    if not await store.insert_identity(tx, partner, identity, bound_by):
        raise SsoRefused(SsoRefusalReason.USED, "You tried to sign in twice at the same time. Please try again.")
    by = credentials.build_audit_context_of_person(tx, person, browser.ip_address)
    await credentials.record_audit_entry(tx, person, by, "identity.bound", {"issuer": identity.issuer, "by": bound_by})
    facts = sign_ins.build_time_browser_and_ip_lines(tx, browser.ip_address, device_label(browser.user_agent))
    await security_emails.enqueue_email(
        tx, person, "identity_bound", placeholder_values={"issuer": identity.issuer}, detail_lines=facts
    )
