"""Doing what a bank answered, one payout in each transaction: what was done before is not done again."""

from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

from almoner.giving.bank_files import service
from almoner.giving.bank_files.domain import BankFile, Verdict
from almoner.giving.payouts import service as payouts
from almoner.giving.payouts.domain import PayoutRefused
from almoner.platform.db import Database, Tx

Record = Callable[[Tx, BankFile, dict[Verdict, int]], Awaitable[None]]
"""Says who read the answer, in the transaction that finishes it."""


@dataclass(frozen=True, slots=True)
class Told:
    """What an answer changed: payouts confirmed and returned by it, and how many it spoke of. Nothing when repeated."""

    file: BankFile
    counts: dict[Verdict, int]
    confirmed: int
    returned: int


async def hear(db: Database, content: bytes, *, by: str, record: Record) -> Told:
    """Confirm what the bank has paid, return what it rejected. An answer that does not fit changes nothing.

    One that was interrupted is finished by hearing it again. Raises BankFileRefused.
    """
    answer = service.read_answer(content)
    async with db.read() as tx:
        file, told = await service.judge(tx, answer)
    confirmed = returned = 0
    for payout, (verdict, words) in told.items():
        with suppress(PayoutRefused):  # it is so already
            async with db.write() as tx:  # a worker lets the donations follow that are more than one batch
                if verdict is Verdict.PAID:
                    await payouts.confirm(tx, payout)
                elif verdict is Verdict.REJECTED:
                    await payouts.give_back(tx, payout, words[:500], noted_by=by)
            confirmed += verdict is Verdict.PAID
            returned += verdict is Verdict.REJECTED
    counts = dict(Counter(verdict for verdict, _ in told.values()))
    if told:
        async with db.write() as tx:
            await service.note_answer(tx, file, answer, counts, by=by)
            await record(tx, file, counts)
    return Told(file, counts, confirmed, returned)
