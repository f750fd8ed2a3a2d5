"""Operations on donation sessions."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.access.partners import service as partners
from almoner.giving.checkout.hosted_page.domain import find_amount_problems
from almoner.giving.checkout.sessions import domain, schemas, store, test_values
from almoner.giving.checkout.sessions.domain import (
    NO_OPTIONS,
    Benefits,
    DonationFrequency,
    DonationOptions,
    DonationSession,
    NewDonationSession,
)
from almoner.giving.checkout.sessions.schemas import DonationSessionResponse
from almoner.giving.checkout.sessions.store import has_open_session as has_open_session
from almoner.giving.checkout.sessions.store import list_page as list_page
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.nonprofits.countries.domain import COUNTRIES
from almoner.nonprofits.organisations.domain import WORLD_CURRENCIES
from almoner.platform.audit.log import AuditEntryContext
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.events import outbox
from almoner.platform.http.texts import ANY_PORT
from almoner.platform.http.wire import encode_envelope
from almoner.platform.idempotency import IdempotencyClaim
from almoner.platform.outbound import addresses

BATCH: Final = 1000  # S4
_PRIVATE: Final = "body.successUrl must have a public address"
_UNREGISTERED: Final = "body.successUrl must name a host that is registered for your account"


@dataclass(frozen=True, slots=True)
class DonationSessionRequest:
    """A partner's request to create a session; IDs as sent."""

    organisation_id: str
    user_id: str | None
    success_url: str | None
    currency: str | None
    language: str | None
    metadata: Mapping[str, str] | None
    benefits: Benefits | None = None
    frequencies: tuple[DonationFrequency, ...] = domain.ONE_TIME
    options: DonationOptions = NO_OPTIONS


async def create(
    tx: Tx, claim: IdempotencyClaim, audit_context: AuditEntryContext, session_request: DonationSessionRequest
) -> DonationSessionResponse:
    """Create a session for the claim's partner, in a single statement.

    Raises OrganisationNotFound, PartnerUserNotFound, InvalidMetadata, CannotAcceptDonations, IncorrectParams, and what
    ``IdempotencyClaim.raise_unless_claimed`` raises.
    """
    organisation_id, user_id, host = _parse_request(tx, session_request)
    session = DonationSession(
        tx.new_id(),
        claim.partner.id,
        organisation_id,
        user_id,
        "open",
        session_request.language,
        session_request.currency,
        session_request.success_url,
        session_request.metadata,
        tx.now,
        tx.now + domain.LIFETIME,
        frequencies=session_request.frequencies,
        benefits=session_request.benefits,
        options=session_request.options,
    )
    new = NewDonationSession(
        session, host, session_request.currency in WORLD_CURRENCIES, _countries_with(session_request.currency)
    )
    answer = schemas.session_response(tx, session)
    body = encode_envelope(answer) if claim.key_hash else b""
    entry = audit_context.build_entry_row(tx, answer.id)
    outcome = await store.create_session_and_store_idempotent_response(tx, claim, body, entry, new)
    claim.raise_unless_claimed(tx, outcome)
    if not outcome["made"]:
        _raise_refusal(outcome, session_request)
    return answer


async def find_success_url_problems(tx: Tx, partner: Partner, url: str) -> list[str]:
    """Why a session cannot redirect to this URL; empty if it can."""
    target = addresses.parse_target(url, ANY_PORT)
    if target.is_loopback and not tx.deployment.sandbox:
        return [_PRIVATE]
    hosts = (await partners.get(tx, partner)).redirect_hosts
    return [] if hosts is None or target.host in hosts else [_UNREGISTERED]


async def store_giving_link_session(tx: Tx, session: DonationSession) -> None:
    """Store a session that a donor creates through a giving link."""
    await store.insert(tx, Partner(session.partner_id), session)


def _parse_request(tx: Tx, change: DonationSessionRequest) -> tuple[UUID, UUID | None, str | None]:
    """Parse the IDs and the host of the return URL; checks only what needs no database."""
    sandbox = tx.deployment.sandbox
    named = test_values.strip_test_value(change.organisation_id) if sandbox else change.organisation_id
    if (organisation_id := tx.ids.decode("organisation", named)) is None:
        raise domain.OrganisationNotFound(_names_nothing("organisationId", change.organisation_id, "organisation"))
    user_id = None if change.user_id is None else tx.ids.decode("user", change.user_id)
    if change.user_id is not None and user_id is None:
        raise domain.PartnerUserNotFound(_names_nothing("userId", change.user_id, "user"))
    if change.metadata and (found := metadata_rules.find_metadata_problems(change.metadata)):
        raise domain.InvalidMetadata(*found)
    if change.benefits is not None and change.currency is None:
        raise IncorrectParams("body.currency is required with body.benefits")
    if change.benefits is not None and change.frequencies != domain.ONE_TIME:
        raise IncorrectParams("body.benefits is for one_time donations: leave out body.frequencies")
    if change.options.has_amounts and change.currency is None:
        raise IncorrectParams("body.currency is required with amounts")
    if change.currency is not None and (wrong := find_amount_problems(change.options, change.currency)):
        raise IncorrectParams(*wrong)
    if change.success_url is None:
        return organisation_id, user_id, None
    target = addresses.parse_target(change.success_url, ANY_PORT)
    if target.is_loopback and not sandbox:
        raise IncorrectParams(_PRIVATE)
    return organisation_id, user_id, target.host


def _raise_refusal(outcome: Record, change: DonationSessionRequest) -> None:
    """Raise the error for a session that was not created."""
    if outcome["receives"] is None:
        raise domain.OrganisationNotFound(_names_nothing("organisationId", change.organisation_id, "organisation"))
    if not outcome["user_known"]:
        raise domain.PartnerUserNotFound(_names_nothing("userId", str(change.user_id), "user"))
    if not outcome["receives"]:
        raise domain.CannotAcceptDonations
    reasons = []
    if not outcome["takes_currency"]:
        reasons.append(f"body.currency {change.currency} is not one that this organisation receives")
    if not outcome["host_allowed"]:
        reasons.append(_UNREGISTERED)
    raise IncorrectParams(*reasons)


def _names_nothing(field: str, value: str, what: str) -> str:
    return f"body.{field} '{value[:100]}' names no {what}"


@cache
def _countries_with(currency: str | None) -> tuple[str, ...]:
    return tuple(code for code, country in COUNTRIES.items() if currency and country.currency == currency)


async def get(tx: Tx, partner: Partner, session_id: UUID) -> DonationSession:
    """One session. Raises NotFound."""
    return _ensure_found(await store.find(tx, partner, session_id))


def serialise_for_api(tx: Tx, session: DonationSession) -> DonationSessionResponse:
    """The donation session as an API record."""
    return schemas.session_response(tx, session)


async def get_for_hosted_page(tx: Tx, session_id: UUID) -> DonationSession:
    """The session for a hosted page. Raises NotFound."""
    return _ensure_found(await store.find(tx, ALL_PARTNERS, session_id))


async def get_for_update(tx: Tx, session_id: UUID) -> DonationSession:
    """The session, locked until the transaction ends. Raises NotFound."""
    return _ensure_found(await store.find_for_update(tx, session_id))


async def store_language_and_currency_if_unset(
    tx: Tx, session_id: UUID, language: str, currency: str
) -> DonationSession:
    """Store language and currency if neither the partner nor an earlier visit did (settled 4). Raises NotFound."""
    return _ensure_found(await store.store_language_and_currency_if_unset(tx, session_id, language, currency))


async def complete(tx: Tx, session: DonationSession, donation_id: UUID) -> None:
    """Complete a locked session with its donation."""
    if not await store.complete(tx, session.id, donation_id):
        raise domain.SessionAlreadyCompleted
    completed = replace(session, stored_status="completed", donation_id=donation_id)
    await outbox.emit_event(tx, session.partner_id, domain.COMPLETED, schemas.session_response(tx, completed))


async def complete_session_or_replace_donation(tx: Tx, session: DonationSession, donation_id: UUID) -> None:
    """Complete a session with a donation that an operator accepted."""
    if session.stored_status != "completed":
        await complete(tx, session, donation_id)
    else:
        await store.replace_donation(tx, session.id, donation_id)


async def expire_due_sessions(tx: Tx, limit: int = BATCH) -> int:
    """Record the expiry of sessions; returns how many. Reads apply it anyway (S3)."""
    expired = await store.expire_due_sessions(tx, limit)
    if expired:
        records = [(one.partner_id, schemas.session_response(tx, one)) for one in expired]
        await outbox.emit_events(tx, domain.EXPIRED, records)
    return len(expired)


async def expire(tx: Tx, partner: Partner, session_id: UUID) -> DonationSession:
    """Expire a session early. Raises NotFound, SessionExpired, SessionAlreadyCompleted."""
    (await get(tx, partner, session_id)).ensure_open(tx.now)
    expired = _ensure_found(await store.expire(tx, partner, session_id))
    await outbox.emit_event(tx, partner.id, domain.EXPIRED, schemas.session_response(tx, expired))
    return expired


async def next_expiry_at(tx: Tx) -> datetime | None:
    """When the next open session expires."""
    return await store.next_expiry_at(tx)


def _ensure_found(session: DonationSession | None) -> DonationSession:
    if session is None:
        raise NotFound
    return session
