"""Decides who may start a payment, records declined cards, and emails codes (H6, H7, H11)."""

from datetime import datetime
from typing import Final
from uuid import UUID

import msgspec

from almoner.giving.checkout.card_testing import domain, store
from almoner.giving.checkout.card_testing.domain import (
    CODE_DIGITS,
    CODE_LIFETIME,
    DAY,
    HOUR,
    MAX_CODES_PER_ADDRESS,
    MAX_CODES_PER_EMAIL,
    AllowedPayment,
    BrowserFingerprint,
    CardTestingLimits,
    EmailCode,
    EmailCodeCheckResult,
    EmailCodesExhausted,
    PartnerEmailCode,
    PaymentOutcome,
    RateLimitReason,
)
from almoner.giving.checkout.card_testing.store import (
    load_active_alert_expiries_by_partner as load_active_alert_expiries_by_partner,
)
from almoner.kit.time import iso_timestamp
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.platform.observability.loggers import get_logger


class SendEmailCodeJob(msgspec.Struct, frozen=True):
    """The code to send."""

    code: UUID


SEND_CODE: Final = JobKind("card_testing.send_code", SendEmailCodeJob)
BATCH: Final = 1000
_CONTEXT: Final = "gift-code"
_log: Final = get_logger("almoner.giving")


def fingerprint_browser(vault: Vault, ip_address: str, device_cookie: bytes | None) -> BrowserFingerprint:
    """The keyed hashes of a browser's address and device cookie."""
    hashed = None if device_cookie is None else vault.compute_mac("brakes:device", device_cookie)
    return BrowserFingerprint(
        vault.compute_mac("brakes:address", domain.truncate_ipv6_address_to_network(ip_address).encode()), hashed
    )


async def check_velocity(
    tx: Tx, limits: CardTestingLimits, partner: Partner, session_id: UUID, browser: BrowserFingerprint, email: str
) -> AllowedPayment:
    """Check whether a new payment may start. Raises RateLimited, EmailCodeRequired.

    Payments from the same address or device wait here until this transaction ends.
    """
    await store.lock_sources(tx, browser.source_hashes)
    most = (limits.ip_address_payments_per_hour, limits.device_payments_per_day)
    found = await store.load_velocity_state_and_code(tx, partner, session_id, browser, _email_hash(tx, email), most)
    return AllowedPayment(domain.max_card_attempts(found.state, limits, tx.real_now), found.email_code_id)


async def record_payment_attempt(
    tx: Tx,
    partner: Partner,
    payment_id: UUID,
    browser: BrowserFingerprint,
    max_card_attempts: int,
    code_id: UUID | None,
) -> None:
    """Record which browser started a payment, and use up its code."""
    await store.insert_payment_attempt(tx, partner, payment_id, browser, max_card_attempts)
    if code_id is not None:
        await store.mark_email_code_used(tx, code_id)


async def record_payment_outcome(tx: Tx, limits: CardTestingLimits, outcome: PaymentOutcome) -> None:
    """Count a payment's declines once, block their sources, and detect attacks."""
    suspect = await store.record_outcome_and_find_card_testing_suspect(tx, outcome)
    if suspect is None:
        return
    partner = Partner(suspect.partner_id)
    recent = await store.count_recent_declines(tx, partner, suspect.browser)
    if sources := domain.sources_to_block(suspect.browser, recent, limits):
        await store.block_sources(tx, sources)
    if domain.is_under_attack(recent, limits) and await store.raise_card_testing_alert(
        tx, partner, recent.partner_decline_count, recent.partner_attempt_count
    ):
        reported = {
            "partner": tx.ids.encode("partner", partner.id),
            "declines": recent.partner_decline_count,
            "attempts": recent.partner_attempt_count,
            "until": iso_timestamp(tx.real_now + domain.ALERT_DURATION),
        }
        tx.add_commit_callback(lambda: _log.error("card_testing_suspected", **reported))


async def send_email_code(tx: Tx, session_id: UUID, browser: BrowserFingerprint, email: str) -> None:
    """Send a new code to the email address; earlier codes of the session expire. Raises EmailCodesExhausted."""
    hashed = _email_hash(tx, email)
    await store.lock_sources(tx, [browser.ip_address_hash, hashed])
    sent = await store.load_email_code_send_times(tx, browser.ip_address_hash, hashed)
    if len(sent.to_email) >= MAX_CODES_PER_EMAIL:
        raise EmailCodesExhausted(sent.to_email[-MAX_CODES_PER_EMAIL] + HOUR, RateLimitReason.CODES)
    if len(sent.for_ip_address) >= MAX_CODES_PER_ADDRESS:
        raise EmailCodesExhausted(sent.for_ip_address[-MAX_CODES_PER_ADDRESS] + HOUR, RateLimitReason.CODES_CROWDED)
    code_id = tx.new_id()
    sealed = tx.vault.encrypt(email.encode(), context=_CONTEXT, associated_data=code_id.bytes)
    code = EmailCode(code_id, session_id, hashed, sealed, tx.real_now + CODE_LIFETIME, 0, spent=False)
    await store.insert_email_code(tx, code, browser.ip_address_hash)
    await SEND_CODE.enqueue(tx, SendEmailCodeJob(code_id))


async def ensure_email_code_sent(tx: Tx, session_id: UUID, browser: BrowserFingerprint, email: str) -> None:
    """Send a code unless the session's current one is for this email address and valid. Raises EmailCodesExhausted."""
    code = await store.find_current_email_code(tx, session_id)
    if code is None or not code.is_valid_at(tx.real_now) or code.email != _email_hash(tx, email):
        await send_email_code(tx, session_id, browser, email)


async def was_email_code_sent(tx: Tx, session_id: UUID, email: str) -> bool:
    """Whether any code was sent to this email address for this session."""
    code = await store.find_current_email_code(tx, session_id)
    return code is not None and code.email == _email_hash(tx, email)


async def is_email_verified(tx: Tx, session_id: UUID, email: str) -> bool:
    """Whether the donor of a session has proved access to this email address."""
    return await store.is_email_verified(tx, session_id, _email_hash(tx, email))


async def check_email_code(tx: Tx, session_id: UUID, email: str, entered_code: str) -> EmailCodeCheckResult:
    """Check a typed code. A wrong one is counted: the caller must commit."""
    code = await store.find_current_email_code_for_update(tx, session_id)
    if code is None or code.email != _email_hash(tx, email):
        return EmailCodeCheckResult.OVER
    answer = code.check_entered_code(entered_code, derive_email_code_digits(tx, code.id), tx.real_now)
    if answer in (EmailCodeCheckResult.RIGHT, EmailCodeCheckResult.WRONG):
        await store.record_email_code_attempt(tx, code.id, is_correct=answer is EmailCodeCheckResult.RIGHT)
    return answer


async def find_valid_email_code_and_recipient(tx: Tx, code_id: UUID) -> tuple[PartnerEmailCode, str] | None:
    """A valid code to be sent, with its decrypted email address."""
    sent = await store.find_email_code(tx, code_id)
    if sent is None or not sent.code.is_valid_at(tx.real_now):
        return None
    return sent, tx.vault.decrypt(sent.code.recipient, context=_CONTEXT, associated_data=code_id.bytes).decode()


def derive_email_code_digits(tx: Tx, code_id: UUID) -> str:
    """The six digits of a code, derived from the master key and not stored."""
    number = int.from_bytes(tx.vault.compute_keyed_hash("gift-code", code_id.bytes)[:8])
    return f"{number % 10**CODE_DIGITS:0{CODE_DIGITS}}"


async def next_expired_record_deletion_at(tx: Tx) -> datetime | None:
    """When the next records are a day old and due for deletion."""
    oldest = await store.find_oldest_card_testing_record_at(tx)
    return tx.now if oldest is not None and oldest <= tx.real_now - DAY else None


async def delete_expired_records(tx: Tx, limit: int = BATCH) -> int:
    """Delete records that are a day old; returns how many."""
    return await store.delete_expired_records(tx, tx.real_now - DAY, limit)


def _email_hash(tx: Tx, email: str) -> bytes:
    return tx.vault.compute_mac("brakes:email", email.casefold().encode())
