"""Sets up a partner's identity provider. ``identities`` links its accounts to people."""

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Final, cast

from almoner.access.credentials.domain import AuditContext, can_be_stored_in_database
from almoner.access.credentials.service import login_attempts
from almoner.access.people import service as people
from almoner.access.people.domain import MEMBER_ROLES, MemberRole, member_realm
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sso import store
from almoner.access.sso.domain import (
    LONGEST,
    LONGEST_NAME,
    MOST_GROUPS,
    STATE_LIFETIME,
    SUBJECT_CLAIMS,
    IdentityProvider,
    IdentityProviderSettings,
    InvalidIdentityProviderSettings,
    NoSuchIdentityProvider,
    SsoOption,
    SsoRefused,
    change_affects_granted_roles,
)
from almoner.access.sso.store import find_provider as find_provider
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor, Details
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import AddressPolicy, AddressRefused

_SEALED_AS: Final = "sign-on-secret"
_LONGEST_SECRET: Final = 1000
_LONGEST_ISSUER: Final = 500
_VISIBLE: Final = re.compile(r"[\x21-\x7e]+")
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]{1,100}")  # RFC 6749 3.3


async def get_provider(tx: Tx, partner: Partner) -> IdentityProvider:
    """The partner's identity provider. Raises NoSuchIdentityProvider."""
    if (provider := await store.find_provider(tx, partner)) is None:
        raise NoSuchIdentityProvider
    return provider


async def find_sso_option(tx: Tx, partner: Partner) -> SsoOption | None:
    """The single sign-on button for the partner's sign-in page, if enabled."""
    provider = await store.find_provider(tx, partner)
    if provider is None or not provider.enabled:
        return None
    return SsoOption(provider.name, f"/account/{tx.ids.encode('partner', partner.id)}/sign-on")


def redirect_uri(tx: Tx, partner: Partner) -> str:
    """The redirect URI to register at the provider."""
    return f"{tx.base_urls.pages}/account/{tx.ids.encode('partner', partner.id)}/sign-on/callback"


async def save_provider(
    tx: Tx, audit_context: AuditContext, partner: Partner, provider_settings: IdentityProviderSettings
) -> IdentityProvider:
    """Create or change the partner's identity provider.

    If the change affects requests or trust, cached provider data and sign-ins with SSO end. Raises
    InvalidIdentityProviderSettings. Roles granted by single sign-on are then removed, too.
    """
    before = await store.find_provider(tx, partner)
    problems = dict(_settings_problems(provider_settings, tx.deployment.outbound_address_policy))
    if provider_settings.secret is None and before is None:
        problems |= {"secret": "Enter the client secret, or select “Public client”."}
    if (
        provider_settings.secret is None
        and before
        and before.sealed_secret
        and before.issuer != provider_settings.issuer
    ):
        problems |= {"secret": "Enter the client secret again, because the issuer has changed."}
    if problems:
        raise InvalidIdentityProviderSettings(problems)
    secret = before.sealed_secret if before else None
    if provider_settings.secret is not None:
        secret = tx.vault.encrypt(
            provider_settings.secret.encode(), context=_SEALED_AS, associated_data=partner.id.bytes
        )
        secret = secret if provider_settings.secret else None
    provider = IdentityProvider(
        partner,
        provider_settings.name,
        provider_settings.issuer,
        provider_settings.client_id,
        secret,
        provider_settings.subject_claim,
        provider_settings.groups_claim,
        {value: cast("MemberRole", role) for value, role in provider_settings.roles.items()},
        provider_settings.scopes,
        provider_settings.creates_members,
        provider_settings.enabled,
        before.version + 1 if before else 1,
        before.created_at if before else tx.now,
        tx.now,
    )
    await store.save_provider(tx, provider)
    ended = (
        await _revoke_provider_roles(tx, partner) if before and change_affects_granted_roles(before, provider) else 0
    )
    action = "provider.changed" if before else "provider.set"
    await _record(tx, audit_context, provider, action, secret_changed=provider_settings.secret is not None, ended=ended)
    await _notify_owners(tx, audit_context, partner, provider.issuer)
    return provider


async def remove_provider(tx: Tx, audit_context: AuditContext, partner: Partner) -> None:
    """Remove the identity provider: ends its sign-ins and the roles it gave. Raises NoSuchIdentityProvider."""
    provider = await get_provider(tx, partner)
    await store.delete_provider(tx, partner)
    details: Details = {"issuer": provider.issuer, "signInsEnded": await _revoke_provider_roles(tx, partner)}
    subject = tx.ids.encode("partner", partner.id)
    await audit.record_entry(
        tx,
        partner.id,
        audit_context.actor,
        "provider.removed",
        subject,
        ip_address=audit_context.ip_address,
        details=details,
    )
    await _notify_owners(tx, audit_context, partner, "none")


async def _notify_owners(tx: Tx, by: AuditContext, partner: Partner, issuer: str) -> None:
    """Email the owners if an operator changed how their members sign in."""
    if by.actor.kind == "operator":
        for owner in await people.list_with_any_role(tx, member_realm(partner), "owner"):
            await security_emails.enqueue_email(tx, owner, "sso_changed", detail_lines={"Issuer": issuer})


def decrypt_client_secret(tx: Tx, provider: IdentityProvider) -> str | None:
    """The plain client secret; None for a public client."""
    if provider.sealed_secret is None:
        return None
    return tx.vault.decrypt(
        provider.sealed_secret, context=_SEALED_AS, associated_data=provider.partner.id.bytes
    ).decode()


async def consume_state(tx: Tx, partner: Partner, state_hash: bytes, started_at: datetime) -> bool:
    """Record that an OIDC state was returned; False if it was used before (replay)."""
    return await store.consume_state(tx, partner, state_hash, started_at + STATE_LIFETIME)


async def record_refusal(tx: Tx, partner: Partner, refusal: SsoRefused, *, ip_address: str) -> None:
    """Audit a refused SSO sign-in, at most once a minute, without the provider's message."""
    if not await login_attempts.claim_refused_attempt_audit(tx, member_realm(partner), None):
        return
    subject = tx.ids.encode("partner", partner.id)
    details = {"method": "provider", "reason": refusal.reason.value}
    await audit.record_entry(
        tx, partner.id, Actor("system", "sign_on"), "sign_in.refused", subject, ip_address=ip_address, details=details
    )


async def _revoke_provider_roles(tx: Tx, partner: Partner) -> int:
    """Remove all roles from single sign-on and end the sign-ins made through it; returns how many."""
    await people.clear_sso_roles(tx, member_realm(partner))
    return await sign_ins.end_sso_sign_ins(tx, member_realm(partner))


async def _record(
    tx: Tx, by: AuditContext, provider: IdentityProvider, action: str, *, secret_changed: bool, ended: int
) -> None:
    """Audit the provider's settings, without the secret."""
    details: Details = {
        "issuer": provider.issuer,
        "clientId": provider.client_id,
        "secretChanged": secret_changed,
        "subjectClaim": provider.subject_claim,
        "groupsClaim": provider.groups_claim,
        "roles": [f"{value} = {role}" for value, role in sorted(provider.roles.items())],
        "createsMembers": provider.creates_members,
        "enabled": provider.enabled,
        "signInsEnded": ended,
    }
    partner = provider.partner
    subject = tx.ids.encode("partner", partner.id)
    await audit.record_entry(tx, partner.id, by.actor, action, subject, ip_address=by.ip_address, details=details)


def _settings_problems(provider_settings: IdentityProviderSettings, policy: AddressPolicy) -> Iterator[tuple[str, str]]:
    """Each invalid field with its problem."""
    if not 1 <= len(provider_settings.name.strip()) <= LONGEST_NAME or not provider_settings.name.isprintable():
        yield "name", f"Name must be 1 to {LONGEST_NAME} characters."
    try:
        if not provider_settings.issuer.startswith(("https://", "http://")):
            raise AddressRefused("must be a URL like https://id.example.org")
        addresses.parse_target(provider_settings.issuer, policy)
        if (
            len(provider_settings.issuer) > _LONGEST_ISSUER
            or "?" in provider_settings.issuer
            or "#" in provider_settings.issuer
        ):
            yield "issuer", f"Issuer must be {_LONGEST_ISSUER} characters or fewer and must not contain ? or #."
    except AddressRefused as error:
        yield "issuer", f"Issuer {error.reason}."
    if not _VISIBLE.fullmatch(provider_settings.client_id) or len(provider_settings.client_id) > LONGEST:
        yield "client_id", f"Client ID must be 1 to {LONGEST} visible ASCII characters."
    if provider_settings.secret and (
        not _VISIBLE.fullmatch(provider_settings.secret) or len(provider_settings.secret) > _LONGEST_SECRET
    ):
        yield "secret", f"Client secret must be {_LONGEST_SECRET} visible ASCII characters or fewer."
    if provider_settings.subject_claim not in SUBJECT_CLAIMS:
        yield (
            "subject_claim",
            f"User identifier must be {' or '.join(SUBJECT_CLAIMS)}, because other claims can be reassigned.",
        )
    if (
        not all(_SCOPE.fullmatch(scope) for scope in provider_settings.scopes)
        or "openid" not in provider_settings.scopes
    ):
        yield "scopes", "Scopes must be separated by spaces and include openid."
    yield from _role_problems(provider_settings)


def _role_problems(provider_settings: IdentityProviderSettings) -> Iterator[tuple[str, str]]:
    claim = provider_settings.groups_claim
    if claim is not None and not (1 <= len(claim) <= LONGEST and can_be_stored_in_database(claim)):
        yield "groups_claim", f"Groups claim must be 1 to {LONGEST} characters."
    elif provider_settings.roles and claim is None:
        yield "groups_claim", "Enter the groups claim to use group roles."
    if strange := sorted(set(provider_settings.roles.values()) - set(MEMBER_ROLES)):
        known = ", ".join(MEMBER_ROLES).replace("_", " ")
        yield "roles", f"Unknown role: {', '.join(strange).replace('_', ' ')}. Choose from: {known}."
    elif len(provider_settings.roles) > MOST_GROUPS or not all(
        1 <= len(value) <= LONGEST and can_be_stored_in_database(value) for value in provider_settings.roles
    ):
        yield "roles", f"You can add up to {MOST_GROUPS} groups, with names of 1 to {LONGEST} characters."
    if provider_settings.creates_members and not provider_settings.roles:
        yield "creates_members", "To create members automatically, add at least one group role."
