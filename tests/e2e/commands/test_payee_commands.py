"""`almoner payee-accounts` and `almoner payment-files` as officers of finance type them."""

import stat
from pathlib import Path

import pytest

from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import payouts, settled, uuid_of, verified
from tests.support.service import Service
from tests.support.terminal import Type, in_process, operator

NOTE = ("--note", "Letter of 3 March with the bank's stamp")
NUMBER = ("--number", "0110-0001-5 123 456 789")
ADDRESS = ("--town", "Boston", "--country", "USA")


@pytest.fixture
async def officers(service: Service, tmp_path: Path) -> list[Type]:
    """Three officers of finance at their terminals."""
    ours = tmp_path / "accounts.toml"
    ours.write_text(bank.OWN)
    people = [await operator(service, "finance") for _ in range(3)]
    return [in_process(service, tmp_path, person, bank_accounts=str(ours)) for person in people]


async def proposed(almoner: Type, cause: str, *numbers: str, holder: str = "Olive Relief") -> str:
    status, printed = await almoner(
        "payee-accounts", "propose", cause, "--currency", "usd", "--holder", holder, *ADDRESS, *numbers, *NOTE
    )
    assert status == 0, printed
    return printed


async def test_an_account_is_proposed_shown_and_approved_by_another(
    service: Service, api: Client, officers: list[Type]
) -> None:
    one, two, _ = officers
    cause = await factories.nonprofit(service, name="Olive Relief")
    printed = await proposed(one, cause, "--routing", "011000015", "--account", "123456789")
    account = printed.split()[0]
    assert f"{account} proposed: 011000015 ••••6789, Olive Relief." in printed
    assert "Another finance operator must approve the account." in printed
    status, printed = await one("payee-accounts", "approve", account, *NUMBER, *NOTE)
    assert (status, "You proposed this account" in printed) == (1, True)
    status, printed = await two("payee-accounts", "approve", account, "--number", "011000015 123456780", *NOTE)
    assert (status, "the number differs from the proposed one" in printed) == (1, True)
    assert await two("payee-accounts", "approve", account, *NUMBER, *NOTE) == (0, f"{account} is approved.\n")
    _, shown = await one("payee-accounts", "show", account)
    for fact in ("Olive Relief", "100 %", "011000015 ••••6789 (us, USD)", "Boston, USA", "approved", "bank's stamp"):
        assert fact in shown
    assert "123456789" not in shown
    _, listed = await one("payee-accounts", "list", "--status", "approved")
    assert [word in listed for word in (account, "1 of 1", "100 %")] == [True] * 3


async def test_who_let_the_other_in_lately_is_no_other_pair_of_eyes(service: Service, tmp_path: Path) -> None:
    people = [await operator(service, "finance") for _ in range(3)]
    one, two, three = (in_process(service, tmp_path, person) for person in people)
    inviter, invited = (uuid_of(service, "operator", person.id) for person in people[:2])
    async with service.db.write() as tx:
        await tx.execute(
            "insert into operator_access_grant (id, person_id, granted_by, action, granted_at) values ($1, $2, $3, "
            "'invited', $4)",
            tx.new_id(), invited, inviter, tx.now,
        )  # fmt: skip
    cause = await factories.nonprofit(service, name="Olive Relief")
    account = (await proposed(one, cause, "--routing", "011000015", "--account", "123456789")).split()[0]
    status, printed = await two("payee-accounts", "approve", account, *NUMBER, *NOTE)
    assert (status, "access in the last 7 days. Ask another operator to review it" in printed) == (1, True)
    assert (await three("payee-accounts", "approve", account, *NUMBER, *NOTE))[0] == 0


async def test_another_name_is_told_and_a_change_takes_two_more(service: Service, officers: list[Type]) -> None:
    one, two, three = officers
    cause = await factories.nonprofit(service, name="Olive Relief")
    await bank.account(service, cause)
    printed = await proposed(one, cause, "--routing", "011000015", "--account", "123456789", holder="Mr Smith")
    account = printed.split()[0]
    assert "Warning: the holder matches the name in the register by only 0 %.\n" in printed
    assert (
        "Two other finance operators must approve the account. Until then, no disbursements are sent to it." in printed
    )
    assert (
        "proposed (1 of 2: another finance operator must also approve the account)"
        in (await two("payee-accounts", "approve", account, *NUMBER, *NOTE))[1]
    )
    status, printed = await two("payee-accounts", "approve", account, *NUMBER, *NOTE)
    assert (status, "a second person must approve it" in printed) == (1, True)
    assert await three("payee-accounts", "approve", account, *NUMBER, *NOTE) == (0, f"{account} is approved.\n")


async def test_what_is_wrong_is_told_at_once_and_nothing_is_kept(service: Service, officers: list[Type]) -> None:
    cause = await factories.nonprofit(service)
    status, printed = await officers[0](
        "payee-accounts", "propose", cause, "--currency", "EUR", "--holder", "X", "--town", "Y", "--country", "DE",
        "--routing", "011000015", "--account", "123456789", *NOTE,
    )  # fmt: skip
    assert status == 1
    assert "country must have three letters such as DEU, not 'DE'; an account of this type must be in USD" in printed
    status, printed = await officers[0](
        "payee-accounts", "propose", "organisation_nothing", "--currency", "EURO", "--holder", " ", "--town", "Y",
        "--country", "DE", "--routing", "000000000", "--account", "12", "--bic", "AB", "--note", " ",
    )  # fmt: skip
    assert status == 1
    for problem in (
        "there is no such organisation", "routing must be a valid routing number", "account must have 4 to 17 digits",
        "bic is not valid", "holder is required", "not 'DE'", "not 'EURO'", "the note must have 1 to 2000 characters",
    ):  # fmt: skip
        assert problem in printed
    status, printed = await officers[0]("payee-accounts", "show", "payeeaccount_nothing")
    assert (status != 0, "Traceback" in printed) == (True, False)
    assert len((await officers[0]("payee-accounts", "list"))[1].splitlines()) == 1


async def test_payouts_go_to_the_bank_in_a_file_and_its_answer_confirms_them(
    service: Service, api: Client, officers: list[Type], tmp_path: Path
) -> None:
    one, two, _ = officers
    for homeless in (False, True):
        cause = await factories.nonprofit(service, name="Homeless Home" if homeless else "Olive Relief")
        await verified(service, api, cause)
        await settled(service, api, cause, amount=100_000)
        if not homeless:
            await bank.account(service, cause)
    await bank.sent(service)
    status, printed = await one("payment-files", "create", "usd")
    assert status == 0, printed
    assert "Homeless Home has no approved payee account" in printed
    assert "975.00 USD in 1 payment," in printed
    assert "another finance operator must release it" in printed
    file = next(line.split()[0] for line in printed.splitlines() if " created: " in line)
    out = tmp_path / "payments.xml"
    status, printed = await one("payment-files", "release", file, "--out", str(out))
    assert (status, "somebody else must release it" in printed, out.exists()) == (1, True, False)
    status, printed = await two("payment-files", "release", file, "--out", str(out))
    assert status == 0, printed
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    again = tmp_path / "again.xml"
    status, printed = await two("payment-files", "export", file, "--out", str(again))
    assert (status, "say why you need it again" in printed, again.exists()) == (1, True, False)
    await two("payment-files", "export", file, "--out", str(again), "--note", "the computer broke")
    assert again.read_bytes() == out.read_bytes()
    assert "already exists" in (await two("payment-files", "export", file, "--out", str(again)))[1]
    stated = tmp_path / "status.xml"
    message = out.read_text().partition("<MsgId>")[2].partition("<")[0]
    stated.write_bytes(bank.answer_to(message, whole="ACSC"))
    assert (
        "1 paid. Disbursements confirmed: 1, returned: 0."
        in (await one("payment-files", "import-status", str(stated)))[1]
    )
    assert "Nothing has changed" in (await one("payment-files", "import-status", str(stated)))[1]
    assert sorted(one["status"] for one in await payouts(api)) == ["PAID", "SENT"]
    _, listed = await one("payment-files", "list")
    assert "released" in listed


async def test_m12_a_bank_that_has_paid_what_came_back_ends_the_command_as_wrong(
    service: Service, api: Client, officers: list[Type], tmp_path: Path
) -> None:
    one = officers[0]
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    await settled(service, api, cause, amount=1000)
    await bank.account(service, cause)
    file = await bank.in_a_file(service)
    [payout] = await payouts(api)
    stated = tmp_path / "status.xml"
    stated.write_bytes(bank.answer(file, (payout["endToEndId"], "RJCT")))
    status, printed = await one("payment-files", "import-status", str(stated))
    assert (status, "1 rejected. Disbursements confirmed: 0, returned: 1." in printed) == (0, True)
    stated.write_bytes(bank.answer(file, (payout["endToEndId"], "ACSC"), message="B2"))
    status, printed = await one("payment-files", "import-status", str(stated))
    assert status == 1
    assert f"The report on {payout['id']} contradicts an earlier report from the bank" in printed
    _, holds = await one("disbursements", "holds")
    assert payout["id"] in holds
    assert [paid["status"] for paid in await payouts(api)] == ["RETURNED"]


async def test_a_payout_outside_a_file_is_confirmed_by_two_above_the_limit(
    service: Service, api: Client, officers: tuple[Type, Type, Type]
) -> None:
    one, two, _ = officers
    for amount in (1_000, 100_000):
        cause = await factories.nonprofit(service)
        await verified(service, api, cause)
        await settled(service, api, cause, amount=amount)
    await bank.sent(service)
    large, small = sorted(await payouts(api), key=lambda payout: -payout["amount"])
    assert "is PAID: 9.75 USD" in (await one("disbursements", "confirm", small["id"]))[1]
    confirm = ("disbursements", "confirm", large["id"])
    status, printed = await one(*confirm)
    assert (status, "975.00 USD is above the limit for one person. Use --note" in printed) == (1, True)
    status, printed = await one(*confirm, "--note", "x" * 2001)
    assert (status, "--note must be at most 2000 characters" in printed) == (2, True)
    noted = (*confirm, "--note", "statement of 3 March")
    status, printed = await one(*noted)
    assert (status, "(1 of 2). A second operator with the role finance must run the same command" in printed) == (
        0,
        True,
    )
    assert (await one(*noted))[0] == 1
    assert "is PAID: 975.00 USD" in (await two(*noted))[1]


async def test_a_missing_file_of_our_accounts_is_told(service: Service, tmp_path: Path) -> None:
    nobody = in_process(service, tmp_path, await operator(service, "finance"))
    status, printed = await nobody("payment-files", "create", "usd")
    assert (status, "set ALMONER_BANK_ACCOUNTS to a TOML file" in printed) == (1, True)
