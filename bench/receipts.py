"""Milliseconds of a receipt as a PDF, beside an empty page with the same standards and fonts."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

from almoner.giving.receipts.documents import ReceiptRenderer
from almoner.giving.receipts.domain import Receipt
from almoner.giving.receipts.pages import TEMPLATES
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.kit.time import SystemClock
from almoner.platform.crypto import Vault
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.platform.pages.pdf import PdfRenderer
from almoner.platform.pages.rendering import PageRenderer
from bench.scale import FULL, Scale

COUNT = 100
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
EMPTY = '#let facts = json(bytes(sys.inputs.facts))\n#set document(title: facts.title)\n#set text(font: "Noto Sans")\n'
Make = Callable[[int], Awaitable[bytes]]


def _receipt(language: str, number: int) -> Receipt:
    return Receipt(
        donation_id=UUID(int=number),
        partner_id=UUID(int=1),
        number=number,
        prefix="ACME",
        issuer="Bright Bank",
        language=language,
        organisation="Relief Fund",
        register="Internal Revenue Service (IRS)",
        register_number="12-3456789",
        first_name="Amina",
        last_name="El-Sayed",
        anonymous=True,
        payment_id=UUID(int=2),
        money=Money(2600, "USD"),
        cover_minor=100,
        received_at=AT,
        issued_at=AT,
    )


async def _milliseconds(make: Make, run: int, count: int) -> float:
    """Milliseconds per document; each has its own facts, so that nothing is cached."""
    started = time.perf_counter()
    for number in range(count):
        await make(run * count + number + 1)
    return (time.perf_counter() - started) / count * 1000


async def _rounds(empty: PdfRenderer, scale: Scale) -> list[str]:
    links = BaseUrls("https://give.example.org", "https://give.example.org")
    deployment = Deployment("production", SystemClock(), RecordIdCodec(sandbox=False), links, Vault(bytes(32)))
    papers = ReceiptRenderer(PageRenderer(deployment, TEMPLATES))

    def receipts(language: str) -> Make:
        return lambda number: papers.render_pdf(_receipt(language, number))

    async def page(number: int) -> bytes:
        return await empty.render_document({"title": f"Page {number}"}, {}, AT)

    makers = {"an empty page": page, **{f"a receipt in {name}": receipts(name) for name in ("en", "ar", "ja")}}
    found: dict[str, list[float]] = {name: [] for name in makers}
    for run in range(scale.repeat):
        for name, make in makers.items():
            found[name].append(await _milliseconds(make, run, scale.rows(COUNT)))
    lines = ["| one after another, in a thread of one process | ms each | kB |", "|---|---|---|"]
    for name, make in makers.items():
        times, size = found[name], len(await make(1)) / 1024
        lines.append(f"| {name} | {statistics.median(times):.1f} ({min(times):.1f}-{max(times):.1f}) | {size:.0f} |")
    return lines


def measure(scale: Scale) -> list[str]:
    """A Markdown table: medians with the range."""
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "empty.typ"
        template.write_text(EMPTY)
        return asyncio.run(_rounds(PdfRenderer(template), scale))


if __name__ == "__main__":
    print("\n".join(measure(FULL)))
