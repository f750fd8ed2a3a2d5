"""Declarations, donations, refunds and claims in random order, beside a model that counts every pound."""

import random
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.checkout.payments.domain import DisputeStatus
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.giving.gift_aid.claims.domain import GiftAidClaim, GiftAidClaimError
from almoner.giving.gift_aid.declarations.domain import Declarer
from almoner.kit.time import iso_timestamp
from almoner.platform.database.transactions import ALL_PARTNERS
from tests.support import factories
from tests.support.claims import BY, Cause, cause
from tests.support.client import Client, data
from tests.support.giftaid import declared
from tests.support.giving import Giving, gift, open_session
from tests.support.payouts import simulate, uuid_of
from tests.support.service import Service

DAY = timedelta(days=1)
HOME = Declarer("Ms", "Ada", "Byron", "12", "St James's Square", "London", "United Kingdom", "SW1Y 4JH")


@dataclass(slots=True)
class Said:
    """A declaration in the model."""

    id: str
    start: datetime
    end: datetime | None
    cancelled: datetime | None = None

    def covers(self, moment: datetime) -> bool:
        """Whether the declaration covers the time, by the guide's rules."""
        ends = [end for end in (self.end, self.cancelled) if end is not None]
        return self.start <= moment and all(moment < end for end in ends)


@dataclass(slots=True)
class Given:
    """A received donation in the model. ``page``: where it was made, None for a direct one.

    ``disputed``: its donor's bank disputes it; ``judged``: the dispute is decided.
    """

    id: str
    made: datetime
    amount: int
    charity: int
    declaration: str | None
    refunded: int = 0
    page: Giving | None = None
    disputed: bool = False
    judged: bool = False

    @property
    def left(self) -> int:
        """The amount that was not refunded."""
        return self.amount - self.refunded

    @property
    def standing(self) -> int:
        """The amount on which Gift Aid is due."""
        return self.left if self.declaration else 0


@dataclass(slots=True)
class World:
    """One donor, some charities and a foreign nonprofit, with a partner of their own."""

    service: Service
    api: Client
    chance: random.Random
    user: str = ""
    causes: list[Cause] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    gifts: list[Given] = field(default_factory=list)
    names: int = 0

    async def open(self) -> None:
        """Create the donor and the charities; the last one is not in the United Kingdom."""
        self.user = (await factories.user(self.api))["id"]
        self.causes = [await cause(self.service, self.api) for _ in range(2)]
        self.causes.append(Cause(self.service, self.api, await factories.nonprofit(self.service)))
        made = await declared(self.api, userId=self.user)
        self.said.append(Said(made["id"], self.service.clock.now() - 1000 * DAY, None))

    async def declare(self) -> None:
        """Declare from a past or future day on, with or without an end."""
        now = self.service.clock.now()
        start = now + self.chance.randint(-20, 5) * DAY
        end = start + self.chance.randint(1, 30) * DAY if self.chance.random() < 0.5 else None
        made = await declared(
            self.api,
            userId=self.user,
            coversFrom=iso_timestamp(start),
            **({"coversTo": iso_timestamp(end)} if end else {}),
        )
        self.said.append(Said(made["id"], start, end))

    async def cancel(self) -> None:
        """Cancel a declaration from now on or from an earlier day."""
        living = [one for one in self.said if one.cancelled is None]
        if not living:
            return
        chosen = self.chance.choice(living)
        since = self.service.clock.now() - self.chance.randint(0, 9) * DAY
        async with self.service.db.write() as tx:
            await gift_aid_claims.cancel_declaration_and_adjust_claims(
                tx, uuid_of(self.service, "giftaid", chosen.id), since
            )
        chosen.cancelled = since
        for one in self.gifts:
            if one.declaration == chosen.id and one.made >= since:
                one.declaration = None

    async def give(self) -> None:
        """Donate to one of them: the newest declaration that covers the donation applies, if its charity may claim."""
        at = self.chance.randrange(3)
        amount = self.chance.choice((400, 1001, 2000))
        made = await self.causes[at].received(amount, userId=self.user)
        now = self.service.clock.now()
        covering = [one.id for one in self.said if one.covers(now)] if at < 2 else []
        expected = covering[-1] if covering else None
        assert made["giftAidId"] == expected
        self.gifts.append(Given(made["id"], now, amount, at, expected))

    async def give_on_a_page(self) -> None:
        """Donate on a page as a session's user; covered like any donation of theirs, or declared for it only."""
        at, known = self.chance.randrange(3), self.chance.random() < 0.5
        amount = self.chance.choice((1001, 2000))
        body = {"userId": self.user} if known else {}
        page = await open_session(self.service, self.api, organisation=self.causes[at].organisation, **body)
        await page.begin(gift(amount, "GBP", declarer=None if known else HOME))
        page.provider.pay_with_card(page.provider.only())
        await page.come_back()
        made, now = (await page.donations())[0], self.service.clock.now()
        if known:
            covering = [one.id for one in self.said if one.covers(now)] if at < 2 else []
            assert made["giftAidId"] == (covering[-1] if covering else None)
        else:
            assert (made["giftAidId"] is not None) == (at < 2)
            assert made["giftAidId"] not in [one.id for one in self.said]
        self.gifts.append(Given(made["id"], now, amount, at, made["giftAidId"], page=page))

    async def dispute(self) -> None:
        """Dispute the rest of a card donation."""
        found = [one for one in self.gifts if one.page and one.left and not one.disputed and not one.judged]
        if found:
            chosen = self.chance.choice(found)
            assert chosen.page is not None
            payment = chosen.page.provider.only()
            chosen.page.provider.open_dispute(payment, self.service.clock.now(), chosen.left)
            await chosen.page.disputed(payment)
            chosen.disputed = True

    async def judge(self) -> None:
        """Decide a dispute."""
        if found := [one for one in self.gifts if one.disputed]:
            await self._judge(self.chance.choice(found))

    async def _judge(self, chosen: Given) -> None:
        assert chosen.page is not None
        lost, payment = self.chance.random() < 0.6, chosen.page.provider.only()
        chosen.page.provider.decide_dispute(payment, DisputeStatus.LOST if lost else DisputeStatus.WON)
        await chosen.page.disputed(payment)
        chosen.disputed, chosen.judged = False, True
        if lost:
            chosen.refunded = chosen.amount

    async def refund(self) -> None:
        """Refund a donation in full or in part."""
        left = [one for one in self.gifts if one.left and not one.disputed]
        if not left:
            return
        chosen = self.chance.choice(left)
        minor = self.chance.choice((chosen.left, 1))
        self.names += 1
        async with self.service.db.write() as tx:
            donation = uuid_of(self.service, "donation", chosen.id)
            started = await refunds.begin_refund(
                tx, ALL_PARTNERS, donation, minor, DisbursementRules(), started_by=BY, note="asked by mail"
            )
            await refunds.record_manual_refund(tx, started.id, f"{chosen.id} {self.names}", "sent", BY)
        chosen.refunded += minor

    async def reassign(self) -> None:
        """Reassign a donation; it loses its declaration for good, which names the first charity."""
        if not (found := [one for one in self.gifts if not one.disputed]):
            return
        chosen, at = self.chance.choice(found), self.chance.randrange(3)
        if at == chosen.charity:
            return
        await simulate(self.api, chosen.id, "reassign", organisationId=self.causes[at].organisation)
        chosen.charity = at
        chosen.declaration = None

    async def draft(self) -> None:
        """Draft a claim of one of the charities, if there is anything to claim."""
        with suppress(GiftAidClaimError):  # it has a draft already
            await self.chance.choice(self.causes[:2]).draft()

    async def move(self) -> None:
        """Move one of the claims on."""
        claims = [one for one in await self.claims() if one.status in ("drafted", "submitted")]
        if not claims:
            return
        claim = self.chance.choice(claims)
        async with self.service.db.write() as tx:
            if claim.status == "drafted" and self.chance.random() < 0.8:
                await gift_aid_claims.mark_submitted(tx, claim.id, "CH-1", recorded_by=BY)
            elif claim.status == "drafted":
                await gift_aid_claims.withdraw_draft(tx, claim.id, "anew", recorded_by=BY)
            elif self.chance.random() < 0.7:
                await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, recorded_by=BY)
            else:
                await gift_aid_claims.mark_rejected(tx, claim.id, "anew", recorded_by=BY)

    async def pass_time(self) -> None:
        """Let some days pass."""
        self.service.clock.advance(self.chance.randint(1, 4) * DAY)

    async def tell(self) -> None:
        """Dispatch the events."""
        await self.service.drain()

    async def step(self) -> None:
        """Do a random step."""
        moves = {
            self.give: 4,
            self.give_on_a_page: 3,
            self.dispute: 2,
            self.judge: 2,
            self.refund: 4,
            self.draft: 5,
            self.move: 8,
            self.reassign: 3,
            self.pass_time: 2,
            self.tell: 2,
            self.declare: 2,
            self.cancel: 1,
        }
        [chosen] = self.chance.choices([*moves], [*moves.values()])
        await chosen()
        self.service.clock.advance(seconds=1)

    async def claims(self) -> list[GiftAidClaim]:
        """The charities' claims."""
        async with self.service.db.read() as tx:
            return [one for of in self.causes[:2] for one in await gift_aid_claims.list_newest_claims(tx, of.id, 1000)]

    async def settle(self) -> None:
        """Decide disputes, pay open claims and claim everything, until nothing is left."""
        for one in self.gifts:
            if one.disputed:
                await self._judge(one)
        await self.service.drain()
        for claim in await self.claims():
            async with self.service.db.write() as tx:
                if claim.status == "drafted":
                    await gift_aid_claims.withdraw_draft(tx, claim.id, "anew", recorded_by=BY)
                elif claim.status == "submitted":
                    await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, recorded_by=BY)
        for of in self.causes[:2]:
            while (drafted := await of.draft()).claim is not None:
                async with self.service.db.write() as tx:
                    await gift_aid_claims.mark_submitted(tx, drafted.claim.id, "CH-2", recorded_by=BY)
                    await gift_aid_claims.mark_paid(tx, drafted.claim.id, None, note=None, recorded_by=BY)

    async def position(self, of: Cause) -> tuple[int, int]:
        """(what HMRC has paid a charity, less deductions; what is still to be deducted)."""
        async with self.service.db.read() as tx:
            claims = [one for one in await gift_aid_claims.list_newest_claims(tx, of.id, 1000) if one.status == "paid"]
            paid: set[UUID] = {one.id for one in claims}
            left = [
                one for one in await gift_aid_claims.list_newest_adjustments(tx, of.id, 1000) if one.claim_id in paid
            ]
        return sum(one.amount_minor - one.deducted_minor for one in claims), sum(one.remaining_minor for one in left)

    async def expect(self) -> None:
        """Check that HMRC has paid the exact amount, and that the API agrees with the model."""
        for at, of in enumerate(self.causes[:2]):
            paid, left = await self.position(of)
            assert paid - left == sum(one.standing for one in self.gifts if one.charity == at)
        for one in self.gifts:
            shown: dict[str, Any] = data(await self.api.get(f"/v1/donations/{one.id}"))
            assert (shown["giftAidId"], shown["refundedAmount"] or 0) == (one.declaration, one.refunded)
