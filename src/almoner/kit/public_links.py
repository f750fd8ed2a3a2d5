"""Where whoever answers for a page has its notices."""

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class PublicLinks:
    """Addresses that a page, a mail or a document shows; None for what there is not.

    ``name``: who answers for it. ``website``: where its visitors come from. ``contact``: an e-mail address.
    """

    name: str | None = None
    website: str | None = None
    privacy: str | None = None
    terms: str | None = None
    imprint: str | None = None
    contact: str | None = None

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self) if field.name != "name")


NO_LINKS: Final = PublicLinks()
