"""Organisation search over the real sample: how long it takes and how often it finds what was meant, slips and all."""

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from almoner import wiring
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.filters import Filters
from almoner.nonprofits.registers import flows
from almoner.platform.db import EVERYONE, Database
from almoner.platform.http.paging import Page
from almoner.settings import Settings
from bench.imports import SAMPLE, SOURCE, database

ASKED = 300
SHOWN = 25
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class Asked:
    """What is typed, and the name that is meant."""

    text: str
    meant: str


def slip(text: str, pick: random.Random) -> str:
    """One slip of the fingers in a letter: left out, doubled by another, replaced, or changed with its neighbour."""
    places = [place for place, letter in enumerate(text) if letter.isalpha()]
    if not places:
        return text
    place = pick.choice(places)
    before, letter, after = text[:place], text[place], text[place + 1 :]
    match pick.randrange(4):
        case 0:
            return before + after
        case 1:
            return before + letter + pick.choice(LETTERS) + after
        case 2:
            return before + pick.choice(LETTERS) + after
    return before + after[:1] + letter + after[1:]


def beginning(name: str) -> str:
    """The first two words, the second one cut short."""
    words = name.split()
    return " ".join([*words[:1], *(word[:4] for word in words[1:2])])


KINDS: dict[str, Callable[[str, random.Random], str]] = {
    "whole name": lambda name, _: name,
    "one slip": slip,
    "two slips": lambda name, pick: slip(slip(name, pick), pick),
    "first words, unfinished": lambda name, _: beginning(name),
}


async def _names(db: Database) -> list[str]:
    async with db.read() as tx:
        found = await organisations.page(tx, EVERYONE, Filters(), Page(5_000, descending=True))
    return [row.name for row in found.organisations]


async def _measure(db: Database, asked: list[Asked]) -> str:
    seconds, hits = [], 0
    for one in asked:
        started = time.perf_counter()
        async with db.read() as tx:
            found = await organisations.ranked(tx, EVERYONE, Filters(), one.text, 0, SHOWN, best_first=True)
        seconds.append(time.perf_counter() - started)
        hits += any(row.name == one.meant for row in found.organisations)
    seconds.sort()
    middle, worst = seconds[len(seconds) // 2], seconds[len(seconds) * 99 // 100]
    return f"{middle * 1000:.1f} | {worst * 1000:.1f} | {hits / len(asked):.0%}"


async def _run(complete: Settings) -> list[str]:
    house = await wiring.open_house(complete)
    try:
        load = await flows.import_files(house.db, wiring.REGISTER_SOURCES[SOURCE], SAMPLE)
        pick = random.Random(20261121)
        names = pick.sample(await _names(house.db), ASKED)
        lines = [
            f"| {load.rows:,} organisations, one caller | p50 ms | p99 ms | in the first {SHOWN} |",
            "|---|---|---|---|",
        ]
        for kind, typed in KINDS.items():
            asked = [Asked(typed(name, pick).lower(), name) for name in names]
            lines.append(f"| {kind} | {await _measure(house.db, asked)} |")
        return lines
    finally:
        await house.close()


def measure() -> list[str]:
    """A table in Markdown."""
    with database() as complete:
        return asyncio.run(_run(complete))


if __name__ == "__main__":
    print("\n".join(measure()))
