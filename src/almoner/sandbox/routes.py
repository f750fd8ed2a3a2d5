"""Endpoints of the sandbox's tools (settled 9)."""

from datetime import timedelta
from functools import partial
from typing import Final

from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import RawResponse, Routes
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.wire import encode_envelope, without_personal
from almoner.sandbox import (
    simulate_agents,
    simulate_appeals,
    simulate_direct,
    simulate_disputes,
    simulate_donations,
    simulate_eligibility,
    simulate_expiries,
    simulate_money,
    simulate_monitoring,
    simulate_requests,
    simulate_subscriptions,
    simulate_verifications,
    simulate_webhooks,
    store,
)
from almoner.sandbox.clock import ClockInUse, SandboxClock
from almoner.sandbox.schemas import (
    ClockBody,
    MailboxQuery,
    SandboxClockResponse,
    SandboxMailResponse,
    SimulateBody,
    clock_response,
    mail_response,
)
from almoner.sandbox.simulate import Simulation, UnknownRecord

_REFUSALS: Final = tuple(
    dict.fromkeys(
        (
            *simulate_donations.ERRORS,
            *simulate_direct.ERRORS,
            *simulate_disputes.ERRORS,
            *simulate_money.ERRORS,
            *simulate_verifications.ERRORS,
            *simulate_requests.ERRORS,
            *simulate_subscriptions.ERRORS,
            *simulate_agents.ERRORS,
            *simulate_monitoring.ERRORS,
            *simulate_eligibility.ERRORS,
            *simulate_appeals.ERRORS,
            *simulate_expiries.ERRORS,
            *simulate_webhooks.ERRORS,
        )
    )
)
"""What the moves may refuse."""


def sandbox_routes(clock: SandboxClock, simulation: Simulation) -> Routes:
    """The tools over one deployment's clock and people."""
    routes = Routes("Sandbox")

    @routes.get("/v1/sandbox/clock", key=SECRET, scope="sandbox", tx=None)
    async def get_sandbox_clock(call: ApiCall) -> SandboxClockResponse:  # noqa: ARG001 (every handler takes its call)
        """Read the sandbox's clock."""
        return clock_response(await clock.read())

    @routes.post("/v1/sandbox/clock", key=SECRET, scope="sandbox_clock", tx="around", errors=(ClockInUse,))
    async def advance_sandbox_clock(call: ApiCall, body: ClockBody) -> SandboxClockResponse:
        """Move the sandbox's clock forwards, by at most 60 days a call.

        What falls due on the way (expiries, cancellations, webhook attempts) is done at its own moment and awaited for
        at most 30 seconds; `remaining` counts what still runs. The timestamps of signatures and the rate limits stay on
        real time.
        """
        if body.advance_to is not None:
            return clock_response(await clock.advance_to(call.tx, body.advance_to))
        return clock_response(await clock.advance(call.tx, timedelta(seconds=body.advance_seconds or 0)))

    @routes.post("/v1/sandbox/simulate", key=SECRET, scope="sandbox", tx="around", errors=(UnknownRecord, *_REFUSALS))
    async def simulate(call: ApiCall, body: SimulateBody) -> RawResponse:
        """Simulate what others do to one of your records: a donor, an operator or a bank. The answer is the record.

        `donate` on a donation session: a donor gives on its page (amount, email and one of firstName and
        lastName are required).
        `pay` on a donation: its donor pays. `card` is a test card; the payment provider's rules for it apply. The
        challenge of 4000 0000 0000 3220 stays open until the next `pay` answers it: a card that pays confirms it.

        `settle` on a donation: the provider pays it out, less its fee. `disburse`: its organisation is paid all that is
        settled and owed to it in that currency, unless the payout waits for something. `return`: the bank returns the
        payout, and the next one is held, until `release`. `reassign` (organisationId): it is given to another
        organisation.

        `approve`, `reject` (rejectionReasonCode, `other` unless given), `expire` and `reopen` on a monetary donation
        verification; `succeed_check` and `fail_check` end its check of the `type`. A failed check rejects it, the last
        one to succeed approves it.

        `confirm_email`, `approve` and `reject` (rejectionReasonCode, `other` unless given) on an agent verification:
        the applicant confirms the address, a reviewer lets the applicant through or does not.

        `set_results` (results) on a monitoring or eligibility subscription: its results are these from now on. Of a
        monitoring subscription's, what is left out stays as it is.
        `uphold` and `reverse` on an appeal: another operator finds that the refusal stands, or that it was wrong.
        `expire` on a donation session or a validation invite: it ends now, unused. `fail` and `suspend` on a webhook
        subscription: its receiver has failed for a day, or for five. `update` on an organisation: a load changes it.
        """
        # The donor acts as in life, in transactions of their own; ours only keeps the answer for the Idempotency-Key.
        record = await simulation.run_action(call.partner, body)
        known = record if call.caller.has_scope(PERSONAL) else without_personal(record)
        return RawResponse(encode_envelope(known))

    @routes.get("/v1/sandbox/mailbox", key=SECRET, scope="sandbox")
    async def list_sandbox_mails(call: ApiCall, query: MailboxQuery) -> ListResponse[SandboxMailResponse]:
        """List the sandbox's emails, newest first: all that it would have sent."""
        page = call.requested_page(query)
        rows, total = await store.list_page(call.tx, call.partner, page, query.to, query.subject)
        return call.list_response(
            page, rows, total, partial(mail_response, call.db.deployment), lambda mail: (mail.id.bytes,)
        )

    return routes
