"""Shared parts of the members' pages: roles, refusals and paging."""

from typing import Final, TypeVar

from almoner.access.accounts.domain import problems_by_field
from almoner.access.accounts.page_texts import PageTexts, mark_as_english
from almoner.access.people.domain import MEMBER_ROLES
from almoner.kit.errors import IncorrectParams

PAGE_SIZE: Final = 50
"""Entries of a list on one page."""

Item = TypeVar("Item")


def trim_to_page_and_check_for_more(items: list[Item]) -> tuple[list[Item], bool]:
    """The items of a page, and whether there are more."""
    return items[:PAGE_SIZE], len(items) > PAGE_SIZE


def role_choices(texts: PageTexts) -> list[dict[str, str]]:
    """The roles of members, for the forms."""
    return [
        {"id": role, "name": texts.text(f"desk.role.{role}"), "means": texts.text(f"members.role.{role}")}
        for role in MEMBER_ROLES
    ]


def english_problems_by_field(error: IncorrectParams, default_field: str) -> dict[str, str]:
    """Problems that only the API reports, because our forms never send such values: by field, marked as English."""
    return {field: mark_as_english(reason) for field, reason in problems_by_field(error, default_field).items()}
