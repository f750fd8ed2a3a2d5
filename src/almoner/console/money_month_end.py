"""A page with all month-end steps.

Each step has the status done, open or not applicable, and a link to the page where finance completes it.
"""

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Final, Literal

from starlette.responses import Response
from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.context import MOST_COUNTED, ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.money_overview import list_pending_second_approvals, summarise_open_items
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import AccountKind
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.gift_aid.claims import service as gift_aid_claims
from almoner.kit.errors import NotFound
from almoner.kit.time import parse_month
from almoner.platform.database.transactions import Tx

_PATH: Final = "/month-end"
_DAY: Final = timedelta(days=1)
State = Literal["done", "open", "not applicable"]


@dataclass(frozen=True, slots=True)
class MonthEndStep:
    """A month-end step. ``finding``: details of its status, such as the number of remaining items."""

    label: str
    path: str
    state: State
    finding: str


class MonthEndPages:
    """The page."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return [self._context.route(_PATH, self.show_steps, *FINANCE, methods=["GET"])]

    async def show_steps(self, visitor: SignedInRequest) -> Response:
        """Show the month-end steps. Default: those of last month."""
        deployment = self._context.db.deployment
        this = deployment.date_in_issuer_time_zone(deployment.clock.now()).replace(day=1)
        month = _month(visitor.query.get("month"), (this - _DAY).replace(day=1))
        async with self._context.db.read() as tx:
            steps = await self._steps(tx, visitor, month)
        months, one = [], this
        for _ in range(12):
            months.append(one)
            one = (one - _DAY).replace(day=1)
        left = sum(step.state == "open" for step in steps)
        return await self._context.render_console_page(
            visitor, "money_month_end.html", month=month, months=months, steps=steps, left=left
        )

    async def _steps(self, tx: Tx, visitor: SignedInRequest, month: date) -> list[MonthEndStep]:
        last = (month + timedelta(days=32)).replace(day=1) - _DAY
        looks = await list_pending_second_approvals(tx, self._context.operator_id(visitor))
        claims = await gift_aid_claims.count_for_operators(tx, None, None, 1)
        drafts = await gift_aid_claims.count_for_operators(tx, "drafted", None, MOST_COUNTED)
        totals = await ledger.list_trial_balance(tx)
        sums: dict[str, int] = {}
        for one in totals:
            sums[one.currency] = sums.get(one.currency, 0) + one.balance_minor
        banked = {one.currency for one in totals if one.kind is AccountKind.BANK}
        uneven = [currency for currency, minor in sums.items() if minor]
        work = [_counted(line.label, line.path, line.count) for line in await summarise_open_items(tx)]
        return [
            await self._statements(tx, last, banked),
            *work,
            _counted("Decisions waiting for a second approval", "/money", len(looks)),
            _counted("Gift Aid drafts to submit", "/gift-aid-claims?status=drafted", drafts)
            if claims
            else MonthEndStep("Gift Aid drafts to submit", "/gift-aid-claims", "not applicable", "no claims"),
            MonthEndStep(
                "Trial balance",
                "/ledger",
                "open" if uneven else "done",
                f"not zero in {', '.join(uneven)}" if uneven else "debits and credits are equal in every currency",
            ),
        ]

    async def _statements(self, tx: Tx, last: date, banked: AbstractSet[str]) -> MonthEndStep:
        """The step to import bank statements that cover the whole month.

        ``banked``: the currencies in which the ledger has a bank account.
        """
        words, path = f"Statements until {last}", "/bank-statements"
        covered = await bank_statements.load_last_covered_days_by_account_and_currency(tx)
        own = self._context.services.own_accounts or {}
        reached: dict[str, date] = {}
        for (_, currency), day in covered.items():
            reached[currency] = max(reached.get(currency, day), day)
        wanted = sorted({*reached, *(one for one in own if one in banked)})
        if not wanted:
            return MonthEndStep(words, path, "not applicable", "no bank accounts")
        behind = [one for one in wanted if reached.get(one, date.min) < last]
        if not behind:
            return MonthEndStep(words, path, "done", f"complete for {', '.join(wanted)}")
        told = [f"{one} until {reached[one]}" if one in reached else f"{one}: none" for one in behind]
        return MonthEndStep(words, path, "open", "; ".join(told))


def _counted(words: str, path: str, count: int) -> MonthEndStep:
    shown = f"more than {MOST_COUNTED:,}" if count > MOST_COUNTED else f"{count:,}"
    return MonthEndStep(words, path, "open" if count else "done", f"{shown} left" if count else "none left")


def _month(text: str | None, otherwise: date) -> date:
    if not text:
        return otherwise
    try:
        return parse_month(text)
    except ValueError:
        raise NotFound from None
