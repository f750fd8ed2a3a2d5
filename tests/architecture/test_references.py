"""The functions, classes and methods that the documentation names exist (``docs/architecture.md``, section 10)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT, Source, sources

_REFERENCE = re.compile(r"`(?P<path>[\w/.]*\w\.py):\s+(?P<name>[^`]*)`")
DOCUMENTS = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def defined(body: list[ast.stmt], prefix: str = "") -> Iterator[str]:
    """The names that a module defines, also in its functions, and the members of its classes as ``Class.member``."""
    for node in body:
        match node:
            case ast.ClassDef():
                yield prefix + node.name
                yield from defined(node.body, f"{prefix}{node.name}.")
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield from (
                    prefix + inner.name
                    for inner in ast.walk(node)
                    if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef)
                )
            case ast.Assign():
                yield from (prefix + target.id for target in node.targets if isinstance(target, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield prefix + name


@cache
def names_of(source: Source) -> frozenset[str]:
    """Everything that a reference to this file may name."""
    return frozenset(defined(source.tree.body))


def unknown(text: str) -> Iterator[str]:
    """The references of a document to names that no file of that path defines."""
    for reference in _REFERENCE.finditer(text):
        path, name = Path(reference["path"]).parts, reference["name"]
        files = [source for source in sources() if source.path.parts[-len(path) :] == path]
        if not any(name in names_of(source) for source in files):
            yield f"{reference['path']}: {name}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_named_function_exists(document: Path) -> None:
    found = list(unknown(document.read_text()))
    assert not found, f"no such function, class or method: {found}"


def test_the_walkthroughs_are_checked() -> None:
    assert len(_REFERENCE.findall((ROOT / "docs" / "architecture.md").read_text())) > 100


@pytest.mark.parametrize(
    "reference",
    [
        "`platform/events/outbox.py: emit`",
        "`events/outbox.py:\n   emit`",
        "`platform/events/outbox.py: Event.data`",
        "`platform/events/outbox.py: event_data`",
        "`platform/outbox.py: emit_event`",
        "`outbox.py: emit_event()`",
    ],
)
def test_a_wrong_name_is_found(reference: str) -> None:
    assert list(unknown(reference))


@pytest.mark.parametrize(
    "reference",
    ["`platform/events/outbox.py: emit_event`", "`events/outbox.py:\n   Event.event_data`", "`outbox.py: WAKEUP`"],
)
def test_a_right_name_is_no_finding(reference: str) -> None:
    assert not list(unknown(reference))
