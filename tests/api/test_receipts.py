"""Receipts: one for each paid gift, numbered without gaps by their issuer, frozen, brought by one mail (spec 4.8)."""

import asyncio
import io
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest
from pypdf import PdfReader

from almoner.adapters.mail_sandbox import SandboxMailbox
from almoner.giving.checkout.sessions.domain import Benefits
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.receipts import jobs as receipts_jobs
from almoner.giving.receipts import service as receipts
from almoner.giving.receipts import store as receipts_store
from almoner.giving.receipts.domain import Donee, DoneeError, Receipt
from almoner.kit.errors import NotFound
from almoner.kit.money import Money
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner
from almoner.platform.jobs.queue import Answer, JobDone, JobResultRecorded, JobRetry
from almoner.platform.outbound.mail import Mail, MailRefused, TransientMailFailure
from almoner.platform.pages.translations import TranslationCatalogues
from tests.support import emails, factories
from tests.support import payouts as support
from tests.support import refunds as back
from tests.support.client import Client, data
from tests.support.linkifier import find_links
from tests.support.service import Service, Tenant


async def paid(service: Service, api: Client, **gift: Any) -> UUID:
    """A donation that is paid and has no receipt yet."""
    record = await factories.donation(service, api, **gift)
    found = service.db.deployment.ids.decode("donation", record["id"])
    assert found is not None
    return found


async def issue(service: Service, partner: Partner, donation_id: UUID) -> Receipt:
    """As the job does."""
    async with service.db.write() as tx:
        receipt = await receipts.issue_receipt(tx, partner, donation_id, tx.now)
    assert receipt is not None
    return receipt


async def numbers(service: Service, partner: Partner) -> list[int]:
    """The numbers of a partner's receipts, in order."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select number from receipt where partner_id = $1 order by number", partner.id)
    return [row["number"] for row in rows]


async def test_64_at_once_are_numbered_1_to_64(service: Service, api: Client, tenant: Tenant) -> None:
    made = [await paid(service, api) for _ in range(64)]
    issued = await asyncio.gather(*(issue(service, tenant.partner, one) for one in made))
    assert sorted(receipt.number for receipt in issued) == list(range(1, 65))
    again = await asyncio.gather(*(issue(service, tenant.partner, one) for one in made))
    assert list(again) == list(issued)
    assert await numbers(service, tenant.partner) == list(range(1, 65))


async def test_16_at_once_for_one_gift_are_one_receipt(service: Service, api: Client, tenant: Tenant) -> None:
    donation_id = await paid(service, api)
    issued = await asyncio.gather(*(issue(service, tenant.partner, donation_id) for _ in range(16)))
    assert len(set(issued)) == 1
    assert await numbers(service, tenant.partner) == [1]


async def test_what_fails_takes_no_number(service: Service, api: Client, tenant: Tenant) -> None:
    first, second = await paid(service, api), await paid(service, api)

    async def issue_and_die() -> None:
        async with service.db.write() as tx:
            await receipts.issue_receipt(tx, tenant.partner, first, tx.now)
            raise RuntimeError("the process died")

    with pytest.raises(RuntimeError):
        await issue_and_die()
    assert (await issue(service, tenant.partner, second)).number == 1
    assert (await issue(service, tenant.partner, first)).number == 2


async def test_partners_count_for_themselves_and_see_their_own_gifts_alone(service: Service, api: Client) -> None:
    other = await service.tenant()
    theirs = service.client(other.secret)
    donation_id = await paid(service, theirs)
    with pytest.raises(NotFound):
        await issue(service, (await service.tenant()).partner, donation_id)
    assert (await issue(service, other.partner, donation_id)).number == 1
    await theirs.close()


async def test_the_database_refuses_gaps_repeats_and_changes(service: Service, api: Client, tenant: Tenant) -> None:
    first = await issue(service, tenant.partner, await paid(service, api))
    later = await paid(service, api)
    async with service.db.read() as tx:
        payment = await tx.fetchval("select payment_id from donation where id = $1", later)
    forged = replace(first, donation_id=later, payment_id=payment, number=2)
    for receipt, refusal in (
        (replace(forged, number=3), "receipt_without_gaps"),
        (replace(forged, number=1), "receipt_number"),
        (replace(forged, payment_id=first.payment_id), "receipt_payment_id"),
        (replace(forged, money=Money(2501, "USD")), "receipt_payment_id"),
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError, match=refusal):
            async with service.db.write() as tx:
                await receipts_store.insert(tx, tenant.partner, receipt)
    for change in ("update receipt set number = 7", "delete from receipt"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(change)


async def test_an_issuer_has_a_name_and_a_prefix_from_then_on(service: Service, api: Client, tenant: Tenant) -> None:
    first = await issue(service, tenant.partner, await paid(service, api))
    assert (first.issuer, first.display_number) == (tenant.name, "000001")
    async with service.db.write() as tx:
        await receipts.update_receipt_issuer(tx, tenant.partner, " Bright Bank Foundation ", "BB-26")
    second = await issue(service, tenant.partner, await paid(service, api))
    assert (second.issuer, second.display_number) == ("Bright Bank Foundation", "BB-26-000002")
    assert await issue(service, tenant.partner, first.donation_id) == first
    async with service.db.write() as tx:
        stored = await receipts.update_receipt_issuer(tx, tenant.partner, "", None)
    assert (stored.name, stored.prefix, stored.last_number) == (None, "BB-26", 2)
    for name, prefix in (("x" * 256, ""), (None, "a"), (None, "A-"), (None, "A" * 13), (None, "A B")):
        with pytest.raises(ValueError, match=r"characters|capital letters"):
            async with service.db.write() as tx:
                await receipts.update_receipt_issuer(tx, tenant.partner, name, prefix)


async def donee(service: Service, tenant: Tenant, **about: str) -> Donee:
    """Two operators set up who receives the partner's donations."""
    about = {"legal_name": "Bright Bank Foundation", "ein": "12-3456789", "address": "1 Main Street, Casper", **about}
    async with service.db.write() as tx:
        made = await receipts.propose_donee(tx, tenant.partner, **about, note="IRS letter", proposed_by="operator_a")
        return await receipts.approve_donee(tx, made, entered_ein=about["ein"], note="seen", approved_by="operator_b")


async def test_a_receipt_is_for_us_taxes_only_under_a_donee_of_two_operators(
    service: Service, api: Client, tenant: Tenant
) -> None:
    before = await issue(service, tenant.partner, await paid(service, api))
    async with service.db.write() as tx:
        proposed = await receipts.propose_donee(
            tx,
            tenant.partner,
            legal_name="Foundation",
            ein="123456789",
            address="1 Main St",
            note="n",
            proposed_by="operator_a",
        )
        for ein, operator_ in (("123456780", "operator_b"), ("123456789", "operator_a")):
            with pytest.raises(DoneeError):
                await receipts.approve_donee(tx, proposed, entered_ein=ein, note="n", approved_by=operator_)
        with pytest.raises(DoneeError, match="proposed already"):
            await receipts.propose_donee(
                tx, tenant.partner, legal_name="F", ein="123456789", address="1", note="n", proposed_by="operator_c"
            )
    assert (await issue(service, tenant.partner, await paid(service, api))).donee is None, "proposed by one alone"
    async with service.db.write() as tx:
        await receipts.end_or_withdraw_donee(tx, proposed, ended_by="operator_b")
    made = await donee(service, tenant)
    receipt = await issue(service, tenant.partner, await paid(service, api))
    assert receipt.donee == made
    renamed = await donee(service, tenant, legal_name="Bright Bank Fund")
    async with service.db.read() as tx:
        again = await receipts.get(tx, receipt.donation_id)
    assert again.donee is not None
    assert again.donee.legal_name == "Bright Bank Foundation", "as it was issued"
    later = await issue(service, tenant.partner, await paid(service, api))
    assert later.donee == renamed
    async with service.db.write() as tx:
        await receipts.end_or_withdraw_donee(tx, renamed, ended_by="operator_a")
    assert (await issue(service, tenant.partner, await paid(service, api))).donee is None
    assert await issue(service, tenant.partner, before.donation_id) == before


async def test_the_database_refuses_receipts_of_a_donee_that_two_have_not_set_up(
    service: Service, api: Client, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        proposed = await receipts.propose_donee(
            tx,
            tenant.partner,
            legal_name="Foundation",
            ein="123456789",
            address="1 Main St",
            note="n",
            proposed_by="operator_a",
        )
    first = await issue(service, tenant.partner, await paid(service, api))
    later = await paid(service, api)
    async with service.db.read() as tx:
        payment = await tx.fetchval("select payment_id from donation where id = $1", later)
    forged = replace(first, donation_id=later, payment_id=payment, number=2, donee=proposed)
    with pytest.raises(asyncpg.CheckViolationError, match="not approved"):
        async with service.db.write() as tx:
            await receipts_store.insert(tx, tenant.partner, forged)
    for change, refusal in (
        ("update receipt_donee set approved_by = proposed_by, approved_note = 'n', approved_at = now()", "separation"),
        ("update receipt_donee set approved_by = 'operator_b'", "approved"),
        ("update receipt_donee set ein = '000000000'", "permission"),
        ("delete from receipt_donee", "permission"),
    ):  # of this donee alone: others of the shared database may be approved already
        with pytest.raises(asyncpg.PostgresError, match=refusal):
            async with service.db.write() as tx:
                await tx.execute(f"{change} where id = $1", proposed.id)


async def test_what_a_donor_receives_in_return_is_on_the_session_and_the_receipt(
    service: Service, api: Client, tenant: Tenant
) -> None:
    given = {"description": "Dinner for two", "fairValue": 4000}
    session = await factories.session(service, api, currency="USD", benefits=given)
    assert session["benefits"] == given
    assert data(await api.get(f"/v1/donation-sessions/{session['id']}"))["benefits"] == given
    donation_id = await paid(service, api, id=session["id"])
    await donee(service, tenant)
    receipt = await issue(service, tenant.partner, donation_id)
    assert receipt.benefits == Benefits("Dinner for two", 4000)
    nonprofit = await factories.nonprofit(service)
    for wrong, reason in (
        ({"benefits": given}, "body.currency is required with body.benefits"),
        ({"currency": "USD", "benefits": {"description": "Dinner"}}, "body.benefits.fairValue"),
        ({"currency": "USD", "benefits": {**given, "fairValue": 0}}, "body.benefits.fairValue"),
        ({"currency": "USD", "benefits": {**given, "value": 1}}, "body.benefits.value"),
    ):
        refused = await api.post("/v1/donation-sessions", {"organisationId": nonprofit, **wrong})
        assert refused.status_code == 400
        assert reason in refused.text


async def test_a_receipt_stays_as_it_was_when_the_nonprofit_is_renamed(
    service: Service, api: Client, tenant: Tenant
) -> None:
    organisation = await factories.nonprofit(service, name="Old Name Trust")
    donation_id = await paid(service, api, organisation=organisation)
    first = await issue(service, tenant.partner, donation_id)
    async with service.db.write() as tx:
        await tx.execute("update organisation set name = 'New Name' where name = 'Old Name Trust'")
    assert await issue(service, tenant.partner, donation_id) == first
    assert first.organisation == "Old Name Trust"


async def test_a_gift_that_is_not_paid_gets_none(service: Service, api: Client, tenant: Tenant) -> None:
    opened = await factories.session(service, api)
    gift = {"amount": 2500, "currencyCode": "USD", "firstName": "A", "lastName": "B", "email": "a@example.org"}
    await api.post("/v1/sandbox/simulate", {"id": opened["id"], "action": "donate", "card": "4000000000000002", **gift})
    [unpaid] = data(await api.get("/v1/donations"))
    donation_id = service.db.deployment.ids.decode("donation", unpaid["id"])
    assert donation_id is not None
    async with service.db.write() as tx:
        assert await receipts.issue_receipt(tx, tenant.partner, donation_id, tx.now) is None
    assert await numbers(service, tenant.partner) == []


class Postman:
    """Carries mails, or fails as it is told."""

    def __init__(self, *failures: Exception | None) -> None:
        self.failures = list(failures)
        self.mails: list[Mail] = []

    async def send(self, mail: Mail) -> None:
        """Carry one."""
        failure = self.failures.pop(0) if self.failures else None
        if failure is not None:
            raise failure
        self.mails.append(mail)


async def send(service: Service, postman: Any, partner: Partner, donation_id: UUID, attempt: int = 1) -> Answer:
    """The job, run once."""
    now = service.clock.now()
    payload = {"partner": str(partner.id), "id": str(donation_id), "received": iso_timestamp(now)}
    return await emails.send(service.db, receipts_jobs.RECEIPT, postman, payload, now, attempt)


async def test_a_crash_between_number_and_mail_sends_the_same_receipt(
    service: Service, api: Client, tenant: Tenant
) -> None:
    donation_id = await paid(service, api)
    issued = await issue(service, tenant.partner, donation_id)
    postman = Postman(None, TransientMailFailure("later"))
    assert await send(service, postman, tenant.partner, donation_id) == JobResultRecorded(JobDone())
    assert isinstance(await send(service, postman, tenant.partner, donation_id), JobRetry)
    assert await send(service, postman, tenant.partner, donation_id, attempt=2) == JobResultRecorded(JobDone())
    first, second = postman.mails
    assert first == second
    assert issued.display_number in first.text
    assert await numbers(service, tenant.partner) == [1]


async def test_a_refused_mail_has_its_number_all_the_same(service: Service, api: Client, tenant: Tenant) -> None:
    donation_id = await paid(service, api)
    refused = await send(service, Postman(MailRefused("no such address")), tenant.partner, donation_id)
    assert refused == JobResultRecorded(JobDone())
    assert await numbers(service, tenant.partner) == [1]


async def test_h11_a_donor_named_like_an_address_makes_no_link(service: Service, api: Client, tenant: Tenant) -> None:
    named = {"firstName": "http://evil.example/login click here", "lastName": "evil.example"}
    donation_id = await paid(service, api, email="victim@example.org", **named)
    mailbox = SandboxMailbox(service.db, "Sandbox <sandbox@example.org>")
    assert await send(service, mailbox, tenant.partner, donation_id) == JobResultRecorded(JobDone())
    [mail] = data(await api.get("/v1/sandbox/mailbox", to="victim@example.org"))
    [link] = mail["links"]
    assert link.startswith(f"{service.db.deployment.base_urls.pages}/gift?token=")
    assert find_links(mail["subject"] + " " + mail["text"].replace(link, "")) == []
    assert "http://evil.example/login click here" in mail["text"].replace("\u2060", "")


async def test_the_job_twice_is_one_mail_in_the_mailbox_with_the_receipt(
    service: Service, api: Client, tenant: Tenant, anonymous: Client
) -> None:
    donation_id = await paid(service, api, email="twice@example.org", anonymous="yes")
    await service.drain()
    mailbox = SandboxMailbox(service.db, "Sandbox <sandbox@example.org>")
    assert await send(service, mailbox, tenant.partner, donation_id) == JobResultRecorded(JobDone())
    [mail] = data(await api.get("/v1/sandbox/mailbox", to="twice@example.org"))
    [file] = mail["attachments"]
    assert (file["name"], file["mediaType"]) == ("receipt-000001.pdf", "application/pdf")
    downloaded = await anonymous.get(file["url"])
    assert downloaded.headers["Content-Type"] == "application/pdf"
    assert downloaded.headers["Cache-Control"] == "no-store"
    assert downloaded.content.startswith(b"%PDF-1.7")
    assert len(downloaded.content) == file["size"]
    wrong = file["url"].replace("receipt-000001", "receipt-000002")
    for url in (wrong, file["url"][:-4] + "AAAA", file["url"].partition("?")[0]):
        assert (await anonymous.get(url)).status_code == 404
    assert any("/gift?token=" in link for link in mail["links"])


@pytest.mark.parametrize(("minor", "said"), [(2500, "receipt.void"), (1000, "Donation amount after refund: $15.00")])
async def test_a_receipt_that_is_sent_late_says_what_has_gone_back(
    service: Service, api: Client, anonymous: Client, minor: int, said: str
) -> None:
    words = TranslationCatalogues().language("en")
    email = f"{uuid4().hex}@example.org"
    made = await factories.donation(service, api, email=email)
    await back.by_hand(service, (await back.begun(service, made, minor)).id, factories.unique("tpr"))
    await service.drain()
    [mail] = [one for one in data(await api.get("/v1/sandbox/mailbox", to=email)) if one["attachments"]]
    void = minor == 2500
    pdf = PdfReader(io.BytesIO((await anonymous.get(mail["attachments"][0]["url"])).content))
    for shown in (mail["text"], mail["html"], " ".join(page.extract_text() for page in pdf.pages)):
        assert (words.text("receipt.void") in " ".join(shown.split())) == void
        assert ("It is not a tax receipt" in " ".join(shown.split())) == (not void)
        assert ("Corrected receipt" in shown) == (not void)
    assert (words.text(said) if void else said) in mail["text"]


async def test_a_receipt_says_whom_a_gift_is_for_that_was_passed_on(
    service: Service, api: Client, anonymous: Client
) -> None:
    first = await factories.nonprofit(service, name="Firm Ground")
    second = await factories.nonprofit(service, name="Second Spring")
    email = f"{uuid4().hex}@example.org"
    made = await factories.donation(service, api, organisation=first, email=email)
    await support.simulate(api, made["id"], "reassign", organisationId=second)  # before the receipt is issued
    await service.drain()
    [mail] = [one for one in data(await api.get("/v1/sandbox/mailbox", to=email)) if one["attachments"]]
    assert mail["subject"].endswith(" to Second Spring")
    pdf = PdfReader(io.BytesIO((await anonymous.get(mail["attachments"][0]["url"])).content))
    for shown in (mail["text"], " ".join(page.extract_text() for page in pdf.pages)):
        assert "was reassigned from Firm Ground to Second Spring on " in " ".join(shown.split())
    await support.simulate(api, made["id"], "reassign", organisationId=first)  # back again
    async with service.db.read() as tx:
        receipt = await receipts.get(tx, support.uuid_of(service, "donation", made["id"]))
    assert (receipt.current_nonprofit_name, receipt.passed_on) == ("Firm Ground", None)


class TestFollowing:
    """Where a gift is, as the private page is told; through the doors that life uses."""

    async def test_a_gift_is_followed_to_its_end_and_back(self, service: Service, api: Client, tenant: Tenant) -> None:
        nonprofit = await factories.nonprofit(service)
        donation_id = await paid(service, api, organisation=nonprofit)
        received = service.clock.now()
        await service.drain()
        assert await followed(service, donation_id) == (1, "gift.next.settled", False)
        named = service.db.deployment.ids.encode("donation", donation_id)
        service.clock.advance(days=2)
        await support.simulate(api, named, "settle")
        assert await followed(service, donation_id) == (2, "gift.wait.verification", False)
        await support.verified(service, api, nonprofit)
        await support.simulate(api, named, "disburse")
        assert await followed(service, donation_id) == (3, None, False)
        [payout] = await support.payouts(api)
        service.clock.advance(days=1)
        async with service.db.write() as tx:
            await disbursements.mark_returned(
                tx, support.uuid_of(service, "disbursement", payout["id"]), "closed", recorded_by="x"
            )
        assert await followed(service, donation_id) == (2, "gift.wait.held", True)
        await support.release(service, nonprofit)
        assert await followed(service, donation_id) == (2, "gift.next.sent", True)
        await support.simulate(api, named, "disburse")
        assert await followed(service, donation_id) == (3, None, False)
        async with service.db.read() as tx:
            now = await receipts.load_status_page_content(tx, donation_id, DisbursementRules())
        assert [step.at and (step.at - received).days for step in now.steps] == [0, 2, 3]

    async def test_a_gift_that_is_passed_on_names_both(self, service: Service, api: Client, tenant: Tenant) -> None:
        first, second = [await factories.nonprofit(service, name=name) for name in ("First Fund", "Second Fund")]
        donation_id = await paid(service, api, organisation=first)
        await service.drain()
        named = service.db.deployment.ids.encode("donation", donation_id)
        await support.simulate(api, named, "reassign", organisationId=second)
        async with service.db.read() as tx:
            now = await receipts.load_status_page_content(tx, donation_id, DisbursementRules())
        assert (now.receipt.organisation, now.nonprofit.name) == ("First Fund", "Second Fund")
        assert now.nonprofit.number != now.receipt.register_number
        assert now.donation.reassigned_at is not None

    async def test_without_a_receipt_there_is_nothing_to_follow(self, service: Service, api: Client) -> None:
        donation_id = await paid(service, api)
        async with service.db.read() as tx:
            with pytest.raises(NotFound):
                await receipts.load_status_page_content(tx, donation_id, DisbursementRules())


async def followed(service: Service, donation_id: UUID) -> tuple[int, str | None, bool]:
    """How many stages were reached, what is waited for, whether a payout came back."""
    async with service.db.read() as tx:
        now = await receipts.load_status_page_content(tx, donation_id, DisbursementRules())
    return sum(step.at is not None for step in now.steps), now.waiting_message_key, now.returned_at is not None
