"""Activities of real bodies: every label that a register uses is known, and most bodies have a sub-tag."""

import csv
import gzip
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import almoner
from almoner.adapters.registers_acnc import AcncReader
from almoner.adapters.registers_ccni import CcniReader
from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.activities.domain import load_data_file
from almoner.nonprofits.registers.domain import RegisterEntry
from tests.support.register_files import on_disk

DATA = Path(__file__).parents[1] / "data"
SAMPLE = Path(almoner.__file__).parent / "samples" / "us_irs_bmf" / "2026-04-13"
TICKS = ("purposes", "beneficiaries", "activities")
CODES = ("NTEE_CD", "SUBSECTION", "CLASSIFICATION", "FOUNDATION")


@pytest.mark.parametrize(
    ("source", "file", "bodies"),
    [(CcniReader(), "gb_ccni/charitydetails.csv", 29), (AcncReader(), "au_acnc/datadotgov_main_excerpt.csv", 17)],
)
def test_every_label_is_known_and_every_body_has_a_sub_tag(source: Any, file: str, bodies: int) -> None:
    table = {" ".join(label.split()) for label in load_data_file("mappings.json")[source.registry_code.lower()]}
    entries = [entry for entry in source.read([on_disk(DATA / file)]) if isinstance(entry, RegisterEntry)]
    assert len(entries) == bodies
    for entry in entries:
        ticked = [" ".join(label.split()) for fact in TICKS for label in entry.facts.get(fact, ())]  # type: ignore[attr-defined]
        assert set(ticked) <= table
        assert activities.derive_tags_of_register_entry(source.registry_code, entry).rules_by_sub_tag


def test_most_bodies_of_the_irs_have_a_sub_tag_without_a_code_too() -> None:
    with_code: Counter[bool] = Counter()
    without: Counter[bool] = Counter()
    for file in SAMPLE.glob("*.csv.gz"):
        with gzip.open(file, "rt", encoding="ascii", newline="") as lines:
            for row in csv.DictReader(lines):
                facts = {code: row[code] for code in CODES if row[code]}
                found = activities.derive_tags_of_register_entry(
                    "IRS", RegisterEntry(row["EIN"], row["STATE"], row["NAME"], facts=facts)
                )
                (with_code if row["NTEE_CD"] else without)[bool(found.rules_by_sub_tag)] += 1
    assert with_code[True] / with_code.total() > 0.99
    assert without[True] / without.total() > 0.78
    assert (with_code[True] + without[True]) / (with_code.total() + without.total()) > 0.9
