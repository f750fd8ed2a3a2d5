"""Activities: the files are whole, and each code of each register gives what it says, with the rule."""

import time

import pytest

from almoner.nonprofits.activities import domain as activities_domain
from almoner.nonprofits.activities import rules
from almoner.nonprofits.activities import service as activities
from almoner.nonprofits.activities.domain import SUB_TAGS, TAGS, load_data_file
from almoner.nonprofits.registers.domain import RegisterEntry

MAPPINGS = load_data_file("mappings.json")
TABLES = ("subsection", "classification", "foundation", "ccew", "oscr", "ccni", "acnc", "names")


def irs(name: str = "NORTH PLATTE RELIEF", **facts: str) -> RegisterEntry:
    return RegisterEntry("530196605", "WY", name, facts=facts)


def given(entry: RegisterEntry, registry: str = "IRS") -> dict[str, str]:
    return dict(activities.derive_tags_of_register_entry(registry, entry).rules_by_sub_tag)


def test_the_file_has_every_tag_once_with_names_and_descriptions() -> None:
    assert (len(TAGS), len(SUB_TAGS)) == (24, 254)
    assert sum(len(tag.sub_tags) for tag in TAGS.values()) == 254
    assert all(sub.name and sub.description.endswith(".") for sub in SUB_TAGS.values())
    assert all(tag.code in SUB_TAGS for tag in TAGS.values())
    assert len({sub.name for sub in SUB_TAGS.values()}) == 254
    for sub in SUB_TAGS.values():
        assert sub.code in {one.code for one in TAGS[sub.tag_id].sub_tags}
        assert sub.wider_sub_tag_code is None or SUB_TAGS[sub.wider_sub_tag_code].tag_id == sub.tag_id


def test_ids_are_the_same_for_ever() -> None:
    assert str(activities_domain.derive_permanent_tag_id("activitytag", "AN")) == "019b76da-a800-7e9f-a859-1b9dd8e48c5c"
    assert str(SUB_TAGS["AN"].id) == "019b76da-a800-7a79-af1d-546fc7f6817d"
    assert str(SUB_TAGS["SW301"].id) == "019b76da-a800-7276-8580-791f3f467380"
    assert all(one.version == 7 for one in TAGS)
    assert len({*TAGS, *(sub.id for sub in SUB_TAGS.values())}) == 24 + 254


@pytest.mark.parametrize("table", TABLES)
def test_every_code_leads_to_sub_tags_that_exist(table: str) -> None:
    for code, targets in MAPPINGS[table].items():
        assert set(targets) <= set(SUB_TAGS), code


def test_every_ntee_code_is_mapped_and_only_unknown_ones_give_nothing() -> None:
    assert len(rules.NTEE) == 620
    assert {code for code, targets in rules.NTEE.items() if not targets} == {"Z99"}
    assert all(set(targets) <= set(SUB_TAGS) for targets in rules.NTEE.values())
    assert set(rules.NTEE_LETTERS) == set("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
    for code, targets in rules.NTEE.items():  # 11 and 12 raise money for the field: both are said
        if code[1:] in ("11", "12") and code[0] != "Z":
            assert targets[-1] == "CV102", code
            assert set(rules.NTEE_LETTERS[code[0]]) <= set(targets), code


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("B25", {"ED107": "ntee:B25"}),
        ("B25Z", {"ED107": "ntee:B25"}),  # the fourth character is a sub-type or filler
        ("B2Z", {"ED106": "ntee:B2* (B2Z unknown)"}),
        ("B71", {"AR202": "ntee:B7* (B71 unknown)", "ED": "ntee:B7* (B71 unknown)"}),
        ("T00", {"CV": "ntee:T* (T00 unknown)"}),
        ("X2", {"RL200": "ntee:X2* (X2 unknown)"}),
        ("G12", {"CV102": "ntee:G12", "HE200": "ntee:G12"}),
        ("H05", {"RS101": "ntee:H05"}),
    ],
)
def test_ntee(code: str, expected: dict[str, str]) -> None:
    assert given(irs(NTEE_CD=code, SUBSECTION="03", CLASSIFICATION="7000", FOUNDATION="10")) == expected


@pytest.mark.parametrize("code", ["", "Z99", "Z99Z", "Z50"])
def test_without_a_code_the_other_columns_and_then_the_name_tell(code: str) -> None:
    church = irs("FIRST BAPTIST CHURCH", NTEE_CD=code, SUBSECTION="03", CLASSIFICATION="7000", FOUNDATION="10")
    assert given(church) == {"RL": "classification:03:7", "RL200": "name:baptist", "RL302": "foundation:10"}
    assert given(irs("ROTARY CLUB OF CASPER", SUBSECTION="04", CLASSIFICATION="1000")) == {
        "AS202": "name:rotary club",
        "EC101": "classification:04:1",
    }
    assert given(irs("POST 12", SUBSECTION="19", CLASSIFICATION="1000")) == {"AF104": "subsection:19"}
    assert given(irs("SOMETHING ELSE", SUBSECTION="03", CLASSIFICATION="1000", FOUNDATION="15")) == {}


def test_a_classification_digit_is_read_together_with_the_subsection() -> None:
    assert given(irs(SUBSECTION="05", CLASSIFICATION="3000")) == {"PR": "classification:05:3"}
    assert given(irs(SUBSECTION="03", CLASSIFICATION="3000")) == {"AR202": "classification:03:3"}


def test_further_digits_count_where_nothing_else_tells() -> None:
    """The first digit is why a body is exempt; further ones are boxes that it ticked as well."""
    church = irs(SUBSECTION="03", CLASSIFICATION="7200")
    assert given(church) == {"RL": "classification:03:7"}
    assert given(irs(SUBSECTION="03", CLASSIFICATION="1270")) == {
        "ED": "classification:03:2 (further)",
        "RL": "classification:03:7 (further)",
    }
    assert given(irs("ELM FOOD BANK", SUBSECTION="03", CLASSIFICATION="1200")) == {"SW301": "name:food bank"}


def test_whole_words_of_a_name_count_alone() -> None:
    assert given(irs("ST. MARY'S CHURCH-SCHOOL")) == {"ED106": "name:school", "RL302": "name:church"}
    assert given(irs("CHURCHILL OPERATIC PRESCHOOLERS")) == {}


def test_ticks_of_the_other_registers() -> None:
    def entry(**facts: object) -> RegisterEntry:
        return RegisterEntry("1", "all", "SOME BODY", facts=facts)

    assert given(entry(classification=["102", "101", "302", "202"]), "CCEW") == {
        "ED": "ccew:102",
        "BE108": "ccew:202",
        "CA202": "ccew:302",
    }
    need = (
        "The relief of those in need by reason of age, ill health, disability, financial hardship or other disadvantage"
    )
    assert given(entry(purposes=[need, "The advancement of education"], beneficiaries=["Older people"]), "OSCR") == {
        "BE108": "oscr:Older people",
        "ED": "oscr:The advancement of education",
        "SW": f"oscr:{need}",
    }
    harmony = (
        "The advancement of human rights, conflict resolution or reconciliation or the promotion of  religious or "
        "racial harmony or equality and diversity"
    )
    assert set(given(RegisterEntry("1", "all", "X", facts={"purposes": [harmony]}), "CCNI")) == {"SO"}
    assert given(entry(purposes=["Advancing_Religion"], beneficiaries=["animals"], PBI="Y"), "ACNC") == {
        "AN": "acnc:animals",
        "RL": "acnc:Advancing_Religion",
        "SW": "acnc:PBI",
    }
    women = entry(beneficiaries=["Females", "other_gender_identities"])
    everybody = entry(beneficiaries=["Males", "Females", "other_gender_identities", "animals"])
    assert set(given(women, "ACNC")) == {"BE113", "BE105"}
    assert set(given(everybody, "ACNC")) == {"AN"}
    assert given(RegisterEntry("1", "all", "The Hope Food Bank"), "OSCR") == {"SW301": "name:food bank"}


def test_names_are_asked_in_english_alone() -> None:
    assert given(RegisterEntry("1", "all", "Christ Church"), "RNA") == {}
    assert set(given(RegisterEntry("1", "all", "Christ Church"), "CRA")) == {"RL200", "RL302"}


def test_ids_to_search_by_hold_the_tag_and_the_wider_sub_tag() -> None:
    found = activities.derive_tags_of_register_entry("IRS", irs(NTEE_CD="A69"))
    orchestras = SUB_TAGS["AR306"]
    assert set(found.tag_ids) == {orchestras.id, orchestras.tag_id, SUB_TAGS["AR300"].id}
    assert list(found.rules_by_sub_tag) == ["AR306"]


def test_a_row_of_a_load_takes_microseconds() -> None:
    rows = [irs(NTEE_CD=code, SUBSECTION="03", CLASSIFICATION="1000", FOUNDATION="15") for code in rules.NTEE] * 20
    for row in rows:
        activities.derive_tags_of_register_entry("IRS", row)
    started = time.process_time()
    for row in rows:
        activities.derive_tags_of_register_entry("IRS", row)
    assert (time.process_time() - started) / len(rows) < 5e-6
