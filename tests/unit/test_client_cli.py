"""The command line of the Python client where nothing is called: keys, fields, texts."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from almoner_client.cli import output
from almoner_client.cli.commands import app
from almoner_client.cli.failures import UsageError
from almoner_client.cli.fields import read_fields
from almoner_client.cli.forwarding import derived_secret, receiver_url, signed_headers, webhook_body
from almoner_client.cli.profile import dashboard_home, read_profile
from almoner_client.cli.raw import RawClient
from standardwebhooks import Webhook
from typer.testing import CliRunner

KEYS = {
    "baseUrl": "http://localhost:8080/",
    "secretKey": "sk_sandbox_1",
    "dashboardUrl": "http://a.b/account/p/sign-in",
}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is set, and nothing lies where files are looked for."""
    for name in ("API_KEY", "BASE_URL", "CONFIG", "DASHBOARD_URL"):
        monkeypatch.delenv(f"ALMONER_{name}", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)


def written(path: Path, mode: int = 0o600, content: str = json.dumps(KEYS)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    path.chmod(mode)
    return path


def test_a_key_comes_from_a_file_that_nobody_else_can_read(tmp_path: Path) -> None:
    profile = read_profile(written(tmp_path / "keys.json"))
    assert (profile.base_url, profile.api_key) == ("http://localhost:8080", "sk_sandbox_1")
    assert dashboard_home(profile) == "http://a.b/account/p"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o644, 0o660, 0o602])
def test_a_file_that_others_can_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = written(tmp_path / "keys.json", mode)
    result = CliRunner().invoke(app, ["--config", str(path), "donations", "list"])
    assert result.exit_code == 2
    assert f"chmod 600 {path}" in result.output
    assert "sk_sandbox_1" not in result.output


def test_the_environment_comes_before_files_and_a_named_file_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="no API key"):
        read_profile(None)
    written(tmp_path / "var" / "sandbox.json")
    assert read_profile(None).source == "var/sandbox.json"
    own = written(tmp_path / "config" / "almoner" / "client.json")
    assert read_profile(None).source == str(own)
    monkeypatch.setenv("ALMONER_API_KEY", "sk_2")
    with pytest.raises(UsageError, match="ALMONER_BASE_URL"):
        read_profile(None)
    monkeypatch.setenv("ALMONER_BASE_URL", "https://api.example.org")
    assert read_profile(None).api_key == "sk_2"
    assert read_profile(own).api_key == "sk_sandbox_1"


@pytest.mark.parametrize("content", ["", "[]", "{", '{"baseUrl": "http://a"}', '{"baseUrl": 1, "secretKey": "k"}'])
def test_a_file_without_a_key_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(UsageError):
        read_profile(written(tmp_path / "keys.json", content=content))


@pytest.fixture
def client(tmp_path: Path) -> RawClient:
    return RawClient(read_profile(written(tmp_path / "keys.json")))


def test_fields_have_the_types_of_the_api(client: RawClient) -> None:
    given = [
        "amount=2500",
        "firstName=12",
        "organisation_id=organisation_1",
        "metadata.order=42",
        "metadata.campaign=winter=2026",
    ]
    assert read_fields(given, [client.donations.create], "--set") == {
        "amount": 2500,
        "first_name": "12",
        "organisation_id": "organisation_1",
        "metadata": {"order": "42", "campaign": "winter=2026"},
    }
    session = ["frequencies=monthly,one_time", "benefits.fairValue=4000", "suggestedAmounts=[500, 1000]"]
    assert read_fields(session, [client.donation_sessions.create], "--set") == {
        "frequencies": ["monthly", "one_time"],
        "benefits": {"fairValue": 4000},
        "suggested_amounts": [500, 1000],
    }
    filters = ["active=true", "countryCode=USA", "type=nonprofit"]
    assert read_fields(filters, [client.organisations.search], "--filter") == {
        "active": True,
        "country_code": "USA",
        "type": ["nonprofit"],
    }


@pytest.mark.parametrize("given", ["amount", "amount=x", "amnt=1", "metadata=a metadata.b=c"])
def test_fields_that_cannot_be_are_refused(client: RawClient, given: str) -> None:
    with pytest.raises(UsageError):
        read_fields(given.split(), [client.donations.create], "--set")


def test_addresses_of_receivers_are_completed() -> None:
    assert receiver_url("9000/hooks") == "http://localhost:9000/hooks"
    assert receiver_url("localhost:3000") == "http://localhost:3000"
    assert receiver_url("https://example.org/a") == "https://example.org/a"
    with pytest.raises(UsageError):
        receiver_url("ftp://localhost/a")


def test_a_secret_is_the_same_for_a_key_and_signs_as_the_service_does() -> None:
    secret = derived_secret("sk_sandbox_1")
    assert secret == derived_secret("sk_sandbox_1") != derived_secret("sk_sandbox_2")
    event = {"id": "event_1", "createdAt": "now", "eventType": "a.b", "eventData": {"name": "Zoë\n"}, "sequence": 7}
    body = webhook_body(event)
    assert body.decode().startswith('{"object":"event","data":{"id":"event_1"')
    assert "Zoë" in body.decode()
    with pytest.raises(Exception, match="too old"):
        Webhook(secret).verify(body, signed_headers("event_1", 7, body, secret, 1))


def test_amounts_are_shown_with_the_digits_of_their_currency() -> None:
    shown = [
        output.format_money(*one) for one in ((2500, "USD"), (5, "EUR"), (2500, "JPY"), (2500, "KWD"), (-5, "GBP"))
    ]
    assert shown == ["25.00 USD", "0.05 EUR", "2500 JPY", "2.500 KWD", "-0.05 GBP"]


def test_what_others_typed_moves_no_cursor() -> None:
    assert output.one_line("Ada\x1b[2J\r\nB\u202eyron") == "Ada [2J  B yron"


def test_it_shows_its_version_without_a_command() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout.split()[0]) == (0, "almoner-client")


def test_shells_complete_commands_and_events() -> None:
    result = CliRunner().invoke(
        app,
        [],
        prog_name="almoner-client",
        env={
            "_ALMONER_CLIENT_COMPLETE": "complete_bash",
            "COMP_WORDS": "almoner-client trigger donation.dis",
            "COMP_CWORD": "2",
        },
    )
    assert result.stdout.split() == ["donation.disbursed", "donation.disputed", "donation.dispute_closed"]


def helps(group: Any, *path: str) -> Iterator[tuple[str, str]]:
    """What ``--help`` prints of each command, by its name."""
    printed = CliRunner().invoke(app, [*path, "--help"], prog_name="almoner-client", env={"COLUMNS": "80"}).stdout
    yield " ".join(path), printed
    for name, command in getattr(group, "commands", {}).items():
        yield from helps(command, *path, name)


def test_the_help_says_all_in_words_and_cuts_nothing_off() -> None:
    shown = dict(helps(typer.main.get_command(app)))
    assert {"", "listen", "events tail", "donations create"} <= shown.keys()
    for name, printed in shown.items():
        assert not re.search(r"\w,?\.\.\.$|^ +-.* <\w", printed, re.MULTILINE), f"{name}\n{printed}"
        assert max(map(len, printed.splitlines())) <= 80, name
