"""Settlement reports of a payment provider for tests, and the results of their import."""

from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.accounting.settlements.domain import Settlement
from tests.support.factories import unique
from tests.support.service import Service

HEAD = "reference,settled_on,currency,kind,payment,gross,fee,net"


Row = tuple[str, str, float, float] | tuple[str, str, float, float, str]


def report(*lines: Row, currency: str = "USD", reference: str | None = None) -> bytes:
    """A file with lines of (kind, payment, gross, fee) and the refund's ID; old ones have no column for that."""
    reference = reference or unique("po")
    named = any(len(line) > 4 for line in lines)
    rows = []
    for kind, payment, gross, fee, *names in lines:
        refund = f",{''.join(names)}" if named else ""
        rows.append(
            f"{reference},2026-03-02,{currency},{kind},{payment},{gross:.2f},{fee:.2f},{gross - fee:.2f}{refund}"
        )
    return "\n".join([f"{HEAD},refund" if named else HEAD, *rows]).encode()


async def imported(service: Service, content: bytes, provider: str = "fake") -> Settlement:
    """Import a report; returns its settlement."""
    return await settlements_flows.import_report(service.db, provider, content)


async def reasons(service: Service, *payments: str) -> list[str]:
    """Why lines are not booked, by payment."""
    async with service.db.read() as tx:
        rows = await tx.fetch(
            """
            select reason from settlement_line where provider_payment = any($1) and status = 'exception'
            order by provider_payment
            """,
            payments,
        )
    return [row["reason"] for row in rows]
