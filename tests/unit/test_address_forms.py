"""W11, the finer points: one form for every spelling of a host, and limits at their edges."""

import pytest

from almoner.platform.outbound import addresses
from almoner.platform.outbound.addresses import MAX_LENGTH, AddressPolicy, AddressRefused

PUBLIC = AddressPolicy()
HOST_253 = ".".join(["a" * 61] * 4) + ".example"[: 253 - 4 * 61 - 3]


@pytest.fixture(autouse=True)
def _read_anew() -> None:
    """Nothing is answered from what another test has asked."""
    addresses.parse_target.cache_clear()
    addresses.client_network_for_rate_limit.cache_clear()


def reason(url: str) -> str:
    """Why the address is refused."""
    with pytest.raises(AddressRefused) as refused:
        addresses.parse_target(url, PUBLIC)
    return refused.value.reason


@pytest.mark.parametrize(
    ("spelled", "host"),
    [
        ("https://HOOKS.Example.COM/x", "hooks.example.com"),
        ("https://b\u00fccher.example/", "xn--bcher-kva.example"),
        ("https://B\u00dcCHER.example/", "xn--bcher-kva.example"),
        ("https://fa\u00df.example/", "xn--fa-hia.example"),
        ("https://\uff45xample.com/", "example.com"),
        ("https://example\u3002com/", "example.com"),
        ("https://example.com./", "example.com"),
        ("https://xn--r8jz45g.example/", "xn--r8jz45g.example"),
        ("https://my_hooks.example/", "my_hooks.example"),
        ("https://ab--cd.example/", "ab--cd.example"),
        ("https://[2606:4700::1111]/", "2606:4700::1111"),
        ("https://[2606:4700::ABCD]/", "2606:4700::abcd"),
    ],
)
def test_w11_every_spelling_of_a_host_has_one_form(spelled: str, host: str) -> None:
    assert addresses.parse_target(spelled, PUBLIC).host == host


@pytest.mark.parametrize(
    "name",
    [
        "a..example",
        "a b.example",
        "x" * 64 + ".example",
        ".",
        "xn--.example",
        "xn--abc-.example",
        "xn--a-qgn.example",
        "xn--99999999.example",
    ],
)
def test_w11_what_is_no_domain_name_is_refused(name: str) -> None:
    assert "must" in reason(f"https://{name}/")


def test_w11_a_zone_is_named_as_what_is_wrong() -> None:
    assert reason("https://[fe80::1%25eth0]/") == "must not hold an address with a zone"


def test_w11_a_host_of_253_characters_is_the_longest() -> None:
    assert len(HOST_253) == 253
    assert addresses.parse_target(f"https://{HOST_253}/", PUBLIC).host == HOST_253
    assert "domain name" in reason(f"https://{'b' + HOST_253}/")


def test_w11_an_address_of_the_greatest_length_is_read_and_one_more_is_not() -> None:
    longest = "https://example.com/".ljust(MAX_LENGTH, "x")
    assert addresses.parse_target(longest, PUBLIC).url == longest
    assert str(MAX_LENGTH) in reason(longest + "x")


def test_w11_other_schemes_are_refused_whatever_their_host() -> None:
    assert "web address" in reason("ftp://example.com/")
    assert "web address" in reason("https:///x")


def test_refused_tells_why() -> None:
    assert addresses.address_refusal_reason("example", loopback_only=False) == "not an address"
    assert addresses.address_refusal_reason("192.0.2.1", loopback_only=True) == "not loopback"
    assert addresses.address_refusal_reason("127.0.0.1", loopback_only=True) is None


def test_w11_only_the_brackets_of_an_address_are_read() -> None:
    assert "plain address" in reason("https://[example]/") or "web address" in reason("https://[example]/")
    assert "plain address" in reason("https://0x7f/")
    assert "plain address" in reason("https://example.0xab/")
