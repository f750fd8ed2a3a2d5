"""Gift aid claims: what a charity can claim, once; and what goes back when a claimed gift is one no more."""

from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.checkout.donations import store_money as donations_store_money
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims import store as claims_store
from almoner.giving.gift_aid.claims.domain import GiftAidClaimError
from almoner.giving.gift_aid.declarations import service as gift_aid_declarations
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.errors import NotFound
from tests.support import factories
from tests.support.claims import BY, Cause, cause
from tests.support.client import Client, data
from tests.support.giftaid import charity, declared
from tests.support.giving import gift, open_session
from tests.support.payouts import simulate, uuid_of, verified
from tests.support.refunds import begun, by_hand
from tests.support.service import Service

DAY = timedelta(days=1)
LONDON = ZoneInfo("Europe/London")


@pytest.fixture
async def charity_(service: Service, api: Client) -> Cause:
    """A charity that nothing was given to."""
    return await cause(service, api)


async def test_what_was_received_with_gift_aid_is_claimed_once(charity_: Cause) -> None:
    await charity_.gift(1000)
    await charity_.gift(1234, firstName="Bob", postcode="n11aa")
    await charity_.received(5000)  # nobody declared for it
    await factories.direct(charity_.service, charity_.api, organisation=charity_.organisation, currencyCode="GBP")
    claim = (await charity_.draft()).claim
    assert claim is not None
    assert (claim.donation_count, claim.line_count, claim.amount_minor, claim.tax_minor) == (2, 2, 2234, 558)
    assert (claim.deducted_minor, claim.hmrc_payment_minor, claim.status) == (0, 558, "drafted")
    today = f"{charity_.service.clock.now().astimezone(LONDON):%d/%m/%y}"
    assert await charity_.written(claim) == [
        f"Ms,Ada,Byron,12,SW1Y 4JH,,,{today},10.00",
        f"Ms,Bob,Byron,12,N1 1AA,,,{today},12.34",
    ]
    assert (await charity_.draft()).claim is None, "all of it is in the draft"


async def test_gifts_before_a_moment_are_claimed_and_those_since_by_the_next(charity_: Cause) -> None:
    await charity_.gift(1000)
    charity_.service.clock.advance(days=1)
    before = charity_.service.clock.now()
    await charity_.gift(2000)
    first = (await charity_.draft(before)).claim
    assert first is not None
    assert first.amount_minor == 1000
    with pytest.raises(GiftAidClaimError, match="the charity already has a draft"):
        await charity_.draft()
    async with charity_.service.db.write() as tx:
        await gift_aid_claims.mark_submitted(tx, first.id, "CH-1", recorded_by=BY)
    assert (await charity_.drafted()).amount_minor == 2000


async def test_a_gift_waits_while_something_of_it_is_on_its_way_back(charity_: Cause) -> None:
    gift_ = await charity_.gift(1000)
    under_way = [await begun(charity_.service, gift_, minor) for minor in (300, 200)]
    assert (await charity_.draft()).claim is None
    await by_hand(charity_.service, under_way[0].id, "OUT-1")
    assert (await charity_.draft()).claim is None
    async with charity_.service.db.write() as tx:
        await refunds.mark_refused(tx, under_way[1].id, "no account", BY)
    assert (await charity_.drafted()).amount_minor == 700


async def test_gifts_that_hmrc_would_not_take_are_listed_with_all_that_is_wrong(charity_: Cause) -> None:
    good = await charity_.gift(1000)
    wrong = await charity_.unclaimable_gift(2000, first_name=None, last_name="@SUM(A1)", postcode="1010")
    drafted = await charity_.draft()
    assert drafted.claim is not None
    assert drafted.claim.amount_minor == good["amount"]
    [left] = drafted.excluded_donations
    assert left.donation_id == uuid_of(charity_.service, "donation", wrong["id"])
    assert left.problems == (
        "the first name is missing, and needed to claim Gift Aid",
        "the last name must not begin with a sign that a spreadsheet would treat as a formula",
        "the postcode must be a full UK postcode such as SW1A 1AA, or the country must not be the United Kingdom",
    )
    again = await charity_.draft()
    assert (again.claim, len(again.excluded_donations)) == (None, 1)


async def test_the_lifecycle_of_a_claim(charity_: Cause) -> None:
    await charity_.gift(1000)
    service, claim = charity_.service, await charity_.drafted()
    with pytest.raises(GiftAidClaimError, match="the claim is drafted"):
        async with service.db.write() as tx:
            await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, recorded_by=BY)
    with pytest.raises(GiftAidClaimError, match="the claim is drafted"):
        async with service.db.write() as tx:
            await gift_aid_claims.mark_rejected(tx, claim.id, "no", recorded_by=BY)
    async with service.db.write() as tx:
        await gift_aid_claims.withdraw_draft(tx, claim.id, "a donor called", recorded_by=BY)
    claim = await charity_.submitted()
    assert claim.hmrc_reference == "CH-1"
    with pytest.raises(GiftAidClaimError, match="the claim is submitted"):
        async with service.db.write() as tx:
            await gift_aid_claims.withdraw_draft(tx, claim.id, "too late", recorded_by=BY)
    async with service.db.write() as tx:
        await gift_aid_claims.mark_rejected(tx, claim.id, "the charity's number is wrong", recorded_by=BY)
    claim = await charity_.submitted()
    with pytest.raises(GiftAidClaimError, match=r"2\.50 GBP is due: use --note to say why HMRC paid 2\.49 GBP"):
        async with service.db.write() as tx:
            await gift_aid_claims.mark_paid(tx, claim.id, 249, note=None, recorded_by=BY)
    async with service.db.write() as tx:
        await gift_aid_claims.mark_paid(tx, claim.id, 249, note="rounded by HMRC", recorded_by=BY)
        stored = await gift_aid_claims.get(tx, claim.id)
    assert (stored.status, stored.paid_minor, stored.note) == ("paid", 249, "rounded by HMRC")
    assert [one.status for one in await listed(charity_)] == ["paid", "rejected", "withdrawn"]
    assert (await charity_.draft()).claim is None
    with pytest.raises(NotFound):
        async with service.db.write() as tx:
            await gift_aid_claims.mark_submitted(tx, charity_.id, "CH-2", recorded_by=BY)


async def listed(of: Cause) -> list[Any]:
    """The charity's claims, newest first."""
    async with of.service.db.read() as tx:
        return list(await gift_aid_claims.list_newest_claims(tx, of.id, 10))


async def test_only_charities_of_the_united_kingdom_claim(service: Service, api: Client) -> None:
    abroad = Cause(service, api, await factories.nonprofit(service))
    with pytest.raises(GiftAidClaimError, match="is not a UK charity"):
        await abroad.draft()
    with pytest.raises(NotFound):
        await Cause(service, api, service.db.deployment.ids.example_id("organisation")).draft()
    with pytest.raises(GiftAidClaimError, match="future"):
        await (await cause(service, api)).draft(service.clock.now() + timedelta(days=1))


async def test_a_reassigned_gift_goes_back_off_the_next_claim(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    moved, _ = await charity_.gift(1000), await charity_.gift(3000)
    first = await charity_.paid()
    other = Cause(service, api, await charity(service))
    await simulate(api, moved["id"], "reassign", organisationId=other.organisation)
    await service.drain()
    assert await charity_.adjusted() == [("reassigned", 1000, 1000)]
    await simulate(api, moved["id"], "reassign", organisationId=await charity(service))
    await service.drain()
    assert await charity_.adjusted() == [("reassigned", 1000, 1000)], "once"
    await charity_.gift(600)
    second = await charity_.paid()
    assert (second.amount_minor, second.deducted_minor, second.hmrc_payment_minor) == (600, 600, 0)
    assert await charity_.adjusted() == [("reassigned", 1000, 400)], "no claim is less than nothing"
    await charity_.gift(2002)
    third = await charity_.drafted()
    assert (third.tax_minor, third.adjustment_minor, third.hmrc_payment_minor) == (500, 100, 400)
    assert first.hmrc_payment_minor == 1000
    assert await charity_.adjusted() == [("reassigned", 1000, 0)]
    async with service.db.write() as tx:
        await gift_aid_claims.withdraw_draft(tx, third.id, "anew", recorded_by=BY)
    assert await charity_.adjusted() == [("reassigned", 1000, 400)], "still to be taken off"


async def test_no_other_charity_claims_for_a_gift_that_it_was_given(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    moved, other = await charity_.gift(1000), await cause(charity_.service, charity_.api)
    await charity_.submitted()
    await simulate(api, moved["id"], "reassign", organisationId=other.organisation)
    await service.drain()
    assert (await other.draft()).claim is None, "the declaration names the first"
    assert await charity_.adjusted() == [("reassigned", 1000, 1000)]
    await simulate(api, moved["id"], "reassign", organisationId=charity_.organisation)
    assert (await charity_.draft()).claim is None, "it is not known what the donor was told"


async def test_nothing_goes_back_before_hmrc_has_paid(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    moved, _ = await charity_.gift(1000), await charity_.gift(3000)
    first = await charity_.submitted()
    await simulate(api, moved["id"], "reassign", organisationId=await charity(service))
    await service.drain()
    await charity_.gift(5000)
    second = await charity_.drafted()
    assert second.deducted_minor == 0
    async with service.db.write() as tx:
        await gift_aid_claims.mark_rejected(tx, first.id, "anew", recorded_by=BY)
        await gift_aid_claims.withdraw_draft(tx, second.id, "anew", recorded_by=BY)
    third = await charity_.paid()
    assert (third.amount_minor, third.deducted_minor) == (8000, 0), "HMRC never paid for the one that went"


async def test_a_cancelled_declaration_takes_claimed_gifts_back(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    user = (await factories.user(api))["id"]
    made = await declared(api, userId=user)
    await charity_.received(1000, userId=user)
    service.clock.advance(days=2)
    await charity_.received(2000, userId=user)
    await charity_.paid()
    async with service.db.write() as tx:
        await gift_aid_claims.cancel_declaration_and_adjust_claims(
            tx, uuid_of(service, "giftaid", made["id"]), tx.now - timedelta(days=1)
        )
    assert await charity_.adjusted() == [("cancelled", 2000, 2000)]


async def test_a_draft_that_says_too_much_is_not_written_and_adjusted_when_it_was_sent_anyway(
    charity_: Cause,
) -> None:
    service, api = charity_.service, charity_.api
    moved = await charity_.gift(1000)
    await charity_.gift(2000)
    claim = await charity_.drafted()
    await simulate(api, moved["id"], "reassign", organisationId=await charity(service))
    await service.drain()
    assert await charity_.adjusted() == []
    with pytest.raises(GiftAidClaimError, match="1 of its donations"):
        await charity_.written(claim)
    async with service.db.write() as tx:
        await gift_aid_claims.mark_submitted(tx, claim.id, "CH-1", recorded_by=BY)
    assert await charity_.adjusted() == [("reassigned", 1000, 1000)]
    assert len(await charity_.written(claim)) == 2, "what HMRC has"


async def test_gifts_of_all_partners_are_claimed_for_together(charity_: Cause, other: Client) -> None:
    await charity_.gift(1000)
    theirs = Cause(charity_.service, other, charity_.organisation)
    await theirs.gift(500)
    claim = (await charity_.draft(aggregate=True)).claim
    assert claim is not None
    assert (claim.donation_count, claim.amount_minor, claim.line_count) == (2, 1500, 2), (
        "one person's gifts stand on lines of their own"
    )


async def test_a_gift_of_the_hosted_page_is_claimed_by_what_its_donor_declared(charity_: Cause) -> None:
    home = Declarer("Professor", "Ada", "King-Noel", "12", "Rue", "Paris", "France", "75001")
    paid, never = [await open_session(charity_.service, charity_.api, organisation=charity_.organisation) for _ in "12"]
    for giving in (paid, never):
        await giving.begin(gift(2000, "GBP", declarer=home))
    paid.provider.pay_with_card(paid.provider.only())
    await paid.come_back()
    claim = await charity_.drafted()
    today = f"{charity_.service.clock.now().astimezone(LONDON):%d/%m/%y}"
    assert await charity_.written(claim) == [f'Prof,Ada,King Noel,"12, Rue, Paris, France",X,,,{today},20.00']
    charity_.service.clock.advance(days=40)
    await charity_.service.drain()
    assert len(await charity_.written(claim)) == 1, "forgotten is only who declared for the gift that never came"


async def test_a_part_that_was_refunded_before_is_not_claimed_and_one_refunded_since_goes_back(
    charity_: Cause,
) -> None:
    service, api = charity_.service, charity_.api
    one, other = await charity_.gift(1000), await charity_.gift(2000)
    await simulate(api, one["id"], "refund", amount=300)
    await service.drain()
    claim = await charity_.paid()
    assert claim.amount_minor == 2700
    assert await charity_.adjusted() == []
    await simulate(api, other["id"], "refund", amount=500)
    await simulate(api, one["id"], "refund")
    await simulate(api, other["id"], "refund", amount=1)
    await service.drain()
    back = await charity_.adjusted()
    assert ("refunded", 700, 700) in back
    assert sum(minor for _, minor, _ in back) == 1201, "each penny once, however it was told"
    await charity_.gift(4000)
    assert (await charity_.drafted()).deducted_minor == 1201


async def test_what_is_wholly_refunded_or_on_its_way_back_is_not_claimed(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    gone, going = await charity_.gift(1000), await charity_.gift(2000)
    await simulate(api, gone["id"], "refund")
    asked = await api.post(f"/v1/donations/{going['id']}/refund", {})
    assert asked.status_code == 200
    await service.drain()
    assert (await charity_.draft()).claim is None


@pytest.mark.parametrize(("outcome", "adjusted"), [("won", []), ("lost", [("refunded", 2000, 2000)])])
async def test_a_disputed_gift_goes_back_when_the_bank_wins(
    charity_: Cause, outcome: str, adjusted: list[tuple[str, int, int]]
) -> None:
    service, api = charity_.service, charity_.api
    claimed, unclaimed = [await hosted(charity_) for _ in range(2)]
    await simulate(api, unclaimed, "dispute")
    claim = await charity_.paid()
    assert (claim.donation_count, claim.amount_minor) == (1, 2000), "nobody claims for a gift that is disputed"
    await simulate(api, claimed, "dispute", outcome=outcome)
    await simulate(api, unclaimed, "dispute", outcome=outcome)
    await service.drain()
    assert await charity_.adjusted() == adjusted
    assert ((await charity_.draft()).claim is not None) == (outcome == "won")


async def hosted(of: Cause) -> str:
    """A gift of a user with a declaration, paid on the hosted page."""
    user = (await factories.user(of.api))["id"]
    await declared(of.api, userId=user)
    session = data(await of.api.post("/v1/donation-sessions", {"organisationId": of.organisation, "userId": user}))
    donor = {"firstName": "Ada", "lastName": "Byron", "email": "ada@example.org", "card": factories.CARD}
    await simulate(of.api, session["id"], "donate", amount=2000, currencyCode="GBP", **donor)
    [made] = data(await of.api.get("/v1/donations", pageSize=1))
    assert made["giftAidId"] is not None
    return str(made["id"])


async def test_gifts_that_are_too_old_are_counted_and_stand_in_nobodys_way(charity_: Cause) -> None:
    await charity_.gift(1000)
    charity_.service.clock.advance(days=366 * 5)
    await charity_.gift(2000)
    drafted = await charity_.draft()
    assert (drafted.expired_donation_count, drafted.excluded_donations) == (1, ())
    assert drafted.claim is not None
    assert drafted.claim.amount_minor == 2000


async def test_a_gift_that_was_paid_out_goes_back_to_hmrc_as_well_when_the_bank_wins(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    given = await hosted(charity_)
    await verified(service, api, charity_.organisation)
    await simulate(api, given, "settle")
    assert (await simulate(api, given, "disburse"))["status"] == "DISBURSED"
    assert (await charity_.paid()).amount_minor == 2000
    await simulate(api, given, "dispute", outcome="lost")
    await service.drain()
    assert await charity_.adjusted() == [("refunded", 2000, 2000)]


async def test_a_gift_that_was_paid_out_and_lost_to_the_bank_before_is_never_claimed(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    given = await hosted(charity_)
    await verified(service, api, charity_.organisation)
    await simulate(api, given, "settle")
    await simulate(api, given, "disburse")
    await simulate(api, given, "dispute", outcome="lost")
    await service.drain()
    assert (await charity_.draft()).claim is None
    async with service.db.read() as tx:
        assert await claims_store.count_expired_donations(tx, charity_.id, tx.now) == 0, "nor is it missed later"


async def test_a_gift_that_got_a_declaration_while_it_was_cancelled_is_no_claimed_one(charity_: Cause) -> None:
    sent = await charity_.gift(1000)
    await charity_.submitted()
    unsent = await charity_.gift(2000)
    for one in (sent, unsent):
        async with charity_.service.db.write() as tx:  # leaves it on the gift, as one that is just being made
            await gift_aid_declarations.cancel_declaration(
                tx, uuid_of(charity_.service, "giftaid", one["giftAidId"]), tx.now - DAY
            )
    assert (await charity_.draft()).claim is None
    assert await charity_.adjusted() == [("cancelled", 1000, 1000)]
    for one in (sent, unsent):  # other tests of this database check that there is no such gift
        async with charity_.service.db.write() as tx:
            named = uuid_of(charity_.service, "giftaid", one["giftAidId"])
            await donations_store_money.remove_declaration_from_donations(tx, named, tx.now - DAY)


async def test_a_gift_whose_payout_came_back_stays_claimed(charity_: Cause) -> None:
    service, api = charity_.service, charity_.api
    given = await hosted(charity_)
    await verified(service, api, charity_.organisation)
    await simulate(api, given, "settle")
    await simulate(api, given, "disburse")
    await charity_.paid()
    await simulate(api, given, "return")
    await service.drain()
    assert (await charity_.adjusted(), (await charity_.draft()).claim) == ([], None)
