"""Simulated receivers: they fail for days at once, as webhook subscriptions see them."""

from collections.abc import Awaitable, Callable
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedAction, SimulatedActions
from almoner.webhooks.subscriptions import service as subscriptions
from almoner.webhooks.subscriptions.domain import SubscriptionSuspended

ERRORS: Final = (SubscriptionSuspended,)
_Step = Callable[[Tx, Partner, UUID], Awaitable[None]]


def simulated_webhook_actions(db: Database) -> SimulatedActions:
    """Simulated failures of a receiver: ``fail`` after a day, ``suspend`` after five. Raises NotFound, Suspended."""
    steps: dict[str, _Step] = {"fail": subscriptions.simulate_day_of_failures, "suspend": subscriptions.suspend}
    return {("webhooksubscription", action): _action_of(db, step) for action, step in steps.items()}


def _action_of(db: Database, step: _Step) -> SimulatedAction:
    async def act(partner: Partner, subscription_id: UUID, _body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            await subscriptions.get_active_subscription(tx, partner, subscription_id)
            await step(tx, partner, subscription_id)
            return subscriptions.serialise_for_api(tx, await subscriptions.get(tx, partner, subscription_id))

    return act
