"""A declaration for several donations, as shown to its donor; pure."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from almoner.giving.gift_aid.declarations.domain import STATEMENT_SEVERAL

PAGE_PURPOSE: Final = "gift-aid"
"""The purpose of the tokens in the links, and the path of the page."""


@dataclass(frozen=True, slots=True)
class RegularDonationDeclaration:
    """The Gift Aid declaration of a regular donation. ``subscription_id``: the regular donation's."""

    id: UUID
    partner_id: UUID
    organisation_id: UUID
    subscription_id: UUID
    declared_at: datetime
    has_ended: bool

    @staticmethod
    def declaration_text(charity: str) -> str:
        """HMRC's statement, which stays in English."""
        return STATEMENT_SEVERAL.format(charity=charity)
