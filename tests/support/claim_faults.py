"""Faults of Gift Aid claims that the self-check must report."""

from collections.abc import Iterator

from tests.support.claims import cause
from tests.support.client import Client
from tests.support.giftaid import charity
from tests.support.payouts import simulate
from tests.support.service import Service
from tests.support.validation_faults import OLD, Fault


async def lived(service: Service, api: Client) -> None:
    """Create claims that are drafted, submitted, paid, rejected, withdrawn and adjusted."""
    of = await cause(service, api)
    moved, _ = await of.gift(1000), await of.gift(2000)
    await of.paid()
    await simulate(api, moved["id"], "reassign", organisationId=await charity(service))
    await service.drain()
    await of.gift(3000)
    await of.submitted()
    await of.gift(4000)
    await of.drafted()


PAID = "(select id from gift_aid_claim where status = 'paid' limit 1)"
LIVE = f"(select donation_id from gift_aid_claim_donation where claim_id = {PAID} and active limit 1)"


def of_claims() -> Iterator[Fault]:
    """One fault of each kind, and more if a check can be violated on two sides."""
    for column in ("donations", "lines", "amount_minor", "deducted_minor"):
        yield Fault(
            "gift_aid_claims.totals_match", f"update gift_aid_claim set {column} = {column} + 1 where id = {PAID}"
        )
    yield Fault("gift_aid_claims.totals_match", "delete from gift_aid_deduction")
    yield Fault(
        "gift_aid_claims.claimed_donations_match",
        f"update gift_aid_claim_donation set active = false where donation_id = {LIVE}",
    )
    yield Fault("gift_aid_claims.adjustments_match", "update gift_aid_adjustment set amount_minor = amount_minor + 1")
    yield Fault(
        "gift_aid_claims.adjustments_match",
        f"update gift_aid_claim_donation set adjusted_minor = 1 where donation_id = {LIVE}",
    )
    yield Fault("gift_aid_claims.deductions_match", "update gift_aid_adjustment set deducted_minor = 0")
    yield Fault("gift_aid_claims.deductions_match", "update gift_aid_deduction set amount_minor = amount_minor + 1")
    yield Fault(
        "gift_aid_claims.adjusted_on_time",
        f"""
        update donation set gift_aid_id = null where id = {LIVE};
        update gift_aid_claim set status_changed_at = {OLD}
        """,
    )
    yield Fault(
        "gift_aid_claims.adjusted_on_time",
        f"""
        update gift_aid_declaration g set cancelled_from = covers_from, deleted_at = {OLD}
        from donation d where d.id = {LIVE} and g.id = d.gift_aid_id;
        update gift_aid_claim set status_changed_at = {OLD}
        """,
    )
    for span in ("covers_from = d.created_at + interval '1 ms', covers_to = null", "covers_to = d.created_at"):
        yield Fault(
            "gift_aid_claims.adjusted_on_time",
            f"""
            update gift_aid_declaration g set {span} from donation d where d.id = {LIVE} and g.id = d.gift_aid_id;
            update gift_aid_claim set status_changed_at = {OLD}
            """,
        )
