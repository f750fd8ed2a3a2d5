"""Nonprofits' accounts that come or change after a check: what waits, for whom, and what the bank is not told."""

from pathlib import Path
from typing import Any

import pytest

from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccount, PayeeAccountError
from almoner.validation.agents.domain import OfficialContactRefused
from tests.api.test_verification_findings import flags, lift, noted, waits
from tests.support import bank, factories
from tests.support.agents import contact
from tests.support.client import Client, data
from tests.support.payouts import hold, payouts, release, settled, verified
from tests.support.service import Service
from tests.support.verifications import PATH, checks, shown, simulate


async def propose(service: Service, organisation: str, currency: str = "USD", by: str = "one") -> PayeeAccount:
    """Somebody proposes another account than the usual one."""
    async with service.db.write() as tx:
        given = bank.proposal(service, organisation, currency, bank.OTHER_IBAN)
        return await payee_bank_accounts.propose_account(tx, given, note="letter", proposed_by=by)


async def approve(service: Service, account: PayeeAccount, by: str, number: str = bank.OTHER_IBAN) -> str:
    """Somebody approves one; its status."""
    async with service.db.write() as tx:
        return (
            await payee_bank_accounts.approve(
                tx, account.id, entered_account_number=number, note="called them", approved_by=by
            )
        ).status


async def test_the_first_account_after_an_officers_word_waits_for_two_people(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    assert await waits(service, api, nonprofit) is None
    account = await propose(service, nonprofit)
    assert [(flag.kind, flag.status) for flag in await flags(service, made)] == [("payee_changed", "open")]
    assert await waits(service, api, nonprofit) == "on_hold"
    with pytest.raises(PayeeAccountError, match="You proposed this account"):
        await approve(service, account, "one")
    assert await approve(service, account, "two") == "approved"
    [flag] = await flags(service, made)
    assert [flag.status, *(look and look.by for look in (flag.first_review, flag.second_review))] == [
        "lifted",
        "one",
        "two",
    ]
    assert await waits(service, api, nonprofit) is None


async def test_an_account_in_another_currency_after_a_check_takes_two_others(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit)
    made = await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    account = await propose(service, nonprofit, "EUR")
    assert account.requires_second_approval
    assert await waits(service, api, nonprofit) == "on_hold"
    assert await approve(service, account, "two") == "proposed"
    assert await waits(service, api, nonprofit) == "on_hold"
    assert await approve(service, account, "three") == "approved"
    assert [flag.status for flag in await flags(service, made)] == ["lifted"]
    assert await waits(service, api, nonprofit) is None


async def test_accounts_of_several_currencies_before_any_check_are_no_change(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    for currency in ("USD", "EUR"):
        assert not (await bank.account(service, nonprofit, currency)).requires_second_approval
    made = await factories.verification(service, api, organisation=nonprofit)
    await service.drain()
    assert (await shown(api, made))["checks"] == checks(registration="succeeded", bank_details="succeeded")
    assert await flags(service, made) == []


async def test_a_check_that_ends_between_proposal_and_approval_makes_it_a_change(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit)
    account = await propose(service, nonprofit, "EUR")
    assert not account.requires_second_approval
    made = await verified(service, api, nonprofit)
    assert await approve(service, account, "two") == "proposed"
    assert [(flag.kind, flag.status) for flag in await flags(service, made)] == [("payee_changed", "open")]
    assert await approve(service, account, "three") == "approved"
    assert [flag.status for flag in await flags(service, made)] == ["lifted"]


async def test_an_account_that_was_approved_before_counts_for_whoever_asks_later(
    service: Service, api: Client, other: Client
) -> None:
    nonprofit = await factories.nonprofit(service, name="Mill of Hope")
    await bank.account(service, nonprofit)
    for partner in (api, other):
        made = data(await partner.post(PATH, {"organisationId": nonprofit}))
        await service.drain()
        assert (await shown(partner, made))["checks"] == checks(registration="succeeded", bank_details="succeeded")
        [seen] = [one.finding for one in await noted(service, made) if one.finding.check == "bank_details"]
        assert (seen.source, seen.facts["nameAgrees"]) == ("accounts of nonprofits", 100)
    await simulate(api, made_of := (await _first(api, nonprofit)), "reject")
    assert (await simulate(api, made_of, "reopen"))["checks"] == checks()
    await service.drain()
    assert (await shown(api, made_of))["checks"] == checks(registration="succeeded", bank_details="succeeded")


async def _first(api: Client, nonprofit: str) -> dict[str, Any]:
    found: dict[str, Any] = data(await api.get(PATH, organisationId=nonprofit))[0]
    return found


async def test_an_account_in_another_name_is_flagged_for_whoever_asks_later(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit, holder="Mr Smith")
    made = await factories.verification(service, api, organisation=nonprofit)
    await service.drain()
    [flag] = await flags(service, made)
    assert (flag.kind, flag.status) == ("holder_differs", "open")
    await simulate(api, made, "approve")
    await settled(service, api, nonprofit)
    assert await waits(service, api, nonprofit) == "on_hold"
    for officer in ("four", "five"):
        await lift(service, flag, officer)
    assert await waits(service, api, nonprofit) is None


async def test_what_was_sent_is_in_no_file_while_its_nonprofit_waits(
    service: Service, api: Client, tmp_path: Path
) -> None:
    ours = bank.own(tmp_path, "USD")
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit)
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit, amount=1_000)
    await bank.sent(service)
    [payout] = await payouts(api, organisationId=nonprofit)
    assert payout["status"] == "SENT"

    async def left_out() -> bool:
        made = await bank.made(service, ours)
        if made.file is not None:  # also of what other tests have sent
            await bank.withdrawn(service, made.file)
        ids = [service.db.deployment.ids.encode("disbursement", one.id) for one in made.disbursements_on_hold]
        return payout["id"] in ids

    assert not await left_out()
    account = await propose(service, nonprofit)
    assert await left_out()
    async with service.db.write() as tx:
        await payee_bank_accounts.refuse(tx, account.id, note="they know nothing of it", refused_by="two")
    assert not await left_out()
    await hold(service, nonprofit)
    assert await left_out()
    await release(service, nonprofit)

    file = (await bank.made(service, ours)).file
    assert file is not None
    account = await propose(service, nonprofit)
    with pytest.raises(PaymentFileError, match="Withdraw the file and create a new one"):
        await bank.released(service, file)
    for officer in ("two", "three"):
        await approve(service, account, officer)
    with pytest.raises(PaymentFileError, match="payee account in this file has changed"):
        await bank.released(service, file)
    await bank.withdrawn(service, file)
    again = (await bank.made(service, ours)).file
    assert again is not None
    assert bank.OTHER_IBAN.encode() in await bank.released(service, again)


async def test_who_says_where_it_is_asked_does_not_say_where_it_is_paid(service: Service) -> None:
    asked, paid = [await factories.nonprofit(service) for _ in range(2)]
    await contact(service, asked)  # by operator_olive
    with pytest.raises(PayeeAccountError, match="somebody else must propose its account"):
        await propose(service, asked, by="operator_olive")
    await propose(service, asked, by="one")
    account = await propose(service, paid, by="operator_olive")
    with pytest.raises(OfficialContactRefused, match="somebody else has to record where it is asked"):
        await contact(service, paid)
    async with service.db.write() as tx:
        await payee_bank_accounts.refuse(tx, account.id, note="not theirs", refused_by="two")
    await contact(service, paid)
