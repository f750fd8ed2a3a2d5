"""Reports of a payment provider for tests, and what their import finds."""

from almoner.giving.settlements import flows
from almoner.giving.settlements.domain import Settlement
from tests.support.factories import unique
from tests.support.service import Service

HEAD = "reference,settled_on,currency,kind,payment,gross,fee,net"


def report(*lines: tuple[str, str, float, float], currency: str = "USD", reference: str | None = None) -> bytes:
    """A file with lines of (kind, payment, gross, fee)."""
    reference = reference or unique("po")
    rows = [
        f"{reference},2026-03-02,{currency},{kind},{payment},{gross:.2f},{fee:.2f},{gross - fee:.2f}"
        for kind, payment, gross, fee in lines
    ]
    return "\n".join([HEAD, *rows]).encode()


async def imported(service: Service, content: bytes, provider: str = "fake") -> Settlement:
    """What became of a report."""
    return await flows.import_report(service.db, provider, content)


async def reasons(service: Service, *payments: str) -> list[str]:
    """Why lines of these payments are not booked, by payment."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select reason from settlement_line where provider_payment = any($1) and status = 'exception'
            order by provider_payment
            """,
            payments,
        )
    return [row["reason"] for row in rows]
