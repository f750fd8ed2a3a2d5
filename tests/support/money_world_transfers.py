"""The part of the simulation with donors' transfers to our bank, and transfers that our bank sends back."""

import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from itertools import count
from typing import Final, NamedTuple
from uuid import UUID

from almoner.giving.accounting.refunds import service as refunds
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.accounting.suspense import service as suspense
from almoner.giving.accounting.suspense.domain import UnallocatedPaymentError
from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankStatement
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.giving.checkout.bank_transfers import service as bank_transfers
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import BANK_TRANSFER
from almoner.platform.database.transactions import Database, Tx
from tests.support import camt
from tests.support.giving import Giving, gift
from tests.support.money_world_direct import CURRENCY

BY: Final = "officer"


class Moved(NamedTuple):
    """A booking of our bank: (reference, amount below zero if it left, the bank's ID of it)."""

    reference: str
    minor: int
    currency: str
    name: str


class Back(NamedTuple):
    """An unallocated payment or refund that is to leave our bank; ``going``: it has not left, as far as is known."""

    id: UUID
    reference: str
    minor: int
    currency: str
    going: bool
    gift: bool


class Transferring:
    """What donors, our bank and officers do with transfers, and what the ledger must show.

    ``moved``: by the bank's ID. ``stated``: statements, some not yet imported. ``by_bank``: what our bank refunded, in
    minor units, by refund.
    """

    db: Database
    chance: random.Random
    by_bank: dict[UUID, int]
    moved: dict[str, Moved]
    stated: list[bytes]
    _statements = count()

    @property
    def work(self) -> PaymentContext:
        """The dependencies of the payment flows."""
        raise NotImplementedError

    def _some(self) -> Giving:
        raise NotImplementedError

    async def ids(self, sql: str) -> list[UUID]:
        """The IDs that a statement selects."""
        raise NotImplementedError

    async def choose_transfer(self) -> None:
        """Ask for the transfer details of an amount, or another one, as a donor."""
        await donations_flows.start_bank_transfer(
            self.work, self._some().session_id, gift(self.chance.choice((2500, 4000)), CURRENCY)
        )

    async def confirm_transfer(self) -> None:
        """Confirm as a donor that the transfer was sent."""
        async with self.db.write() as tx:
            await bank_transfers.confirm_transfer_sent(tx, self._some().session_id)

    async def transfer_arrives(self) -> None:
        """Report money with a reference: in time or late, the first or another, mostly of the right amount."""
        async with self.db.read() as tx:
            known = await tx.fetch(
                "select provider_payment, amount_minor from payment "
                "where provider = $1 and provider_payment like 'RF%' and position('/' in provider_payment) = 0 "
                "order by id",
                BANK_TRANSFER,
            )
        if known:
            reference, asked = self.chance.choice(known)
            odd = [(asked - 1, CURRENCY), (asked + 1, CURRENCY), (asked, "EUR")]
            minor, currency = self.chance.choice([(asked, CURRENCY)] * 9 + odd)
            await self._state(self._booked(Moved(reference, minor, currency, f"IN{len(self.moved)}")))

    async def bank_repeats(self) -> None:
        """Report a booking again in another statement."""
        if self.moved and self.chance.random() < 0.5:
            await self._state(self._statement(self.chance.choice(list(self.moved.values()))))

    async def accept_transfer(self) -> None:
        """Apply an unallocated payment to its donation as an officer, or try to."""
        if held := await self.ids(
            f"select id from unallocated_payment where provider = '{BANK_TRANSFER}' and status = 'held'"
        ):
            with suppress(UnallocatedPaymentError):
                async with self.db.write() as tx:
                    await bank_transfers.apply_unallocated_payment_to_donation(
                        tx, self.chance.choice(held), "the donor called", BY
                    )

    async def send_back(self) -> None:
        """Decide as an officer to return an unallocated payment."""
        if held := await self.ids(
            f"select id from unallocated_payment where provider = '{BANK_TRANSFER}' and status = 'held'"
        ):
            with suppress(UnallocatedPaymentError):
                async with self.db.write() as tx:
                    await suspense.begin_refund(tx, self.chance.choice(held), "not ours", BY)

    async def transfer_leaves(self) -> None:
        """Send back what was decided, sometimes after an officer has recorded it."""
        if owed := self._owed(await self._going_back()):
            await self._leave(self.chance.choice(owed), noted=self.chance.random() < 0.4)

    async def _leave(self, owed: Back, *, noted: bool = False) -> None:
        content = self._booked(Moved(owed.reference, -owed.minor, owed.currency, f"OUT{len(self.moved)}"))
        if noted:
            with suppress(UnallocatedPaymentError, RefundError):  # a statement reported a similar one meanwhile
                await self._note(owed, list(self.moved)[-1])
        await self._state(content)

    async def _note(self, owed: Back, name: str) -> None:
        async with self.db.write() as tx:
            if owed.gift:
                await refunds.record_manual_refund(tx, owed.id, name, "by bank", BY)
            else:
                await suspense.record_manual_refund(tx, owed.id, name, "by bank", BY)

    async def _going_back(self) -> list[Back]:
        """Everything that was ever to be sent back."""
        async with self.db.read() as tx:
            held = await tx.fetch(
                "select id, split_part(provider_payment, '/', 1), amount_minor, currency, status = 'refunding', false "
                "from unallocated_payment where provider = $1 and status in ('refunding', 'refunded')",
                BANK_TRANSFER,
            )
            gifts = await tx.fetch(
                "select r.id, split_part(coalesce(h.provider_payment, p.provider_payment), '/', 1), r.amount_minor, "
                "r.currency, r.status = 'pending', true from refund r join payment p on p.id = r.payment_id "
                "left join unallocated_payment h on h.applied_payment_id = p.id where r.provider = $1",
                BANK_TRANSFER,
            )
        return sorted(Back(*row) for row in (*held, *gifts))

    def _owed(self, decided: list[Back]) -> list[Back]:
        """What has not left yet; of those with the same reference and amount it does not matter which."""
        left = Counter(one[:3] for one in self._gone())
        owed = []
        for one in decided:
            kind = (one.reference, one.minor, one.currency)
            among = [each for each in decided if each[1:4] == kind]
            going = [each for each in among if each.going]
            if one.going and going.index(one) < len(among) - left[kind]:
                owed.append(one)
        return owed

    def _gone(self) -> list[Moved]:
        return [one._replace(minor=-one.minor) for one in self.moved.values() if one.minor < 0]

    def _booked(self, moved: Moved) -> bytes:
        """The statement of a booking; the bank's booking is final, whatever happens to the statement."""
        self.moved[moved.name] = moved
        return self._statement(moved)

    def _statement(self, moved: Moved) -> bytes:
        entry = camt.entry(moved.name, moved.minor, words=f"gift {moved.reference}", currency=moved.currency)
        name = f"S{next(self._statements)}"
        self.stated.append(camt.statement(entry, reference=name, currency=moved.currency, told=()))
        return self.stated[-1]

    async def _state(self, content: bytes) -> None:
        await bank_statements_flows.import_statements(self.db, content, None, imported_by=BY, on_finished=_unrecorded)

    async def settle_transfers(self) -> None:
        """Import every statement, send back what is waiting, and dismiss what is reported twice."""
        for content in self.stated:
            await self._state(content)
        self.stated = []  # no more crashes
        for owed in self._owed(await self._going_back()):
            await self._leave(owed)
        self.by_bank |= {one.id: one.minor for one in await self._going_back() if one.gift and not one.going}
        for line_id in await self.ids(
            "select id from bank_statement_line where status = 'open' and reason = 'seen_before'"
        ):
            async with self.db.write() as tx:
                await bank_statements.dismiss_line(tx, line_id, note="told before", dismissed_by=BY)

    async def expect_transfers(self, balances: Counter[str], posted: Counter[str]) -> None:
        """Check each booking once: it paid a donation, or was unallocated and returned or applied; nothing waits."""
        async with self.db.read() as tx:
            held = await tx.fetch("select reason, status from unallocated_payment where provider = $1", BANK_TRANSFER)
            waiting = await tx.fetch(
                "select remittance_information, amount_minor, reason from bank_statement_line where status = 'open'"
            )
        assert not [dict(row) for row in waiting]
        assert not [dict(row) for row in held if row["status"] not in ("refunded", "applied")]
        back, gone = await self._going_back(), self._gone()
        decided, left = Counter(one[1:4] for one in back), Counter(one[:3] for one in gone)
        assert decided == left, (decided - left, left - decided)
        came = len(self.moved) - len(gone)
        posted["settled"] += came
        posted["payment_unallocated"] += len(held)
        posted["payment_received"] += came - len(held)
        posted["refund_settled"] += len(gone)
        for row in held:
            sent = row["status"] == "refunded"
            posted.update(
                ("unallocated_refund_started", "unallocated_refund_sent")
                if sent
                else ("unallocated_applied", "payment_received")
            )
        for moved in self.moved.values():
            balances[f"bank:{moved.currency}"] -= moved.minor
        for one in back:
            balances[f"bank:{CURRENCY}"] -= one.minor if one.gift else 0  # ``expect_back`` has counted it


async def _unrecorded(_tx: Tx, _statements: Sequence[BankStatement], _looked: StatementImportProgress) -> None:
    """Skip the audit entry."""
