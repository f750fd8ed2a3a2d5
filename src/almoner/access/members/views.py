"""Shared parts of the members' pages: roles, refusals and paging."""

from typing import Final, TypeVar

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_texts import PageTexts, in_english
from almoner.access.people.domain import MEMBER_ROLES
from almoner.kit.errors import IncorrectParams

PAGE_SIZE: Final = 50
"""Entries of a list on one page."""

Item = TypeVar("Item")


def trim_to_page_size(found: list[Item]) -> tuple[list[Item], bool]:
    """The items of a page, and whether there are more."""
    return found[:PAGE_SIZE], len(found) > PAGE_SIZE


def role_choices(texts: PageTexts) -> list[dict[str, str]]:
    """The roles of members, for the forms."""
    return [
        {"id": role, "name": texts.text(f"desk.role.{role}"), "means": texts.text(f"members.role.{role}")}
        for role in MEMBER_ROLES
    ]


def refusal_texts(error: IncorrectParams, otherwise: str) -> dict[str, str]:
    """Problems that only the API reports, because our forms never send such values: by field, marked as English."""
    return {field: in_english(reason) for field, reason in problems_by_field(error, otherwise).items()}
