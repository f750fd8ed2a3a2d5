"""Faults of payment files that the self-check must report."""

from collections.abc import Iterator

from tests.support import bank, camt, factories, transfers
from tests.support.client import Client
from tests.support.giving import open_session
from tests.support.payouts import settled, verified
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault

FILE = "(select id from payment_file where status = 'released' limit 1)"


async def lived(service: Service, api: Client) -> None:
    """Create a withdrawn file, and a released one with a rejected payment."""
    for _ in range(2):
        cause = await factories.nonprofit(service)
        await verified(service, api, cause)
        await settled(service, api, cause)
        await bank.account(service, cause)
    file = await bank.in_a_file(service)
    await bank.heard(service, bank.answer(file, whole="ACSC"))
    async with service.db.read() as tx:
        ends = [
            row[0] for row in await tx.fetch("select end_to_end_id from disbursement where status = 'PAID' limit 1")
        ]
    movements = [camt.entry("FAULT-1", -2437, end_to_end=ends[0], currency="USD")]
    movements.append(camt.entry("FAULT-2", -1, currency="USD"))
    giving = await open_session(service, api)
    await transfers.begun(giving)
    movements.append(transfers.came("FAULT-3", 2500, await transfers.reference(giving)))
    came = camt.statement(*movements, reference="FAULT", currency="USD")
    await bank.stated(service, came)
    last = sum(one.minor for one in movements)
    await bank.stated(service, camt.statement(opening=last, reference="FAULT2", currency="USD", day="2026-03-03"))


def of_bank_files() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    yield Fault("payment_files.totals_match", f"update payment_file set payments = payments + 1 where id = {FILE}")
    yield Fault(
        "payment_files.totals_match", f"update payment_file set amount_minor = amount_minor - 1 where id = {FILE}"
    )
    yield Fault(
        "payment_files.totals_match",
        f"update payment_file_transaction set amount_minor = amount_minor + 1 where file_id = {FILE}; "
        f"update payment_file set amount_minor = amount_minor + payments where id = {FILE}",
    )
    yield Fault(
        "payment_files.paid_to_approved_accounts", f"update payment_file set created_at = {OLD} where id = {FILE}"
    )
    yield Fault("payment_files.paid_to_approved_accounts", "update payee_bank_account set currency = 'EUR'")
    yield Fault(
        "bank_statements.lines_matched_on_time",
        f"update bank_statement_line set created_at = {OLD} where status = 'open'",
    )
    yield Fault(
        "bank_statements.provider_payouts_arrived",
        f"update settlement set imported_at = {OLD}; update bank_statement set currency = 'USD'",
    )
    yield Fault(
        "bank_statements.donations_are_booked",
        "update bank_statement_line set amount_minor = amount_minor + 1 where matched_as = 'donation'",
    )
    yield Fault(
        "bank_statements.donations_are_booked",
        "update bank_statement_line set matched_as = 'settlement' where matched_as = 'donation'",
    )
    yield Fault(
        "bank_statements.donations_are_booked",
        "update settlement_line set status = 'exception', reason = 'settled_before', payment_id = null, "
        "unallocated_payment_id = null where provider = 'bank_transfer'",
    )
    yield Fault(
        "disbursements.automatic_holds_reviewed",
        "insert into disbursement_hold (partner_id, organisation_id, held, note, decided_by, decided_at) "
        f"select partner_id, organisation_id, true, 'found by a rule', 'rule', {OLD} from disbursement limit 1",
    )
    yield Fault(
        "bank_statements.balances_are_continuous",
        "update bank_statement set opening_minor = opening_minor - 1, closing_minor = closing_minor - 1 "
        "where reference = 'FAULT2'",
    )
    yield Fault(
        "bank_statements.lines_are_readable",
        "update bank_statement set rejected_lines = '{line 1: 1x is not a valid amount}' where reference = 'FAULT2'",
    )
    yield Fault(
        "bank_statements.disbursements_match",
        """
        update disbursement set status = 'SENT', paid_at = null
        where id = (select disbursement_id from bank_statement_line where matched_as = 'disbursement' limit 1)
        """,
    )
