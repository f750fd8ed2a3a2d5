"""Names of the real master file as validation requests: members of families, labelled pairs, offices elsewhere.

The files are imported by the service's own reader into a database of their own, and each request is evaluated by the
service's own rules there. ``python -m bench.families --write`` puts the figures into docs/evidence/families.md,
``--wrong`` prints what came out wrong.
"""

import argparse
import asyncio
import csv
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from almoner import wiring
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registries.domain import number_keys_one_typo_away
from almoner.platform.database.transactions import Database, Tx
from almoner.screening.matching.service import CERTAIN_SCORE
from almoner.settings import Settings
from almoner.sources import REGISTER_SOURCES
from almoner.validation.requests import evaluate, rules
from almoner.validation.requests.domain import NonprofitDetails
from almoner.validation.requests.rules import AcceptanceThresholds
from bench import machine
from bench.matching_lists import SHARED
from bench.matching_pairs import BENCHMARKS, BY_PEOPLE
from bench.scale import BRIEF, FULL, Scale
from bench.stage import database
from tests.support import bmf

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "families.md"
MONTH: Final = SHARED / "us_irs_bmf" / "2026-04-13"
ASKED: Final = 200
_FEW: Final = 20
"""The requests of a kind in a brief run."""
SEED: Final = 20261126
_RULES: Final = AcceptanceThresholds(CERTAIN_SCORE)
_Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request: a name with a number, perhaps with an address, and whether it is correct."""

    name: str
    number: str
    right: bool = True
    place: dict[str, Any] = field(default_factory=dict)
    method: str = ""


@dataclass(slots=True)
class Outcome:
    """The outcomes of requests of one kind."""

    asked: Sequence[Asked]
    accepted: list[bool]
    reasons: list[tuple[str, ...]]

    @property
    def count(self) -> int:
        """The number of accepted requests."""
        return sum(self.accepted)


async def _evaluate(tx: Tx, registry_id: UUID, requests: Sequence[Asked]) -> Outcome:
    accepted, reasons = [], []
    for one in requests:
        details = replace(NonprofitDetails(one.name, "IRS", one.number, "https://example.org", "USA"), **one.place)
        seen = await evaluate.load_request_facts(tx, details, registry_id, one.number)
        outcome = rules.evaluate_rules(seen, _RULES).outcome
        accepted.append(outcome.verdict == "accept")
        reasons.append(outcome.reasons)
    return Outcome(requests, accepted, reasons)


def _pairs() -> list[dict[str, str]]:
    """The labelled pairs, if available."""
    if not BENCHMARKS.exists():
        return []
    with (BENCHMARKS / "npmatch_pairs.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


def _write_register(rows: Iterable[dict[str, str]], known: set[str], path: Path) -> Path:
    """Rows in the master file's format for organisations of the labelled pairs that the real files lack."""
    made = {}
    for row in rows:
        if (ein := row["ein"].replace("-", "")) not in known:
            place = {"STREET": row["street_bmf"], "CITY": row["city_bmf"], "STATE": row["state_bmf"]}
            second = {"ZIP": row["zip5_bmf"], "SORT_NAME": row["name_bmf_raw_dba"]}
            made[ein] = bmf.body(ein, row["name_bmf_raw_main"], **place, **second)
    return bmf.write(path, made.values())


def _known() -> set[str]:
    found = set()
    for path in MONTH.glob("*.csv"):
        with path.open(newline="", encoding="utf-8-sig") as lines:
            found |= {row["EIN"] for row in csv.DictReader(lines)}
    return found


async def _bodies(tx: Tx) -> list[_Row]:
    rows = await tx.fetch(
        """
        select number_key, name, secondary_name, search_name, address_line_1, city, state, postcode,
            types @> '{nonprofit}' as given
        from organisation where active and partner_id is null order by number_key
        """
    )
    return [dict(row) for row in rows]


def _place(body: _Row) -> dict[str, str]:
    members = {
        "address_line_1": "address_line_1",
        "city": "city",
        "state": "state",
        "postal": "postcode",
    }
    return {member: body[column] for member, column in members.items() if body[column]}


def _slip(text: str, pick: random.Random) -> str:
    """The text with two neighbouring letters of its longest word swapped."""
    word = max(text.split(), key=len)
    at = pick.randrange(1, max(len(word) - 2, 2))
    return text.replace(word, word[:at] + word[at + 1 : at + 2] + word[at : at + 1] + word[at + 2 :], 1)


def _digit_slips(bodies: Sequence[_Row]) -> list[tuple[_Row, _Row]]:
    """(organisation, another of its family whose number is one typo away)."""
    by_key = {body["number_key"]: body for body in bodies}
    found = []
    for body in bodies:
        for key in sorted(number_keys_one_typo_away(body["number_key"])):
            other = by_key.get(key)
            if other is not None and other["search_name"] == body["search_name"]:
                found.append((body, other))
    return found


def _of_families(bodies: Sequence[_Row], pick: random.Random, count: int) -> dict[str, list[Asked]]:
    families = defaultdict(list)
    for body in bodies:
        families[body["search_name"]].append(body)
    members = [
        body for body in bodies if body["given"] and body["secondary_name"] and len(families[body["search_name"]]) > 1
    ]
    chosen = pick.sample(members, min(count, len(members)))
    unique = [
        body for body in bodies if body["given"] and body["secondary_name"] and len(families[body["search_name"]]) == 1
    ]
    single = pick.sample(unique, min(count, len(unique)))

    def named(of: Sequence[_Row], name: Callable[[_Row], str], *, placed: bool, right: bool = True) -> list[Asked]:
        return [Asked(name(one), one["number_key"], right, _place(one) if placed else {}) for one in of]

    def both(body: _Row) -> str:
        return f"{body['name']} {body['secondary_name']}"

    slips = [pair for pair in _digit_slips(bodies) if both(pair[0]) != both(pair[1])]
    wrong = pick.sample(slips, min(count, len(slips)))
    bare = [pair for pair in _digit_slips(bodies) if not pair[1]["secondary_name"] and not pair[0]["secondary_name"]]
    bare = [pair for pair in bare if (pair[0]["city"], pair[0]["postcode"]) != (pair[1]["city"], pair[1]["postcode"])]
    plain = pick.sample(bare, min(count, len(bare)))
    return {
        "parent's name on a member's number": named(chosen, lambda one: one["name"], placed=False, right=False),
        "the same with the member's address": named(chosen, lambda one: one["name"], placed=True, right=False),
        "member's own name, both lines": named(chosen, both, placed=False),
        "the same with its address": named(chosen, both, placed=True),
        "member's own name, second line alone": named(chosen, lambda one: one["secondary_name"], placed=False),
        "second line alone with its address": named(chosen, lambda one: one["secondary_name"], placed=True),
        "both lines with a slip": named(chosen, lambda one: _slip(both(one), pick), placed=False),
        "both lines with a slip and its address": named(chosen, lambda one: _slip(both(one), pick), placed=True),
        "a name of its own, first line": named(single, lambda one: one["name"], placed=False),
        "a name of its own, second line": named(single, lambda one: one["secondary_name"], placed=False),
        "a name of its own, both lines": named(single, both, placed=False),
        "one digit wrong, another member's name": [
            Asked(both(one) if one["secondary_name"] else one["name"], other["number_key"], right=False)
            for one, other in wrong
        ],
        "the same with the right address": [
            Asked(
                both(one) if one["secondary_name"] else one["name"], other["number_key"], right=False, place=_place(one)
            )
            for one, other in wrong
        ],
        "one digit wrong, the same name elsewhere": [
            Asked(one["name"], other["number_key"], right=False) for one, other in plain
        ],
    }


def _labelled(rows: Sequence[dict[str, str]]) -> list[Asked]:
    found = []
    for row in rows:
        place = {"address_line_1": row["street_uss"], "city": row["city_uss"], "state": row["state_uss"]}
        place["postal"] = row["zip5_uss"]
        found.append(
            Asked(
                row["name_uss_raw_main"],
                row["ein"].replace("-", ""),
                row["is_match"] == "true",
                {member: text for member, text in place.items() if text},
                row["gt_method"],
            )
        )
    return found


def _elsewhere(rows: Sequence[dict[str, str]]) -> list[Asked]:
    """Correct requests with an office in another city than the register's."""
    other = [row for row in rows if row["is_match"] == "true" and row["city_uss"] != row["city_bmf"]]
    return [
        one
        for one, row in zip(_labelled(other), other, strict=True)
        if row["name_uss_raw_main"].upper().split() == row["name_bmf_raw_main"].upper().split()
    ]


def _acceptance(outcome: Outcome) -> list[str]:
    lines = ["| labels | precision | recall | right | wrong |", "|---|---|---|---|---|"]
    kinds: dict[str, Callable[[str], bool]] = {
        "all": lambda _: True,
        "by people": lambda method: method in BY_PEOPLE,
        "algo_auto": lambda method: method == "algo_auto",
    }
    for kind, of in kinds.items():
        held = [(one, took) for one, took in zip(outcome.asked, outcome.accepted, strict=True) if of(one.method)]
        right = sum(took and one.right for one, took in held)
        wrong = sum(took and not one.right for one, took in held)
        total = sum(one.right for one, _ in held)
        lines.append(
            f"| {kind} | {right / (right + wrong or 1):.4f} | {right / (total or 1):.3f} | {right} | {wrong} |"
        )
    return lines


async def _measured(
    complete: Settings, paths: list[Path], pairs: list[dict[str, str]], count: int, *, wrong: bool
) -> list[str]:
    services = await wiring.build_services(complete)
    try:
        load = await registers_flows.import_files(services.db, REGISTER_SOURCES["irs-bmf"], paths, force=True)
        return [f"- {load.rows:,} bodies of the master file", "", *await _asked(services.db, pairs, count, wrong=wrong)]
    finally:
        await services.close()


async def _asked(db: Database, pairs: list[dict[str, str]], count: int, *, wrong: bool) -> list[str]:
    pick = random.Random(SEED)
    async with db.read() as tx:
        registry_id = await tx.fetchval("select id from registry where code = 'IRS'")
        kinds = _of_families(await _bodies(tx), pick, count)
        if pairs:
            kinds["right requests with an office elsewhere, of one exact name"] = _elsewhere(pairs)
        lines = ["| requests | of | accepted | |", "|---|---|---|---|"]
        for kind, requests in kinds.items():
            outcome = await _evaluate(tx, registry_id, requests)
            meant = "right" if not requests or requests[0].right else "wrong"
            lines.append(f"| {kind} | {len(requests)} | {outcome.count} | {meant} |")
            if wrong:
                _print_wrong(kind, outcome)
        if pairs:
            outcome = await _evaluate(tx, registry_id, _labelled(pairs))
            lines += ["", "### Labelled pairs, names with addresses as requests", "", *_acceptance(outcome)]
            if wrong:
                _print_wrong("labelled", outcome)
    return lines


def _print_wrong(kind: str, outcome: Outcome) -> None:
    for one, took, reasons in zip(outcome.asked, outcome.accepted, outcome.reasons, strict=True):
        if took != one.right:
            print(f"{kind}: {one.name} {one.number} {one.place} {one.method} {reasons}")


def measure(scale: Scale, *, wrong: bool = False) -> list[str]:
    """The lines of the report, or why there are none."""
    if not MONTH.exists():
        return ["- not measured, the real files are not at hand"]
    pairs, paths = _pairs(), sorted(MONTH.glob("*.csv"))
    if scale is BRIEF:
        pairs, paths = pairs[:_FEW], [MONTH / "eo_wy.csv"]
    with tempfile.TemporaryDirectory(prefix="almoner-families-2026-04-13-") as folder, database() as complete:
        if pairs and scale is not BRIEF:
            paths.append(_write_register(pairs, _known(), Path(folder) / "eo1.csv"))
        return asyncio.run(_measured(complete, paths, pairs, scale.rows(ASKED, _FEW), wrong=wrong))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/evidence/families.md")
    parser.add_argument("--wrong", action="store_true", help="print what came out wrong")
    given = parser.parse_args()
    lines = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", "", *(f"- {fact}" for fact in machine.facts("embedded"))]
    lines += measure(FULL, wrong=given.wrong)
    machine.publish("\n".join(lines) + "\n", REPORT, write=given.write)


if __name__ == "__main__":
    main()
