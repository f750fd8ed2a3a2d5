"""Accounts proposed, approved and paid to at the same moment: no change passes for a first account."""

import asyncio
from pathlib import Path

from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccount, PayeeAccountError
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import settled, uuid_of, verified
from tests.support.service import Service

ROUNDS = 6


async def propose(service: Service, organisation: str, by: str) -> PayeeAccount:
    async with service.db.write() as tx:
        given = bank.proposal(service, organisation, iban=bank.OTHER_IBAN)
        return await payee_bank_accounts.propose_account(tx, given, note="letter", proposed_by=by)


async def approve(service: Service, account: PayeeAccount, by: str, number: str = bank.OTHER_IBAN) -> PayeeAccount:
    async with service.db.write() as tx:
        return await payee_bank_accounts.approve(
            tx, account.id, entered_account_number=number, note="called them", approved_by=by
        )


async def test_a_proposal_beside_an_approval_is_known_for_the_change_that_it_is(service: Service) -> None:
    for _ in range(ROUNDS):
        nonprofit = await factories.nonprofit(service)
        async with service.db.write() as tx:
            first = await payee_bank_accounts.propose_account(
                tx, bank.proposal(service, nonprofit), note="letter", proposed_by="one"
            )
        _, second = await asyncio.gather(
            approve(service, first, "two", bank.IBAN), propose(service, nonprofit, "one"), return_exceptions=True
        )
        if isinstance(second, BaseException):
            assert isinstance(second, PayeeAccountError), second  # before the approval: another one is proposed
            second = await propose(service, nonprofit, "one")
        assert second.requires_second_approval
        assert (await approve(service, second, "two")).status == "proposed"
        assert (await approve(service, second, "three")).status == "approved"


async def test_of_two_who_approve_at_once_each_counts_and_nobody_twice(service: Service) -> None:
    for _ in range(ROUNDS):
        nonprofit = await factories.nonprofit(service)
        await bank.account(service, nonprofit)
        changed = await propose(service, nonprofit, "one")
        twice = await asyncio.gather(*(approve(service, changed, "two") for _ in range(2)), return_exceptions=True)
        assert sorted(isinstance(one, PayeeAccountError) for one in twice) == [False, True]
        others = await asyncio.gather(
            *(approve(service, changed, by) for by in ("three", "four")), return_exceptions=True
        )
        assert sorted(isinstance(one, PayeeAccountError) for one in others) == [False, True]
        async with service.db.read() as tx:
            assert (await payee_bank_accounts.get(tx, changed.id)).status == "approved"


async def test_a_file_released_beside_a_change_pays_the_account_that_was_approved(
    service: Service, api: Client, tmp_path: Path
) -> None:
    ours = bank.own(tmp_path, "USD")
    for _ in range(ROUNDS):
        nonprofit = await factories.nonprofit(service)
        before = await bank.account(service, nonprofit)
        await verified(service, api, nonprofit)
        await settled(service, api, nonprofit, amount=1_000)
        await bank.sent(service)
        file = (await bank.made(service, ours)).file
        assert file is not None
        content, changed = await asyncio.gather(
            bank.released(service, file), propose(service, nonprofit, "one"), return_exceptions=True
        )
        assert isinstance(changed, PayeeAccount)
        if isinstance(content, BaseException):
            assert isinstance(content, PaymentFileError), content
            await bank.withdrawn(service, file)
        else:
            assert bank.IBAN.encode() in content
        async with service.db.read() as tx:
            [payee] = (
                await payee_bank_accounts.load_approved_payees_by_organisation(
                    tx, [uuid_of(service, "organisation", nonprofit)], "USD"
                )
            ).values()
        assert payee.account_id == before.id
