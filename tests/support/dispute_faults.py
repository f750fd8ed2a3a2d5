"""Faults of disputes that the self-check must report."""

from collections.abc import Iterator

from tests.support import factories
from tests.support import payouts as support
from tests.support.client import Client
from tests.support.payouts import payouts, run, settled, simulate, verified
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create disputes that are open, won, lost, and lost after a disbursement, which was returned."""
    cause = await factories.nonprofit(service)
    await verified(service, api, cause)
    paid = await settled(service, api, cause)
    await service.drain()
    await run(service)
    await simulate(api, paid["id"], "dispute", outcome="lost")
    (payout, *_) = await payouts(api, organisationId=cause)
    await support.came_back(service, payout)
    await support.release(service, cause)
    for outcome in ("won", "lost", None):
        gift = await settled(service, api, cause)
        await service.drain()
        await simulate(api, gift["id"], "dispute", **({"outcome": outcome} if outcome else {}))
    await settled(service, api, cause)
    await service.drain()


OPEN = "(select id from dispute where status = 'open' limit 1)"


def of_disputes() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    for kind in ("dispute_debited", "dispute_returned", "dispute_lost", "dispute_absorbed", "dispute_recovered"):
        check = "disputes.recoveries_are_posted" if kind == "dispute_recovered" else "disputes.states_are_posted"
        one = f"(select id from ledger_transfer where kind = '{kind}' limit 1)"
        yield Fault(check, f"delete from ledger_transfer where id = {one}")
        yield Fault(check, f"update ledger_transfer set amount_minor = amount_minor + 1 where id = {one}")
        yield Fault(check, f"update ledger_transfer set owner_id = gen_random_uuid() where id = {one}")
    yield Fault("disputes.balances_match", f"update dispute set amount_minor = amount_minor + 1 where id = {OPEN}")
    yield Fault(
        "disputes.balances_match", "update ledger_account set debits_minor = debits_minor + 1 where kind = 'disputed'"
    )
    yield Fault(
        "disputes.donations_are_marked",
        "update donation set disputed_at = null, dispute_status = 'won' where disputed_at is not null",
    )
    yield Fault(
        "disputes.donations_are_marked",
        f"update donation set disputed_at = {OLD}, last_disputed_at = {OLD}, dispute_status = 'open' "
        "where disbursement_id is not null",
    )
    for column in ("refunded_minor", "withdrawn_minor"):
        yield Fault(
            "disputes.donation_amounts_match", f"update donation set {column} = {column} - 1 where {column} > 0"
        )
    yield Fault("disputes.decided_on_time", f"update dispute set opened_at = {OLD} where id = {OPEN}")
    yield Fault(
        "dispute_evidence.sent_on_time",
        "insert into dispute_evidence (id, status, requested_by, requested_at, status_changed_at) "
        f"values ({OPEN}, 'submitting', 'ann', {OLD}, {OLD})",
    )
    yield Fault("disputes.refreshed_daily", f"update dispute set checked_at = {OLD} where id = {OPEN}")
