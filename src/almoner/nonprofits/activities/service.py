"""What can be asked about activities."""

from collections.abc import Mapping
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.activities import rules, suggestions
from almoner.nonprofits.activities.domain import TAGS, AssignedTags, Tag
from almoner.nonprofits.activities.suggestions import SubTagSuggestion
from almoner.nonprofits.registers.domain import RegisterEntry


def list_tags() -> list[Tag]:
    """All tags in the order of the file."""
    return list(TAGS.values())


def get_tag(tag_id: UUID) -> Tag:
    """One tag. Raises NotFound."""
    if (tag := TAGS.get(tag_id)) is None:
        raise NotFound
    return tag


def tags_of_entry(registry_code: str, entry: RegisterEntry) -> AssignedTags:
    """What a register says that a body does: pure, and quick enough for every row of a load."""
    return rules.tags_of_entry(registry_code, entry)


def rules_matching_name(registry_code: str, name: str) -> Mapping[str, str]:
    """By the code of a sub-tag the rule of the words in a body's name that gives it, whatever its register says."""
    return rules.rules_matching_name(registry_code, name)


def suggest_sub_tags(name: str, activities: str = "", objects: str = "") -> list[SubTagSuggestion]:
    """Sub-tags for a reviewer to look at, the likeliest first: nothing is tagged by them.

    From its name, and what a body says that it does and is for.
    """
    return suggestions.suggest_sub_tags(name, activities, objects)
