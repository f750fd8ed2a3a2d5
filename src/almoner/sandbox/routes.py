"""Endpoints of the sandbox's tools (settled 9)."""

from datetime import timedelta
from functools import partial
from typing import Final

from almoner.platform.http.caller import PERSONAL, SECRET
from almoner.platform.http.calls import ApiCall
from almoner.platform.http.endpoints import RawResponse, Routes
from almoner.platform.http.paging import ListResponse
from almoner.platform.http.wire import encode_envelope, redact_personal_fields
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
from almoner.sandbox.simulate import SandboxRecordNotFound, Simulation

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
"""The errors of simulated actions."""


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

        Everything that becomes due in between (expiries, cancellations, webhook attempts) is done at its own time. The
        request waits up to 30 seconds for these jobs; `remaining` is the number of jobs that are not done yet.
        Timestamps of signatures and rate limits use real time.
        """
        if body.advance_to is not None:
            return clock_response(await clock.advance_to(call.tx, body.advance_to))
        return clock_response(await clock.advance(call.tx, timedelta(seconds=body.advance_seconds or 0)))

    @routes.post(
        "/v1/sandbox/simulate", key=SECRET, scope="sandbox", tx="around", errors=(SandboxRecordNotFound, *_REFUSALS)
    )
    async def simulate(call: ApiCall, body: SimulateBody) -> RawResponse:
        """Simulate an action on one of your records. Returns the record.

        The action is that of a donor, an operator or a bank.

        Donation session: `donate` makes a donation on its page (`amount`, `email`, and `firstName` or
        `lastName` are required). `expire` ends the session now.

        Donation: `pay` pays the donation with a test `card` or, for a bank transfer, with an `amount`. The challenge of
        4000 0000 0000 3220 stays open until the next `pay` with a card that succeeds. `request` creates the donation
        request for direct donations. `settle`: the provider pays out the amount less its fee. `disburse`: everything
        that is settled and owed to the organisation in this currency is disbursed, unless the disbursement is waiting.
        `return`: the bank returns the disbursement, and the next one is held until `release`. `reassign`
        (`organisationId`), `refund` and `dispute` (`outcome`) do what operators and donors' banks do.

        Donation request: `pay` (`amount`). Donation subscription: `fail_next`
        (`declineCode`), `expire_card` and `renew_card`. Validation request: `accept` and `reject`
        (`rejectionReasonCode`). Agent verification: `confirm_email` (the applicant confirms the address), `approve` and
        `reject` (`rejectionReasonCode`, default `other`). Appeal: `uphold` and `reverse`. Validation invite: `expire`.

        Monetary donation verification: `approve`, `reject` (`rejectionReasonCode`, default `other`), `expire` and
        `reopen`. `succeed_check` and `fail_check` end the check of this `type`. A failed check rejects the
        verification, and the last successful check approves it.

        Monitoring or eligibility subscription: `set_results` (`results`) sets the results. Results of monitoring that
        you leave out do not change. Webhook subscription: `fail` and `suspend` (the receiver has failed for one day, or
        for five). Organisation: `update` (an import changes it).
        """
        # The donor acts in transactions of their own; ours only stores the response for the Idempotency-Key.
        record = await simulation.run_action(call.partner, body)
        known = record if call.caller.has_scope(PERSONAL) else redact_personal_fields(record)
        return RawResponse(encode_envelope(known))

    @routes.get("/v1/sandbox/mailbox", key=SECRET, scope="sandbox")
    async def list_sandbox_mails(call: ApiCall, query: MailboxQuery) -> ListResponse[SandboxMailResponse]:
        """List the emails that the sandbox would have sent."""
        page = call.requested_page(query)
        rows, total = await store.list_mail_page(call.tx, call.partner, page, query.to, query.subject)
        return call.list_response(
            page, rows, total, partial(mail_response, call.db.deployment), lambda mail: (mail.id.bytes,)
        )

    return routes
