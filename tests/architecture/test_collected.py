"""What slices declare is collected: a job, a reaction, a sweep or a self-check that nobody collects never runs."""

import ast
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib import import_module
from inspect import getsource
from types import ModuleType
from typing import cast
from uuid import UUID

import pytest

from almoner import job_registry, selfchecks
from almoner.kit.events import InternalEvent
from almoner.platform.database.transactions import Tx
from almoner.platform.events.outbox import Event
from almoner.platform.jobs.background_tasks import (
    DependentTaskRegistry,
    JobContext,
    TaskRegistry,
    merge_background_tasks,
)
from almoner.platform.jobs.queue import DecodedJob, JobDone, JobKind, NoDetails
from tests.architecture.sources import sources

NIGHTLY = JobKind("tests.nightly", NoDetails)


def declared(*words: str) -> Iterator[tuple[str, object]]:
    """Every module-level value, by its place, of the modules whose text holds one of the words."""
    for source in sources():
        if any(word in source.text for word in words):
            module = import_module(".".join(("almoner", *source.path.with_suffix("").parts)))
            yield from ((f"{module.__name__}.{name}", value) for name, value in vars(module).items())


def named(registry: ModuleType) -> set[int]:
    """The identity of every ``module.value`` that a registry names."""
    modules, found = vars(registry), set()
    for node in ast.walk(ast.parse(getsource(registry))):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.add(id(getattr(modules.get(node.value.id), node.attr, None)))
    return found


def test_all_background_tasks_are_collected() -> None:
    collected = named(job_registry)
    tasks = {
        place: value
        for place, value in declared("TaskRegistry()", "DependentTaskRegistry[")
        if isinstance(value, TaskRegistry | DependentTaskRegistry)
    }
    assert len(tasks) > 50
    assert [place for place, value in tasks.items() if id(value) not in collected] == []


def test_all_self_checks_are_collected() -> None:
    collected = named(selfchecks)
    lists = {place: value for place, value in declared("ConsistencyCheck(") if place.endswith(".checks.checks")}
    assert len(lists) > 30
    assert [place for place, value in lists.items() if id(value) not in collected] == []


async def nothing(_context: JobContext, _job: DecodedJob[NoDetails]) -> JobDone:
    """A job that does nothing."""
    return JobDone()


def test_nothing_is_declared_twice() -> None:
    first, second = TaskRegistry(), TaskRegistry()
    first.job(NIGHTLY)(nothing)
    with pytest.raises(ValueError, match=r"tests\.nightly"):
        first.job(NIGHTLY)(nothing)
    second.job(NIGHTLY)(nothing)
    with pytest.raises(ValueError, match=r"tests\.nightly"):
        merge_background_tasks([first, second])


async def test_what_needs_a_part_gets_it_first_and_what_was_told_as_it_was_declared() -> None:
    tasks, heard = DependentTaskRegistry[str](), list[tuple[str, Sequence[int]]]()

    @tasks.on_internal_event(InternalEvent("internal.told", int))
    async def react(part: str, _tx: Tx, told: Sequence[int]) -> None:
        heard.append((part, told))

    (reaction,) = tasks.bind("part").reactions
    payload = b'{"data": {"eventData": 7}}'
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    await reaction.react(cast("Tx", None), [Event(UUID(int=1), None, "internal.told", payload, moment, None)])
    assert (reaction.event_type, heard) == ("internal.told", [("part", [7])])
