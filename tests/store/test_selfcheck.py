"""The self-check: silent after the usual journeys, and each fault is named by the check that is for it."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import Tx
from almoner.platform.observability import selfcheck
from almoner.platform.observability.selfcheck import ConsistencyCheck, SelfcheckOutcome
from almoner.selfchecks import CHECKS
from tests.support import (
    bank_faults,
    claim_faults,
    database,
    dispute_faults,
    factories,
    refund_faults,
    regular_faults,
    request_faults,
    submission_faults,
    validation_faults,
    verification_faults,
)
from tests.support import giving as support
from tests.support.client import Client
from tests.support.payouts import run, settled, simulate, verified
from tests.support.planning import Connection
from tests.support.request_faults import of_requests
from tests.support.service import Service, serving
from tests.support.suspense import held_for, work
from tests.support.validation_faults import OLD, Fault, of_validation
from tests.support.verification_faults import of_verifications


@pytest.fixture(scope="module")
async def lived(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service where everything has happened at least once."""
    async with database.copied(postgres_server) as made, serving(made) as service:
        api = service.client((await service.tenant()).secret)
        await regular_faults.lived(service, api)
        await held_money(service)
        await gifts(service, api)
        await bank_faults.lived(service, api)
        await verification_faults.lived(service, api)
        await request_faults.lived(service, api)
        await refund_faults.lived(service, api)
        await claim_faults.lived(service, api)
        await dispute_faults.lived(service, api)
        await validation_faults.lived(service, api)
        await submission_faults.lived(service, api)
        async with service.db.write() as tx:
            await tx.execute("update schedule set last_run_at = null where name = $1", selfcheck.NIGHTLY)
        await service.drain()
        yield service
        await api.close()


async def held_money(service: Service) -> None:
    """Refunded by rule, waiting for a person, dismissed."""
    for reason in ("over", "paid_twice", "other_mode", "other_reference"):
        client = service.client((await service.tenant()).secret)
        giving = await support.open_session(service, client)
        await held_for(giving, reason)
        await work(giving)
        await client.close()


async def gifts(service: Service, api: Client) -> None:
    """Abandoned, paid, settled, given to another nonprofit, paid out, returned."""
    cause, other = await factories.nonprofit(service), await factories.nonprofit(service)
    await factories.subscription(api)
    await factories.donation(service, api, organisation=cause)
    await verified(service, api, cause)
    await verified(service, api, other)
    given = await settled(service, api, cause)
    await simulate(api, given["id"], "reassign", organisationId=other)
    await settled(service, api, cause)
    await run(service)
    await settled(service, api, cause)
    await service.drain()


HELD = "(select id from unallocated_payment where status = 'held' limit 1)"
REFUNDED = "(select id from unallocated_payment where status = 'refunded' limit 1)"
GIFT = """(
    select id from donation
    where status = 'RECEIVED_PAYMENT' and settled_at is not null and payment_id is not null and refunded_at is null
      and disputed_at is null
    limit 1
)"""
OTHER_PAYMENT = f"(select id from payment where donation_id <> {GIFT} limit 1)"
PAID_OUT = "(select id from disbursement where status = 'PAID' limit 1)"
NOW = "(select max(posted_at) from ledger_transfer)"
CLEARED = """
    update settlement_line
    set status = 'cleared', reason = 'not_paid', payment_id = null, unallocated_payment_id = null, refund_id = null,
        waived_fee_minor = 0, cleared_by = 'x', note = 'x'
"""


def faults() -> Iterator[Fault]:
    """One of each kind, and more where a check can be broken from two sides."""
    posting = "delete from ledger_transfer where id = (select id from ledger_transfer where kind = '{}' limit 1)"
    again = """
        insert into ledger_transfer
            (kind, owner_id, debit_account_id, credit_account_id, currency, amount_minor, posted_at)
        select kind, gen_random_uuid(), debit_account_id, credit_account_id, currency, amount_minor, posted_at
        from ledger_transfer where kind = '{}' limit 1
    """
    for check, kinds in {
        "payments.received_are_posted": ("payment_received",),
        "suspense.states_are_posted": ("payment_unallocated", "unallocated_refund_started", "unallocated_refund_sent"),
        "settlements.lines_are_posted": ("settled", "provider_fee", "fee_charged"),
        "disbursements.states_are_posted": ("disbursement_sent", "disbursement_paid"),
        "reassignments.are_posted": ("reassigned",),
    }.items():
        for kind in kinds:
            yield Fault(check, posting.format(kind))
            yield Fault(check, again.format(kind))
            yield Fault(check, f"update ledger_transfer set amount_minor = amount_minor + 1 where kind = '{kind}'")
    yield Fault("ledger.debits_equal_credits", "update ledger_account set debits_minor = debits_minor + 1 where id = 1")
    yield Fault("ledger.balances_are_sums", "update ledger_account set credits_minor = credits_minor + 1 where id = 1")
    yield Fault("ledger.balances_are_sums", "update ledger_transfer set amount_minor = amount_minor + 1")
    yield Fault(
        "ledger.no_negative_balances",
        """
        alter table ledger_account drop constraint ledger_account_not_negative;
        update ledger_account set debits_minor = credits_minor + 1 where kind = 'suspense'
        """,
    )
    yield Fault("payments.received_are_posted", f"update payment set status = 'failed' where donation_id = {GIFT}")
    yield Fault("donations.payments_match", f"update payment set status = 'held' where donation_id = {GIFT}")
    yield Fault(
        "donations.payments_match",
        f"update donation set payment_id = {OTHER_PAYMENT} where id = {GIFT}",
    )
    yield Fault("donations.history_matches_status", f"delete from state_change where resource_id = {GIFT}")
    yield Fault(
        "donations.history_matches_status",
        f"""
        insert into state_change (resource, resource_id, from_status, to_status, changed_at)
        values ('donation', {GIFT}, 'DISBURSED', 'RECEIVED_PAYMENT', {OLD})
        """,
    )
    yield Fault(
        "donations.abandoned_are_cancelled",
        f"update donation set created_at = {OLD} where status = 'REQUESTED_PAYMENT'",
    )
    yield Fault(
        "donations.totals_match",
        """
        insert into donation_tally_change (partner_id, organisation_id, status, day, donations)
        select partner_id, organisation_id, status, '2026-01-01', 1 from donation limit 1
        """,
    )
    yield Fault(
        "donations.totals_match",
        """
        insert into donation_tally (partner_id, organisation_id, status, day, donations)
        select partner_id, '00000000-0000-0000-0000-000000000000', status, '1999-01-01', 1 from donation limit 1
        """,
    )
    yield Fault(
        "sessions.expired_are_recorded",
        f"""
        update donation_session set expires_at = {OLD}, created_at = {OLD} - interval '1 day', status = 'open',
            donation_id = null
        """,
    )
    yield Fault("suspense.balances_match", f"update unallocated_payment set amount_minor = 1 where id = {HELD}")
    yield Fault(
        "suspense.settled_not_written_off",
        """
        update settlement_line set payment_id = null,
            unallocated_payment_id = (select id from unallocated_payment where status = 'written_off' limit 1)
        where id = (select id from settlement_line where payment_id is not null limit 1)
        """,
    )
    yield Fault(
        "suspense.clearing_not_negative",
        "update ledger_account set credits_minor = debits_minor + 1 where kind = 'provider_clearing'",
    )
    yield Fault(
        "suspense.held_payments_match", f"update unallocated_payment set payment_id = null where id = {REFUNDED}"
    )
    yield Fault("suspense.held_payments_match", "update payment set status = 'failed' where status = 'held'")
    yield Fault("suspense.decided_on_time", f"update unallocated_payment set auto_decide_at = {OLD} where id = {HELD}")
    yield Fault(
        "suspense.refunds_sent_on_time",
        f"""
        update unallocated_payment set status = 'refunding', provider_refund = null, status_changed_at = {OLD}
        where id = {REFUNDED}
        """,
    )
    yield Fault(
        "settlements.donations_have_lines",
        "update settlement_line set payment_id = gen_random_uuid() where kind = 'payment'",
    )
    yield Fault(
        "settlements.clearing_balances_match",
        "update settlement_line set gross_minor = gross_minor + 1, net_minor = net_minor + 1",
    )
    yield Fault(
        "settlements.exceptions_resolved_on_time",
        f"""
        update settlement_line set status = 'exception', reason = 'unknown_payment', payment_id = null,
            refund_id = null, waived_fee_minor = 0, created_at = {OLD}
        """,
    )
    reported = f"update settlement set reference = 'po_' || id; update payment set status_changed_at = {OLD}; "
    for lost in ("delete from settlement_line", CLEARED):
        yield Fault("settlements.payments_settled_on_time", reported + lost)
    yield Fault(
        "settlements.payments_settled_on_time",
        f"{reported} update payment set status = 'failed'; update unallocated_payment "
        f"set provider = 'test', received_at = {OLD}",
    )
    yield Fault(
        "disbursements.in_transit_balances_match",
        f"update disbursement set status = 'SENT', paid_at = null where id = {PAID_OUT}",
    )
    yield Fault(
        "disbursements.liabilities_match", f"update donation set settled_minor = settled_minor + 1 where id = {GIFT}"
    )
    yield Fault(
        "disbursements.amounts_match_donations", f"update disbursement set donations = 77 where id = {PAID_OUT}"
    )
    yield Fault(
        "disbursements.settled_donations_added",
        f"update donation set disbursement_id = null, settled_at = {OLD}, status_changed_at = {OLD} where id = {GIFT}",
    )
    yield Fault(
        "disbursements.confirmed_on_time",
        f"update disbursement set status = 'SENT', paid_at = null, sent_at = {OLD} where id = {PAID_OUT}",
    )
    yield Fault(
        "disbursements.returned_donations_recorded",
        f"insert into returned_disbursement_donation (disbursement_id, donation_id, amount_minor) "
        f"values ({PAID_OUT}, {GIFT}, 1)",
    )
    yield Fault(
        "disbursements.returned_donations_recorded",
        f"update disbursement set status = 'RETURNED', returned_at = {NOW}, return_reason = 'x' where id = {PAID_OUT}",
    )
    yield Fault("disbursements.sent_to_approved", f"update disbursement set sent_at = {OLD} where id = {PAID_OUT}")
    yield Fault(
        "disbursements.donation_statuses_match",
        f"update disbursement set propagating = true, status_changed_at = {OLD} where id = {PAID_OUT}",
    )
    yield Fault(
        "reassignments.donations_match",
        "update donation set organisation_id = reassigned_from where reassigned_at is not null",
    )
    gone = f"""
        insert into person (id, realm, profile, created_at, updated_at)
        values (gen_random_uuid(), gen_random_uuid(), '{{"userName": "gone", "active": false}}', {OLD}, {OLD});
        """
    yield Fault(
        "credentials.recovery_codes_need_second_factor",
        gone + "insert into recovery_code select id, sha256('') from person",
    )
    yield Fault(
        "sign_ins.end_with_deactivation",
        gone
        + f"""
        insert into sign_in (id, realm, person_id, hash, method, address, device, created_at, authenticated_at,
                             last_seen_at, expires_at)
        select id, realm, id, sha256('x'), 'passkey', '', '', {OLD}, {OLD}, {OLD}, 'infinity' from person
        """,
    )
    yield Fault("receipts.numbered", "update receipt_issuer set last_number = last_number + 1")
    yield Fault("receipts.numbered", "delete from receipt where number = 1")
    yield Fault(
        "emails.sent",
        f"""
        insert into undeliverable_email (id, kind, payload, recipient, reason, refused, created_at)
        select id, 'receipts.send', '{{}}', '', '', false, {NOW} from partner limit 1
        """,
    )
    yield Fault("events.numbered", "delete from event where sequence = 2")
    yield Fault("events.numbered", "update event_counter set last_sequence = last_sequence + 1")
    yield Fault(
        "events.block_totals_match",
        f"""
        update event_counter set last_sequence = 5000, summarised_sequence = 5000;
        insert into event_block select partner_id, 0, 'donation.created', 5000, {OLD}, {OLD} from event_counter
        """,
    )
    yield Fault("events.numbered_on_time", f"update event set sequence = null, created_at = {OLD} where sequence = 1")
    yield Fault(
        "events.numbered_on_time",
        f"""
        insert into internal_event (id, type, payload, created_at)
        values (gen_random_uuid(), 'internal.lost', '', {OLD})
        """,
    )
    yield Fault(
        "audit.chained_on_time", f"update audit_entry set sequence = null, hash = null, at = {OLD} where sequence = 1"
    )
    yield Fault("audit.chained", "delete from audit_entry where sequence = 1")
    yield Fault("audit.chained", "delete from audit_chain")
    yield Fault("audit.signed", f"delete from audit_head; update audit_entry set at = {OLD} where sequence = 1")
    yield Fault(
        "audit.signed",
        f"""
        delete from audit_head;
        insert into audit_head (scope, sequence, hash, signed_at, signature)
        select scope, last_sequence, last_hash, {OLD}, decode(repeat('00', 64), 'hex') from audit_chain
        """,
    )
    job = "insert into job (kind, payload, due_at, ready, created_at, {}) values ('lost', '{{}}', {}, true, {}, {})"
    yield Fault("jobs.none_dead", job.format("dead_at", OLD, OLD, NOW))
    yield Fault("jobs.started_on_time", job.format("attempt", OLD, OLD, 0))
    yield Fault(
        "registers.current",
        f"""
        insert into register_source (code, registry_id, lists_organisations, unverified, data_as_of, max_age)
        select 'a-list', id, true, false, {OLD}, interval '1 day' from registry limit 1
        """,
    )
    load = f"""
    insert into register_load (
        id, registry_id, source, data_as_of, loaded_at, rows, added, changed, removed, quarantined, forced, {{}}
    ) select gen_random_uuid(), id, 'a-list', {OLD}, {OLD}, 1, 0, 0, 0, 0, false, {{}} from registry limit 1
    """
    yield Fault("registers.no_quarantined_imports", load.format("status, reasons", "'quarantined', array['cut off']"))
    yield Fault("registers.no_numbers_left_unchanged", load.format("status, carried_over", "'loaded', 1"))
    yield Fault(
        "registers.refreshed",
        f"""
        insert into register_refresh (source, refresh_interval, due_at, attempted_at, status, failures, reason)
        values ('a-list', interval '1 day', {NOW}, {OLD}, 'failed', 3, 'no answer')
        """,
    )
    yield Fault(
        "organisations.followers_notified",
        f"""
        with load as (
            insert into register_load (
                id, registry_id, source, data_as_of, loaded_at, rows, added, changed, removed, quarantined, forced,
                    status
            ) select gen_random_uuid(), id, 'a-list', {OLD}, {OLD}, 1, 1, 0, 0, 0, false, 'loaded' from registry limit 1
            returning id
        ) insert into organisation_change_notification (load_id) select id from load
        """,
    )
    yield Fault(
        "organisations.merged_on_certain_evidence",
        """
        update organisation set same_as = (select id from organisation order by id desc limit 1)
        where id = (select id from organisation order by id limit 1)
        """,
    )
    review = """
        insert into review (id, kind, subject_id, partner_id, reasons, asked_at, due_at, status, status_changed_at,
                            ended_at)
        select id, 'validation_request', id, id, '{{x}}', created_at, created_at, {} from partner limit 1
    """
    document = """
        insert into document (id, partner_id, media_type, size_bytes, sha256, storage_key, flags, status,
                              status_changed_at, created_at, missing_at, next_check_at)
        select id, id, 'image/png', 1, decode(repeat('00', 32), 'hex'), repeat('0', 34), '{{}}', {}, created_at
        from partner limit 1
    """
    yield Fault("documents.unchanged", document.format("'clean', created_at, created_at, created_at"))
    yield Fault("documents.no_orphaned_files", "insert into document_trash values (repeat('0', 26), date '2026-01-01')")
    yield Fault(
        "deployment.released", "update deployment set copy_reason = 'restored', copy_detected_at = generation_at"
    )
    yield Fault("documents.scanned_on_time", document.format(f"'pending_scan', {OLD}, {OLD}, null"))
    yield Fault("reviews.open_are_undecided", review.format("'open', created_at, null"))
    yield Fault("reviews.decided_once", review.format("'decided', created_at, created_at"))
    for kind in ("validation_request", "agent_verification"):
        yield Fault(
            "reviews.decisions_match_records",
            f"""
            insert into review_decision (id, kind, subject_id, partner_id, verdict, note, decided_by, decided_at)
            select id, '{kind}', id, id, 'accepted', 'x', 'x', created_at from partner limit 1
            """,
        )
    body = "(select id from organisation limit 1)"
    for told in (
        f"update organisation_search set name = 'other' where id = {body}",
        f"update organisation_search set rank = rank + 1 where id = {body}",
        f"delete from organisation_search where id = {body}",
        f"update organisation set search_other = 'more' where id = {body}",
        f"update organisation set active = not active, status_override = null, succeeded_by = null where id = {body}",
    ):
        yield Fault("organisations.search_index_matches", told)
    word = "(select word from organisation_search_term where occurrences > 0 limit 1)"
    yield Fault("organisations.search_word_counts_match", f"delete from organisation_search_term where word = {word}")
    yield Fault(
        "organisations.search_word_counts_match",
        f"update organisation_search_term set occurrences = occurrences + 1 where word = {word}",
    )
    yield Fault("jobs.requeued_on_time", job.format("leased_until", OLD, OLD, OLD))
    yield Fault(
        "deliveries.have_jobs",
        f"""
        update webhook_delivery set status = 'pending', finished_at = null, next_attempt_at = {OLD}
        where id = (select id from webhook_delivery limit 1);
        delete from job where lane is not null
        """,
    )
    yield from bank_faults.of_bank_files()
    yield from of_requests()
    yield from refund_faults.of_refunds()
    yield from claim_faults.of_claims()
    yield from dispute_faults.of_disputes()
    yield from regular_faults.of_plans()
    yield from of_validation()
    yield from of_verifications()
    yield from submission_faults.of_submissions()


@pytest.fixture(scope="module")
async def hand(lived: Service) -> AsyncIterator[Connection]:
    """One that no trigger and no reference holds back."""
    connection = await asyncpg.connect(lived.database.server.superuser_url(lived.database.name))
    await connection.execute("set session_replication_role = replica")
    yield connection
    await connection.close()


@asynccontextmanager
async def planted(service: Service, hand: Connection, fault: Fault) -> AsyncIterator[Tx]:
    """The fault, for as long as the block lasts."""
    trial = hand.transaction(isolation="repeatable_read")
    await trial.start()
    try:
        await hand.execute(fault.sql)
        yield Tx(hand, service.db.deployment, "read")  # type: ignore[arg-type]
    finally:
        await trial.rollback()


def told(outcome: SelfcheckOutcome) -> dict[str, int]:
    return {finding.check.name: finding.count for finding in outcome.findings}


async def test_nothing_is_found_after_the_usual_journeys(lived: Service) -> None:
    outcome = await selfcheck.run_selfcheck(lived.db, CHECKS)
    assert [(finding.check.name, finding.examples) for finding in outcome.findings] == []
    assert outcome.check_count == len(CHECKS)
    async with lived.db.read() as tx:
        kinds = {row["kind"] for row in await tx.fetch("select distinct kind from ledger_transfer")}
    assert kinds >= {
        "payment_received",
        "payment_unallocated",
        "unallocated_refund_sent",
        "settled",
        "disbursement_paid",
        "reassigned",
        "request_allocated",
    }


def test_the_service_asks_by_itself(lived: Service) -> None:
    *_, line = [entry for entry in map(json.loads, lived.lines) if entry["event"] == "selfcheck"]
    assert (line["checks"], line["findings"]) == (len(CHECKS), [])


@pytest.mark.parametrize("fault", list(faults()), ids=lambda fault: fault.check)
async def test_m1_m2_m3_each_fault_is_named(lived: Service, hand: Connection, fault: Fault) -> None:
    asked = [check for check in CHECKS if check.name == fault.check]
    async with planted(lived, hand, fault) as tx:
        found = told(await selfcheck.run_consistency_checks(tx, asked))
    assert found.get(fault.check, 0) >= 1


@pytest.mark.parametrize(
    "fault",
    [pytest.param(one, marks=[pytest.mark.long] if number else []) for number, one in enumerate(faults())],
    ids=lambda fault: fault.check,
)
async def test_m1_m2_m3_all_checks_are_answered_beside_a_fault(lived: Service, hand: Connection, fault: Fault) -> None:
    async with planted(lived, hand, fault) as tx:
        outcome = await selfcheck.run_consistency_checks(tx, CHECKS)
    assert told(outcome).get(fault.check, 0) >= 1
    assert outcome.check_count == len(CHECKS)


def test_every_check_has_a_fault_that_it_finds() -> None:
    assert {check.name for check in CHECKS} == {fault.check for fault in faults()}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.name)
def test_every_check_says_what_was_promised_and_what_to_do(check: ConsistencyCheck) -> None:
    for words in (check.invariant, check.advice):
        assert words[0].isupper()
        assert not words.endswith(".")
    assert sum(one.name == check.name for one in CHECKS) == 1
