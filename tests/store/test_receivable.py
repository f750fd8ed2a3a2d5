"""What the one statement that creates a session decides in SQL is what the rule of organisations says (settled 5)."""

from itertools import combinations, product

from almoner.nonprofits.countries.domain import COUNTRIES
from almoner.nonprofits.organisations import domain as organisations_domain
from almoner.nonprofits.organisations.domain import OrganisationType
from tests.support import factories
from tests.support.client import Client
from tests.support.service import Service

TYPES: tuple[OrganisationType, ...] = ("nonprofit", "social_impact", "education")
CURRENCIES = (None, "USD", "EUR", "GBP", "JPY", "CHF", "XCD", "AUD")
COUNTRY_CODES = ("USA", "GBR", "DEU", "JPN", "CHE", "LIE", "GRD", "ATA")
NOT_RECEIVABLE = (400, "donation_session/cannot_accept_donations")


async def told(api: Client, organisation: str, currency: str | None) -> tuple[int, str | None]:
    """Status and code of the answer to a new session."""
    change = {"organisationId": organisation} | ({"currency": currency} if currency else {})
    answer = await api.post("/v1/donation-sessions", change)
    return answer.status_code, answer.json().get("error", {}).get("code")


async def test_who_receives_is_decided_by_one_rule(service: Service, api: Client) -> None:
    sets = [chosen for size in (1, 2, 3) for chosen in combinations(TYPES, size)]
    for types, active in product(sets, (True, False)):
        organisation = await factories.nonprofit(service, types=types, active=active)
        receives = organisations_domain.can_receive_donations(types, active=active)
        expected = (200, None) if receives else NOT_RECEIVABLE
        assert await told(api, organisation, None) == expected, (types, active)


async def test_which_currencies_are_received_is_decided_by_one_rule(service: Service, api: Client) -> None:
    assert COUNTRIES["ATA"].currency is None
    for country in COUNTRY_CODES:
        organisation = await factories.nonprofit(service, country=country)
        received = organisations_domain.donation_currencies_of_country(country)
        for currency in CURRENCIES:
            takes = currency is None or currency in received
            status, _ = await told(api, organisation, currency)
            assert (status == 200) is takes, (country, currency)
