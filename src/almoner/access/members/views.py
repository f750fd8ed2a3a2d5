"""Shared parts of the members' pages: routes, identifiers and paging."""

from typing import Final, TypeVar

from almoner.access.accounts.domain import ROLE_NAMES
from almoner.access.people.domain import MEMBER_ROLES, MemberRole

PAGE_SIZE: Final = 50
"""Entries of a list on one page."""

_ROLE_DESCRIPTIONS: Final[dict[MemberRole, str]] = {
    "owner": "Manages members, groups, API keys and sign-in settings. Views the audit log. Includes all other roles.",
    "developer": "Manages API keys and webhooks, and views events. Does not see who donors are.",
    "reviewer": "Invites nonprofits and decides about them. Does not see who donors are.",
    "finance": "Views donations with their donors, refunds them, and exports reports.",
    "support": "Views donations with their donors, and sends receipts again.",
    "read_only": "Views records without donors' names, and cannot change anything.",
}

ROLE_CHOICES: Final = [
    {"id": role, "name": ROLE_NAMES[role], "means": _ROLE_DESCRIPTIONS[role]} for role in MEMBER_ROLES
]
"""For the forms."""

Item = TypeVar("Item")


def trim_to_page_size(found: list[Item]) -> tuple[list[Item], bool]:
    """The items of a page, and whether there are more."""
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE
