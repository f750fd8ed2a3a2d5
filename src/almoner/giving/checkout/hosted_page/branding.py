"""The partner's branding on the page: its logo, and its colour adjusted for contrast."""

from dataclasses import dataclass

from almoner.access.partners.domain import PartnerAccount
from almoner.platform.pages import colours
from almoner.platform.pages.colours import Palette


@dataclass(frozen=True, slots=True)
class Brand:
    """The branding of the donation page. ``logo``: a URL on the page's own origin."""

    name: str
    logo: str | None
    palette: Palette | None


def brand_of(partner: PartnerAccount) -> Brand:
    """The partner's branding; without colour and logo the page has the default look."""
    palette = colours.build_palette(colours.parse_colour(partner.brand_colour)) if partner.brand_colour else None
    return Brand(partner.name, f"/media/{partner.brand_logo}" if partner.brand_logo else None, palette)
