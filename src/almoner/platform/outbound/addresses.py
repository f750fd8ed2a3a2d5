"""Which web and network addresses outbound calls may go to (SSRF protection).

Pure. ``parse_target`` checks a partner's URL; ``refusal_reason`` checks every address that a name resolves to and every
address that is connected to. Python's own ``is_global`` is not enough: it accepts multicast and the NAT64 and 6to4
forms of 127.0.0.1.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final
from urllib.parse import SplitResult, urlsplit

import idna

MAX_LENGTH: Final = 2048
_DEFAULT_PORTS: Final = {"https": 443, "http": 80}
Address = IPv4Address | IPv6Address

# The first match wins, so a named range comes before the wider one that contains it. IANA special-purpose registries,
# 2026.
DENY_TABLE: Final[Sequence[tuple[IPv4Network | IPv6Network, str]]] = tuple(
    (ip_network(network), name)
    for network, name in (
        ("0.0.0.0/8", "this network"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "carrier NAT"),
        ("127.0.0.0/8", "loopback"),
        ("168.63.129.16/32", "cloud platform service"),
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "protocol assignments"),
        ("192.0.2.0/24", "documentation"),
        ("192.31.196.0/24", "AS112"),
        ("192.52.193.0/24", "multicast tunnelling"),
        ("192.88.99.0/24", "6to4 relay"),
        ("192.168.0.0/16", "private"),
        ("192.175.48.0/24", "AS112"),
        ("198.18.0.0/15", "benchmarking"),
        ("198.51.100.0/24", "documentation"),
        ("203.0.113.0/24", "documentation"),
        ("224.0.0.0/4", "multicast"),
        ("240.0.0.0/4", "reserved"),
        ("::1/128", "loopback"),
        ("::/128", "unspecified"),
        ("::ffff:0:0/96", "IPv4 in IPv6"),
        ("::ffff:0:0:0/96", "IPv4 in IPv6"),
        ("::/96", "IPv4 in IPv6"),
        ("64:ff9b::/96", "IPv4 in IPv6 (NAT64)"),
        ("64:ff9b:1::/48", "IPv4 in IPv6 (NAT64)"),
        ("100::/64", "discard"),
        ("::/3", "reserved"),
        ("2001::/32", "IPv4 in IPv6 (Teredo)"),
        ("2001::/23", "protocol assignments"),
        ("2001:db8::/32", "documentation"),
        ("2002::/16", "IPv4 in IPv6 (6to4)"),
        ("2620:4f:8000::/48", "AS112"),
        ("3fff::/20", "documentation"),
        ("5f00::/16", "segment routing"),
        ("4000::/3", "reserved"),
        ("6000::/3", "reserved"),
        ("8000::/2", "reserved"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "site-local"),
        ("ff00::/8", "multicast"),
        ("c000::/2", "reserved"),
    )
)


class AddressRefused(Exception):
    """The address must not be called. ``reason`` continues "url ...": "must use https"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class AddressPolicy:
    """The target addresses that a deployment allows besides public HTTPS on port 443.

    ``allows_loopback``: receivers on this machine, by http or https on any port (the sandbox, while its API is on
    loopback).
    """

    allows_loopback: bool = False
    allowed_ports: frozenset[int] | range = frozenset({443})


_NAT64: Final = IPv6Network("64:ff9b::/96")
_WITH_PORT: Final = re.compile(r"\[([^\]]+)\](?::[0-9]+)?|([0-9.]+):[0-9]+")
_LABEL: Final = re.compile(r"[a-z0-9_-]{1,63}")
"""A part of a name as resolvers accept it (RFC 2181, section 11, without characters that no URL can contain)."""
PUBLIC_ONLY: Final = AddressPolicy()


@dataclass(frozen=True, slots=True)
class OutboundTarget:
    """A web address that passed ``parse_target``, normalised."""

    url: str
    host: str
    port: int
    is_loopback: bool


def find_denied_range(address: Address) -> str | None:
    """The denied range that contains the address; None for a public address."""
    for network, name in DENY_TABLE:
        if address.version == network.version and address in network:
            return name
    return None


def parse_client_address(text: str) -> Address:
    """The address of a client as sockets and proxies write it: with a port or zone, in brackets, IPv4 as IPv6.

    Raises ValueError.
    """
    written = _WITH_PORT.fullmatch(text)
    parsed = ip_address((text if written is None else written[1] or written[2]).partition("%")[0])
    return (isinstance(parsed, IPv6Address) and parsed.ipv4_mapped) or parsed


@lru_cache(4096)
def client_network_for_rate_limit(address: str) -> str:
    """The network that counts as one client for limits: an IPv6 /64, or the IPv4 address, also one within IPv6."""
    try:
        parsed = parse_client_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(_translated(parsed) or parsed.exploded[:19])
    return str(parsed)


def _translated(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address of a client whose packets are translated (NAT64) or tunnelled (6to4, Teredo)."""
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    return address.teredo[1] if address.teredo else address.sixtofour


def wider_client_network_for_rate_limit(address: str) -> str:
    """The wider network of a client for limits: an IPv6 /48 or an IPv4 /24."""
    near = client_network_for_rate_limit(address)
    try:
        width = 24 if ":" not in near else 48
        return str(ip_network(f"{near + '::' if width == 48 else near}/{width}", strict=False))
    except ValueError:
        return near


def address_refusal_reason(address: str, *, loopback_only: bool) -> str | None:
    """Why this address may not be connected to, or None. ``loopback_only``: only loopback addresses may."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return "not an address"
    if loopback_only:
        return None if parsed.is_loopback else "not loopback"
    return find_denied_range(parsed)


@lru_cache(maxsize=4096)
def parse_target(url: str, policy: AddressPolicy) -> OutboundTarget:
    """Parse and check a web address that may be called. Raises AddressRefused.

    Refused are: no absolute https, another port, a user name, and a host that is no valid name or a literal address
    outside the public ranges. The addresses that a name resolves to are checked when it is called.
    """
    parts = _split(url)
    host = ascii_host(parts.hostname or "")
    literal = _parse_literal(host)
    local = literal.is_loopback if literal else host == "localhost" or host.endswith(".localhost")
    local = local and policy.allows_loopback
    if parts.scheme != "https" and not (local and parts.scheme == "http"):
        also = (
            "; http is only for the sandbox's own machine, such as http://localhost:3000"
            if policy.allows_loopback
            else ""
        )
        raise AddressRefused(f"must use https{also}")
    if not local:
        _ensure_public(host, literal)
    port = _read_port(parts)
    if not local and port not in policy.allowed_ports:
        raise AddressRefused(f"must use port {' or '.join(map(str, sorted(policy.allowed_ports)))}")
    authority = (f"[{host}]" if ":" in host else host) + ("" if port == _DEFAULT_PORTS[parts.scheme] else f":{port}")
    query = f"?{parts.query}" if parts.query else ""
    return OutboundTarget(f"{parts.scheme}://{authority}{parts.path or '/'}{query}", host, port, local)


def _split(url: str) -> SplitResult:
    if len(url) > MAX_LENGTH:
        raise AddressRefused(f"must be at most {MAX_LENGTH} characters long")
    if re.search(r"[\x00-\x20\x7f-\xa0\\\ud800-\udfff\u200b-\u200f\u2028-\u202e\u2060\ufeff]", url):
        raise AddressRefused("must not hold spaces, control characters or backslashes")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise AddressRefused("must be a web address such as https://example.com/hooks") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise AddressRefused("must be a web address such as https://example.com/hooks")
    if "@" in parts.netloc:
        raise AddressRefused("must not hold a user name or password")
    if "[" in parts.netloc and ":" not in parts.hostname:
        raise AddressRefused("must have a host that is a domain name or a plain address")
    return parts


def _read_port(parts: SplitResult) -> int:
    try:
        port = parts.port
    except ValueError as error:
        raise AddressRefused("must have a port from 1 to 65535, or none") from error
    if port == 0 or parts.netloc.endswith(":"):
        raise AddressRefused("must have a port from 1 to 65535, or none")
    return port or _DEFAULT_PORTS[parts.scheme]


def ascii_host(name: str) -> str:
    """The lower-case ASCII form (UTS 46) of a host name.

    Resolvers also accept names that no registrar would register: ``my_hooks``, ``ab--cd``.
    """
    if ":" in name:
        if "%" in name:
            raise AddressRefused("must not hold an address with a zone")
        return name.lower()
    try:
        labels = _mapped(name).removesuffix(".").split(".")
        ascii_ = [label if label.isascii() else idna.alabel(label).decode() for label in labels]
    except (idna.IDNAError, UnicodeError) as error:
        raise AddressRefused("must have a host that is a domain name") from error
    host = ".".join(ascii_)
    if len(host) > 253 or not all(map(_is_label, ascii_)):
        raise AddressRefused("must have a host that is a domain name")
    return host


def _is_label(label: str) -> bool:
    if _LABEL.fullmatch(label) is None or not label.startswith("xn--"):
        return _LABEL.fullmatch(label) is not None
    try:
        written = label[4:].encode().decode("punycode")
    except UnicodeError:
        return False
    return written.isprintable() and not written.isascii()  # browsers do not open names with unassigned characters


def _mapped(name: str) -> str:
    return name.lower() if name.isascii() else idna.uts46_remap(name, std3_rules=False, transitional=False)


def _parse_literal(host: str) -> Address | None:
    """Parse the host if it is an IP address; refuse other forms that end in a number (0x7f.1, 2130706433)."""
    try:
        return ip_address(host)
    except ValueError as error:
        last = host.rpartition(".")[2]
        if ":" in host or re.fullmatch(r"[0-9]+|0x[0-9a-f]*", last):
            raise AddressRefused("must have a host that is a domain name or a plain address") from error
        return None


def _ensure_public(host: str, literal: Address | None) -> None:
    if literal is not None and find_denied_range(literal):
        raise AddressRefused("must have a public address")
    if literal is None and ("." not in host or host.endswith(".localhost")):
        raise AddressRefused("must have a full domain name")
