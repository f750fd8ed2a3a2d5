"""In the sandbox, every possible domain accepts email, because its mailbox stores all emails."""

from typing import Final

_NEVER: Final = ".invalid"
"""RFC 6761 6.4: no domain below it exists; used to test the negative result."""


class SandboxMailHostLookup:
    """Makes no DNS queries."""

    async def accepts_mail(self, domain: str) -> bool | None:
        """Whether the domain could exist."""
        return not f".{domain}".endswith(_NEVER)
