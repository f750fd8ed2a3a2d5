"""What agent verifications need from outside."""

from typing import Protocol


class MailHosts(Protocol):
    """Looks up which domains receive email."""

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether a mail host is named for the domain (RFC 5321 5.1, RFC 7505); None when it cannot be found out now.

        ``domain`` in ASCII.
        """
        ...
