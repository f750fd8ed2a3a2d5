"""Which domains take mail in the sandbox, where its mailbox takes the mails of all: every one that can exist."""

from typing import Final

_NEVER: Final = ".invalid"
"""RFC 6761 6.4: no domain below it exists, so that the other answer can be tried too."""


class SandboxMailHosts:
    """Asks nobody."""

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether the domain could exist."""
        return not f".{domain}".endswith(_NEVER)
