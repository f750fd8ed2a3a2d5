"""Which deployment is called, and with which key: from the environment or a file that nobody else can read."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from almoner_client.cli.failures import CliError, UsageError

SANDBOX_FILE = Path("var/sandbox.json")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """A deployment and a key for it. ``source``: where they come from, for people."""

    base_url: str
    api_key: str
    dashboard_url: str | None
    source: str


def read_profile(config: Path | None) -> Profile:
    """The file that is named, else the environment, else a file where one is looked for. Raises UsageError."""
    if config is not None:
        return _read_file(config)
    if os.environ.get("ALMONER_API_KEY"):
        return _read_environment()
    if named := os.environ.get("ALMONER_CONFIG"):
        return _read_file(Path(named))
    for path in (config_file(), SANDBOX_FILE):
        if path.exists():
            return _read_file(path)
    raise UsageError(
        "There is no API key.",
        "Set ALMONER_API_KEY and ALMONER_BASE_URL, or name a file by --config, such as the var/sandbox.json of a "
        f"sandbox. Without either, {config_file()} is read.",
    )


def config_file() -> Path:
    """Where the configuration of this user is."""
    home = os.environ.get("XDG_CONFIG_HOME")
    return (Path(home) if home else Path.home() / ".config") / "almoner" / "client.json"


def _read_environment() -> Profile:
    base_url = os.environ.get("ALMONER_BASE_URL")
    if not base_url:
        raise UsageError(
            "ALMONER_BASE_URL is not set.",
            "Set it to the address of the API that ALMONER_API_KEY is for, such as http://localhost:8080.",
        )
    return Profile(
        base_url=base_url.rstrip("/"),
        api_key=os.environ["ALMONER_API_KEY"],
        dashboard_url=os.environ.get("ALMONER_DASHBOARD_URL"),
        source="ALMONER_API_KEY",
    )


def _read_file(path: Path) -> Profile:
    content = _private_json(path)
    base_url, api_key = content.get("baseUrl"), content.get("secretKey")
    if not isinstance(base_url, str) or not isinstance(api_key, str):
        raise UsageError(
            f"{path} has no baseUrl or no secretKey.",
            'It is JSON such as {"baseUrl": "http://localhost:8080", "secretKey": "sk_..."}.',
        )
    dashboard = content.get("dashboardUrl")
    return Profile(
        base_url=base_url.rstrip("/"),
        api_key=api_key,
        dashboard_url=dashboard if isinstance(dashboard, str) else None,
        source=str(path),
    )


def _private_json(path: Path) -> dict[str, Any]:
    """The object in a file that its owner alone can read. Raises UsageError."""
    try:
        with path.open("rb") as file:
            about = os.fstat(file.fileno())
            if os.name == "posix" and stat.S_IMODE(about.st_mode) & 0o077:
                raise UsageError(f"{path} can be read by others.", f"It contains a key. Run: chmod 600 {path}")
            found = json.loads(file.read())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.", "Name another file by --config.") from None
    except ValueError:
        raise UsageError(f"{path} is not JSON.", "Name another file by --config.") from None
    if not isinstance(found, dict):
        raise UsageError(f"{path} is not a JSON object.", "Name another file by --config.")
    return found


def dashboard_home(profile: Profile) -> str:
    """The address that the pages of the partner's dashboard are under. Raises CliError."""
    if profile.dashboard_url is None:
        raise CliError(
            "The address of your dashboard is not known.",
            "Set ALMONER_DASHBOARD_URL, or dashboardUrl in the configuration file, to where you sign in, such as "
            "https://give.example.org/account/partner_01k9...",
        )
    return profile.dashboard_url.rstrip("/").removesuffix("/sign-in")
