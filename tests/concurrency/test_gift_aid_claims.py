"""Gift aid claims at the same moment: a gift is claimed for once, and what changes meanwhile goes back."""

import asyncio
from functools import partial
from uuid import UUID

from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import GiftAidClaim, GiftAidClaimError
from almoner.platform.database.transactions import Tx
from tests.support import factories
from tests.support.claims import BY, Cause, cause
from tests.support.client import Client
from tests.support.eventually import eventually
from tests.support.giftaid import declared
from tests.support.locking import waits_for_lock
from tests.support.payouts import simulate, uuid_of
from tests.support.service import Service


async def tried(of: Cause) -> GiftAidClaim | None:
    """A draft, unless there is one or nothing to claim."""
    try:
        return (await of.draft()).claim
    except GiftAidClaimError:
        return None


async def test_drafts_at_the_same_moment_are_one(service: Service, api: Client) -> None:
    of = await cause(service, api)
    for _ in range(5):
        await of.gift(1000)
    drafts = [one for one in await asyncio.gather(*[tried(of) for _ in range(6)]) if one is not None]
    assert [one.amount_minor for one in drafts] == [5000]


async def test_a_gift_that_goes_to_another_charity_meanwhile_is_claimed_by_one(service: Service, api: Client) -> None:
    for _ in range(4):
        one, other = await cause(service, api), await cause(service, api)
        moved = await one.gift(1000)

        async def move(moved: str = moved["id"], to: Cause = other) -> None:
            await simulate(api, moved, "reassign", organisationId=to.organisation)

        await asyncio.gather(tried(one), move(), tried(other))
        await service.drain()
        async with service.db.read() as tx:
            assert await _living(tx, uuid_of(service, "donation", moved["id"])) <= 1


async def test_what_goes_to_another_while_its_claim_is_sent_goes_back(service: Service, api: Client) -> None:
    for _ in range(4):
        of, other = await cause(service, api), await cause(service, api)
        moved = await of.gift(1000)
        claim = await of.drafted()

        async def submit(claim_id: UUID = claim.id) -> None:
            async with service.db.write() as tx:
                await gift_aid_claims.mark_submitted(tx, claim_id, "CH-1", recorded_by=BY)

        async def move(moved: str = moved["id"], to: Cause = other) -> None:
            await simulate(api, moved, "reassign", organisationId=to.organisation)
            await service.drain()

        await asyncio.gather(submit(), move())
        assert await of.adjusted() == [("reassigned", 1000, 1000)]


async def test_what_is_told_several_times_at_once_goes_back_once(service: Service, api: Client) -> None:
    of, other = await cause(service, api), await cause(service, api)
    moved = await of.gift(1000)
    await of.paid()
    await simulate(api, moved["id"], "reassign", organisationId=other.organisation)
    donation = uuid_of(service, "donation", moved["id"])

    async def adjust() -> None:
        async with service.db.write() as tx:
            await gift_aid_claims.adjust_gift_aid_claim_of_donation(tx, donation)

    await asyncio.gather(*[adjust() for _ in range(6)], service.drain())
    assert await of.adjusted() == [("reassigned", 1000, 1000)]


async def test_a_gift_made_while_its_declaration_is_cancelled_bears_the_one_before(
    service: Service, api: Client
) -> None:
    of, donor = await cause(service, api), (await factories.user(api))["id"]
    before, cancelled = [await declared(api, userId=donor) for _ in range(2)]
    async with service.db.write() as tx:
        await gift_aid_claims.cancel_declaration_and_adjust_claims(
            tx, uuid_of(service, "giftaid", cancelled["id"]), None
        )
        giving = asyncio.create_task(of.received(1000, userId=donor))

        await eventually(partial(waits_for_lock, service))
    assert (await giving)["giftAidId"] == before["id"]


async def _living(tx: Tx, donation_id: UUID) -> int:
    return int(
        await tx.fetchval("select count(*) from gift_aid_claim_donation where donation_id = $1 and active", donation_id)
    )
