"""A process that pays and is killed with -9 at a named point: ``python -m tests.chaos.paying``, its task as JSON."""

import asyncio
import json
import os
import signal
import sys
from base64 import b64decode
from datetime import UTC, datetime
from uuid import UUID

from almoner.adapters.payments_test import TestProvider
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.domain import DonationDetails
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import ProviderPayment
from almoner.giving.checkout.payments.ports import OffSessionCharge, PaymentRequest
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.deployment import BaseUrls, Deployment


class Stopped:
    """Business time as the test has it; real time is real."""

    def __init__(self, now: datetime) -> None:
        self._now = now

    def now(self) -> datetime:
        """Business time."""
        return self._now

    def real_now(self) -> datetime:
        """Real time."""
        return datetime.now(UTC)


class Deadly(TestProvider):
    """Kills the process before or after a call."""

    def __init__(self, url: str, secret: str, point: str) -> None:
        super().__init__(url, secret)
        self._point = point

    async def create_payment(self, payment_request: PaymentRequest) -> ProviderPayment:
        """As the provider's, if it survives."""
        self._die("before_create")
        made = await super().create_payment(payment_request)
        self._die("after_create")
        return made

    async def fetch_payment(self, payment_id: str) -> ProviderPayment:
        """As the provider's, if it survives."""
        self._die("before_fetch")
        found = await super().fetch_payment(payment_id)
        self._die("after_fetch")
        return found

    async def charge_off_session(self, charge: OffSessionCharge) -> ProviderPayment:
        """As the provider's, if it survives."""
        self._die("before_charge")
        made = await super().charge_off_session(charge)
        self._die("after_charge")
        return made

    def _die(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    """Begin to pay, or come back from paying."""
    task = json.loads(sys.argv[1])
    clock = Stopped(datetime.fromisoformat(task["now"]))
    vault, links = Vault(b64decode(task["master_key"])), BaseUrls(task["links"], task["links"])
    db = await transactions.open_database(
        task["dsn"], Deployment("sandbox", clock, RecordIdCodec(sandbox=True), links, vault), pool_size=2
    )
    work = PaymentContext(db, Deadly(task["url"], task["secret"], task["point"]))
    if task["point"].endswith("charge"):
        await donations_flows.charge_or_resume_interrupted_payment(work, UUID(task["payment"]))
        return
    session = UUID(task["session"])
    if task["point"].endswith("create"):
        gift = DonationDetails(Money(2500, "USD"), "Ada", "Byron", "ada@example.org", consented=True, anonymous=False)
        await donations_flows.start_payment(work, session, gift)
    else:
        await donations_flows.handle_donor_return(work, session)


if __name__ == "__main__":
    asyncio.run(main())
