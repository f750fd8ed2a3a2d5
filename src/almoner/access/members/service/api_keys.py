"""Creates, rotates and revokes a partner's API keys, and audits this.

The caller shows each secret once.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.access.credentials.domain import AuditContext
from almoner.access.keys import domain as keys_domain
from almoner.access.keys import service as keys
from almoner.access.keys.domain import ApiKey, Kind, NewApiKey
from almoner.access.keys.service import NoSuchKey
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.caller import ALL_SCOPES, NAMED_ONLY, PERSONAL

LONGEST_NAME: Final = 100


async def create(
    tx: Tx,
    partner: Partner,
    audit_context: AuditContext,
    kind: Kind,
    name: str,
    scopes: frozenset[str],
    *,
    is_created_by_administrator: bool = False,
    may_grant_donor_data: bool = False,
    lifetime: timedelta | None = None,
) -> NewApiKey:
    """Create an API key; returns it with its secret. Raises IncorrectParams with all problems.

    ``is_created_by_administrator``: created by an administrator, who can also grant scopes that are granted by name
    only (settled 9). ``lifetime``: None if it does not expire. ``may_grant_donor_data``: the creator may grant access
    to donors' personal data, which ``*`` then includes (settled 11).
    """
    problems = [] if 1 <= len(name) <= LONGEST_NAME else [f"name: enter 1 to {LONGEST_NAME} characters"]
    try:
        given = _granted_scopes(
            kind,
            scopes,
            by_name=is_created_by_administrator,
            by_owner=may_grant_donor_data or is_created_by_administrator,
        )
    except ValueError as error:
        raise IncorrectParams(*problems, f"scopes: {error}") from None
    if problems:
        raise IncorrectParams(*problems)
    expires_at = None if lifetime is None else tx.real_now + lifetime
    key, secret = await keys.create(tx, partner, kind, name, given, expires_at=expires_at)
    await _record(tx, audit_context, "key.created", key)
    return NewApiKey(key, secret)


def _granted_scopes(kind: Kind, scopes: frozenset[str], *, by_name: bool, by_owner: bool) -> frozenset[str]:
    keys_domain.ensure_known_scopes(scopes)
    given = keys_domain.scopes_for_new_key(kind, scopes)
    if by_owner and kind == "secret" and ALL_SCOPES in given:
        given |= {PERSONAL}
    if PERSONAL in given and not by_owner:
        raise ValueError(f"only an owner can grant {PERSONAL}")
    if kind != "scim" and not by_name and (named := sorted(given & (NAMED_ONLY - {PERSONAL}))):
        raise ValueError(f"these scopes are not available: {', '.join(named)}")
    return given


async def get(tx: Tx, partner: Partner, key_id: UUID) -> ApiKey:
    """One API key of the partner. Raises NoSuchKey."""
    key = await keys.get(tx, key_id)
    if key.partner_id != partner.id:
        raise NoSuchKey(tx.ids.encode("apikey", key_id))
    return key


async def rotate(
    tx: Tx, audit_context: AuditContext, old_key: ApiKey, overlap: timedelta, *, may_grant_donor_data: bool = False
) -> NewApiKey:
    """Create a successor key; the old one works until the overlap ends. Raises IncorrectParams."""
    if PERSONAL in old_key.scopes and not may_grant_donor_data:
        raise IncorrectParams(f"overlap: only an owner can rotate a key with the scope {PERSONAL}")
    if not old_key.is_usable(tx.real_now):
        raise IncorrectParams("this key has expired or been revoked. Create a new one")
    try:
        key, secret = await keys.rotate(tx, old_key.id, overlap)
    except ValueError as error:
        raise IncorrectParams(f"overlap: {error}") from None
    await _record(tx, audit_context, "key.rotated", old_key, successor=tx.ids.encode("apikey", key.id))
    return NewApiKey(key, secret)


async def record_secret_shown_again(
    tx: Tx, audit_context: AuditContext, key: ApiKey, *, old_key: ApiKey | None = None
) -> None:
    """Record that the secret of a new key was shown again. ``old_key``: the key that was rotated, if one was."""
    if old_key is None:
        await _record(tx, audit_context, "key.created", key, shown_again=True)
    else:
        successor = tx.ids.encode("apikey", key.id)
        await _record(tx, audit_context, "key.rotated", old_key, successor=successor, shown_again=True)


async def revoke(tx: Tx, audit_context: AuditContext, key: ApiKey) -> None:
    """Revoke an API key; nothing happens if it has ended."""
    if await keys.revoke(tx, key.id):
        await _record(tx, audit_context, "key.revoked", key)


async def _record(tx: Tx, by: AuditContext, action: str, key: ApiKey, **details: str | bool) -> None:
    reported = {"kind": key.kind, "scopes": sorted(key.scopes), **details}
    subject = tx.ids.encode("apikey", key.id)
    await audit.record_entry(tx, key.partner_id, by.actor, action, subject, ip_address=by.ip_address, details=reported)
