"""Look up in DNS whether a domain accepts email (RFC 5321 5.1, RFC 7505)."""

from typing import Final

from dns.asyncresolver import Resolver
from dns.exception import DNSException
from dns.name import EmptyLabel, LabelTooLong, NameTooLong
from dns.resolver import NXDOMAIN, NoAnswer

_SECONDS: Final = 5.0


class DnsMailHostLookup:
    """Queries the system's DNS resolvers, or the given ones."""

    def __init__(self, nameservers: list[str] | None = None, port: int = 53) -> None:
        self._resolver = Resolver(configure=nameservers is None)
        if nameservers is not None:
            self._resolver.nameservers = list(nameservers)
            self._resolver.port = port
        self._resolver.lifetime = _SECONDS

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether an MX or address record accepts email for the domain; None if no resolver responds."""
        try:
            answer = await self._resolver.resolve(domain, "MX")
        except NXDOMAIN:
            return False
        except NoAnswer:
            return await self._has_address(domain)
        except (EmptyLabel, LabelTooLong, NameTooLong):
            return False
        except (DNSException, OSError):
            return None
        return any(record.exchange.to_text() != "." for record in answer)  # a null MX accepts no email

    async def _has_address(self, domain: str) -> bool | None:
        for kind in ("A", "AAAA"):
            try:
                await self._resolver.resolve(domain, kind)
            except NoAnswer:
                continue
            except NXDOMAIN:
                return False
            except (DNSException, OSError):
                return None
            return True
        return False
