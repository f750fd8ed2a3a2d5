"""The text by which submissions are found in lists: words of names, numbers and IDs; pure."""

from collections.abc import Iterable, Sequence
from typing import Final
from uuid import UUID

from almoner.kit.ids import RecordIdCodec
from almoner.nonprofits.organisations.domain import extract_search_terms, normalise_search_text

_NEVER: Final = "?"
"""A word that no search text contains, so that a query without words finds nothing."""


def build_search_text(names: Iterable[str], number: str | None) -> str:
    """The searchable words of a submission: the nonprofit's names, each once, and its number."""
    return " ".join(filter(None, (*dict.fromkeys(map(normalise_search_text, names)), build_number_search_text(number))))


def build_number_search_text(number: str | None) -> str:
    """A number as given and without separators, so that ``85-0196605`` is also found as ``850196605``."""
    stated = normalise_search_text(number)
    return " ".join(dict.fromkeys((stated, stated.replace(" ", ""))))


def parse_search_words(query: str | None) -> tuple[str, ...]:
    """The words that must all match; none without a query."""
    return (extract_search_terms(query) or (_NEVER,)) if query else ()


def parse_id_parameter(
    id_codec: RecordIdCodec, parameter_name: str, id_texts: Sequence[str], id_type: str, problems: list[str]
) -> tuple[UUID, ...] | None:
    """Parse the IDs in a query parameter; None if there are none. Problems are appended to ``problems``."""
    found = [id_codec.decode(id_type, text) for text in id_texts]
    if None in found:
        problems.append(f"query.{parameter_name} must hold ids of type {id_type}")
    return tuple(one for one in found if one) if id_texts else None
