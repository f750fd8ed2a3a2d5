"""Every member and every known value of the records that the dashboard shows has words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from almoner.dashboard.record_lists import LISTS
from almoner.platform.pages.translations import FALLBACK, TranslationCatalogues

ENGLISH = TranslationCatalogues().language(FALLBACK)
DESCRIPTION = json.loads((Path(__file__).parents[2] / "openapi.json").read_text("utf-8"))


def parts(schema: dict[str, Any], seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The members of a schema and of all schemas in it."""
    if (name := schema.get("$ref", "").rpartition("/")[2]) and name not in seen:
        yield from parts(DESCRIPTION["components"]["schemas"][name], seen | {name})
    listed = [schema["items"]] if "items" in schema else []
    for inner in (*schema.get("allOf", ()), *schema.get("anyOf", ()), *schema.get("oneOf", ()), *listed):
        yield from parts(inner, seen)
    for member, inner in schema.get("properties", {}).items():
        yield member, inner
        yield from parts(inner, seen)


def shown() -> list[tuple[str, dict[str, Any]]]:
    """The members of one record of each list; what is in an event is one of those, or shown as it is."""
    found = []
    for one in (one for one in LISTS if one.api_path):
        paths = [path for path in DESCRIPTION["paths"] if path.startswith(one.api_path + "/{") and path.count("/") == 3]
        for path in paths:
            answer = DESCRIPTION["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            found += [(name, schema) for name, schema in parts(answer) if name != "_links"]
    return found


def test_every_member_has_a_label() -> None:
    names = {name for name, _ in shown()} - {"data", "current", "object"}
    assert {name for name in names if not ENGLISH.has_message(f"dashboard.member.{name}")} == set()
    declared = {column.label for one in LISTS for column in one.columns}
    declared |= {field.label for one in LISTS for field in one.filters}
    fields = [field for one in LISTS if one.form for field in one.form.fields]
    fields += [field for one in LISTS for action in one.actions for field in action.fields]
    declared |= {field.label_field_name for field in fields}
    assert {name for name in declared if not ENGLISH.has_message(f"dashboard.member.{name}")} == set()


def test_every_status_and_other_known_value_has_words() -> None:
    values = {str(value) for name, schema in shown() for value in schema.get("x-extensible-enum", ())}
    values |= {choice for one in LISTS for field in one.filters for choice in field.choices}
    values |= {choice for one in LISTS for action in one.actions for field in action.fields for choice in field.choices}
    code = {"GET", "POST", "PUT", "PATCH", "DELETE"}
    known = {value for value in values - code if "." not in value}  # so are the names of events
    assert {value for value in known if not ENGLISH.has_message(f"dashboard.value.{value.lower()}")} == set()
