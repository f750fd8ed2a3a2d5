"""Operations on users."""

from uuid import UUID

from almoner.giving.checkout.users import store
from almoner.giving.checkout.users.domain import OrganisationNotFound, User
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx


async def create(tx: Tx, partner: Partner) -> User:
    """Create a user."""
    user = User(tx.new_id(), None, tx.now, None)
    await store.insert(tx, partner, user)
    return user


async def get(tx: Tx, partner: Partner, user_id: UUID) -> User:
    """One user. Raises NotFound."""
    if (user := await store.find(tx, partner, user_id)) is None:
        raise NotFound
    return user


async def set_default_organisation(tx: Tx, partner: Partner, user_id: UUID, organisation_id: str) -> UUID:
    """Set the user's default organisation; returns its ID. Raises NotFound, OrganisationNotFound."""
    chosen = tx.ids.decode("organisation", organisation_id)
    if chosen is None:
        await get(tx, partner, user_id)
    elif (done := await store.set_default_organisation(tx, partner, user_id, chosen)) is None:
        raise NotFound
    elif done:
        return chosen
    raise OrganisationNotFound(f"body.organisationId '{organisation_id[:100]}' names no organisation")
