"""What agent verifications need from outside."""

from typing import Protocol


class MailHostLookup(Protocol):
    """Looks up which domains receive email."""

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether the domain has a mail host (RFC 5321 5.1, RFC 7505); None if this cannot be determined now.

        ``domain`` in ASCII.
        """
        ...
