"""``almoner-client`` against the whole sandbox: every event is triggered, records are listed, shown and created."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from almoner_client import AlmonerError
from almoner_client._generated.events import EVENT_RECORDS
from almoner_client.cli.commands import app
from almoner_client.cli.profile import read_profile
from almoner_client.cli.raw import RawClient
from almoner_client.cli.scenarios import SCENARIOS
from almoner_client.cli.triggering import trigger_event
from typer.testing import CliRunner, Result

from almoner.platform.events.event_types import EVENT_TYPES
from tests.support.running import Running

SLOW = "donation_subscription.payment_failed"
"""It moves the clock by a week."""


@pytest.fixture
def config(sandbox: Running, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What `almoner run` wrote is a configuration file."""
    monkeypatch.delenv("ALMONER_API_KEY", raising=False)
    return sandbox.data_dir / "sandbox.json"


def run(config: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, ["--config", str(config), *arguments])


def told(config: Path, *arguments: str) -> Any:
    """The JSON that a command prints."""
    result = run(config, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_every_event_of_the_catalogue_has_a_scenario() -> None:
    assert list(SCENARIOS) == list(EVENT_RECORDS) == list(EVENT_TYPES)


def triggered(config: Path, names: list[str]) -> None:
    client, wrong = RawClient(read_profile(config)), {}
    for name in names:
        steps: list[str] = []
        try:
            event = trigger_event(client, name, [], steps.append)
        except AlmonerError as error:
            wrong[name] = f"{error!r} after {steps}"
        else:
            assert event["eventType"] == name
            assert client.events.get(event["id"]) == event  # type: ignore[comparison-overlap]
    client.close()
    assert not wrong


def test_every_event_can_be_triggered(config: Path) -> None:
    triggered(config, [name for name in SCENARIOS if name != SLOW])


@pytest.mark.long
def test_a_failed_payment_of_a_subscription_can_be_triggered(config: Path) -> None:
    triggered(config, [SLOW])


def test_fields_are_set_on_what_is_triggered(config: Path) -> None:
    given = ("amount=4321", "metadata.campaign=winter", "firstName=Grace")
    event = told(config, "trigger", "donation.refunded", *[part for one in given for part in ("--set", one)])
    donation = event["eventData"]
    assert (donation["amount"], donation["metadata"], donation["firstName"]) == (4321, {"campaign": "winter"}, "Grace")


def test_records_are_created_shown_and_listed(config: Path) -> None:
    organisation = told(config, "organisations", "list", "marthas", "tabel", "--limit", "1")[0]
    shown = run(config, "organisations", "get", organisation["id"]).stdout
    assert organisation["name"] in shown
    fields = ("amount=2500", "currencyCode=USD", f"organisationId={organisation['id']}", "firstName=Ada")
    options = [part for one in (*fields, "email=ada@example.org") for part in ("--set", one)]
    donation = told(config, "donations", "create", *options, "--idempotency-key", "order-1")
    assert told(config, "donations", "create", *options, "--idempotency-key", "order-1") == donation
    assert told(config, "donations", "get", donation["id"])["amount"] == 2500
    table = run(config, "donations", "list", "--filter", "status=ACTIVE", "--limit", "3").stdout.splitlines()
    assert table[0].split() == ["ID", "AMOUNT", "STATUS", "ORGANISATION", "CREATED"]
    assert "25.00 USD  ACTIVE" in table[1]
    assert len(table) <= 4


def test_a_page_of_a_list_is_gone_beyond(config: Path) -> None:
    found = told(config, "organisations", "list", "--limit", "250")
    assert len({one["id"] for one in found}) == 250


def test_events_are_shown_and_sent_again(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALMONER_API_KEY", json.loads(config.read_text())["secondSecretKey"])
    with closing(RawClient(read_profile(config))) as client:
        left: list[Any] = list(client.webhook_subscriptions.list())  # by other tests
        for subscription in left:
            client.webhook_subscriptions.delete(subscription["id"])
    event = told(config, "trigger", "donation_session.expired")
    lines = run(config, "events", "tail", "-n", "1", "--limit", "1").stdout.splitlines()
    assert event["eventData"]["id"] in lines[-1]
    listed = told(config, "events", "list", "--filter", "type=donation_session.expired", "--limit", "1")
    assert listed == [event]
    again = run(config, "events", "resend", event["id"])
    assert again.stdout == "No active webhook subscription listens to donation_session.expired.\n"
    with closing(RawClient(read_profile(config))) as client:
        hook: Any = client.webhook_subscriptions.create(url="http://127.0.0.1:9/", events=["donation_session.expired"])
        again = run(config, "events", "resend", event["id"])
        client.webhook_subscriptions.delete(hook["id"])
    assert again.stdout == "Sending it again to 1 webhook subscription.\n"


def test_submissions_are_created_by_test_values(config: Path) -> None:
    fields = {
        "organisationName": "test_accept",
        "registryName": "IRS",
        "registryId": "53-0196605",
        "website": "https://example.org",
        "countryCode": "USA",
        "language": "en",
        "firstName": "test_accept",
        "lastName": "Example",
        "email": "ada@example.org",
    }
    options = [part for name, value in fields.items() for part in ("--set", f"{name}={value}")]
    made = told(config, "submissions", "create", *options)
    assert made["id"] in run(config, "submissions", "list", "--limit", "5").stdout


def test_what_goes_wrong_says_what_to_do_and_has_a_status(
    sandbox: Running, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases: list[tuple[tuple[str, ...], int, str]] = [
        (("donations", "get", "sandbox_donation_00000000000000000000000000"), 5, "Check the identifier"),
        (("donations", "list", "--filter", "statsu=ACTIVE"), 2, "Did you mean status?"),
        (("donations", "create", "--set", "amount=25.00"), 2, "25.00 is 2500"),
        (("donations", "create", "--set", "amount=2500"), 2, "currencyCode"),
        (("trigger", "donation.refund"), 2, "Did you mean donation.refunded?"),
        (("listen", "--forward-to", "9000", "--event", "donation.paid"), 2, "There is no event donation.paid"),
        (("frobnicate",), 2, "No such command"),
    ]
    for arguments, status, sentence in cases:
        result = run(config, *arguments)
        assert (result.exit_code, sentence in result.output) == (status, True), (arguments, result.output)
    monkeypatch.setenv("ALMONER_API_KEY", "sk_sandbox_wrong")
    monkeypatch.setenv("ALMONER_BASE_URL", sandbox.base_url)
    refused = CliRunner().invoke(app, ["donations", "list"])
    assert (refused.exit_code, "Check the key" in refused.output) == (4, True), refused.output
    monkeypatch.setenv("ALMONER_BASE_URL", "http://127.0.0.1:9")
    unreachable = CliRunner().invoke(app, ["donations", "list"])
    assert (unreachable.exit_code, "is the service running?" in unreachable.output) == (3, True)
