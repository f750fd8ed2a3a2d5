"""The list of nonprofits' ledger accounts: what we owe to a nonprofit, and what is on its way to it."""

from collections.abc import Sequence
from typing import Final

from starlette.routing import Route

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.console.context import ConsoleContext
from almoner.console.links import FINANCE
from almoner.console.lists import (
    ConsoleList,
    ListPage,
    ListQuery,
    ListRouteBuilder,
    ListRow,
    SignedAmount,
    parse_number_cursor,
)
from almoner.console.money_records import load_organisation_names_by_id, parse_filter_choice, parse_filter_id
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import AccountBalance, AccountKind, LedgerAccount
from almoner.kit.money import EXPONENTS
from almoner.platform.database.transactions import Tx
from almoner.platform.pages.record_tables import Column, Filter

PATH: Final = "/ledger/accounts"
NONPROFIT_KINDS: Final = (AccountKind.DONATION_LIABILITY, AccountKind.DISBURSEMENT_IN_TRANSIT)
"""The kinds of accounts that each nonprofit has of its own."""
_WORDS: Final = {
    str(AccountKind.DONATION_LIABILITY): "Donation liability",
    str(AccountKind.DISBURSEMENT_IN_TRANSIT): "Disbursement in transit",
}


class NonprofitLedgerAccountPages:
    """The list."""

    def __init__(self, context: ConsoleContext) -> None:
        self._context = context
        self._list = ConsoleList(
            path=PATH,
            title="Accounts of nonprofits",
            about="Each nonprofit that received donations has an account for each currency.",
            roles=FINANCE,
            columns=(
                Column("Nonprofit"),
                Column("Account"),
                Column("Currency"),
                Column("Debits", "amount"),
                Column("Credits", "amount"),
                Column("Balance", "amount"),
                Column("Nonprofit ID", "id"),
            ),
            load=self._load,
            filters=(
                Filter("nonprofit", label_member="Nonprofit ID"),
                Filter("kind", "choice", NONPROFIT_KINDS, label_member="Account"),
                Filter("currency", label_member="Currency"),
            ),
            sort_order_description="newest account first",
            choice_words=_WORDS,
            lead=(
                "Donation liability is the money that we owe to a nonprofit. Disbursement in transit is money that we "
                "have sent to it and that the bank has not confirmed yet. Both appear as negative balances."
            ),
        )

    def routes(self) -> list[Route]:
        """Starlette routes."""
        return ListRouteBuilder(self._context).routes(self._list)

    async def _load(self, _visitor: SignedInRequest, query: ListQuery) -> ListPage:
        kind = parse_filter_choice(query, "kind", NONPROFIT_KINDS)
        currency = query.filters.get("currency", "").upper() or None
        before = parse_number_cursor(query.cursor)
        async with self._context.db.read() as tx:
            nonprofit = parse_filter_id(tx, query, "nonprofit", "organisation")
            if nonprofit is not None:
                kinds = [kind] if kind else NONPROFIT_KINDS
                currencies = [currency] if currency else EXPONENTS
                keys = [LedgerAccount(one, code, None, nonprofit).key for one in kinds for code in currencies]
                found = await ledger.list_balances_by_keys(tx, keys)
                return ListPage(await self._rows(tx, found), total=len(found))
            page = await ledger.list_nonprofit_balances(tx, kind, currency, before, query.limit + 1)
            shown = page[: query.limit]
            following = str(shown[-1].account_id) if len(page) > query.limit else None
            return ListPage(await self._rows(tx, [one.balance for one in shown]), following)

    async def _rows(self, tx: Tx, found: Sequence[AccountBalance]) -> list[ListRow]:
        owners = [one.account.organisation_id for one in found if one.account.organisation_id]
        names = await load_organisation_names_by_id(tx, [(None, owner) for owner in owners])
        return [
            ListRow(
                f"/ledger/account?key={one.account.key}",
                (
                    names.get(owner) or tx.ids.encode("organisation", owner),
                    _WORDS[one.account.kind],
                    one.account.currency,
                    SignedAmount(one.debits_minor, one.account.currency),
                    SignedAmount(one.credits_minor, one.account.currency),
                    SignedAmount(one.debits_minor - one.credits_minor, one.account.currency),
                    tx.ids.encode("organisation", owner),
                ),
            )
            for one, owner in zip(found, owners, strict=True)
        ]
