"""Parse and check the values of settings; raises ValueError with the reason.

Messages start with ``must``: the variable's name is put before them.
"""

import re
import unicodedata
from base64 import b64decode
from binascii import Error as NotBase64
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from email.utils import getaddresses, parseaddr
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import SplitResult, parse_qsl, urlsplit
from zoneinfo import ZoneInfo

from pydantic import SecretStr

from almoner.kit import rates
from almoner.platform.crypto import MASTER_KEY_BYTES
from almoner.platform.outbound.email_addresses import is_email_address

NO_NOTICE: Final = "none"
"""Declares that a deployment has no such notice."""
_MAX_URL_LENGTH: Final = 2000
NO_SCANNER: Final = "none"
_FEE: Final = re.compile(r"[0-9]{1,4}( [A-Z]{3}:[0-9]{1,7})*", re.ASCII)
_PLACEHOLDER: Final = "CHANGE-ME"
"""What the sample files in ``deploy`` contain where a value must be set."""
_LAST_PORT: Final = 65535
_DATABASE_OPTIONS: Final = (
    "host", "port", "user", "password", "dbname", "passfile", "service", "servicefile", "sslmode", "sslcert", "sslkey",
    "sslpassword", "sslrootcert", "sslcrl", "sslnegotiation", "ssl_min_protocol_version", "ssl_max_protocol_version",
    "target_session_attrs", "application_name", "options", "krbsrvname", "gsslib",
)  # fmt: skip
_HOST: Final = re.compile(
    r"(?=.{1,253}$)(?:[^\W_](?:[\w-]{0,61}[^\W_])?\.)*[^\W_](?:[\w-]{0,61}[^\W_])?|[0-9a-f.]*:[0-9a-f:.]+"
)
"""A host name, or an IPv6 address."""
_OVERRIDES: Final = "\u202a\u202b\u202c\u202d\u202e"
_COMMENT: Final = re.compile(r"\s#")
_SHORTEST_PREFIX: Final = {4: 8, 6: 7}
"""The widest networks that are private: 10.0.0.0/8 and fc00::/7."""
_STRIPE_KEY: Final = re.compile(r"(?:sk|rk)_(?:test|live)_[0-9A-Za-z]{4,250}", re.ASCII)
_STRIPE_SECRET: Final = re.compile(r"whsec_[0-9A-Za-z]{4,200}", re.ASCII)


class StripeAccount(NamedTuple):
    """A Stripe account: its keys and fees."""

    secret_key: str
    webhook_secret: str
    fee_basis_points: int
    fixed_fee_minor_by_currency: Mapping[str, int]


def strip_and_check_text(value: str) -> str:
    """Remove surrounding spaces, and refuse what an environment file has added or left in the value.

    systemd, shells, Compose and Kubernetes differ on quotes, comments and ``~``.
    """
    value = value.strip()
    if value[1:] and value[0] == value[-1] and value[0] in "\"'" and value[0] not in value[1:-1]:
        raise ValueError("must not have quotes around it: whatever sets this variable keeps them, so remove them")
    if _PLACEHOLDER in value:
        raise ValueError(f"must be set: it still contains {_PLACEHOLDER}")
    if value.startswith("~/"):
        raise ValueError("must be an absolute path: only a shell replaces ~")
    return value


def check_no_trailing_comment(text: str) -> str:
    """Refuse a comment behind the value: shells drop it, but systemd and Compose do not."""
    if _COMMENT.search(text):
        raise ValueError("must not be followed by a comment: write the comment on a line of its own")
    return text


def check_one_line(value: str) -> str:
    """Check a text that pages and emails show."""
    if not _is_one_line(value):
        raise ValueError("must be one line, without control characters")
    return value


def _is_one_line(value: str) -> bool:
    """Whether it has no line end, control character or override of direction. Joiners are spelling."""
    return not any(unicodedata.category(one) in ("Cc", "Zl", "Zp") or one in _OVERRIDES for one in value)


def check_stripe_fee(value: str) -> str:
    """Check basis points and fixed amounts."""
    if not _FEE.fullmatch(value):
        raise ValueError(
            "must be basis points, then a fixed amount in minor units for each currency, such as 290 USD:30"
        )
    return value


def lowercase_choice(value: object) -> object:
    """A word of a fixed list, in any case."""
    return value.lower() if isinstance(value, str) else value


def parse_comma_separated(value: object) -> object:
    """Parse words separated by commas."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


def parse_rate_limit(value: object) -> object:
    """Parse ``25/50``: 25 per second, bursts of 50."""
    return rates.parse_rate(value) if isinstance(value, str) else value


def parse_trusted_proxy_networks(value: object) -> object:
    """Parse networks separated by commas."""
    listed = parse_comma_separated(value)
    if not isinstance(listed, list):
        return listed
    try:
        networks = [_without_mapping(ip_network(word)) for word in listed]
    except ValueError as error:
        raise ValueError(f"must be networks separated by commas, such as 10.0.0.0/8 ({error})") from None
    for network in networks:
        if network.prefixlen < _SHORTEST_PREFIX[network.version]:
            raise ValueError(
                f"must not be as wide as {network}: its clients could claim any address, and plain http as https; name "
                "the networks of your own proxies, such as 10.0.0.0/8"
            )
    return networks


def _without_mapping(network: IPv4Network | IPv6Network) -> IPv4Network | IPv6Network:
    """An IPv4 network that is written as IPv6 (``::ffff:10.0.0.0/104``) as IPv4, as clients' addresses are compared."""
    mapped = network.network_address.ipv4_mapped if isinstance(network, IPv6Network) else None
    return network if mapped is None or network.prefixlen < 96 else IPv4Network((mapped, network.prefixlen - 96))


def parse_webhook_source_addresses(value: object) -> object:
    """Parse IP addresses or networks separated by commas."""
    listed = parse_comma_separated(value)
    try:
        for word in listed if isinstance(listed, list) else ():
            ip_network(word, strict=False)
    except ValueError:
        raise ValueError("must be IP addresses separated by commas, such as 203.0.113.7,203.0.113.8") from None
    return listed


def check_master_key(value: SecretStr) -> SecretStr:
    """Check that the key is 32 bytes in base64."""
    try:
        length = len(b64decode(value.get_secret_value(), validate=True))
    except NotBase64:
        length = 0
    if length != MASTER_KEY_BYTES:
        raise ValueError(f"must be {MASTER_KEY_BYTES} random bytes in base64; make one with: openssl rand -base64 32")
    return value


def check_database_url(value: SecretStr) -> SecretStr:
    """Check the URL of a PostgreSQL database; with several servers, the one that accepts writes is used."""
    text = value.get_secret_value()
    parts = _split_place(text)
    _refuse_unencoded(parts)
    if parts.scheme not in {"postgresql", "postgres"} or not parts.path.strip("/"):
        raise ValueError("must look like postgresql://role:password@host:5432/almoner")
    for place in parts.netloc.rpartition("@")[2].split(","):
        port = re.fullmatch(r"(?:\[[^\]]*\]|[^:]*)(?::([0-9]*))?", place)
        if port is None or int(port[1] or 5432) > _LAST_PORT:
            raise ValueError(f"must have a port from 1 to {_LAST_PORT} for each host")
    _check_database_options(dict(parse_qsl(parts.query)))
    return value


def _refuse_unencoded(parts: SplitResult) -> None:
    """Refuse a password with ``/``, ``?``, ``#`` or ``@``: the host would begin or end there."""
    behind = parts.path or parts.query + parts.fragment
    if "@" in behind or parts.netloc.count("@") > 1:
        raise ValueError("must have special characters of the password percent-encoded, such as %2F for a slash")


def _check_database_options(options: Mapping[str, str]) -> None:
    for name, given in options.items():
        near = None if name in _DATABASE_OPTIONS else get_close_matches(name, _DATABASE_OPTIONS, 1, 0.8)
        if near:
            raise ValueError(f"must not have the option {name}: did you mean {near[0]}?")
        if name in {"sslrootcert", "sslcert", "sslkey"} and not Path(given).expanduser().is_file():
            raise ValueError(f"must name a file that there is in {name}: {given} is missing")
    if options.get("target_session_attrs", "read-write") not in {"read-write", "primary", "any"}:
        raise ValueError("must have target_session_attrs=read-write: Almoner needs a server that takes writes")


def check_mail_url(value: SecretStr) -> SecretStr:
    """Check the URL of a mail server."""
    text = value.get_secret_value()
    _refuse_unencoded(_split_place(text))
    parts = _split_url(text)
    if parts is None or parts.scheme not in {"smtp", "smtps"} or not _HOST.fullmatch(parts.hostname or ""):
        raise ValueError("must look like smtp://host:25 or smtps://user:password@host:465")
    if parts.path.strip("/") or parts.query or parts.fragment:
        raise ValueError("must end with the host or its port, such as smtps://user:password@host:465")
    if bool(parts.username) != bool(parts.password):
        raise ValueError("must have both a user and a password, or neither, such as smtps://user:password@host:465")
    return value


def check_mail_from(value: str) -> str:
    """Check a sender; empty is allowed."""
    name, address = parseaddr(value)
    one = len(getaddresses([value])) == 1 and value.count("<") <= 1 and _is_one_line(value)
    if value and (not one or not is_email_address(address) or (name and not value.endswith(">"))):
        raise ValueError("must be a sender with an email address, such as Giving <giving@example.org>")
    return value


def check_base_url(value: str) -> str:
    """Check a URL; removes its trailing slash."""
    if not value:
        return value
    parts = _split_url(value)
    if parts is not None and parts.username is not None:
        raise ValueError("must have no user name or password, as in https://api.example.org")
    if parts is None or parts.scheme not in {"http", "https"} or not _is_host(parts) or "?" in value or "#" in value:
        raise ValueError("must be an address such as https://api.example.org")
    return value.rstrip("/")


def check_origin(value: str) -> str:
    """Check the URL of an origin of ours: paths of links and cookies begin at its root."""
    value = check_base_url(value)
    if urlsplit(value).path:
        raise ValueError("must not have a path: give it a host name of its own, such as https://give.example.org")
    return value


def check_traces_url(value: str) -> str:
    """Check the URL of a collector; removes the path of traces, which is added again."""
    return check_base_url(value).removesuffix("/v1/traces")


def _split_url(value: str) -> SplitResult | None:
    """The parts of a URL; None if it is not one."""
    try:
        parts = urlsplit(value)
        fits = parts.port != 0 and value.isprintable() and " " not in value
    except ValueError:  # from an invalid port or IPv6 address
        return None
    return parts if fits else None


def _is_host(parts: SplitResult) -> bool:
    """Whether the URL has a host and no user name."""
    return bool(parts.hostname and _HOST.fullmatch(parts.hostname)) and parts.username is None


def check_legal_notice_url(value: str) -> str:
    """Check the https URL of a page, or ``none``."""
    parts = _split_url(value)
    fits = parts is not None and parts.scheme == "https" and _is_host(parts) and len(value) <= _MAX_URL_LENGTH
    if fits or value in ("", NO_NOTICE):
        return value
    raise ValueError(f"must be an address such as https://www.example.org/privacy, or `{NO_NOTICE}`")


def check_time_zone(value: str) -> str:
    """Check an IANA time zone name."""
    with suppress(ValueError, KeyError, OSError):  # listing all names would read six hundred files
        if not value.startswith(("posix", "right")):  # copies of the whole database, without and with leap seconds
            ZoneInfo(value)
            return value
    raise ValueError("must be a time zone such as America/New_York or Europe/London")


def check_contact_email(value: str) -> str:
    """Check an email address, or ``none``."""
    if value in ("", NO_NOTICE) or is_email_address(value):
        return value
    raise ValueError(f"must be an email address such as help@example.org, or `{NO_NOTICE}`")


def check_document_storage_url(value: str | None) -> str | None:
    """Check the URL of an object store, or the path of a folder."""
    parts = _split_place(value or "")
    if parts.scheme not in {"", "s3", "s3a", "gs", "az", "file"}:
        raise ValueError("must be s3://bucket/prefix, gs://bucket/prefix, az://container/prefix or a folder")
    if "@" in parts.netloc:
        raise ValueError("must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use a role")
    if parts.scheme and (parts.query or parts.fragment):
        raise ValueError("must not contain ? or #, as in s3://bucket/prefix")
    if parts.scheme in {"", "file"} and parts.netloc:
        raise ValueError("must be a folder of this machine, such as /srv/almoner-documents")
    if parts.scheme not in {"", "file"} and not parts.netloc:
        raise ValueError("must name a bucket, such as s3://bucket/prefix")
    return value


def _split_place(value: str) -> SplitResult:
    """The parts of a URL or path, whatever its host."""
    try:
        return urlsplit(value)
    except ValueError:  # from an invalid IPv6 address
        return SplitResult("unknown", "", "", "", "")


def documents_folder_from_url(url: str | None) -> Path | None:
    """The folder that the URL of the documents names; None for an object store, or if it is not set."""
    parts = _split_place(url or "")
    if not parts.scheme:
        return Path(url) if url else None
    return Path(parts.path) if parts.path and parts.scheme == "file" else None


def check_scanner_url(value: str | None) -> str | None:
    """Check the address of ClamAV's daemon, or ``none``."""
    if value and value != NO_SCANNER and not _is_scanner(_split_url(value)):
        raise ValueError("must be clamd://host:3310, clamd:///path/of/its/socket, or none")
    return value


def _is_scanner(parts: SplitResult | None) -> bool:
    """Whether the URL names either a host or a socket."""
    if parts is None or parts.scheme != "clamd" or "@" in parts.netloc:
        return False
    return bool(parts.hostname) != (len(parts.path) > 1)


def check_bearer_token(value: SecretStr) -> SecretStr:
    """Check that a token can be sent in a header."""
    text = value.get_secret_value()
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("must be of ASCII letters, digits and punctuation, without blanks")
    return value


def check_stripe_key(value: SecretStr) -> SecretStr:
    """Check a Stripe API key."""
    if not _STRIPE_KEY.fullmatch(value.get_secret_value()):
        raise ValueError("must be a secret or restricted key of Stripe, such as sk_test_... or rk_live_...")
    return value


def check_stripe_webhook_secret(value: SecretStr) -> SecretStr:
    """Check the signing secret of a Stripe webhook endpoint."""
    if not _STRIPE_SECRET.fullmatch(value.get_secret_value()):
        raise ValueError("must be the signing secret of an endpoint at Stripe, such as whsec_...")
    return value
