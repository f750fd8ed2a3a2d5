"""A process that sends a receipt and is killed with -9 at a named point: ``python -m tests.chaos.mailing``, as JSON."""

import asyncio
import json
import os
import signal
import sys
from base64 import b64decode
from datetime import UTC, datetime
from uuid import UUID

from almoner.giving.receipts import jobs as receipts_jobs
from almoner.kit.ids import RecordIdCodec
from almoner.platform.crypto import Vault
from almoner.platform.database import transactions
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.platform.outbound.mail import Mail
from tests.chaos.paying import Stopped
from tests.support import emails


class Deadly:
    """A carrier of mails that kills the process."""

    async def send(self, _mail: Mail) -> None:
        """Never comes back."""
        os.kill(os.getpid(), signal.SIGKILL)


async def main() -> None:
    """Issue the receipt, and die with the mail in hand."""
    task = json.loads(sys.argv[1])
    now = datetime.fromisoformat(task["now"]).astimezone(UTC)
    links = BaseUrls(task["links"], task["links"])
    vault = Vault(b64decode(task["master_key"]))
    deployment = Deployment("sandbox", Stopped(now), RecordIdCodec(sandbox=True), links, vault)
    db = await transactions.open_database(task["dsn"], deployment, pool_size=2)
    payload = {"partner": task["partner"], "id": str(UUID(task["donation"])), "received": task["now"]}
    await emails.send(db, receipts_jobs.RECEIPT, Deadly(), payload, now)


if __name__ == "__main__":
    asyncio.run(main())
