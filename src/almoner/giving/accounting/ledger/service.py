"""Posting, and reading balances."""

from collections.abc import Sequence

from almoner.giving.accounting.ledger import store
from almoner.giving.accounting.ledger.domain import Account, Balance, Transfer
from almoner.platform.database.transactions import EVERYONE, Tx


def post(tx: Tx, transfers: Sequence[Transfer]) -> None:
    """Post the transfers of a state change, with all others of its transaction, when that ends.

    So accounts are its last locks, and always taken in one order. Its end raises UniqueViolationError when a movement
    was posted before, CheckViolationError when more would leave an account than came to it.
    """
    tx.at_end(_post, transfers)


async def _post(tx: Tx, transfers: list[Transfer]) -> None:
    accounts = {side for transfer in transfers for side in (transfer.debit, transfer.credit)}
    if len(transfers) == 1:
        if not await store.insert(tx, EVERYONE, transfers[0]):
            await store.open_accounts(tx, EVERYONE, list(accounts))
            await store.insert(tx, EVERYONE, transfers[0])
    elif transfers:
        if not await store.lock(tx, EVERYONE, list(accounts)):
            await store.open_accounts(tx, EVERYONE, list(accounts))
            await store.lock(tx, EVERYONE, list(accounts))
        await store.insert_all(tx, EVERYONE, transfers)


async def balance(tx: Tx, account: Account) -> Balance:
    """The two sides of an account."""
    return await store.find(tx, EVERYONE, account) or Balance(account, 0, 0)


async def balances(tx: Tx) -> list[Balance]:
    """Every account that was ever used."""
    return await store.balances(tx, EVERYONE)
