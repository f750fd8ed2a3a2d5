"""What is recorded in a partner's audit log has words on the page, and nothing else has (V8)."""

import ast
import json
import re
from collections.abc import Iterator

from almoner.console.audit_words import DEPLOYMENT_ACTIONS
from almoner.platform.pages.translations import LOCALE_FOLDER
from tests.architecture.sources import Source, dotted, sources

RECORDERS = frozenset(
    {
        "operator_command",
        "record_entry",
        "_record",
        "record_audit_entry",
        "record_audit",
        "record_approval",
        "require_two_person_approval_if_enabled",
        "require_two_person_approval",
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

OF_THE_DEPLOYMENT = re.compile(
    r"(activities|backup|bank_statement|bank_statement_line|deployment|dispute|documents|email|gift_aid_claim|giving_link"
    r"|incident|job|ledger|operator|operator_token|organisation|organisations|payee_bank_account|payment_file|periodic_job"
    r"|register|registry|selfcheck|settlement|settlement_line|two_person_approval|unallocated_payment|watchlist)\.\w+"
    r"|audit\.proof_started|(disbursements|donation_requests)\.run|refund\.(marked_sent|marked_failed|resolved|retried)"
)
"""Actions that are recorded for no partner, and that no page of a partner shows."""


def words() -> set[str]:
    """The actions that catalogues have words for: of the audit log, else of the account page."""
    keys = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
    return {
        key.partition(f"{part}.")[2] for key in keys for part in ("audit_log.action", "account.event") if part in key
    }


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
    mine = {action for action in found if not OF_THE_DEPLOYMENT.fullmatch(action)}
    assert sorted(mine - words()) == []
    assert sorted(action for action in words() - found if OF_PEOPLE.fullmatch(action) and "." in action) == []


def test_every_action_of_the_deployment_has_its_words_in_the_console() -> None:
    found = {action for source in sources() for action in recorded(source)}
    assert {action for action in found if OF_THE_DEPLOYMENT.fullmatch(action)} == set(DEPLOYMENT_ACTIONS)


def test_an_action_is_found_however_it_is_given() -> None:
    text = """
async def mark(tx, person, action): await audit.record_entry(tx, person, action)
async def f(tx, active):
    await mark(tx, person, "a.marked")
    name = "a.on" if active else "a.off"
    await _record(tx, name, "subject")
"""
    assert set(recorded(Source.of(text, "access/x.py"))) == {"a.marked", "a.on", "a.off"}
