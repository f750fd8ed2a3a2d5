"""`almoner bank-statements` as people type it, over the database of a service."""

import asyncio
from pathlib import Path

import pytest

from almoner import worker
from almoner.giving.banking.bank_statements import service as bank_statements
from tests.support import bank, camt, factories
from tests.support.camt import Entry
from tests.support.client import Client, data
from tests.support.eventually import eventually
from tests.support.reports import imported, report
from tests.support.requests import asked, paid, requests
from tests.support.service import Service
from tests.support.terminal import Type, in_process, operator
from tests.support.transfers import came


@pytest.fixture
async def almoner(service: Service, tmp_path: Path) -> Type:
    """The terminal of an operator who sees to money."""
    return in_process(service, tmp_path, await operator(service, "finance", name="Olive"))


async def heard(almoner: Type, folder: Path, *entries: Entry, name: str = "S1") -> str:
    """The officer imports a statement."""
    file = folder / f"{name}.xml"
    file.write_bytes(camt.statement(*entries, reference=name, currency="USD"))
    status, reported = await almoner("bank-statements", "import", str(file))
    assert status == 0, reported
    return reported


async def line(service: Service, name: str) -> str:
    """A line as officers name it, by the bank's name of it."""
    async with service.db.read() as tx:
        found = await bank_statements.list_oldest_open_or_newest_lines(tx, 100, newest_of_any_status=True)
        return next(tx.ids.encode("bankline", one.id) for one in found if one.movement.reference == name)


async def measured(service: Service, *expected: str) -> None:
    """What a worker measures of them, once it has."""
    stop = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run_worker(service.services, "server", stop))
        metrics = service.services.telemetry.render_metrics
        await eventually(lambda: all(one.encode() in metrics() for one in expected), within=30)
        stop.set()


async def test_m7_a_report_is_listed_with_its_age_until_a_line_is_assigned_to_it(
    service: Service, api: Client, almoner: Type, tmp_path: Path
) -> None:
    await factories.donation(service, api)
    async with service.db.read() as tx:
        payment = await tx.fetchval("select provider_payment from payment limit 1")
    await imported(service, report(("payment", payment, 25.0, 1.0), reference="po_12345"), "test")
    assert "po_12345" not in (await almoner("bank-statements", "provider-payouts"))[1], (
        "no statement of the currency is imported"
    )
    reported = await heard(almoner, tmp_path, came("B1", 2400, "card payments"), came("B2", 2300, "po_12345"))
    assert reported == (
        "1 new statement. 2 unmatched lines checked, 0 matched.\n2 need review: see `almoner bank-statements lines`.\n"
    )
    listed = (await almoner("bank-statements", "provider-payouts"))[1]
    for fact in ("test/po_12345", "2026-03-02", "0 d", "24.00 USD", "but has a different amount"):
        assert fact in listed
    await measured(service, "almoner_bank_lines_open 2.0", "almoner_provider_payouts_open 1.0")
    named = await line(service, "B1")
    assert (await almoner("bank-statements", "match", named, "--provider-payout", "test/po_9"))[1] == (
        "There is no settlement report po_9 from test: see Settlement reports in the console, or `almoner settlements "
        "list`.\n"
    )
    done = await almoner("bank-statements", "match", named, "--provider-payout", "test/po_12345")
    assert done == (0, f"{named} has been matched to test/po_12345.\n")
    assert "po_12345" not in (await almoner("bank-statements", "provider-payouts"))[1]
    await measured(service, "almoner_bank_lines_open 1.0", "almoner_provider_payouts_open 0.0")


async def test_m7_what_waits_is_seen_in_one_place_with_its_age(
    service: Service, api: Client, almoner: Type, tmp_path: Path
) -> None:
    await factories.donation(service, api)
    async with service.db.read() as tx:
        payment = await tx.fetchval("select provider_payment from payment limit 1")
    assert (await almoner("settlements", "unreconciled"))[1].count("almoner ") == 0
    await imported(service, report(("payment", payment, 25.0, 1.0), ("payment", "tp_odd", 7.0, 0.5)), "test")
    await heard(almoner, tmp_path, came("B1", 2300, "interest"))
    status, reported = await almoner("settlements", "unreconciled")
    assert status == 0
    for fact in ("settlement line", "payment tp_odd", "7.00 USD", "no payment of ours has this identifier"):
        assert fact in reported
    for fact in (
        "bank line",
        "23.00 USD",
        "no reference of ours was found in the line",
        "provider payout",
        "30.50 USD",
    ):
        assert fact in reported
    for see in (
        "almoner settlements unmatched",
        "almoner bank-statements lines",
        "almoner bank-statements provider-payouts",
    ):
        assert see in reported
    assert reported.count("0 h") == 3
    kinds = ("provider_line", "bank_statement_line", "provider_payout")
    await measured(service, *(f'almoner_unreconciled_open{{kind="{kind}"}} 1.0' for kind in kinds))
    assert service.services.telemetry.render_metrics().count(b"almoner_unreconciled_oldest_seconds{") == 4


async def test_m7_what_was_refused_is_listed_with_what_was_said(
    service: Service, api: Client, almoner: Type, tmp_path: Path
) -> None:
    request = await asked(service, api, 700)
    await paid(service, request, 500, "B1")
    await heard(almoner, tmp_path, came("B1", 700, request["reference"]), came("B2", 200, "the rest"))
    listed = (await almoner("bank-statements", "lines"))[1]
    assert "the line could not be booked: the transfer B1 has already been recorded" in listed
    rest = await line(service, "B2")
    assert (await almoner("bank-statements", "match", rest, "--request", request["reference"]))[0] == 0
    assert [one["status"] for one in await requests(api)] == ["PAID"]
    assert data(await api.get(f"/v1/donation-requests/{request['id']}"))["paidAmount"] == 700


async def test_one_thing_is_named_to_assign_a_line_to(almoner: Type, service: Service) -> None:
    name = service.db.deployment.ids.example_id("bankline")
    for words in ((), ("--request", "ALM-AAAAA-AAAAA", "--provider-payout", "test/po_1")):
        status, reported = await almoner("bank-statements", "match", name, *words)
        assert (
            status,
            "use exactly one of --request, --donation, --provider-payout and --disbursement" in reported,
        ) == (
            2,
            True,
        )
    unknown = service.db.deployment.ids.example_id("disbursement")
    assert (await almoner("bank-statements", "match", name, "--disbursement", unknown))[1] == (
        f"Line {name} or record {unknown} does not exist.\n"
    )


async def test_m7_a_statement_of_another_account_is_refused_and_the_list_names_the_account(
    service: Service, tmp_path: Path
) -> None:
    bank.all_own(tmp_path)
    who = await operator(service, "finance", name="Olive")
    almoner = in_process(service, tmp_path, who, bank_accounts=str(tmp_path / "accounts.toml"))
    file = tmp_path / "statement.xml"
    for number, stated in (("87654321", "this is no account of ours in USD"), (bank.NUMBER, "1 new statement")):
        account = camt.other(number)
        file.write_bytes(camt.statement(came("B1", 500, "interest"), currency="USD", account=account))
        assert stated in (await almoner("bank-statements", "import", str(file)))[1]
    listed = (await almoner("bank-statements", "lines"))[1]
    assert bank.NUMBER in listed
    assert "87654321" not in listed


@pytest.mark.parametrize("wrong", ["999999999999999999.99", "NaN", "-5.00"])
async def test_m7_a_wrong_file_is_refused_in_a_sentence(almoner: Type, tmp_path: Path, wrong: str) -> None:
    file = tmp_path / "statement.xml"
    reported = camt.statement(came("B1", 500, "interest"), currency="USD")
    file.write_bytes(reported.replace(b'<Amt Ccy="USD">5.00</Amt>', f'<Amt Ccy="USD">{wrong}</Amt>'.encode(), 1))
    status, stated = await almoner("bank-statements", "import", str(file))
    assert (status, f"{wrong} USD is not a valid amount" in stated) == (1, True)
