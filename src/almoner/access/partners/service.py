"""Adding and reading partners."""

from almoner.access.partners import store
from almoner.access.partners.domain import PartnerAccount
from almoner.platform.db import EVERYONE, Partner, Tx

DEFAULT_CURRENCIES = ("GBP", "USD", "EUR")


class NoSuchPartner(LookupError):
    """There is no partner with this id."""


async def create(tx: Tx, name: str) -> PartnerAccount:
    """A new partner. Its keys are made by ``access.keys``."""
    account = PartnerAccount(tx.new_id(), name, None, DEFAULT_CURRENCIES, tx.now)
    await store.insert(tx, account)
    return account


async def get(tx: Tx, partner: Partner) -> PartnerAccount:
    """The account. Raises NoSuchPartner."""
    if (account := await store.find(tx, partner)) is None:
        raise NoSuchPartner(tx.ids.text("partner", partner.id))
    return account


async def all_accounts(tx: Tx) -> list[PartnerAccount]:
    """Every partner, oldest first, for administrators."""
    return await store.all_accounts(tx, EVERYONE)
