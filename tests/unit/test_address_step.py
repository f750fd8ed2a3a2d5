"""The address step: when an address agrees or differs, and when a person decides because of it."""

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest

from almoner.nonprofits.organisations.domain import Namesake
from almoner.nonprofits.registries.domain import REQUIRED_PARTS
from almoner.screening.matching.service import CERTAIN_SCORE
from almoner.validation.requests import rules as ladder
from almoner.validation.requests.rules import AcceptanceThresholds
from tests.unit.test_validation_ladder import ASKED, NAME, codes, listed, seen


@pytest.mark.parametrize(
    ("city", "state", "code"),
    [
        pytest.param("Lander", "WY", "other_address", id="same state"),
        pytest.param("Naperville", "IL", "address_disagrees", id="another state"),
        pytest.param("Abuja", None, "address_disagrees", id="no state"),
    ],
)
def test_a_common_name_in_another_state_is_asked_about_in_a_whole_register(
    city: str, state: str | None, code: str
) -> None:
    """The other body may be in no register. Where a register tells no states, the name alone is enough."""
    asked = replace(ASKED, address_line_1="3 Harbour Road", city=city, state=state)
    own, rules = {"address_line_1": "9 Elm Street", "city": "Casper"}, AcceptanceThresholds(CERTAIN_SCORE)
    whole = seen(asked=asked, listed=listed(**own, state="WY"), parts=tuple(REQUIRED_PARTS["IRS"]))
    assert codes(ladder.evaluate_rules(whole, rules))["address"][1] == code
    stateless = replace(whole, listed=listed(**own))
    assert codes(ladder.evaluate_rules(stateless, rules))["address"] == ("warn", "other_address")


@pytest.mark.parametrize(
    ("name", "stated", "address", "match", "reasons"),
    [
        ("Casper Relief Society Fund", {}, ("pass", "address_agrees"), "fail", ("match_uncertain",)),
        ("Casper Relief Society Fund", {"postal": None}, ("pass", "address_agrees"), "fail", ("match_uncertain",)),
        ("Elk Lodge", {}, ("pass", "address_agrees"), "warn", ("name_disagrees",)),
        (
            "Casper Relief Society Fund",
            {"address_line_1": "3 Elm Street"},
            ("fail", "address_disagrees"),
            None,
            ("address_disagrees",),
        ),
        (
            "Casper Relief Society Fund",
            {"address_line_1": None, "city": None, "postal": None, "state": "WY"},
            ("unknown", "no_address_to_compare"),
            "fail",
            ("match_uncertain",),
        ),
        (
            "Casper Relief Society Fund",
            {"postal": "82609"},
            ("fail", "address_disagrees"),
            None,
            ("address_disagrees",),
        ),
        (NAME, {}, ("pass", "address_agrees"), None, ()),
    ],
)
def test_an_address_disagrees_only_if_something_stated_on_both_sides_differs(
    name: str,
    stated: dict[str, str | None],
    address: tuple[str, str],
    match: str | None,
    reasons: tuple[str, ...],
) -> None:
    """Whatever the name is like: what is too little for both together has its own step and reason."""
    own: dict[str, Any] = {"address_line_1": "9 Elm Street", "city": "Casper", "state": "WY", "postal": "82601"}
    here = listed(**{name: value for name, value in own.items() if name != "postal"}, postcode=own["postal"])
    view = seen(asked=replace(ASKED, name=name, **{**own, **stated}), listed=here)
    climbed = ladder.evaluate_rules(view, AcceptanceThresholds(CERTAIN_SCORE))
    found = codes(climbed)
    assert found["address"] == address
    assert found.get("match") == ((match, "match_uncertain") if match else None)
    assert climbed.outcome.reasons == reasons


@pytest.mark.parametrize(
    ("threshold", "code"),
    [
        pytest.param(0.92, "same_name_elsewhere", id="the score is enough for the partner"),
        pytest.param(CERTAIN_SCORE, "match_uncertain", id="the score is not enough either"),
    ],
)
def test_a_name_that_others_elsewhere_have_is_its_own_reason(threshold: float, code: str) -> None:
    """A reason never says that the score is too low if the facts beside it say that it is enough."""
    here = listed(address_line_1="9 Elm Street", city="Casper", state="WY", postcode="82601")
    there = Namesake(
        UUID(int=9), "2", "2", NAME, None, (), None, "3 Oak Road", None, "Naperville", "IL", "60540", "USA", True
    )
    view = seen(asked=replace(ASKED, state="WY"), listed=here, namesakes=1, others=[there])
    climbed = ladder.evaluate_rules(view, AcceptanceThresholds(threshold))
    step = next(one for one in climbed.steps if one.name == "match")
    score = step.facts["score"]
    assert isinstance(score, float)
    assert (step.verdict, step.code, step.facts["bearers"]) == ("fail", code, 1)
    assert (score >= threshold) is (code == "same_name_elsewhere")
    assert climbed.outcome.reasons == (code,)
