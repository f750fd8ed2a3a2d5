"""What has to happen so that an event is sent, done to real records of a sandbox."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from almoner_client._errors import BadRequestError
from almoner_client.cli.failures import CliError
from almoner_client.cli.fields import names_of
from almoner_client.cli.raw import RawClient

Run = Callable[["World"], None]

_DONOR = {"first_name": "Ada", "last_name": "Example", "email": "ada@example.org"}
_WEEK_SECONDS = 7 * 24 * 3600 + 3600
_CLOCK_CALLS = 5
_BUSY_TRIES = 20
_BUSY_SECONDS = 0.25
_APPLICANT = {"first_name": "test_accept", "last_name": "Example", "email": "ada@example.org"}
_REQUEST = {
    "registry_name": "IRS",
    "registry_id": "53-0196605",
    "website": "https://example.org",
    "country_code": "USA",
}
_NONPROFIT = {"organisation_name": "test_accept", "language": "en", **_REQUEST}
_NOWHERE = "http://127.0.0.1:9/never"
_NEVER = "donation.payout_returned"
_INFECTED = (
    "test_infected.png",
    (
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x02\x00\x00\x00\x90wS\xde"
        b"\x00\x00\x00\x0cIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\r\xefF\xb8\x00\x00\x00\x00IEND\xaeB`\x82"
    ),
    "image/png",
)
"""A picture of one pixel, whose name makes the sandbox's scanner refuse it."""


@dataclass(frozen=True)
class Scenario:
    """How an event is triggered. ``calls``: those whose fields ``--set`` can set, such as ``donations.create``."""

    run: Run
    calls: tuple[str, ...] = ()


class World:
    """The sandbox as a scenario acts on it. ``given``: the fields of ``--set``, which take the place of ours."""

    def __init__(self, client: RawClient, given: Mapping[str, Any], report: Callable[[str], None]) -> None:
        self.client: Any = client
        self._given = given
        self._report = report

    def call(self, name: str, /, *identifiers: str, **fields: Any) -> Any:
        """Make a call; of the given fields it gets those that it takes."""
        method = method_of(self.client, name)
        answer = method(*identifiers, **{**fields, **self.given_for(method)})
        self._report(f"{name}  {answer['id'] if isinstance(answer, dict) else ''}".rstrip())
        return answer

    def given_for(self, method: Callable[..., Any]) -> dict[str, Any]:
        """Of the given fields those that a method takes."""
        return {name: self._given[name] for name in names_of(method) if name in self._given}

    def simulate(self, record: str, action: str, **fields: Any) -> Any:
        """Do to a record what somebody else would do."""
        answer = _until_free(lambda: self.client.sandbox.simulate(id=record, action=action, **fields))
        self._report(f"sandbox.simulate {action}  {record}")
        return answer

    def advance_clock(self, seconds: int) -> None:
        """Move the clock of the whole sandbox, past the dates that it stops at."""
        self._report(f"sandbox.advance_clock {seconds // 86400} days, which may take a minute")
        ends = self.client.sandbox.get_clock()["offsetSeconds"] + seconds
        for _ in range(_CLOCK_CALLS):
            left = ends - self.client.sandbox.get_clock()["offsetSeconds"]
            if left <= 0:
                return
            self.client.sandbox.advance_clock(advance_seconds=left)

    def organisations(self) -> Iterator[str]:
        """The nonprofits that can be given to; the given one alone, if there is one."""
        if "organisation_id" in self._given:
            yield str(self._given["organisation_id"])
            return
        for one in self.client.organisations.search(accepts_donations=True, direction="ASC", page_size=100):
            yield str(one["id"])

    def organisation(self) -> str:
        """A nonprofit that can receive donations. Raises CliError."""
        for one in self.organisations():
            return one
        raise CliError("The sandbox has no nonprofit that can receive donations.", "Load a register first.")

    def other_organisation(self, organisation: str) -> str:
        """Another nonprofit that can receive donations. Raises CliError."""
        for one in self.client.organisations.search(accepts_donations=True, direction="ASC", page_size=2):
            if one["id"] != organisation:
                return str(one["id"])
        raise CliError("The sandbox has only one nonprofit that can receive donations.", "Load a register first.")

    def fresh_organisation(self) -> str:
        """A nonprofit that no money waits for. Raises CliError."""
        for one in self.organisations():
            if not self.client.disbursements.list(organisation_id=one, page_size=1).first(1):
                return one
        raise CliError("Money waits for each nonprofit of the sandbox.", "Name one by --set organisationId=...")


def _until_free(call: Callable[[], Any]) -> Any:
    """The answer, once no background work holds the record any more."""
    for _ in range(_BUSY_TRIES):
        try:
            return call()
        except BadRequestError as error:
            if not any("in a moment" in reason for reason in error.reasons):
                raise
            time.sleep(_BUSY_SECONDS)
    return call()


def method_of(client: Any, name: str) -> Callable[..., Any]:
    """``donations.create`` of a client."""
    resource, _, method = name.partition(".")
    found: Callable[..., Any] = getattr(getattr(client, resource), method)
    return found


def _session(world: World, **fields: Any) -> Any:
    fields.setdefault("organisation_id", world.organisation())
    return world.call("donation_sessions.create", **fields)


def _donate_in_session(world: World, session: Any, **fields: Any) -> Any:
    """A donor gives on the page of a session; the donation."""
    given = world.given_for(world.client.sandbox.simulate)
    given.pop("organisation_id", None)  # the session has it
    done = world.simulate(session["id"], "donate", **{"amount": 2500, **_DONOR, **fields, **given})
    return world.client.donations.get(done["donationId"])


def _donate(world: World) -> Any:
    return _donate_in_session(world, _session(world))


def _settle(world: World) -> Any:
    return world.simulate(_donate(world)["id"], "settle")


def _settle_first(world: World) -> None:
    session = _session(world, organisation_id=world.fresh_organisation())
    world.simulate(_donate_in_session(world, session)["id"], "settle")


def _disburse(world: World) -> Any:
    donation = _settle(world)
    known = world.client.monetary_donation_verifications.list(organisation_id=donation["organisationId"]).first(20)
    if not any(one["status"]["type"] == "approved" for one in known):
        pending = next((one for one in known if one["status"]["type"] == "pending"), None) or world.call(
            "monetary_donation_verifications.create", organisation_id=donation["organisationId"]
        )
        world.simulate(pending["id"], "approve")
    return world.simulate(donation["id"], "disburse")


def _return_payout(world: World) -> None:
    donation = _disburse(world)
    world.simulate(donation["id"], "return")
    world.simulate(donation["id"], "release")


def _cancel(world: World) -> None:
    world.call("donations.cancel", _direct(world)["id"])


def _direct(world: World) -> Any:
    """A direct donation, which the partner is asked for later."""
    fields = {"amount": 2500, "currency_code": "USD", **_DONOR}
    return world.call("donations.create", organisation_id=world.organisation(), **fields)


def _request_payment(world: World) -> Any:
    return world.simulate(_direct(world)["id"], "request")


def _pay_request(world: World) -> None:
    world.simulate(_request_payment(world)["id"], "pay")


def _reassign(world: World) -> None:
    donation = _donate(world)
    world.simulate(donation["id"], "reassign", organisation_id=world.other_organisation(donation["organisationId"]))


def _refund(world: World) -> None:
    world.call("donations.refund", _donate(world)["id"])


def _dispute(world: World) -> None:
    world.simulate(_donate(world)["id"], "dispute")


def _close_dispute(world: World) -> None:
    world.simulate(_donate(world)["id"], "dispute", outcome="won")


def _bounce_receipt(world: World) -> None:
    _donate_in_session(world, _session(world), email="test_undeliverable@example.org")


def _subscribe(world: World, frequency: str = "monthly") -> Any:
    donation = _donate_in_session(world, _session(world, frequencies=[frequency]), frequency=frequency)
    return world.client.donation_subscriptions.get(donation["subscription"]["id"])


def _fail_payment(world: World) -> None:
    subscription = _subscribe(world, "weekly")
    world.simulate(subscription["id"], "fail_next")
    world.advance_clock(_WEEK_SECONDS)


def _cancel_subscription(world: World) -> None:
    world.call("donation_subscriptions.cancel", _subscribe(world)["id"])


def _expire_session(world: World) -> None:
    world.simulate(_session(world)["id"], "expire")


def _expire_invite(world: World) -> None:
    world.simulate(world.call("validation_invites.create")["id"], "expire")


def _apply(world: World, **fields: Any) -> Any:
    return world.call("validation_submissions.create", **{**_APPLICANT, **_NONPROFIT, **fields})


def _apply_by_invite(world: World) -> None:
    invite = world.call("validation_invites.create")
    _apply(world, validation_invite_id=invite["id"])


def _request(name: str) -> Run:
    """A validation request with a test value as its name."""
    return lambda world: world.call("validation_requests.create", **{**_REQUEST, "name": name})


def _infect_request_document(world: World) -> None:
    request = world.call("validation_requests.create", **{**_REQUEST, "name": "test_pending"})
    world.call("validation_requests.add_document", request["id"], file=_INFECTED)


def _infect_submission_document(world: World) -> None:
    invite = world.call("validation_invites.create")
    world.call(
        "validation_submission_documents.create",
        file=_INFECTED,
        type="validation_request",
        validation_invite_id=invite["id"],
    )


def _agent(world: World, first_name: str = "Ada") -> Any:
    fields = {"last_name": "Example", "email": "ada@example.org", "organisation_id": world.organisation()}
    return world.call("agent_verifications.create", first_name=first_name, **fields)


def _pass_review(world: World) -> None:
    world.simulate(_agent(world)["id"], "approve")


def _review_agent(world: World) -> None:
    world.simulate(_agent(world)["id"], "confirm_email")


def _monitor(world: World) -> None:
    world.call("monitoring_subscriptions.create", organisation_id=world.organisation())


def _check_eligibility(world: World) -> None:
    world.call(
        "eligibility_subscriptions.create",
        organisation_id=world.organisation(),
        suggested_activity_sub_tags=["test_pass"],
    )


def _verify(world: World) -> Any:
    """A verification of a nonprofit that has none."""
    for one in world.organisations():
        if not world.client.monetary_donation_verifications.list(organisation_id=one).first(1):
            return world.call("monetary_donation_verifications.create", organisation_id=one)
    raise CliError("Each nonprofit of the sandbox has a verification.", "Name one by --set organisationId=...")


def _approve_verification(world: World) -> None:
    world.simulate(_verify(world)["id"], "approve")


def _update_organisation(world: World) -> None:
    world.simulate(world.organisation(), "update")


def _receiver(action: str) -> Run:
    """A webhook subscription of which nothing arrives."""

    def run(world: World) -> None:
        made = world.call("webhook_subscriptions.create", url=_NOWHERE, events=[_NEVER])
        world.simulate(made["id"], action)
        world.call("webhook_subscriptions.delete", made["id"])

    return run


_GIFT = ("donation_sessions.create", "sandbox.simulate")
_DIRECT = ("donations.create",)
_SUBMISSION = ("validation_submissions.create",)
_ABOUT_NONPROFIT = ("validation_requests.create",)
SCENARIOS: Mapping[str, Scenario] = {
    "validation_request.approved": Scenario(_request("test_accept"), _ABOUT_NONPROFIT),
    "validation_request.rejected": Scenario(_request("test_reject_other"), _ABOUT_NONPROFIT),
    "validation_request_document.rejected": Scenario(_infect_request_document, _ABOUT_NONPROFIT),
    "validation_submission_document.rejected": Scenario(_infect_submission_document, ("validation_invites.create",)),
    "agent_verification.pending_user_verification": Scenario(_pass_review, ("agent_verifications.create",)),
    "agent_verification.pending_review": Scenario(_review_agent, ("agent_verifications.create",)),
    "agent_verification.approved": Scenario(
        lambda world: _agent(world, "test_accept"), ("agent_verifications.create",)
    ),
    "agent_verification.rejected": Scenario(
        lambda world: _agent(world, "test_reject_other"), ("agent_verifications.create",)
    ),
    "monitoring_subscription.updated": Scenario(_monitor, ("monitoring_subscriptions.create",)),
    "eligibility_subscription.updated": Scenario(_check_eligibility, ("eligibility_subscriptions.create",)),
    "validation_submission.created": Scenario(_apply, _SUBMISSION),
    "validation_submission.succeeded": Scenario(_apply, _SUBMISSION),
    "validation_submission.failed": Scenario(
        lambda world: _apply(world, organisation_name="test_reject_other"), _SUBMISSION
    ),
    "validation_submission.updated": Scenario(_apply, _SUBMISSION),
    "donation.created": Scenario(_donate, _GIFT),
    "donation.hosted.payment_received": Scenario(_donate, _GIFT),
    "donation.payment_successful": Scenario(_donate, _GIFT),
    "donation.payment_requested": Scenario(_request_payment, _DIRECT),
    "donation.settled": Scenario(_settle, _GIFT),
    "donation.disbursed": Scenario(_disburse, _GIFT),
    "donation.cancelled": Scenario(_cancel, _DIRECT),
    "donation.reassigned": Scenario(_reassign, _GIFT),
    "donation.refunded": Scenario(_refund, (*_GIFT, "donations.refund")),
    "donation.disputed": Scenario(_dispute, _GIFT),
    "donation.dispute_closed": Scenario(_close_dispute, _GIFT),
    "donation.receipt_undeliverable": Scenario(_bounce_receipt, _GIFT),
    "donation.payout_returned": Scenario(_return_payout, _GIFT),
    "donation_subscription.created": Scenario(_subscribe, _GIFT),
    "donation_subscription.updated": Scenario(_subscribe, _GIFT),
    "donation_subscription.payment_failed": Scenario(_fail_payment, _GIFT),
    "donation_subscription.cancelled": Scenario(_cancel_subscription, _GIFT),
    "donation_session.completed": Scenario(_donate, _GIFT),
    "donation_session.expired": Scenario(_expire_session, ("donation_sessions.create",)),
    "donation_request.created": Scenario(_request_payment, _DIRECT),
    "donation_request.updated": Scenario(_pay_request, _DIRECT),
    "disbursement.created": Scenario(_settle_first, _GIFT),
    "disbursement.updated": Scenario(_disburse, _GIFT),
    "validation_invite.completed": Scenario(_apply_by_invite, ("validation_invites.create", *_SUBMISSION)),
    "validation_invite.expired": Scenario(_expire_invite, ("validation_invites.create",)),
    "monetary_donation_verification.received": Scenario(_verify, ("monetary_donation_verifications.create",)),
    "monetary_donation_verification.progressed": Scenario(
        _approve_verification, ("monetary_donation_verifications.create",)
    ),
    "organisation.updated": Scenario(_update_organisation, ("monitoring_subscriptions.create",)),
    "webhook_subscription.failing": Scenario(_receiver("fail")),
    "webhook_subscription.suspended": Scenario(_receiver("suspend")),
}
"""Of each event how it is triggered."""
