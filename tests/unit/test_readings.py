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
    assert charity.note.startswith("Uncertain: if this name is Japanese or Korean")
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


def test_letters_that_differ_are_marked_and_not_whole_names() -> None:
    name, website = build_comparison_rows(
        [
            ValueComparison("Name", "Sаve the Rivers", ["Save the Rivers"]),  # the first a is Cyrillic
            ValueComparison("Website", "https://bright-harb0r.org", ["https://bright-harbor.org"]),
        ]
    )
    assert name.stated == (
        'S<del><span class="unseen">only stated: </span><mark>а</mark></del>ve the Rivers'  # Cyrillic
    )
    assert name.listed[0] == 'S<ins><span class="unseen">only listed: </span>a</ins>ve the Rivers'
    assert website.stated == 'https://bright-harb<del><span class="unseen">only stated: </span>0</del>r.org'
    (alone,) = build_comparison_rows([ValueComparison("Name", "<b>Аid</b>")])  # the A is Cyrillic
    assert alone.stated == "&lt;b&gt;<mark>А</mark>id&lt;/b&gt;"  # Cyrillic
    (other,) = build_comparison_rows([ValueComparison("Name", "Harbour Fund", ["Quiet Trust"])])
    assert other.stated == '<del><span class="unseen">only stated: </span>Harbour Fund</del>'


def test_punctuation_and_another_script_are_no_difference() -> None:
    number, address, domain, elsewhere = build_comparison_rows(
        [
            ValueComparison("Number", "23-7050903", ["237050903"]),
            ValueComparison("Nonprofit: address", "1 Quay St, Leeds", ["1 QUAY ST. LEEDS"]),
            ValueComparison("Website", "https://red-cross.org", ["https://redcross.org"]),
            ValueComparison("Address", "ул. Иван Вазов 27, Пловдив", ["27 Ivan Vazov, Plovdiv"]),
        ]
    )
    for row in (number, address):
        assert row.note == "match, apart from spaces and punctuation"
        assert "<del>" not in row.stated
    assert domain.note == ""
    assert "<del>" in domain.stated, "another domain is another website"
    assert elsewhere.note == "in different scripts: compare the transliteration"
    assert "<del>" not in elsewhere.stated
    assert elsewhere.reading is not None


def test_digits_that_punctuation_parts_are_not_one_number() -> None:
    (flat,) = build_comparison_rows([ValueComparison("Address", "Flat 1, 12 High St", ["Flat 11, 2 High St"])])
    assert flat.note == ""
    assert "<del>" in flat.stated
    (lodge,) = build_comparison_rows([ValueComparison("Name", "Lodge No. 4", ["LODGE NO 4"])])
    assert lodge.note == "match, apart from spaces and punctuation"


def test_letters_of_long_texts_are_not_compared() -> None:
    (long,) = build_comparison_rows([ValueComparison("Name", "ab" * 1000, ["ab" * 999 + "ba"])])
    assert long.stated == f'<del><span class="unseen">only stated: </span>{"ab" * 1000}</del>'
