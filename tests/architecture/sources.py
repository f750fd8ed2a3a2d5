"""The service's own source files, parsed once, for the rules of this folder."""

import ast
import gc
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "almoner"
TESTS = ROOT / "tests"


@dataclass(frozen=True)
class Source:
    """One Python file: its path below the folder it was found in, its text and its tree."""

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def of(cls, text: str, path: str) -> "Source":
        """A source that exists in a test only."""
        return cls(Path(path), text, ast.parse(text))

    def at(self, node: ast.AST, what: str) -> str:
        """``kit/time.py:12 what``."""
        return f"{self.path}:{getattr(node, 'lineno', 1)} {what}"

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method, nested ones included."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """Every call with the dotted name it is made by (``""`` where it has none)."""
        return ((node, dotted(node.func)) for node in ast.walk(self.tree) if isinstance(node, ast.Call))

    def strings(self) -> Iterator[ast.Constant]:
        """Every string literal that is no docstring, the fixed parts of f-strings included."""
        documentation = {
            id(node.body[0].value)
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and node.body
            and isinstance(node.body[0], ast.Expr)
        }
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
                yield node


def dotted(node: ast.AST) -> str:
    """``datetime.now`` for the expression of that form, ``""`` for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted(node.value)
        return f"{head}.{node.attr}" if head else node.attr
    return ""


@cache
def sources(folder: Path = PACKAGE) -> tuple[Source, ...]:
    """Every Python file below the folder."""
    gc.disable()  # all that is made stays: to look for what does not takes four times as long as to parse
    try:
        return tuple(
            Source(path.relative_to(folder), text := path.read_text(), ast.parse(text))
            for path in sorted(folder.rglob("*.py"))
        )
    finally:
        gc.freeze()
        gc.enable()
