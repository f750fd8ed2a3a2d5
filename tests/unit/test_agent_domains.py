"""Whose domain an e-mail is on: free-mail, disposable and look-alike ones never pass (settled 5)."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from publicsuffixlist import PublicSuffixList

from almoner.validation.agents import evaluate, internet_domains
from almoner.validation.agents.evaluate import NonprofitEvidence

DATA = Path(internet_domains.__file__).parent / "data"
LISTS = ("free_mail", "disposable", "shared_hosts")


def known(*websites: str, confirmed: bool = True, active: bool | None = True) -> NonprofitEvidence:
    """A nonprofit with these websites in its register."""
    return NonprofitEvidence(websites, confirmed, active, "The register", None)


def judged(email: str, *websites: str) -> tuple[str, ...]:
    """Nothing when the rules let the agent through, else why not."""
    outcome = evaluate.evaluate_agent(email, None, known(*websites), domain_accepts_mail=True)
    assert outcome.passes_rules is (not outcome.review_reasons)
    return outcome.review_reasons


@pytest.mark.parametrize(
    ("email", "website"),
    [
        ("ada@charity.org", "https://www.charity.org"),
        ("ada@charity.org", "charity.org"),
        ("Ada@CHARITY.org", "HTTP://Charity.ORG/about/us?x=1#y"),
        ("ada@mail.charity.org", "charity.org"),
        ("ada@charity.org", "https://donate.charity.org"),
        ("ada@charity.org.uk", "www.charity.org.uk"),
        ("ada@charity.org", "https://charity.org:8443/"),
        ("ada@bücher-hilfe.de", "https://xn--bcher-hilfe-thb.de"),
        ("ada@xn--bcher-hilfe-thb.de", "bücher-hilfe.de"),
        ("ada@慈善.jp", "https://慈善.jp"),
        ("ada@club.harvard.edu", "https://club.harvard.edu"),
        ("ada@charity.example", "charity.example"),
        ("ada@ab--cd.org", "https://ab--cd.org"),
        ("ada@charity.org", "our_site.charity.org"),
        ("ada@charity.org", "charity.org/join?from=https://other.org"),
        ("ada@charity.org", "charity.org#about"),
    ],
)
def test_the_own_domain_passes(email: str, website: str) -> None:
    assert judged(email, website) == ()


@pytest.mark.parametrize(
    ("email", "website", "reason"),
    [
        ("ada@other.org", "charity.org", "other_domain"),
        ("ada@other.org.uk", "charity.org.uk", "other_domain"),
        ("ada@org.uk", "charity.org.uk", "email_domain_not_registrable"),
        ("ada@notcharity.org", "charity.org", "other_domain"),
        ("ada@charity.org.evil.example", "charity.org", "other_domain"),
        ("ada@gmail.com", "https://gmail.com", "free_mail_domain"),
        ("ada@yahoo.co.uk", "https://www.yahoo.co.uk/charity", "free_mail_domain"),
        ("ada@mail.gmx.de", "gmx.de", "free_mail_domain"),
        ("ada@mailinator.com", "mailinator.com", "disposable_domain"),
        ("ada@facebook.com", "https://facebook.com/charity", "shared_domain"),
        ("ada@mine.plus.com", "https://charity.plus.com", "free_mail_domain"),
        ("abc@privaterelay.appleid.com", "https://appleid.com", "free_mail_domain"),
        ("ada@other.rented.org", "https://charity.rented.org", "sibling_domain"),
        ("ada@hugofox.com", "https://www.hugofox.com/community/charity", "shared_domain"),
        ("ada@googlegroups.com", "https://googlegroups.com", "shared_domain"),
        ("ada@charity.github.io", "https://other.github.io", "other_domain"),
        ("ada@charlty.org", "charity.org", "look_alike_domain"),
        ("ada@charity.com", "charity.org", "look_alike_domain"),
        ("ada@charityy.org", "charity.org", "look_alike_domain"),
        ("ada@cahrity.org", "charity.org", "look_alike_domain"),
        ("ada@char-ity.org", "charity.org", "look_alike_domain"),
        ("ada@chаrity.org", "charity.org", "mixed_script_domain"),
        ("ada@xn--chrity-4nf.org", "charity.org", "mixed_script_domain"),
        ("ada@сһагіту.org", "charity.org", "look_alike_domain"),
        ("ada@rnercy.org", "mercy.org", "look_alike_domain"),
        ("ada@m0ney-he1p.org", "money-help.org", "look_alike_domain"),
        ("ada@harvard.edu", "https://www.harvard.edu/club", "institution_domain"),
        ("ada@harvard.edu", "https://club.harvard.edu", "institution_domain"),
        ("ada@ox.ac.uk", "https://club.ox.ac.uk", "institution_domain"),
        ("ada@alumni.harvard.edu", "https://www.harvard.edu", "outsiders_domain"),
        ("ada@students.charity.org", "https://charity.org", "outsiders_domain"),
        ("ada@[127.0.0.1]", "http://127.0.0.1", "email_domain_not_registrable"),
        ("ada@127.0.0.1", "http://127.0.0.1", "email_domain_not_registrable"),
        ("ada@localhost", "http://localhost", "email_domain_not_registrable"),
        ("ada@charity.org", "ada@charity.org", "website_on_shared_host"),
        ("ada@charity.org", "ftp://charity.org", "website_on_shared_host"),
        ("ada@charity.org", "https://linktr.ee/charity", "website_on_shared_host"),
    ],
)
def test_everything_else_goes_to_a_person(email: str, website: str, reason: str) -> None:
    assert reason in judged(email, website)


def test_any_of_several_sites_is_enough_and_the_applicants_own_is_not() -> None:
    assert judged("ada@charity.org", "https://facebook.com/charity", "https://charity.org") == ()
    outcome = evaluate.evaluate_agent(
        "ada@mine.example", "https://mine.example", known("charity.org"), domain_accepts_mail=True
    )
    assert not outcome.passes_rules
    assert "other_domain" in outcome.review_reasons
    for stated in (known("mine.example", confirmed=False), known()):
        alone = evaluate.evaluate_agent("ada@mine.example", "https://mine.example", stated, domain_accepts_mail=True)
        assert not alone.passes_rules
    steps = {step.name: step for step in outcome.steps}
    assert (steps["given_website"].verdict, steps["given_website"].code) == ("warn", "given_website_not_confirmed")


def test_what_is_not_known_of_the_nonprofit_never_passes() -> None:
    for active, reason in ((None, "validation_request_pending"), (False, "organisation_inactive")):
        outcome = evaluate.evaluate_agent(
            "ada@charity.org", None, known("charity.org", active=active), domain_accepts_mail=True
        )
        assert (outcome.passes_rules, reason in outcome.review_reasons) == (False, True)


@pytest.mark.parametrize("doubt", ["unverified_source", "stale_data"])
def test_a_register_that_may_not_decide_confirms_no_website(doubt: str) -> None:
    doubtful = replace(known("charity.org"), unreliable_reason=doubt)
    outcome = evaluate.evaluate_agent("ada@charity.org", None, doubtful, domain_accepts_mail=True)
    assert (outcome.passes_rules, outcome.review_reasons) == (False, (doubt,))
    assert evaluate.find_mail_domain_to_check("ada@charity.org", doubtful) is None


@pytest.mark.parametrize(("accepts_mail", "reason"), [(False, "no_mail_host"), (None, "mail_host_unknown")])
def test_a_domain_that_takes_no_mail_never_passes(accepts_mail: bool | None, reason: str) -> None:
    outcome = evaluate.evaluate_agent("ada@charity.org", None, known("charity.org"), domain_accepts_mail=accepts_mail)
    assert (outcome.passes_rules, outcome.review_reasons) == (False, (reason,))


def test_a_mail_host_is_looked_up_only_where_it_decides() -> None:
    assert evaluate.find_mail_domain_to_check("ada@mail.bücher.org", known("bücher.org")) == "mail.xn--bcher-kva.org"
    for email in ("ada@gmail.com", "ada@other.org", "nobody"):
        assert evaluate.find_mail_domain_to_check(email, known("bücher.org")) is None
    assert evaluate.find_mail_domain_to_check("ada@charity.org", known()) is None


def test_every_step_says_what_it_saw() -> None:
    outcome = evaluate.evaluate_agent(
        "ada@charity.org", "www.charity.org", known("https://charity.org"), domain_accepts_mail=True
    )
    assert [(step.name, step.verdict) for step in outcome.steps] == [
        ("organisation", "pass"),
        ("mailbox", "pass"),
        ("website", "pass"),
        ("given_website", "pass"),
        ("domain_agreement", "pass"),
        ("mail_host", "pass"),
    ]
    assert {step.source for step in outcome.steps if step.name in ("organisation", "website")} == {"The register"}


@pytest.mark.parametrize("name", LISTS)
def test_the_lists_are_registrable_and_say_where_they_are_from(name: str) -> None:
    lines = (DATA / f"{name}.txt").read_text("ascii").splitlines()
    assert any("Origin:" in line and "Licence:" in line for line in lines if line.startswith("#"))
    listed = [line for line in lines if not line.startswith("#")]
    assert listed == sorted(set(listed))
    assert len(listed) > 50
    suffixes = PublicSuffixList()
    for domain in listed:
        assert suffixes.privatesuffix(domain) is not None, domain


@given(st.text(max_size=60), st.text(max_size=60))
def test_any_text_is_judged(email: str, website: str) -> None:
    evaluate.evaluate_agent(email, website, known(website), domain_accepts_mail=True)
    evaluate.evaluate_agent(f"ada@{email}", website, known(f"https://{website}"), domain_accepts_mail=None)


@given(st.from_regex(r"[a-z]{4,12}", fullmatch=True), st.integers(0, 30), st.from_regex(r"[a-z]", fullmatch=True))
def test_one_slip_from_the_own_name_is_a_look_alike(name: str, place: int, letter: str) -> None:
    slipped = name[: place % len(name)] + letter + name[place % len(name) + 1 :]
    reasons = judged(f"ada@{slipped}.org", f"{name}.org")
    if slipped == name:
        return
    assert not evaluate.evaluate_agent(
        f"ada@{slipped}.org", None, known(f"{name}.org"), domain_accepts_mail=True
    ).passes_rules
    assert {"look_alike_domain", "free_mail_domain", "shared_domain", "website_on_shared_host"} & set(reasons)
