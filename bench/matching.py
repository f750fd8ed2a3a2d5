"""Matching beside its alternatives: labelled pairs, variants of listed names, organisations against all lists.

``python -m bench.matching`` needs the data beside the repository. ``--nomenklatura PYTHON`` names the interpreter of an
environment with nomenklatura in it (see ``matching_nomenklatura.py``), ``--share 0.1`` changes every tenth listed name,
``--bodies 10000`` screens so many, ``--write`` puts all of it into docs/evidence/matching.md below its introduction.
"""

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench import machine, matching_pairs, matching_persons, matching_screening

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "matching.md"


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nomenklatura", type=Path, help="interpreter of an environment with nomenklatura")
    parser.add_argument("--share", type=float, default=1.0, help="share of the listed names that are changed")
    parser.add_argument("--bodies", type=int, help="bodies to screen, all by default")
    parser.add_argument("--write", action="store_true", help="into docs/evidence/matching.md")
    given = parser.parse_args()
    lines = [f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC.", "", *(f"- {fact}" for fact in machine.facts("not used")), ""]
    lines[-1:] = [f"- {given.share:.0%} of the listed names of bodies, an eighth as many of persons", ""]
    lines += [*matching_pairs.registers(given.nomenklatura), ""]
    lines += [*matching_pairs.companies(given.nomenklatura), ""]
    lines += matching_screening.measure(given.share, given.bodies)
    lines += ["", *matching_persons.measure(given.share / 8)]
    if given.nomenklatura:
        lines += ["", *matching_pairs.rivals_speed(given.nomenklatura)]
    machine.publish("\n".join(lines) + "\n", REPORT, write=given.write)


if __name__ == "__main__":
    main()
