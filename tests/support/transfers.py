"""Donors who give by bank transfer, for tests."""

from typing import Any

from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails, SessionDonation
from tests.support import bank, camt
from tests.support.camt import Entry
from tests.support.giving import Giving, gift


async def begun(giving: Giving, chosen: DonationDetails | None = None) -> SessionDonation:
    """The donor has asked for the details."""
    return await donations_flows.start_transfer(giving.work, giving.session_id, chosen or gift())


async def confirmed(giving: Giving) -> None:
    """The donor has said that it was sent."""
    async with giving.service.db.write() as tx:
        await bank_transfers.confirm_transfer_sent(tx, giving.session_id)


async def reference(giving: Giving) -> str:
    """Under which the session's newest donation is to be transferred."""
    async with giving.service.db.read() as tx:
        known = await donations.load_session_donation(tx, giving.session_id)
        assert known.donation is not None
        return str(
            await tx.fetchval(
                "select provider_payment from payment where donation_id = $1 order by id desc limit 1",
                known.donation.id,
            )
        )


def came(name: str, minor: int, words: str, currency: str = "USD", **more: Any) -> Entry:
    """A line of our bank, whose own name of it is ``name``."""
    return camt.entry(name, minor, words=words, end_to_end="NOTPROVIDED", currency=currency, **more)


async def stated(giving: Giving, *entries: Entry, reference: str, currency: str = "USD") -> Any:
    """An officer has imported a statement."""
    return await bank.stated(giving.service, camt.statement(*entries, reference=reference, currency=currency))
