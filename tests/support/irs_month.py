"""The master file of one state in two consecutive months, as published."""

import gzip
from pathlib import Path
from typing import Final

from tests.support.register_files import File

_ROOT: Final = Path(__file__).parents[2]
SAMPLES: Final = _ROOT / "src" / "almoner" / "samples" / "us_irs_bmf" / "2026-04-13"
_DATA: Final = _ROOT / "tests" / "data" / "us_irs_bmf"

MOVED: Final = _DATA / "moved_2026-04-13.csv"
"""Rows of organisations that left the District and are in another file of the next month: in Alaska, and abroad."""


def april(state: str = "dc") -> File:
    """The shipped file of 2026-04-13."""
    return File(gzip.decompress((SAMPLES / f"eo_{state}.csv.gz").read_bytes()), f"eo_{state}.csv")


def march() -> File:
    """The District of Columbia's file of 2026-03-09, rebuilt from the next one and the rows that differed."""
    header, *later = april().content.splitlines(keepends=True)
    _, *other = gzip.decompress((_DATA / "eo_dc_2026-03-09_other_rows.csv.gz").read_bytes()).splitlines(keepends=True)
    came = (_DATA / "eo_dc_2026-04-13_came.txt").read_bytes().split()
    replaced = {row[:9] for row in other} | set(came)
    rows = sorted([row for row in later if row[:9] not in replaced] + other)  # each row starts with its EIN
    return File(b"".join([header, *rows]), "eo_dc.csv")
