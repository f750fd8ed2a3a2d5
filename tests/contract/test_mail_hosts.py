"""Who knows which domains take mail: the sandbox, and whoever asks the domain name system (RFC 5321, RFC 7505)."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import cast

import dns.message
import dns.rcode
import dns.rrset
import pytest

from almoner.adapters.mail_hosts_dns import DnsMailHostLookup
from almoner.adapters.mail_hosts_sandbox import SandboxMailHostLookup
from almoner.validation.agents.ports import MailHostLookup

ZONE: Mapping[tuple[str, str], str] = {
    ("charity.org.", "MX"): "10 mail.charity.org.",
    ("none.org.", "MX"): "0 .",
    ("plain.org.", "A"): "192.0.2.1",
    ("six.org.", "AAAA"): "2001:db8::1",
    ("empty.org.", "TXT"): '"nothing"',
}


class _Names(asyncio.DatagramProtocol):
    """A name server of one zone."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        query = dns.message.from_wire(data)
        [asked] = query.question
        name, kind = asked.name.to_text(), dns.rdatatype.to_text(asked.rdtype)
        answer = dns.message.make_response(query)
        if name == "broken.org.":
            answer.set_rcode(dns.rcode.SERVFAIL)
        elif not any(name == known for known, _ in ZONE):
            answer.set_rcode(dns.rcode.NXDOMAIN)
        elif (name, kind) in ZONE:
            answer.answer.append(dns.rrset.from_text(name, 60, "IN", kind, ZONE[name, kind]))
        self._transport.sendto(answer.to_wire(), addr)


@asynccontextmanager
async def name_server() -> AsyncIterator[int]:
    """The port of a server."""
    transport, _ = await asyncio.get_running_loop().create_datagram_endpoint(_Names, local_addr=("127.0.0.1", 0))
    yield transport.get_extra_info("sockname")[1]
    transport.close()


@pytest.fixture(params=["sandbox", "dns"])
async def hosts(request: pytest.FixtureRequest) -> AsyncIterator[MailHostLookup]:
    """Each adapter."""
    if request.param == "sandbox":
        yield SandboxMailHostLookup()
        return
    async with name_server() as port:
        yield DnsMailHostLookup(["127.0.0.1"], port)


async def test_a_domain_with_a_mail_host_takes_mail(hosts: MailHostLookup) -> None:
    assert await hosts.accepts_mail("charity.org") is True


@pytest.mark.parametrize("domain", ["nobody.invalid", "invalid"])
async def test_a_domain_that_cannot_exist_takes_none(hosts: MailHostLookup, domain: str) -> None:
    assert await hosts.accepts_mail(domain) is False


@pytest.mark.parametrize(
    ("domain", "takes"),
    [
        ("plain.org", True),  # without MX the domain's own address is the host
        ("six.org", True),
        ("none.org", False),  # a null MX
        ("empty.org", False),
        ("broken.org", None),
        (f"{'a' * 64}.org", False),
        ("a..org", False),
    ],
)
async def test_what_the_domain_name_system_says(domain: str, takes: bool | None) -> None:
    async with name_server() as port:
        assert await DnsMailHostLookup(["127.0.0.1"], port).accepts_mail(domain) is takes


async def test_nobody_who_answers_is_no_answer() -> None:
    assert await DnsMailHostLookup([], 53).accepts_mail("charity.org") is None
