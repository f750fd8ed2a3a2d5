"""Simulates an import that changes an organisation: the event is sent, but nothing changes."""

from uuid import UUID

from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions


def simulated_organisation_update_actions(db: Database) -> SimulatedActions:
    """The simulated actions of registers. Raises NotFound."""

    async def update(partner: Partner, organisation_id: UUID, _body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            return await organisations.emit_organisation_updated_event_returning_record(tx, partner, organisation_id)

    return {("organisation", "update"): update}
