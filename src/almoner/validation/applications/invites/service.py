"""Operations on validation invites."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from uuid import UUID

from almoner.access.partners import service as partners
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.texts import ANY_PORT
from almoner.platform.outbound import addresses
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.invites import domain, schemas, store
from almoner.validation.applications.invites.domain import Invite, InviteInvalidState, InviteNotFound
from almoner.validation.applications.invites.schemas import ValidationInviteResponse
from almoner.validation.applications.invites.store import list_page as list_page
from almoner.validation.applications.invites.store import next_expiry_at as next_expiry_at

Scope = Partner | AllPartners

BATCH: Final = 1000


@dataclass(frozen=True, slots=True)
class InviteInput:
    """The requested values of an invite; IDs as text."""

    redirect_url: str | None = None
    metadata: Mapping[str, str] | None = None
    language: str = domain.LANGUAGE
    configuration_id: str | None = None


async def create(tx: Tx, partner: Partner, invite_input: InviteInput) -> Invite:
    """Create an invite, open for seven days. Raises IncorrectParams, InvalidConfiguration."""
    if found := [
        *metadata_rules.find_metadata_problems(invite_input.metadata or {}),
        *await _redirect_problems(tx, partner, invite_input),
    ]:
        raise IncorrectParams(*found)
    invite = Invite(
        tx.new_id(),
        partner.id,
        await _configuration_id(tx, partner, invite_input.configuration_id),
        invite_input.redirect_url,
        invite_input.language,
        invite_input.metadata,
        "open",
        tx.now,
        tx.now + domain.LIFETIME,
    )
    await store.insert(tx, partner, invite)
    return invite


async def _redirect_problems(tx: Tx, partner: Partner, change: InviteInput) -> list[str]:
    if change.redirect_url is None:
        return []
    target = addresses.parse_target(change.redirect_url, ANY_PORT)
    if target.is_loopback and not tx.deployment.sandbox:
        return ["body.redirectUrl must have a public address"]
    hosts = (await partners.get(tx, partner)).redirect_hosts
    if hosts is not None and target.host not in hosts:
        return ["body.redirectUrl must name a host that is registered for your account"]
    return []


async def _configuration_id(tx: Tx, partner: Partner, text: str | None) -> UUID | None:
    if text is None:
        return None
    named = tx.ids.decode("hostedconfiguration", text)
    if named is None or await configurations.find(tx, partner, named) is None:
        raise domain.InvalidConfiguration(f"body.hostedConfigId '{text[:100]}' names no submission configuration")
    return named


async def get(tx: Tx, scope: Scope, invite_id: UUID) -> Invite:
    """One invite. Raises NotFound."""
    if (found := await store.find(tx, scope, invite_id)) is None:
        raise NotFound
    return found


def serialise_for_api(tx: Tx, invite: Invite) -> ValidationInviteResponse:
    """The invite as an API record."""
    return schemas.invite_response(tx, invite)


async def find(tx: Tx, partner: Partner, invite_id: UUID) -> Invite | None:
    """Find one invite of the partner; None if there is none."""
    return await store.find(tx, partner, invite_id)


async def get_for_update(tx: Tx, scope: Scope, invite_id: UUID) -> Invite:
    """Lock one invite until the transaction ends. Raises NotFound."""
    if (found := await store.find_for_update(tx, scope, invite_id)) is None:
        raise NotFound
    return found


async def lock_open_invite(tx: Tx, partner: Partner, invite_id: UUID) -> Invite:
    """Lock the open invite for a new submission until the transaction ends.

    Raises InviteNotFound, InviteExpired, InviteInvalidState.
    """
    locked = await store.find_for_update(tx, partner, invite_id)
    if locked is None:
        raise InviteNotFound
    locked.ensure_open(tx.now)
    return locked


async def mark_completed(tx: Tx, invite: Invite) -> None:
    """Complete a locked invite after a submission was created from it."""
    if not await store.mark_completed(tx, invite.id):
        raise InviteInvalidState
    completed = replace(invite, stored_status="complete")
    await outbox.emit_event(tx, invite.partner_id, domain.COMPLETED, schemas.invite_response(tx, completed))


async def expire(tx: Tx, partner: Partner, invite_id: UUID) -> Invite:
    """Expire an invite early. Raises NotFound, InviteExpired, InviteInvalidState."""
    (await get(tx, partner, invite_id)).ensure_open(tx.now)
    if (expired := await store.expire(tx, partner, invite_id)) is None:
        raise InviteInvalidState
    await outbox.emit_event(tx, partner.id, domain.EXPIRED, schemas.invite_response(tx, expired))
    return expired


async def expire_overdue_invites(tx: Tx, limit: int = BATCH) -> int:
    """Record expiries that have passed; returns how many. Reads apply them anyway."""
    expired = await store.expire_overdue_invites(tx, limit)
    if expired:
        await outbox.emit_events(
            tx, domain.EXPIRED, [(one.partner_id, schemas.invite_response(tx, one)) for one in expired]
        )
    return len(expired)
