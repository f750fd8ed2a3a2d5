"""Pages about the ledger: the trial balance, daily totals of an account, a search for transfers, and exports."""

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Final
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console import store
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import SignedAmount
from almoner.console.money_ledger_accounts import NONPROFIT_KINDS, NonprofitLedgerAccountPages
from almoner.console.money_ledger_accounts import PATH as NONPROFIT_ACCOUNTS
from almoner.console.money_records import ActingOperator, load_organisation_names_by_id
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import (
    AccountBalance,
    AccountKind,
    AccountTotals,
    LedgerAccount,
    PostedTransfer,
    TransferKind,
)
from almoner.kit.errors import NotFound
from almoner.kit.money import currency_exponent
from almoner.kit.time import iso_timestamp, parse_calendar_day, parse_month
from almoner.platform.audit.log import DEPLOYMENT
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.csv_files import csv_line, stream_file_download
from almoner.platform.pages.record_tables import humanise_field_name

_PATH: Final = "/ledger"
_PAGE: Final = 100
_BATCH: Final = 1000
_LONGEST: Final = timedelta(days=366)
_BEANCOUNT: Final = {
    AccountKind.PROVIDER_CLEARING: "Assets:Clearing",
    AccountKind.DONATION_LIABILITY: "Liabilities:Donations",
    AccountKind.FEES: "Expenses:Fees",
    AccountKind.DISBURSEMENT_IN_TRANSIT: "Liabilities:InTransit",
    AccountKind.BANK: "Assets:Bank",
    AccountKind.SUSPENSE: "Liabilities:Unallocated",
    AccountKind.REFUNDS: "Liabilities:Refunds",
    AccountKind.REQUEST_CLEARING: "Liabilities:RequestClearing",
    AccountKind.DISPUTED: "Assets:Disputed",
}
_OPENING: Final = "Equity:OpeningBalances"


@dataclass(frozen=True, slots=True)
class _Line:
    """A ledger transfer to display.

    ``debit``, ``credit``: the key and the name of an account. ``amount``: the change of the selected account, or the
    amount of the transfer if no account is selected.
    """

    posted_at: datetime
    kind: str
    debit: tuple[str, str]
    credit: tuple[str, str]
    amount: SignedAmount
    owner: str


class LedgerPages:
    """Pages about the ledger."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        context = self._context
        return [
            context.route(_PATH, self.show_trial_balance, *FINANCE, methods=["GET"]),
            context.route(f"{_PATH}/account", self.show_account, *FINANCE, methods=["GET"]),
            *NonprofitLedgerAccountPages(context).routes(),
            context.route(f"{_PATH}/transfers", self.search_transfers, *FINANCE, methods=["GET"]),
            context.route(f"{_PATH}/export", self.export_transfers, *FINANCE, requires_reauthentication=True),
        ]

    async def show_trial_balance(self, visitor: SignedInRequest) -> Response:
        """Show the balance of each kind of account. Their sum must be zero."""
        async with self._context.db.read() as tx:
            totals = await ledger.list_trial_balance(tx)
        sums = {
            currency: sum(one.balance_minor for one in totals if one.currency == currency)
            for currency in dict.fromkeys(one.currency for one in totals)
        }
        return await self._context.render_console_page(
            visitor,
            "money_ledger.html",
            totals=totals,
            sums=sums,
            account_key=_group_key,
            readable=humanise_field_name,
            accounts_path=NONPROFIT_ACCOUNTS,
            balanced=not any(sums.values()),
        )

    async def show_account(self, visitor: SignedInRequest) -> Response:
        """Show a ledger account: its transfers, newest first, and its daily totals for a month."""
        key, month = visitor.query.get("key", ""), _month(visitor.query.get("month"))
        before = visitor.query.get("before", "")
        async with self._context.db.read() as tx:
            found = await ledger.find_balance_by_key(tx, key)
            if found is None:
                raise NotFound
            days = await ledger.list_day_totals_of_account(tx, key, *self._bounds(month)) if month else None
            page = await ledger.list_transfers_of_account(
                tx, key, days, int(before) if before.isdecimal() and len(before) < 19 else None, _PAGE + 1
            )
            names = await self._names(tx, page)
        shown = page[:_PAGE]
        return await self._context.render_console_page(
            visitor,
            "money_account.html",
            key=key,
            title=_account_name(found.account, names),
            balance=SignedAmount(found.debits_minor - found.credits_minor, found.account.currency),
            lines=[self._line(one, names, key) for one in shown],
            days=days,
            currency=found.account.currency,
            month=month,
            months=self._months(),
            ledger_time_zone=self._context.db.deployment.time_zone,
            following=shown[-1].id if len(page) > _PAGE else None,
        )

    def _today(self) -> date:
        deployment = self._context.db.deployment
        return deployment.date_in_issuer_time_zone(deployment.clock.now())

    def _bounds(self, month: date) -> tuple[datetime, datetime]:
        return self._bounds_of_days(month, (month + timedelta(days=32)).replace(day=1) - timedelta(days=1))

    def _bounds_of_days(self, first: date, last: date) -> tuple[datetime, datetime]:
        """The first moment of the days, and the first after them, in the issuer's time zone."""
        zone = self._context.db.deployment.time_zone
        return datetime.combine(first, time(), zone), datetime.combine(last + timedelta(days=1), time(), zone)

    def _months(self) -> list[date]:
        """The last twelve months to choose from, newest first."""
        day = self._today().replace(day=1)
        found = []
        for _ in range(12):
            found.append(day)
            day = (day - timedelta(days=1)).replace(day=1)
        return found

    async def search_transfers(self, visitor: SignedInRequest) -> Response:
        """Find the ledger transfers of a record by any of the record's IDs or references."""
        asked = visitor.query.get("q", "").strip()[:255]
        lines: list[_Line] = []
        problem = ""
        if asked:
            async with self._context.db.read() as tx:
                owners = await store.find_ledger_transfer_source_ids(tx, asked)
                found = await ledger.list_transfers_caused_by(tx, owners) if owners else []
                names = await self._names(tx, found)
            lines = [self._line(one, names, None) for one in found]
            problem = "" if lines else "There are no transfers with this reference."
        return await self._context.render_console_page(
            visitor, "money_transfers.html", asked=asked, lines=lines, problem=problem
        )

    async def export_transfers(self, visitor: SignedInRequest) -> Response:
        """Export all transfers of a period as CSV, or as Beancount with opening balances and balance assertions."""
        first, last = _day(visitor.form_value("from")), _day(visitor.form_value("to"))
        kind = visitor.form_value("format")
        problems: dict[str, str] = {}
        if visitor.form:
            if first is None:
                problems["from"] = "Enter the start date."
            if last is None:
                problems["to"] = "Enter the end date."
            if first and last and not first <= last <= first + _LONGEST:
                problems["to"] = "Enter an end date that is after the start date, but at most one year later."
            if kind not in ("csv", "beancount"):
                problems["format"] = "Choose a format."
            if first and last and not problems:
                return await self._download(visitor, first, last, kind)
        month = (self._today().replace(day=1) - timedelta(days=1)).replace(day=1)
        ends = (month + timedelta(days=32)).replace(day=1) - timedelta(days=1)
        return await self._context.render_console_page(
            visitor,
            "money_export.html",
            status=422 if problems else 200,
            problems=problems,
            ledger_time_zone=self._context.db.deployment.time_zone,
            typed={
                "from": visitor.form_value("from") or month.isoformat(),
                "to": visitor.form_value("to") or ends.isoformat(),
                "format": kind or "csv",
            },
        )

    async def _download(self, visitor: SignedInRequest, first: date, last: date, kind: str) -> Response:
        since, until = self._bounds_of_days(first, last)
        async with self._context.db.write() as tx:
            await ActingOperator(self._context, visitor).record_audit_entry(
                tx, DEPLOYMENT, "ledger.exported", f"{first}/{last}", format=kind
            )
        name = f"ledger-{first}-{last}.{kind}"
        lines = self._csv(since, until) if kind == "csv" else self._beancount(since, until)
        return await stream_file_download(lines, name, f"text/{'csv' if kind == 'csv' else 'plain'}; charset=utf-8")

    async def _batches(self, since: datetime, until: datetime) -> AsyncIterator[list[PostedTransfer]]:
        """Read the transfers in batches, so that a slow client does not occupy a database connection."""
        async with self._context.db.read() as tx:
            bounds = await ledger.find_transfer_range(tx, since, until)
        if bounds is None:
            return
        after, last = bounds[0] - 1, bounds[1]
        while True:
            async with self._context.db.read() as tx:
                found = await ledger.list_transfers_in_period(tx, since, until, after, last, _BATCH)
            if not found:
                return
            yield found
            after = found[-1].id

    async def _csv(self, since: datetime, until: datetime) -> AsyncIterator[bytes]:
        yield csv_line(("id", "postedAt", "kind", "record", "debit", "credit", "amount", "currency"))
        async for found in self._batches(since, until):
            yield b"".join(
                csv_line(
                    (
                        str(one.id),
                        iso_timestamp(one.posted_at),
                        one.kind.value,
                        str(one.source_record_id),
                        self._key(one.debit),
                        self._key(one.credit),
                        _decimal(one.amount_minor, one.currency),
                        one.currency,
                    )
                )
                for one in found
            )

    async def _beancount(self, since: datetime, until: datetime) -> AsyncIterator[bytes]:
        async with self._context.db.read() as tx:
            opening = await ledger.list_balances_at(tx, since)
        balances = {self._beancount_name(one.account): one for one in opening}
        first = since.date()
        yield "".join(_beancount_head(first, balances)).encode()
        moved: dict[str, int] = {}
        async for found in self._batches(since, until):
            yield "".join(self._beancount_entry(one, moved) for one in found).encode()
        yield "".join(_beancount_assertions(until.date(), balances, moved)).encode()

    def _beancount_entry(self, one: PostedTransfer, moved: dict[str, int]) -> str:
        debit, credit = self._beancount_name(one.debit), self._beancount_name(one.credit)
        moved[debit] = moved.get(debit, 0) + one.amount_minor
        moved[credit] = moved.get(credit, 0) - one.amount_minor
        amount = f"{_decimal(one.amount_minor, one.currency):f} {one.currency}"
        day = self._context.db.deployment.date_in_issuer_time_zone(one.posted_at)
        return (
            f'{day} * "{humanise_field_name(one.kind.value)}" ^{one.source_record_id}\n'
            f'  transfer: "{one.id}"\n  {debit}  {amount}\n  {credit}  -{amount}\n\n'
        )

    def _beancount_name(self, account: LedgerAccount) -> str:
        """``Liabilities:Donations:01K...:USD``: parts start with a capital or a digit, and have no underscore."""
        parts = [_BEANCOUNT[account.kind]]
        if account.provider:
            parts.append("-".join(part.capitalize() for part in account.provider.split("_") if part))
        if account.organisation_id:
            parts.append(self._organisation(account.organisation_id).rpartition("_")[2].upper())
        return ":".join([*parts, account.currency])

    def _organisation(self, organisation_id: UUID) -> str:
        return self._context.format_id("organisation", organisation_id)

    def _key(self, account: LedgerAccount) -> str:
        owner = self._organisation(account.organisation_id) if account.organisation_id else account.provider
        return ":".join([account.kind.value, account.currency, *([owner] if owner else [])])

    async def _names(self, tx: Tx, found: Sequence[PostedTransfer]) -> dict[UUID, str]:
        sides = {side.organisation_id for one in found for side in (one.debit, one.credit) if side.organisation_id}
        return await load_organisation_names_by_id(tx, [(None, one) for one in sides])

    def _line(self, one: PostedTransfer, names: dict[UUID, str], key: str | None) -> _Line:
        sign = -1 if key is not None and one.credit.key == key else 1
        return _Line(
            one.posted_at,
            humanise_field_name(one.kind.value),
            (one.debit.key, _account_name(one.debit, names)),
            (one.credit.key, _account_name(one.credit, names)),
            SignedAmount(sign * one.amount_minor, one.currency),
            self._owner(one),
        )

    def _owner(self, one: PostedTransfer) -> str:
        id_type = _OWNER_TYPES.get(one.kind)
        return self._context.format_id(id_type, one.source_record_id) if id_type else str(one.source_record_id)


_OWNER_TYPES: Final = {
    **dict.fromkeys((one for one in TransferKind if one.value.startswith("disbursement_")), "disbursement"),
    **dict.fromkeys((one for one in TransferKind if one.value.startswith("donation_refund_")), "refund"),
    **dict.fromkeys((one for one in TransferKind if one.value.startswith("unallocated_")), "heldpayment"),
    TransferKind.PAYMENT_UNALLOCATED: "heldpayment",
    TransferKind.REQUEST_ALLOCATED: "donation",
    **dict.fromkeys(
        (
            TransferKind.DISPUTE_DEBITED,
            TransferKind.DISPUTE_RETURNED,
            TransferKind.DISPUTE_LOST,
            TransferKind.DISPUTE_ABSORBED,
            TransferKind.DISPUTE_RECOVERED,
        ),
        "dispute",
    ),
}
"""The ID type of the record that caused a transfer."""


def _group_key(one: AccountTotals) -> str | None:
    """The key of an account. None for accounts that exist once for each nonprofit."""
    if one.kind in NONPROFIT_KINDS:
        return None
    return LedgerAccount(one.kind, one.currency, one.provider).key


def _account_name(account: LedgerAccount, names: dict[UUID, str]) -> str:
    whose = account.provider or (names.get(account.organisation_id, "") if account.organisation_id else "")
    return f"{humanise_field_name(account.kind.value)} {account.currency}{f', {whose}' if whose else ''}"


def _decimal(minor: int, currency: str) -> Decimal:
    return Decimal(minor).scaleb(-currency_exponent(currency))


def _month(text: str | None) -> date | None:
    if not text:
        return None
    try:
        return parse_month(text)
    except ValueError:
        raise NotFound from None


def _day(text: str) -> date | None:
    try:
        return parse_calendar_day(text.strip())
    except ValueError:
        return None


def _beancount_head(first: date, balances: dict[str, AccountBalance]) -> Iterator[str]:
    """The accounts with their balances at the start of the period."""
    yield 'option "title" "Almoner ledger"\n'
    for currency in sorted({one.account.currency for one in balances.values()}):
        yield f'option "operating_currency" "{currency}"\n'
    yield "\n"
    for name in [*balances, _OPENING]:
        yield f"{first} open {name}\n"
    yield "\n"
    for name, one in balances.items():
        if minor := one.debits_minor - one.credits_minor:
            currency = one.account.currency
            amount = f"{_decimal(minor, currency):f} {currency}"
            back = f"{_decimal(-minor, currency):f} {currency}"
            yield f'{first} * "Opening balance"\n  {name}  {amount}\n  {_OPENING}  {back}\n\n'


def _beancount_assertions(until: date, balances: dict[str, AccountBalance], moved: dict[str, int]) -> Iterator[str]:
    """The expected balance of each account at the end of the period."""
    for name, one in balances.items():
        currency = one.account.currency
        minor = one.debits_minor - one.credits_minor + moved.get(name, 0)
        yield f"{until} balance {name}  {_decimal(minor, currency):f} {currency}\n"
