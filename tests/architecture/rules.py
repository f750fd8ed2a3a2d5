"""Rules of the project that no linter knows: each takes a source and names what breaks it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture import scopes
from tests.architecture.sources import Source, dotted

MAX_MODULE_LINES = 800
MAX_TEST_LINES = 500
MAX_FUNCTION_LINES = 50
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

ADMINISTRATION = frozenset({"cli/local.py", "cli/run.py"})
READ_BY_HAND = frozenset(
    {
        ("giving/checkout/donations/store_lists.py", "_filtered_page"),
        ("giving/checkout/donations/store_lists.py", "_page_of_few"),
        ("giving/subscriptions/donation_subscriptions/store.py", "list_page"),
        ("platform/database/lists.py", "list_partner_page"),
        ("platform/jobs/due_times.py", "_answer_together"),
        ("scim/store.py", "list_matches"),
        ("scim/store.py", "count_matches"),
        ("validation/ongoing/eligibility/store.py", "list_page"),
        ("validation/ongoing/monitoring/store.py", "_narrowed"),
        ("validation/requests/store.py", "_narrowed"),
        ("validation/applications/submissions/store.py", "_narrowed"),
    }
)
"""Put conditions together from tables of constants and the numbers of their parameters."""
TEMPORARY = "adapters/registers_ccew_join.py"
"""Its SQL is of a database of its own, gone with the load (decision 0036); what it runs is constant."""
STAGING = frozenset({"nonprofits/registers/store_merge.py", "nonprofits/registers/store_staging.py"})
"""Each reading has a table of its own, named after its id; what differs between their statements is that name alone."""
CLOCK_MODULES = frozenset(
    {"kit/time.py", "platform/clock.py", "platform/clocks.py", "platform/database/inspection.py"}  # compares two clocks
)
MOMENTS = {
    "datetime": {"now", "utcnow", "today"},
    "date": {"today"},
    "time": {"time", "time_ns", "gmtime", "localtime"},
}
SQL_TIME = re.compile(
    r"\bnow\(\)|\b(current_timestamp|current_date|localtimestamp|clock_timestamp|statement_timestamp|transaction_timestamp)\b",
    re.IGNORECASE,
)
SQL_TEXT = re.compile(
    r"^\s*(select\s|insert\s+into\s|update\s+\w+\s+(as\s+\w+\s+)?set\s|delete\s+from\s|with\s+(recursive\s+)?\w+\s*(\([^)]*\))?\s+as\s"
    r"|(create|alter|drop)\s+(table|index|role|database|unique)\s|truncate\s|lock\s+table\s)",
    re.IGNORECASE,
)
LOCKS_IN_SUBQUERY = re.compile(
    r"\bin\s*\(\s*select\b(?:[^()]|\([^()]*\))*?\blimit\b(?:[^()]|\([^()]*\))*?\bfor\s+(?:no\s+key\s+)?(?:update|share)\b",
    re.IGNORECASE,
)
STATEMENTS = frozenset({"fetch", "fetchrow", "fetchval", "execute", "executemany", "copy_records"})
FORBIDDEN_NAMES = frozenset({"utils", "util", "helpers", "helper", "common", "manager", "managers", "base", "misc"})


def no_time_source(source: Source) -> Iterator[str]:
    """S6: only the clock modules ask for the time; a duration (``monotonic``, ``perf_counter``) is no moment."""
    if source.path.as_posix() in CLOCK_MODULES:
        return
    for call, name in source.calls():
        head, _, method = name.rpartition(".")
        if method in MOMENTS.get(head.rpartition(".")[2], ()):
            yield source.at(call, f"asks {name} for the time; take it from the injected clock")
    for text in source.strings():
        if SQL_TIME.search(str(text.value)):
            yield source.at(text, "lets the database tell the time; bind the transaction's now")


def no_environment(source: Source) -> Iterator[str]:
    """Architecture 4: only ``settings`` reads the environment."""
    if source.path.as_posix() == "settings.py":
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and dotted(node) in {"os.environ", "os.getenv", "os.environb"}:
            yield source.at(node, "reads the environment; add a setting")
        if (
            isinstance(node, ast.ImportFrom)
            and node.module == "os"
            and {"environ", "getenv"} & {n.name for n in node.names}
        ):
            yield source.at(node, "reads the environment; add a setting")


def may_hold_sql(path: Path) -> bool:
    """Stores, self-checks, the platform and the migrations; and the commands that make roles and the database."""
    return (
        path.as_posix() in ADMINISTRATION
        or path.parts[0] in {"platform", "migrations"}
        or path.stem in {"store", "checks"}
        or path.stem.startswith("store_")
        or path.as_posix() == TEMPORARY
    )


def no_sql(source: Source) -> Iterator[str]:
    """Architecture 3: all SQL of a slice is in its store."""
    if may_hold_sql(source.path):
        return
    for text in source.strings():
        if SQL_TEXT.search(str(text.value)):
            yield source.at(text, "holds SQL outside a store")
    for call, name in source.calls():
        head, _, method = name.rpartition(".")
        if method in STATEMENTS and head.rpartition(".")[2] in {"tx", "connection", "pool"}:
            yield source.at(call, f"runs a statement by {name} outside a store")


def bounded_locks(source: Source) -> Iterator[str]:
    """A plan may run a subquery again for each row, which then locks the next ones, past its limit."""
    for node in ast.walk(source.tree):
        parts = node.values if isinstance(node, ast.JoinedStr) else [node]
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in parts)
        if LOCKS_IN_SUBQUERY.search(text):
            yield source.at(node, "locks a limited number of rows in a subquery: take a materialized CTE")


def bound_parameters(source: Source) -> Iterator[str]:
    """SQL is fixed text with bound parameters: only constants may be put together into it."""
    if source.path.parts[0] == "migrations" or source.path.as_posix() in ADMINISTRATION | STAGING:
        return
    for function in source.functions():
        if (source.path.as_posix(), function.name) in READ_BY_HAND:
            continue
        known: set[str] = set()
        for _ in range(3):  # constants made of constants
            known |= set(_constant_names(function, known))
        for call in ast.walk(function):
            if not isinstance(call, ast.Call) or not call.args or not isinstance(call.func, ast.Attribute):
                continue
            if call.func.attr in STATEMENTS - {"copy_records"} and not _is_fixed(call.args[0], known):
                yield source.at(call, "puts something that is no constant into SQL; bind it")


def _constant_names(function: ast.AST, known: set[str]) -> Iterator[str]:
    """Local names that hold one of some constants."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _is_constant(node.value, known):
            for target in node.targets:
                yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name))


def _is_fixed(node: ast.expr, known: set[str]) -> bool:
    match node:
        case ast.Constant() | ast.Name() | ast.Attribute():
            return True  # a name given as a whole is a constant, or a choice among such
        case ast.JoinedStr(values=parts):
            return all(_is_constant(part, known) for part in parts)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_fixed(left, known) and _is_fixed(right, known)
        case ast.IfExp(body=one, orelse=other):
            return _is_fixed(one, known) and _is_fixed(other, known)
        case ast.Call(func=ast.Attribute(attr="format" | "join"), args=args, keywords=keywords):
            return all(_is_constant(part, known) for part in [*args, *(keyword.value for keyword in keywords)])
    return False


def _is_constant(node: ast.expr, known: set[str]) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.upper() == name or name in known
        case ast.FormattedValue(value=value) | ast.Subscript(value=value):
            return _is_constant(value, known)
        case ast.IfExp(body=one, orelse=other):
            return _is_constant(one, known) and _is_constant(other, known)
        case ast.Tuple(elts=parts) | ast.JoinedStr(values=parts):
            return all(_is_constant(part, known) for part in parts)
    return False


def small_module(source: Source) -> Iterator[str]:
    """Architecture 8; a table of cases may make a test longer."""
    lines = source.text.count("\n")
    most = MAX_TEST_LINES if source.path.stem.startswith("test_") else MAX_MODULE_LINES
    if lines > most:
        yield f"{source.path} has {lines} lines, at most {most}: split it by sub-subject"


def small_functions(source: Source) -> Iterator[str]:
    """Architecture 8; docstrings and functions inside do not count, since those are counted by themselves."""
    for function in source.functions():
        inner = [node for node in ast.walk(function) if node is not function and isinstance(node, FUNCTIONS)]
        lines = _length(function) - sum(_length(node) for node in inner)
        if lines > MAX_FUNCTION_LINES:
            yield source.at(function, f"{function.name} has {lines} lines, at most {MAX_FUNCTION_LINES}")


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    prose = (first.end_lineno or 0) - first.lineno + 1 if documented else 0
    return (function.end_lineno or 0) - function.lineno + 1 - prose


def lists_lead_on(source: Source) -> Iterator[str]:
    """A list of the console that is cut at the query's limit takes the query's cursor, so that a page follows it."""
    for function in source.functions():
        of_query = [one.arg for one in function.args.args if one.annotation and dotted(one.annotation) == "ListQuery"]
        whole = ast.unparse(function)
        for name in of_query:
            if f"{name}.limit" in whole and f"{name}.cursor" not in whole and f", {name}, " not in whole:
                yield source.at(function, f"{function.name} cuts the list and leads to no next page")


def telling_name(source: Source) -> Iterator[str]:
    """Architecture 8: no module whose name says nothing."""
    for part in source.path.with_suffix("").parts:
        if part in FORBIDDEN_NAMES:
            yield f"{source.path} is named {part}, which says nothing about what is in it"


def no_swallowed_errors(source: Source) -> Iterator[str]:
    """An error is handled or passed on, never dropped."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ExceptHandler) and all(isinstance(line, ast.Pass) for line in node.body):
            yield source.at(node, "drops an error; handle it, or name it with contextlib.suppress and a reason")


def no_stand_ins(source: Source) -> Iterator[str]:
    """Architecture 9: nothing of ours is patched; outside systems are ports with fakes."""
    for node in ast.walk(source.tree):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        if any(name == "unittest.mock" or name.split(".")[0] in {"mock", "pytest_mock"} for name in names):
            yield source.at(node, "imports a mocking library")
    for call, name in source.calls():
        if name.endswith("monkeypatch.setattr"):
            yield source.at(call, "patches an attribute")


def no_sleeps(source: Source) -> Iterator[str]:
    """Architecture 9: tests wait for what they wait for (``eventually``), never for time to pass."""
    if source.path.as_posix() == "support/eventually.py":
        return
    for call, name in source.calls():
        if name not in {"asyncio.sleep", "time.sleep", "anyio.sleep"} or not call.args:
            continue
        wait = call.args[0]
        if not (isinstance(wait, ast.Constant) and wait.value == 0):
            yield source.at(call, f"sleeps by {name}; use eventually()")


def hashes_of_today(source: Source) -> Iterator[str]:
    """Passwords are hashed at today's cost; only tests take another."""
    for call, name in source.calls():
        if name.endswith("hashing.set_hash_cost"):
            yield source.at(call, "hashes passwords at another cost")


def mails_without_links(source: Source) -> Iterator[str]:
    """H11: mails are made where nothing that was typed becomes a link."""
    if source.path.as_posix() == "platform/outbound/mail_rendering.py":
        return
    for call, name in source.calls():
        if name.rpartition(".")[2] == "Mail":
            yield source.at(call, "makes a mail by hand; use MailRenderer.render_mail")


OF_THE_SERVICE = (
    no_time_source,
    no_environment,
    no_sql,
    bounded_locks,
    bound_parameters,
    small_module,
    small_functions,
    lists_lead_on,
    telling_name,
    scopes.scopes_that_are_not_read,
    scopes.partners_kept_apart,
    no_swallowed_errors,
    hashes_of_today,
    mails_without_links,
)
OF_THE_TESTS = (no_stand_ins, no_sleeps, small_module, telling_name)
