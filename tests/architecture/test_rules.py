"""The project's own rules hold for every file, and each rule is shown to fire on a file that breaks it."""

from collections.abc import Callable, Iterator

import pytest

from tests.architecture import rules, scopes
from tests.architecture.sources import TESTS, Source, sources

Rule = Callable[[Source], Iterator[str]]

BY_ID = "await tx.execute('update donation set x = 1 where id = $1', id)"
RATE = "await tx.fetch('select 1 from fx_rate')"

BROKEN: list[tuple[Rule, str, str]] = [
    (
        rules.no_time_source,
        "webhooks/events/service.py",
        "from datetime import datetime\nnow = datetime.now()",
    ),
    (rules.no_time_source, "webhooks/events/service.py", "import time\nat = time.time()"),
    (rules.no_time_source, "webhooks/events/store.py", "SQL = 'update x set at = now() where id = $1'"),
    (rules.no_time_source, "platform/jobs/queue.py", "SQL = f'select {1} where due < CURRENT_TIMESTAMP'"),
    (rules.no_environment, "platform/outbound/mail.py", "import os\nhost = os.environ['HOST']"),
    (rules.no_environment, "platform/outbound/mail.py", "from os import getenv"),
    (rules.no_sql, "webhooks/events/service.py", "SQL = ' select * from donation'"),
    (rules.no_sql, "webhooks/events/service.py", "SQL = 'with due as (select 1) select * from due'"),
    (rules.no_sql, "webhooks/events/service.py", "async def f(tx): await tx.fetchrow(SQL)"),
    (
        rules.bounded_locks,
        "giving/store.py",
        "SQL = f'delete from x where id in (select id from x where {A} order by id limit 2 for update)'",
    ),
    (rules.bound_parameters, "giving/store.py", "async def f(tx, a): await tx.fetch('select %s' % a)"),
    (rules.bound_parameters, "giving/store.py", "async def f(tx, a): await tx.execute('select {}'.format(a))"),
    (rules.bound_parameters, "giving/store.py", "async def f(tx, a): await tx.execute(f'select {a}')"),
    (rules.bound_parameters, "giving/store.py", "async def f(tx, a): await tx.execute('select ' + str(a))"),
    (rules.small_module, "giving/service.py", "\n" * 801),
    (rules.small_functions, "giving/service.py", "def f():\n" + "    x = 1\n" * 50),
    (
        rules.lists_lead_on,
        "console/data_pages.py",
        "async def _load(self, query: ListQuery): return ListPage(await newest(query.limit))",
    ),
    (rules.telling_name, "platform/utils.py", ""),
    (rules.telling_name, "giving/common/service.py", ""),
    (scopes.partners_kept_apart, "giving/store.py", f"async def get(tx: Tx, id: UUID) -> None: {BY_ID}"),
    (
        scopes.partners_kept_apart,
        "giving/store.py",
        (
            "DUE: Final = f'select {COLUMNS} from donation d where due_at < $1'\n"
            "async def f(tx: Tx, one: Partner) -> None: await tx.fetch(DUE, tx.now); await tx.fetch(MINE, one.id)"
        ),
    ),
    (scopes.partners_kept_apart, "giving/store.py", f"@across_partners('sweep')\nasync def f(tx: Tx) -> None: {RATE}"),
    (scopes.scopes_that_are_not_read, "giving/store.py", f"async def f(tx: Tx, _: AllPartners) -> None: {RATE}"),
    (rules.no_swallowed_errors, "giving/service.py", "try:\n    f()\nexcept OSError:\n    pass"),
    (rules.hashes_of_today, "access/credentials/service/passwords.py", "hashing.set_hash_cost(hashing.HashCost(1, 8))"),
    (rules.mails_without_links, "giving/receipts/jobs.py", "mail = Mail(key='a', subject=name)"),
    (rules.no_stand_ins, "api/test_x.py", "from unittest.mock import patch"),
    (rules.no_stand_ins, "api/test_x.py", "def test_x(monkeypatch): monkeypatch.setattr(a, 'b', 1)"),
    (rules.no_sleeps, "api/test_x.py", "import asyncio\nasync def f(): await asyncio.sleep(0.1)"),
]

SOUND: list[tuple[Rule, str, str]] = [
    (
        rules.bounded_locks,
        "giving/store.py",
        "SQL = 'with d as materialized (select id from x order by id limit 2 for update) update x set a = 1 from d'",
    ),
    (rules.no_time_source, "platform/observability/telemetry.py", "import time\nstart = time.perf_counter()"),
    (rules.no_time_source, "giving/service.py", '"""Never calls now() of the database."""'),
    (rules.no_environment, "settings.py", "import os\nhost = os.environ['HOST']"),
    (rules.bound_parameters, "giving/store.py", "async def f(tx, a): await tx.fetch(f'select {COLUMNS} from x', a)"),
    (rules.no_sql, "giving/store.py", "SQL = 'select * from donation'"),
    (rules.no_sql, "giving/service.py", "message = 'Selected amounts are kept'"),
    (
        scopes.partners_kept_apart,
        "giving/store.py",
        (
            "WHERE: Final = 'where d.partner_id = $1'\n"
            "async def f(tx: Tx, partner: UUID) -> None: await tx.fetch(f'select 1 from donation d {WHERE}', partner)"
        ),
    ),
    (
        scopes.partners_kept_apart,
        "giving/store.py",
        f"async def f(tx: Tx, held: Donation) -> None: id = held.id; {BY_ID}",
    ),
    (scopes.partners_kept_apart, "giving/store.py", f"async def f(tx: Tx, scope: Scope) -> None: g(scope); {BY_ID}"),
    (scopes.partners_kept_apart, "giving/store.py", f"@across_partners('held')\nasync def f(tx: Tx) -> None: {BY_ID}"),
    (
        scopes.scopes_that_are_not_read,
        "giving/store.py",
        "async def f(tx: Tx, partner: Partner) -> None: g(tx, partner)",
    ),
    (rules.no_sleeps, "api/test_x.py", "import asyncio\nasync def f(): await asyncio.sleep(0)"),
]


@pytest.mark.parametrize("rule", rules.OF_THE_SERVICE, ids=lambda rule: rule.__name__)
def test_the_service_keeps_the_rule(rule: Rule) -> None:
    assert [finding for source in sources() for finding in rule(source)] == []


@pytest.mark.parametrize("rule", rules.OF_THE_TESTS, ids=lambda rule: rule.__name__)
def test_the_tests_keep_the_rule(rule: Rule) -> None:
    assert [finding for source in sources(TESTS) for finding in rule(source)] == []


@pytest.mark.parametrize(("rule", "path", "text"), BROKEN, ids=lambda value: getattr(value, "__name__", None))
def test_the_rule_fires_on_what_breaks_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source.of(text, path)))


@pytest.mark.parametrize(("rule", "path", "text"), SOUND, ids=lambda value: getattr(value, "__name__", None))
def test_the_rule_is_silent_on_what_keeps_it(rule: Rule, path: str, text: str) -> None:
    assert list(rule(Source.of(text, path))) == []
