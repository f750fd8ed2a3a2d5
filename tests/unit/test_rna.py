"""The reader of the French directory, on files made by hand."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from almoner.adapters.registers_rna import NEEDED, RnaReader, register_part_from_file_name
from almoner.nonprofits.registers.domain import ImportRefused, RegisterEntry, RegisterLink
from tests.support.register_files import File, read

HAND = Path(__file__).parents[1] / "data" / "registers_by_hand"
WALDEC = HAND / "rna_waldec_20240101_dpt_75.csv"
IMPORT = HAND / "rna_import_20240101_dpt_75.csv"


def test_waldec_in_latin_1() -> None:
    reading = read(RnaReader(), WALDEC)
    assert (len(reading.entries), len(reading.bad), len(reading.links)) == (4, 2, 1)
    assert reading.entries[0] == RegisterEntry(
        number="W751001234",
        part="waldec 75",
        name="ASSOCIATION INVENTÉE DU QUARTIER",
        other_names=["AIQ"],
        description="animer le quartier ; écrire à",
        types=["social_impact"],
        websites=["http://quartier.example"],
        address_line_1="1 RUE INVENTÉE",
        city="Paris",
        postcode="75001",
        registration_date=datetime(2010, 3, 4, tzinfo=UTC),
        facts={
            "position": "A",
            "nature": "D",
            "groupement": "S",
            "objet_social1": "006000",
            "gestion": "751P",
            "date_publi": "2010-03-20",
        },
    )
    assert [bad.reason.split(" ", 2)[1] for bad in reading.bad] == ["id", "position"]


def test_the_position_decides_who_is_active() -> None:
    reading = read(RnaReader(), WALDEC)
    assert [entry.active for entry in reading.entries] == [True, True, False, False]
    assert reading.entries[2].facts["date_disso"] == "2015-05-05"
    assert reading.entries[2].until == datetime(2015, 5, 5, tzinfo=UTC)


def test_only_recognised_public_utility_is_a_nonprofit_to_give_to() -> None:
    recognised = read(RnaReader(), WALDEC).entries[1]
    assert (recognised.types, recognised.facts["rup_mi"]) == (["nonprofit"], "R001")
    assert recognised.registration_date is None  # 0001-01-01 is how the directory says that it does not know


def test_a_number_from_before_is_a_link() -> None:
    assert read(RnaReader(), WALDEC).links == [
        RegisterLink("reregistered", "RNA", "751P00012345", "RNA", "W751001235", part="waldec 75")
    ]


def test_the_old_bodies_in_utf_8_and_with_fewer_columns() -> None:
    reading = read(RnaReader(), IMPORT)
    assert (len(reading.entries), len(reading.bad), len(reading.unnumbered)) == (1, 0, 1)
    assert (reading.one.number, reading.one.name) == ("751P00054321", "ANCIENNE ASSOCIATION INVENTÉE")


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("rna_waldec_20240101_dpt_75.csv", "waldec 75"),
        ("rna_import_20240101_dpt_2A.csv", "import 2A"),
        ("rna_waldec_20240101_dpt_971.csv", "waldec 971"),
        ("rna_waldec.csv", "waldec"),
        ("rna_import.csv", "import"),
    ],
)
def test_a_file_replaces_its_own_part(name: str, part: str) -> None:
    assert register_part_from_file_name(name) == part


def test_no_person_is_ever_read() -> None:
    for path, encoding in ((WALDEC, "latin-1"), (IMPORT, "utf-8")):
        assert "DUPONT" in path.read_text(encoding)
        assert "dupont" not in repr(read(RnaReader(), path)).lower()


@pytest.mark.parametrize("column", NEEDED)
def test_a_file_without_a_needed_column_is_refused(column: str) -> None:
    text = WALDEC.read_text("latin-1").replace(f'"{column}"', f'"{column}_renamed"', 1)
    with pytest.raises(ImportRefused, match=column):
        read(RnaReader(), text)


def test_lines_that_a_field_holds_do_not_end_the_row() -> None:
    text = WALDEC.read_text("latin-1").replace("animer le quartier", "animer\r\nle quartier")
    assert read(RnaReader(), text).entries[0].description == "animer le quartier ; écrire à"


def test_a_file_that_was_cut_off_loses_its_last_row_alone() -> None:
    reading = read(RnaReader(), File(WALDEC.read_bytes()[:-200]))
    assert (len(reading.entries), len(reading.bad)) == (4, 2)
