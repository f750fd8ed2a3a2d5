"""Simulates a donor at the built-in payment provider, for the sandbox's simulated donations."""

from typing import Final

from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Database
from almoner.provider_test import service as provider_test
from almoner.provider_test.domain import Card, CardForm, CardOutcome, DeclineReason

_GOOD_FOR_YEARS: Final = 5
"""The validity of a simulated card in years: recurring donations of some years need no new card."""


class TestPaymentSimulator:
    """Uses the provider's pages as a donor would, without a browser."""

    __test__ = False  # not a test class

    def __init__(self, db: Database) -> None:
        self._db = db

    async def open_dispute_and_get_status(self, payment_id: str) -> str | None:
        """Open a dispute of a paid payment; returns the dispute's status, None if there is nothing left to dispute."""
        async with self._db.write() as tx:
            opened = await provider_test.open_dispute(tx, payment_id)
        return opened.status if opened else None

    async def decide_dispute(self, payment_id: str, *, won: bool) -> None:
        """Decide an open dispute as the donor's bank."""
        async with self._db.write() as tx:
            await provider_test.decide_dispute(tx, payment_id, won=won)

    async def fail_next_charge(self, customer_id: str, payment_method_id: str, decline_code: str) -> bool:
        """Make the next charge of a saved card fail."""
        async with self._db.write() as tx:
            return await provider_test.fail_next_charge(tx, customer_id, payment_method_id, DeclineReason(decline_code))

    async def expire_card(self, customer_id: str, payment_method_id: str) -> bool:
        """Expire a saved card."""
        async with self._db.write() as tx:
            return await provider_test.expire_card(tx, customer_id, payment_method_id)

    async def renew_card(self, customer_id: str, payment_method_id: str) -> bool:
        """Renew a saved card as its bank does."""
        async with self._db.write() as tx:
            return await provider_test.renew_card(tx, customer_id, payment_method_id)

    async def pay_with_card_and_get_status(self, payment_id: str, card_number: str) -> str:
        """Pay with a card, or answer an open challenge, which a successful card confirms; returns the payment's status.

        ``declined`` if it is still unpaid, ``processing`` while the challenge is open.
        """
        now = self._db.deployment.clock.now()
        typed = CardForm(
            number=card_number, expiry=f"12/{now.year + _GOOD_FOR_YEARS}", cvc="123", name="Simulated donor"
        ).parse_card_or_field_errors(now)
        if not isinstance(typed, Card):
            raise IncorrectParams("body.card is not the number of a card")
        async with self._db.write() as tx:
            known = await provider_test.find_payment(tx, payment_id)
            if known is not None and known.status == "processing":
                confirmed = typed.outcome in (CardOutcome.SUCCEEDS, CardOutcome.CHALLENGED)
                tried = await provider_test.answer_challenge(tx, payment_id, confirmed=confirmed)
            else:
                tried = await provider_test.pay_with_card(tx, payment_id, typed)
        if tried is None:
            return "unknown"
        return "declined" if tried.status == "open" else tried.status
