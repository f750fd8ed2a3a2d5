"""Posts transfers and reads balances."""

from collections.abc import Sequence

from almoner.giving.accounting.ledger import store
from almoner.giving.accounting.ledger.domain import AccountBalance, LedgerAccount, LedgerTransfer
from almoner.giving.accounting.ledger.store import find_balance_by_key as find_balance_by_key
from almoner.giving.accounting.ledger.store import find_transfer_range as find_transfer_range
from almoner.giving.accounting.ledger.store import list_balances as list_balances
from almoner.giving.accounting.ledger.store import list_balances_at as list_balances_at
from almoner.giving.accounting.ledger.store import list_balances_by_keys as list_balances_by_keys
from almoner.giving.accounting.ledger.store import list_day_totals_of_account as list_day_totals_of_account
from almoner.giving.accounting.ledger.store import list_nonprofit_balances as list_nonprofit_balances
from almoner.giving.accounting.ledger.store import list_transfers_caused_by as list_transfers_caused_by
from almoner.giving.accounting.ledger.store import list_transfers_in_period as list_transfers_in_period
from almoner.giving.accounting.ledger.store import list_transfers_of_account as list_transfers_of_account
from almoner.giving.accounting.ledger.store import list_trial_balance as list_trial_balance
from almoner.platform.database.transactions import Tx


def post_at_commit(tx: Tx, transfers: Sequence[LedgerTransfer]) -> None:
    """Post transfers at the end of the transaction, together with all its others.

    Ledger accounts are therefore the transaction's last locks, always in the same order. The commit raises
    UniqueViolationError if a movement is already posted, CheckViolationError if more would leave an account than it has
    received.
    """
    tx.add_before_commit_step(_post, transfers)


async def _post(tx: Tx, transfers: list[LedgerTransfer]) -> None:
    accounts = {side for transfer in transfers for side in (transfer.debit, transfer.credit)}
    if len(transfers) == 1:
        if not await store.insert(tx, transfers[0]):
            await store.create_missing_accounts(tx, list(accounts))
            await store.insert(tx, transfers[0])
    elif transfers:
        if not await store.lock_accounts_if_all_exist(tx, list(accounts)):
            await store.create_missing_accounts(tx, list(accounts))
            await store.lock_accounts_if_all_exist(tx, list(accounts))
        await store.insert_all(tx, transfers)


async def get_balance(tx: Tx, account: LedgerAccount) -> AccountBalance:
    """The balance of an account."""
    return await store.find_balance(tx, account) or AccountBalance(account, 0, 0)
