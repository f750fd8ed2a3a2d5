"""Somebody against a list: evidence, ceilings, and an index that loses nothing."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis.strategies import lists, sampled_from, tuples

from almoner.screening.matching.cyrillic_syllables import possible_hangul_or_pinyin_spellings
from almoner.screening.matching.domain import Party, PreparedEntry, PreparedSubject
from almoner.screening.matching.index import MIN_LIKENESS, NameIndex
from almoner.screening.matching.service import compare_names, prepare_name
from almoner.screening.matching.watchlist_matcher import (
    FLAG_SCORE,
    WatchlistMatcher,
    is_distinctive_name,
    match_entry,
    prepare_subject,
)
from almoner.screening.screenings import indexing
from almoner.screening.screenings.domain import SubjectDetails
from almoner.screening.watchlists.domain import SubjectKind

HOLY_LAND = "HOLY LAND FOUNDATION FOR RELIEF AND DEVELOPMENT"
WORDS = (
    "HOLY LAND FOUNDATION RELIEF HARAMAIN ISLAMIC GLOBAL BENEVOLENCE MARTYRS TRADING SHIPPING BANK SADERAT BAKHTAR 7 "
    "44 NORTH GOOD WILL GOODWILL SADERTA BENEVOLENSE MUHAMMAD MOHAMED"
).split()
names = lists(sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)


HOME = frozenset(("USA",))


def entry(*named: str, weak: bool = False, countries: tuple[str, ...] = ()) -> PreparedEntry:
    return PreparedEntry("1", named, frozenset(countries), weak_names=named if weak else ())


def test_a_telling_name_is_flagged_by_itself() -> None:
    assert is_distinctive_name(prepare_name("BENEVOLENCE HARAMAIN SADERAT"))
    assert match_entry(
        prepare_subject(["Benevolence Haramain Saderat"], ["USA"]), entry("BENEVOLENCE HARAMAIN SADERAT")
    ).requires_review


@pytest.mark.parametrize("name", ["THE LIGHTHOUSE", "YOUTH INCORPORATED", "MSC INC", "BTC INC"])
def test_one_word_needs_a_second_piece_of_evidence(name: str) -> None:
    alone = match_entry(prepare_subject([name], ["USA"]), entry(name))
    assert not alone.requires_review
    assert any(part.finding == "common" for part in alone.parts)
    assert match_entry(prepare_subject([name], ["IRN"]), entry(name, countries=("IRN",))).requires_review
    assert match_entry(
        prepare_subject([name], ["USA"], ["X1"]), PreparedEntry("1", entry(name).names, identifiers=frozenset(("X1",)))
    ).requires_review


def test_an_address_is_evidence() -> None:
    home = Party([""], street="12 Rue Hamra", city="Beirut")
    known = PreparedEntry("1", entry("THE LIGHTHOUSE").names, address_parties=(home,))
    at = PreparedSubject(
        (prepare_name("The Lighthouse"),), frozenset(("USA",)), address_party=Party([""], "12 rue hamra", "Beirut")
    )
    assert match_entry(at, known).requires_review
    elsewhere = PreparedSubject(at.names, at.countries, address_party=Party([""], "9 Other Street", "Beirut"))
    assert not match_entry(elsewhere, known).requires_review


@pytest.mark.parametrize(
    ("city", "postcode", "flagged"),
    [("Beirut", None, True), (None, "1103", True), ("Casper", None, False), (None, None, False), ("Bei", None, False)],
)
def test_a_street_is_evidence_in_its_own_town_alone(city: str | None, postcode: str | None, flagged: bool) -> None:
    known = PreparedEntry(
        "1",
        entry("THE LIGHTHOUSE").names,
        address_parties=(Party((), street="12 High Street", city="Hamra, Beirut 1103"),),
    )
    at = Party((), street="12 High Street", city=city, postcode=postcode)
    found = match_entry(
        PreparedSubject((prepare_name("The Lighthouse"),), frozenset(("USA",)), address_party=at), known
    )
    assert found.requires_review is flagged
    assert any(part.finding == "street" for part in found.parts) is flagged


@pytest.mark.parametrize(
    ("asked", "listed", "flagged"),
    [
        ("Mike Brown", "MIKE", False),
        ("Mike", "MIKE", False),
        ("Zinaida Degtyareva", "DEGTYAREVA, Zinaida", True),
        ("Zinaida Degtiareva", "DEGTYAREVA, Zinaida", True),
        ("David Silberman", "GUBERMAN, David", False),
    ],
)
def test_of_a_person_without_a_place_the_name_says_all_or_nothing(asked: str, listed: str, flagged: bool) -> None:
    sought = replace(prepare_subject([asked], ["USA"]), are_countries_incomplete=True)
    there = entry(listed, countries=("RUS",))
    assert match_entry(sought, there).requires_review is flagged
    assert not any(part.finding == "country" for part in match_entry(sought, there).parts), "it speaks against nobody"
    near = match_entry(replace(sought, countries=frozenset(("RUS",))), there)
    assert any(part.finding == "country" and part.points > 0 for part in near.parts)


def test_another_country_lowers_and_the_same_raises() -> None:
    listed = entry(HOLY_LAND, countries=("PSE",))
    same, other = (match_entry(prepare_subject([HOLY_LAND], [one]), listed) for one in ("PSE", "USA"))
    nowhere = match_entry(prepare_subject([HOLY_LAND]), listed)
    assert other.score < nowhere.score <= same.score
    assert not other.requires_review
    numbered = PreparedEntry("1", listed.names, listed.countries, ["EIN 1"])
    assert match_entry(prepare_subject([HOLY_LAND], ["USA"], ["EIN 1"]), numbered).requires_review
    assert WatchlistMatcher([listed]).find_matches(prepare_subject([HOLY_LAND], ["USA"])) == []
    assert WatchlistMatcher([listed]).find_matches(prepare_subject([HOLY_LAND], ["PSE"])) == [same]
    assert same.requires_review
    assert nowhere.requires_review
    assert any(part.finding == "country" and part.points < 0 for part in other.parts)


def test_a_weak_alias_has_a_lower_ceiling() -> None:
    strong = match_entry(prepare_subject(["Bakhtar Saderat Haramain"]), entry("BAKHTAR SADERAT HARAMAIN"))
    weak = match_entry(prepare_subject(["Bakhtar Saderat Haramain"]), entry("BAKHTAR SADERAT HARAMAIN", weak=True))
    assert weak.score < strong.score
    assert any(part.finding == "weak" for part in weak.parts)


def test_where_everybody_is_at_home_to_be_there_is_no_evidence_for_a_slip() -> None:
    listed, sought = entry("POTRICO", countries=("USA",)), prepare_subject(["Patrick"], ["USA"])
    home = frozenset(("USA",))
    slip = prepare_subject(["POTRIKO"], ["USA"])
    assert match_entry(slip, listed).requires_review
    assert not match_entry(sought, listed, home_countries=home).requires_review
    assert match_entry(prepare_subject(["POTRICO"], ["USA"]), listed, home_countries=home).requires_review


def test_another_number_is_never_flagged() -> None:
    found = match_entry(prepare_subject(["Brigade 44"], ["SYR"]), entry("BRIGADE 45", countries=("SYR",)))
    assert found.vetoes
    assert not found.requires_review


def test_the_best_name_counts_and_matches_are_in_order() -> None:
    entries = [
        PreparedEntry("b", entry("AL-HARAMAIN ISLAMIC FOUNDATION").names),
        PreparedEntry("a", entry("SOMEBODY ELSE", "AL HARAMAYN ISLAMIC FOUNDATION").names),
    ]
    found = WatchlistMatcher(entries).find_matches(prepare_subject(["Other name", "Al-Haramain Islamic Foundation"]))
    assert [one.entry_id for one in found] == ["b", "a"]
    assert found[0].searched_name == "Al-Haramain Islamic Foundation"
    assert WatchlistMatcher(entries).find_matches(prepare_subject(["Red Cross"])) == []
    assert WatchlistMatcher([]).find_matches(prepare_subject(["", "!"])) == []


@given(names, names, sampled_from([(), ("USA",), ("IRN",)]), sampled_from([(), ("IRN",)]))
def test_the_reasons_add_up(one: str, other: str, here: tuple[str, ...], there: tuple[str, ...]) -> None:
    found = match_entry(prepare_subject([one], here), entry(other, countries=there))
    assert 0 <= found.score <= 1
    assert sum(part.points for part in found.parts) == pytest.approx(found.score)
    assert found.requires_review == (found.score >= FLAG_SCORE and not found.vetoes)


@given(lists(names, min_size=1, max_size=12), names)
@settings(max_examples=2 * settings().max_examples)
def test_the_index_finds_what_going_through_all_finds(listed: list[str], sought: str) -> None:
    asked = prepare_name(sought)
    prepared = list(map(prepare_name, listed))
    index = NameIndex(prepared, listed.__getitem__)
    alike = {
        place
        for place, name in enumerate(prepared)
        if compare_names(asked, name).score >= max(MIN_LIKENESS, FLAG_SCORE)
    }
    assert alike <= set(index.find_candidate_name_positions(asked))


def test_of_a_very_long_name_no_word_is_looked_for_in_other_spellings() -> None:
    """However many words it has, and it is still found by those that it has as listed."""
    listed = ["QUERNSTONE HALVARDSEN", " ".join(f"karvan{number}ossa" for number in range(20))]
    index = NameIndex(map(prepare_name, listed), listed.__getitem__)
    index.find_candidate_name_positions(
        prepare_name(" ".join(f"velind{number}arro" for number in range(60))), allow_more_typos=True
    )
    assert index._listed.cache_info().currsize == 0
    assert index.find_candidate_name_positions(prepare_name(f"{listed[1]} and further")) == [1]
    assert index.find_candidate_name_positions(prepare_name("halvardsem quernstone"), allow_more_typos=True) == [0]


@given(lists(tuples(names, sampled_from([(), ("USA",), ("IRN",), ("IRN", "USA")])), min_size=1, max_size=8), names)
def test_at_home_an_organisation_matches_what_comparing_with_every_entry_matches(
    listed: list[tuple[str, tuple[str, ...]]], sought: str
) -> None:
    """Though the entries of other countries are not even searched."""
    entries = [
        PreparedEntry(str(number), (name,), frozenset(countries)) for number, (name, countries) in enumerate(listed)
    ]
    asked = prepare_subject([sought], HOME)
    every = [match_entry(asked, one, home_countries=HOME) for one in entries]
    found = WatchlistMatcher(entries, HOME).find_matches(asked)
    assert {one.entry_id for one in found} == {one.entry_id for one in every if one.requires_review}


def flags(asked: str, listed: str, *, person: bool = False) -> bool:
    """Whether a body of the US, or a person, is flagged by the bare name of an entry."""
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,))], ["USA"], persons=person)
    name = prepare_name(asked, is_person=person)
    return bool(
        matcher.find_matches(PreparedSubject((name,), frozenset() if person else HOME, are_countries_incomplete=person))
    )


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Jon Haddadin", "HADDADIN, John"),
        ("Bob Mugaboro", "Robert Mugaboro"),
        ("K. Benzaghou", "BENZAGHOU, Karim"),
        ("A Khalilzad", "Ahmed Khalilzad"),
        ("Sukarnovich", "SUKARNOVICH"),
    ],
)
def test_a_person_is_found_by_a_short_first_name_an_initial_or_the_only_name(asked: str, listed: str) -> None:
    assert flags(asked, listed, person=True)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Viktor Haddadin", "HADDADIN, Viktor Anatolyevich"),
        ("Nicolas Benzaghou", "BENZAGHOU MOROSOV, Nicolas Ernesto"),
        ("Viktor Anatolyevich Haddadin", "HADDADIN, Viktor"),
    ],
)
def test_a_person_is_found_without_a_patronymic_or_second_surname(asked: str, listed: str) -> None:
    assert flags(asked, listed, person=True)
    assert not flags(asked.split()[-1], listed, person=True)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Abdulrahman Aldhafiror", "AL-DHAFIROR, Abd al-Rahman"),
        ("Abderrahmane Dhafiror", "AL-DHAFIROR, Abd al-Rahman"),
        ("Noureddine Benzaghou", "BENZAGHOU, Nur al-Din"),
        ("Nureddin Benzaghou", "BENZAGHOU, Nur al-Din"),
        ("Saifullah Benzaghou", "BENZAGHOU, Sayf Allah"),
        ("Abdelkader Benzaghou", "BENZAGHOU, Abd al-Qadir"),
        ("Abd el-Kader Benzaghou", "BENZAGHOU, Abdelkader"),
        ("Nur al-Din Benzaghou", "BENZAGHOU, Noureddine"),
        ("Abd ur Rahman Dhafiror", "AL-DHAFIROR, Abdurrahman"),
        ("Abdurrahman Dhafiror", "AL-DHAFIROR, Abd ur Rahman"),
        ("Abdul Rahman Dhafiror", "DHAFIROR, Abderrahmane"),
        ("Abdul Rahman Dhafiror", "DHAFIROR, Abd-ur-Rehman"),
        ("Abdul Rahman Dhafiror", "RAHMAN DHAFIROR, Abdel"),
        ("Abdus Salam Dhafiror", "DHAFIROR, Abdelsalam"),
        ("Zia ul Haq Benzaghou", "BENZAGHOU, Ziaulhaq"),
        ("Zia ud Din Benzaghou", "BENZAGHOU, Zia al-Din"),
        ("Sayf Allah Benzaghou", "BENZAGHOU, Saifullah"),
        ("Muhammad ibn Salim al Zubaydi", "AL-ZUBAYDI, Mohammed Salem"),
        ("Daud Ebrahim Benzaghou", "BENZAGHOU, Dawood Ibrahim"),
        ("Hassan bin Ali", "ALI, Hassan"),
        ("Michail Gorbatschorow", "GORBACHOREV, Mikhail"),
        ("J. A. Yépez Benzaghou", "YEPEZ BENZAGHOU, Jose Antonio"),
        ("J.-A. Yépez Benzaghou", "YEPEZ BENZAGHOU, Jose Antonio"),
        ("И. А. Бензагу", "BENZAGU, Ivan Andrei"),  # Cyrillic
    ],
)
def test_a_person_is_found_however_articles_fathers_and_initials_are_written(asked: str, listed: str) -> None:
    assert flags(asked, listed, person=True)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Aladdin Benzaghou", "BENZAGHOU, Nur al-Din"),
        ("Abdulrahim Benzaghou", "BENZAGHOU, Abd al-Rahman"),
        ("Abd ur Rahim Benzaghou", "BENZAGHOU, Abdurrahman"),
        ("Abdul Rahim Benzaghou", "BENZAGHOU, Abdul Rahman"),
        ("Kim Un Nam", "KIM, Nam"),
        ("Li Bin Wang", "WANG, Lin"),
        ("Li Bin Wang", "LI, Wang"),
        ("Zhang Bin Chen", "ZHANG, Chen"),
        ("J. A. Smith", "SMITH, John Andrew"),
        ("Ja Yepez Benzaghou", "YEPEZ BENZAGHOU, Carlos Jose"),
    ],
)
def test_another_name_with_an_article_and_initials_beside_a_common_name_say_nothing(asked: str, listed: str) -> None:
    assert not flags(asked, listed, person=True)


@pytest.mark.parametrize(
    ("asked", "listed", "kind"),
    [
        ("Бехарад", "BEHARAD", "organisation"),
        ("Таджана", "TAJANA", "organisation"),
        ("Ντουμπάγκορ", "DUBAGOR", "organisation"),
        ("Αντώνης Λαμπιδάρης", "LAMPIDARIS, Antonis", "person"),
        ("Οσάμα Μπουρτάντ", "BURTAD, Osama", "person"),
        ("Σεργκέι Καραζόφ", "KARAZOV, Sergei Viktorovich", "person"),
    ],
)
def test_cyrillic_and_greek_names_are_asked_for_as_written_and_as_heard(
    asked: str, listed: str, kind: SubjectKind
) -> None:
    sought = indexing.prepare_subject_details(SubjectDetails(kind, (asked,), () if kind == "person" else ("USA",)))
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,))], ["USA"], persons=kind == "person")
    (found,) = matcher.find_matches(sought)
    assert found.searched_name == asked


@pytest.mark.parametrize(
    "asked",
    [
        "Jewgeni Karaschin", "Evgueni Karajine", "Jewgienij Karażyn", "Jevgeni Karazjin", "Evgenij Karažin",
        "Yevgueni Karazhin",
    ],
)  # fmt: skip
def test_a_person_is_found_as_other_languages_write_the_name(asked: str) -> None:
    assert flags(asked, "KARAZHIN, Yevgeniy Viktorovich", person=True)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Hisballor", "HIZBALLOR"),
        ("Al-Kajra", "AL QA'IRA"),
        ("Kedscharim", "KEDJARIM"),
        ("Asch-Schabrud", "AL-SHABRUD"),
        ("Hesbolar", "HIZBALLAR"),
        ("Хезболлар", "HIZBALLAR"),
        ("Χεζμπολάρ", "HIZBALLAR"),
        ("Hesbolar 1", "HIZBALLAR"),
        ("Хезболлар №5", "HIZBALLAR"),
        ("Hizballar-2024", "HIZBALLAR"),
    ],
)
@pytest.mark.parametrize("country", ["DEU", "USA"])
def test_a_body_is_found_as_other_languages_write_the_name(asked: str, listed: str, country: str) -> None:
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,))], ["USA"])
    assert matcher.find_matches(indexing.prepare_subject_details(SubjectDetails("organisation", (asked,), (country,))))


@pytest.mark.parametrize(
    ("asked", "listed", "flagged"),
    [
        ("Van Nguyen", "NGUYEN, Van", True),
        ("In Kim", "KIM, In", True),
        ("An Kim", "KIM, In", False),
        ("Al Gorimo", "AL GORIMO", True),
        ("Al Haddarimo", "AL-HADDARIMO", True),
        ("Haddarimo", "AL HADDARIMO", True),
        ("Al Masri", "Ahmed AL MASRI", False),
    ],
)
def test_of_two_names_a_particle_is_one(asked: str, listed: str, flagged: bool) -> None:
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,))], persons=True)
    assert bool(matcher.find_matches(indexing.prepare_subject_details(SubjectDetails("person", (asked,))))) is flagged


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("Ким Чен Хун", "KIM, Jong Hun"),
        ("Пак Ён Сик", "PAK, Yong Sik"),
        ("Чхве Рён Сок", "CHOE, Ryong Sok"),
        ("Цой Мин Хо", "CHOE, Min-ho"),
        ("Чжан Вэйминь", "ZHANG, Weimin"),
        ("Люй Синьхуа", "LU Xinhua"),
    ],
)
def test_korean_and_chinese_names_in_cyrillic_letters_are_read_back(asked: str, listed: str) -> None:
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,))], ["USA"], persons=True)
    assert matcher.find_matches(indexing.prepare_subject_details(SubjectDetails("person", (asked,))))


@pytest.mark.parametrize("name", ["Иван Петров", "Ли Хабаров", "Дмитрий Ким", "Анна-Мария Цой"])
def test_other_names_in_cyrillic_letters_have_no_reading(name: str) -> None:
    assert not list(possible_hangul_or_pinyin_spellings(name.lower()))


@pytest.mark.parametrize(
    ("asked", "listed"), [("M. Ahmed", "Mohamed Ahmed"), ("J Smith", "John Smith"), ("K. Benzaghou", "Said Benzaghou")]
)
def test_an_initial_beside_a_common_name_says_nothing(asked: str, listed: str) -> None:
    assert not flags(asked, listed, person=True)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("MAINFRAME", "MAINPHARMA"),
        ("SHINE", "SINIE"),
        ("INTERSECTION ARTS", "INTERSECTION"),
        ("DAVIDS SWORD MINISTRIES", "SWORD OF DAVID"),
        ("LANTERN CHOIR", "LANTERN"),
        ("PENDULUM", "PENDULUM"),
        ("SILVER ARROWS CLUB", "ARROW OF SILVER"),
        ("HEADLAMP", "HEDLEMP"),
    ],
)
def test_d14_ordinary_words_flag_nobody_by_the_bare_name(asked: str, listed: str) -> None:
    assert not flags(asked, listed)


@pytest.mark.parametrize(
    ("asked", "listed"), [("SHINING PATH", "SHINING PATH"), ("MAHALABROR", "MAHALABOR"), ("ZARKAWIA", "ZARKAWIA INC")]
)
def test_who_bears_a_name_that_is_no_word_is_flagged_by_it(asked: str, listed: str) -> None:
    assert flags(asked, listed)


@pytest.mark.parametrize(
    ("asked", "listed"),
    [
        ("LUKOILIA OIL COMP", "LUKOILIA OIL COMPANY"),
        ("JSCARGUMENTIX", "JSC ARGUMENTIX"),
        ("OOOSTROYINVEST", "STROYINVEST OOO"),
        ("Petrolexgmbh", "PETROLEX GMBH"),
        ("BALTIKOR TRADING LIMI", "BALTIKOR TRADING LIMITED"),
        ("Sundral Aktiengesells", "Sundral AG"),
        ("NOVATEKH LLC", "NOVATEKHLLC"),
        ("PETROLEXLIMITED", "PETROLEX LIMITED"),
        ("Petrolexcorporation", "PETROLEX CORP"),
        ("FZEPETROLEX", "PETROLEX FZE"),
        ("Petrolex", "PETROLEX PUBLICLY TRADED COMPANY"),
        ("\u30da\u30c8\u30ed\u30ec\u30af\u30b9\u682a\u5f0f\u4f1a\u793e", "\u30da\u30c8\u30ed\u30ec\u30af\u30b9"),
        (
            "\u0628\u062a\u0631\u0648\u0644\u0643\u0633 \u0634.\u0645.\u0644",
            "\u0628\u062a\u0631\u0648\u0644\u0643\u0633",
        ),
    ],
)
def test_d13_legal_forms_are_known_cut_off_and_glued_on(asked: str, listed: str) -> None:
    assert compare_names(prepare_name(asked), prepare_name(listed)).score == 1.0
    matcher = WatchlistMatcher([PreparedEntry("1", (listed,), frozenset(("RUS",)))])
    assert matcher.find_matches(prepare_subject([asked], ["RUS"]))
