"""Endpoints of the sandbox's tools (settled 9)."""

from contextlib import suppress
from datetime import timedelta

from almoner.giving.donations.domain import InvalidState, TooManyTries, WrongTargetCurrency
from almoner.giving.payments.domain import ProviderUnavailable
from almoner.giving.sessions.domain import SessionCompleted, SessionExpired
from almoner.kit.errors import NotFound
from almoner.platform.http.caller import SECRET
from almoner.platform.http.calls import Call
from almoner.platform.http.endpoints import Raw, Routes
from almoner.platform.http.paging import Listing
from almoner.platform.http.wire import Out, envelope
from almoner.sandbox import store
from almoner.sandbox.clock import AlreadyMoving, SandboxClock
from almoner.sandbox.schemas import (
    ClockIn,
    ClockOut,
    MailboxQuery,
    SandboxMailOut,
    SimulateIn,
    clock_out,
    mail_out,
)
from almoner.sandbox.simulate import Declined, Giver, Simulation, UnknownRecord, needed


def sandbox_routes(clock: SandboxClock, simulation: Simulation) -> Routes:
    """The tools over one deployment's clock and people."""
    routes = Routes("Sandbox")

    @routes.get("/v1/sandbox/clock", key=SECRET, scope="sandbox", tx=None)
    async def get_sandbox_clock(call: Call) -> ClockOut:  # noqa: ARG001 (every handler takes its call)
        """Read the sandbox's clock."""
        return clock_out(await clock.read())

    @routes.post("/v1/sandbox/clock", key=SECRET, scope="sandbox_clock", tx="around", errors=(AlreadyMoving,))
    async def advance_sandbox_clock(call: Call, body: ClockIn) -> ClockOut:
        """Move the sandbox's clock forwards, by at most 60 days a call.

        What falls due on the way (expiries, cancellations, webhook attempts) is done at its own moment and awaited for
        at most 30 seconds; `remaining` counts what still runs. The timestamps of signatures and the rate limits stay on
        real time.
        """
        if body.advance_to is not None:
            return clock_out(await clock.advance_to(call.tx, body.advance_to))
        return clock_out(await clock.advance(call.tx, timedelta(seconds=body.advance_seconds or 0)))

    @routes.post(
        "/v1/sandbox/simulate",
        key=SECRET,
        scope="sandbox",
        tx="around",
        errors=(
            UnknownRecord,
            Declined,
            InvalidState,
            WrongTargetCurrency,
            TooManyTries,
            SessionExpired,
            SessionCompleted,
            ProviderUnavailable,
        ),
    )
    async def simulate(call: Call, body: SimulateIn) -> Raw:
        """Do to one of your records what somebody else would do, and answer the record.

        `donate` on a donation session: a donor gives on its page (amount, firstName, lastName and email are required).
        `pay` on a donation: its donor pays. `card` is a test card; the payment provider's rules for it apply.
        """
        # The donor acts as in life, in transactions of their own; ours only keeps the answer for the Idempotency-Key.
        return Raw(envelope(await _act(simulation, call, body)))

    @routes.get("/v1/sandbox/mailbox", key=SECRET, scope="sandbox")
    async def list_sandbox_mails(call: Call, query: MailboxQuery) -> Listing[SandboxMailOut]:
        """List the e-mails that the sandbox would have sent, newest first."""
        page = call.page(query)
        rows, total = await store.page(call.tx, call.partner, page, query.to, query.subject)
        return call.listing(page, rows, total, mail_out, lambda mail: (mail.id.bytes,))

    return routes


async def _act(simulation: Simulation, call: Call, body: SimulateIn) -> Out:
    ids = call.db.deployment.ids
    with suppress(NotFound):
        if body.action == "donate" and (session_id := ids.parse("donationsession", body.id)):
            return await simulation.donate(call.partner, session_id, _giver(body), body.card)
        if body.action == "pay" and (donation_id := ids.parse("donation", body.id)):
            return await simulation.pay(call.partner, donation_id, body.card)
    raise UnknownRecord(f"body.id '{body.id}' names nothing that {body.action} can be done to")


def _giver(body: SimulateIn) -> Giver:
    needed(amount=body.amount, firstName=body.first_name, lastName=body.last_name, email=body.email)
    return Giver(
        amount=body.amount or 0,
        currency=body.currency_code,
        first_name=body.first_name or "",
        last_name=body.last_name or "",
        email=body.email or "",
        consented=body.consented_to_be_contacted_by_org == "yes",
        anonymous=body.anonymous == "yes",
    )
