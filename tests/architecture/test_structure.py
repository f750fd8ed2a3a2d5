"""The packages: no import circles, no area or subject too wide to take in at a glance, no data of unknown origin."""

from collections.abc import Iterator

import grimp
import pytest

from tests.architecture.sources import PACKAGE

MAX_SLICES = 12


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """Which modules of the service each module imports, those that only types ask for included."""
    graph = grimp.build_graph("almoner", cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def without_leaves(imports: dict[str, set[str]]) -> dict[str, set[str]]:
    """What remains when modules that import nothing that remains are taken away: the circles and what uses them."""
    while leaves := {module for module, imported in imports.items() if not imported}:
        imports = {module: imported - leaves for module, imported in imports.items() if module not in leaves}
    return imports


def test_no_modules_import_each_other_in_a_circle(imports: dict[str, set[str]]) -> None:
    assert without_leaves(imports) == {}


def test_a_circle_is_found() -> None:
    assert set(without_leaves({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": set()})) == {"a", "b", "c"}


def packages() -> Iterator[tuple[str, int]]:
    """Every package of the service with the number of packages directly in it."""
    for folder in (path.parent for path in PACKAGE.rglob("__init__.py")):
        yield folder.name, sum((path / "__init__.py").exists() for path in folder.iterdir())


def test_no_area_and_no_subject_has_more_slices_than_a_reader_takes_in() -> None:
    assert [(name, count) for name, count in packages() if name != "almoner" and count > MAX_SLICES] == []


def test_every_table_for_matching_names_has_an_origin_and_a_licence() -> None:
    data = PACKAGE / "screening" / "matching" / "data"
    rows = [line.split("|") for line in (data / "ORIGIN.md").read_text().splitlines() if line.startswith("| `")]
    stated = {row[1].strip(" `") for row in rows if row[3].strip() and row[4].strip()}
    assert stated == {file.name for file in data.iterdir()} - {"ORIGIN.md"}
