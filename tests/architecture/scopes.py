"""Which statements read or change rows of partners, and whether they name the partner."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.architecture.sources import PACKAGE, Source, dotted

SCOPES = frozenset({"Partner", "AllPartners", "Realm", "Scope"})
VALUES = frozenset(
    {"UUID", "Sequence", "Iterable", "Mapping", "RequestedPage", "Literal", "Any", "Callable", "Decimal"}
)
MARK = "across_partners"
Function = ast.FunctionDef | ast.AsyncFunctionDef

_TABLE = re.compile(r"create table (?:if not exists )?(\w+) \((.*?)\n\)", re.DOTALL | re.IGNORECASE)
_MENTION = re.compile(r"\b(?:from|join|update|into|using)\s+(?:only\s+)?(\w+)", re.IGNORECASE)
_BOUND = re.compile(
    r"partner_id\)?\s*(?:=|in|is not distinct from)\s*(?:any\s*)?\(?\s*[$:{]|insert into \w+ \([^)]*\bpartner_id\b",
    re.IGNORECASE,
)
_DEPTH = 6


@cache
def partner_tables() -> frozenset[str]:
    """The tables whose rows belong to a partner: they have a column ``partner_id``."""
    folder = PACKAGE / "migrations"
    text = "\n".join(path.read_text() for path in sorted(folder.rglob("*.sql")))
    found = {name for name, columns in _TABLE.findall(text) if re.search(r"^\s*partner_id\b", columns, re.MULTILINE)}
    found |= {
        name.lower() for name in re.findall(r"alter table (\w+)\s+add (?:column )?partner_id\b", text, re.IGNORECASE)
    }
    return frozenset(found)


def is_store(source: Source) -> bool:
    """The test payment provider is an outside system, which knows no partners."""
    return source.path.stem.startswith("store") and source.path.parts[0] != "provider_test"


def annotation_names(annotation: ast.expr | None) -> set[str]:
    """The last words of the names in an annotation."""
    return {dotted(node).rpartition(".")[2] for node in ast.walk(annotation)} if annotation else set()


def takes_tx(function: Function) -> bool:
    """Whether its first parameter is the transaction."""
    parameters = function.args.args
    return bool(parameters) and "Tx" in annotation_names(parameters[0].annotation)


def scopes_that_are_not_read(source: Source) -> Iterator[str]:
    """A scope is given to what reads it: one that is not read only seems to keep partners apart."""
    if not is_store(source):
        return
    for function in source.functions():
        read = {node.id for line in function.body for node in ast.walk(line) if isinstance(node, ast.Name)}
        for parameter in (*function.args.args, *function.args.kwonlyargs):
            if annotation_names(parameter.annotation) & SCOPES and parameter.arg not in read:
                yield source.at(function, f"{function.name} does not read its scope {parameter.arg}: leave it out")


def partners_kept_apart(source: Source) -> Iterator[str]:
    """A statement over rows of partners binds the partner or a record that is given, or its function says why not.

    It says so by ``@across_partners`` with the reason.
    """
    if not is_store(source):
        return
    known = _known(source.tree.body)
    for function in source.functions():
        if not takes_tx(function):
            continue
        marked = any(dotted(one.func) == MARK for one in function.decorator_list if isinstance(one, ast.Call))
        crossed = [] if _is_told_of_all(function) else sorted(_crossed_tables(function, known))
        if crossed and not marked:
            yield source.at(function, f"{function.name} names no partner of {', '.join(crossed)}, and not why")
        if marked and not crossed:
            yield source.at(function, f"{function.name} says why it names no partner, and has no need to")


def _is_told_of_all(function: Function) -> bool:
    """Its caller says whether it means all partners."""
    return any(annotation_names(one.annotation) & {"AllPartners", "Scope"} for one in function.args.args)


def _crossed_tables(function: Function, known: dict[str, list[ast.AST]]) -> set[str]:
    """Of which tables a statement takes rows of whatever partner."""
    known, given = {**known, **_known(function.body)}, _given(function)
    crossed: set[str] = set()
    for call in (node for line in function.body for node in ast.walk(line) if isinstance(node, ast.Call)):
        arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
        text = "\n".join(text for argument in arguments for text in _texts(argument, known))
        tables = {name.lower() for name in _MENTION.findall(text)} & partner_tables()
        if tables and not _BOUND.search(text) and not any(_names_one_of(argument, given) for argument in arguments):
            crossed |= tables
    return crossed


def _given(function: Function) -> set[str]:
    """The parameters that are a scope or a record, which the caller has found in one, and what is made of them."""
    parameters = (*function.args.args[1:], *function.args.kwonlyargs)
    given = {
        parameter.arg
        for parameter in parameters
        if annotation_names(parameter.annotation) & SCOPES
        or any(name[:1].isupper() and name not in VALUES for name in annotation_names(parameter.annotation))
    }
    for _ in range(2):
        for node in (node for line in function.body for node in ast.walk(line)):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.For | ast.comprehension | ast.NamedExpr):
                value = node.iter if isinstance(node, ast.For | ast.comprehension) else node.value
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if value is not None and _names_one_of(value, given):
                    given |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    return given


def _names_one_of(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in ast.walk(node))


def _known(body: list[ast.stmt]) -> dict[str, list[ast.AST]]:
    """What names stand for: constants, functions that put texts together, and what was assigned."""
    known: dict[str, list[ast.AST]] = {}
    for line in body:
        for node in ast.walk(line):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                for target in targets:
                    if isinstance(target, ast.Name):
                        known.setdefault(target.id, []).append(node.value)
        if isinstance(line, ast.FunctionDef):
            known.setdefault(line.name, []).append(line)
    return known


def _texts(node: ast.AST, known: dict[str, list[ast.AST]], depth: int = 0) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value
        elif isinstance(part, ast.Name) and depth < _DEPTH:
            for meant in known.get(part.id, ()):
                yield from _texts(meant, known, depth + 1)
