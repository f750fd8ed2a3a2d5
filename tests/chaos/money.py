"""A process that moves money and kills itself, as kill -9 does: ``python -m tests.chaos.money TASK FIRST LAST``.

The points to die at are before and after every commit and every call to the provider. For each point between the two a
child is forked that takes the next session of the task and dies there; what it printed is ``<point> killed`` or, once
there is no such point any more, ``<point> lived``.
"""

import json
import random
import sys
from base64 import b64decode
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from almoner.adapters.payments_test import TestProvider
from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import ProviderFailure, ProviderPayment, ProviderUnavailable
from almoner.giving.checkout.payments.ports import PaymentProvider, PaymentRequest
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.database.transactions import ALL_PARTNERS, Database
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.provider_test import service as provider_test
from almoner.provider_test.domain import Card
from tests.chaos.paying import Stopped
from tests.chaos.victim import Mortal, fork_each

GIFT = DonationDetails(Money(2500, "USD"), "Ada", "Byron", "ada@example.org", consented=True, anonymous=False)
Answer = TypeVar("Answer")


class Deadly(TestProvider):
    """Kills the process before or after a call, and loses some of the answers."""

    def __init__(self, url: str, secret: str, db: Mortal, chance: random.Random) -> None:
        super().__init__(url, secret)
        self._db = db
        self._chance = chance

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """As the provider's, if it survives."""
        return await self._through(super().create_payment(payment_request))

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """As the provider's, if it survives."""
        return await self._through(super().fetch_payment(payment_id))

    async def _through(self, call: Awaitable[Answer]) -> Answer:
        self._db.boundary()
        answer = await call
        self._db.boundary()
        if self._chance.random() < 0.2:
            raise ProviderFailure("the answer was lost")
        return answer


async def connect(task: dict[str, Any]) -> Mortal:
    """The task's database, whose transactions may be fatal."""
    links = BaseUrls(task["links"], task["links"])
    clock = Stopped(datetime.fromisoformat(task["now"]))
    deployment = Deployment("sandbox", clock, RecordIdCodec(sandbox=True), links, Vault(b64decode(task["master_key"])))
    return Mortal(await transactions.open_pool(task["dsn"], pool_size=2), deployment)


async def pay(db: Database, provider: PaymentProvider, session_id: UUID) -> None:
    """A donor who does not give up gives, pays with a card and comes back; whatever was done before is not repeated."""
    work = PaymentContext(db, provider)
    started = await _patiently(lambda: donations_flows.start_payment(work, session_id, GIFT))
    if started.payment_url is not None:
        async with Database.write(db) as tx:  # the provider is another system: it survives
            await provider_test.pay_with_card(tx, started.payment_url.rpartition("/")[2], Card("4242424242424242"))
    await _patiently(lambda: donations_flows.handle_donor_return(work, session_id))


async def pay_out(db: Database, session_id: UUID) -> None:
    """The provider reports the payment, an officer runs the payouts; both as often as it takes."""
    async with db.read() as tx:
        payment = await tx.fetchval(
            "select p.provider_payment from payment p join donation d on d.payment_id = p.id where d.session_id = $1",
            session_id,
        )
    rows = [",".join(settlements_flows.COLUMNS), f"{payment},{tx.now:%Y-%m-%d},USD,payment,{payment},25.00,0.63,24.37"]
    await settlements_flows.import_report(db, "test", "\n".join(rows).encode())
    await disbursements_flows.run_disbursements(db, DisbursementRules())


async def return_payout(db: Database, session_id: UUID) -> None:
    """The bank sends the payout back, unless it did before."""
    async with db.read() as tx:
        disbursement = await tx.fetchval("select disbursement_id from donation where session_id = $1", session_id)
    with suppress(DisbursementError):
        await disbursements_flows.mark_returned(db, disbursement, "account closed", recorded_by="officer")


async def release(db: Database, session_id: UUID) -> None:
    """An officer lets the nonprofit be paid again, if a return has stopped that."""
    async with db.write() as tx:
        owner = await tx.fetchval("select organisation_id from donation where session_id = $1", session_id)
        with suppress(DisbursementError):
            await disbursements.release_holds(
                tx, ALL_PARTNERS, owner, note="by mail", decided_by="officer", rules=DisbursementRules()
            )


async def _patiently(ask: Callable[[], Awaitable[Answer]]) -> Answer:
    while True:
        with suppress(ProviderUnavailable):
            return await ask()


async def live(task: dict[str, Any], point: int) -> None:
    """One gift; when the task says so, all the way to the nonprofit and back."""
    db = await connect(task)
    db.fatal = point
    provider = Deadly(task["url"], task["secret"], db, random.Random(task["seed"] + point))
    session_id = UUID(task["sessions"][point - 1])
    await pay(db, provider, session_id)
    if task["onwards"]:
        await pay_out(db, session_id)
        await return_payout(db, session_id)
    await provider.close()
    await db.close()


if __name__ == "__main__":
    fork_each(range(int(sys.argv[2]), int(sys.argv[3]) + 1), partial(live, json.loads(sys.argv[1])))
