"""Faults of files of payments that the self-check must name."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import settled, verified
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault

FILE = "(select id from bank_file where status = 'released' limit 1)"


async def lived(service: Service, api: Client) -> None:
    """A file that was withdrawn, and one that went to the bank, of which a payment was rejected."""
    for _ in range(2):
        cause = await factories.nonprofit(service)
        await verified(service, api, cause)
        await settled(service, api, cause)
        await bank.account(service, cause)
    await bank.sent(service)
    with TemporaryDirectory() as folder:
        ours = bank.own(Path(folder), "USD")
    file = (await bank.made(service, ours)).file
    assert file is not None
    await bank.released(service, file)
    await bank.heard(service, bank.answer(file, whole="ACSC"))


def of_bank_files() -> Iterator[Fault]:
    """One of each kind, and more where a check can be broken from two sides."""
    yield Fault("bank_files.sums_of_payouts", f"update bank_file set payments = payments + 1 where id = {FILE}")
    yield Fault("bank_files.sums_of_payouts", f"update bank_file set amount_minor = amount_minor - 1 where id = {FILE}")
    yield Fault(
        "bank_files.sums_of_payouts",
        f"update bank_file_payment set amount_minor = amount_minor + 1 where file_id = {FILE}; "
        f"update bank_file set amount_minor = amount_minor + payments where id = {FILE}",
    )
    yield Fault("bank_files.paid_to_approved", f"update bank_file set made_at = {OLD} where id = {FILE}")
    yield Fault("bank_files.paid_to_approved", "update payee_account set currency = 'EUR'")
