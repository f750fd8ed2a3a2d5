"""Faults of refunds that the self-check must report."""

from collections.abc import Iterator

from almoner.giving.accounting.refunds import service as refunding
from tests.support import factories, refunds
from tests.support.client import Client
from tests.support.payouts import settled, simulate
from tests.support.reports import imported, report
from tests.support.requests import asked, donations_of, paid
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create refunds: full and partial, before and after settlement, refused, debited, by bank, in progress."""
    cause = await factories.nonprofit(service)
    early = await factories.donation(service, api, organisation=cause, amount=1000)
    for part in (400, 600):
        await simulate(api, early["id"], "refund", amount=part)
    await simulate(api, early["id"], "settle")
    late = await settled(service, api, cause, amount=1000)
    refused = await refunds.begun(service, late)
    async with service.db.write() as tx:
        await refunding.record_provider_refusal(tx, refused.id, "the card is closed")
    await simulate(api, late["id"], "refund")
    (_, sent) = await refunds.of(service, late)
    async with service.db.read() as tx:
        name = await tx.fetchval("select provider_payment from payment where id = $1", sent.payment_id)
    await imported(service, report(("refund", name, -10.0, 0.1)), "test")
    (gift,) = await donations_of(api, await _paid(service, api))
    await simulate(api, gift["id"], "refund", amount=100)
    await refunds.begun(service, gift, 50)


async def _paid(service: Service, api: Client) -> dict[str, object]:
    request = await asked(service, api, 700)
    await paid(service, request, 700, "FAULT-REFUND")
    return request


PENDING = "(select id from refund where status = 'pending' limit 1)"


def of_refunds() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    for kind in ("started", "fee_covered", "sent", "reversed", "fee_restored"):
        one = f"(select id from ledger_transfer where kind = 'donation_refund_{kind}' limit 1)"
        yield Fault("refunds.states_are_posted", f"delete from ledger_transfer where id = {one}")
        for change in ("amount_minor = amount_minor + 1", "owner_id = gen_random_uuid()"):
            yield Fault("refunds.states_are_posted", f"update ledger_transfer set {change} where id = {one}")
    for change in ("payment_id = null", "provider = 'other'", "currency = 'XPF'"):
        yield Fault(
            "refunds.use_original_payment",
            f"update refund set {change} where id = (select id from refund where payment_id is not null limit 1)",
        )
    yield Fault("refunds.sent_on_time", f"update refund set status_changed_at = {OLD} where id = {PENDING}")
    yield Fault(
        "refunds.failures_resolved",
        f"""
        update refund set started_at = {OLD} - interval '1 day'
        where donation_id in (select donation_id from refund where status = 'pending');
        update refund set status = 'refused', restored_minor = 0, ended_at = {OLD} where status = 'pending'
        """,
    )
    yield Fault(
        "refunds.failures_resolved",
        f"""
        insert into refund_failure (refund_id, reason, reported_at)
        select id, 'failed: the card is closed', {OLD} from refund where status = 'sent' limit 1
        """,
    )
    yield Fault("suspense.balances_match", f"update refund set amount_minor = amount_minor + 1 where id = {PENDING}")
    yield Fault(
        "settlements.lines_are_posted",
        "update settlement_line set waived_fee_minor = waived_fee_minor - 1 where waived_fee_minor > 0",
    )
