"""Donors who pay by bank transfer, for tests."""

from typing import Any

from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationDetails, SessionDonation
from tests.support import bank, camt
from tests.support.camt import Entry
from tests.support.giving import Giving, gift


async def begun(giving: Giving, chosen: DonationDetails | None = None) -> SessionDonation:
    """Request the transfer details as a donor."""
    return await donations_flows.start_bank_transfer(giving.work, giving.session_id, chosen or gift())


async def confirmed(giving: Giving) -> None:
    """Confirm as the donor that the transfer was sent."""
    async with giving.service.db.write() as tx:
        await bank_transfers.confirm_transfer_sent(tx, giving.session_id)


async def reference(giving: Giving) -> str:
    """The payment reference of the session's newest donation."""
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
    """A line of our bank, whose own ID of it is ``name``."""
    return camt.entry(name, minor, words=words, end_to_end="NOTPROVIDED", currency=currency, **more)


async def stated(giving: Giving, *entries: Entry, reference: str, currency: str = "USD") -> Any:
    """Import a bank statement as an officer."""
    return await bank.stated(giving.service, camt.statement(*entries, reference=reference, currency=currency))
