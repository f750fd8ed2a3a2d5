"""The review queue in the console."""

import re
from collections.abc import AsyncIterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image

from almoner.console import review_cases
from almoner.console.review_words import (
    evaluation_step_facts,
    format_fact_value,
    rejection_reason_text,
    review_reasons_text,
)
from almoner.kit.evidence import EvaluationStep
from almoner.kit.time import iso_timestamp
from almoner.review_cases import REVIEW_HANDLERS
from almoner.validation.decisions.reviews import service as reviews
from almoner.validation.decisions.reviews.domain import ReviewDecision, ReviewFilters
from tests.support import appeals, hostile_pdfs, submissions
from tests.support.browsing import Browser
from tests.support.client import Client
from tests.support.hostile_files import picture
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service, Tenant
from tests.support.validation import UNHEARD_OF, decided


@pytest.fixture
async def reviewer(service: Service) -> AsyncIterator[Browser]:
    """A reviewer's browser."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    yield browser
    await browser.close()


async def test_the_desk_and_the_queue_show_what_waits(service: Service, reviewer: Browser) -> None:
    for path in ("/operator/desk", "/operator/reviews", "/operator/reviews?kind=appeal&holder=mine"):
        assert (await reviewer.get(path)).status_code == 200, path
    assert (await reviewer.get("/operator/reviews?kind=none&partner=x")).status_code == 422
    assert (await reviewer.get("/operator/reviews?cursor=x")).status_code == 422
    assert (await reviewer.get("/operator/reviews.csv")).text.startswith("\ufeffCase,About,Kind")


def test_every_shortcut_of_a_case_is_listed_and_leads_somewhere() -> None:
    folder = Path(review_cases.__file__).parent / "templates"
    text = "".join((folder / name).read_text("utf-8") for name in ("review_case.html", "review_parts.html"))
    led = re.findall(r'(?:key="|act\("[^"]*", (?:"[^"]*"|\w+), ")(\w)"', text)
    assert sorted(led) == sorted(key for key, _ in review_cases.KEYS)


@pytest.fixture
async def case(service: Service, api: Client) -> str:
    """The address of a validation request that waits for a person."""
    made = await decided(service, api, **UNHEARD_OF, name="Аid for Rivers")  # the first letter is Cyrillic
    return f"/operator/reviews/{made['id']}"


async def audited(service: Service, case: str) -> list[str]:
    """What the audit log has of a case."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select action from audit_entry where subject = $1 and action like 'review.%' order by position",
            case.rpartition("/")[2],
        )
    return [row[0] for row in rows]


async def test_a_case_is_claimed_and_decided(service: Service, reviewer: Browser, case: str) -> None:
    page = (await reviewer.get(case)).text
    assert "U+0410 “А” cyrillic capital letter a" in page, "look-alike letters are named"
    assert "<mark>А</mark>id for Rivers" in page, "and marked"  # Cyrillic
    assert "checks passed or not applicable</summary>" in page
    assert "Claim this case" in page
    for decision in ("accept", "reject"):
        closed = (await reviewer.get(f"{case}/{decision}")).text
        assert "Claim this case and review its evidence" in closed
        assert re.search(
            rf'action="{case}">.*name="do" value="claim".*Claim this case for 15 minutes', closed, re.DOTALL
        )
    answer = await reviewer.post(f"{case}/reject", reason="other", note="Seen")
    assert answer.status_code == 409
    assert "Claim this case and review its evidence" in answer.text
    await reviewer.get(case)
    assert (await reviewer.post(case, do="claim")).headers["location"] == f"{case}?done=claimed"
    assert "You have claimed this case until" in (await reviewer.get(case)).text
    assert (await reviewer.post(case, do="prolong")).headers["location"] == f"{case}?done=prolonged"
    await reviewer.get(f"{case}/reject")
    rejecting = (await reviewer.get(f"{case}/reject")).text
    assert "Not eligible: the organisation is not of a kind that can be accepted" in rejecting
    assert "Show the email" not in rejecting, "no email is sent"
    assert (await reviewer.post(f"{case}/reject", reason="mood", note="")).status_code == 422
    done = await reviewer.post(f"{case}/reject", reason="not_eligible", note="Its register struck it off")
    assert done.headers["location"] == f"{case}?done=rejected"
    assert (await reviewer.post(f"{case}/reject", reason="not_eligible", note="Again")).status_code == 409
    decided = (await reviewer.get(f"{case}?done=rejected")).text
    for shown in ("Your decision has been recorded.", "Review next case", "Not eligible", "Its register struck it off"):
        assert shown in decided, shown
    kept = [one for one in await audited(service, case) if one != "review.viewed"]
    assert kept == ["review.extended", "review.rejected"]


async def test_who_holds_a_case_hands_it_over(service: Service, reviewer: Browser, case: str) -> None:
    second = await operator(service, "reviewer")
    other = await signed_in(service, second)
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    await other.get(case)
    assert (await other.post(case, do="claim")).headers["location"] == f"{case}?done=busy"
    await reviewer.get(f"{case}/hand-over")
    to = service.db.deployment.ids.encode("operator", second.id)
    assert (await reviewer.post(f"{case}/hand-over", to=to)).status_code == 303
    assert (await reviewer.post(case, do="prolong")).headers["location"] == f"{case}?done=busy"
    assert "has handed it over to you" in (await other.get(case)).text
    await other.get(f"{case}/accept")
    assert (await other.post(f"{case}/accept", note="Unseen")).status_code == 409, "it is looked at first"
    await other.get(case)
    await other.post(case, do="claim")
    await other.get(f"{case}/accept")
    assert (await other.post(f"{case}/accept", note="Seen in the register")).status_code == 303
    assert {"review.handed_over", "review.accepted"} <= set(await audited(service, case))
    await other.close()


async def test_whoever_has_a_conflict_of_interest_never_decides(
    service: Service, tenant: Tenant, reviewer: Browser, case: str
) -> None:
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    await reviewer.get(f"{case}/conflict")
    assert (await reviewer.post(f"{case}/conflict", reason="My sister chairs it")).status_code == 303
    await reviewer.get(f"{case}/note")
    assert (await reviewer.post(f"{case}/note", text="Ask for the minutes")).status_code == 303
    page = (await reviewer.get(case)).text
    assert "Ask for the minutes" in page
    assert "My sister chairs it" in page
    assert {"review.conflict_declared", "review.note_added"} <= set(await audited(service, case))
    await reviewer.post(case, do="claim")
    assert "You have claimed this case until" not in (await reviewer.get(case)).text
    await reviewer.get(f"{case}/accept")
    answer = await reviewer.post(f"{case}/accept", note="Seen")
    assert (answer.status_code, "conflict of interest" in answer.text) == (409, True)
    async with service.db.write() as tx:
        by = await tx.fetchval("select declared_by from review_conflict where partner_id = $1", tenant.partner.id)
        mine = ReviewFilters(partner_id=tenant.partner.id)
        assert await reviews.claim_next_review(tx, mine, by, REVIEW_HANDLERS) is None, (
            "it is offered to nobody with a conflict"
        )


async def test_the_applicants_email_is_shown_before_it_is_sent(
    service: Service, api: Client, reviewer: Browser
) -> None:
    configuration = await submissions.configured(api, "validation_request")
    made = await submissions.applied(api, configurationId=configuration, language="de", **UNHEARD_OF)
    await service.drain()
    case = f"/operator/reviews/{made['validationRequestId']}"
    await reviewer.get(case)
    await reviewer.post(case, do="claim")
    accepting = (await reviewer.get(f"{case}/accept")).text
    recipient = f"We send an email to {submissions.ADA['email']} in German."
    for part in (
        *("Ihr Antrag wurde angenommen", recipient, "A new organisation is created from the details in the request."),
        *("Continues with the next check after this decision: 1 application.", "without a second person"),
    ):
        assert part in accepting, part
    asked = (await reviewer.get(f"{case}/reject")).text
    for part in (
        "Show the email",
        recipient,
        "Also rejected: 1 application.",
        "Only an appeal can reverse the decision.",
    ):
        assert part in asked, part
    assert "nicht angenommen" not in asked
    shown = (await reviewer.post(f"{case}/reject", preview="yes", reason="not_eligible", note="No purpose")).text
    assert 'lang="de"' in shown
    assert "nimmt Organisationen dieser Art nicht an" in shown
    assert "?token=" not in shown, "its link is for the applicant alone"
    assert "No purpose" in shown, "what was typed stays"
    assert (await submissions.shown(api, made))["status"] == "pending"
    async with service.db.read() as tx:
        sent = """
            select count(*) from job
            where kind = 'applications.notify' and payload ->> 'kind' = 'failed' and payload ->> 'submission' = $1
        """
        assert await tx.fetchval(sent, str(tx.ids.decode("validationsubmission", made["id"]))) == 0
    assert (await reviewer.post(f"{case}/reject", reason="not_eligible", note="No purpose")).status_code == 303
    await service.drain()
    assert (await submissions.shown(api, made))["status"] == "failed"


async def test_an_appeal_is_due_when_it_was_promised(service: Service, api: Client, reviewer: Browser) -> None:
    failed = await submissions.ended(service, api, await submissions.applied(api, organisationName="test_reject_other"))
    appeal = await appeals.made(api, failed)
    async with service.db.read() as tx:
        due = await tx.fetchval(
            "select due_at from review where subject_id = $1", tx.ids.decode("appeal", appeal["id"])
        )
    assert iso_timestamp(due) == appeal["dueAt"]
    assert "rejectionReasonCode" not in (await reviewer.get(f"/operator/reviews/{appeal['id']}")).text
    assert appeal["id"] not in (await reviewer.get("/operator/reviews.csv?kind=appeal&due=within+a+day")).text
    assert appeal["id"] in (await reviewer.get("/operator/reviews.csv?kind=appeal")).text
    assert (await reviewer.get("/operator/reviews?due=soon")).status_code == 422


async def test_an_appeal_shows_the_appealed_decision_in_words(service: Service, api: Client, reviewer: Browser) -> None:
    failed = await submissions.ended(service, api, await submissions.applied(api, organisationName="test_reject_other"))
    appeal = await appeals.made(api, failed)
    await reviewer.get(f"/operator/reviews/{appeal['id']}")
    await reviewer.post(f"/operator/reviews/{appeal['id']}", do="claim")
    rejecting = (await reviewer.get(f"/operator/reviews/{appeal['id']}/reject")).text
    assert "The email does not name the reason that you choose." in rejecting
    page = (await reviewer.get(f"/operator/reviews/{appeal['id']}")).text
    details = dict(re.findall("<dt>(.*?)</dt><dd><bdi>(.*?)</bdi></dd>", page[page.index('id="facts"') :]))
    assert details["Decision on validation request"] == "rejected"
    assert details["Decision on validation request: reason"] == "other"
    decided_at = details["Decision on validation request: decided at"]
    assert re.fullmatch(rf"{service.clock.now():%B %-d, %Y}, \d+:\d\d\s[AP]M UTC", decided_at), decided_at
    assert details["Decision on validation request: note"] == "A test value in name asked for it."


async def test_the_queue_is_filtered(service: Service, reviewer: Browser, case: str, tenant: Tenant) -> None:
    name, partner = case.rpartition("/")[2], service.db.deployment.ids.encode("partner", tenant.partner.id)
    page = (await reviewer.get(f"/operator/reviews?kind=validation_request&partner={partner}")).text
    assert ">Watchlist match<" in page, "kinds have the words of their views"
    assert tenant.name in page
    for found in ("country=GBR&script=MIXED", "reason=register_not_loaded", "kind=validation_request"):
        assert name in (await reviewer.get(f"/operator/reviews.csv?{found}")).text, found
    for found in ("country=FRA", "script=LATIN&country=GBR", "due=overdue", "holder=mine", "kind=appeal"):
        assert name not in (await reviewer.get(f"/operator/reviews.csv?{found}")).text, found


async def test_a_second_look_is_blind_and_changes_nothing(
    service: Service, api: Client, reviewer: Browser, case: str
) -> None:
    every_case = replace(service.db.deployment, second_look_percent=100)
    name = case.rpartition("/")[2]
    await attach(service, api, name, pages=1)
    async with service.db.write() as tx:
        subject_id = tx.ids.decode("validationrequest", name)
        assert subject_id is not None
        case_handler = REVIEW_HANDLERS["validation_request"]
        await reviews.claim_for_review(tx, case_handler, subject_id, "operator_first")
        tx._deployment = every_case
        await reviews.decide_review(
            tx, case_handler, subject_id, ReviewDecision("rejected", "other", "operator_first", "A secret note")
        )
        look = await tx.fetchval("select review_id from review_second_look where subject_id = $1", subject_id)
    page = f"/operator/reviews/second-looks/{look}"
    assert str(look) in (await reviewer.get("/operator/reviews/second-looks")).text
    shown = (await reviewer.get(page)).text
    assert "Аid for Rivers" in shown
    assert "A secret note" not in shown
    document = re.search(rf"{page}/documents/(\w+)\.image", shown)
    assert document is not None, "what the first one saw"
    viewer = (await reviewer.get(f"{page}/documents/{document[1]}")).text
    assert (f'href="{page}"' in viewer, name in viewer) == (True, False), "no link to the decided case"
    assert (await reviewer.get(f"{page}/documents/{document[1]}.image")).headers["content-type"] == "image/jpeg"
    await reviewer.get(f"{page}/answer")
    assert (await reviewer.post(f"{page}/answer", verdict="rejected", reason="", note="Seen")).status_code == 422
    assert (await reviewer.post(f"{page}/answer", verdict="accepted", reason="", note="Seen")).status_code == 303
    for given in (page, f"{page}/documents/{document[1]}", f"{page}/documents/{document[1]}.image"):
        assert (await reviewer.get(given)).status_code == 404, "it is given once"
    assert "review.second_look" in await audited(service, case)
    async with service.db.read() as tx:
        assert await tx.fetchval("select status from validation_request where id = $1", subject_id) == "rejected"
    assert (await reviewer.get("/operator/reviews/figures")).status_code == 403
    lead = await signed_in(service, await operator(service, "administrator"))
    assert "not enough second looks" in (await lead.get("/operator/reviews/figures")).text
    await lead.close()


async def test_a_picture_is_shown_as_the_confined_process_made_it(
    service: Service, api: Client, reviewer: Browser, case: str
) -> None:
    name = case.rpartition("/")[2]
    sent = {"file": ("a.jpg", picture(size=(1200, 600)), "image/jpeg")}
    answer = await api.request("POST", f"/v1/validation-requests/{name}/document", files=sent)
    assert answer.status_code < 300, answer.text
    await service.drain()
    found = re.search(rf"{case}/documents/(\w+)\.image", (await reviewer.get(case)).text)
    assert found is not None
    page = f"{case}/documents/{found[1]}"
    assert ".image?zoom=3&amp;turn=90&amp;page=1" in (await reviewer.get(f"{page}?zoom=3&turn=90")).text
    assert Image.open(BytesIO((await reviewer.get(f"{page}.image?zoom=1&turn=90")).content)).size == (450, 900)
    assert (await reviewer.get(f"{page}?page=2")).status_code == 404
    shown = await reviewer.get(f"{page}.image?zoom=1")
    assert (shown.status_code, shown.headers["content-type"]) == (200, "image/jpeg")
    assert Image.open(BytesIO(shown.content)).size == (900, 450)
    assert (await reviewer.get(f"{page}?zoom=9")).status_code == 404


async def attach(service: Service, api: Client, name: str, pages: int) -> None:
    """Add a PDF to a request, and let it be scanned."""
    sent = {"file": ("Statutes.pdf", hostile_pdfs.plain(pages), "application/pdf")}
    answer = await api.request("POST", f"/v1/validation-requests/{name}/document", files=sent)
    assert answer.status_code < 300, answer.text
    await service.drain()


async def test_a_pdf_is_shown_page_by_page_and_never_inline(
    service: Service, api: Client, reviewer: Browser, case: str
) -> None:
    await attach(service, api, case.rpartition("/")[2], pages=2)
    shown = (await reviewer.get(case)).text
    found = re.search(rf"{case}/documents/(\w+)\.image", shown)
    assert found is not None, "its first page is beside the case"
    page = f"{case}/documents/{found[1]}"
    first = (await reviewer.get(page)).text
    assert "Statutes.pdf" in first
    assert "Page 1 of 2" in first
    assert f'href="{page}?zoom=fit&amp;turn=0&amp;page=2"' in first
    assert 'class="page-image whole"' in first, "as wide as its frame"
    for zoom, other in (("2", first), ("fit", (await reviewer.get(f"{page}?zoom=2")).text)):
        assert f'href="{page}?zoom={zoom}&amp;turn=0&amp;page=1"' in other
    for zoom in ("2", "3"):
        assert 'class="page-image whole magnified"' in (await reviewer.get(f"{page}?zoom={zoom}")).text
    assert "&amp;page=0" not in first
    last = (await reviewer.get(f"{page}?page=2&zoom=1")).text
    assert "Page 2 of 2" in last
    assert f'href="{page}?zoom=1&amp;turn=0&amp;page=1"' in last
    assert "&amp;page=3" not in last
    for number in (1, 2):
        image = await reviewer.get(f"{page}.image?page={number}&zoom=1")
        assert (image.status_code, image.headers["content-type"]) == (200, "image/jpeg")
        assert Image.open(BytesIO(image.content)).height == 900
    for wrong in (".image?page=3", ".image?page=0", ".image?page=-1", ".image?page=²", ".image?page=99999"):
        assert (await reviewer.get(page + wrong)).status_code == 404, wrong
    assert "cannot be shown" in (await reviewer.get(f"{page}?page=3")).text
    async with service.db.read() as tx:
        kept = await tx.fetch(
            "select details->>'page' from audit_entry where action = 'review.document_viewed' "
            "and subject = $1 order by position",
            found[1],
        )
    assert [row[0] for row in kept] == ["1", "2", "3", "0"], "also what was asked for in vain"


@pytest.mark.parametrize(
    ("value", "shown"),
    {
        "pending_review": "Pending review",
        "2026-11-28T04:00:00+00:00": "2026-11-28",
        "Rivers_of hope": "Rivers_of hope",
        "a_b@example.org": "a_b@example.org",
        "adverseMedia": "Adverse media",
    }.items(),
)
def test_facts_are_shown_in_words(value: str, shown: str) -> None:
    assert format_fact_value(value, lambda at: f"{at:%Y-%m-%d}") == shown


def test_several_reasons_are_sentences() -> None:
    texts = review_reasons_text(["free_mail_domain", "other_domain", "not_deductible"])
    assert texts == "Free mail domain. Other domain. Donations to the organisation are not tax-deductible."


def test_parts_of_a_score_are_shown_in_words() -> None:
    parts = [["same", 1.0, "rivers", "rivers"], ["asked_only", 0.0, "hope", ""]]
    step = EvaluationStep("name", "pass", facts={"parts": parts, "reason": "script_not_supported", "listed": None})
    assert evaluation_step_facts(step, str) == [
        ("parts", "Same word +1.00: rivers, rivers; Only in the entered name +0.00: hope"),
        ("reason", "Script not supported"),
    ]


async def test_why_a_document_was_rejected_is_said(service: Service, api: Client, reviewer: Browser, case: str) -> None:
    name = case.rpartition("/")[2]
    sent = {"file": ("test_infected.png", picture("PNG"), "image/png")}
    assert "This case has no documents." in (await reviewer.get(case)).text
    await api.request("POST", f"/v1/validation-requests/{name}/document", files=sent)
    await service.drain()
    shown = (await reviewer.get(case)).text
    assert "This case has no documents." not in shown
    assert "Type image/png, uploaded <time" in shown
    assert "The virus scanner found Sandbox.Test.Value. The content was deleted" in shown
    async with service.db.read() as tx:
        view = await reviews.load_review_details(
            tx, REVIEW_HANDLERS["validation_request"], uuid_of(service, "validationrequest", name)
        )
    unreadable = {
        "Heuristics.Encrypted.PDF": "protected by a password",
        "Heuristics.Limits.Exceeded.MaxFiles": "too complex to be scanned",
        "the stored file is missing or damaged": "could not be read: the stored file is missing",
    }
    for threat, because in unreadable.items():
        assert because in rejection_reason_text(replace(view.documents[0], scan_status="unreadable", threat=threat))


async def test_what_a_pdf_can_do_is_said_beside_it(service: Service, api: Client, reviewer: Browser, case: str) -> None:
    name = case.rpartition("/")[2]
    content = hostile_pdfs.pdf(catalogue=b"/OpenAction << /S /JavaScript /JS (1) >>")
    sent = {"file": ("a.pdf", content, "application/pdf")}
    await api.request("POST", f"/v1/validation-requests/{name}/document", files=sent)
    await service.drain()
    shown = (await reviewer.get(case)).text
    assert "The file contains scripts." in shown
    found = re.search(rf"{case}/documents/(\w+)\.image", shown)
    assert found is not None
    assert "The file contains scripts." in (await reviewer.get(f"{case}/documents/{found[1]}")).text
