"""Exact ledger balances of some nonprofits and currencies."""

from uuid import UUID

from almoner.giving.accounting.ledger import domain as ledger_domain
from almoner.giving.accounting.ledger import service as ledger
from almoner.giving.accounting.ledger.domain import LedgerAccount
from tests.support.service import Service

PROVIDER = "test"


async def owed(service: Service, organisation: str, currency: str = "USD") -> int:
    """The amount owed to a nonprofit, in minor units."""
    return await _credit(service, ledger_domain.nonprofit_liability_account(_id(service, organisation), currency))


async def on_its_way(service: Service, organisation: str, currency: str = "USD") -> int:
    """The amount in transit to a nonprofit."""
    return await _credit(service, ledger_domain.disbursement_in_transit_account(_id(service, organisation), currency))


async def held(service: Service, currency: str, provider: str = PROVIDER) -> int:
    """The amount that the provider holds for us."""
    return -await _credit(service, ledger_domain.clearing_account(provider, currency))


async def in_bank(service: Service, currency: str) -> int:
    """The balance of our bank account."""
    return -await _credit(service, ledger_domain.bank_account(currency))


async def fees(service: Service, currency: str, provider: str = PROVIDER) -> int:
    """The provider fees that no donation covers."""
    return -await _credit(service, ledger_domain.fees_account(provider, currency))


async def disputed(service: Service, currency: str, provider: str = PROVIDER) -> int:
    """The disputed amount that donors' banks have debited and may return."""
    return -await _credit(service, ledger_domain.disputed_funds_account(provider, currency))


async def balanced(service: Service) -> bool:
    """Whether debits equal credits in every currency (M1), and balances equal the sums of transfers (M2)."""
    async with service.db.read() as tx:
        sums = await tx.fetch(
            "select currency, sum(debits_minor) = sum(credits_minor) as even from ledger_account group by currency"
        )
        apart = await tx.fetchval(
            """
            select count(*) from ledger_account a where
                debits_minor <>
                    (select coalesce(sum(amount_minor), 0) from ledger_transfer where debit_account_id = a.id)
                or credits_minor <>
                    (select coalesce(sum(amount_minor), 0) from ledger_transfer where credit_account_id = a.id)
            """
        )
    return all(row["even"] for row in sums) and apart == 0


def _id(service: Service, organisation: str) -> UUID:
    found = service.db.deployment.ids.decode("organisation", organisation)
    assert found is not None
    return found


async def _credit(service: Service, account: LedgerAccount) -> int:
    async with service.db.read() as tx:
        balance = await ledger.get_balance(tx, account)
    return balance.credits_minor - balance.debits_minor
