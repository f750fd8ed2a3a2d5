"""The decision about eligibility: pure, each sub-tag with its rule (settled 4)."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any
from uuid import UUID

import pytest

from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.activities.domain import SUB_TAGS
from almoner.validation.ongoing.eligibility.domain import (
    ALL_ACTIVITIES,
    NO_ACTIVITIES,
    AllowedActivities,
    EligibilityResults,
    OrganisationActivities,
    build_activity_step,
    evaluate_activities,
)
from almoner.validation.ongoing.eligibility.test_values import simulated_status_of

DOGS, CATS, CHOIRS, PERFORMING, HOUSING, CHURCHES = "AN102", "AN101", "AR301", "AR300", "HO", "RL302"


def known(classification: Mapping[str, str], words: Mapping[str, str] | None = None) -> OrganisationActivities:
    """Of an organisation."""
    return OrganisationActivities(UUID(int=1), classification, words or {})


def rules(codes: Sequence[str]) -> dict[str, str]:
    """Each by one rule."""
    return dict.fromkeys(codes, "r")


@pytest.mark.parametrize(
    ("confirmed", "allowed", "status", "rejected"),
    [
        ((), None, None, ()),
        ((), (), None, ()),
        ((DOGS,), None, "pass", ()),
        ((DOGS,), (), "fail", (DOGS,)),
        ((DOGS, CATS), (DOGS,), "pass", (CATS,)),
        ((DOGS, CATS), (HOUSING,), "fail", (DOGS, CATS)),
        ((CHOIRS,), (PERFORMING,), "pass", ()),
        ((PERFORMING,), (CHOIRS,), "fail", (PERFORMING,)),
    ],
)
def test_one_allowed_activity_suffices(
    confirmed: tuple[str, ...], allowed: tuple[str, ...] | None, status: Any, rejected: tuple[str, ...]
) -> None:
    held = AllowedActivities(None if allowed is None else frozenset(allowed))
    results, findings = evaluate_activities(known(rules(confirmed)), (), held)
    assert (results.status, set(results.rule_by_confirmed_activity), set(results.rejected_activities)) == (
        status,
        set(confirmed),
        set(rejected),
    )
    assert {step.name for step in findings} == set(confirmed)


def test_the_register_goes_before_words_and_words_before_nothing() -> None:
    words = {CHURCHES: "name:church", CHOIRS: "name:choir"}
    assert dict(evaluate_activities(known({}, words), (), ALL_ACTIVITIES)[0].rule_by_confirmed_activity) == words
    assert dict(
        evaluate_activities(known({DOGS: "ntee:D20"}, words), (), ALL_ACTIVITIES)[0].rule_by_confirmed_activity
    ) == {DOGS: "ntee:D20"}
    results, _ = evaluate_activities(known({DOGS: "ntee:D20"}, words), (CHOIRS, HOUSING), ALL_ACTIVITIES)
    assert dict(results.rule_by_confirmed_activity) == {DOGS: "ntee:D20", CHOIRS: "name:choir"}
    results, _ = evaluate_activities(known({CHOIRS: "ntee:A6B"}, words), (CHOIRS,), ALL_ACTIVITIES)
    assert results.rule_by_confirmed_activity[CHOIRS] == "ntee:A6B"


def test_a_wider_one_is_confirmed_when_it_was_suggested() -> None:
    assert (
        PERFORMING
        not in evaluate_activities(known({CHOIRS: "ntee:A6B"}), (), ALL_ACTIVITIES)[0].rule_by_confirmed_activity
    )
    results, _ = evaluate_activities(known({CHOIRS: "ntee:A6B"}), (PERFORMING,), ALL_ACTIVITIES)
    assert results.rule_by_confirmed_activity[PERFORMING] == f"ntee:A6B (as {CHOIRS})"
    results, _ = evaluate_activities(known({DOGS: "ntee:D20"}, {CHOIRS: "name:choir"}), (PERFORMING,), ALL_ACTIVITIES)
    assert results.rule_by_confirmed_activity[PERFORMING] == f"name:choir (as {CHOIRS})"
    assert (
        PERFORMING
        in evaluate_activities(known({PERFORMING: "r"}), (CHOIRS,), ALL_ACTIVITIES)[0].rule_by_confirmed_activity
    )
    assert (
        CHOIRS
        not in evaluate_activities(known({PERFORMING: "r"}), (CHOIRS,), ALL_ACTIVITIES)[0].rule_by_confirmed_activity
    )


def test_what_was_found_of_each() -> None:
    _, findings = evaluate_activities(
        known({DOGS: "ntee:D20", CATS: "ntee:D21"}), (HOUSING, CATS), AllowedActivities(frozenset({DOGS}))
    )
    assert {step.name: step for step in findings} == {
        CATS: build_activity_step(CATS, "ntee:D21", "fail", suggested=True),
        DOGS: build_activity_step(DOGS, "ntee:D20", "pass", suggested=False),
        HOUSING: build_activity_step(HOUSING, None, "not_applicable", suggested=True),
    }


def test_sb_test_values_decide_whatever_is_known() -> None:
    for given in (known({}), known({DOGS: "r"})):
        for allowed in (ALL_ACTIVITIES, NO_ACTIVITIES):
            passed, failed = (
                evaluate_activities(given, (), allowed, "pass")[0],
                evaluate_activities(given, (), allowed, "fail")[0],
            )
            assert (passed.status, passed.rejected_activities) == ("pass", ())
            assert (failed.status, set(failed.rejected_activities)) == ("fail", set(given.rule_by_registered_activity))


def test_codes_that_the_file_no_longer_has_are_left_out() -> None:
    results, findings = evaluate_activities(known({"ZZ999": "ntee:Z99"}), (), ALL_ACTIVITIES)
    assert (results, findings) == (EligibilityResults(), ())


def test_every_decision_explains_itself() -> None:
    codes = [DOGS, CHOIRS, PERFORMING, HOUSING]
    some = [subset for n in range(len(codes) + 1) for subset in combinations(codes, n)]
    for classified in some:
        for suggested in some:
            for allowed in some:
                results, findings = evaluate_activities(
                    known(rules(classified)), suggested, AllowedActivities(frozenset(allowed))
                )
                by_code = {step.name: step for step in findings}
                assert by_code.keys() == {*classified, *suggested}
                assert set(classified) <= results.rule_by_confirmed_activity.keys() <= by_code.keys()
                assert set(results.rejected_activities) <= results.rule_by_confirmed_activity.keys()
                assert all(by_code[code].code == rule for code, rule in results.rule_by_confirmed_activity.items())
                assert (results.status is None) == (not results.rule_by_confirmed_activity)
                assert (results.status == "pass") == (
                    len(results.rejected_activities) < len(results.rule_by_confirmed_activity)
                )


def test_words_are_asked_where_names_are_english() -> None:
    assert activities.matching_name_rules_by_sub_tag("IRS", "St Mary Church") == {CHURCHES: "name:church"}
    assert activities.matching_name_rules_by_sub_tag("CRA", "St Mary Church") == {CHURCHES: "name:church"}
    assert activities.matching_name_rules_by_sub_tag("RNA", "St Mary Church") == {}
    assert activities.matching_name_rules_by_sub_tag("IRS", "Casper") == {}


@pytest.mark.parametrize(
    ("suggested", "outcome"),
    [
        (("test_pass",), "pass"),
        (("test_fail",), "fail"),
        ((), None),
        (("test_pass", "test_fail"), None),
        (("test_pass", "x"), None),
        (("TEST_PASS",), None),
        (("pass",), None),
    ],
)
def test_sb_test_values_are_exact(suggested: tuple[str, ...], outcome: Any) -> None:
    assert simulated_status_of(suggested) == outcome


def test_every_sub_tag_can_be_allowed_by_itself() -> None:
    for code in SUB_TAGS:
        assert AllowedActivities(frozenset({code})).allows(code)
        assert not NO_ACTIVITIES.allows(code)
