"""Every form of the console is submitted by a test that looks for its audit entry: a new one has to get its place.

The forms that no other file of tests submits are submitted here.
"""

import re
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Final
from uuid import UUID

import pytest

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.banking.bank_statements import service as bank_statements
from tests.support import bank, camt, factories, refunds, transfers, watchlists
from tests.support import giving as support
from tests.support.browsing import Browser
from tests.support.claims import cause
from tests.support.client import Client
from tests.support.console import act, closed, console_routes, words
from tests.support.database import TestDatabase
from tests.support.operators import operator, signed_in
from tests.support.payouts import settled, simulate, uuid_of, verified
from tests.support.reports import imported, report
from tests.support.service import Service, Tenant, serving
from tests.support.suspense import held_for
from tests.support.validation import UNHEARD_OF, decided

HOME = "/operator"
TESTS: Final = Path(__file__).parents[1]
MONEY, MONTH, PARTNERS = "api/test_console_money.py", "api/test_console_month_end.py", "api/test_console_partners.py"
HEALTH, REVIEWS, AUDIT = "api/test_console_health.py", "api/test_console_reviews.py", "api/test_console_audit.py"
NONPROFITS, HERE = "api/test_console_organisations.py", "api/test_console_forms.py"
VERIFICATIONS, MERGES = "api/test_console_verifications.py", "api/test_console_merges.py"
REQUESTS, DONEES = "api/test_console_requests.py", "api/test_console_donees.py"
DONATIONS = "api/test_console_donations.py"
UPLOADS = "worker/test_import_uploads.py"
REGISTERS, LISTS = "worker/test_register_release.py", "worker/test_watchlist_refresh.py"
FORMS: Final[Mapping[str, tuple[str, str]]] = {
    "/activities/apply": ("api/test_activities_of_bodies.py", "activities.apply_started"),
    "/audit-chains/{scope}/prove": (AUDIT, "audit.proof_started"),
    "/bank-statement-lines/{id}/dismiss": (MONEY, "bank_statement_line.dismissed"),
    "/bank-statement-lines/{id}/match": (HERE, "bank_statement_line.assigned"),
    "/bank-statement-lines/{id}/reopen": (HERE, "bank_statement_line.reopened"),
    "/bank-statements/upload": (MONEY, "bank_statement.uploaded"),
    "/bank-statements/uploads/{id}": (MONEY, "bank_statement.discarded"),
    "/bank-statements/{id}/explain": (HERE, "bank_statement.explained"),
    "/disbursements/holds/{organisation}/{whose}/release": (MONTH, "disbursements.released"),
    "/disbursements/reassign": (DONATIONS, "donation.reassigned"),
    "/disbursements/run": (MONTH, "disbursements.run"),
    "/disbursements/{id}/confirm": (MONTH, "disbursement.confirmed"),
    "/disbursements/{id}/hold": (MONTH, "disbursements.held"),
    "/disbursements/{id}/mark-returned": (HERE, "disbursement.returned"),
    "/disbursements/{id}/remittance": (HERE, "disbursement.remittance_created"),
    "/disputes/{id}/evidence/clear": (MONEY, "dispute.evidence_changed"),
    "/disputes/{id}/evidence/edit": (MONEY, "dispute.evidence_changed"),
    "/disputes/{id}/evidence/remove": (MONEY, "dispute.evidence_file_removed"),
    "/disputes/{id}/evidence/submit": (MONEY, "dispute.evidence_submitted"),
    "/disputes/{id}/evidence/upload": (MONEY, "dispute.evidence_file_added"),
    "/disputes/{id}/mark-lost": (MONEY, "dispute.lost"),
    "/disputes/{id}/mark-won": (HERE, "dispute.won"),
    "/disputes/{id}/refresh": (HERE, "dispute.refreshed"),
    "/donation-requests/overpayments/{id}/apply": (REQUESTS, "donation_request.overpayment_applied"),
    "/donation-requests/overpayments/{id}/return": (REQUESTS, "donation_request.overpayment_returned"),
    "/donation-requests/run": (REQUESTS, "donation_requests.run"),
    "/donation-requests/{id}/record-payment": (REQUESTS, "donation_request.payment_received"),
    "/gift-aid-claims/cancel-declaration": (DONATIONS, "gift_aid.cancelled"),
    "/gift-aid-claims/draft": (MONEY, "gift_aid_claim.drafted"),
    "/gift-aid-claims/{id}/mark-paid": (MONEY, "gift_aid_claim.paid"),
    "/gift-aid-claims/{id}/mark-rejected": (HERE, "gift_aid_claim.rejected"),
    "/gift-aid-claims/{id}/mark-submitted": (MONEY, "gift_aid_claim.submitted"),
    "/gift-aid-claims/{id}/schedule": (MONEY, "gift_aid_claim.downloaded"),
    "/gift-aid-claims/{id}/withdraw": (HERE, "gift_aid_claim.withdrawn"),
    "/health/emails/{id}/resend": (HEALTH, "email.resent"),
    "/health/findings/run": (HEALTH, "selfcheck.started"),
    "/health/incidents/new": (HEALTH, "incident.reported"),
    "/health/incidents/{id}/resolve": (HEALTH, "incident.resolved"),
    "/health/incidents/{id}/update": (HEALTH, "incident.updated"),
    "/health/jobs/retry": (HEALTH, "job.kind_retried"),
    "/health/jobs/{id}/drop": (HEALTH, "job.dropped"),
    "/health/jobs/{id}/retry": (HEALTH, "job.retried"),
    "/health/periodic/{name}/run": (HEALTH, "periodic_job.run_requested"),
    "/ledger/export": (MONTH, "ledger.exported"),
    "/organisations/{id}/brand": (NONPROFITS, "organisation.branded"),
    "/organisations/{id}/brand/clear": (NONPROFITS, "organisation.branded"),
    "/organisations/{id}/giving-links/allow": (NONPROFITS, "giving_link.allowed"),
    "/organisations/{id}/giving-links/refuse": (NONPROFITS, "giving_link.refused"),
    "/organisations/{id}/logo": (NONPROFITS, "organisation.branded"),
    "/organisations/{id}/contact": (NONPROFITS, "organisation.contact_recorded"),
    "/organisations/{id}/publish": (NONPROFITS, "organisation.published"),
    "/organisations/{id}/merge/{other}": (MERGES, "organisation.merged"),
    "/organisations/{id}/separate/{other}": (MERGES, "organisation.separated"),
    "/partners/new": (PARTNERS, "partner.added"),
    "/partners/{id}/brand": (PARTNERS, "partner.branded"),
    "/partners/{id}/brand/clear": (PARTNERS, "partner.branded"),
    "/partners/{id}/keys/new": (PARTNERS, "key.created"),
    "/partners/{id}/keys/{key}/revoke": (PARTNERS, "key.revoked"),
    "/partners/{id}/keys/{key}/rotate": (PARTNERS, "key.rotated"),
    "/partners/{id}/links": (PARTNERS, "partner.links_set"),
    "/partners/{id}/pause": (PARTNERS, "partner.paused"),
    "/partners/{id}/resume": (PARTNERS, "partner.resumed"),
    "/partners/{id}/logo": (PARTNERS, "partner.branded"),
    "/partners/{id}/groups/{group}/role": (PARTNERS, "group.mapped"),
    "/partners/{id}/sso/remove": (PARTNERS, "provider.removed"),
    "/partners/{id}/members/{member}/details": (PARTNERS, "member.changed"),
    "/partners/{id}/members/{member}/remove": (PARTNERS, "member.removed"),
    "/partners/{id}/members/{member}/unlink": (PARTNERS, "identity.unbound"),
    "/partners/{id}/members/invite": (PARTNERS, "member.invited"),
    "/partners/{id}/members/{member}/activate": (PARTNERS, "member.activated"),
    "/partners/{id}/members/{member}/deactivate": (PARTNERS, "member.deactivated"),
    "/partners/{id}/members/{member}/resend": (HERE, "member.invited_again"),
    "/partners/{id}/members/{member}/reset": (PARTNERS, "second_factor.reset"),
    "/partners/{id}/members/{member}/roles": (PARTNERS, "member.roles_changed"),
    "/partners/{id}/rate-limits": (PARTNERS, "partner.rate_limit_set"),
    "/partners/{id}/receipt-issuer": (PARTNERS, "partner.receipt_issuer_changed"),
    "/partners/{id}/scim": (PARTNERS, "partner.scim_set"),
    "/partners/{id}/settings": (PARTNERS, "partner.giving_set"),
    "/partners/{id}/view": (PARTNERS, "partner.viewed"),
    "/partners/{id}/view/end": (PARTNERS, "partner.view_ended"),
    "/payee-accounts/propose": (MONTH, "payee_bank_account.proposed"),
    "/payee-accounts/{id}/approve": (MONTH, "payee_bank_account.approved"),
    "/payee-accounts/{id}/reject": (MONTH, "payee_bank_account.rejected"),
    "/payment-files/bank-answer": (MONTH, "payment_file.answered"),
    "/payment-files/new": (MONTH, "payment_file.created"),
    "/payment-files/{id}/download": (MONTH, "payment_file.downloaded"),
    "/payment-files/{id}/release": (MONTH, "payment_file.released"),
    "/payment-files/{id}/withdraw": (MONTH, "payment_file.withdrawn"),
    "/receipt-donees/propose": (DONEES, "receipt_donee.proposed"),
    "/receipt-donees/{id}/approve": (DONEES, "receipt_donee.approved"),
    "/receipt-donees/{id}/end": (DONEES, "receipt_donee.ended"),
    "/refunds/new": (MONEY, "refund.created"),
    "/refunds/{id}/mark-failed": (MONEY, "refund.marked_failed"),
    "/refunds/{id}/mark-sent": (MONEY, "refund.marked_sent"),
    "/refunds/{id}/resolve": (HERE, "refund.resolved"),
    "/refunds/{id}/retry": (HERE, "refund.retried"),
    "/register-imports/upload": (UPLOADS, "register.uploaded"),
    "/register-imports/{id}/refuse": (REGISTERS, "register.refused"),
    "/register-imports/{id}/release": (REGISTERS, "register.released"),
    "/registers/{source}/refresh": (REGISTERS, "register.refresh_started"),
    "/reviews/flags/{id}/clear": (VERIFICATIONS, "verification.flag_reviewed"),
    "/reviews/next": (HERE, "review.viewed"),
    "/reviews/second-looks/{id}/answer": (REVIEWS, "review.second_look"),
    "/reviews/verifications/{id}/approve": (VERIFICATIONS, "verification.approved"),
    "/reviews/verifications/{id}/reject": (VERIFICATIONS, "verification.rejected"),
    "/reviews/verifications/{id}/request-confirmation": (VERIFICATIONS, "verification.confirmation_requested"),
    "/reviews/verifications/{id}/reopen": (VERIFICATIONS, "verification.reopened"),
    "/reviews/{id}": (REVIEWS, "review.extended"),
    "/reviews/{id}/accept": (REVIEWS, "review.accepted"),
    "/reviews/{id}/conflict": (REVIEWS, "review.conflict_declared"),
    "/reviews/{id}/hand-over": (REVIEWS, "review.handed_over"),
    "/reviews/{id}/note": (REVIEWS, "review.note_added"),
    "/reviews/{id}/reject": (REVIEWS, "review.rejected"),
    "/reviews/{id}/request": ("api/test_console_review_requests.py", "review.evidence_requested"),
    "/reviews/{id}/reopen": (HERE, "review.reopened"),
    "/sessions/{id}/end": (AUDIT, "sign_in.revoked"),
    "/settlements/import": (MONEY, "settlement.imported"),
    "/settlements/provider-payouts/{provider}/{reference:path}/explain": (HERE, "settlement.explained"),
    "/settlements/unmatched/{id}/dismiss": (MONEY, "settlement_line.dismissed"),
    "/unallocated-payments/{id}/apply": (HERE, "unallocated_payment.applied"),
    "/unallocated-payments/{id}/record-refund": (HERE, "unallocated_payment.refunded"),
    "/unallocated-payments/{id}/refund": (MONEY, "unallocated_payment.refunded"),
    "/unallocated-payments/{id}/write-off": (MONEY, "unallocated_payment.written_off"),
    "/watch-lists/search": (HERE, "watchlist.searched"),
    "/watch-lists/upload": (UPLOADS, "watchlist.uploaded"),
    "/watch-lists/{code}/refresh": (LISTS, "watchlist.refresh_started"),
    "/watch-lists/{code}/retire": (LISTS, "watchlist.retired"),
}
"""Which file of tests submits a form, and the audit entry that it looks for."""


async def test_v8_every_form_of_the_console_is_submitted_by_a_test(service: Service) -> None:
    forms = {route.path.removeprefix(HOME) for route in console_routes(service) if "POST" in (route.methods or ())}
    assert forms == set(FORMS), "give a new form its test and its place"
    for path, (file, action) in FORMS.items():
        text = (TESTS / file).read_text()
        text = text.partition("FORMS: Final")[0] + text.partition('"""Which file of tests')[2]
        assert f'"{action}"' in text, f"{file} looks for no entry {action} of {path}"
        last = path.rpartition("/")[2]
        if not last.startswith("{"):
            assert re.search(rf'[/"]{last}\b', text), f"{file} does not submit {path}"


class Doing:
    """Submits forms that must leave their entry."""

    def __init__(self, service: Service, browser: Browser) -> None:
        self.service = service
        self.browser = browser

    async def entries(self, action: str) -> int:
        """How many there are."""
        async with self.service.db.read() as tx:
            return int(await tx.fetchval("select count(*) from audit_entry where action = $1", action))

    async def does(self, action: str, path: str, **typed: str) -> str:
        """Submit the form of an act; the page that it leads to."""
        before = await self.entries(action)
        led = await act(self.browser, HOME + path, **typed)
        assert await self.entries(action) == before + 1, (path, action)
        return led


@pytest.fixture
async def olive(service: Service) -> AsyncIterator[Doing]:
    """A finance operator."""
    browser = await signed_in(service, await operator(service, "finance"))
    yield Doing(service, browser)
    await browser.close()


@pytest.fixture
async def ada(service: Service) -> AsyncIterator[Doing]:
    """An administrator."""
    browser = await signed_in(service, await operator(service, "administrator"))
    yield Doing(service, browser)
    await browser.close()


@pytest.fixture
async def rita(service: Service) -> AsyncIterator[Doing]:
    """A reviewer."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    yield Doing(service, browser)
    await browser.close()


async def paid_out(service: Service, api: Client, gross: float) -> str:
    """The reference of a report of a provider, of which no statement knows."""
    await factories.donation(service, api)
    reference = factories.unique("po")
    line = ("payment", factories.unique("tp"), gross, 0.0)
    await imported(service, report(line, currency="CHF", reference=reference), provider="test")
    return reference


async def test_what_is_missing_is_explained(service: Service, api: Client, olive: Doing) -> None:
    account, ids = factories.unique("A").replace(" ", ""), service.db.deployment.ids
    for opening, day in ((0, "2026-03-02"), (500, "2026-03-03")):
        of = f"<Othr><Id>{account}</Id></Othr>"
        await bank.stated(
            service, camt.statement(opening=opening, account=of, day=day, reference=f"{account}{day}", currency="CHF")
        )
    async with service.db.read() as tx:
        gap = ids.encode(
            "bankstatement", await tx.fetchval("select id from bank_statement_gap where account = $1", account)
        )
    await olive.does("bank_statement.explained", f"/bank-statements/{gap}/explain", note="the bank changed systems")
    assert (await olive.browser.get(f"{HOME}/bank-statements/{gap}/explain")).status_code == 404
    reference = await paid_out(service, api, 9.0)
    explain = f"/settlements/provider-payouts/test/{reference}/explain"
    await olive.does("settlement.explained", explain, note="paid in the next report")
    assert (await olive.browser.get(HOME + explain)).status_code == 404


async def test_a_line_is_matched_to_a_provider_payout(service: Service, api: Client, olive: Doing) -> None:
    reference, name = await paid_out(service, api, 47.12), factories.unique("C")
    await bank.stated(
        service, camt.statement(camt.entry(name, 4712, words=name, currency="CHF"), reference=name, currency="CHF")
    )
    page = (await olive.browser.open(f"{HOME}/bank-statement-lines?status=open&amount=47.12")).text
    [line] = set(re.findall(r"/bank-statement-lines/sandbox_bankline_\w+", page))
    shown = (await olive.browser.open(HOME + line)).text
    assert re.search(rf'provider_payout&amp;record=test/{reference}" data-key="\d"', shown), "a key opens it"
    await olive.does(
        "bank_statement_line.assigned", f"{line}/match", kind="provider_payout", record=f"test/{reference}"
    )
    lists = [f"{HOME}/settlements/provider-payouts.csv", f"{HOME}/bank-statement-lines.csv?status=open&amount=47.12"]
    payouts, open_lines = [(await olive.browser.get(path)).text for path in lists]
    assert (reference in payouts, name in open_lines) == (False, False)
    await olive.does("bank_statement_line.reopened", f"{line}/reopen", note="it was the other one")
    payouts, open_lines = [(await olive.browser.get(path)).text for path in lists]
    assert (reference in payouts, name in open_lines) == (True, True), "both wait again"
    async with service.db.write() as tx:
        line_id = uuid_of(service, "bankline", line.rpartition("/")[2])
        assert not await bank_statements.match_unreconciled_line(tx, line_id), "no rule repeats what a person undid"
    await olive.does("bank_statement_line.dismissed", f"{line}/dismiss", note="not ours")
    await olive.does("bank_statement_line.reopened", f"{line}/reopen", note="it is ours")
    assert "This line is open" in await closed(olive.browser, f"{HOME}{line}/reopen")


async def test_a_disbursement_comes_back_and_has_its_statement(service: Service, api: Client, olive: Doing) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    await bank.sent(service)
    async with service.db.read() as tx:
        own = "select disbursement_id from donation where id = $1"
        found = await tx.fetchval(own, uuid_of(service, "donation", made["id"]))
    path = f"/disbursements/{service.db.deployment.ids.encode('disbursement', found)}"
    before = await olive.entries("disbursement.remittance_created")
    await olive.browser.get(f"{HOME}{path}/remittance")
    assert (await olive.browser.post(f"{HOME}{path}/remittance", {})).content.startswith(b"%PDF")
    assert await olive.entries("disbursement.remittance_created") == before + 1
    await olive.does("disbursement.returned", f"{path}/mark-returned", reason="account closed")
    assert "The disbursement is recorded as returned." in words(olive.browser)


async def test_a_dispute_is_looked_up_and_won(service: Service, api: Client, olive: Doing) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    await simulate(api, made["id"], "dispute")
    async with service.db.read() as tx:
        found = await tx.fetchval(
            "select id from dispute where donation_id = $1", tx.ids.decode("donation", made["id"])
        )
    path = f"/disputes/{service.db.deployment.ids.encode('dispute', found)}"
    await olive.does("dispute.refreshed", f"{path}/refresh")
    await olive.does("dispute.won", f"{path}/mark-won", note="their letter")
    assert "Dispute recorded as won." in words(olive.browser)


async def test_a_claim_is_withdrawn_and_one_is_rejected(service: Service, api: Client, olive: Doing) -> None:
    charity = await cause(service, api)
    await charity.gift(1000)
    ids = service.db.deployment.ids
    first = ids.encode("giftaidclaim", (await charity.drafted()).id)
    await olive.does("gift_aid_claim.withdrawn", f"/gift-aid-claims/{first}/withdraw", note="a typing error")
    second = ids.encode("giftaidclaim", (await charity.submitted()).id)
    await olive.does("gift_aid_claim.rejected", f"/gift-aid-claims/{second}/mark-rejected", note="their letter")


async def test_a_refund_is_asked_for_again_and_a_failed_one_handled(
    service: Service, api: Client, olive: Doing
) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    ids = service.db.deployment.ids
    pending = ids.encode("refund", (await refunds.begun(service, made, 100)).id)
    await olive.does("refund.retried", f"/refunds/{pending}/retry")
    other = await settled(service, api, await factories.nonprofit(service))
    sent = (await refunds.begun(service, other, 100)).id
    await refunds.by_hand(service, sent, factories.unique("tpr"))
    async with service.db.write() as tx:
        await tx.execute("insert into refund_failure values ($1, 'closed', $2)", sent, tx.now)
    await olive.does("refund.resolved", f"/refunds/{ids.encode('refund', sent)}/resolve", note="they gave it again")


async def test_an_unallocated_payment_is_applied_and_its_refund_recorded(
    service: Service, api: Client, olive: Doing
) -> None:
    ids, called = service.db.deployment.ids, factories.unique("wire")
    held = ids.encode("heldpayment", (await held_for(await support.open_session(service, api), "other_reference")).id)
    await olive.does(
        "unallocated_payment.refunded",
        f"/unallocated-payments/{held}/record-refund",
        reference=called,
        note="sent by bank",
    )
    giving = await support.open_session(service, api)
    await transfers.begun(giving)
    named, name = await transfers.reference(giving), factories.unique("F")
    await transfers.stated(giving, transfers.came(name, 2400, named), reference=name)
    async with service.db.write() as tx:
        [short] = await suspense.lock_by_reference(tx, named)
    path = f"/unallocated-payments/{ids.encode('heldpayment', short.id)}/apply"
    await olive.does("unallocated_payment.applied", path, note="they meant it")


async def test_an_invitation_is_sent_again(service: Service, tenant: Tenant, ada: Doing) -> None:
    own = f"/partners/{service.db.deployment.ids.encode('partner', tenant.partner.id)}"
    await ada.does("member.invited", f"{own}/members/invite", email="bo@example.org", name="Bo", owner="yes")
    page = (await ada.browser.open(HOME + own)).text
    [resend] = re.findall(r'"/operator(/partners/[^"]+/resend)"', page)
    await ada.does("member.invited_again", resend)


async def test_the_next_case_is_taken(service: Service, api: Client, rita: Doing) -> None:
    await decided(service, api, **UNHEARD_OF)
    await rita.browser.get(f"{HOME}/reviews")
    wrong = await rita.browser.post(f"{HOME}/reviews/next", {"after": "x"})
    assert (wrong.status_code, "This page address is not valid" in words(rita.browser)) == (400, True)
    await rita.browser.get(f"{HOME}/reviews")
    before = await rita.entries("review.viewed")
    reviews_alone = {"after": f"9999-12-31T00:00:00+00:00~{UUID(int=0)}"}  # whichever flags other tests have left
    answer = await rita.browser.post(f"{HOME}/reviews/next", reviews_alone)
    assert answer.headers["location"].endswith("?done=claimed"), "of the oldest, whichever it is"
    assert await rita.entries("review.viewed") == before + 1


async def looked_up(browser: Browser, path: str, **typed: str) -> str:
    """What the page for looking up names answers."""
    await browser.get(path)
    answer = await browser.post(path, typed)
    assert answer.status_code == 200, words(browser)
    return words(browser)


async def test_lists_are_searched_for_names_as_screening_does_and_for_any_text(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    async with serving(empty_database) as own:
        await watchlists.Lists(own.db, tmp_path).load(
            watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA", programme="UKRAINE-EO13662"),
            watchlists.listing(36, "DEGTYAREVA, Zinaida", person=True),
            watchlists.listing(41, "HARAKAT FUND", remarks="Tax ID No. 745-95812 (Iran); Linked To: Rélief Ltd."),
        )
        unread = await watchlists.unread(own, "ᏣᎳᎩ")
        search = f"{HOME}/watch-lists/search"
        rita = Doing(own, await signed_in(own, await operator(own, "reviewer")))
        shown = await looked_up(rita.browser, search, name="Завод имени Дегтярёва", kind="organisation", country="")
        for part in ("Matches", "ZAVOD IMENI DEGTYAREVA", "UKRAINE-EO13662", "List ofac-sdn", "Same word", "Score"):
            assert part in shown, part
        shown = await looked_up(rita.browser, search, name="Zinaida Degtyareva", kind="organisation", country="")
        assert "No matches" in shown, "a person is no organisation"
        shown = await looked_up(rita.browser, search, name="Zinaida Degtyareva", kind="person", country="")
        assert ("DEGTYAREVA, Zinaida" in shown, "Matches" in shown) == (True, True)
        shown = await looked_up(rita.browser, search, name="Degtyareva", kind="person", country="")
        assert ("Found in the text of 2 entries" in shown, "Similar names" in shown) == (True, True)
        for text, places in (("745 958", "In a number, the note"), ("RELIEF ltd", "In the note")):
            shown = await looked_up(rita.browser, search, name=text, kind="person", country="")
            for part in (
                "HARAKAT FUND",
                places,
                "Tax ID No. 745-95812",
                "Found in the text of 1 entry",
                "What was searched",
            ):
                assert part in shown, (text, part)
        shown = await looked_up(rita.browser, search, name="99999", kind="organisation", country="")
        assert "no name, number or note contains the text" in shown
        assert "the text of the names, numbers and notes of all entries" in shown
        shown = await looked_up(rita.browser, search, name="Ꮳ", kind="organisation", country="")
        assert ("Numbers and notes were not searched" in shown, "HARAKAT" in shown) == (True, False)
        await rita.browser.post(search, {"name": "", "kind": "ship", "country": "Utopia"})
        for problem in (
            "Enter a name or number",
            "Choose an organisation or a person",
            "Enter a three-letter country code",
        ):
            assert problem in words(rita.browser), problem
        assert await rita.entries("watchlist.searched") == 8
        assert f"{search}?case={unread}" in (await rita.browser.open(f"{HOME}/reviews/{unread}")).text
        assert 'value="ᏣᎳᎩ"' in (await rita.browser.open(f"{search}?case={unread}")).text
        assert "cannot be compared" in await looked_up(
            rita.browser, f"{search}?case={unread}", name="ᏣᎳᎩ", kind="organisation", country=""
        )
        assert (await rita.browser.get(f"{search}?case=nobody")).status_code == 404
        async with own.db.read() as tx:
            cases = await tx.fetch("select details from audit_entry where action = 'watchlist.searched'")
        assert [row["details"].get("case") for row in cases].count(unread) == 1
        await rita.browser.close()


async def test_a_decision_is_reversed(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as own:
        await watchlists.Lists(own.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
        match = f"/reviews/{await watchlists.matched(own, 'Zavod imeni Degtyareva')}"
        rita = Doing(own, await signed_in(own, await operator(own, "reviewer")))
        await rita.browser.get(HOME + match)
        await rita.browser.post(HOME + match, do="claim")
        await rita.browser.open(f"{HOME}{match}/accept")
        for part in (
            "no payments to it depend on this match",
            "without a second person. A reviewer can reverse the decision",
        ):
            assert part in words(rita.browser), part
        await rita.does("review.accepted", f"{match}/accept", note="another person of this name")
        await rita.browser.open(HOME + match)
        assert f'href="{HOME}{match}/reopen"' in rita.browser.page.text, "the case page leads there"  # type: ignore[union-attr]
        await rita.does("review.reopened", f"{match}/reopen", note="it is them")
        await rita.browser.close()
