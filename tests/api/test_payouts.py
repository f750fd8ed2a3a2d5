"""A gift's way from the provider to the nonprofit, and back when the bank returns it (spec 3.2; settled 4, 5, 8, 9)."""

from typing import Any

import asyncpg
import pytest

from almoner.giving.checkout.donation_requests import flows as donation_requests_flows
from almoner.giving.checkout.donations import service as donations
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.money import MAX_MINOR
from almoner.platform.database.transactions import ALL_PARTNERS, Partner
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import books, factories
from tests.support import payouts as support
from tests.support.client import Client, data
from tests.support.database import TestDatabase
from tests.support.payouts import gift, payouts, refused, run, settled, simulate, verified
from tests.support.requests import NEXT_PERIOD
from tests.support.service import Service, Tenant, serving

# A currency of each test's own: the accounts of provider and bank are everybody's.
PAID = ["donation.created", "donation.hosted.payment_received", "donation.payment_successful"]


async def test_m3_a_gift_from_the_donor_to_the_nonprofit_and_back_and_out_again(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="CHE")
    made = await factories.donation(service, api, organisation=nonprofit, amount=10_000, currencyCode="CHF")
    assert await owned(service, nonprofit, "CHF") == (10_000, 0, 10_000, 0, 0)

    done = await simulate(api, made["id"], "settle")
    assert (done["status"], done["settledAmount"]) == ("RECEIVED_PAYMENT", {"amount": 9750, "currency": "CHF"})
    assert done["settledAt"] is not None
    assert await owned(service, nonprofit, "CHF") == (9750, 0, 0, 9750, 0)

    await service.drain()
    (bucket,) = await payouts(api)
    assert (bucket["status"], bucket["amount"], bucket["waitingReason"]) == ("PENDING", 9750, "verification_pending")
    await run(service)
    assert (await gift(api, made))["status"] == "RECEIVED_PAYMENT"

    await verified(service, api, nonprofit)
    await service.drain()
    assert (await payouts(api))[0]["waitingReason"] is None
    await run(service)
    paid = await gift(api, made)
    assert (paid["status"], paid["disbursedAt"] is not None) == ("DISBURSED", True)
    assert await owned(service, nonprofit, "CHF") == (0, 0, 0, 0, 0)
    (payout,) = await payouts(api)
    assert (payout["status"], payout["paidAt"], payout["waitingReason"]) == ("PAID", paid["disbursedAt"], None)

    await support.came_back(service, payout)
    back = await gift(api, made)
    assert (back["status"], back["disbursedAt"], back["settledAmount"]) == (
        "RECEIVED_PAYMENT",
        None,
        done["settledAmount"],
    )
    assert await owned(service, nonprofit, "CHF") == (9750, 0, 0, 9750, 0)

    await run(service)
    assert (await payouts(api))[0]["waitingReason"] == "on_hold"
    assert (await gift(api, made))["status"] == "RECEIVED_PAYMENT"
    await support.release(service, nonprofit)
    await run(service)
    assert (await gift(api, made))["status"] == "DISBURSED"
    assert await owned(service, nonprofit, "CHF") == (0, 0, 0, 0, 0)
    assert [one["status"] for one in await payouts(api)] == ["PAID", "RETURNED"]
    assert await support.events_of(service, made) == [
        *PAID,
        "donation.settled",
        "donation.disbursed",
        "donation.payout_returned",
        "donation.disbursed",
    ]
    assert await books.balanced(service)


async def owned(service: Service, nonprofit: str, currency: str) -> tuple[int, int, int, int, int]:
    """Owed to the nonprofit, on its way, held by the provider, in our bank, fees that no gift bore."""
    return (
        await books.owed(service, nonprofit, currency),
        await books.on_its_way(service, nonprofit, currency),
        await books.held(service, currency),
        await books.in_bank(service, currency),
        await books.fees(service, currency),
    )


async def test_one_payout_for_all_gifts_of_a_nonprofit_and_currency(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, country="GBR")
    await verified(service, api, nonprofit)
    for amount, currency in ((1000, "GBP"), (2000, "GBP"), (4000, "EUR")):
        await settled(service, api, nonprofit, amount=amount, currencyCode=currency)
    await run(service)
    found = {(one["currencyCode"], one["amount"], one["status"]) for one in await payouts(api)}
    assert found == {("GBP", 2925, "PAID"), ("EUR", 3900, "PAID")}
    late = await settled(service, api, nonprofit, amount=500, currencyCode="GBP")
    await service.drain()
    assert {one["status"]: one["amount"] for one in await payouts(api, status="PENDING")} == {"PENDING": 487}
    assert (await gift(api, late))["status"] == "RECEIVED_PAYMENT"


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (None, "verification_pending"),
        ("reject", "verification_rejected"),
        ("expire", "verification_expired"),
    ],
)
async def test_a_payout_tells_why_it_waits(service: Service, api: Client, action: str | None, reason: str) -> None:
    nonprofit = await factories.nonprofit(service)
    made = data(await api.post("/v1/monetary-donation-verifications", {"organisationId": nonprofit}))
    await service.drain()
    if action:
        await simulate(api, made["id"], action)
    donation = await settled(service, api, nonprofit)
    await service.drain()
    assert [one["waitingReason"] for one in await payouts(api)] == [reason]
    code, reasons = await refused(api, donation["id"], "disburse")
    assert code == "donation/invalid_state"
    assert reason in reasons[0]


async def test_the_reason_of_a_gift_is_known_before_and_after_it_is_in_a_bucket(
    service: Service, api: Client, tenant: Tenant
) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await settled(service, api, nonprofit)

    async def reason(least_gifts: int = 0) -> str | None:
        async with service.db.read() as tx:
            donation = await donations.get(tx, tenant.partner, support.uuid_of(service, "donation", made["id"]))
            return await disbursements.find_donation_waiting_reason(
                tx, tenant.partner, donation, DisbursementRules(least_gifts)
            )

    assert await reason() == "verification_missing"
    await service.drain()
    assert await reason() == "verification_pending", "it is begun when money comes for a nonprofit"
    await verified(service, api, nonprofit)
    await service.drain()
    made = await settled(service, api, nonprofit)
    assert await reason(1000) == "below_threshold"
    await service.drain()
    assert await reason() is None
    await run(service)
    assert await reason() is None


async def test_a_payout_waits_for_a_nonprofit_that_its_register_dropped(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    async with service.db.write() as tx:
        await tx.execute(
            "update organisation set active = false where id = $1", support.uuid_of(service, "organisation", nonprofit)
        )
    ran = await run(service)
    assert [one["waitingReason"] for one in await payouts(api)] == ["organisation_inactive"]
    assert ("organisation_inactive", "USD") in ran.waiting_totals_by_reason_and_currency


async def test_a_verified_nonprofit_can_be_held_and_released(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    await service.drain()
    await support.hold(service, nonprofit)
    assert [one["waitingReason"] for one in await payouts(api)] == ["on_hold"]
    ran = await run(service)
    assert ("on_hold", "USD") in ran.waiting_totals_by_reason_and_currency
    code, reasons = await refused(api, made["id"], "disburse")
    assert (code, "on_hold" in reasons[0]) == ("donation/invalid_state", True)
    await support.release(service, nonprofit)
    assert [one["waitingReason"] for one in await payouts(api)] == [None]
    with pytest.raises(DisbursementError):
        await support.release(service, nonprofit)
    await run(service)
    assert (await gift(api, made))["status"] == "DISBURSED"


async def test_a_hold_can_be_of_one_partners_gifts_alone(
    service: Service, api: Client, other: Client, tenant: Tenant
) -> None:
    nonprofit = await factories.nonprofit(service)
    organisation_id = support.uuid_of(service, "organisation", nonprofit)
    for client in (api, other):
        await verified(service, client, nonprofit)
        await settled(service, client, nonprofit)
    stated: Any = {"note": "asked by mail", "decided_by": "officer", "rules": DisbursementRules()}
    async with service.db.write() as tx:
        await disbursements.hold_disbursements(tx, tenant.partner, organisation_id, **stated)
    await run(service)
    assert [one["waitingReason"] for one in await payouts(api)] == ["on_hold"]
    assert [one["status"] for one in await payouts(other)] == ["PAID"]
    await support.hold(service, nonprofit)
    async with service.db.write() as tx:
        await disbursements.release_holds(tx, tenant.partner, organisation_id, **stated)
    await run(service)
    assert [one["waitingReason"] for one in await payouts(api)] == ["on_hold"]
    async with service.db.write() as tx:
        with pytest.raises(DisbursementError, match="release it without --partner"):
            await disbursements.release_holds(tx, tenant.partner, organisation_id, **stated)


async def test_a_payout_waits_until_it_is_worth_a_transfer(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    await settled(service, api, nonprofit, amount=1000)
    await run(service, DisbursementRules(minimum_as_multiple_of_minimum_donation=15))
    assert [one["waitingReason"] for one in await payouts(api)] == ["below_threshold"]
    await settled(service, api, nonprofit, amount=1000)
    await run(service, DisbursementRules(minimum_as_multiple_of_minimum_donation=15))
    assert [(one["status"], one["amount"]) for one in await payouts(api)] == [("PAID", 1950)]


async def test_a_partners_own_nonprofit_is_paid_too(service: Service, api: Client, tenant: Tenant) -> None:
    nonprofit = await factories.nonprofit(service, partner=tenant.partner)
    await verified(service, api, nonprofit)
    made = await settled(service, api, nonprofit)
    await service.drain()
    assert [one["waitingReason"] for one in await payouts(api)] == [None]
    await run(service)
    assert (await gift(api, made))["status"] == "DISBURSED"


async def test_disburse_pays_the_bucket_and_needs_a_settled_gift(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    unsettled = await factories.donation(service, api, organisation=nonprofit)
    code, reasons = await refused(api, unsettled["id"], "disburse")
    assert (code, "not settled" in reasons[0]) == ("donation/invalid_state", True)
    one, two = [await settled(service, api, nonprofit) for _ in range(2)]
    done = await simulate(api, one["id"], "disburse")
    assert done["status"] == "DISBURSED"
    assert (await gift(api, two))["status"] == "DISBURSED"
    assert (await refused(api, one["id"], "disburse"))[0] == "donation/invalid_state"
    assert (await gift(api, unsettled))["status"] == "RECEIVED_PAYMENT"


async def test_a_partner_tries_a_payout_that_comes_back(service: Service, api: Client, other: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await verified(service, api, nonprofit)
    made, second = [await settled(service, api, nonprofit) for _ in range(2)]
    code, reasons = await refused(api, made["id"], "return")
    assert (code, "only one that is DISBURSED" in reasons[0]) == ("donation/invalid_state", True)
    assert (await refused(api, made["id"], "release"))[0] == "donation/invalid_state"
    await simulate(api, made["id"], "disburse")
    await refused(other, made["id"], "return")
    back = await simulate(api, made["id"], "return")
    assert (back["status"], back["disbursedAt"]) == ("RECEIVED_PAYMENT", None)
    assert (await support.events_of(service, second))[-1] == "donation.payout_returned"
    assert "on_hold" in (await refused(api, made["id"], "disburse"))[1][0]
    await simulate(api, made["id"], "release")
    assert (await simulate(api, made["id"], "disburse"))["status"] == "DISBURSED"


async def test_m4_a_gift_is_settled_once(service: Service, api: Client) -> None:
    made = await settled(service, api, await factories.nonprofit(service))
    assert (await refused(api, made["id"], "settle"))[0] == "donation/invalid_state"
    assert (await support.events_of(service, made)).count("donation.settled") == 1


async def test_an_unpaid_gift_has_nothing_to_settle(service: Service, api: Client) -> None:
    session = await factories.session(service, api)
    donor = {"amount": 2500, "currencyCode": "USD", "firstName": "A", "lastName": "B", "email": "a@example.org"}
    declined = {"id": session["id"], "action": "donate", "card": "4000000000000002", **donor}
    assert (await api.post(support.SIMULATE, declined)).status_code == 400
    (waiting,) = data(await api.get("/v1/donations"))
    for action in ("settle", "disburse"):
        assert (await refused(api, waiting["id"], action))[0] == "donation/invalid_state"


class TestDisbursements:
    """The endpoints."""

    async def test_the_record_and_the_list(self, service: Service, api: Client, other: Client) -> None:
        one, two = [await factories.nonprofit(service) for _ in range(2)]
        await verified(service, api, one)
        for nonprofit in (one, two):
            await settled(service, api, nonprofit)
        await run(service)
        listed = await api.get("/v1/disbursements")
        assert (listed.json()["object"], listed.json()["totalResults"]) == ("disbursement", 2)
        (paid,) = await payouts(api, organisationId=one)
        assert paid["organisationId"] == one
        assert paid["endToEndId"] == paid["id"].rpartition("_")[2]
        assert set(paid) == {
            "id",
            "organisationId",
            "amount",
            "currencyCode",
            "status",
            "waitingReason",
            "endToEndId",
            "createdAt",
            "paidAt",
        }
        got = await api.get(f"/v1/disbursements/{paid['id']}")
        assert got.json() == {"data": paid, "object": "disbursement"}
        assert [row["organisationId"] for row in await payouts(api, status="PENDING")] == [two]
        assert await payouts(api, status="SENT") == []
        assert await payouts(other) == []
        assert (await other.get(f"/v1/disbursements/{paid['id']}")).status_code == 404

    async def test_an_empty_bucket_is_not_shown(self, service: Service, api: Client) -> None:
        first, second = [await factories.nonprofit(service) for _ in range(2)]
        made = await settled(service, api, first)
        await service.drain()
        (bucket,) = await payouts(api)
        await simulate(api, made["id"], "reassign", organisationId=second)
        listed = await api.get("/v1/disbursements", organisationId=first)
        assert (listed.json()["data"], listed.json()["totalResults"]) == ([], 0)
        assert (await api.get(f"/v1/disbursements/{bucket['id']}")).status_code == 404
        await settled(service, api, first)
        await service.drain()
        assert (await payouts(api, organisationId=first))[0]["id"] == bucket["id"]

    @pytest.mark.parametrize("filters", [{"status": "LOST"}, {"organisationId": "user_1"}])
    async def test_filters_that_make_no_sense_are_told(self, api: Client, filters: dict[str, Any]) -> None:
        answer = await api.get("/v1/disbursements", **filters)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")
        assert f"query.{next(iter(filters))}" in answer.json()["error"]["reasons"][0]


async def test_what_is_too_much_for_one_payout_goes_into_the_next_and_keeps_nobody_back(
    empty_database: TestDatabase,
) -> None:
    async with serving(empty_database) as alone:
        first, other = [alone.client((await alone.tenant()).secret) for _ in range(2)]
        rich, cause = [await factories.nonprofit(alone) for _ in range(2)]
        await verified(alone, first, rich)
        await verified(alone, other, cause)
        large = [await settled(alone, first, rich, amount=MAX_MINOR) for _ in range(2)]
        small = await settled(alone, other, cause)
        await alone.drain()
        (bucket,) = await payouts(first)
        assert bucket["amount"] == large[0]["settledAmount"]["amount"] <= MAX_MINOR
        async with alone.db.read() as tx:
            donation = await donations.get(tx, ALL_PARTNERS, support.uuid_of(alone, "donation", large[1]["id"]))
            whose = Partner(donation.partner_id)
            assert await disbursements.find_donation_waiting_reason(tx, whose, donation, DisbursementRules()) is None
        await support.hold(alone, rich)
        code, reasons = await refused(first, large[1]["id"], "disburse")
        assert (code, reasons[0].partition(":")[0]) == ("donation/invalid_state", "the disbursement waits, on_hold")
        await support.release(alone, rich)
        alone.clock.advance(minutes=16)
        await check(alone)
        assert (await run(alone)).refused_disbursements == []
        assert [(await gift(*one))["status"] for one in ((first, large[0]), (first, large[1]), (other, small))] == [
            "DISBURSED",
            "RECEIVED_PAYMENT",
            "DISBURSED",
        ]
        await alone.drain()  # sending it has had the next one filled
        assert [one["status"] for one in await payouts(first)] == ["PENDING", "PAID"]
        more = await settled(alone, first, rich, amount=MAX_MINOR)
        assert (await simulate(first, more["id"], "disburse"))["status"] == "DISBURSED"  # and the full one before it
        assert (await gift(first, large[1]))["status"] == "DISBURSED"
        await check(alone)
        for api in (first, other):
            await api.close()


REFUSING = """
create or replace function refuses() returns trigger language plpgsql as $$ begin
    raise exception 'not this one' using errcode = 'check_violation';
end $$;
create trigger refuses before insert on {0} for each row when (new.partner_id = '{1}') execute function refuses();
"""


async def test_what_the_database_refuses_of_one_partner_keeps_nobody_back(empty_database: TestDatabase) -> None:
    async with serving(empty_database) as alone:
        tenants = sorted([await alone.tenant() for _ in range(2)], key=lambda one: one.partner.id)
        first, other = [alone.client(one.secret) for one in tenants]
        owner = await asyncpg.connect(empty_database.owner_dsn)
        for table in ("donation_request", "disbursement"):
            await owner.execute(REFUSING.format(table, tenants[0].partner.id))
        await owner.close()
        cause = await factories.nonprofit(alone)
        await verified(alone, other, cause)
        held, made = [await settled(alone, api, cause) for api in (first, other)]
        stuck, direct = [await factories.direct(alone, api) for api in (first, other)]
        alone.clock.advance(days=NEXT_PERIOD)
        await donation_requests_flows.run_invoicing(alone.db)
        assert [(await gift(*one))["status"] for one in ((first, stuck), (other, direct))] == [
            "ACTIVE",
            "REQUESTED_PAYMENT",
        ]
        await run(alone)
        assert [(await gift(*one))["status"] for one in ((first, held), (other, made))] == [
            "RECEIVED_PAYMENT",
            "DISBURSED",
        ]
        for api in (first, other):
            await api.close()


async def check(service: Service) -> None:
    """The self-check finds nothing wrong with payouts and with the books."""
    ours = [one for one in CHECKS if one.name.startswith(("disbursements.", "ledger."))]
    assert not (await selfcheck.run_selfcheck(service.db, ours)).findings
