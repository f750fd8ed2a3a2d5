"""Faults of donation requests that the self-check must report."""

from collections.abc import Iterator

from tests.support import factories
from tests.support.client import Client
from tests.support.giftaid import charity, declared
from tests.support.payouts import simulate
from tests.support.requests import asked, paid
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create requests that are open, paid in part, in full and in excess; one with Gift Aid."""
    sterling = {"amount": 900, "currencyCode": "GBP", "giftAidId": (await declared(api))["id"]}
    await factories.direct(service, api, organisation=await charity(service), **sterling)
    await asked(service, api, 700)
    await paid(service, await asked(service, api, 1000, 500), 1200, "FAULT-PART")
    await paid(service, await asked(service, api, 300), 400, "FAULT-OVER")
    await simulate(api, (await asked(service, api, 20, 30))["id"], "pay")


PART = "(select id from donation_request where status = 'PARTLY_PAID' limit 1)"


def of_requests() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    for check, kinds in {
        "donation_requests.transfers_are_posted": ("request_paid", "request_overpaid"),
        "donation_requests.received_are_posted": ("request_allocated",),
    }.items():
        for kind in kinds:
            yield Fault(check, f"delete from ledger_transfer where kind = '{kind}'")
            yield Fault(check, f"update ledger_transfer set amount_minor = amount_minor + 1 where kind = '{kind}'")
            yield Fault(check, f"update ledger_transfer set owner_id = gen_random_uuid() where kind = '{kind}'")
    yield Fault(
        "donation_requests.transfers_are_posted",
        f"""
        update request_payment set status = 'returned', decided_at = {OLD}, decided_by = 'x', note = 'x'
        where status = 'held'
        """,
    )
    yield Fault(
        "donation_requests.amounts_match_donations",
        f"update donation_request set donations = donations + 1 where id = {PART}",
    )
    yield Fault(
        "donation_requests.amounts_match_donations",
        f"update donation set status = 'REQUESTED_PAYMENT', settled_at = null, settled_minor = null, "
        f"settled_currency = null, disbursement_id = null where donation_request_id = {PART}",
    )
    yield Fault(
        "donation_requests.paid_amounts_match", "update request_payment set donation_request_id = gen_random_uuid()"
    )
    yield Fault(
        "donation_requests.clearing_balance_matches",
        f"update donation_request set paid_minor = paid_minor - 1 where id = {PART}",
    )
    yield Fault(
        "donation_requests.completed_on_time",
        f"update donation_request set allocating = true where id = {PART}; "
        f"update request_payment set received_at = {OLD}",
    )
    yield Fault(
        "donation_requests.completed_on_time",
        f"update donation_request set collecting = true, created_at = {OLD} where status = 'OPEN'",
    )
    covered = "(select organisation_id from donation where gift_aid_id is not null limit 1)"
    yield Fault(
        "gift_aid.declarations_cover_donations",
        f"update gift_aid_declaration set cancelled_from = {OLD}, deleted_at = {OLD}",
    )
    yield Fault("gift_aid.declarations_cover_donations", "update gift_aid_declaration set covers_to = created_at")
    yield Fault(
        "gift_aid.declarations_cover_donations",
        "update donation set user_id = gen_random_uuid() where gift_aid_id is not null",
    )
    yield Fault(
        "gift_aid.declarations_cover_donations", f"update organisation set country_code = 'IRL' where id = {covered}"
    )
