"""Posting, and reading balances."""

from collections.abc import Sequence

from almoner.giving.ledger import store
from almoner.giving.ledger.domain import Account, Balance, Transfer
from almoner.platform.db import EVERYONE, Tx


async def post(tx: Tx, transfers: Sequence[Transfer]) -> None:
    """Post the transfers of one state change, in its transaction and as its last lock: accounts are locked here.

    Once for each transaction, with all of its transfers, so that accounts are always taken in one order. Raises
    UniqueViolationError when a movement was posted before, CheckViolationError when more would leave an account than
    came to it.
    """
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
