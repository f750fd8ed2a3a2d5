"""What is asked and what the register has: names, second lines, addresses."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import builds, lists, none, sampled_from

from almoner.screening.matching.addresses import compare_addresses, parse_address
from almoner.screening.matching.domain import Finding, NameSimilarity, Party
from almoner.screening.matching.service import CERTAIN_SCORE, best_name_similarity, compare_parties

PAIRS = Path(__file__).parents[1] / "data" / "matching" / "pairs.csv"

parties = builds(
    Party,
    lists(sampled_from(["JA Worldwide", "JA Worldwide Foundation", "Salvation Army", "Local 32", "", "!", "St Mary"])),
    none() | sampled_from(["131 Dartmouth St FL 3", "PO BOX 12", "1 N Main", "12"]),
    none() | sampled_from(["Boston", "BOSTN", "Phoenix"]),
    none() | sampled_from(["MA", "AZ"]),
    none() | sampled_from(["02116", "02116-1234", "02110", "00000-0000"]),
    none() | sampled_from(["USA", "US", "FRA"]),
)


def asked(name: str, street: str | None = "7900 Johnson Drive", state: str = "TN", postcode: str = "37998") -> Party:
    return Party([name], street, "Knoxville", state, postcode)


def test_the_same_name_at_the_same_address_is_certain() -> None:
    found = compare_parties(asked("Johnson University"), asked("JOHNSON UNIVERSITY", "7900 JOHNSON DR STE 2"))
    assert found.is_certain_match
    assert found.is_likely_match
    assert found.both_have_street_or_po_box
    assert found.score >= CERTAIN_SCORE


def test_without_an_address_nothing_is_certain() -> None:
    found = compare_parties(Party(["Johnson University"]), asked("JOHNSON UNIVERSITY"))
    assert (found.is_certain_match, found.is_likely_match, found.both_have_street_or_po_box) == (False, True, False)
    assert not compare_parties(asked("Johnson University"), asked("JOHNSON UNIVERSITY", None)).is_certain_match


def test_a_rare_name_needs_the_state_and_a_common_one_the_street() -> None:
    here = Party(["Hephzibah Guanacaste Ammonoosuc"], "1 A Street", "Ash", "MA", "01001")
    there = Party(["HEPHZIBAH GUANACASTE AMMONOOSUC"], "PO BOX 9", "Oak", "MA", "02001")
    assert compare_parties(here, there).is_certain_match
    common = [Party(["Salvation Army"], one.street, one.city, one.state, one.postcode) for one in (here, there)]
    assert not compare_parties(*common).is_certain_match
    lions = [Party(["AMERICAN LEGION"], street, "Ash", "MA", "01001") for street in ("1 Elm", "1 Elm", "9 Oak")]
    assert compare_parties(lions[0], lions[1]).is_certain_match
    assert not compare_parties(lions[0], lions[2]).is_certain_match
    assert any(part.finding == "common" for part in compare_parties(lions[0], lions[2]).parts)


@pytest.mark.parametrize(
    ("listed", "veto"),
    [
        (["American Association of Physicists in Medicine", "Connecticut Area"], "branch"),
        (["American Association of Physicists in Medicine", "Delaware Valley Chapter"], "branch"),
        (["American Association of Physicists in Medicine 2"], None),
    ],
)
def test_a_chapter_is_not_the_body(listed: list[str], veto: Finding | None) -> None:
    party = Party(["American Association of Physicists in Medicine"], "1631 Prince St", "Alexandria", "VA", "22314")
    first, *second = listed
    there = party.street, party.city, party.state, party.postcode
    found = compare_parties(party, Party([first], *there, name_second_line=next(iter(second), None)))
    assert not found.is_certain_match
    assert veto is None or veto in found.vetoes


def likeness(asked: str, first: str, second: str | None = None, *, in_family: bool | None = None) -> NameSimilarity:
    return best_name_similarity(
        [asked], [first], listed_name_second_line=second, other_organisations_share_first_line=in_family
    )


def test_a_second_line_may_be_the_name() -> None:
    assert likeness("The Arc of Monmouth", "ARC OF NEW JERSEY", "THE ARC OF MONMOUTH INC").score == 1
    assert likeness("Cameron Univrsity", "PSI CHI HONOR SOCIETY", "CAMERON UNIVERSITY").score < 0.8
    assert best_name_similarity(["Other", "Johnson University"], ["JOHNSON UNIVERSITY"]).score < 1
    assert best_name_similarity([], ["JOHNSON UNIVERSITY"]).score == 0
    assert best_name_similarity(["Johnson University"], []).score == 0


@pytest.mark.parametrize(
    "second", ["1957 YALE COLLEGE CLASS", "CASPER CHAPTER", "RKO ARMY", "LOCAL", "UNIVERSITY CLUB"]
)
def test_the_first_line_of_a_family_names_no_member(second: str) -> None:
    found = likeness("Yale University", "YALE UNIVERSITY", second, in_family=True)
    assert "unnamed" in found.vetoes
    assert likeness("Yale University", "YALE UNIVERSITY", second, in_family=False).score == 1
    for own in (f"Yale University {second}", f"{second} Yale University", second):
        named = likeness(own, "YALE UNIVERSITY", second, in_family=True)
        assert named.score == pytest.approx(1)
        assert not named.vetoes


def test_a_part_of_the_second_line_names_a_member_nearly() -> None:
    post = likeness("American Legion 265", "AMERICAN LEGION", "265 MELVIN E BENDER LEGIONNAIRES", in_family=True)
    assert post.score == pytest.approx(0.96)
    assert not post.vetoes
    other = likeness("American Legion 266", "AMERICAN LEGION", "265 MELVIN E BENDER LEGIONNAIRES", in_family=True)
    assert "unnamed" in other.vetoes
    assert "unnamed" not in likeness("First Church", "FIRST CHURCH", "CHURCH", in_family=True).vetoes


@pytest.mark.parametrize(
    ("name", "first", "second", "is_called_so"),
    [
        ("American Legion Unit 8", "AMERICAN LEGION", "8 SMITH", True),
        ("American Legion Auxiliary Unit 8", "AMERICAN LEGION", "8 SMITH", False),
        ("American Legion Auxiliary 8", "AMERICAN LEGION", "8 SMITH", False),
        ("Fraternal Order of Eagles Auxiliary 3006", "FRATERNAL ORDER OF EAGLES", "3006 LARAMIE", False),
        ("Phi Theta Kappa Alpha Alpha", "PHI THETA KAPPA", "ALPHA ALPHA CHAPTER", True),
        ("Phi Theta Kappa Alpha", "PHI THETA KAPPA", "ALPHA ALPHA CHAPTER", False),
        ("Alpha Phi Gamma Chapter", "ALPHA PHI ALPHA FRATERNITY", "GAMMA CHAPTER", False),
        ("VFW Post 1881", "VETERANS OF FOREIGN WARS OF THE UNITED STATES", "1881 BISMARCK", True),
        ("V.F.W. Post 1882", "VETERANS OF FOREIGN WARS OF THE UNITED STATES", "1881 BISMARCK", False),
        ("VFW Auxiliary Post 1881", "VETERANS OF FOREIGN WARS OF THE UNITED STATES", "1881 BISMARCK", False),
        ("VFW Bismarck", "VETERANS OF FOREIGN WARS OF THE UNITED STATES", "1881 BISMARCK", True),
        ("VFW", "VETERANS OF FOREIGN WARS OF THE UNITED STATES", "1881 BISMARCK", False),
        ("BPOE Lodge 660", "BENEVOLENT & PROTECTIVE ORDER OF ELKS OF THE USA", "0660 CHEYENNE", True),
        ("I.B.E.W. Local Union 1547", "INTERNATIONAL BROTHERHOOD OF ELECTRICAL WORKERS", "1547 LOCAL UNION", True),
        ("F O E 3006", "FRATERNAL ORDER OF EAGLES", "3006 LARAMIE", True),
        ("FOP 3006", "FRATERNAL ORDER OF EAGLES", "3006 LARAMIE", False),
        ("DAV 7", "DISABLED AMERICAN VETERANS AUXILIARY INC", "7 FAJARDO", False),
    ],
)
def test_a_member_is_called_by_its_words_as_often_as_it_has_them(
    name: str, first: str, second: str, is_called_so: bool
) -> None:
    """And an organisation beside it is another one."""
    assert (likeness(name, first, second, in_family=True).score >= 0.95) is is_called_so


def test_other_names_count_a_little_less_and_tell_no_members() -> None:
    names = ["OXFAM", "OXFAM SCOTLAND"]
    here = Party(["Oxfam"], "1 John Smith Drive", "Oxford", None, "OX4 2JY", "GBR")
    assert compare_parties(here, Party(names, here.street, here.city, None, here.postcode, "GBR")).is_certain_match
    assert best_name_similarity(["Oxfam Scotland"], names).score == pytest.approx(0.94)


@pytest.mark.parametrize(
    ("name", "listed", "asked_about"),
    [
        ("Barnes Volunteer Fire Department", "CARNES VOLUNTEER FIRE DEPARTMENT", True),
        ("Smyth Family Foundation", "SMITH FAMILY FOUNDATION", True),
        ("First Baptist Church of Hawley", "FIRST BAPTIST CHURCH OF RAWLEY", True),
        ("Post 112 of Kinston", "POST 112 OF KINGSTON", False),
        ("Carnse Volunteer Fire Department", "CARNES VOLUNTEER FIRE DEPARTMENT", False),
        ("Amercan Red Cross of Carnes", "AMERICAN RED CROSS OF CARNES", False),
        ("Carnes Volunteer Fire Departmant", "CARNES VOLUNTEER FIRE DEPARTMENT", False),
    ],
)
def test_a_slip_in_the_only_word_that_tells_is_marked(name: str, listed: str, asked_about: bool) -> None:
    found = compare_parties(Party([name]), Party([listed]))
    assert (found.differs_in_distinctive_word, found.is_likely_match) == (asked_about, True)


def test_another_country_is_another_place_but_a_code_is_no_name() -> None:
    here = Party(["Johnson University"], "1 A St", country="USA")
    assert compare_parties(here, Party(["Johnson University"], "1 A St", country="FRA")).score < CERTAIN_SCORE
    assert compare_parties(here, Party(["Johnson University"], "1 A St", country="US")).is_certain_match


@given(parties, parties)
def test_the_reasons_add_up(one: Party, other: Party) -> None:
    found = compare_parties(one, other)
    assert sum(part.points for part in found.parts) == pytest.approx(found.score)
    assert sum(part.points for part in found.name_parts) == pytest.approx(found.name_score)
    assert 0 <= found.score <= 1
    assert not found.is_certain_match or (
        found.is_likely_match and found.both_have_street_or_po_box and not found.vetoes
    )


def located(name: str, place: list[str]) -> Party:
    street, city, state, postcode = place
    return Party([name], street, city, state, postcode)


def test_labelled_pairs_are_told_apart() -> None:
    with PAIRS.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    place = ("street", "city", "state", "postcode")
    found = [
        (
            compare_parties(
                located(row["name"], [row[part] for part in place]),
                located(row["listed_name"], [row[f"listed_{part}"] for part in place]),
            ),
            row["same"] == "true",
        )
        for row in rows
    ]
    certain = [same for one, same in found if one.is_certain_match]
    likely = [same for one, same in found if one.is_likely_match]
    total = sum(same for _, same in found)
    assert sum(certain) / len(certain) >= 0.95
    assert sum(certain) / total >= 0.75
    assert 2 * sum(likely) / (len(likely) + total) >= 0.88


@pytest.mark.parametrize(
    ("stated", "registered"),
    [
        ("District of Columbia", "DC"),
        ("D.C.", "DC"),
        ("Wyoming", "WY"),
        ("wyo.", "WY"),
        ("New York", "NY"),
        ("N. Carolina", "NC"),
        ("Qu\u00e9bec", "QC"),
        ("New South Wales", "NSW"),
        ("S\u00e3o Paulo", "SP"),
        ("County Antrim", "County Antrim"),
    ],
)
def test_a_state_may_be_written_in_full(stated: str, registered: str) -> None:
    def agrees(one: str, other: str) -> str:
        return compare_addresses(*(parse_address(Party(("A",), state=state)) for state in (one, other))).state

    assert agrees(stated, registered) == agrees(registered, stated) == "same"
    assert agrees(stated, "ID") == "other"
    assert agrees(stated, "Idaho") == "other"
