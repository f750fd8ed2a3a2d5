"""What is recorded in the audit log has words on the page, and there are no words for what nobody records (V8)."""

import ast
import re
from collections.abc import Iterator

from almoner.access.members.audit_texts import ACTION_LABELS
from tests.architecture.sources import Source, dotted, sources

RECORDERS = frozenset(
    {
        "as_operator",
        "record_entry",
        "_record",
        "record_audit_entry",
        "record_audit",
        "record_approval",
        "require_approval",
        "require_two_people",
    }
)
OF_PEOPLE = re.compile(r"[a-z_]+(\.[a-z_]+)+|signed_(in|out)")
OF_SCIM = {
    f"scim.{kind}.{what}"
    for kind, whats in {
        "user": ("created", "updated", "deactivated", "reactivated", "deleted"),
        "group": ("created", "updated", "deleted"),
    }.items()
    for what in whats
}
"""Put together from two words in ``scim.storage``."""


def recorded(source: Source) -> Iterator[str]:
    """Actions that functions of the file record, themselves or by one that takes the action."""
    functions = list(source.functions())
    recorders = RECORDERS | {one.name for one in functions if "action" in {arg.arg for arg in one.args.args}}
    for function in functions:
        assigned = {
            target.id: node.value
            for node in ast.walk(function)
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(function):
            if isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in recorders:
                for argument in (*node.args, *(one.value for one in node.keywords if one.arg == "audit_action")):
                    given = assigned.get(argument.id, argument) if isinstance(argument, ast.Name) else argument
                    yield from (text for text in _choices(given) if OF_PEOPLE.fullmatch(text))


def _choices(node: ast.AST) -> Iterator[str]:
    """The texts that an expression may be."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.IfExp):
        yield from _choices(node.body)
        yield from _choices(node.orelse)


def test_v8_every_action_that_is_recorded_has_its_words() -> None:
    found = {action for source in sources() for action in recorded(source)} | OF_SCIM
    assert len(found) > 60
    assert sorted(found - set(ACTION_LABELS)) == []
    assert sorted(set(ACTION_LABELS) - found) == []


def test_an_action_is_found_however_it_is_given() -> None:
    text = """
async def mark(tx, person, action): await audit.record_entry(tx, person, action)
async def f(tx, active):
    await mark(tx, person, "a.marked")
    name = "a.on" if active else "a.off"
    await _record(tx, name, "subject")
"""
    assert set(recorded(Source.of(text, "access/x.py"))) == {"a.marked", "a.on", "a.off"}
