"""What the checks of monetary donation verifications rest on, and what changes after them (settled 5)."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import service as verifications
from almoner.giving.disbursing.verifications.domain import DecisionGrounds, InvalidState
from almoner.giving.disbursing.verifications.findings import StoredFinding, VerificationFlag
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import bank, factories
from tests.support.client import Client, data
from tests.support.payouts import payouts, settled, uuid_of, verified
from tests.support.payouts import simulate as move
from tests.support.service import Service
from tests.support.verifications import PATH, checks, refused, shown, simulate, told
from tests.support.written_register import Loader, Written, entry

OFFICER = DecisionGrounds("olive", "Letter of 3 March")


async def noted(service: Service, record: dict[str, Any]) -> list[StoredFinding]:
    """What was seen of the checks."""
    async with service.db.read() as tx:
        return await verifications.list_findings(tx, uuid_of(service, "monetarydonationverification", record["id"]))


async def flags(service: Service, record: dict[str, Any]) -> list[VerificationFlag]:
    """What was other than when a check succeeded."""
    async with service.db.read() as tx:
        return await verifications.list_flags(tx, uuid_of(service, "monetarydonationverification", record["id"]))


async def lift(service: Service, flag: VerificationFlag, by: str) -> VerificationFlag:
    """An officer looks at a flag."""
    async with service.db.write() as tx:
        return await verifications.review_flag(tx, flag.id, note="seen", reviewed_by=by)


@pytest.fixture
async def service(alone: Service) -> Service:
    """By itself: months of the shared service's clock would be months of work for all that other tests have left."""
    return alone


async def waits(service: Service, api: Client, organisation: str) -> str | None:
    """Why the next payout to a nonprofit waits."""
    await service.drain()
    service.clock.advance(minutes=1)  # donations that a hold had locked meanwhile are looked for again
    await service.drain()
    [bucket] = await payouts(api, organisationId=organisation)
    reason: str | None = bucket["waitingReason"]
    return reason


@pytest.mark.parametrize(
    ("number", "unverified", "days", "reason"),
    [("7988431", False, 1, None), ("7988432", True, 1, "unverified_source"), ("7988433", False, 40, "stale_data")],
)
async def test_a_register_decides_in_data_that_may_decide(
    service: Service, api: Client, tmp_path: Path, number: str, unverified: bool, days: int, reason: str | None
) -> None:
    day = service.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=days)
    source = Written(f"ccew-{number}", "CCEW", is_format_unverified=unverified)
    await Loader(service.db, tmp_path).load(source, day, entry(number, "Fund"))
    organisation = data(await api.get(f"/v1/organisations/GBR/CCEW/{number}"))["id"]
    usual = service.db.deployment
    service.db.deployment = replace(usual, max_data_age=timedelta(days=30))
    try:
        made = await factories.verification(service, api, organisation=organisation)
        await service.drain()
        record = await shown(api, made)
        assert record["checks"] == checks(registration="pending" if reason else "succeeded")
        assert record["status"]["awaitingAnswerFromOrganisation"] is (reason is None)
        [seen] = [one.finding for one in await noted(service, made) if one.finding.check == "registration"]
        assert (seen.outcome, seen.reason) == ("unclear" if reason else "succeeded", reason)
        assert seen.data_as_of == day
        # A person takes it upon themselves.
        verification_id = uuid_of(service, "monetarydonationverification", made["id"])
        async with service.db.write() as tx:
            await verifications.compute_approval_fingerprint(tx, ALL_PARTNERS, verification_id)
            await verifications.approve(tx, ALL_PARTNERS, verification_id, OFFICER)
    finally:
        service.db.deployment = usual
    assert (await shown(api, made))["status"]["type"] == "approved"
    last = {one.finding.check: one.finding for one in await noted(service, made)}
    assert last["bank_details"].source == OFFICER.decided_by
    assert {one.outcome for one in last.values()} == {"succeeded"}


async def test_money_that_settles_begins_one_and_the_partner_who_asks_is_answered_with_it(
    service: Service, api: Client
) -> None:
    nonprofit = await factories.nonprofit(service)
    await settled(service, api, nonprofit)
    assert await waits(service, api, nonprofit) == "verification_pending"
    [started] = data(await api.get(PATH, organisationId=nonprofit))
    assert started["checks"] == checks(registration="succeeded")
    kinds = [kind for kind, record in await told(service, api) if record.get("checks")]
    assert kinds == ["received", "progressed"]
    asked = await factories.verification(service, api, organisation=nonprofit, test="approve", metadata={"case": "7"})
    assert (asked["id"], asked["metadata"]) == (started["id"], {"case": "7"})
    assert await refused(api, organisationId=nonprofit) == (400, "monetary_donation_verification/invalid_state")
    assert await waits(service, api, nonprofit) is None
    assert (await shown(api, asked))["status"]["type"] == "approved"
    await settled(service, api, nonprofit)
    await service.drain()
    assert len(data(await api.get(PATH, organisationId=nonprofit))) == 1


@pytest.mark.parametrize(
    ("changed", "kind", "reason"),
    [
        ("active = false", "register_removed", "on_hold"),
        ("name = name || ' Trust'", "register_renamed", "on_hold"),
    ],
)
async def test_a_register_that_says_something_else_later_holds_payouts_until_two_people_have_looked(
    service: Service, api: Client, changed: str, kind: str, reason: str
) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await verified(service, api, nonprofit)
    given = await factories.donation(service, api, organisation=nonprofit)
    async with service.db.write() as tx:
        await tx.execute(
            f"update organisation set {changed} where id = $1", uuid_of(service, "organisation", nonprofit)
        )
    service.clock.advance(days=91)  # what the register said counts no more
    await service.drain()
    [flag] = await flags(service, made)
    assert (flag.kind, flag.status) == (kind, "open")
    await move(api, given["id"], "settle")  # not before: the sandbox's daily run would pay it
    assert await waits(service, api, nonprofit) == reason
    assert await shown(api, made) == made, "the record has no other state for it"
    assert (await lift(service, flag, "one")).status == "open"
    with pytest.raises(InvalidState, match="somebody else"):
        await lift(service, flag, "one")
    assert await waits(service, api, nonprofit) == reason
    assert (await lift(service, flag, "two")).status == "lifted"
    with pytest.raises(InvalidState, match="lifted"):
        await lift(service, flag, "three")
    assert await waits(service, api, nonprofit) == ("organisation_inactive" if "active" in changed else None)
    service.clock.advance(days=91)
    await service.drain()
    assert len(await flags(service, made)) == 1, "what was looked at is no news"


async def test_a_register_whose_data_are_too_old_by_now_holds_payouts_until_there_are_new_ones(
    service: Service, api: Client, tmp_path: Path
) -> None:
    def midnight() -> datetime:
        return service.clock.now().replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=1)

    number, source = "7988441", Written("ccew-7988441", "CCEW")
    await Loader(service.db, tmp_path).load(source, midnight(), entry(number, "Fund"))
    organisation = data(await api.get(f"/v1/organisations/GBR/CCEW/{number}"))["id"]
    usual = service.db.deployment
    service.db.deployment = replace(usual, max_data_age=timedelta(days=30))
    try:
        made = await factories.verification(service, api, organisation=organisation)
        await service.drain()
        verification_id = uuid_of(service, "monetarydonationverification", made["id"])
        async with service.db.write() as tx:
            await verifications.approve(tx, ALL_PARTNERS, verification_id, OFFICER)
        assert await flags(service, made) == []
        service.clock.advance(days=91)
        await service.drain()
        [flag] = await flags(service, made)
        assert (flag.kind, flag.status) == ("evidence_expired", "open")
        given = await factories.donation(service, api, organisation=organisation)
        await move(api, given["id"], "settle")
        assert await waits(service, api, organisation) == "on_hold"
        await Loader(service.db, tmp_path).load(source, midnight(), entry(number, "Fund"))
        service.clock.advance(days=2)
        await service.drain()
        [flag] = await flags(service, made)
        assert (flag.status, flag.first_review and flag.first_review.by) == ("withdrawn", "rule")
        assert await waits(service, api, organisation) is None
    finally:
        service.db.deployment = usual


async def test_organisation_updated_reaches_who_has_a_verification(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    made = await verified(service, api, nonprofit)
    organisation_id = uuid_of(service, "organisation", nonprofit)
    async with service.db.read() as tx:
        followers = await verifications.load_partner_ids_with_verifications_by_organisation(tx, [organisation_id])
    assert [len(partners) for partners in followers.values()] == [1]
    await simulate(api, await factories.verification(service, api), "reject")
    assert made["status"]["type"] == "approved"


async def test_another_account_holds_payouts_until_two_people_have_approved_it(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service)
    await bank.account(service, nonprofit)
    made = await verified(service, api, nonprofit)
    await settled(service, api, nonprofit)
    assert await waits(service, api, nonprofit) is None
    proposal = bank.proposal(service, nonprofit, iban=bank.OTHER_IBAN)
    for ending in ("refused", "approved"):
        async with service.db.write() as tx:
            account = await payee_bank_accounts.propose_account(tx, proposal, note="letter", proposed_by="one")
        assert [flag.status for flag in await flags(service, made)][-1] == "open"
        assert await waits(service, api, nonprofit) == "on_hold"
        async with service.db.write() as tx:
            if ending == "refused":
                await payee_bank_accounts.refuse(tx, account.id, note="they know nothing of it", refused_by="two")
            else:
                await payee_bank_accounts.approve(
                    tx, account.id, entered_account_number=bank.OTHER_IBAN, note="called them", approved_by="two"
                )
        if ending == "approved":
            assert await waits(service, api, nonprofit) == "on_hold"
            async with service.db.write() as tx:
                await payee_bank_accounts.approve(
                    tx, account.id, entered_account_number=bank.OTHER_IBAN, note="called them, too", approved_by="three"
                )
        assert await waits(service, api, nonprofit) is None
    gone, lifted = await flags(service, made)
    assert (gone.kind, gone.status, lifted.status) == ("payee_changed", "withdrawn", "lifted")
    assert lifted.first_review is not None
    assert lifted.second_review is not None
    assert (lifted.first_review.by, lifted.second_review.by) == ("two", "three")


async def test_a_holder_of_another_name_takes_two_more_people(service: Service, api: Client) -> None:
    nonprofit = await factories.nonprofit(service, name="Hill Road Relief")
    made = await factories.verification(service, api, organisation=nonprofit)
    await service.drain()
    account = await bank.account(service, nonprofit, holder="Any name")
    assert account.name_match_score < 50
    assert (await shown(api, made))["checks"] == checks(registration="succeeded", bank_details="succeeded")
    [flag] = await flags(service, made)
    assert flag.kind == "holder_differs"
    await simulate(api, made, "approve")
    await settled(service, api, nonprofit)
    assert await waits(service, api, nonprofit) == "on_hold"
    for officer in ("four", "five"):
        await lift(service, flag, officer)
    assert await waits(service, api, nonprofit) is None
