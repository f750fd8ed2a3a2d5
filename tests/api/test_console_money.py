"""The exceptions of finance's work, each met once on the pages, with the audit entry that its command writes."""

import re
from collections.abc import AsyncIterator
from io import BytesIO
from random import Random
from typing import Any

import pikepdf
import pytest
from PIL import Image

from almoner.access.operators import service as operators
from almoner.access.people.domain import Person
from almoner.console.money_gift_aid import build_excluded_donations_table
from almoner.giving.accounting.dispute_evidence import service as dispute_evidence
from almoner.giving.accounting.dispute_evidence.domain import MAX_TEXT
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import bank, camt, clamd, factories, hostile_pdfs, transfers
from tests.support import giving as support
from tests.support.browsing import Browser
from tests.support.claims import cause
from tests.support.client import Client
from tests.support.console import act, closed, console_routes, listed, refused, upload, words
from tests.support.database import TestDatabase
from tests.support.hostile_files import HONEST, JPEG, PDF, PNG
from tests.support.operators import operator, signed_in
from tests.support.payouts import gift, settled, simulate, uuid_of
from tests.support.refunds import begun
from tests.support.reports import imported, report
from tests.support.service import Service, serving
from tests.support.suspense import held_for
from tests.support.terminal import BY

HOME = "/operator"


@pytest.fixture
async def person(service: Service) -> Person:
    """A finance operator."""
    return await operator(service, "finance")


@pytest.fixture
async def olive(service: Service, person: Person) -> AsyncIterator[Browser]:
    """Their browser."""
    browser = await signed_in(service, person)
    yield browser
    await browser.close()


async def audited(service: Service, person: Person) -> list[str]:
    """What the audit log has of what the operator did once they were signed in, oldest first."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action from audit_entry where actor_id = $1 order by position", tx.ids.encode("operator", person.id)
        )
    actions = [row[0] for row in rows]
    return actions[actions.index("signed_in") + 1 :]


async def test_unallocated_payments_are_refunded_or_written_off(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    short, strange = [
        await held_for(await support.open_session(service, api), reason) for reason in ("other_reference", "short")
    ]
    ids = [service.db.deployment.ids.encode("heldpayment", one.id) for one in (short, strange)]
    for one in ids:
        assert await listed(olive, f"{HOME}/unallocated-payments?status=held", one)
    await act(olive, f"{HOME}/unallocated-payments/{ids[0]}/refund", note="they wrote")
    assert "Refund started." in words(olive)
    assert "Only a bank transfer" in await closed(olive, f"{HOME}/unallocated-payments/{ids[1]}/apply")
    await act(olive, f"{HOME}/unallocated-payments/{ids[1]}/write-off", note="another's")
    assert "is written off" in await closed(olive, f"{HOME}/unallocated-payments/{ids[1]}/refund")
    assert await audited(service, person) == ["unallocated_payment.refunded", "unallocated_payment.written_off"]


async def test_a_refund_by_bank_transfer_names_its_reference(service: Service, api: Client, olive: Browser) -> None:
    giving = await support.open_session(service, api)
    await transfers.begun(giving)
    named = await transfers.reference(giving)
    payer = factories.unique("Ada Example")
    came = camt.entry("B1", 2400, words=named, name=payer, currency="USD")
    await bank.stated(service, camt.statement(came, reference=factories.unique("S"), currency="USD"))
    async with service.db.write() as tx:
        [held] = await suspense.lock_by_reference(tx, named)
    path = f"{HOME}/unallocated-payments/{service.db.deployment.ids.encode('heldpayment', held.id)}"
    await olive.open(f"{HOME}/unallocated-payments?status=held&reason=short")
    for part in (payer, f"Reference: {named}"):
        assert part in words(olive), part
    await olive.open(f"{path}/refund")
    for part in (f"Payer {payer}", f"Message on the transfer {named}", "Amount of the donation $25.00"):
        assert part in words(olive), part
    assert f"Enter {held.provider_payment_id} as the reference of your transfer" in words(olive)


async def test_a_provider_payout_is_not_the_payer_of_a_card_payment(
    service: Service, api: Client, olive: Browser
) -> None:
    giving = await support.open_session(service, api)
    held = await held_for(giving, "short")
    reference, payer = factories.unique("po"), factories.unique("Provider Payouts")
    report_ = await imported(service, report(("payment", held.provider_payment_id, 24.99, 0.5), reference=reference))
    assert report_.matched_count == 1
    name = factories.unique("B")
    came = camt.entry(name, 2449, words="Payout of the week", name=payer, currency="USD")  # matched by hand alone
    await bank.stated(service, camt.statement(came, reference=factories.unique("S"), currency="USD"))
    async with service.db.write() as tx:
        line = await tx.fetchval("select id from bank_statement_line where bank_reference = $1", name)
        await bank_statements.assign_line_to_provider_payout(tx, line, "fake", reference, assigned_by="officer")
    async with service.db.read() as tx:
        assert (await bank_statements.get_line_details(tx, line)).line.matched_as == "settlement"
        assert await bank_statements.find_unallocated_reason(tx, line) is None
    await olive.open(f"{HOME}/unallocated-payments/{service.db.deployment.ids.encode('heldpayment', held.id)}/refund")
    assert payer not in words(olive)


async def test_a_refund_is_begun_and_a_failed_one_is_handled(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    path = f"{HOME}/refunds/new"
    assert "No donation has this ID" in await refused(olive, path, donation="x", note="why")
    assert "such as 12.50" in await refused(olive, path, donation=made["id"], amount="many", note="asked")
    refund = await act(olive, path, donation=made["id"], amount="5.00", note="asked")
    assert "$5.00" in words(olive)
    twice = await refused(olive, path, donation=made["id"], amount="5.00", note="asked")
    assert "nothing was started again" in twice, "a form that was sent twice"
    await act(olive, f"{refund}/mark-failed", note="the provider does not")
    assert "only a failed" in (await closed(olive, f"{refund}/resolve")).lower(), "who ended it by hand knows"
    other = await settled(service, api, await factories.nonprofit(service))
    sent = service.db.deployment.ids.encode("refund", (await begun(service, other)).id)
    await act(olive, f"{HOME}/refunds/{sent}/mark-sent", reference=factories.unique("wire"), note="sent by bank")
    assert (await gift(api, other))["refundedAmount"] == 2500
    assert "This refund is sent" in await closed(olive, f"{HOME}/refunds/{sent}/mark-failed")
    assert await audited(service, person) == ["refund.created", "refund.marked_failed", "refund.marked_sent"]


async def test_a_dispute_ends_as_the_bank_decided(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    await simulate(api, made["id"], "dispute")
    await olive.open(f"{HOME}/disputes")
    assert ", newest first" in words(olive)
    await olive.open(f"{HOME}/disputes?status=open")
    assert ", oldest first" in words(olive)
    async with service.db.read() as tx:
        found = await tx.fetchval(
            "select id from dispute where donation_id = $1", tx.ids.decode("donation", made["id"])
        )
        dispute = tx.ids.encode("dispute", found)
    assert await listed(olive, f"{HOME}/disputes?status=open", dispute)
    assert "enter a value" in (await refused(olive, f"{HOME}/disputes/{dispute}/mark-lost", note="")).lower()
    await act(olive, f"{HOME}/disputes/{dispute}/mark-lost", note="their letter")
    assert (await gift(api, made))["disputeStatus"] == "lost"
    assert await audited(service, person) == ["dispute.lost"]


async def disputed(service: Service, api: Client) -> tuple[dict[str, Any], str]:
    """A disputed donation, and the path of its dispute."""
    made = await settled(service, api, await factories.nonprofit(service))
    await simulate(api, made["id"], "dispute")
    async with service.db.read() as tx:
        found = await tx.fetchval(
            "select id from dispute where donation_id = $1", tx.ids.decode("donation", made["id"])
        )
        return made, f"{HOME}/disputes/{tx.ids.encode('dispute', found)}"


async def test_evidence_is_collected_submitted_once_and_decides(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    made, path = await disputed(service, api)
    evidence = f"{path}/evidence"
    await olive.open(path)
    assert "Evidence due" in words(olive)
    await olive.get(f"{evidence}/submit")
    assert "There is no evidence yet" in await refused(olive, f"{evidence}/submit", version=version(olive))
    await olive.get(f"{evidence}/edit")
    first = version(olive)
    texts = {"product_description": "A donation", "explanation": "The donor thanked us: winning_evidence."}
    await act(olive, f"{evidence}/edit", version=first, **texts)
    assert "changed since you opened" in await refused(olive, f"{evidence}/edit", version=first, explanation="x")
    assert (
        await upload(olive, f"{evidence}/upload", "C:\\a\\b.pdf", HONEST[PDF], kind="receipt")
        == f"{path}?evidence=upload"
    )
    await upload(olive, f"{evidence}/upload", "mail.png", HONEST[PNG], kind="customer_communication")
    for content, kind, problem in (
        (HONEST[PDF], "receipt", "already a file of this kind"),
        (b"no picture", "other", "Use a PDF, JPEG, PNG or HEIC"),
        (hostile_pdfs.encrypted(pikepdf.Encryption(owner="o", user="u", R=6)), "other", "needs a password to open"),
        (hostile_pdfs.pdf(hostile_pdfs.stream(bytes(6 << 20))), "other", "The limit for a PDF is 5 MB"),
        (noise(), "other", "at most 4.5 MB in total"),
        (b"", "other", "Choose a file"),
        (HONEST[PDF], "", "Choose the type of the file"),
    ):
        assert problem in await refused_file(olive, f"{evidence}/upload", content, kind=kind)
    for place in (path, f"{evidence}/submit"):
        await olive.get(place)
        assert olive.page is not None
        assert "b.pdf" in words(olive)
        assert f'href="{evidence}/files/receipt"' in olive.page.text
    seen = version(olive)
    saved = await olive.get(f"{evidence}/files/receipt")
    assert (saved.content[:5], saved.headers["content-type"]) == (b"%PDF-", PDF)
    assert saved.headers["content-disposition"].endswith('-receipt.pdf"')
    assert (await olive.get(f"{evidence}/files/other")).status_code == 404
    await act(olive, f"{evidence}/remove", kind="customer_communication")
    assert "changed since you opened" in await refused(olive, f"{evidence}/submit", version=seen)
    await olive.get(f"{evidence}/submit")
    seen = version(olive)
    await act(olive, f"{evidence}/submit", version=seen)
    again = await olive.post(f"{evidence}/submit", {"version": seen})
    assert (again.status_code, "already been submitted" in words(olive)) == (409, True)
    for act_name in ("edit", "remove", "upload"):
        assert "already been submitted" in await closed(olive, f"{evidence}/{act_name}")
    await service.drain()
    await olive.open(path)
    assert "Evidence accepted by the provider" in words(olive)
    assert (await gift(api, made))["disputeStatus"] == "won"
    assert await audited(service, person) == [
        "dispute.evidence_changed",
        "dispute.evidence_file_added",
        "dispute.evidence_file_added",
        "dispute.evidence_file_downloaded",
        "dispute.evidence_file_removed",
        "dispute.evidence_submitted",
    ]


async def test_late_evidence_is_rejected_and_can_be_removed(service: Service, api: Client, olive: Browser) -> None:
    made, path = await disputed(service, api)
    photo = HONEST[JPEG] + bytes(5_000_000)  # which is stored smaller
    await upload(olive, f"{path}/evidence/upload", "photo.jpg", photo, kind="customer_communication")
    await olive.get(f"{path}/evidence/edit")
    longest = "手" * MAX_TEXT
    await act(olive, f"{path}/evidence/edit", version=version(olive), explanation=longest, product_description=longest)
    await olive.get(f"{path}/evidence/submit")
    await act(olive, f"{path}/evidence/submit", version=version(olive))
    await simulate(api, made["id"], "dispute", outcome="lost")
    await service.drain()
    await olive.open(path)
    assert "Evidence rejected" in words(olive)
    assert "This dispute is lost." in await closed(olive, f"{path}/evidence/submit")
    assert "This dispute is lost." in await closed(olive, f"{path}/evidence/edit")
    await act(olive, f"{path}/evidence/remove", kind="customer_communication")
    await olive.get(f"{path}/evidence/clear")
    await act(olive, f"{path}/evidence/clear", version=version(olive))
    async with service.db.read() as tx:
        evidence = await dispute_evidence.get(tx, uuid_of(service, "dispute", path.rpartition("/")[2]))
    assert evidence.is_empty
    await olive.open(path)
    assert "Remove file" not in words(olive)
    assert "Clear texts" not in words(olive)


def version(browser: Browser) -> str:
    """What the page's form says that its reader has seen."""
    assert browser.page is not None
    found = re.search(r'name="version" value="([0-9a-f]+)"', browser.page.text)
    assert found is not None
    return found[1]


def noise() -> bytes:
    """A picture of 4.8 MB that cannot be stored smaller."""
    made = BytesIO()
    Image.frombytes("L", (2200, 2200), Random(1).randbytes(2200 * 2200)).save(made, "PNG", compress_level=1)
    return made.getvalue()


async def test_evidence_is_scanned_for_malware_before_it_is_stored(empty_database: TestDatabase) -> None:
    infected = hostile_pdfs.pdf(hostile_pdfs.stream(clamd.EICAR))
    async with clamd.running() as scanner, serving(empty_database, scanner_url=scanner.url) as service:
        api = service.client((await service.tenant()).secret)
        _, path = await disputed(service, api)
        olive = await signed_in(service, await operator(service, "finance"))
        place = f"{path}/evidence/upload"
        assert "rejected the file: Eicar-Test-Signature" in await refused_file(olive, place, infected, kind="other")
        scanner.answer = b"stream: busy"
        assert "did not respond" in await refused_file(olive, place, HONEST[PDF], kind="other")
        scanner.answer = None
        assert await upload(olive, place, "b.pdf", HONEST[PDF], kind="other") == f"{path}?evidence=upload"
        assert scanner.seen == [infected, HONEST[PDF], HONEST[PDF]]
        await olive.close()
        await api.close()


async def refused_file(browser: Browser, path: str, content: bytes, **fields: str) -> str:
    """Why a file is not taken."""
    await browser.get(path)
    sent = {"data": {"csrf": browser.csrf, **fields}, "files": {"file": ("name.pdf", content)}}
    answer = await browser.request("POST", path, headers={"Sec-Fetch-Site": "same-origin"}, **sent)
    assert answer.status_code == 422, words(browser)
    return words(browser)


async def test_a_settlement_report_is_imported_and_a_line_dismissed(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    await factories.donation(service, api)
    payment = factories.unique("tp_nobody").replace(" ", "_")
    content = report(("payment", payment, 1.0, 0.0), reference=factories.unique("po"))
    form = (await olive.get(f"{HOME}/settlements/import")).text
    assert '<option value="test"' in form
    assert '<option value="bank_transfer"' not in form, "its lines come from statements"
    led = await upload(olive, f"{HOME}/settlements/import", "po.csv", content, provider="test")
    assert led.endswith("lines=1&booked=0&unmatched=1")
    assert f'href="{HOME}/settlements/unmatched">Unmatched lines' in (await olive.get(led)).text
    async with service.db.read() as tx:
        of = "where l.provider_payment = $1"
        joined = "settlement s join settlement_line l on l.settlement_id = s.id"
        stored = await tx.fetchrow(f"select s.fee_minor, s.net_minor from {joined} {of}", payment)
    assert tuple(stored or ()) == (0, 100), "the list need not add up the lines"
    assert await listed(olive, f"{HOME}/settlements/unmatched", payment)
    [dismiss] = re.findall(rf'href="([^"]+/dismiss)">[^/]*{payment}\b', olive.page.text)  # type: ignore[union-attr]
    await act(olive, dismiss, note="reported by mistake")
    assert "Settlement line dismissed." in words(olive)
    assert (await olive.get(dismiss)).status_code == 404
    assert await audited(service, person) == ["settlement.imported", "settlement_line.dismissed"]


async def test_gift_aid_is_drafted_exported_and_sent(
    service: Service, api: Client, olive: Browser, person: Person
) -> None:
    charity = await cause(service, api)
    await charity.gift(1000)
    wrong = await charity.unclaimable_gift(2000, first_name=None)
    service.clock.advance(seconds=1)
    path = f"{HOME}/gift-aid-claims/draft"
    assert "there is no organisation" in (await refused(olive, path, charity="x", year_end="04-05")).lower()
    claim = await act(olive, path, charity=charity.organisation, year_end="04-05")
    assert "All donations in this claim can still be claimed." in words(olive)
    assert "Donations left out because HMRC would reject them: 1." in words(olive)
    assert (
        f"Why HMRC would reject it …{wrong['id'][-8:]} The first name is missing, and needed to claim Gift Aid"
        in words(olive)
    )
    await olive.get(f"{claim}/schedule")
    assert "Ada" in (await olive.post(f"{claim}/schedule")).text
    await act(olive, f"{claim}/mark-submitted", reference="HMRC-1")
    assert "If HMRC paid a different amount, give the reason" in await closed(olive, f"{claim}/mark-paid")
    await act(olive, f"{claim}/mark-paid")
    assert await audited(service, person) == [
        "gift_aid_claim.drafted", "gift_aid_claim.downloaded", "gift_aid_claim.submitted", "gift_aid_claim.paid",
    ]  # fmt: skip


async def test_a_first_approval_to_release_other_holds_leaves_the_inbox(alone: Service) -> None:
    async with alone.db.write() as tx:
        await operators.set_two_person_approval(tx, BY, required=True)
    nonprofit = await factories.nonprofit(alone)
    first, second = [await signed_in(alone, await operator(alone, "finance")) for _ in range(2)]
    found = []
    for note in ("A letter of the bank", "Another letter"):
        async with alone.db.write() as tx:
            held = uuid_of(alone, "organisation", nonprofit)
            await disbursements.hold_disbursements(
                tx, ALL_PARTNERS, held, note=note, decided_by="rule", rules=DisbursementRules()
            )
        await second.open(f"{HOME}/money")
        found.append(f"Release {nonprofit}" in words(second))
        await act(first, f"{HOME}/disbursements/holds/{nonprofit}/all/release", note="Called them back")
        await second.open(f"{HOME}/money")
        found.append(f"Release {nonprofit}" in words(second))
    assert found == [False, True, False, True]
    await first.close()
    await second.close()


async def test_gift_aid_left_out_says_what_was_not_checked(service: Service, api: Client, olive: Browser) -> None:
    charity = await cause(service, api)
    for first_name in ("Ada", None, None):
        await charity.unclaimable_gift(2000, first_name=first_name)
    service.clock.advance(seconds=1)
    claim = await act(olive, f"{HOME}/gift-aid-claims/draft", charity=charity.organisation, year_end="04-05")
    assert "unclaimed donations of the charity were checked" not in words(olive)
    async with service.db.read() as tx:
        drafted = await gift_aid_claims.get(tx, uuid_of(service, "giftaidclaim", claim.rpartition("/")[2]))
        tables = [await build_excluded_donations_table(tx, drafted, limit) for limit in (2, 1, 0)]
    unchecked = "Only the oldest {} unclaimed donations of the charity were checked."
    assert [(len(one.rows), one.more) for one in tables] == [
        (2, ""),
        (1, unchecked.format(1)),
        (0, unchecked.format(0)),
    ]
    assert tables[-1].empty == f"None. {unchecked.format(0)}"


async def test_an_upload_that_is_no_statement_is_said_to_be_none(
    service: Service, olive: Browser, person: Person
) -> None:
    path = f"{HOME}/bank-statements/upload"
    await olive.get(path)
    assert (await olive.post(path, mapping="")).status_code == 422
    assert "Choose a file." in words(olive)
    preview = await upload(olive, path, "notes.txt", b"hello")
    await olive.open(preview)
    assert "This is not a bank statement" in words(olive)
    assert "Nothing in this file can be booked." in words(olive)
    await olive.post(preview, do="discard")
    assert (await olive.get(preview)).status_code == 404
    wrong = camt.statement(camt.entry("W1", 100), reference="off", off=5)
    await olive.open(await upload(olive, path, "off.xml", wrong))
    assert "lines are missing or duplicated" in words(olive)
    uploaded = "bank_statement.uploaded"
    assert await audited(service, person) == [uploaded, "bank_statement.discarded", uploaded]


async def test_a_preview_says_that_a_transfer_would_be_held(service: Service, api: Client, olive: Browser) -> None:
    giving = await support.open_session(service, api)
    await transfers.begun(giving)
    name = factories.unique("H").replace(" ", "")
    short = camt.statement(
        transfers.came(name, 2400, await transfers.reference(giving)), currency="USD", reference=name
    )
    await olive.open(await upload(olive, f"{HOME}/bank-statements/upload", "short.xml", short))
    assert "unallocated payment: short" in words(olive)
    assert "matched: Donation" not in words(olive)


async def test_a_long_statement_is_previewed_in_pages(service: Service, olive: Browser) -> None:
    name = factories.unique("L").replace(" ", "")
    lines = [camt.entry(f"{name}{number}", 1000 + number, words=f"{name} no. {number}") for number in range(1, 121)]
    preview = await upload(olive, f"{HOME}/bank-statements/upload", "long.xml", camt.statement(*lines, reference=name))
    shown = []
    for part in ("1 to 50", "51 to 100", "101 to 120"):
        await olive.open(preview)
        assert f"New lines {part} of 120." in words(olive)
        shown += [int(one) for one in re.findall(rf"{name} no\. (\d+)", words(olive))]
        assert olive.page is not None
        following = re.search(r'href="(\?cursor=\d+)" rel="next"', olive.page.text)
        preview = preview.partition("?")[0] + (following[1] if following else "")
    assert shown == list(range(1, 121))
    assert (await olive.get(f"{preview}?cursor=x")).status_code == 404
    await olive.open(f"{preview}?cursor=999999")
    assert f"{name} no." not in words(olive)
    assert "New lines 120" in words(olive)
    async with service.db.read() as tx:
        assert not await tx.fetchval("select count(*) from bank_statement where reference = $1", name)


async def test_a_line_is_matched_to_what_has_its_amount(service: Service, olive: Browser, person: Person) -> None:
    name = factories.unique("C")
    await bank.stated(service, camt.statement(camt.entry(name, 4711, words=name), reference=name))
    await olive.open(f"{HOME}/bank-statement-lines?status=open&amount=47.11")
    [line] = set(re.findall(r"/operator/bank-statement-lines/sandbox_bankline_\w+", olive.page.text))  # type: ignore[union-attr]
    assert (
        "there is no donation request"
        in (await refused(olive, f"{line}/match", kind="request", record="ALM-AAAAA-AAAAA")).lower()
    )
    linked = (await olive.get(f"{line}/match?kind=donation&record=sandbox_donation_1")).text
    assert '<option value="donation" selected' in linked
    assert 'value="sandbox_donation_1"' in linked, "a possible match fills in the form"
    assert 'value="x"' not in (await olive.get(f"{line}/dismiss?note=x")).text
    await act(olive, f"{line}/dismiss", note="a test of the bank")
    csv = await olive.get(f"{HOME}/bank-statement-lines.csv?amount=47.11")
    assert "47.11,EUR" in csv.text
    assert await audited(service, person) == ["bank_statement_line.dismissed"]


async def test_a_line_with_two_references_shows_the_donors(service: Service, api: Client, olive: Browser) -> None:
    named = []
    for last in ("Lovelace", "Byron"):
        giving = await support.open_session(service, api)
        await transfers.begun(giving, support.gift(last_name=last))
        named.append(await transfers.reference(giving))
    name = factories.unique("D").replace(" ", "")
    both = transfers.came(name, 5000, " ".join(named))
    await bank.stated(service, camt.statement(both, currency="USD", reference=name))
    async with service.db.read() as tx:
        line = await tx.fetchval("select id from bank_statement_line where bank_reference = $1", name)
    await olive.open(f"{HOME}/bank-statement-lines/{service.db.deployment.ids.encode('bankline', line)}")
    assert "Ada Lovelace" in words(olive)
    assert "Ada Byron" in words(olive)


async def test_every_list_opens_and_names_a_filter_that_is_none(service: Service, olive: Browser) -> None:
    lists = [
        route.path
        for route in console_routes(service)
        if "{" not in route.path and "console.lists" in route.endpoint.__module__ + str(route.endpoint.__qualname__)
    ]
    for path in ("/money", "/ledger", "/month-end", "/disbursements/run", "/payment-files/new", "/ledger/export"):
        assert (await olive.get(HOME + path)).status_code == 200, path
    for path in lists:
        assert (await olive.get(path)).status_code in (200, 403), path
    amounts = [f"/bank-statement-lines?amount={wrong}" for wrong in ("x", "snan", "1e999999")]
    for path in ("/refunds?status=x", "/disbursements?nonprofit=x", *amounts):
        assert (await olive.get(HOME + path)).status_code == 422, path
    assert (await olive.get(f"{HOME}/ledger/transfers?q=nothing")).status_code == 200
    assert "There are no transfers with this reference." in words(olive)
