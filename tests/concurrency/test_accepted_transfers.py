"""Transfers that officers accept beside donors who cancel what they declared (M6)."""

import asyncio
from functools import partial

from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.gift_aid_world import HOME
from tests.support.giving import Giving, gift
from tests.support.locking import waits_for_lock
from tests.support.service import Service
from tests.support.transfers import begun, came, reference, stated


async def accepted(giving: Giving) -> None:
    """An officer accepts what is held of the donor's transfers."""
    named = await reference(giving)
    async with giving.service.db.write() as tx:
        [held] = await suspense.lock_by_reference(tx, named)
        await bank_transfers.apply_unallocated_payment_to_donation(tx, held.id, "the donor called", "officer")


async def test_m6_a_transfer_is_accepted_while_its_declaration_is_cancelled(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="GBR")
    giving = await support.open_session(service, api, organisationId=nonprofit)
    await begun(giving, gift(2500, "GBP", declarer=HOME))
    named = await reference(giving)
    await stated(giving, came(f"TX-{named}", 2400, named, "GBP"), reference=f"SX-{named}", currency="GBP")
    [before] = await giving.donations()
    async with service.db.write() as tx:
        declaration = tx.ids.decode("giftaid", before["giftAidId"])
        assert declaration is not None
        await gift_aid_claims.cancel_declaration_and_adjust_claims(tx, declaration, None)
        officer = asyncio.create_task(accepted(giving))

        await eventually(partial(waits_for_lock, service))
    await officer
    [now] = await giving.donations()
    assert (now["status"], now["amount"], now["giftAidId"]) == ("RECEIVED_PAYMENT", 2400, None)
