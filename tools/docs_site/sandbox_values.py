"""The page of test values: cards, names, suffixes and what can be simulated, from the tables that the sandbox uses."""

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any, Final, cast, get_args

from almoner import wiring
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.verifications.triggers import Action as VerificationAction
from almoner.kit.ids import Ids
from almoner.platform.pages.translations import TranslationCatalogues
from almoner.provider_test.domain import TEST_CARDS, CardOutcome
from almoner.screening.watchlists.domain import CATEGORIES
from almoner.validation.agents.triggers import ACTIONS as AGENT_NAMES
from almoner.validation.applications.documents.triggers import INFECTED
from almoner.validation.ongoing.eligibility.triggers import TEST_VALUES as SUB_TAGS
from almoner.validation.requests.triggers import ACTIONS as REQUEST_NAMES

PAGE: Final = "docs/reference/test-values.md"
_HEAD: Final = """\
# Test values

Made from the code by `make docs`; do not edit by hand.

These values work in sandboxes alone. In production they are ordinary text.

## Test cards

Any date to come and any security code. `POST /v1/sandbox/simulate` takes the number as `card`.
"""
_CARDS: Final[Mapping[CardOutcome, str]] = {
    CardOutcome.SUCCEEDS: "pays",
    CardOutcome.DECLINED: "is declined",
    CardOutcome.INSUFFICIENT_FUNDS: "is declined for insufficient funds",
    CardOutcome.CHALLENGED: (
        "asks for a challenge on the bank's page, which stays open until it is answered; simulated, it pays at once"
    ),
    CardOutcome.DISPUTED_LATER: "pays, and is disputed a day later",
    CardOutcome.DECLINED_LATER: "pays and is saved; the next charge of a regular donation is declined",
    CardOutcome.ALWAYS_CHALLENGED: "asks for a challenge at every charge, so regular donations with it are past due",
}
_RECORDS: Final[Mapping[str, str]] = {
    "donationsession": "donation session",
    "donation": "donation",
    "donationrequest": "donation request",
    "donationsubscription": "donation subscription",
    "validationrequest": "validation request",
    "agentverification": "agent verification",
    "monitoringsubscription": "monitoring subscription",
    "eligibilitysubscription": "eligibility subscription",
    "appeal": "appeal",
    "monetarydonationverification": "monetary donation verification",
    "validationinvite": "validation invite",
    "webhooksubscription": "webhook subscription",
    "organisation": "organisation",
}
_ACTIONS: Final[Mapping[tuple[str, str], str]] = {
    (
        "donationsession",
        "donate",
    ): "a donor gives: `amount`, `currencyCode`, `firstName`, `lastName`, `email`, and `card`, `way` or `frequency`",
    ("donation", "pay"): "the donor pays with `card`, or the bank reports the `amount` of a transfer",
    ("donation", "request"): "you are asked for the money of a direct donation now",
    ("donation", "settle"): "the payment provider pays the money out to us",
    ("donation", "disburse"): "the money is transferred to the nonprofit",
    ("donation", "return"): "the nonprofit's bank returns the transfer",
    ("donation", "release"): "what was returned can be transferred again",
    ("donation", "reassign"): "an operator gives it to the organisation `organisationId`, for the `ground`",
    ("donation", "refund"): "an operator sends it back",
    ("donation", "dispute"): "the donor's bank claims it back; with an `outcome` (`won`, `lost`) it also decides",
    ("donationrequest", "pay"): "your transfer arrives, the whole `amount` unless you say less",
    ("donationsubscription", "fail_next"): "the next charge is declined, for the `declineCode`",
    ("donationsubscription", "expire_card"): "the saved card expires",
    ("donationsubscription", "renew_card"): "the donor's bank renews the saved card",
    ("validationrequest", "accept"): "a reviewer accepts it",
    ("validationrequest", "reject"): "a reviewer rejects it, for the `rejectionReasonCode`",
    ("agentverification", "confirm_email"): "the agent confirms the email address",
    ("agentverification", "approve"): "a reviewer approves the agent",
    ("agentverification", "reject"): "a reviewer rejects the agent, for the `rejectionReasonCode`",
    ("monitoringsubscription", "set_results"): "the registers or watch lists change: `results`",
    ("eligibilitysubscription", "set_results"): "the eligibility changes: `results`",
    ("appeal", "uphold"): "a reviewer upholds the decision",
    ("appeal", "reverse"): "a reviewer reverses the decision",
    ("monetarydonationverification", "approve"): "it is approved",
    ("monetarydonationverification", "reject"): "it is rejected, for the `rejectionReasonCode`",
    ("monetarydonationverification", "expire"): "it expires",
    ("monetarydonationverification", "reopen"): "it is opened again",
    ("monetarydonationverification", "succeed_check"): "the check `type` succeeds",
    ("monetarydonationverification", "fail_check"): "the check `type` fails",
    ("donationsession", "expire"): "it expires unused, without moving the clock",
    ("validationinvite", "expire"): "it expires unused, without moving the clock",
    ("webhooksubscription", "fail"): "its receiver has failed for a day",
    ("webhooksubscription", "suspend"): "its receiver has failed for five days, and deliveries stop",
    ("organisation", "update"): "a load of its register changes it, and you get the event",
}
_VERIFIED: Final = {"approve": "is approved", "reject": "is rejected", "expire": "expires"}
_TAIL: Final = """
Move the clock with `POST /v1/sandbox/clock` to see what takes days: sessions expire, retries end, regular donations are
charged. Emails are in the sandbox's mailbox, at `/sandbox/mailbox` and `GET /v1/sandbox/mailbox`.

## Good to know

- A card that asks for a challenge keeps the payment open until the challenge is answered, on the bank's page or by
  `pay`.
- After a webhook secret is rotated, `Service-Signature` (hexadecimal) still uses the old secret until the overlap ends,
  while `webhook-signature` has one for each: see [rotate the secret](../guides/webhooks.md#rotate-the-secret).
- A nonprofit has one monetary donation verification at a time: while one is pending or approved, another is refused.
"""


def page() -> str:
    """The page."""
    return "\n".join(_page()).rstrip("\n") + "\n"


def _page() -> Iterator[str]:
    yield _HEAD
    yield "| Card | What it does |\n| --- | --- |"
    for number, outcome in TEST_CARDS.items():
        yield f"| `{' '.join(number[at : at + 4] for at in range(0, 16, 4))}` | {_CARDS[outcome]} |"
    yield "\n## Values in bodies\n\n| Call | Member | Value | What happens |\n| --- | --- | --- | --- |"
    yield from _values()
    yield (
        "\n## What you can simulate\n\n`POST /v1/sandbox/simulate` with the `id` of a record and an `action` does what "
        "a donor, an operator or a bank would do.\n\n| Record | `action` | What happens |\n| --- | --- | --- |"
    )
    for type_, action in _simulated():
        yield f"| {_RECORDS[type_]} | `{action}` | {_ACTIONS[type_, action]} |"
    yield _TAIL


def _values() -> Iterator[str]:
    for value, action in REQUEST_NAMES.items():
        told = "accepted" if action == "accept" else f"rejected with `{action}`"
        yield f"| `createValidationRequest` | `name` | `{value}` | {told} |"
    for value, step in AGENT_NAMES.items():
        told = "approved" if step == "accept" else f"rejected with `{step}`"
        yield f"| `createAgentVerification` | `firstName` | `{value}` | {told} |"
    for value, status in SUB_TAGS.items():
        yield f"| `createEligibilitySubscription` | `suggestedActivitySubTags` | `{value}` alone | `{status}` |"
    for call in ("addValidationRequestDocument", "createValidationSubmissionDocument"):
        yield f"| `{call}` | name of the `file` | `{INFECTED}`, as in `{INFECTED}.png` | the file is infected |"
    ids = "`createMonitoringSubscription` | `organisationId` or `validationRequestId`"
    yield f"| {ids} | the id and `-complianceStatus:pass` or `-complianceStatus:fail` | all categories alike |"
    for category in CATEGORIES:
        yield f"| {ids} | then `-{category}:flag` or `-{category}:clear` | that category differs |"
    for end in get_args(VerificationAction):
        yield (
            f"| `createMonetaryDonationVerification` | `organisationId` | the id and `-monetaryDonation:{end}` | "
            f"the verification {_VERIFIED[end]} |"
        )


def _simulated() -> Iterator[tuple[str, str]]:
    """Each record with its actions, in the order of the table of records."""
    actions = _simulation_actions()
    if actions.keys() != _RECORDS.keys():
        raise KeyError(actions.keys() ^ _RECORDS.keys())
    for type_ in _RECORDS:
        known = [action for record, action in _ACTIONS if record == type_]
        if set(known) != set(actions[type_]):
            raise KeyError(type_, set(known) ^ set(actions[type_]))
        yield from ((type_, action) for action in known)


def _simulation_actions() -> dict[str, list[str]]:
    """What the sandbox offers; to list it needs no database."""
    unused = cast(
        "Any", SimpleNamespace(db=SimpleNamespace(deployment=SimpleNamespace(ids=Ids(sandbox=True))), provider=None)
    )
    return wiring.build_simulation(unused, cast("Any", None), DisbursementRules(), TranslationCatalogues()).actions
