"""Gift aid claims in the database: what it refuses by itself, and by which indexes it answers."""

import re
from datetime import timedelta
from typing import cast
from uuid import UUID, uuid4

import asyncpg
import pytest

from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims import store as claims_store
from almoner.giving.gift_aid.claims.domain import GIFT_AID_CLAIM
from almoner.platform.database.transactions import Tx
from tests.support.claims import BY, Cause, cause
from tests.support.client import Client
from tests.support.giftaid import charity
from tests.support.payouts import simulate, uuid_of
from tests.support.plans import Explaining
from tests.support.service import Service


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement of the service's own role breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            GIFT_AID_CLAIM.resource,
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = 'gift_aid_claim_status_check'"
        )
    assert [tuple(row) for row in rows] == list(GIFT_AID_CLAIM.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == GIFT_AID_CLAIM.states()


async def test_a_gift_is_in_one_living_claim(service: Service, api: Client) -> None:
    of = await cause(service, api)
    given = await of.gift(1000)
    claim = await of.submitted()
    again = """
        insert into gift_aid_claim_donation (
            claim_id, organisation_id, donation_id, declaration_id, line, amount_minor
        )
        select $2, organisation_id, donation_id, declaration_id, 1, amount_minor from gift_aid_claim_donation
        where claim_id = $1
    """
    await of.gift(2000)
    other = await of.drafted()
    assert await refuses(service, again, claim.id, other.id) == "gift_aid_claim_donation_once"
    donation = uuid_of(service, "donation", given["id"])
    for change, constraint in {
        "adjusted_minor = 1001": "gift_aid_claim_donation_adjusted",
        "adjusted_minor = 1000": "gift_aid_claim_donation_ended",
        "adjusted_minor = -1": "gift_aid_claim_donation_immutable",
    }.items():
        sql = f"update gift_aid_claim_donation set {change} where donation_id = $1"
        assert await refuses(service, sql, donation) == constraint
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        async with service.db.write() as tx:
            await tx.execute("update gift_aid_claim_donation set amount_minor = 1 where donation_id = $1", donation)


async def test_a_charity_has_one_draft_and_what_was_drafted_stays(service: Service, api: Client) -> None:
    of = await cause(service, api)
    await of.gift(1000)
    claim = await of.drafted()
    again = """
        insert into gift_aid_claim (id, organisation_id, cutoff_at, status, donations, lines, amount_minor,
                                    deducted_minor, drafted_at, drafted_by, status_changed_at)
        select $2, organisation_id, cutoff_at, status, donations, lines, amount_minor, deducted_minor, drafted_at,
               drafted_by, status_changed_at from gift_aid_claim where id = $1
    """
    assert await refuses(service, again, claim.id, uuid4()) == "gift_aid_claim_drafted"
    for change, constraint in {
        "status = 'paid', reference = 'x', paid_minor = 1, decided_by = 'x'": "lifecycle_gift_aid_claim",
        "status = 'submitted', decided_by = 'x'": "gift_aid_claim_submitted",
        "status = 'withdrawn', decided_by = 'x'": "gift_aid_claim_has_note",
        "status = 'submitted', reference = 'x'": "gift_aid_claim_decided",
    }.items():
        sql = f"update gift_aid_claim set {change} where id = $1"
        assert await refuses(service, sql, claim.id) == constraint
    for column in ("amount_minor", "deducted_minor", "donations"):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            async with service.db.write() as tx:
                await tx.execute(f"update gift_aid_claim set {column} = 1 where id = $1", claim.id)


async def test_no_more_goes_back_than_was_adjusted(service: Service, api: Client) -> None:
    of = await cause(service, api)
    moved = await of.gift(1000)
    await of.paid()
    await simulate(api, moved["id"], "reassign", organisationId=await charity(service))
    await service.drain()
    change = "update gift_aid_adjustment set deducted_minor = 1001 where donation_id = $1"
    donation = uuid_of(service, "donation", moved["id"])
    assert await refuses(service, change, donation) == "gift_aid_adjustment_deducted"
    other = await cause(service, api)
    await other.gift(1000)
    theirs = await other.drafted()
    deduct = """
        insert into gift_aid_deduction (claim_id, adjustment_id, organisation_id, amount_minor)
        select $2, id, $3, 1 from gift_aid_adjustment where donation_id = $1
    """
    for whose, column in ((of.id, "claim_id"), (other.id, "adjustment_id")):
        broken = await refuses(service, deduct, donation, theirs.id, whose)
        assert broken == f"gift_aid_deduction_{column}_organisation_id_fkey", "only from claims of the same charity"


async def test_a_charity_claims_for_its_own_donations(service: Service, api: Client) -> None:
    of, other = await cause(service, api), await cause(service, api)
    await of.gift(1000)
    await other.gift(1000)
    claim, theirs = await of.drafted(), await other.drafted()
    again = """
        insert into gift_aid_claim_donation (
            claim_id, organisation_id, donation_id, declaration_id, line, amount_minor, active
        )
        select $2, $3, donation_id, coalesce($4, declaration_id), 1, $5, false from gift_aid_claim_donation
        where claim_id = $1
    """
    claimed_of = "gift_aid_claim_donation_claim_id_organisation_id_fkey"
    assert await refuses(service, again, claim.id, theirs.id, of.id, None, 1000) == claimed_of
    no_donation_of = "gift_aid_claim_donation_of_charity"
    assert await refuses(service, again, claim.id, theirs.id, other.id, None, 1000) == no_donation_of
    assert await refuses(service, again, claim.id, claim.id, of.id, uuid4(), 1000) == no_donation_of
    assert await refuses(service, again, claim.id, claim.id, of.id, None, 1001) == no_donation_of


async def test_p1_claims_and_their_gifts_are_found_by_indexes(service: Service) -> None:
    async with service.db.write() as tx:
        for way in ("seqscan", "sort", "incremental_sort"):
            await tx.execute(f"set local enable_{way} = off")
        asked = cast("Tx", explaining := Explaining(tx))
        await claims_store.list_claimable_donations(asked, uuid4(), (tx.now, uuid4()), tx.now, 10)
        await claims_store.count_expired_donations(asked, uuid4(), tx.now)
        assert "donation_with_gift_aid" in explaining.indexes()
        assert "gift_aid_claim_donation_once" in explaining.indexes()
        await claims_store.lock_claim_of_donation(asked, uuid4())
        await claims_store.find_claimed_donation(asked, uuid4(), uuid4())
        await claims_store.list_newest_claims(asked, uuid4(), 10)
        await claims_store.list_donation_ids_claimed_under_declaration(asked, uuid4())
        await claims_store.list_overclaimed_donation_ids(asked, uuid4())
        await claims_store.list_overclaimed_donation_ids_of_charity(asked, uuid4())
        await claims_store.lock_open_adjustments(asked, uuid4())
        await claims_store.list_schedule_entries(asked, uuid4())
        assert explaining.scans() == set()
        assert "gift_aid_claim_donation_of_declaration" in explaining.indexes()


async def test_the_same_gift_is_in_claims_one_after_the_other(service: Service, api: Client) -> None:
    of = Cause(service, api, await charity(service))
    given = await of.gift(1000)
    first = await of.submitted()
    async with service.db.write() as tx:
        await gift_aid_claims.mark_rejected(tx, first.id, "the schedule had another name", recorded_by=BY)
    assert (await of.drafted()).amount_minor == 1000, "what HMRC refused may be claimed for anew"
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select active from gift_aid_claim_donation where donation_id = $1 order by claim_id",
            _id(service, given["id"]),
        )
    assert [row["active"] for row in rows] == [False, True]


async def test_there_is_a_way_past_the_gifts_that_hmrc_would_not_take(service: Service, api: Client) -> None:
    of = await cause(service, api)
    bad = [uuid_of(service, "donation", (await of.unclaimable_gift(1000, first_name=None))["id"]) for _ in range(5)]
    good = await of.gift(2000)
    async with service.db.read() as tx:
        seen, after = [], (tx.now - timedelta(days=1), UUID(int=0))
        while batch := await claims_store.list_claimable_donations(tx, of.id, after, tx.now + timedelta(days=1), 2):
            seen += [one.donation_id for one in batch]
            after = (batch[-1].created_at, batch[-1].donation_id)
    assert seen == [*bad, uuid_of(service, "donation", good["id"])]


def _id(service: Service, donation: str) -> UUID:
    return uuid_of(service, "donation", donation)
