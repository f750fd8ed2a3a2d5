"""Going through all loaded bodies after the rules changed, a batch at a time: it may be stopped and typed again."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from almoner.nonprofits.activities import rules, store
from almoner.nonprofits.activities.domain import APPLIED, Activities, Application, RulesApplied
from almoner.nonprofits.activities.store import Tagged
from almoner.nonprofits.registers.domain import Entry
from almoner.platform.database.transactions import EVERYONE, Database, Tx
from almoner.platform.events import outbox

Report = Callable[[Application], None]
Record = Callable[[Tx, Application], Awaitable[None]]
"""Says who had it done, in the transaction that ends it."""

_BATCH: Final = 5_000


async def apply(
    db: Database, *, batch: int = _BATCH, report: Report | None = None, record: Record | None = None
) -> Application:
    """Tag every published body by the rules as they are now. Bodies whose tags stay are not touched.

    Followers are not told: a body has not changed because we read it better. Its history says when and what.
    """
    async with db.write() as tx:
        application = Application(tx.new_id(), rules.VERSION, tx.now)
        await store.insert(tx, EVERYONE, application)
    loads: dict[UUID, UUID] = {}
    after: UUID | None = None
    while True:
        async with db.write() as tx:
            bodies = await store.page(tx, EVERYONE, after, batch)
            changed = await _change(tx, bodies, loads)
            application = replace(
                application,
                organisations=application.organisations + len(bodies),
                changed=application.changed + changed,
            )
            if not bodies:
                application = replace(application, completed_at=tx.now)
            await store.count(tx, EVERYONE, application)
            if not bodies:
                await outbox.emit(tx, None, APPLIED, RulesApplied(application.id, application.changed))
                if record is not None:
                    await record(tx, application)
                return application
            after = bodies[-1].id
        if report is not None:
            report(application)


async def _change(tx: Tx, bodies: list[Tagged], loads: dict[UUID, UUID]) -> int:
    found = [(body, _activities(body.registry_code, body.record)) for body in bodies if body.record is not None]
    differ = [(body, now) for body, now in found if not _same(body.activities, now)]
    for body, _ in differ:
        if body.registry_id not in loads:
            loads[body.registry_id] = tx.new_id()
            await store.insert_load(tx, EVERYONE, loads[body.registry_id], body.registry_id)
    if differ:
        await store.change(tx, EVERYONE, [(body, now, loads[body.registry_id]) for body, now in differ])
    return len(differ)


def _activities(registry_code: str, said: Mapping[str, Any]) -> Activities:
    entry = Entry(said.get("number", ""), said.get("part", ""), said.get("name", ""), facts=said.get("facts", {}))
    return rules.tags_of(registry_code, entry)


def _same(one: Activities, other: Activities) -> bool:
    return set(one.tag_ids) == set(other.tag_ids) and dict(one.rules) == dict(other.rules)
