"""Public pages of single records in registers; pure."""

from typing import Final
from urllib.parse import quote

_PAGES: Final = {
    "ACNC": "https://www.acnc.gov.au/charity/charities?search={}",
    "CCEW": "https://register-of-charities.charitycommission.gov.uk/charity-search/-/charity-details/{}",
    "CCNI": "https://www.charitycommissionni.org.uk/charity-search/?q={}",
    "IRS": "https://apps.irs.gov/app/eos/detailsPage?ein={}",
    "OSCR": "https://www.oscr.org.uk/about-charities/search-the-register/charity-details?number={}",
}
"""By registry code; others have no address for a single number."""


def register_page_url(registry_code: str, registry_number: str) -> str | None:
    """The register's web page of a number; None if there is none."""
    address = _PAGES.get(registry_code)
    return address.format(quote(registry_number, safe="")) if address else None
