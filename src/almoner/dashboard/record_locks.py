"""The stored state of records that forms change, read or locked."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final
from uuid import UUID

from almoner.giving.checkout.giving_links import service as giving_links
from almoner.giving.subscriptions.donation_subscriptions import service as donation_subscriptions
from almoner.kit.errors import PreconditionFailed
from almoner.platform.database.transactions import Partner, Tx
from almoner.validation.applications.configurations import service as configurations

StateReader = Callable[[Tx, Partner, UUID], Awaitable[object]]

_READERS: Final[Mapping[str, tuple[StateReader, StateReader]]] = {
    "donationsubscription": (donation_subscriptions.get, donation_subscriptions.get_for_update),
    "givinglink": (giving_links.get, giving_links.get_for_update),
    "hostedconfiguration": (configurations.get, configurations.get_for_update),
}
"""By ID type: the function that reads a record, and the one that also locks it."""


async def load_record_state(tx: Tx, partner: Partner, id_type: str, record_id: UUID) -> object:
    """The state of a record, to compare with ``ensure_record_unchanged``. Raises NotFound."""
    return await _READERS[id_type][0](tx, partner, record_id)


async def ensure_record_unchanged(
    tx: Tx, partner: Partner, id_type: str, record_id: UUID, expected_state: object
) -> None:
    """Lock a record, and check that it is in this state. Raises NotFound, PreconditionFailed."""
    if await _READERS[id_type][1](tx, partner, record_id) != expected_state:
        raise PreconditionFailed
