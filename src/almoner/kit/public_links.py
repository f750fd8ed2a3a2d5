"""Privacy notice, terms, imprint and contact of a deployment or a partner."""

from dataclasses import dataclass, fields
from typing import Final


@dataclass(frozen=True, slots=True)
class PublicLinks:
    """Links at the bottom of pages and emails; None if not set.

    ``name``: of the organisation. ``website``: the page that visitors return to. ``contact``: an email address.
    """

    name: str | None = None
    website: str | None = None
    privacy: str | None = None
    terms: str | None = None
    imprint: str | None = None
    contact: str | None = None

    @property
    def notice_links(self) -> list[tuple[str, str]]:
        """The label key and URL of each notice."""
        labelled = (("page.privacy", self.privacy), ("page.terms", self.terms), ("page.imprint", self.imprint))
        return [(label, address) for label, address in labelled if address]

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self) if field.name != "name")


NO_LINKS: Final = PublicLinks()
