"""SQL for similar names in a register: families share the first line, and the second line distinguishes members."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from almoner.nonprofits.organisations.domain import Namesake, Organisation
from almoner.nonprofits.organisations.store_search import LEXEMES
from almoner.platform.database.transactions import Tx

_COUNTED: Final = 100
_READ: Final = 2_000
_COMPARED: Final = 100
"""How many others of each kind are compared: those sharing most words of name and place, or nearest in length."""


_NAMESAKES: Final = f"""
    with own as materialized (
        select search_name as name, registry_id from organisation where id = $1
    ), family as materialized (
        select id, cardinality(array(
            select unnest(string_to_array(found.other, ' ')) intersect select unnest($7::text[])
        )) as words, cardinality(array(
            select unnest(string_to_array(found.place, ' ')) intersect select unnest(string_to_array($3, ' '))
        )) as places
        from (
            select s.id, s.other, s.place from organisation_search s, own
            where s.name = own.name and s.name <> '' and s.registry_id = own.registry_id and s.active
                and s.partner_id is null and s.id <> $1
            limit {_READ}
        ) found
        order by words desc, places desc, id limit {_COMPARED}
    ), bearers as materialized (
        select s.id from organisation_search s, own
        where s.name = $2 and s.registry_id = own.registry_id and s.active and s.partner_id is null
        limit {_COMPARED}
    ), worded as materialized (
        select id from (
            select id, name, other from organisation_search
            where {LEXEMES} @@ $4::tsquery and registry_id = $5 and active and partner_id is null limit {_READ}
        ) found
        order by abs(length(name) + length(other) - length($2)), id limit {_COMPARED}
    ), near as materialized (
        select o.id from organisation o, own
        where o.number_key = any($6::text[]) and o.registry_id = own.registry_id and o.partner_id is null
            and o.active and o.search_name = own.name
    )
    select o.id, o.registry_number, o.number_key, o.name, o.secondary_name, o.other_names, o.display_name,
        o.address_line_1, o.address_line_2, o.city, o.state, o.postcode, o.country_code,
        o.search_name = own.name as same_first_line
    from own cross join (
        select id from family union select id from bearers union select id from worded union select id from near
    ) found join organisation o on o.id = found.id left join family on family.id = o.id
    where o.id <> $1
    order by o.search_name = own.name desc, family.words desc nulls last, family.places desc nulls last, o.id
"""


@dataclass(frozen=True, slots=True)
class NamesakeSearch:
    """A name and a place to search for, in the form of the search index.

    ``words_not_in_organisation_name``: those beyond the first line; ``required_word_sets``: words that must all match;
    ``number_keys_one_typo_away``: numbers one typo away.
    """

    name: str
    place: str
    words_not_in_organisation_name: Sequence[str]
    required_word_sets: Sequence[Sequence[str]]
    number_keys_one_typo_away: Sequence[str]


async def count_namesakes(tx: Tx, organisation: Organisation) -> int:
    """Count other active organisations of the register with the same words in their name, up to 100."""
    return int(
        await tx.fetchval(
            f"""
            select count(*) from (
                select from organisation_search s
                where s.name = (select search_name from organisation where id = $1) and s.name <> ''
                    and s.id <> $1 and s.registry_id = $2 and s.active and s.partner_id is null
                limit {_COUNTED}
            ) others
            """,
            organisation.id,
            organisation.registry_id,
        )
    )


async def list_namesakes(tx: Tx, organisation: Organisation, name_search: NamesakeSearch) -> list[Namesake]:
    """Other active organisations of the register that a name may mean; same first line first.

    Those with the same first line (of a large family, those sharing most further words and most of the place); those
    whose first line is exactly the name; those with all words of the name, or all that it shares with this one; and
    those with the same first line and a number one typo away.
    """
    rows = await tx.fetch(
        _NAMESAKES,
        organisation.id,
        name_search.name,
        name_search.place,
        " | ".join(_all_of(words) for words in name_search.required_word_sets if words) or None,
        organisation.registry_id,
        list(name_search.number_keys_one_typo_away),
        list(name_search.words_not_in_organisation_name),
    )
    return [Namesake(**{**dict(row), "other_names": tuple(row["other_names"])}) for row in rows]


def _all_of(words: Sequence[str]) -> str:
    return "(" + " & ".join(f"'{word}'" for word in words) + ")"
