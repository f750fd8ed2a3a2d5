"""Nonprofits that are asked whether they want donations, for tests."""

from itertools import count
from typing import Any

from tests.support import factories
from tests.support.agents import contact, link_in, mail_to
from tests.support.client import Client
from tests.support.service import Service

_numbers = count(1)


async def asked(
    service: Service, api: Client, *, name: str | None = None, country: str = "USA", organisation: str | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """A verification whose nonprofit is asked, and the email that it gets."""
    nonprofit = organisation or await factories.nonprofit(service, name=name, country=country)
    office = f"office{next(_numbers)}@payee.example"
    await contact(service, nonprofit, office)
    made = await factories.verification(service, api, organisation=nonprofit)
    return made, await mail_to(service, api, office)


__all__ = ["asked", "contact", "link_in", "mail_to"]
