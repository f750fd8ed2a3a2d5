"""Measure, with a resolver that never responds, how long our own services' names take, and the effect on others.

Run it as root in its own mount namespace: ``unshare --mount python -m tests.support.hanging_resolver``.
"""

import asyncio
import json
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import uvloop

from almoner.adapters.mail_smtp import SmtpTransport
from almoner.adapters.scanner_clamd import ClamdScanner
from almoner.adapters.stripe_client import StripeConnection, translate_stripe_errors
from almoner.giving.checkout.payments.domain import ProviderFailure
from almoner.kit.time import SystemClock
from almoner.platform.outbound.mail import Mail, TransientMailFailure
from almoner.validation.applications.documents.ports import MalwareScannerUnavailable
from tests.support.eventually import paced

MUTE = "127.0.0.9"
OF_EACH = 24


def hang() -> socket.socket:
    """Let the system's resolver ask a server that never responds."""
    mute = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    mute.bind((MUTE, 53))
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as conf:
        conf.write(f"nameserver {MUTE}\noptions timeout:30 attempts:5\n")
        conf.flush()
        subprocess.run(["mount", "--bind", conf.name, "/etc/resolv.conf"], check=True)
    return mute


async def took(work: Callable[[], Awaitable[object]]) -> float:
    """The duration of the work in seconds."""
    began = time.monotonic()
    await work()
    return time.monotonic() - began


async def fails(work: Awaitable[object], *kinds: type[Exception]) -> bool:
    """Whether the work fails in an expected way."""
    try:
        await work
    except kinds:
        return True
    return False


async def empty() -> AsyncIterator[bytes]:
    """An empty file."""
    yield b"x"


async def main() -> dict[str, float]:
    """The measurements."""
    mails = SmtpTransport("smtp://mail.hangs.example:587", "Giving <giving@example.org>", SystemClock())
    stripe = StripeConnection("sk_test_" + "0" * 24, "https://api.hangs.example", retries=0)
    scanner = ClamdScanner("clamd://scanner.hangs.example:3310")
    at = datetime(2026, 3, 2, tzinfo=UTC)
    mail = Mail("key", at, None, "ada@example.org", "Subject", "text", "<p>text</p>", "en")

    async def pay() -> None:
        with translate_stripe_errors("payment"):
            await stripe.client.v1.balance.retrieve_async()

    began = time.monotonic()
    calls = [fails(mails.send(mail), TransientMailFailure) for _ in range(OF_EACH)]
    calls += [fails(pay(), ProviderFailure) for _ in range(OF_EACH)]
    calls += [fails(scanner.find_malware_name(empty()), MalwareScannerUnavailable) for _ in range(OF_EACH)]
    waiting = [asyncio.create_task(call) for call in calls]
    await paced(began, turn=1, rate=1)
    loop = asyncio.get_running_loop()
    noticed = {
        "lookup": await took(lambda: loop.getaddrinfo("localhost", 5432)),
        "thread": await took(lambda: asyncio.to_thread(time.monotonic)),
        "threads": float(threading.active_count()),
    }
    failed = await asyncio.gather(*waiting)
    await stripe.close()
    return {**noticed, "failed": sum(failed), "seconds": time.monotonic() - began}


if __name__ == "__main__":
    held = hang()
    print(json.dumps(uvloop.run(main())))
