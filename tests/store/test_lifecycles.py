"""The moves that the database lets happen are those of the code, of every resource (S1)."""

import importlib
import pkgutil

import almoner
from almoner.kit.states import Lifecycle
from tests.support.service import Service


def tables() -> dict[str, Lifecycle]:
    """Every table of moves in the code, by its resource; but for the built-in provider's, who is somebody else."""
    names = [found.name for found in pkgutil.walk_packages(almoner.__path__, "almoner.")]
    pure = [name for name in names if name.rpartition(".")[2] in ("domain", "findings") and "provider_test" not in name]
    modules = [importlib.import_module(name) for name in pure]
    found = {one.resource: one for module in modules for one in vars(module).values() if isinstance(one, Lifecycle)}
    del found["webhook_delivery"]  # its attempts are the history: nothing but a pending one is ever updated
    return found


async def test_s1_every_table_of_moves_is_the_databases_and_none_is_left_over(service: Service) -> None:
    async with service.db.read() as tx:
        rows = await tx.fetch("select resource, from_status, to_status from lifecycle_transition")
    known: dict[str, set[tuple[str, str]]] = {}
    for row in rows:
        known.setdefault(row["resource"], set()).add((row["from_status"], row["to_status"]))
    assert {resource: set(table.transitions()) for resource, table in tables().items()} == known
