"""A world of declarations, gifts, refunds and claims in any order, beside a model that counts pound by pound."""

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
    """A declaration as the model knows it."""

    id: str
    start: datetime
    end: datetime | None
    cancelled: datetime | None = None

    def covers(self, moment: datetime) -> bool:
        """By the words of the guide."""
        ends = [end for end in (self.end, self.cancelled) if end is not None]
        return self.start <= moment and all(moment < end for end in ends)


@dataclass(slots=True)
class Given:
    """A received gift as the model knows it. ``page``: where it was given, None for a direct one.

    ``disputed``: its donor's bank wants it back; ``judged``: and has decided.
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
        """What has not gone back."""
        return self.amount - self.refunded

    @property
    def standing(self) -> int:
        """What gift aid is due on."""
        return self.left if self.declaration else 0


@dataclass(slots=True)
class World:
    """One donor, some charities and a nonprofit abroad, in a service of their own partner."""

    service: Service
    api: Client
    chance: random.Random
    user: str = ""
    causes: list[Cause] = field(default_factory=list)
    said: list[Said] = field(default_factory=list)
    gifts: list[Given] = field(default_factory=list)
    names: int = 0

    async def open(self) -> None:
        """The donor and the charities; the last one is none of the United Kingdom."""
        self.user = (await factories.user(self.api))["id"]
        self.causes = [await cause(self.service, self.api) for _ in range(2)]
        self.causes.append(Cause(self.service, self.api, await factories.nonprofit(self.service)))
        made = await declared(self.api, userId=self.user)
        self.said.append(Said(made["id"], self.service.clock.now() - 1000 * DAY, None))

    async def declare(self) -> None:
        """From some day of the past or the future on, for good or until some day."""
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
        """A declaration is cancelled from now on or from an earlier day."""
        living = [one for one in self.said if one.cancelled is None]
        if not living:
            return
        chosen = self.chance.choice(living)
        since = self.service.clock.now() - self.chance.randint(0, 9) * DAY
        async with self.service.db.write() as tx:
            await gift_aid_claims.cancel_declaration(tx, uuid_of(self.service, "giftaid", chosen.id), since)
        chosen.cancelled = since
        for one in self.gifts:
            if one.declaration == chosen.id and one.made >= since:
                one.declaration = None

    async def give(self) -> None:
        """A gift for one of them: it bears the newest declaration that covers it, if its charity may claim."""
        at = self.chance.randrange(3)
        amount = self.chance.choice((400, 1001, 2000))
        made = await self.causes[at].received(amount, userId=self.user)
        now = self.service.clock.now()
        covering = [one.id for one in self.said if one.covers(now)] if at < 2 else []
        expected = covering[-1] if covering else None
        assert made["giftAidId"] == expected
        self.gifts.append(Given(made["id"], now, amount, at, expected))

    async def give_on_a_page(self) -> None:
        """As the user of a session, covered as any gift of theirs, or declaring on the page for this gift alone."""
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
        """A donor's bank wants back what is left of a gift by card."""
        found = [one for one in self.gifts if one.page and one.left and not one.disputed and not one.judged]
        if found:
            chosen = self.chance.choice(found)
            assert chosen.page is not None
            payment = chosen.page.provider.only()
            chosen.page.provider.open_dispute(payment, self.service.clock.now(), chosen.left)
            await chosen.page.disputed(payment)
            chosen.disputed = True

    async def judge(self) -> None:
        """A donor's bank decides."""
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
        """All or a part of a gift goes back."""
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
        """A gift goes to another organisation; it loses its declaration for good, which names the first."""
        if not (found := [one for one in self.gifts if not one.disputed]):
            return
        chosen, at = self.chance.choice(found), self.chance.randrange(3)
        if at == chosen.charity:
            return
        await simulate(self.api, chosen.id, "reassign", organisationId=self.causes[at].organisation)
        chosen.charity = at
        chosen.declaration = None

    async def draft(self) -> None:
        """One of the charities drafts a claim, if there is something to claim."""
        with suppress(GiftAidClaimError):  # it has a draft
            await self.chance.choice(self.causes[:2]).draft()

    async def move(self) -> None:
        """Something becomes of one of the claims."""
        claims = [one for one in await self.claims() if one.status in ("drafted", "submitted")]
        if not claims:
            return
        claim = self.chance.choice(claims)
        async with self.service.db.write() as tx:
            if claim.status == "drafted" and self.chance.random() < 0.8:
                await gift_aid_claims.mark_submitted(tx, claim.id, "CH-1", by=BY)
            elif claim.status == "drafted":
                await gift_aid_claims.withdraw_draft(tx, claim.id, "anew", by=BY)
            elif self.chance.random() < 0.7:
                await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, by=BY)
            else:
                await gift_aid_claims.mark_rejected(tx, claim.id, "anew", by=BY)

    async def pass_time(self) -> None:
        """Some days pass."""
        self.service.clock.advance(self.chance.randint(1, 4) * DAY)

    async def tell(self) -> None:
        """What happened is told."""
        await self.service.drain()

    async def step(self) -> None:
        """Anything of it."""
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
        """Those of the charities."""
        async with self.service.db.read() as tx:
            return [one for of in self.causes[:2] for one in await gift_aid_claims.newest_claims(tx, of.id, 1000)]

    async def settle(self) -> None:
        """Banks decide, all that is under way is paid, all that can be claimed is claimed, until nothing is left."""
        for one in self.gifts:
            if one.disputed:
                await self._judge(one)
        await self.service.drain()
        for claim in await self.claims():
            async with self.service.db.write() as tx:
                if claim.status == "drafted":
                    await gift_aid_claims.withdraw_draft(tx, claim.id, "anew", by=BY)
                elif claim.status == "submitted":
                    await gift_aid_claims.mark_paid(tx, claim.id, None, note=None, by=BY)
        for of in self.causes[:2]:
            while (drafted := await of.draft()).claim is not None:
                async with self.service.db.write() as tx:
                    await gift_aid_claims.mark_submitted(tx, drafted.claim.id, "CH-2", by=BY)
                    await gift_aid_claims.mark_paid(tx, drafted.claim.id, None, note=None, by=BY)

    async def position(self, of: Cause) -> tuple[int, int]:
        """What HMRC has paid a charity for, less what was taken off; and what is still to be taken off."""
        async with self.service.db.read() as tx:
            claims = [one for one in await gift_aid_claims.newest_claims(tx, of.id, 1000) if one.status == "paid"]
            paid: set[UUID] = {one.id for one in claims}
            left = [one for one in await gift_aid_claims.newest_adjustments(tx, of.id, 1000) if one.claim_id in paid]
        return sum(one.minor - one.deducted_minor for one in claims), sum(one.left_minor for one in left)

    async def expect(self) -> None:
        """HMRC has paid for what stands, to the penny; the interface shows what the model knows."""
        for at, of in enumerate(self.causes[:2]):
            paid, left = await self.position(of)
            assert paid - left == sum(one.standing for one in self.gifts if one.charity == at)
        for one in self.gifts:
            shown: dict[str, Any] = data(await self.api.get(f"/v1/donations/{one.id}"))
            assert (shown["giftAidId"], shown["refundedAmount"] or 0) == (one.declaration, one.refunded)
