"""How the values of settings are read: what a variable says becomes what is meant, or a ValueError says why not.

Messages begin with ``must``: the name of the variable is put before them.
"""

import re
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from ipaddress import ip_network
from typing import Final, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import available_timezones

from pydantic import SecretStr

from almoner.platform.crypto import MASTER_KEY_BYTES
from almoner.platform.outbound.email_addresses import is_email_address

NO_NOTICE: Final = "none"
"""States that a deployment has no such notice."""
MAX_URL_LENGTH: Final = 2000
NO_SCANNER: Final = "none"
FEE: Final = r"^[0-9]{1,4}( [A-Z]{3}:[0-9]{1,7})*$"
_STRIPE_KEY: Final = re.compile(r"(?:sk|rk)_(?:test|live)_[0-9A-Za-z]{4,250}", re.ASCII)
_STRIPE_SECRET: Final = re.compile(r"whsec_[0-9A-Za-z]{4,200}", re.ASCII)


class Rate(NamedTuple):
    """A limit: requests per second, and how many may come at once."""

    per_second: float
    burst: int


class StripeAccount(NamedTuple):
    """An account at Stripe: its keys, and what it is charged for a payment."""

    key: str
    webhook_secret: str
    basis_points: int
    fixed_minor: Mapping[str, int]


def parse_words(value: object) -> object:
    """Words separated by commas."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def parse_rate(value: object) -> object:
    """``25/50``: 25 per second, 50 at once."""
    if not isinstance(value, str):
        return value
    per_second, _, burst = value.partition("/")
    try:
        read = Rate(float(per_second), int(burst))
    except ValueError:
        read = Rate(0, 0)
    if not (0 < read.per_second < 1_000_000 and read.burst >= 1):
        raise ValueError("must be a rate per second and a burst, such as 25/50")
    return read


def parse_networks(value: object) -> object:
    """Networks separated by commas."""
    listed = parse_words(value)
    return [ip_network(word) for word in listed] if isinstance(listed, list) else listed


def check_master_key(value: SecretStr) -> SecretStr:
    """32 bytes in base64."""
    try:
        length = len(b64decode(value.get_secret_value(), validate=True))
    except NotBase64:
        length = 0
    if length != MASTER_KEY_BYTES:
        raise ValueError(f"must be {MASTER_KEY_BYTES} random bytes in base64; make one with: openssl rand -base64 32")
    return value


def check_database_url(value: SecretStr) -> SecretStr:
    """The address of a PostgreSQL database."""
    parts = urlsplit(value.get_secret_value())
    if parts.scheme not in {"postgresql", "postgres"} or not parts.path.strip("/"):
        raise ValueError("must look like postgresql://role:password@host:5432/almoner")
    return value


def check_base_url(value: str) -> str:
    """An address without its last slash."""
    parts = urlsplit(value)
    if value and (parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment):
        raise ValueError("must be an address such as https://api.example.org")
    return value.rstrip("/")


def check_notice_url(value: str) -> str:
    """The https address of a page, or that there is none."""
    parts = urlsplit(value)
    if value in ("", NO_NOTICE) or (parts.scheme == "https" and parts.hostname and len(value) <= MAX_URL_LENGTH):
        return value
    raise ValueError(f"must be an address such as https://www.example.org/privacy, or `{NO_NOTICE}`")


def check_time_zone(value: str) -> str:
    """A name of the IANA time zone database."""
    if value in available_timezones():
        return value
    raise ValueError("must be a time zone such as America/New_York or Europe/London")


def check_contact_email(value: str) -> str:
    """An e-mail address, or that there is none."""
    if value in ("", NO_NOTICE) or is_email_address(value):
        return value
    raise ValueError(f"must be an email address such as help@example.org, or `{NO_NOTICE}`")


def check_documents_url(value: str | None) -> str | None:
    """The address of an object store, or a folder."""
    if value and urlsplit(value).scheme not in {"", "s3", "s3a", "gs", "az", "file"}:
        raise ValueError("must be s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or a folder")
    return value


def check_scanner_url(value: str | None) -> str | None:
    """The address of ClamAV's daemon, or ``none``."""
    parts = urlsplit(value or "")
    if value and value != NO_SCANNER and (parts.scheme != "clamd" or not (parts.hostname or len(parts.path) > 1)):
        raise ValueError("must be clamd://host:3310, clamd:///path/of/its/socket, or none")
    return value


def check_stripe_key(value: SecretStr) -> SecretStr:
    """A key of an account at Stripe."""
    if not _STRIPE_KEY.fullmatch(value.get_secret_value()):
        raise ValueError("must be a secret or restricted key of Stripe, such as sk_test_... or rk_live_...")
    return value


def check_stripe_webhook_secret(value: SecretStr) -> SecretStr:
    """The signing secret of an endpoint at Stripe."""
    if not _STRIPE_SECRET.fullmatch(value.get_secret_value()):
        raise ValueError("must be the signing secret of an endpoint at Stripe, such as whsec_...")
    return value
