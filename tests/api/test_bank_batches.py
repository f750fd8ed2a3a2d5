"""What our bank has booked of many payouts at once: each becomes a line of its own, or all of it waits (M7)."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.batch_bookings import find_batch_transfers_by_total
from almoner.giving.banking.payment_files.domain import PaymentFile, ReleasedFileTransfer
from almoner.kit.money import Money
from tests.support import bank, camt, factories
from tests.support.client import Client
from tests.support.payouts import payouts, settled, verified
from tests.support.service import Service


@pytest.fixture
async def partner(alone: Service) -> AsyncIterator[Client]:
    """A partner's server."""
    api = alone.client((await alone.tenant()).secret)
    yield api
    await api.close()


async def filed(service: Service, partner: Client, count: int = 3) -> tuple[PaymentFile, list[str], int]:
    """A released file of so many payouts, their end-to-end ids, and what they come to."""
    for _ in range(count):
        cause = await factories.nonprofit(service)
        await verified(service, partner, cause)
        await bank.account(service, cause)
        await settled(service, partner, cause)
    file = await bank.in_a_file(service)
    sent = await payouts(partner)
    assert len(sent) == count
    return file, sorted(one["endToEndId"] for one in sent), file.total.minor


async def statuses(partner: Client) -> set[str]:
    """How payouts stand."""
    return {one["status"] for one in await payouts(partner)}


async def kept(service: Service) -> list[tuple[str, str, str | None]]:
    """The lines, by their names: how they stand, and what they are."""
    async with service.db.read() as tx:
        found = await bank_statements.list_oldest_open_or_newest_lines(tx, 100, newest_of_any_status=True)
    return sorted((one.movement.reference, one.status, one.matched_as) for one in found)


@pytest.mark.parametrize("how", ["batch", "file", "payments", "words"])
async def test_a_batch_that_is_booked_at_once_pays_each_of_its_payouts(
    alone: Service, partner: Client, how: str
) -> None:
    file, ends, minor = await filed(alone, partner)
    reported = {
        "batch": camt.at_once("B1", -minor, names=(file.message_id, f"{file.message_id}-other")),
        "file": camt.at_once("B1", -minor, names=(file.message_id,)),
        "payments": camt.at_once("B1", -minor, payments=ends),
        "words": camt.at_once("B1", -minor, words=f"SEPA-SAMMLER {file.message_id.upper()}"),
    }[how]
    content = camt.statement(reported, currency="USD")
    looked = await bank.stated(alone, content)
    assert (looked.checked_line_count, looked.matched_line_count) == (4, 4)
    assert await statuses(partner) == {"PAID"}
    expected = [("B1", "dismissed", None), *((f"B1/{rank}", "matched", "disbursement") for rank in (1, 2, 3))]
    assert await kept(alone) == expected
    assert (await bank.stated(alone, content)).checked_line_count == 0, "told again it is known"
    back = camt.entry("R1", minor // 3, end_to_end=ends[0], returned="AC04", currency="USD")
    await bank.stated(alone, camt.statement(back, reference="S2", currency="USD", opening=-minor))
    assert await statuses(partner) == {"PAID", "RETURNED"}


async def test_what_the_bank_rejected_before_is_not_in_what_it_booked(alone: Service, partner: Client) -> None:
    file, ends, minor = await filed(alone, partner)
    booked = camt.statement(camt.at_once("B1", -minor * 2 // 3, names=(file.message_id,)), currency="USD")
    await bank.stated(alone, booked)
    assert await statuses(partner) == {"SENT"}
    [(_, status, _)] = await kept(alone)
    assert status == "open"
    await bank.heard(alone, bank.answer(file, (ends[1], "RJCT")))
    looked = await bank.stated(alone, booked)  # each import looks at what is open
    assert looked.matched_line_count == 3
    assert sorted(one["status"] for one in await payouts(partner)) == ["PAID", "PAID", "RETURNED"]


async def test_another_sum_or_name_waits_for_a_person(alone: Service, partner: Client) -> None:
    file, ends, minor = await filed(alone, partner)
    wrong = (
        camt.at_once("B1", -minor - 1, names=(file.message_id,)),
        camt.at_once("B2", -minor, names=("01kzrfnq00efzbjgt05w46nw25",)),
        camt.at_once("B3", -minor, payments=ends[:2]),
        camt.at_once("B4", -minor),
    )
    looked = await bank.stated(alone, camt.statement(*wrong, currency="USD"))
    assert (looked.checked_line_count, looked.matched_line_count) == (4, 0)
    assert await statuses(partner) == {"SENT"}


async def test_a_file_that_was_never_released_is_booked_by_nobody(
    alone: Service, partner: Client, tmp_path: Path
) -> None:
    cause = await factories.nonprofit(alone)
    await verified(alone, partner, cause)
    await bank.account(alone, cause)
    await settled(alone, partner, cause)
    await bank.sent(alone)
    file = (await bank.made(alone, bank.own(tmp_path, "USD"))).file
    assert file is not None
    reported = camt.at_once("B1", -file.total.minor, names=(file.message_id,))
    assert (await bank.stated(alone, camt.statement(reported, currency="USD"))).matched_line_count == 0
    assert await statuses(partner) == {"SENT"}


def ordered(*rows: tuple[str, str, int, bool]) -> list[ReleasedFileTransfer]:
    """Payments of files."""
    return [ReleasedFileTransfer(batch, end, Money(minor, "EUR"), came_back) for batch, end, minor, came_back in rows]


TWO = ordered(("m-sepa", "a", 100, False), ("m-sepa", "b", 200, True), ("m-other", "c", 300, False))


@pytest.mark.parametrize(
    ("text", "minor", "found"),
    [
        ("m", 600, ["a", "b", "c"]),
        ("m", 400, ["a", "c"]),
        ("m", 100, ["a"]),
        ("m", 300, []),  # a with b, or c alone
        ("M-SEPA", 300, ["a", "b"]),
        ("m-other", 300, ["c"]),
        ("m-other", 600, []),
        ("m", 200, []),
    ],
)
def test_only_one_way_to_come_to_the_sum_is_certain(text: str, minor: int, found: Sequence[str]) -> None:
    assert [one.end_to_end_id for one in find_batch_transfers_by_total(text, Money(minor, "EUR"), TWO)] == found
    assert find_batch_transfers_by_total(text, Money(minor, "USD"), TWO) == []
