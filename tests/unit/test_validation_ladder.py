"""The ladder by itself: what decides, what only warns, and that every reason has its sentence."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.kit.evidence import Evaluation, EvaluationStep
from almoner.nonprofits.legal_status.domain import (
    BMF,
    E_POSTCARD,
    PUB_78,
    REVOCATIONS,
    LegalStatus,
    RegistryNumberStatus,
    SourceReport,
    legal_status_from_register_listing,
    status_of_us_organisation,
)
from almoner.nonprofits.organisations.domain import Namesake, Organisation, OrganisationSource
from almoner.nonprofits.registries.domain import REQUIRED_PARTS, Registry, check_registry_number
from almoner.screening.matching.service import CERTAIN_SCORE
from almoner.validation.requests import register_rules
from almoner.validation.requests import rules as ladder
from almoner.validation.requests import test_values as requests_test_values
from almoner.validation.requests.domain import (
    REJECTION_MESSAGES,
    REJECTION_REASONS,
    REVIEW_REASONS,
    NonprofitDetails,
)
from almoner.validation.requests.rules import AcceptanceThresholds, RequestFacts, RulesResult

NOW = datetime(2026, 5, 1, tzinfo=UTC)
APRIL = datetime(2026, 4, 13, tzinfo=UTC)
RULES = AcceptanceThresholds(0.9)
NAME, NUMBERS = "CASPER RELIEF FUND", {"IRS": "530196605", "CCEW": "1173575", "ACNC": "52093617380"}
CHARITY = {"SUBSECTION": "03", "DEDUCTIBILITY": "1", "AFFILIATION": "3", "GROUP": "0000", "FOUNDATION": "15"}
OTHERS = {"OSCR": "SC042386", "CCNI": "100019", "CRA": "119219814RR0001", "ANBI": "123456782", "RNA": "W751001234"}


def listed(**members: Any) -> Organisation:
    values: dict[str, Any] = dict.fromkeys(Organisation.__dataclass_fields__)
    values |= {
        "id": UUID(int=1),
        "name": NAME,
        "secondary_name": None,
        "other_names": (),
        "active": True,
        "websites": (),
        "country_code": "USA",
    }
    values |= {
        "sources": (OrganisationSource("IRS", "1", BMF, is_format_unverified=False, data_as_of=APRIL),),
        "registry_number": "1",
    }
    return Organisation(**{**values, **members})


def us(facts: Mapping[str, object] | None = None, **lists: Any) -> RegistryNumberStatus:
    reported = {BMF: SourceReport(BMF, APRIL, (facts or CHARITY,))}
    reported |= {source: SourceReport(source, APRIL, ()) for source in (REVOCATIONS, PUB_78, E_POSTCARD)}
    reported |= lists
    return RegistryNumberStatus(reported, reported[BMF], status_of_us_organisation(reported))


def elsewhere(facts: Mapping[str, object], *, unverified: bool = False) -> RegistryNumberStatus:
    reported = SourceReport("x", APRIL, (facts,), is_format_unverified=unverified)
    return RegistryNumberStatus({"x": reported}, reported, legal_status_from_register_listing(reported))


def seen(code: str = "IRS", **members: Any) -> RequestFacts:
    number = {**NUMBERS, **OTHERS}[code]
    asked = NonprofitDetails("Casper Relief Fund", code, number, "https://www.example.org", "USA")
    registry = Registry(UUID(int=2), code, code, code, "USA", APRIL)
    usual = {"legal_status": us() if code == "IRS" else elsewhere({}), "listed": listed(), "main": None, "namesakes": 0}
    given: dict[str, Any] = {
        "asked": asked,
        "registry": registry,
        "check": check_registry_number(code, number),
        "now": NOW,
        **usual,
    }
    return RequestFacts(**{**given, **members})


def codes(climbed: RulesResult) -> dict[str, tuple[str, str | None]]:
    return {step.name: (step.verdict, step.code) for step in climbed.steps}


def test_what_is_listed_as_active_under_the_name_is_accepted() -> None:
    climbed = ladder.evaluate_rules(seen(), RULES)
    assert climbed.outcome.verdict == "accept", climbed.steps
    assert climbed.name_agreement == pytest.approx(1)
    assert [step.name for step in climbed.steps][:6] == ["identifier", "register", "source", "age", "status", "name"]
    assert len({step.name for step in climbed.steps}) == len(climbed.steps)


REMOVED = us(None, **{BMF: SourceReport(BMF, APRIL)})
WITHOUT_SOURCE = RegistryNumberStatus({}, None, LegalStatus(()))
RNA_BY_LAYOUT = elsewhere({"position": "A"}, unverified=True)
NOT_IN_RNA = RegistryNumberStatus({}, SourceReport("rna", APRIL), LegalStatus(()))
NOT_IN_ANBI = RegistryNumberStatus({}, SourceReport("anbi", APRIL), LegalStatus(()))
CENTRAL = {"AFFILIATION": "9", "GROUP": "1961"}
ASKED = seen().asked


def group_of_one_that_is_gone() -> RegistryNumberStatus:
    reported = {BMF: SourceReport(BMF, APRIL, ({**CHARITY, **CENTRAL},))}
    return RegistryNumberStatus(
        reported, reported[BMF], status_of_us_organisation(reported, {BMF: SourceReport(BMF, APRIL)})
    )


REVIEWED: list[tuple[str, RequestFacts, AcceptanceThresholds, tuple[str, ...]]] = [
    ("no source", seen(legal_status=WITHOUT_SOURCE, listed=None), RULES, ("register_not_loaded",)),
    ("never listed", seen(legal_status=REMOVED, listed=None), RULES, ("not_listed",)),
    ("a part", seen(legal_status=REMOVED, listed=None, parts=("DC", "WY")), RULES, ("partly_loaded",)),
    ("every part", seen(legal_status=REMOVED, listed=None, parts=tuple(REQUIRED_PARTS["IRS"])), RULES, ("not_listed",)),
    ("one file", seen("ANBI", legal_status=NOT_IN_ANBI, listed=None, parts=("all",)), RULES, ("not_listed",)),
    (
        "both files",
        seen("RNA", legal_status=NOT_IN_RNA, listed=None, parts=("import", "waldec")),
        RULES,
        ("not_listed",),
    ),
    (
        "a department",
        seen("RNA", legal_status=NOT_IN_RNA, listed=None, parts=("waldec 75",)),
        RULES,
        ("partly_loaded",),
    ),
    ("by hand", seen(legal_status=REMOVED, listed=listed(sources=())), RULES, ("not_listed",)),
    ("no more", seen(legal_status=REMOVED, listed=listed(active=False)), RULES, ("no_longer_listed",)),
    ("gone over", seen(listed=listed(active=False, status_override="merged")), RULES, ("merged",)),
    ("new number", seen(listed=listed(active=False, status_override="reregistered")), RULES, ("reregistered",)),
    ("ended", seen(listed=listed(active=False, status_override="terminated")), RULES, ("terminated",)),
    ("by layout", seen("RNA", legal_status=RNA_BY_LAYOUT), RULES, ("unverified_source",)),
    ("old data", seen(), AcceptanceThresholds(0.9, timedelta(days=10)), ("stale_data",)),
    ("other name", seen(asked=replace(ASKED, name="Elk Lodge")), RULES, ("name_disagrees",)),
    (
        "no gifts",
        seen(legal_status=us({**CHARITY, "SUBSECTION": "06", "DEDUCTIBILITY": "2"})),
        RULES,
        ("not_deductible",),
    ),
    ("group gone", seen(legal_status=group_of_one_that_is_gone()), RULES, ("central_body_not_active",)),
    ("insolvent", seen("CCEW", legal_status=elsewhere({"insolvent": True})), RULES, ("insolvent",)),
    (
        "dissolving",
        seen("CCEW", legal_status=elsewhere({"cio_dissolution_notice": "2026-01-01"})),
        RULES,
        ("insolvent",),
    ),
    ("winding up", seen("ANBI", legal_status=elsewhere({"in_liquidatie": True})), RULES, ("insolvent",)),
    ("main gone", seen("OSCR", main=listed(active=False)), RULES, ("main_charity_not_active",)),
    ("no status", seen("CRA", legal_status=elsewhere({"year": "2023"})), RULES, ("status_not_told",)),
]


@pytest.mark.parametrize(("view", "rules", "reasons"), [one[1:] for one in REVIEWED], ids=[one[0] for one in REVIEWED])
def test_everything_else_goes_to_a_person(
    view: RequestFacts, rules: AcceptanceThresholds, reasons: tuple[str, ...]
) -> None:
    climbed = ladder.evaluate_rules(view, rules)
    assert (climbed.outcome.verdict, climbed.outcome.reasons) == ("review", reasons), climbed.steps


def test_a_number_of_an_unknown_format_is_not_called_well_formed() -> None:
    known, unknown = seen(), seen(check=check_registry_number("XYZ", "A 12"))
    found = [codes(ladder.evaluate_rules(one, RULES))["identifier"] for one in (known, unknown)]
    assert found == [("pass", "well_formed"), ("pass", "format_not_checked")]


def test_revoked_is_told_of_what_is_not_listed_too() -> None:
    revoked = SourceReport(REVOCATIONS, APRIL, ({"REVOCATION_DATE": "2017-11-15", "POSTING_DATE": "2018-03-12"},))
    heard = us(
        None,
        **{
            BMF: SourceReport(BMF, APRIL),
            REVOCATIONS: revoked,
            PUB_78: SourceReport(PUB_78, APRIL, ({"DEDUCTIBILITY": "PC"},)),
        },
    )
    climbed = ladder.evaluate_rules(seen(legal_status=heard, listed=None), RULES)
    assert climbed.outcome.reasons == ("not_listed", "revoked")
    assert codes(climbed)["publication_78"] == ("pass", "listed")


def test_a_wrong_check_digit_counts_where_the_register_does_not_list_it() -> None:
    number = "52093617381"
    asked = replace(ASKED, registry_number=number)
    wrong = seen("ACNC", asked=asked, check=check_registry_number("ACNC", number), legal_status=elsewhere({"PBI": "Y"}))
    assert codes(ladder.evaluate_rules(wrong, RULES))["identifier"] == ("warn", "wrong_check_digit")
    assert ladder.evaluate_rules(wrong, RULES).outcome.verdict == "accept"
    unlisted = replace(
        wrong, listed=None, legal_status=RegistryNumberStatus({}, SourceReport("x", APRIL), LegalStatus(()))
    )
    assert ladder.evaluate_rules(unlisted, RULES).outcome.reasons == ("wrong_check_digit", "not_listed")


@pytest.mark.parametrize(
    ("code", "facts", "expected"),
    [
        (
            "CCEW",
            {"gift_aid": True, "reporting_status": "Submission Received"},
            {"deductibility": ("pass", "gift_aid")},
        ),
        ("CCEW", {"gift_aid": False}, {"deductibility": ("warn", "no_gift_aid")}),
        ("CCEW", {"reporting_status": "Submission Overdue"}, {"reports": ("warn", "reports_overdue")}),
        ("CCEW", {"reporting_status": "Submission Double Default"}, {"reports": ("warn", "reports_overdue")}),
        ("CCNI", {"status": "Overdue"}, {"reports": ("warn", "reports_overdue")}),
        ("CCNI", {"status": "Received"}, {"reports": ("pass", "reports_in_time")}),
        ("ACNC", {"PBI": "Y"}, {"deductibility": ("unknown", "deductibility_not_told")}),
        ("OSCR", {}, {"deductibility": ("unknown", "deductibility_not_told")}),
        ("CRA", {"Status": "Registered"}, {"deductibility": ("pass", "registered_charity")}),
        ("ANBI", {}, {"deductibility": ("pass", "public_benefit")}),
        ("RNA", {"rup_mi": "11750001"}, {"deductibility": ("pass", "public_utility")}),
        ("RNA", {"nature": "D"}, {"deductibility": ("unknown", "deductibility_not_told")}),
    ],
)
def test_what_registers_tell_beyond_their_listing_warns_and_blocks_nothing(
    code: str, facts: dict[str, object], expected: dict[str, tuple[str, str]]
) -> None:
    climbed = ladder.evaluate_rules(seen(code, legal_status=elsewhere(facts)), RULES)
    assert climbed.outcome.verdict == "accept", climbed.steps
    assert expected.items() <= codes(climbed).items()


def test_a_branch_stands_with_its_main_charity() -> None:
    main = ladder.evaluate_rules(seen("CCEW", main=listed()), RULES)
    assert codes(main)["main_charity"] == ("pass", "main_charity_active")


@pytest.mark.parametrize(
    ("given_site", "known", "expected"),
    [
        ("http://example.org/x", ("https://www.EXAMPLE.org",), ("pass", "same_website")),
        ("example.org:8080", ("example.org",), ("pass", "same_website")),
        ("example.org/?from=https://example.com", ("example.org",), ("pass", "same_website")),
        ("https://example.org#about", ("example.org.",), ("pass", "same_website")),
        ("https://bücher。example", ("http://xn--bcher-kva.example",), ("pass", "same_website")),
        ("https://example.com", ("https://example.org",), ("warn", "other_website")),
        ("https://example.org", (), ("unknown", "no_website_listed")),
    ],
)
def test_the_website_is_compared_and_blocks_nothing(
    given_site: str, known: tuple[str, ...], expected: tuple[str, str]
) -> None:
    climbed = ladder.evaluate_rules(
        seen(asked=replace(ASKED, website=given_site), listed=listed(websites=known)), RULES
    )
    assert codes(climbed)["website"] == expected
    assert climbed.outcome.verdict == "accept"


facts = st.dictionaries(
    st.sampled_from(
        [*CHARITY, "insolvent", "gift_aid", "reporting_status", "status", "Status", "rup_mi", "FILING_REQ_CD"]
    ),
    st.sampled_from(["", "03", "06", "0000", "1961", "2", "9", "Overdue", True, False, None]),
)


@given(facts, st.sampled_from(sorted({**NUMBERS, **OTHERS})), st.text(max_size=40), st.booleans(), st.floats(0, 1))
def test_of_whatever_is_told_the_ladder_accepts_only_what_passed(
    told: dict[str, object], code: str, name: str, active: bool, threshold: float
) -> None:
    heard = us(told) if code == "IRS" else elsewhere(told)
    view = seen(code, legal_status=heard, listed=listed(active=active), asked=replace(ASKED, name=name or "x"))
    climbed = ladder.evaluate_rules(view, AcceptanceThresholds(threshold))
    assert set(climbed.outcome.reasons) <= REVIEW_REASONS.keys()
    found = codes(climbed)
    passed = all(found[step][0] == "pass" for step in ("register", "source", "age", "status", "name"))
    failed = any(verdict == "fail" for verdict, _ in found.values())
    assert (climbed.outcome.verdict == "accept") is (passed and not failed)
    if climbed.outcome.verdict == "accept":
        assert active
        assert (climbed.name_agreement or 0) >= threshold


def test_facts_of_a_status_are_the_sources_own() -> None:
    reported = SourceReport("x", APRIL, ({"status": "Removed", "removed": "2020-01-01", "income": 7},))
    assert register_rules.extract_status_facts(reported) == {"status": "Removed", "removed": "2020-01-01"}


def test_every_step_of_an_unverified_source_is_shown_as_such() -> None:
    for status, marked in ((RNA_BY_LAYOUT, {"x"}), (elsewhere({"position": "A"}), set())):
        climbed = ladder.evaluate_rules(seen("RNA", legal_status=status), RULES)
        made = Evaluation(UUID(int=3), climbed.steps, NOW)
        assert made.unverified_sources == marked
        shown = [
            step.source for step in made.steps_marking_unverified_sources if step.source and step.source.startswith("x")
        ]
        assert set(shown) == {"x (unverified)" if marked else "x"}


def test_every_reason_has_a_sentence() -> None:
    assert all(sentence.endswith(".") for sentence in REVIEW_REASONS.values())
    assert set(REJECTION_MESSAGES) == set(REJECTION_REASONS)
    reached = {reason for _, _, _, reasons in REVIEWED for reason in reasons}
    elsewhere_shown = {"wrong_check_digit", "address_disagrees", "mixed_scripts", "hidden_characters", "revoked"}
    elsewhere_shown |= {
        "former_name",
        "match_uncertain",
        "same_name_elsewhere",
        "removed",
        "member_not_named",
        "other_number_fits_better",
        "similar_number",
        "distinctive_word_differs",
    }
    assert set(REVIEW_REASONS) - reached == elsewhere_shown


def test_the_guide_tells_every_reason() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "validation-requests.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+\.) \|$", guide, re.MULTILINE))
    assert rows == dict(REVIEW_REASONS)


def test_the_test_values_are_those_of_the_specification() -> None:
    assert set(requests_test_values.ACTIONS) == {"test_accept", *(f"test_reject_{code}" for code in REJECTION_REASONS)}
    assert requests_test_values.find_sandbox_action("test_accept ") is None
    step = EvaluationStep("x", "pass", "y")
    assert step.facts == {}


@pytest.mark.parametrize(
    ("name", "step"),
    [
        ("Casper Relief Fund", ("pass", "one_script")),
        ("Cаsper Relief Fund", ("fail", "mixed_scripts")),  # a Cyrillic a
        ("Casper Relief Фонд", ("fail", "mixed_scripts")),
        ("Casper Reliеf Fund 東京", ("fail", "mixed_scripts")),
        ("Фонд Помощи Каспер", ("warn", "other_script")),
        ("Casper Relief Fund 東京", ("warn", "other_script")),
        ("Τράπεζα Casper", ("pass", "one_script")),  # the register writes it so
        ("Casper Relief Fund Nº 1ª", ("pass", "one_script")),
        ("Casper ʻRelief Fund", ("pass", "one_script")),  # an ʻokina, which is no letter of another script
        ("佐々木カスパー会", ("warn", "other_script")),  # a sign that repeats the one before
    ],
)
def test_letters_that_look_like_others_go_to_a_person(name: str, step: tuple[str, str]) -> None:
    view = seen(asked=replace(ASKED, name=name), listed=listed(other_names=("Τράπεζα Casper",)))
    climbed = ladder.evaluate_rules(view, RULES)
    assert codes(climbed)["letters"] == step
    assert ("mixed_scripts" in climbed.outcome.reasons) == (step[0] == "fail")


@pytest.mark.parametrize(
    ("name", "unseen"),
    [
        ("Casper\u202e Relief Fund", ["U+202E RIGHT-TO-LEFT OVERRIDE"]),
        ("Cas\u200bper Re\u2060lief Fund", ["U+200B ZERO WIDTH SPACE", "U+2060 WORD JOINER"]),
        ("Cas\u200dper Relief Fund", ["U+200D ZERO WIDTH JOINER"]),  # Latin is not spelled with joiners
        ("Casper\u3164Relief Fund", ["U+3164 HANGUL FILLER"]),
        ("\u2066Casper Relief Fund\u2069", ["U+2066 LEFT-TO-RIGHT ISOLATE", "U+2069 POP DIRECTIONAL ISOLATE"]),
    ],
)
def test_what_nobody_sees_in_a_name_goes_to_a_person(name: str, unseen: list[str]) -> None:
    climbed = ladder.evaluate_rules(seen(asked=replace(ASKED, name=name)), RULES)
    [letters] = [step for step in climbed.steps if step.name == "letters"]
    assert (letters.verdict, letters.code, letters.facts["hidden"]) == ("fail", "hidden_characters", unseen)
    assert "hidden_characters" in climbed.outcome.reasons
    unlisted = ladder.evaluate_rules(seen(asked=replace(ASKED, name=name), listed=None, legal_status=REMOVED), RULES)
    assert {"hidden_characters", "not_listed"} <= set(unlisted.outcome.reasons)


@pytest.mark.parametrize(
    ("asked", "written"),
    [
        ("بنیاد می\u200cخواهم", ()),  # Persian is spelled with it
        ("क्\u200dष सेवा", ()),
        ("Cas\u00adper Relief Fund", ("Cas\u00adper Relief Fund",)),  # the register writes it so
    ],
)
def test_joiners_that_spell_and_what_the_register_writes_hide_nothing(asked: str, written: tuple[str, ...]) -> None:
    view = seen(asked=replace(ASKED, name=asked), listed=listed(other_names=written))
    assert codes(ladder.evaluate_rules(view, RULES))["letters"][1] != "hidden_characters"


@pytest.mark.parametrize(
    ("code", "days", "greatest", "step", "verdict"),
    [
        ("IRS", 62, None, ("pass", "recent_data"), "accept"),
        ("IRS", 223, None, ("warn", "old_data"), "accept"),
        ("IRS", 223, 365, ("warn", "old_data"), "accept"),
        ("IRS", 223, 222, ("warn", "stale_data"), "review"),
        ("IRS", 20, 10, ("warn", "stale_data"), "review"),
        ("ACNC", 62, None, ("warn", "old_data"), "accept"),
        ("OSCR", 31, None, ("pass", "recent_data"), "accept"),
        ("CRA", 223, None, ("pass", "recent_data"), "review"),
    ],
)
def test_data_older_than_their_register_publishes_are_not_called_recent(
    code: str, days: int, greatest: int | None, step: tuple[str, str], verdict: str
) -> None:
    rules = AcceptanceThresholds(0.9, timedelta(days=greatest) if greatest else None)
    climbed = ladder.evaluate_rules(seen(code, now=APRIL + timedelta(days=days)), rules)
    assert (codes(climbed)["age"], climbed.outcome.verdict) == (step, verdict), climbed.outcome
    [age] = [one for one in climbed.steps if one.name == "age"]
    assert age.facts["dataAgeDays"] == days


@pytest.mark.parametrize(
    ("name", "listed_name"),
    [
        ("Dakota Boys Ranch", "LAKOTA BOYS RANCH"),
        ("Marion County Humane Society", "MARIN COUNTY HUMANE SOCIETY"),
        ("Curlews Humane Society", "CURLEW HUMANE SOCIETY"),
        ("Robert Lee Foundation", "ROBERTA LEE FOUNDATION"),
        ("North Dakota Boys Ranch", "SOUTH DAKOTA BOYS RANCH"),
        ("No Kill Shelter", "KILL SHELTER"),
        ("玉林市慈善总会", "榆林市慈善总会"),
    ],
)
def test_a_name_that_another_body_may_bear_is_asked_about(name: str, listed_name: str) -> None:
    view = seen(asked=replace(ASKED, name=name), listed=listed(name=listed_name))
    assert ladder.evaluate_rules(view, AcceptanceThresholds(CERTAIN_SCORE)).outcome.verdict == "review"
    same = replace(view, asked=replace(ASKED, name=listed_name.title()))
    assert ladder.evaluate_rules(same, AcceptanceThresholds(CERTAIN_SCORE)).outcome.verdict == "accept"


def test_the_facts_of_a_step_are_words_and_not_json() -> None:
    facts = {"listed": [], "scripts": ["CYRILLIC", "LATIN"], "parts": [["same", 1.0, "a", ""], ["city", 0.5]], "n": 62}
    step = EvaluationStep("x", "pass", facts=facts)
    assert step.facts_as_text == [
        ("listed", ""),
        ("scripts", "CYRILLIC, LATIN"),
        ("parts", "same, 1.0, a; city, 0.5"),
        ("n", "62"),
    ]


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("Rose Ward Fund", "accept"),
        ("The Rose Ward Fund of Bramble Hospital Charity", "accept"),
        ("Bramble Hospital Charity: Rose Ward Fund", "accept"),
        ("Bramble Hospital Charity", "review"),
        ("Ward Fund of Bramble Hospital Charity", "review"),
    ],
)
def test_a_linked_charity_may_be_named_with_its_main_charity(name: str, verdict: str) -> None:
    linked, main = listed(name="THE ROSE WARD FUND"), listed(name="BRAMBLE HOSPITAL CHARITY")
    facts = seen("CCEW", listed=linked, main=main, asked=replace(ASKED, name=name, registry_name="CCEW"))
    assert ladder.evaluate_rules(facts, RULES).outcome.verdict == verdict


@pytest.mark.parametrize(
    ("family", "name", "line", "other", "reason"),
    [
        ("PHI THETA KAPPA", "Beta Alpha Chapter", "ALPHA BETA CHAPTER", "BETA ALPHA CHAPTER", "member_not_named"),
        ("BETA SIGMA PHI", "Alpha Beta", "BETA ALPHA", "ALPHA BETA", "member_not_named"),
        ("AMERICAN LEGION", "Post 8 District 12", "POST 12 DISTRICT 8", "POST 8 DISTRICT 12", "member_not_named"),
        ("AMERICAN LEGION", "Post 8 12", "8 POST 12", "POST 8 12", "member_not_named"),
        ("PHI THETA KAPPA", "Alpha", "ALPHA ALPHA", "ALPHA", "other_number_fits_better"),
        ("PHI THETA KAPPA", "Alpha Alpha", "ALPHA ALPHA", "ALPHA", None),
        ("BETA SIGMA PHI", "Chapter An", "CHAPTER AL", "CHAPTER AN", "member_not_named"),
        ("BETA SIGMA PHI", "Alpha Beta Chapter", "CHAPTER ALPHA BETA", "ALPHA BETA CHAPTER", None),
        ("AMERICAN LEGION", "Post 5 Reese", "5 REESE POST", "POST 5 REESE", None),
    ],
)
def test_words_in_another_order_name_another_member(
    family: str, name: str, line: str, other: str, reason: str | None
) -> None:
    """Only the place of the one word for what it is counts for nothing."""
    here = listed(name=family, secondary_name=line)
    values: dict[str, Any] = {member: getattr(here, member, None) for member in Namesake.__dataclass_fields__}
    values |= {"secondary_name": other, "number_key": "837654321", "same_first_line": True}
    facts = seen(listed=here, namesakes=1, others=[Namesake(**values)], asked=replace(ASKED, name=f"{family} {name}"))
    reasons = ladder.evaluate_rules(facts, RULES).outcome.reasons
    assert (reason in reasons) if reason else not {"member_not_named", "other_number_fits_better"} & {*reasons}
