"""The registry that a mapping file declares in its table ``[registry]``, validated."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from almoner.nonprofits.countries.domain import COUNTRIES
from almoner.nonprofits.registries.domain import DeclaredRegistry, has_known_number_format

_MEMBERS: Final = frozenset({"code", "name", "english_name", "country_code", "characters", "shortest", "longest"})
_CODE: Final = re.compile(r"[A-Z][A-Z0-9-]{1,19}", re.ASCII)
_CHARACTERS: Final = ("digits", "letters-and-digits")
_LONGEST_NAME: Final = 200
_LONGEST_NUMBER: Final = 50


def parse_registry_declaration(toml_table: object, report_problem: Callable[[str], None]) -> DeclaredRegistry | None:
    """The registry that the table declares; None after reporting its problems."""
    if not isinstance(toml_table, dict):
        report_problem("registry is not a table: write [registry] and its members below it")
        return None
    problems = [*_problems(toml_table)]
    for problem in problems:
        report_problem(problem)
    if problems:
        return None
    name, english_name, country = (
        toml_table["name"].strip(),
        toml_table["english_name"].strip(),
        toml_table["country_code"],
    )
    rule = (
        toml_table.get("shortest", 1),
        toml_table.get("longest", _LONGEST_NUMBER),
        toml_table.get("characters") == _CHARACTERS[0],
    )
    return DeclaredRegistry(toml_table["code"], name, english_name, country, *rule)


def _problems(table: dict[str, Any]) -> Iterator[str]:
    for member in sorted(table.keys() - _MEMBERS):
        yield f"[registry] has no member {member}: there are {', '.join(sorted(_MEMBERS))}"
    code = table.get("code")
    if not isinstance(code, str) or not _CODE.fullmatch(code):
        yield "registry.code is not 2 to 20 capital letters, digits and hyphens: give the registry one"
    elif has_known_number_format(code):
        yield f"registry.code {code} is known here and cannot be declared: set source.registry instead"
    for name in ("name", "english_name"):
        if not isinstance(stated := table.get(name), str) or not 1 <= len(stated.strip()) <= _LONGEST_NAME:
            yield f"registry.{name} is not a text of 1 to {_LONGEST_NAME} characters"
    if table.get("country_code") not in COUNTRIES:
        yield 'registry.country_code is not a country: use three capital letters, such as "DEU"'
    # Not a regular expression: one could run without end on a line of a file.
    if table.get("characters", _CHARACTERS[1]) not in _CHARACTERS:
        yield f"registry.characters is not one of {', '.join(_CHARACTERS)}"
    shortest, longest = table.get("shortest", 1), table.get("longest", _LONGEST_NUMBER)
    if type(shortest) is not int or type(longest) is not int or not 1 <= shortest <= longest <= _LONGEST_NUMBER:
        yield f"registry.shortest and longest are not whole numbers from 1 to {_LONGEST_NUMBER}, in this order"
