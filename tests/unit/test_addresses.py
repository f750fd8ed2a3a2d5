"""W11: which addresses a partner may name, and which an outbound call may reach."""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import (
    AddressPolicy,
    AddressRefused,
    client_network_for_rate_limit,
    wider_client_network_for_rate_limit,
)

PUBLIC = AddressPolicy()
SANDBOX = AddressPolicy(allows_loopback=True)
Network = IPv4Network | IPv6Network


@pytest.fixture(autouse=True)
def _read_anew() -> None:
    """Nothing is answered from what another test has asked."""
    addresses.parse_target.cache_clear()
    addresses.client_network_for_rate_limit.cache_clear()


REFUSED = [
    # other schemes and shapes
    "http://example.com/",
    "HTTP://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "gopher://example.com/",
    "javascript:alert(1)",
    "//example.com/hooks",
    "example.com/hooks",
    "https:example.com",
    "https:///hooks",
    "https://",
    "",
    # user names, ports
    "https://user@example.com/",
    "https://user:pass@example.com/",
    "https://example.com@127.0.0.1/",
    "https://@example.com/",
    "https://example.com:80/",
    "https://example.com:22/",
    "https://example.com:5432/",
    "https://example.com:8443/",
    "https://example.com:0/",
    "https://example.com:/",
    "https://example.com:65536/",
    "https://example.com:443a/",
    # loopback in every spelling
    "https://localhost/",
    "https://LOCALHOST/",
    "https://localhost./",
    "https://api.localhost/",
    "https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/",
    "https://127.0.0.1/",
    "https://127.0.0.1./",
    "https://127.1/",
    "https://127.0.1/",
    "https://2130706433/",
    "https://0177.0.0.1/",
    "https://017700000001/",
    "https://0x7f.0.0.1/",
    "https://0x7f000001/",
    "https://0x7f.1/",
    "https://１２７.0.0.1/",
    "https://127。0。0。1/",
    "https://127.0.0.1%2f@example.com/",
    "https://%31%32%37.0.0.1/",
    "https://0/",
    "https://0.0.0.0/",
    "https://[::]/",
    "https://[::1]/",
    "https://[0:0:0:0:0:0:0:1]/",
    "https://[::127.0.0.1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[::ffff:7f00:1]/",
    "https://[::ffff:0:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[64:ff9b::169.254.169.254]/",
    "https://[64:ff9b:1::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://[2001:0:7f00:1::]/",
    "https://[::1%25lo]/",
    # private, link-local, metadata and other special ranges
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://172.31.255.254/",
    "https://192.168.1.1/",
    "https://100.64.0.1/",
    "https://100.100.100.200/",
    "https://169.254.169.254/latest/meta-data/",
    "https://0xa9fea9fe/",
    "https://2852039166/",
    "https://168.63.129.16/",
    "https://192.0.0.192/",
    "https://198.18.0.1/",
    "https://203.0.113.7/",
    "https://224.0.0.1/",
    "https://255.255.255.255/",
    "https://[fc00::1]/",
    "https://[fd00:ec2::254]/",
    "https://[fe80::1]/",
    "https://[fec0::1]/",
    "https://[ff02::1]/",
    "https://[2001:db8::1]/",
    "https://[3fff::1]/",
    "https://[100::1]/",
    # hosts that are no public names, and characters that parsers read differently
    "https://metadata/",
    "https://intranet/",
    "https://999.1.1.1/",
    "https://example.1/",
    "https://1.2.3.4.5/",
    "https://example..com/",
    "https://exa mple.com/",
    "https://example.com\\@127.0.0.1/",
    "https://example.com\t/",
    "https://example.com\r\nHost:%20127.0.0.1/",
    "https://example.com\x00.evil.test/",
    "https://127.0.0.1\u200b/",
    "https://[::1/",
    "https://[v1.x]/",
    "https://" + "a" * 64 + ".com/",
    "https://example.com/" + "a" * 2048,
]


@pytest.mark.parametrize("url", REFUSED)
def test_w11_refuses_every_vector_in_production(url: str) -> None:
    with pytest.raises(AddressRefused):
        addresses.parse_target(url, PUBLIC)


def test_w11_vectors_are_at_least_sixty() -> None:
    assert len(set(REFUSED)) >= 60


@pytest.mark.parametrize(
    "url",
    [
        "http://example.com/",
        "http://10.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "http://127.1/",
        "http://user@127.0.0.1/",
        "http://localhost.example.com/",
        "ftp://localhost/",
        "https://example.com:8443/",
    ],
)
def test_w11_the_sandbox_opens_loopback_alone(url: str) -> None:
    with pytest.raises(AddressRefused):
        addresses.parse_target(url, SANDBOX)


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("https://example.com", "https://example.com/"),
        ("HTTPS://Example.COM:443/Hooks?a=B&c", "https://example.com/Hooks?a=B&c"),
        ("https://example.com./hooks", "https://example.com/hooks"),
        ("https://bücher.example/hooks", "https://xn--bcher-kva.example/hooks"),
        ("https://EXAMPLE。com/", "https://example.com/"),
        ("https://93.184.215.14/hooks", "https://93.184.215.14/hooks"),
        ("https://[2606:4700::1111]/hooks", "https://[2606:4700::1111]/hooks"),
        ("https://example.com/hooks#part", "https://example.com/hooks"),
    ],
)
def test_w11_reads_public_addresses_into_one_form(url: str, read: str) -> None:
    target = addresses.parse_target(url, PUBLIC)
    assert (target.url, target.is_loopback) == (read, False)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.8.9.10", "[::1]", "hooks.localhost"])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_w11_the_sandbox_may_allow_loopback_on_any_port(scheme: str, host: str) -> None:
    assert addresses.parse_target(f"{scheme}://{host}:9999/hooks", SANDBOX).is_loopback


@pytest.mark.parametrize("row", addresses.DENY_TABLE, ids=lambda row: str(row[0]))
def test_w11_every_row_of_the_deny_table_denies_its_first_and_last_address(row: tuple[Network, str]) -> None:
    network, name = row
    assert name
    for address in (network[0], network[-1]):
        assert addresses.find_denied_range(address) is not None
        assert addresses.address_refusal_reason(str(address), loopback_only=False) is not None


def test_w11_every_row_of_the_deny_table_is_needed() -> None:
    """No row hides behind one above it: each is the first that matches some address."""
    for place, (network, _) in enumerate(addresses.DENY_TABLE):
        above = [earlier for earlier, _ in addresses.DENY_TABLE[:place] if earlier.version == network.version]
        assert not any(network[0] in earlier and network[-1] in earlier for earlier in above), network


@pytest.mark.parametrize(
    "edge",
    [
        "1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
        "168.63.129.15", "168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0",
        "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0",
        "198.51.99.255", "198.51.101.0", "203.0.112.255", "203.0.114.0", "223.255.255.255",
        "2001:200::", "2001:db7:ffff:ffff::", "2001:db9::", "2003::", "2600::1", "2a00::1", "2620:4f:8001::", "3ffe::1",
    ],
)  # fmt: skip
def test_w11_the_neighbours_of_the_denied_ranges_are_public(edge: str) -> None:
    assert addresses.find_denied_range(ip_address(edge)) is None
    assert addresses.address_refusal_reason(edge, loopback_only=False) is None


def test_w11_nothing_outside_global_unicast_is_public_in_ipv6() -> None:
    for first in range(0x10000):
        address = IPv6Address(first << 112 | 1)
        assert (addresses.find_denied_range(address) is None) <= (0x2000 <= first <= 0x3FFF), address


def test_w11_a_loopback_receiver_is_reached_on_loopback_addresses_alone() -> None:
    assert addresses.address_refusal_reason("127.0.0.1", loopback_only=True) is None
    assert addresses.address_refusal_reason("::1", loopback_only=True) is None
    for address in (IPv4Address("93.184.215.14"), IPv4Address("10.0.0.1"), IPv6Address("fe80::1"), "nonsense"):
        assert addresses.address_refusal_reason(str(address), loopback_only=True) is not None


@given(st.text() | st.text(alphabet="htps:/@.[]%0123456789abcdefx#?&;\\ \u3002\uff11").map("https://{}".format))
@example("https://[::1]x/")
@example("https://[::1%25eth0]/")
@example("https://xn--/")
@example("https://\u0661.2.3.4/")
@example("https://a.\ud800/")
def test_w11_no_text_breaks_the_reader_and_what_passes_is_public(url: str) -> None:
    try:
        target = addresses.parse_target(url, PUBLIC)
    except AddressRefused:
        return
    assert target.url.startswith("https://")
    assert target.port == 443
    assert addresses.parse_target(target.url, PUBLIC) == target, "the normalised form is its own"


@pytest.mark.parametrize(
    ("address", "near", "around"),
    [
        ("203.0.113.9", "203.0.113.9", "203.0.113.0/24"),
        ("::ffff:203.0.113.9", "203.0.113.9", "203.0.113.0/24"),
        ("2001:db8:1:2:3::4", "2001:0db8:0001:0002", "2001:db8:1::/48"),
        ("2001:db8::4", "2001:0db8:0000:0000", "2001:db8::/48"),
        ("fe80::1%eth0", "fe80:0000:0000:0000", "fe80::/48"),
        ("203.0.113.9:51234", "203.0.113.9", "203.0.113.0/24"),
        ("[::ffff:203.0.113.9]:443", "203.0.113.9", "203.0.113.0/24"),
        ("[2001:db8:1:2:3::4]:51234", "2001:0db8:0001:0002", "2001:db8:1::/48"),
        ("[2001:db8::4]", "2001:0db8:0000:0000", "2001:db8::/48"),
        ("64:ff9b::cb00:7109", "203.0.113.9", "203.0.113.0/24"),
        ("2002:cb00:7109:ffff::1", "203.0.113.9", "203.0.113.0/24"),
        ("2001:0:4136:e378:8000:63bf:34ff:8ef6", "203.0.113.9", "203.0.113.0/24"),
        ("203.0.113.9:x", "203.0.113.9:x", "203.0.113.9:x"),
        ("[]:1", "[]:1", "[]:1"),
        ("testclient", "testclient", "testclient"),
        ("", "", ""),
    ],
)
def test_what_one_customer_may_have_is_one_source(address: str, near: str, around: str) -> None:
    assert (client_network_for_rate_limit(address), wider_client_network_for_rate_limit(address)) == (near, around)
