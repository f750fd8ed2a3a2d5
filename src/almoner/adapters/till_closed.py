"""No simulated donor pays where payments are those of a provider in the world."""

from almoner.giving.donations.domain import InvalidState

_WHY = "simulated donors pay at the built-in provider; pay on the provider's own page, with one of its test cards"


class ClosedTill:
    """What simulations are told instead."""

    async def pay(self, _payment: str, _card: str) -> str:
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def dispute(self, _payment: str) -> str | None:
        """Raises InvalidState."""
        raise InvalidState(_WHY)

    async def decide(self, _payment: str, **_won: bool) -> None:
        """Raises InvalidState."""
        raise InvalidState(_WHY)
