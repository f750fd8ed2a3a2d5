"""A process that sends money back and is killed with -9 at a named point: ``python -m tests.chaos.refunding``."""

import asyncio
import json
import os
import signal
import sys
from base64 import b64decode
from datetime import datetime
from uuid import UUID

from almoner.adapters.payments_test import TestProvider
from almoner.giving.accounting.refunds import flows as refunds_flows
from almoner.giving.accounting.suspense import flows as suspense_flows
from almoner.giving.checkout.payments.domain import ProviderRefund
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.deployment import BaseUrls, Deployment
from tests.chaos.paying import Stopped


class Deadly(TestProvider):
    """Kills the process before or after the call."""

    def __init__(self, url: str, secret: str, point: str) -> None:
        super().__init__(url, secret)
        self._point = point

    async def refund_payment(self, payment_id: str, idempotency_key: str, money: Money) -> ProviderRefund:
        """As the provider's, if it survives."""
        self._die("before_refund")
        made = await super().refund_payment(payment_id, idempotency_key, money)
        self._die("after_refund")
        return made

    def _die(self, point: str) -> None:
        if point == self._point:
            os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    """Send it back."""
    task = json.loads(sys.argv[1])
    clock = Stopped(datetime.fromisoformat(task["now"]))
    vault, links = Vault(b64decode(task["master_key"])), BaseUrls(task["links"], task["links"])
    db = await transactions.open_database(
        task["dsn"], Deployment("sandbox", clock, RecordIdCodec(sandbox=True), links, vault), pool_size=2
    )
    send = refunds_flows.send_refund if task["of"] == "gift" else suspense_flows.refund_unallocated_payment
    await send(db, Deadly(task["url"], task["secret"], task["point"]), UUID(task["row"]))


if __name__ == "__main__":
    asyncio.run(main())
