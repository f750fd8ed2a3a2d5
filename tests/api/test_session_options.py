"""What a session lays down of its page: amounts, bounds and purposes."""

import html
from typing import Any

import pytest

from tests.support import factories
from tests.support.browsing import Browser
from tests.support.card_testing import FORM
from tests.support.client import Client, data
from tests.support.service import Service

OPTIONS: dict[str, Any] = {
    "currency": "USD",
    "suggestedAmounts": [700, 5000],
    "minimum": 500,
    "maximum": 8000,
    "offersDedication": True,
    "designations": ["Where it is needed most", "Roof <of> the school"],
}


async def opened(service: Service, api: Client, **body: Any) -> tuple[Browser, str, str]:
    """A donor's browser with the form of a new session, the form's address and its text."""
    session = await factories.session(service, api, **body)
    browser = Browser(service.app, service.db.deployment.base_urls.pages)
    page = await browser.open(session["url"])
    return browser, f"/give/{session['id']}", html.unescape(page.text)


async def test_options_are_kept_and_null_where_nothing_is_said(service: Service, api: Client) -> None:
    made = await factories.session(service, api, **OPTIONS)
    assert {name: made[name] for name in OPTIONS} == OPTIONS
    assert data(await api.get(f"/v1/donation-sessions/{made['id']}")) == made
    plain = await factories.session(service, api)
    assert {name: plain[name] for name in OPTIONS} == dict.fromkeys(OPTIONS) | {"offersDedication": False}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ({"minimum": 500}, "body.currency is required with amounts"),
        ({"suggestedAmounts": [500]}, "body.currency is required with amounts"),
        ({"currency": "USD", "minimum": 99}, "body.minimum must be 100 or more in USD"),
        ({"currency": "JPY", "minimum": 99}, "body.minimum must be 100 or more in JPY"),
        ({"currency": "USD", "maximum": 10_000_001}, "body.maximum must be 10000000 or less in USD"),
        ({"currency": "USD", "minimum": 900, "maximum": 800}, "body.maximum must not be less than the minimum, 900"),
        (
            {"currency": "USD", "minimum": 900, "suggestedAmounts": [800, 900]},
            "body.suggestedAmounts must be from 900 to 10000000 in USD",
        ),
        ({"currency": "USD", "suggestedAmounts": [900, 900]}, "body.suggestedAmounts must name each value once"),
        ({"designations": ["Roof", "Roof "]}, "body.designations must name each value once"),
    ],
)
async def test_options_that_nobody_could_choose_are_refused(
    service: Service, api: Client, body: dict[str, Any], reason: str
) -> None:
    organisation = await factories.nonprofit(service)
    answer = await api.post("/v1/donation-sessions", {"organisationId": organisation, **body})
    assert (answer.status_code, answer.json()["error"]["reasons"]) == (400, [reason])


async def test_a_donor_gives_within_the_bounds_and_says_for_what(service: Service, api: Client) -> None:
    browser, form, text = await opened(service, api, **OPTIONS)
    assert [f'value="{minor}"' in text for minor in (700, 5000, 2500)] == [True, True, False]
    assert "At least $5." in text
    for typed, problem in (("4.99", "The amount must be $5 or more"), ("80.01", "The amount must be $80 or less")):
        refused = await browser.post(form, FORM, amount="other", typed=typed, designation=OPTIONS["designations"][1])
        assert (refused.status_code, problem in refused.text) == (422, True)
    refused = await browser.post(form, FORM, amount="700", designation="Another roof")
    assert (refused.status_code, "Choose what your donation is for" in refused.text) == (422, True)
    onwards = await browser.post(form, FORM, amount="700", designation=OPTIONS["designations"][1])
    assert onwards.status_code == 303
    donation = data(await api.get("/v1/donations"))[0]
    assert (donation["amount"], donation["designation"]) == (700, OPTIONS["designations"][1])


async def test_a_single_purpose_is_named_and_needs_no_choice(service: Service, api: Client) -> None:
    browser, form, text = await opened(service, api, designations=["Roof & walls"], currency="USD", minimum=3000)
    assert "Your donation is for: <strong><bdi>Roof & walls</bdi></strong>" in text
    assert ("<select" in text, 'value="2500"' in text, 'value="5000"' in text) == (False, False, True)
    assert (await browser.post(form, FORM, amount="5000")).status_code == 303
    assert data(await api.get("/v1/donations"))[0]["designation"] == "Roof & walls"


async def test_a_fixed_amount_is_the_one_that_is_offered(service: Service, api: Client) -> None:
    _, _, text = await opened(service, api, currency="USD", minimum=3300, maximum=3300)
    assert ('value="3300"' in text, text.count('class="tile"')) == (True, 1)
