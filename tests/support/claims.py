"""Charities that claim Gift Aid, for tests."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from almoner.giving.gift_aid.claims import domain as gift_aid_claims_domain
from almoner.giving.gift_aid.claims import hmrc_schedule
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import ClaimDraftResult, GiftAidClaim
from almoner.giving.gift_aid.declarations import domain as declarations_domain
from almoner.giving.gift_aid.declarations import store as declarations_store
from almoner.giving.gift_aid.declarations.domain import Declaration, Declarer
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import Partner
from tests.support import factories
from tests.support.client import Client, data
from tests.support.giftaid import charity, declared
from tests.support.payouts import simulate, uuid_of
from tests.support.service import Service

BY = "operator_of_tests"
ADA = Declarer("Ms", "Ada", "Byron", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")


@dataclass(frozen=True, slots=True)
class Cause:
    """A charity of the United Kingdom, and the partner through which it gets donations."""

    service: Service
    api: Client
    organisation: str

    @property
    def id(self) -> UUID:
        """Its UUID."""
        return uuid_of(self.service, "organisation", self.organisation)

    async def gift(self, amount: int = 1000, **declaration: Any) -> dict[str, Any]:
        """A received donation of a donor with their own declaration."""
        user = (await factories.user(self.api))["id"]
        await declared(self.api, userId=user, **declaration)
        return await self.received(amount, userId=user)

    async def unclaimable_gift(self, amount: int, **changes: Any) -> dict[str, Any]:
        """A donation with a declaration from before HMRC's rule applied."""
        user = (await factories.user(self.api))["id"]
        async with self.service.db.write() as tx:
            user_id = uuid_of(self.service, "user", user)
            partner = Partner(await tx.fetchval("select partner_id from giving_user where id = $1", user_id))
            begins = declarations_domain.earliest_covered_at(tx.now)
            made = Declaration(
                tx.new_id(), partner.id, user_id, replace(ADA, **changes), begins, None, None, tx.now, None
            )
            await declarations_store.insert(tx, partner, made)
        return await self.received(amount, userId=user)

    async def received(self, amount: int = 1000, **body: Any) -> dict[str, Any]:
        """A received donation."""
        wanted = {"amount": amount, "currencyCode": "GBP", "organisationId": self.organisation, **body}
        made = data(await self.api.post("/v1/donations", wanted))
        await simulate(self.api, made["id"], "request")
        return await simulate(self.api, made["id"], "pay")

    async def draft(self, before: datetime | None = None, *, aggregate: bool = False) -> ClaimDraftResult:
        """Draft a claim of all donations until now."""
        self.service.clock.advance(seconds=1)
        async with self.service.db.write() as tx:
            moment = before or tx.now
            return await gift_aid_claims.draft_claim(
                tx,
                self.id,
                moment,
                year_end=gift_aid_claims_domain.TAX_YEAR,
                aggregate_small_donations=aggregate,
                drafted_by=BY,
            )

    async def drafted(self) -> GiftAidClaim:
        """A draft with at least one donation."""
        claim = (await self.draft()).claim
        assert claim is not None
        return claim

    async def submitted(self) -> GiftAidClaim:
        """A submitted claim."""
        claim = await self.drafted()
        async with self.service.db.write() as tx:
            return await gift_aid_claims.mark_submitted(tx, claim.id, "CH-1", recorded_by=BY)

    async def paid(self) -> GiftAidClaim:
        """A paid claim."""
        claim = await self.submitted()
        async with self.service.db.write() as tx:
            return await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, recorded_by=BY)

    async def written(self, claim: GiftAidClaim) -> list[str]:
        """The lines of a schedule."""
        async with self.service.db.read() as tx:
            titles, *lines = (await gift_aid_claims.render_schedule_csv(tx, claim.id)).splitlines()
        assert tuple(titles.split(",")) == hmrc_schedule.COLUMNS
        return lines

    async def adjusted(self) -> list[tuple[str, int, int]]:
        """Amounts to return, oldest first: (reason, amount of the donation, amount not yet deducted)."""
        async with self.service.db.read() as tx:
            found = await gift_aid_claims.list_newest_adjustments(tx, self.id, 100)
        return [(one.reason, one.amount_minor, one.remaining_minor) for one in reversed(found)]


async def cause(service: Service, api: Client) -> Cause:
    """Create a charity."""
    return Cause(service, api, await charity(service))


def day(service: Service, back: int) -> str:
    """A timestamp some days ago, in the API's format."""
    return iso_timestamp(service.clock.now() - timedelta(days=back))
