"""The part of the simulation in which charities claim Gift Aid, while declarations end and donations move."""

import random
from contextlib import suppress
from typing import Any
from uuid import UUID

from almoner.giving.accounting.reassignments import jobs as reassignments_jobs
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import TAX_YEAR, GiftAidClaim, GiftAidClaimError
from almoner.giving.gift_aid.declarations.domain import DeclarationError
from almoner.platform.database.transactions import Database
from tests.support.client import Client
from tests.support.giftaid import declared
from tests.support.service import Service

BY = "officer"


class Claiming:
    """What charities and HMRC do, and what HMRC must have paid at the end.

    ``donor``: who declared, and donates often.
    """

    service: Service
    api: Client
    db: Database
    chance: random.Random
    nonprofits: list[str]
    donor: str

    async def ids(self, sql: str) -> list[UUID]:
        """The IDs that a statement selects."""
        raise NotImplementedError

    async def declare(self) -> None:
        """Declare again, or cancel a declaration from now on."""
        living = await self.ids("select id from gift_aid_declaration where deleted_at is null order by id")
        if not living or self.chance.random() < 0.5:
            await declared(self.api, userId=self.donor)
            return
        with suppress(DeclarationError):  # cancelled by another action meanwhile
            async with self.db.write() as tx:
                await gift_aid_claims.cancel_declaration_and_adjust_claims(tx, self.chance.choice(living), None)

    async def claim(self) -> None:
        """Draft a claim of all donations until now, if there is anything to claim."""
        with suppress(GiftAidClaimError):  # it has a draft already
            await self._draft(self._uuid(self.chance.choice(self.nonprofits)))

    async def hmrc_answers(self) -> None:
        """Submit or withdraw a draft, or have HMRC pay or reject a claim."""
        states = "('drafted', 'submitted')"
        if not (found := await self.ids(f"select id from gift_aid_claim where status in {states} order by id")):
            return
        claim_id = self.chance.choice(found)
        with suppress(GiftAidClaimError):  # another action was faster
            async with self.db.write() as tx:
                drafted = (await gift_aid_claims.get(tx, claim_id)).status == "drafted"
                if self.chance.random() < 0.2:
                    await (gift_aid_claims.withdraw_draft if drafted else gift_aid_claims.mark_rejected)(
                        tx, claim_id, "anew", recorded_by=BY
                    )
                elif drafted:
                    await gift_aid_claims.mark_submitted(tx, claim_id, "CH-1", recorded_by=BY)
                else:
                    await gift_aid_claims.mark_paid(tx, claim_id, None, note=None, recorded_by=BY)

    async def merge(self) -> None:
        """Have a register report that the last nonprofit merged into the first, or not."""
        chance = self.chance.random()
        if chance < 0.3:
            await self._merge(gone=chance < 0.2)
        async with self.db.write() as tx:
            await reassignments_jobs.on_register_changed(tx, [])

    async def follow_merged(self) -> None:
        """Have the merge reported at last."""
        await self._merge(gone=True)
        async with self.db.write() as tx:
            await reassignments_jobs.on_register_changed(tx, [])

    async def _merge(self, *, gone: bool) -> None:
        async with self.db.write() as tx:
            await tx.execute(
                """
                update organisation set status_override = case when $3 then 'merged' end, active = not $3,
                                        succeeded_by = case when $3 then $2::uuid end
                where id = $1
                """,
                self._uuid(self.nonprofits[-1]),
                self._uuid(self.nonprofits[0]),
                gone,
            )

    async def settle_claims(self) -> None:
        """Pay all open claims, and claim everything."""
        for claim_id in await self.ids("select id from gift_aid_claim where status = 'drafted'"):
            async with self.db.write() as tx:
                await gift_aid_claims.withdraw_draft(tx, claim_id, "anew", recorded_by=BY)
        for claim_id in await self.ids("select id from gift_aid_claim where status = 'submitted'"):
            async with self.db.write() as tx:
                await gift_aid_claims.mark_paid(tx, claim_id, None, note=None, recorded_by=BY)
        for name in self.nonprofits:
            while (drafted := await self._draft(self._uuid(name))) is not None:
                async with self.db.write() as tx:
                    await gift_aid_claims.mark_submitted(tx, drafted.id, "CH-2", recorded_by=BY)
                    await gift_aid_claims.mark_paid(tx, drafted.id, None, note=None, recorded_by=BY)

    async def expect_claims(self, donations: list[dict[str, Any]]) -> None:
        """Check that HMRC has paid the exact amount for donations with a declaration, and none was left out."""
        async with self.db.read() as tx:
            for name in self.nonprofits:
                claims = [
                    one
                    for one in await gift_aid_claims.list_newest_claims(tx, self._uuid(name), 10_000)
                    if one.status == "paid"
                ]
                paid = {one.id for one in claims}
                left = [
                    one
                    for one in await gift_aid_claims.list_newest_adjustments(tx, self._uuid(name), 10_000)
                    if one.claim_id in paid
                ]
                standing = [
                    one["amount"] - (one["refundedAmount"] or 0)
                    for one in donations
                    if one["giftAidId"] and one["organisationId"] == name
                    if one["status"] in ("RECEIVED_PAYMENT", "DISBURSED")
                ]
                got = sum(one.amount_minor - one.deducted_minor for one in claims) - sum(
                    one.remaining_minor for one in left
                )
                assert got == sum(standing), name
            assert await reassignments.list_donation_ids_of_merged_organisations(tx, None, 10) == []

    async def _draft(self, of: UUID) -> GiftAidClaim | None:
        together = self.chance.random() < 0.5
        async with self.db.write() as tx:
            return (
                await gift_aid_claims.draft_claim(
                    tx, of, tx.now, year_end=TAX_YEAR, aggregate_small_donations=together, drafted_by=BY
                )
            ).claim

    def _uuid(self, organisation: str) -> UUID:
        found = self.service.db.deployment.ids.decode("organisation", organisation)
        assert found is not None
        return found
