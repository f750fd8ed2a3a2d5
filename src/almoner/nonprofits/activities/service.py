"""Lists activity tags and suggests sub-tags."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from almoner.kit.errors import NotFound
from almoner.nonprofits.activities import rules, store, suggestions
from almoner.nonprofits.activities.domain import TAGS, AssignedTags, RetaggingRun, Tag
from almoner.nonprofits.activities.suggestions import SubTagSuggestion
from almoner.nonprofits.registers.domain import RegisterEntry
from almoner.platform.database.transactions import Tx

RULES_VERSION: Final = rules.VERSION
"""The version of the tags and rules of this release, a date."""


def list_tags() -> list[Tag]:
    """All activity tags, in the order of the file."""
    return list(TAGS.values())


def get_tag(tag_id: UUID) -> Tag:
    """One tag. Raises NotFound."""
    if (tag := TAGS.get(tag_id)) is None:
        raise NotFound
    return tag


def derive_tags_of_register_entry(registry_code: str, entry: RegisterEntry) -> AssignedTags:
    """The tags that follow from a register entry's codes."""
    return rules.derive_tags_of_register_entry(registry_code, entry)


def matching_name_rules_by_sub_tag(registry_code: str, organisation_name: str) -> Mapping[str, str]:
    """The rule for each sub-tag assigned by a word in the name."""
    return rules.matching_name_rules_by_sub_tag(registry_code, organisation_name)


def suggest_sub_tags(name: str, activities: str = "", charitable_objects: str = "") -> list[SubTagSuggestion]:
    """Sub-tags suggested to reviewers, most likely first; none is assigned automatically.

    Based on the name, and on the body's own description of its activities and objects.
    """
    return suggestions.suggest_sub_tags(name, activities, charitable_objects)


async def list_retagging_runs(tx: Tx, limit: int) -> list[RetaggingRun]:
    """The latest runs that applied the rules to all organisations, newest first."""
    return await store.list_retagging_runs(tx, limit)
