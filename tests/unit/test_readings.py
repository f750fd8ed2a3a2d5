"""Readings of names: what reviewers see of names in other scripts, and what is marked as uncertain."""

import pytest

from almoner.console.differences import build_comparison_rows
from almoner.console.readings import Romanisation, romanise_kana, romanise_text
from almoner.validation.decisions.reviews.domain import ValueComparison


@pytest.mark.parametrize(
    ("kana", "latin"),
    [
        ("きょうとふ", "kyoutofu"),
        ("ビッグイシュー", "bigguishū"),
        ("ユニセフ", "yunisefu"),
        ("マッチ", "matchi"),
        ("ファミリー", "famirī"),
        ("ジェトロ", "jetoro"),
        ("ウィング", "wingu"),
        ("しんいち", "shin’ichi"),
        ("パーティー", "pātī"),
        ("チャイルド", "chairudo"),
    ],
)
def test_kana_are_read(kana: str, latin: str) -> None:
    assert romanise_kana(kana) == latin


def test_japanese_names_are_not_read_as_chinese() -> None:
    wings = romanise_text("特定非営利活動法人翼の会", [])
    assert wings == Romanisation(
        "Japanese reading",
        "tokutei hieiri katsudō hōjin 翼 no 会",
        "Uncertain: 翼, 会 can be read in several ways.",
    ), "kana says that it is Japanese"
    assert romanise_text("公益財団法人", ["JPN"]) == Romanisation("Japanese reading", "kōeki zaidan hōjin")
    assert romanise_text("翼会", [], ["つばさのかい"]) == Romanisation(
        "Japanese reading", "翼会", "Uncertain: 翼会 can be read in several ways."
    ), "other texts of the record are in kana"


def test_without_a_country_a_reading_is_uncertain() -> None:
    charity = romanise_text("慈善会", [])
    assert charity is not None
    assert (charity.label, charity.text) == ("Transliteration as Mandarin Chinese", "CiShanHui")
    assert charity.note.startswith("Uncertain: a Japanese or Korean name is read")
    assert romanise_text("慈善会", ["CHN", "JPN"]) == charity, "one of its countries says nothing"
    assert romanise_text("慈善会", ["TWN"]) == Romanisation("Transliteration (Mandarin Chinese)", "CiShanHui")


def test_other_scripts_have_one_reading() -> None:
    assert romanise_text("Рука допомоги", ["UKR"]) == Romanisation("Transliteration", "Ruka dopomogi")
    assert romanise_text("Stiftung Zürich", ["CHE"]) is None


def test_each_side_of_a_comparison_has_its_own_countries() -> None:
    name, _ = build_comparison_rows(
        [ValueComparison("Name", "東京会", ["東京会"]), ValueComparison("Countries", "JPN", ["CHN"])]
    )
    assert name.reading is not None
    assert name.listed_reading is not None
    assert (name.reading.text, name.listed_reading.text) == ("tōkyō 会", "DongJingHui")
    (name,) = build_comparison_rows([ValueComparison("Name", "東京会")], "JPN")
    assert name.reading is not None
    assert name.reading.text == "tōkyō 会"
