"""No identifier of the service holds a private word (docs/glossary.md has the words to use)."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.architecture.sources import Source, sources

PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@cache
def private_words() -> frozenset[str]:
    """The words of the list beside this file."""
    lines = Path(__file__).with_name("private_words.txt").read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


def identifiers(source: Source) -> Iterator[tuple[ast.AST, str]]:
    """Every name that the file defines or uses, with where it stands."""
    for node in ast.walk(source.tree):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield node, node.name
            case ast.Name():
                yield node, node.id
            case ast.Attribute():
                yield node, node.attr
            case ast.arg() | ast.keyword() if node.arg:
                yield node, node.arg
            case ast.alias():
                yield node, node.asname or node.name


def findings(source: Source) -> Iterator[str]:
    """Each identifier that holds a private word: parts are split at ``_`` and at capitals."""
    yield from (f"{source.path}: a module" for part in PARTS.findall(str(source.path)) if part in private_words())
    for node, name in identifiers(source):
        if private := {part.lower() for part in PARTS.findall(name)} & private_words():
            yield source.at(node, f"{name}: {', '.join(sorted(private))}")


def test_no_identifier_holds_a_private_word() -> None:
    assert [finding for source in sources() for finding in findings(source)] == []


@pytest.mark.parametrize(
    "text", ["def ring_bell(): ...", "class TillDoor: ...", "x = a.wish", "f(mended=1)", "import till", "nursery = 1"]
)
def test_a_private_word_is_found(text: str) -> None:
    assert list(findings(Source.of(text, "giving/service.py")))


def test_plain_words_are_no_finding() -> None:
    assert list(findings(Source.of("def find_tills_of(wished: int) -> Bellow: ...", "giving/service.py"))) == []
