"""Making, replacing and ending a partner's keys: each act is in the audit log, whoever does it and wherever.

Each secret is shown once, by who called.
"""

from datetime import timedelta
from typing import Final
from uuid import UUID

from almoner.access.credentials.domain import By
from almoner.access.keys import domain
from almoner.access.keys import service as keys
from almoner.access.keys.domain import Key, Kind
from almoner.access.keys.service import NoSuchKey
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.http.caller import NAMED_ONLY

LONGEST_NAME: Final = 100


async def make(
    tx: Tx, partner: Partner, by: By, kind: Kind, name: str, scopes: frozenset[str], *, by_name: bool = False
) -> tuple[Key, str]:
    """A new key and its secret. Raises IncorrectParams, with all that is wrong.

    ``by_name``: an administrator makes it, who also gives what a deployment grants by name alone (settled 9).
    """
    problems = [] if 1 <= len(name) <= LONGEST_NAME else [f"name: enter 1 to {LONGEST_NAME} characters"]
    try:
        given = _given(kind, scopes, by_name=by_name)
    except ValueError as error:
        raise IncorrectParams(*problems, f"scopes: {error}") from None
    if problems:
        raise IncorrectParams(*problems)
    key, secret = await keys.create(tx, partner, kind, name, given)
    await _record(tx, by, "key.made", key)
    return key, secret


def _given(kind: Kind, scopes: frozenset[str], *, by_name: bool) -> frozenset[str]:
    domain.ensure_known(scopes)
    given = domain.scopes_for(kind, scopes)
    if kind != "scim" and not by_name and (named := sorted(given & NAMED_ONLY)):
        raise ValueError(f"these scopes are not available: {', '.join(named)}")
    return given


async def get(tx: Tx, partner: Partner, key_id: UUID) -> Key:
    """A key of the partner. Raises NoSuchKey."""
    key = await keys.get(tx, key_id)
    if key.partner_id != partner.id:
        raise NoSuchKey(tx.ids.text("apikey", key_id))
    return key


async def rotate(tx: Tx, by: By, old: Key, overlap: timedelta) -> tuple[Key, str]:
    """A successor and its secret; the old key works until the overlap ends. Raises IncorrectParams."""
    if not old.usable(tx.wall):
        raise IncorrectParams("this key has expired or been revoked. Create a new one")
    try:
        key, secret = await keys.rotate(tx, old.id, overlap)
    except ValueError as error:
        raise IncorrectParams(f"overlap: {error}") from None
    await _record(tx, by, "key.rotated", old, successor=tx.ids.text("apikey", key.id))
    return key, secret


async def revoke(tx: Tx, by: By, key: Key) -> None:
    """End a key now; nothing happens to one that has ended."""
    if key.revoked_at is None:
        await keys.revoke(tx, key.id)
        await _record(tx, by, "key.revoked", key)


async def _record(tx: Tx, by: By, action: str, key: Key, **details: str) -> None:
    told = {"kind": key.kind, "scopes": sorted(key.scopes), **details}
    subject = tx.ids.text("apikey", key.id)
    await audit.record(tx, key.partner_id, by.actor, action, subject, address=by.address, details=told)
