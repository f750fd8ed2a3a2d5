"""Donation requests in the database: what it refuses by itself, and how it answers hot questions."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any, cast
from uuid import uuid4

import asyncpg
import pytest

from almoner.giving.checkout.donation_requests import service as donation_requests
from almoner.giving.checkout.donation_requests import store as donation_requests_store
from almoner.giving.checkout.donation_requests.domain import (
    DONATION_REQUEST,
    MAX_BANK_REFERENCE,
    MAX_NOTE,
    REQUEST_PAYMENT,
    DonationRequestError,
)
from almoner.giving.checkout.donations import store_requests as donations_store_requests
from almoner.kit.states import Lifecycle
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from tests.support import factories
from tests.support.client import Client
from tests.support.database import TestDatabase
from tests.support.payouts import uuid_of
from tests.support.plans import Explaining
from tests.support.requests import asked, donations_of, paid
from tests.support.service import Service, Tenant, serving

START = datetime(2026, 3, 1, tzinfo=UTC)


async def refuses(service: Service, sql: str, *args: object) -> str | None:
    """The constraint that a statement of the service's own role breaks."""
    with pytest.raises(asyncpg.IntegrityConstraintViolationError) as refused:
        async with service.db.write() as tx:
            await tx.execute(sql, *args)
    return refused.value.constraint_name


@pytest.mark.parametrize("lifecycle", [DONATION_REQUEST, REQUEST_PAYMENT], ids=lambda table: table.resource)
async def test_s1_the_moves_in_the_database_are_those_in_the_code(service: Service, lifecycle: Lifecycle) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch(
            "select from_status, to_status from lifecycle_transition where resource = $1 order by 1, 2",
            lifecycle.resource,
        )
        check = await tx.fetchval(
            "select pg_get_constraintdef(oid) from pg_constraint where conname = $1",
            f"{lifecycle.resource}_status_check",
        )
    assert [tuple(row) for row in rows] == list(lifecycle.transitions())
    assert set(re.findall(r"'(\w+)'", check)) == lifecycle.states()


async def test_a_direct_donation_is_asked_for_in_a_request_that_gathers_and_stays(
    service: Service, api: Client, tenant: Tenant
) -> None:
    request = await asked(service, api, 1000)
    named = uuid_of(service, "donationrequest", request["id"])
    loose = uuid_of(service, "donation", (await factories.direct(service, api))["id"])
    move = "update donation set status = 'REQUESTED_PAYMENT', donation_request_id = $2 where id = $1"
    assert await refuses(service, move, loose, None) == "donation_requested"
    assert await refuses(service, move, loose, named) == "donation_request_assignable"
    [donation] = await donations_of(api, request)
    inside = uuid_of(service, "donation", donation["id"])
    for change, constraint in {
        "status = 'CANCELLED', cancelled_at = now(), donation_request_id = null": (
            "donation_direct",
            "donation_request_assignable",
        ),
        "amount_minor = 1": ("donation_direct",),
        "currency = 'EUR'": ("donation_direct",),
        "donation_request_id = null": ("donation_request_assignable",),
        "organisation_id = gen_random_uuid()": ("donation_immutable",),
        "status = 'ACTIVE', donation_request_id = null": ("donation_request_assignable", "lifecycle_donation"),
    }.items():
        assert await refuses(service, f"update donation set {change} where id = $1", inside) in constraint, change


async def test_a_hosted_donation_is_never_active_and_in_no_request(service: Service, api: Client) -> None:
    request = uuid_of(service, "donationrequest", (await asked(service, api, 1000))["id"])
    hosted = uuid_of(service, "donation", (await factories.donation(service, api))["id"])
    broken = await refuses(service, "update donation set donation_request_id = $2 where id = $1", hosted, request)
    assert broken in ("donation_request_assignable", "donation_requested")


async def test_what_was_asked_for_and_paid_stays(service: Service, api: Client) -> None:
    request = await asked(service, api, 1000)
    payment = await paid(service, request, 1200, f"TX-{uuid4()}")
    named = uuid_of(service, "donationrequest", request["id"])
    for change, constraint in {
        "amount_minor = 900": ("donation_request_immutable", "donation_request_paid"),
        "donations = 2": ("donation_request_immutable",),
        "due_at = due_at + interval '1 day'": ("donation_request_immutable",),
        "collecting = true": ("donation_request_immutable", "donation_request_collecting_state"),
        "paid_minor = 999": ("donation_request_immutable", "donation_request_paid"),
        "allocated_minor = 1": ("donation_request_immutable",),
        "status = 'OPEN'": ("lifecycle_donation_request",),
    }.items():
        broken = await refuses(service, f"update donation_request set {change} where id = $1", named)
        assert broken in constraint, change
    async with service.db.write() as tx:
        for change in ("amount_minor = 1", "bank_reference = 'other'", "overpaid_minor = 0"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                async with tx.savepoint():
                    await tx.execute(f"update request_payment set {change} where id = $1", payment.id)
    assert await refuses(service, "update request_payment set status = 'returned' where id = $1", payment.id) == (
        "request_payment_decided"
    )


MANY = """
with asked as (
    insert into donation_request (id, partner_id, currency, amount_minor, donations, paid_minor, allocated_minor,
                                  status,
                                  reference, cutoff_at, collecting, allocating, created_at, due_at, status_changed_at)
    select gen_random_uuid(), $1, 'USD', 2500, 25, 0, 0, 'OPEN',
        'ALM-' || upper(substr(md5($1::uuid::text || n), 1, 5)) || '-' || upper(substr(md5($1::uuid::text || n), 6, 5)),
        $3, false, false, $3, $3, $3
    from generate_series(1, 40) as n returning id
), gifts (donation_request_id, n) as (
    select id, n from asked, generate_series(1, 25) as n union all select null, n from generate_series(1, $4) as n
)
insert into donation (id, partner_id, organisation_id, type, status, amount_minor, currency, consented, anonymous,
                      metadata, created_at, status_changed_at, cover_minor, donation_request_id)
select gen_random_uuid(), $1, $2, 'direct',
    case when donation_request_id is null then 'ACTIVE' else 'REQUESTED_PAYMENT' end, 100, 'USD', false, false, '{}',
    $3, $3, 0, donation_request_id
from gifts
"""
"""Of a partner 40 requests with 25 gifts in each, and so many gifts in none."""


@pytest.mark.parametrize(
    ("minor", "reference", "told"),
    [
        (1000, "", "the bank's reference must have 1 to"),
        (1000, "x" * (MAX_BANK_REFERENCE + 1), "the bank's reference must have 1 to"),
        (0, "TX", "the amount must be more than zero"),
    ],
)
async def test_a_transfer_of_nothing_or_without_a_name_pays_no_request(
    service: Service, api: Client, minor: int, reference: str, told: str
) -> None:
    request = await asked(service, api, 1000)
    with pytest.raises(DonationRequestError, match=told):
        await paid(service, request, minor, reference)
    async with service.db.read() as tx:
        named = uuid_of(service, "donationrequest", request["id"])
        assert (await donation_requests.get(tx, ALL_PARTNERS, named)).paid_minor == 0


@pytest.mark.parametrize("note", ["", "x" * (MAX_NOTE + 1)])
async def test_who_decides_about_an_overpayment_says_why(service: Service, api: Client, note: str) -> None:
    request = await asked(service, api, 1000)
    over = await paid(service, request, 1500, factories.unique("TX"))
    assert over.status == "held"
    async with service.db.write() as tx:
        with pytest.raises(DonationRequestError, match="the note must have 1 to"):
            await donation_requests.return_overpayment(tx, over.id, note=note, decided_by="officer")
        with pytest.raises(DonationRequestError, match="the note must have 1 to"):
            await donation_requests.apply_overpayment_to_other_request(
                tx, over.id, uuid_of(service, "donationrequest", request["id"]), note=note, decided_by="officer"
            )
        returned = await donation_requests.return_overpayment(tx, over.id, note="sent back", decided_by="officer")
    assert (returned.status, returned.overpaid_minor) == ("returned", 500)


async def test_p1_batches_are_found_by_indexes(empty_database: TestDatabase) -> None:
    """In a database of its own: what the planner knows there is of these donations alone."""
    async with serving(empty_database) as service:
        busy, quiet = [(await service.tenant()).partner for _ in range(2)]
        organisation = uuid_of(service, "organisation", await factories.nonprofit(service))
        connection = await asyncpg.connect(service.database.owner_dsn)
        for partner, gifts in ((busy, 5000), (quiet, 25)):  # of an empty table any index will do
            await connection.execute(MANY, partner.id, organisation, START, gifts)
        await connection.execute("vacuum analyze donation, donation_request")
        await connection.close()
        await _explain(service, quiet)


async def _explain(service: Service, partner: Partner) -> None:
    async with service.db.write() as tx:
        await tx.execute("set local enable_seqscan = off")
        asked_of = cast("Tx", Explaining(tx))
        await donations_store_requests.find_oldest_uninvoiced_donation_at(asked_of)
        await donations_store_requests.lock_unpaid_donations_of_request(asked_of, uuid4(), 100)
        await donations_store_requests.sum_uninvoiced_donations(asked_of, partner, "USD", START + timedelta(days=1))
        await donation_requests_store.list_request_ids_awaiting_allocation(asked_of, 1)
        await donation_requests_store.lock_request_being_filled(asked_of, partner, "USD")
        await donation_requests_store.find_id_by_payment_reference(asked_of, "ALM-00000-00000")
        plans = cast("Any", asked_of)
        assert plans.indexes() >= {
            "donation_of_request",
            "donation_unrequested",
            "donation_request_allocating",
            "donation_request_collecting",
            "donation_request_reference_key",
        }
        assert plans.scans() == set()
