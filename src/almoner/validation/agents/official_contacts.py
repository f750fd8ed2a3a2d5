"""Whether an email address belongs to an organisation rather than a person; pure."""

import re
from typing import Final

from almoner.validation.agents.domain import OfficialContactRefused

_ROLE_ADDRESSES: Final = frozenset(
    "accueil admin administracion administration ask association bestuur board buero buro charity charities clerk "
    "committee company contact contacto contacts contactus contatto contato director directors enquiries enquiry "
    "finance foundation fundraising general giving hello help hq info infos information inquiries inquiry kantoor "
    "kontakt mail mailbox main manager members membership office oficina post postbus postmaster president presse "
    "press reception secretaria secretariaat secretariat secretary segreteria sekretariat service staff support team "
    "treasurer trust trustee trustees verein vorstand welcome".split()
)


def ensure_role_mailbox(address: str) -> None:
    """Raises OfficialContactRefused unless the local part names a function, such as info, contact or secretary."""
    words = re.split(r"[^a-z]+", address.rpartition("@")[0].lower())
    if not any(word in _ROLE_ADDRESSES for word in words):
        raise OfficialContactRefused("use an address of the organisation, such as info@, not a personal one")
