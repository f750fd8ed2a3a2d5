"""The evidence of a review case as the console shows it: facts, findings of the rules, and reasons to reject."""

import html
import re
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest

from almoner.access.notifications.service import EmailPreview
from almoner.console.review_effects import describe_email_recipients
from almoner.console.review_parts import (
    facts_missing_from_comparison,
    romanise_fact_value,
    split_steps_to_review_and_passed,
)
from almoner.console.review_words import rejection_choices
from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.platform.outbound.mail import Mail
from almoner.screening.screenings.service import Screener
from almoner.validation.decisions.reviews.domain import ReviewEvidence, ValueComparison
from almoner.validation.ongoing.matches import service as matches
from tests.support import factories, watchlists
from tests.support.browsing import Browser
from tests.support.operators import operator, signed_in
from tests.support.payouts import uuid_of
from tests.support.service import Service

WITHOUT_TEXTS = "The language of the application is {0}. Almoner has no texts in {0}, so the email is in English."


def test_failed_steps_come_first_and_passed_ones_are_apart() -> None:
    verdicts: list[StepVerdict] = ["pass", "warn", "not_applicable", "unknown", "fail"]
    steps = [EvaluationStep(one, one) for one in verdicts]
    shown, passed = split_steps_to_review_and_passed("validation_request", steps)
    assert [one.name for one in shown] == ["fail", "warn", "unknown"]
    assert [one.name for one in passed] == ["pass", "not_applicable"]
    assert split_steps_to_review_and_passed("match", steps) == (steps, []), (
        "of a match, what speaks for it is read, too"
    )


def test_reasons_to_reject_say_what_they_mean() -> None:
    assert rejection_choices("agent_verification", ["fake_email_used", "other"])[0] == (
        "fake_email_used",
        "Fake email used: the email address is not the applicant's own",
    )
    assert rejection_choices("agent_verification", ["user_failed_percent_review"])[0][1] == (
        "Did not pass the review: the evidence does not show that the applicant may act for the nonprofit"
    )
    assert rejection_choices("validation_request", ["not_eligible"])[0][1].endswith("or is no longer registered")
    for _, words in rejection_choices("appeal", ["decision_stands", "no_new_evidence"]):
        assert ": the appeal has " in words
    assert rejection_choices("screening", ["sanction"]) == [("sanction", "Sanction")]


def test_only_submitted_values_that_the_comparison_shows_are_left_out() -> None:
    compared = [ValueComparison("Name", "Harakat Fund", ["Harakat Fund"]), ValueComparison("Countries", "IRN", [])]
    listed = ("listed name, weak alias", "Harakat Fund"), ("listed countries", "IRN")
    facts = [("name", "Harakat Fund"), ("countries", "IRN"), *listed]
    assert facts_missing_from_comparison(ReviewEvidence("", facts, value_comparisons=compared)) == [*listed]


def test_facts_of_an_appeal_are_those_of_one_check() -> None:
    own, of_nonprofit = ("agent verification: email", "ada@x.example"), ("validation request: email", "ada@x.example")
    compared = [ValueComparison("Agent verification: email address", "ada@x.example", [])]
    assert facts_missing_from_comparison(ReviewEvidence("", [own, of_nonprofit], value_comparisons=compared)) == [
        of_nonprofit
    ]
    assert romanise_fact_value("BGR", "validation request: name", "Иван") is not None


async def test_a_match_says_when_our_organisation_was_registered(alone: Service, tmp_path: Path) -> None:
    organisation = await factories.nonprofit(alone, name="Zavod Imeni Degtyareva")
    own = uuid_of(alone, "organisation", organisation)
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    async with alone.db.write() as tx:
        await tx.execute("update organisation set registration_date = '2011-05-04' where id = $1", own)
    who, asked = watchlists.body((await alone.tenant()).partner, own, "Zavod Imeni Degtyareva")
    screener = Screener()
    found = await screener.run_with_current_watchlists(
        alone.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    (match,) = found.newly_awaiting_review
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    page = (await browser.get(f"/operator/reviews/{alone.db.deployment.ids.encode('screeningmatch', match.id)}")).text
    assert "Registered on</dt><dd><bdi>2011-05-04" in page
    assert f'href="/operator/organisations/{organisation}"' in page
    assert "Same word" in page, "parts of the score have words"
    assert "For a match" in page
    assert 'class="status good"' not in page, "what speaks for a match is no check that passed"
    await browser.close()


async def test_a_name_to_look_up_is_shown_in_latin_letters(alone: Service, tmp_path: Path) -> None:
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    name = await watchlists.unread(alone, "ᏣᎳᎩ")
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    assert "Transliteration: <bdi>" in (await browser.get(f"/operator/reviews/{name}")).text
    await browser.close()


async def test_each_name_and_number_of_a_case_is_searched_at_a_click(alone: Service, tmp_path: Path) -> None:
    await watchlists.Lists(alone.db, tmp_path).load(
        watchlists.listing(41, "HARAKAT FUND", remarks="Tax ID No. 745-95812 (Iran).")
    )
    who, asked = watchlists.body((await alone.tenant()).partner, uuid4(), "ᏣᎳᎩ", identifiers=("745-95812",))
    screener = Screener()
    await screener.run_with_current_watchlists(
        alone.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    async with alone.db.read() as tx:
        subject = await tx.fetchval("select id from screening_subject where subject_id = $1", who.id)
    search = f"/operator/watch-lists/search?case={alone.db.deployment.ids.encode('screeningsubject', subject)}"
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    assert "Search for <bdi>745-95812</bdi>" in (await browser.get(search)).text
    found = await browser.post(search, name="745-95812", kind="organisation", country="")
    assert "HARAKAT FUND" in found.text
    await browser.close()


async def waiting_to_be_looked_up(service: Service, *numbers: str, name: str = "ᏣᎳᎩ") -> str:
    """The path of an open case about a name that cannot be compared."""
    who, asked = watchlists.body((await service.tenant()).partner, uuid4(), name, identifiers=numbers)
    screener = Screener()
    await screener.run_with_current_watchlists(
        service.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    async with service.db.write() as tx:
        await matches.request_manual_screening(tx, who)
        subject = await tx.fetchval("select id from screening_subject where subject_id = $1", who.id)
    return f"/operator/reviews/{service.db.deployment.ids.encode('screeningsubject', subject)}"


async def test_a_name_to_look_up_shows_the_entries_with_its_number(alone: Service, tmp_path: Path) -> None:
    await watchlists.Lists(alone.db, tmp_path).load(
        watchlists.listing(41, "HARAKAT FUND", remarks="Tax ID No. 745-95812 (Iran).")
    )
    own = await waiting_to_be_looked_up(alone, "745-95812")
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    await browser.get(own)
    await browser.post(own, do="claim")
    page = (await browser.get(own)).text
    for part in ("HARAKAT FUND", "entry <bdi>41</bdi>", "<bdi>745-95812</bdi> in a number, the note", "Tax ID No."):
        assert part in page, part
    assert f'class="button quiet" href="{own}/accept"' in page, "not the obvious choice"
    [link] = re.findall(rf'href="({own}/reject\?[^"]+)"', page)
    decision = (await browser.get(html.unescape(link))).text
    assert '<option value="sanction" selected' in decision
    assert "Entry 41 of the list List ofac-sdn: HARAKAT FUND" in decision
    await browser.close()


async def test_a_name_to_look_up_says_that_nothing_was_found(alone: Service, tmp_path: Path) -> None:
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    own = await waiting_to_be_looked_up(alone, "745-00000")
    browser = await claimed(alone, own)
    page = (await browser.get(own)).text
    assert "<bdi>ᏣᎳᎩ</bdi>; <bdi>745-00000</bdi>; <bdi>TsaLaGi</bdi>." in page
    assert "Nothing found." in page
    assert f'class="button" href="{own}/accept"' in page
    await browser.close()


async def test_a_name_to_look_up_says_what_was_not_searched(alone: Service, tmp_path: Path) -> None:
    """A search that could not find an entry is no reason to call the record clear."""
    own = await waiting_to_be_looked_up(alone, name="ᏣᎳ")
    browser = await claimed(alone, own)
    not_obvious = f'class="button quiet" href="{own}/accept"'
    page = (await browser.get(own)).text
    assert "No watchlists have been loaded" in page
    assert "Nothing found." not in page
    assert not_obvious in page
    await watchlists.Lists(alone.db, tmp_path).load(watchlists.listing(1, "ZAVOD IMENI DEGTYAREVA"))
    page = (await browser.get(own)).text
    assert "Nothing found." in page
    assert "three or more letters or digits: <bdi>ᏣᎳ</bdi>." in page
    assert not_obvious in page
    await browser.close()


async def test_a_name_to_look_up_is_searched_only_for_who_has_claimed_the_case(alone: Service, tmp_path: Path) -> None:
    """Each search is in the audit log, as on the page for searching, and shows the most similar entries first."""
    close = [watchlists.listing(50 + one, f"TSALAGI 745-95812 {one}") for one in range(12)]
    same = watchlists.listing(99, "HARAKAT FUND", remarks="Tax ID No. 745-95812 (Iran).")
    await watchlists.Lists(alone.db, tmp_path).load(*close, same)
    own = await waiting_to_be_looked_up(alone, "745-95812")
    other = await signed_in(alone, await operator(alone, "reviewer"))
    page = (await other.get(own)).text
    assert "Claim this case to search the watchlists" in page
    assert "HARAKAT FUND" not in page
    assert f'class="button quiet" href="{own}/accept"' in page
    case = own.rpartition("/")[2]
    assert await searches(alone, case) == []
    browser = await claimed(alone, own)
    page = (await browser.get(own)).text
    assert page.index("HARAKAT FUND") < page.index("TSALAGI 745-95812 ")
    assert "There are more entries." in page
    assert await searches(alone, case) == [{"case": case, "texts": 3, "found": 13}]
    await browser.close()
    await other.close()


async def claimed(service: Service, case: str) -> Browser:
    """The browser of a reviewer who has claimed the case."""
    browser = await signed_in(service, await operator(service, "reviewer"))
    await browser.get(case)
    await browser.post(case, do="claim")
    return browser


async def searches(service: Service, case: str) -> list[dict[str, object]]:
    """The details of the audit entries about searches of the watchlists for a case."""
    async with service.db.read() as tx:
        rows = await tx.fetch("select details from audit_entry where action = 'watchlist.searched' order by id")
    return [row["details"] for row in rows if row["details"]["case"] == case]


async def test_a_case_with_many_names_folds_most_of_them(alone: Service) -> None:
    """The page stays short: eight buttons, up to 92 folded, and the number of those that have none."""
    numbers = tuple(f"745-{one:05d}" for one in range(120))
    who, asked = watchlists.body((await alone.tenant()).partner, uuid4(), "ᏣᎳᎩ", identifiers=numbers)
    screener = Screener()
    await screener.run_with_current_watchlists(
        alone.db, lambda tx: matches.screen(tx, screener, who, asked, monitor=False)
    )
    async with alone.db.read() as tx:
        subject = await tx.fetchval("select id from screening_subject where subject_id = $1", who.id)
    search = f"/operator/watch-lists/search?case={alone.db.deployment.ids.encode('screeningsubject', subject)}"
    browser = await signed_in(alone, await operator(alone, "reviewer"))
    page = (await browser.get(search)).text
    shown, _, folded = page.partition("<summary>92 more names and numbers</summary>")
    assert (shown.count("Search for <bdi>"), folded.count("Search for <bdi>")) == (8, 92)
    assert "The case has 20 more." in folded
    answer = await browser.post(search, name=numbers[99], kind="organisation", country="")
    assert answer.status_code == 200, "a folded name is searched like the others"
    await browser.close()


@pytest.mark.parametrize(
    ("requested", "sent", "language", "why"),
    [
        ("en", "en", "English", ["The language of the application is English."]),
        ("pt-PT", "pt-PT", "Portuguese", []),
        ("iw", "he", "Hebrew", []),
        ("km", "en", "English", [WITHOUT_TEXTS.format("Khmer")]),
        ("tlh-x-ship", "en", "English", [WITHOUT_TEXTS.format("Klingon")]),
    ],
)
def test_the_language_of_an_email_is_explained(requested: str, sent: str, language: str, why: list[str]) -> None:
    mail = Mail("key", datetime(2026, 11, 28, tzinfo=UTC), None, "a@x.example", "Subject", "Text", "<p>Text</p>", sent)
    recipient = f"We send an email to a@x.example in {language}."
    assert describe_email_recipients([EmailPreview(mail, requested)]) == [recipient, *why]
