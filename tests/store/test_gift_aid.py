"""Gift aid in the database: what it refuses by itself, and by which indexes it answers."""

from datetime import timedelta
from typing import cast
from uuid import uuid4

import asyncpg
import pytest

from almoner.giving.checkout.donations import service as donations
from almoner.giving.checkout.donations.domain import DonationFilters
from almoner.giving.checkout.sessions import store as sessions_store
from almoner.giving.gift_aid.declarations import store as declarations_store
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Tx
from almoner.platform.http.paging import RequestedPage
from tests.support import factories
from tests.support.claims import cause
from tests.support.client import Client
from tests.support.giftaid import charity, declared
from tests.support.payouts import uuid_of
from tests.support.plans import Explaining
from tests.support.service import Service, Tenant


async def test_a_declaration_is_never_changed_and_cancelled_once(service: Service, api: Client) -> None:
    made = uuid_of(service, "giftaid", (await declared(api))["id"])
    for column in ("last_name = 'Else'", "postcode = 'N1 1AA'", "covers_from = now()", "user_id = null"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(f"update gift_aid_declaration set {column} where id = $1", made)
    cancel = "update gift_aid_declaration set cancelled_from = $2, deleted_at = $2 where id = $1"
    async with service.db.write() as tx:
        await tx.execute(cancel, made, tx.now)
    service.clock.advance(days=1)
    with pytest.raises(asyncpg.CheckViolationError, match="may not change"):
        async with service.db.write() as tx:
            await tx.execute(cancel, made, tx.now)


async def test_gift_aid_is_for_sterling_and_of_the_same_partner(service: Service, api: Client, other: Client) -> None:
    mine, foreign = [uuid_of(service, "giftaid", (await declared(client))["id"]) for client in (api, other)]
    dollars = uuid_of(service, "donation", (await factories.direct(service, api))["id"])
    pounds = await factories.direct(service, api, organisation=await charity(service), currencyCode="GBP")
    for donation, declaration, constraint in (
        (dollars, mine, "donation_gift_aid_sterling"),
        (uuid_of(service, "donation", pounds["id"]), foreign, "donation_gift_aid"),
    ):
        with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
            async with service.db.write() as tx:
                await tx.execute("update donation set gift_aid_id = $2 where id = $1", donation, declaration)
        assert refused.value.constraint_name == constraint


async def test_whoever_passes_a_gift_on_takes_its_declaration_off(service: Service, api: Client) -> None:
    of, other = await cause(service, api), uuid_of(service, "organisation", await charity(service))
    moved = uuid_of(service, "donation", (await of.gift())["id"])
    before = """
    update donation set reassigned_from = organisation_id, organisation_id = $2, reassigned_at = $3,
        gift_aid_id = case when $4 then gift_aid_id end
    where id = $1 returning gift_aid_id
    """  # whether or not the statement keeps the declaration
    async with service.db.write() as tx:
        declaration = await tx.fetchval("select gift_aid_id from donation where id = $1", moved)
        assert await tx.fetchval(before, moved, other, tx.now, True) is None
    with pytest.raises(asyncpg.CheckViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute("update donation set gift_aid_id = $2 where id = $1", moved, declaration)
    assert (declaration is not None, refused.value.constraint_name) == (True, "donation_gift_aid_own")


async def test_a_donation_gets_no_declaration_that_does_not_hold(service: Service, api: Client) -> None:
    until = iso_timestamp(service.clock.now() + timedelta(days=1))
    ended, cancelled = [
        uuid_of(service, "giftaid", (await declared(api, **to))["id"]) for to in ({"coversTo": until}, {})
    ]
    service.clock.advance(days=2)
    made = await factories.direct(service, api, organisation=await charity(service), currencyCode="GBP")
    donation = uuid_of(service, "donation", made["id"])
    async with service.db.write() as tx:
        await tx.execute(
            "update gift_aid_declaration set cancelled_from = covers_from, deleted_at = $2 where id = $1",
            cancelled,
            tx.now,
        )
    for declaration in (ended, cancelled):
        with pytest.raises(asyncpg.CheckViolationError) as refused:
            async with service.db.write() as tx:
                await tx.execute("update donation set gift_aid_id = $2 where id = $1", donation, declaration)
        assert refused.value.constraint_name == "donation_gift_aid_holds"


async def test_p1_what_covers_a_gift_and_what_a_request_holds_are_found_by_indexes(
    service: Service, tenant: Tenant
) -> None:
    async with service.db.write() as tx:
        for way in ("seqscan", "sort", "incremental_sort"):
            await tx.execute(f"set local enable_{way} = off")
        asked = Explaining(tx)
        await declarations_store.list_declarations_of_user(cast("Tx", asked), tenant.partner, uuid4())
        await declarations_store.find_newest_declaration_id_of_user(cast("Tx", asked), tenant.partner, uuid4())
        await sessions_store.has_open_session(cast("Tx", asked), tenant.partner, uuid4())
        # Among the few sessions of other tests that of those due may look as good.
        found = {"gift_aid_declaration_of_user", "donation_session_open_of_user", "donation_session_due"}
        assert asked.indexes() <= found
        assert asked.scans() == set()
        listed = Explaining(tx)
        await donations.list_page(
            cast("Tx", listed), tenant.partner, RequestedPage(25, True), DonationFilters(donation_request_id=uuid4())
        )
        assert listed.scans() == set()
