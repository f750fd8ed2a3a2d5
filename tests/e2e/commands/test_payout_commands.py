"""`almoner settlements`, `payouts` and `donations reassign` as a finance officer types them (settled 5)."""

import csv
import stat
from pathlib import Path

import pytest
from pypdf import PdfReader

from almoner.giving.accounting.settlements import checks as settlements_checks
from almoner.platform.observability import selfcheck
from tests.support import bank, factories
from tests.support.client import Client
from tests.support.payouts import gift, payouts, settled, uuid_of, verified
from tests.support.reports import report
from tests.support.service import Service
from tests.support.terminal import Operator, Type, in_process, operator, terminal


@pytest.fixture
async def olive(service: Service) -> Operator:
    """An officer of finance."""
    return await operator(service, "finance", name="Olive")


@pytest.fixture
def almoner(service: Service, tmp_path: Path, olive: Operator) -> Type:
    """Her terminal."""
    return in_process(service, tmp_path, olive)


@pytest.fixture
async def other(service: Service, tmp_path: Path) -> Type:
    """Another officer's."""
    return in_process(service, tmp_path, await operator(service, "finance"))


async def provider_payment(service: Service, donation: str) -> str:
    async with service.db.read() as tx:
        found: str = await tx.fetchval(
            "select p.provider_payment from payment p join donation d on d.payment_id = p.id where d.id = $1",
            uuid_of(service, "donation", donation),
        )
    return found


async def findings(service: Service, days: int = 0) -> list[str]:
    """What the self-check says of settlements."""
    service.clock.advance(days=days)
    outcome = await selfcheck.run_selfcheck(service.db, settlements_checks.checks)
    return [finding.check.name for finding in outcome.findings]


async def test_m7_a_report_is_imported_and_its_exceptions_are_listed(
    service: Service, api: Client, almoner: Type, tmp_path: Path
) -> None:
    made = await factories.donation(service, api)
    payment = await provider_payment(service, made["id"])
    file = tmp_path / "po_1.csv"
    file.write_bytes(report(("payment", payment, 25.0, 1.0), ("payment", "tp_nobody", 1.0, 0.0), reference="po_1"))
    for _ in range(2):
        status, printed = await almoner("settlements", "import", "test", str(file))
        assert status == 0, printed
        assert "test's report po_1 of 2026-03-02: 2 lines, 1 booked, 1 unmatched; net 25.00 USD" in printed
    assert (await gift(api, made))["settledAmount"] == {"amount": 2400, "currency": "USD"}
    _, listed = await almoner("settlements", "list")
    assert "po_1" in listed.splitlines()[1]
    assert listed.splitlines()[3:] == [
        (
            "1.00 USD from 1 unmatched lines has reached the bank but has not been booked: "
            "see `almoner settlements unmatched`."
        )
    ]
    _, exceptions = await almoner("settlements", "unmatched")
    for fact in ("0 h", "tp_nobody", "1.00 USD", "unknown_payment", "no payment of ours has this identifier"):
        assert fact in exceptions
    assert await findings(service, days=5) == ["settlements.exceptions_resolved_on_time"]
    clear = ("settlements", "dismiss", "test", "po_1", "tp_nobody", "--note", "Reported by mistake")
    assert await almoner(*clear) == (0, "Dismissed: payment tp_nobody of test's report po_1. No money has moved.\n")
    status, refused = await almoner(*clear)
    assert status == 1
    assert "report po_1 has no unmatched line for payment tp_nobody: see Unmatched settlement lines in" in refused
    assert await findings(service) == []
    file.write_text(file.read_text().replace(",1.00,0.00,1.00", ",1.00,0.00,2.00").replace("24.00", "x"))
    status, refused = await almoner("settlements", "import", "test", str(file))
    assert (status, "Traceback" in refused) == (1, False)
    assert "line 2: net must be an amount of USD such as 12.34, not 'x'" in refused
    assert "line 3: net must be gross minus fee" in refused


async def test_payouts_are_run_shown_returned_and_run_again(
    service: Service, api: Client, almoner: Type, other: Type, olive: Operator, tmp_path: Path
) -> None:
    ready, waiting = [await factories.nonprofit(service, name=name) for name in ("Ready Relief", "Waiting Works")]
    await verified(service, api, ready)
    made = await settled(service, api, ready, amount=100_000, firstName="=1+1", lastName="Byron")
    await settled(service, api, ready, anonymous="yes", firstName="Secret")
    await settled(service, api, waiting)
    status, printed = await almoner("disbursements", "run")
    assert status == 0, printed
    assert "Paid     999.37 USD in 1 disbursement with 2 donations" in printed
    assert "Waiting  24.37 USD in 1 disbursement with 1 donation: verification_pending, the organisation" in printed
    (payout,) = await payouts(api, organisationId=ready)
    _, listed = await almoner("disbursements", "list")
    assert [word in listed for word in ("Ready Relief", "999.37 USD", "PAID", "verification_pending")] == [True] * 4
    assert "Ready Relief" not in (await almoner("disbursements", "list", "--status", "pending"))[1]
    file = tmp_path / "advice.csv"
    _, shown = await almoner("disbursements", "show", payout["id"])
    assert payout["endToEndId"] in shown
    assert "=1+1 Byron" in shown
    assert "Secret" not in shown
    await almoner("disbursements", "show", payout["id"], "--csv", str(file))
    with file.open(encoding="utf-8-sig", newline="") as opened:
        rows = list(csv.DictReader(opened))
    assert {row["donor"] for row in rows} == {"'=1+1 Byron", "anonymous"}
    assert {row["paid out"] for row in rows} == {"975.00", "24.37"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "already exists" in (await almoner("disbursements", "show", payout["id"], "--csv", str(file)))[1]
    pdf = tmp_path / "remittance.pdf"
    write = ("disbursements", "remittance", payout["id"], "--pdf", str(pdf), "--language")
    assert "Available languages: ar, de" in (await almoner(*write, "xx"))[1]
    status, printed = await almoner(*write, "de")
    assert (
        status,
        f"Wrote the remittance statement for Ready Relief to {pdf}: 999.37 USD from 2 donations" in printed,
    ) == (0, True)
    reported = " ".join(page.extract_text() for page in PdfReader(pdf).pages)
    assert [word in reported for word in ("Byron", "Anonym", "999,37", "Secret")] == [True, True, True, False]
    assert "already exists" in (await almoner(*write, "de"))[1]
    status, refused = await almoner("disbursements", "confirm", payout["id"])
    assert (status, refused) == (1, "the disbursement is PAID: only a SENT disbursement can be confirmed\n")
    status, printed = await almoner("disbursements", "mark-returned", payout["id"], "--reason", "account closed")
    assert (status, "is RETURNED: 999.37 USD with 2 donations" in printed) == (0, True)
    assert (await gift(api, made))["status"] == "RECEIVED_PAYMENT"
    pdf.unlink()
    assert "the disbursement is RETURNED: only a SENT or PAID one" in (await almoner(*write, "de"))[1]
    assert "account closed" in (await almoner("disbursements", "show", payout["id"]))[1]
    assert "Disbursements to this organisation are on hold. Find out" in printed
    assert ": on_hold, disbursements to" in (await almoner("disbursements", "run"))[1]
    _, held = await almoner("disbursements", "holds")
    for fact in (ready, "all", f"{payout['id']} was returned: account closed", f"Olive ({olive.id})"):
        assert (fact in held) == (fact != "all"), "held for the partner whose payout it was"
    release = ("disbursements", "release", ready, "--note", "new account, confirmed by telephone")
    assert await almoner(*release) == (1, "you placed this hold, so somebody else must release it\n")
    assert await other(*release) == (0, f"Disbursements to {ready} are released.\n")
    status, refused = await other(*release)
    assert (status, "are not on hold" in refused) == (1, True)
    await almoner("disbursements", "run")
    assert (await gift(api, made))["status"] == "DISBURSED"
    assert (await almoner("disbursements", "run"))[1].startswith("Nothing was sent.")


async def test_payouts_to_a_nonprofit_are_held_until_they_are_released(
    service: Service, api: Client, almoner: Type
) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    hold = ("disbursements", "hold", nonprofit, "--note", "on a list of sanctions")
    assert await almoner(*hold) == (0, f"Disbursements to {nonprofit} are on hold.\n")
    assert "on_hold, disbursements to the organisation are on hold" in (await almoner("disbursements", "run"))[1]
    assert (await gift(api, made))["status"] == "RECEIVED_PAYMENT"
    assert "on a list of sanctions" in (await almoner("disbursements", "holds"))[1]
    unknown = "sandbox_organisation_0123456789abcdefghjkmnpqrs"
    status, refused = await almoner("disbursements", "hold", unknown, "--note", "x")
    assert (status, f"there is no organisation {unknown}" in refused) == (1, True)
    assert (await almoner("disbursements", "hold", nonprofit, "--note", " "))[0] == 1


async def test_in_production_a_person_confirms(service: Service, api: Client, tmp_path: Path) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit, amount=1000)
    ours = tmp_path / "accounts.toml"
    ours.write_text(bank.OWN)  # below what one person may confirm of this account
    production = {
        "BANK_ACCOUNTS": str(ours),
        "ENVIRONMENT": "production",
        "API_URL": "https://api.example.org",
        "PAGES_URL": "https://give.example.org",
        "WEBHOOK_SOURCE_ADDRESSES": "192.0.2.1",
        "MAIL_URL": "smtps://mail.example.org",
        "PRIVACY_URL": "https://almoner.example/privacy",
        "CONTACT_EMAIL": "help@almoner.example",
        "MAIL_FROM": "Giving <giving@example.org>",
    }
    almoner = terminal(service, tmp_path, "finance", by=None, **production)
    status, printed = await almoner("disbursements", "run")
    assert (status, "Sent     9.75 USD in 1 disbursement with 1 donation" in printed) == (0, True), printed
    (payout,) = await payouts(api)
    assert (payout["status"], (await gift(api, made))["status"]) == ("SENT", "RECEIVED_PAYMENT")
    named = payout["id"].removeprefix("sandbox_")
    status, printed = await almoner("disbursements", "confirm", named)
    assert (status, printed) == (0, f"{named} is PAID: 9.75 USD with 1 donation.\n")
    assert (await gift(api, made))["status"] == "DISBURSED"


async def test_a_gift_is_reassigned_and_who_decided_is_kept(
    service: Service, api: Client, almoner: Type, olive: Operator
) -> None:
    other = await factories.nonprofit(service)
    made = await factories.donation(service, api)
    groundless = ("donations", "reassign", made["id"], other)
    assert (await almoner(*groundless, "--note", "x"))[0] == 2  # the donor is to be told why
    words = (*groundless, "--reason", "merged")
    assert (await almoner(*words, "--note", "the nonprofit merged")) == (
        0,
        f"{made['id']} has been reassigned to {other}.\n",
    )
    assert (await gift(api, made))["organisationId"] == other
    async with service.db.read() as tx:
        stored = await tx.fetchrow("select ground, reason, reassigned_by from reassignment")
    assert stored is not None
    assert tuple(stored) == ("merged", "the nonprofit merged", olive.id)
    status, refused = await almoner(*words, "--note", "again")
    assert (status, refused) == (1, "the donation is this organisation's already\n")
    assert (await almoner(*words, "--note", " "))[0] == 1
    unknown = "0123456789abcdefghjkmnpqrs"
    donation, organisation = f"sandbox_donation_{unknown}", f"sandbox_organisation_{unknown}"
    _, refused = await almoner("donations", "reassign", donation, other, "--reason", "merged", "--note", "x")
    assert refused.startswith(f"there is no donation {donation}")
    _, refused = await almoner("donations", "reassign", made["id"], organisation, "--reason", "merged", "--note", "x")
    assert refused == f"there is no organisation {organisation}\n"
    _, refused = await almoner("disbursements", "confirm", f"sandbox_disbursement_{unknown}")
    assert refused == f"there is no disbursement sandbox_disbursement_{unknown}: see `almoner disbursements list`\n"
