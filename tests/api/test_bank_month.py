"""A synthetic month of our bank's lines with faults of every kind: all are found, and none is invented (M7)."""

from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import timedelta
from random import Random
from typing import Any, Final

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.checkout.donations import service as donations
from almoner.platform.observability import selfcheck
from almoner.selfchecks import CHECKS
from tests.support import bank, books, camt, factories, transfers
from tests.support import giving as support
from tests.support.camt import Entry
from tests.support.client import Client
from tests.support.figures import Figures
from tests.support.giving import gift
from tests.support.payouts import payouts, settled, verified
from tests.support.reports import imported, report
from tests.support.requests import asked, paid
from tests.support.service import Service

DAYS: Final = 30
OF_TRANSFERS: Final = (
    *("missing", "doubled", "paid twice", "short", "over", "mistyped", "other currency", "late", "two in one", "back"),
)
OF_REQUESTS: Final = ("missing", "over", "noted by hand")
OF_PAYOUTS: Final = ("missing", "other amount", "paid twice", "returned")
OF_REPORTS: Final = ("missing", "fee taken", "paid twice")
KINDS: Final = (
    len(OF_TRANSFERS) + len(OF_REQUESTS) + len(OF_PAYOUTS) + len(OF_REPORTS) + 2
)  # and fees of the bank, and a statement


@pytest.fixture
def own(alone: Service) -> Service:
    return alone


@pytest.fixture
async def partner(own: Service) -> AsyncIterator[Client]:
    api = own.client((await own.tenant()).secret)
    yield api
    await api.close()


class Month:
    """What the bank tells, day by day, and what of it is wrong.

    ``waiting``: lines with why they wait; ``held``: transfers with why they are held; ``left``: what no money, or no
    line, came for, by its kind; ``arrived``: what must be in the books, in minor units.
    """

    def __init__(self, own: Service, api: Client, chance: Random) -> None:
        self.own = own
        self.api = api
        self.chance = chance
        self.days: list[list[Entry]] = [[] for _ in range(DAYS)]
        self.euros: list[Entry] = []
        self.waiting: Counter[tuple[str, str]] = Counter()
        self.held: Counter[tuple[str, str]] = Counter()
        self.left: dict[str, set[str]] = {"gift": set(), "request": set(), "payout": set(), "report": set()}
        self.states: Counter[str] = Counter()
        self.twins: dict[str, str] = {}
        self.arrived = self.told = 0

    def tell(self, minor: int, words: str = "", *, on: int, booked: bool, **more: Any) -> str:
        """A line of a day; its name."""
        name = more.pop("name", None) or f"L{self.told:05}"
        self.told += 1
        day = f"2026-03-{on + 1:02}"
        self.days[on].append(camt.entry(name, minor, words=words, currency="USD", day=day, **more))
        self.arrived += minor if booked else 0
        return name

    def waits(self, name: str, reason: str) -> None:
        """A line is listed for people."""
        self.waiting[name, reason] += 1

    def waits_once(self, one: str, other: str) -> None:
        """Of two lines for the same, the one that is read last is listed for people."""
        self.twins[one] = other
        self.waits(other, "matched_before")


async def transfer(month: Month, kind: str | None) -> None:
    """A donor transfers a gift."""
    amount, on = month.chance.randint(100, 90_000), month.chance.randrange(DAYS - 1)
    giving = await support.open_session(month.own, month.api)
    await transfers.begun(giving, gift(amount))
    named = await transfers.reference(giving)
    match kind:
        case "missing":
            month.left["gift"].add(named)
        case "short" | "over":
            month.tell(amount + (1 if kind == "over" else -1), named, on=on, booked=True)
            month.held[named, kind] += 1
            month.left["gift"].add(named)
        case "mistyped":
            wrong = named[:-1] + ("0" if named[-1] != "0" else "1")
            month.waits(month.tell(amount, wrong, on=on, booked=False), "unknown")
            month.left["gift"].add(named)
        case "other currency":
            month.euros.append(transfers.came(f"E{len(month.euros):05}", amount, named, "EUR"))
            month.told += 1
            month.held[named, "other_currency"] += 1
            month.left["gift"].add(named)
        case "two in one":
            other = await support.open_session(month.own, month.api)
            await transfers.begun(other, gift(amount))
            second = await transfers.reference(other)
            month.waits(month.tell(2 * amount, f"{named} {second}", on=on, booked=False), "ambiguous")
            month.left["gift"] |= {named, second}
        case _:
            name = month.tell(amount, named, on=on, booked=True)
            if kind == "doubled":
                month.tell(amount, named, on=on + 1, booked=False, name=name)
                month.waits(name, "seen_before")
            elif kind == "paid twice":
                month.tell(amount, named, on=on + 1, booked=True)
                month.held[named, "paid_twice"] += 1
            elif kind == "back":
                month.waits(month.tell(-amount, named, on=on + 1, booked=False), "other_amount")
            elif kind == "late":
                month.held[named, "donation_cancelled"] += 1


async def request(month: Month, kind: str | None) -> None:
    """A partner pays for its direct donations."""
    amount, on = month.chance.randint(100, 90_000), month.chance.randrange(DAYS)
    made = await asked(month.own, month.api, amount)
    if kind == "missing":
        month.left["request"].add(made["reference"])
    elif kind == "noted by hand":  # of another amount than the bank tells
        name = month.tell(amount, made["reference"], on=on, booked=False)
        await paid(month.own, made, amount - 1, name)
        month.waits(name, "refused")
        month.left["request"].add(made["reference"])
        month.arrived += amount - 1
    else:
        month.tell(amount + (kind == "over"), made["reference"], on=on, booked=True)
        month.states["over"] += kind == "over"


async def payout(month: Month, cause: str, kind: str | None) -> None:
    """We pay a nonprofit."""
    await settled(month.own, month.api, cause)
    await bank.in_a_file(month.own)
    made, on = (await payouts(month.api))[0], month.chance.randrange(DAYS - 1)
    minor, named = made["amount"], made["endToEndId"]
    if kind == "missing":
        month.left["payout"].add(named)
    elif kind == "other amount":
        month.waits(month.tell(1 - minor, on=on, booked=False, end_to_end=named), "other_amount")
        month.left["payout"].add(named)
    else:
        name = month.tell(-minor, on=on, booked=True, end_to_end=named)
        if kind == "paid twice":
            month.waits_once(name, month.tell(-minor, on=on + 1, booked=False, end_to_end=named))
    if kind == "returned":
        month.tell(minor, on=on + 1, booked=True, end_to_end=named, returned="AC04")
        month.states["RETURNED"] += 1


async def provider(month: Month, number: int, kind: str | None) -> None:
    """A provider pays out to us; its report has settled the gift."""
    made = await factories.donation(month.own, month.api)
    async with month.own.db.read() as tx:
        payment = await tx.fetchval(
            "select p.provider_payment from payment p join donation d on d.payment_id = p.id where d.id = $1",
            tx.ids.decode("donation", made["id"]),
        )
    name, on = f"po_{number:06}", month.chance.randrange(DAYS - 1)
    await imported(month.own, report(("payment", payment, 25.0, 1.0), reference=name), "test")
    if kind == "missing":
        month.left["report"].add(name)
    elif kind == "fee taken":
        month.waits(month.tell(2390, f"Provider {name}", on=on, booked=False), "other_amount")
        month.left["report"].add(name)
    else:
        first = month.tell(2400, f"Provider {name}", on=on, booked=False)
        if kind == "paid twice":
            month.waits_once(first, month.tell(2400, f"Provider {name}", on=on + 1, booked=False))


async def planned(
    month: Month, count: int, each: int, kinds: tuple[str, ...], happen: Callable[[str | None], Awaitable[None]]
) -> None:
    """So many things, among them each fault so often."""
    plan: list[str | None] = [kind for kind in kinds for _ in range(each)]
    plan += [None] * max(0, count - len(plan))
    month.chance.shuffle(plan)
    for kind in plan:
        await happen(kind)


async def happened(own: Service, api: Client, figures: Figures) -> Month:
    """A month, as it was before the bank tells of it."""
    month = Month(own, api, Random(figures.seed))
    each = figures.count(1, 30)
    late = ("late",)
    await planned(month, each, each, late, lambda kind: transfer(month, kind))
    await own.drain()
    own.clock.advance(timedelta(days=1))
    async with own.db.write() as tx:
        await donations.cancel_abandoned_donations(tx)
    others = tuple(kind for kind in OF_TRANSFERS if kind not in late)
    await planned(month, figures.count(14, 2_450), each, others, lambda kind: transfer(month, kind))
    await planned(month, figures.count(4, 150), each, OF_REQUESTS, lambda kind: request(month, kind))
    cause = await factories.nonprofit(own)
    await bank.account(own, cause)
    await verified(own, api, cause)
    await planned(month, figures.count(5, 150), each, OF_PAYOUTS, lambda kind: payout(month, cause, kind))
    numbers = iter(range(1_000))
    await planned(month, figures.count(4, 150), each, OF_REPORTS, lambda kind: provider(month, next(numbers), kind))
    for _ in range(each):
        month.waits(month.tell(-15, "account fee", on=month.chance.randrange(DAYS), booked=False), "unknown")
    return month


@pytest.mark.soak
async def test_m7_a_month_of_bank_lines_with_faults_of_every_kind_all_found_none_invented(
    own: Service, partner: Client, figures: Figures
) -> None:
    month = await happened(own, partner, figures)
    before = await books.in_bank(own, "USD") - await received_by_hand(own)
    matched = 0
    reported, late = out_of_turn(month)
    for number, content in reported:
        matched += (await bank.stated(own, content)).matched_line_count
        async with own.db.read() as tx:
            missing = [one.statement_reference for one in await bank_statements.list_statement_gaps(tx, 100)]
        assert missing == ([f"D{number}"] if number == late + 1 else []), "the statement before it is missing"
    matched += (await bank.stated(own, camt.statement(*month.euros, reference="E", currency="EUR"))).matched_line_count
    async with own.db.read() as tx:
        found = await tx.fetch("select bank_reference, reason, status from bank_statement_line")
        held = await tx.fetch("select split_part(provider_payment, '/', 1), reason from unallocated_payment")
        unbanked = await bank_statements.list_missing_provider_payouts(tx, 10_000)
    waiting = Counter((month.twins.get(row[0], row[0]), row[1]) for row in found if row["status"] == "open")
    assert waiting == month.waiting
    assert Counter(tuple(row) for row in held) == month.held
    assert {one.payout.reference for one in unbanked} == month.left["report"]
    assert await left(own) == {name: month.left[name] for name in ("gift", "request", "payout")}
    assert await states(own) == month.states
    assert (len(found), matched) == (month.told, month.told - month.waiting.total())
    assert await books.in_bank(own, "USD") - before == month.arrived
    assert await books.balanced(own)
    outcome = await selfcheck.run_selfcheck(own.db, CHECKS)
    assert [(one.check.name, one.examples) for one in outcome.findings] == []
    figures.write(
        "bank-month",
        "A month of bank statements with faults of every kind (M7)",
        f"{month.told:,} lines of donors' transfers, partners' transfers, payouts and providers' payouts, "
        f"{figures.count(1, 30)} faults of each of {KINDS} kinds, and a statement that came a day late",
        f"{month.waiting.total()} lines listed for people, {month.held.total()} transfers held, each for its reason; "
        f"{sum(map(len, month.left.values()))} gifts, requests, payouts and reports left open",
        f"{matched:,} lines booked, none invented and none missing; the books agree with the bank to the cent",
    )


def out_of_turn(month: Month) -> tuple[list[tuple[int, bytes]], int]:
    """The statements of the days, and which of them comes a day late: one that came to something."""
    balance, reported = 10**9, []
    for number, entries in enumerate(month.days):
        day = f"2026-03-{number + 1:02}"
        content = camt.statement(*entries, reference=f"D{number}", currency="USD", opening=balance, day=day)
        reported.append((number, content))
        balance += sum(one.minor for one in entries)
    late = next(day for day in range(1, DAYS - 1) if sum(one.minor for one in month.days[day]))
    reported[late : late + 2] = reported[late + 1], reported[late]
    return reported, late


async def received_by_hand(own: Service) -> int:
    """What officers have noted of partners' transfers by themselves."""
    async with own.db.read() as tx:
        return int(await tx.fetchval("select coalesce(sum(amount_minor), 0)::bigint from request_payment"))


async def left(own: Service) -> dict[str, set[str]]:
    """What is still waited for, as officers find it."""
    sql = {
        "gift": "select distinct p.provider_payment from donation d join payment p on p.donation_id = d.id "
        "where d.status = 'REQUESTED_PAYMENT' and p.provider = 'bank_transfer'",
        "request": "select reference from donation_request where status <> 'PAID'",
        "payout": "select end_to_end_id from disbursement where status = 'SENT'",
    }
    async with own.db.read() as tx:
        return {name: {row[0] for row in await tx.fetch(one)} for name, one in sql.items()}


async def states(own: Service) -> Counter[str]:
    """What was over of partners' transfers, and payouts that came back."""
    async with own.db.read() as tx:
        over = await tx.fetchval("select count(*) from request_payment where status = 'held'")
        returned = await tx.fetchval("select count(*) from disbursement where status = 'RETURNED'")
    return Counter({"over": over, "RETURNED": returned})
