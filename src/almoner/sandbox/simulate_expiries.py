"""Simulated time: sessions and invites end before their time, without moving the clock."""

from typing import Final
from uuid import UUID

from almoner.giving.checkout.sessions import service as sessions
from almoner.platform.database.transactions import Database, Partner
from almoner.platform.http.wire import ResponseRecord
from almoner.sandbox.schemas import SimulateBody
from almoner.sandbox.simulate import SimulatedActions
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.invites.domain import InviteExpired, InviteInvalidState

ERRORS: Final = (InviteExpired, InviteInvalidState)


def simulated_session_and_invite_expiry_actions(db: Database) -> SimulatedActions:
    """The simulated expiries; each raises NotFound, or an error if the record is not open."""

    async def expire_session(partner: Partner, session_id: UUID, _body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            return sessions.serialise_for_api(tx, await sessions.expire(tx, partner, session_id))

    async def expire_invite(partner: Partner, invite_id: UUID, _body: SimulateBody) -> ResponseRecord:
        async with db.write() as tx:
            return invites.serialise_for_api(tx, await invites.expire(tx, partner, invite_id))

    return {("donationsession", "expire"): expire_session, ("validationinvite", "expire"): expire_invite}
