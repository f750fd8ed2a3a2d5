"""Words, repair and ranking of organisation search; the rule of what can be given to whom."""

import re
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans, integers, lists, sampled_from, text, tuples

from almoner.nonprofits.countries.domain import COUNTRIES, currency_of_country
from almoner.nonprofits.organisations import spelling
from almoner.nonprofits.organisations.domain import (
    can_receive_donations,
    donation_currencies_of_country,
    normalise_search_text,
)
from almoner.nonprofits.organisations.normalisation import SearchQuery
from almoner.nonprofits.organisations.ranking import ResultRanker, SearchCandidate
from almoner.nonprofits.organisations.spelling import WordSuggestions


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("Crédit & Co. (O'Brien)", "credit and co obrien"),
        ("ST. MARY\u2019S", "st marys"),
        ("  Ab-Cd/Ef  ", "ab cd ef"),
        ("Straße Ørsted", "strasse orsted"),
        ("!!!", ""),
        ("", ""),
    ],
)
def test_words_are_plain(written: str, words: str) -> None:
    assert normalise_search_text(written) == words


def test_other_scripts_are_transliterated() -> None:
    assert normalise_search_text("Красный Крест").isascii()
    assert normalise_search_text("منظمة الإغاثة")


def test_initials_are_one_word_however_they_are_written() -> None:
    assert {normalise_search_text(written) for written in ("A.C.L.U.", "a c l u", "ACLU")} == {"aclu"}
    assert normalise_search_text("Plan B of a club") == "plan b of a club"


def test_a_digit_and_a_letter_are_one_word_however_they_are_written() -> None:
    assert {normalise_search_text(written) for written in ("4-H", "4 h", "4H")} == {"4h"}
    assert normalise_search_text("Friends of 4-H at Post 4 V.F.W.") == "friends of 4h at post 4 vfw"


def test_each_chinese_sign_is_a_word() -> None:
    assert normalise_search_text("中国红十字会") == "zhong guo hong shi zi hui"


@settings(deadline=None)
@given(text(max_size=60))
def test_words_of_words_are_the_same_words(anything: str) -> None:
    assert normalise_search_text(normalise_search_text(anything)) == normalise_search_text(anything)
    assert re.fullmatch("[a-z0-9 ]*", normalise_search_text(anything))


@settings(deadline=None)
@given(text(max_size=60), booleans())
def test_nothing_typed_can_leave_the_quotes_of_a_tsquery(anything: str, doubtful: bool) -> None:
    query = SearchQuery.parse(anything)
    made = spelling.build_query_terms(
        query, WordSuggestions(dict.fromkeys(query.words, 1)), correct_known_words=doubtful
    )
    for asked in (
        asked for ways in spelling.build_all_terms_alternatives_by_field(made) for way in ways for asked in way
    ):
        outside = re.sub("'[@#~]?[a-z0-9]+'", "", asked)
        assert set(outside) <= set("()|&!:* ")


def test_weak_words_rank_and_do_not_exclude() -> None:
    assert SearchQuery.parse("The Friends of the Library Inc").required_words == ("friends", "library")
    assert SearchQuery.parse("the of").required_words == ("the", "of")


def test_one_letter_more_ranks_and_does_not_exclude_until_the_word_is_finished() -> None:
    assert SearchQuery.parse("red c").required_words == ("red",)
    assert SearchQuery.parse("red c ").required_words == ("red", "c")
    assert (
        SearchQuery.parse("red cr").completable_prefix,
        SearchQuery.parse("red cr ").completable_prefix,
        SearchQuery.parse("r").completable_prefix,
    ) == (
        "cr",
        None,
        None,
    )


def named(typed: str, heard: WordSuggestions) -> str:
    (way,), _ = spelling.build_all_terms_alternatives_by_field(
        spelling.build_query_terms(SearchQuery.parse(typed), heard)
    )
    return " & ".join(way)


def test_the_last_word_may_be_unfinished_and_short_forms_are_alike() -> None:
    heard = WordSuggestions({"red": 9, "st": 5, "saint": 7, "lukes": 2}, [("cross", 4), ("crow", 1)])
    assert named("red cro", heard) == "('cro':*) & ('red')"  # the rarest leads
    assert named("st lukes ", heard) == "('lukes') & ('st' | 'saint')"


def test_a_common_beginning_beside_a_rarer_word_is_looked_up_as_the_words_that_begin_with_it() -> None:
    heard = WordSuggestions({"red": 9}, [("cross", 400), ("crow", 100)])
    assert named("red cro", heard) == "('red') & ('cross' | 'crow' | 'cro')"
    terms = spelling.build_query_terms(SearchQuery.parse("red cro"), heard)
    _, ((*_, missing),) = spelling.build_all_terms_alternatives_by_field(terms)
    assert missing == "!(('red') & ('cross' | 'crow' | 'cro'))"
    assert spelling.build_all_but_n_terms_alternatives(terms, 0) == (
        ("(('red') | ('@red'))", "(('cross' | 'crow' | 'cro') | ('@cross' | '@crow' | '@cro'))"),
    )


def test_a_beginning_stays_one_where_it_is_rarest_rare_or_has_too_many_words() -> None:
    begun = [("cross", 400), ("crow", 100)]
    assert named("red cro", WordSuggestions({"red": 600}, begun)) == "('cro':*) & ('red')"
    assert named("red cro", WordSuggestions({"red": 9}, begun[1:])) == "('red') & ('cro':*)"
    assert named("cro", WordSuggestions({}, begun)) == "('cro':*)"
    many = [(f"cro{number}", 20) for number in range(spelling.MAX_READ_COMPLETIONS)]
    assert named("red cro", WordSuggestions({"red": 9}, many)) == "('red') & ('cro':*)"
    assert named("red cro", WordSuggestions({"red": 9}, many[1:])).startswith("('red') & ('cro1' | 'cro2' | ")


def test_a_beginning_of_too_many_words_ranks_and_does_not_exclude() -> None:
    heard = WordSuggestions({"red": 9}, [("church", spelling.MAX_PREFIX_OCCURRENCES), ("chapter", 5)])
    made = spelling.build_query_terms(SearchQuery.parse("red ch"), heard)
    assert [group.word for group in spelling.select_terms_required_in_results(made)] == ["red"]
    (alone,) = spelling.select_terms_required_in_results(spelling.build_query_terms(SearchQuery.parse("ch"), heard))
    assert alone.build_name_tsquery() == "('ch':*)"


def test_what_may_be_a_slip_of_a_weak_word_ranks_and_does_not_exclude() -> None:
    made = spelling.build_query_terms(
        SearchQuery.parse("red cross icn "),
        WordSuggestions({"red": 9, "cross": 9}, similar_words={"icn": [("inc", 900)]}),
    )
    assert [group.word for group in spelling.select_terms_required_in_results(made)] == ["red", "cross"]


def test_what_is_found_elsewhere_has_every_word_somewhere_and_not_all_of_them_in_its_name() -> None:
    one = spelling.build_query_terms(SearchQuery.parse("red "), WordSuggestions({"red": 9}))
    assert spelling.build_all_terms_alternatives_by_field(one) == (
        (("('red')",),),
        (("((('@red') | ('#red'))) & !(('red'))",),),
    )
    assert spelling.build_all_terms_alternatives_by_field(one, "'~red':*")[1] == (
        ("((('@red') | ('#red')) | '~red':*) & !(('red'))",),
    )
    assert spelling.build_all_terms_alternatives_by_field([], "'~red':*") == ((), (("'~red':*",),))
    assert spelling.build_all_terms_alternatives_by_field([]) == ((), ())
    red, cross = (f"(('@{word}') | ('#{word}'))" for word in ("red", "cross"))
    red_anywhere, cross_anywhere = f"(('red') | {red})", f"(('cross') | {cross})"
    missing = "!(('cross') & ('red'))"
    two = spelling.build_query_terms(SearchQuery.parse("red cross "), WordSuggestions({"red": 9, "cross": 4}))
    assert spelling.build_all_terms_alternatives_by_field(two) == (
        (("('cross')", "('red')"),),
        ((cross_anywhere, red_anywhere, missing),),
    )
    common = spelling.build_query_terms(
        SearchQuery.parse("red cross "), WordSuggestions({"red": 90_000, "cross": 80_000})
    )
    assert spelling.build_all_terms_alternatives_by_field(common)[1] == (
        (cross, red_anywhere, missing),
        (red, cross_anywhere, missing),
    )


def test_the_rarest_words_are_asked_for() -> None:
    heard = WordSuggestions({f"word{nth}": 100 - nth for nth in range(9)})
    asked = spelling.select_terms_required_in_results(
        spelling.build_query_terms(SearchQuery.parse(" ".join(heard.known_word_counts) + " "), heard)
    )
    assert [group.word for group in asked] == [f"word{nth}" for nth in range(9 - spelling.MAX_REQUIRED_TERMS, 9)]


def test_a_word_that_nobody_knows_is_repaired_or_left_out() -> None:
    heard = WordSuggestions({"cross": 9}, similar_words={"rad": [("red", 5), ("bad", 900)]})
    assert "('rad' | 'bad' | 'red')" in named("rad xyzzy cross ", heard)
    assert [
        group.is_unmatched for group in spelling.build_query_terms(SearchQuery.parse("rad xyzzy cross"), heard)
    ] == [
        False,
        True,
        False,
    ]


def test_two_words_may_be_one_and_one_may_be_two() -> None:
    assert "'redcross'" in named("redc ross club ", WordSuggestions({"redcross": 3, "club": 3}))
    assert spelling.known_compound_splits("redcross", {"red": 5, "cross": 3}) == [("red cross", 3)]
    assert "('red' & 'cross')" in named("redcross ", WordSuggestions(similar_words={"redcross": [("red cross", 3)]}))


def test_one_of_three_words_may_be_spared_while_they_are_not_too_common() -> None:
    made = spelling.build_query_terms(
        SearchQuery.parse("red cross club "), WordSuggestions({"red": 1, "cross": 2, "club": 3})
    )
    red, cross, club = "(('red') | ('@red'))", "(('cross') | ('@cross'))", "(('club') | ('@club'))"
    assert spelling.build_all_but_n_terms_alternatives(made, 1) == ((red, cross), (red, club), (cross, club))
    assert spelling.build_all_but_n_terms_alternatives(made[:2], 1) is None
    common = spelling.build_query_terms(
        SearchQuery.parse("red cross club "), WordSuggestions(dict.fromkeys(("red", "cross", "club"), 75_000))
    )
    assert spelling.is_query_fast_enough(common)
    assert spelling.build_all_but_n_terms_alternatives(common, 1) is None


def test_one_word_is_enough_of_the_rarest_that_are_not_common() -> None:
    counts = {"red": 30_000, "cross": 9_000, "club": 8_000, "wyoming": 7_000, "of": 6_000, "laramie": 2_000}
    made = spelling.build_query_terms(SearchQuery.parse("red cross club wyoming laramie "), WordSuggestions(counts))
    assert spelling.build_any_term_alternatives(made) == (("('laramie') | ('wyoming') | ('club')",),)
    assert spelling.build_any_term_alternatives(made[:3]) == (("('club') | ('cross')",),)
    assert spelling.build_any_term_alternatives(made[:1]) is None


@pytest.mark.parametrize(
    ("slip", "word"),
    [("untied", "united"), ("smithsonain", "smithsonian"), ("internatinal", "international"), ("cros", "cross")],
)
def test_a_slip_is_repaired(slip: str, word: str) -> None:
    known = [(word, 5), ("unrelated", 900), (slip + "xxxx", 3)]
    assert spelling.rank_corrections(slip, known) == (word,)


def left(word: str) -> set[str]:
    """The word and what is left of it without any one letter, as the index has it of known words."""
    return {word, *(word[:at] + word[at + 1 :] for at in range(len(word)))}


@pytest.mark.parametrize(
    ("slips", "word"),
    [("afimly", "family"), ("qeuaflity", "equality"), ("udczks", "ducks"), ("wrevtlsing", "wrestling")],
)
def test_two_slips_in_one_word_leave_something_of_it(slips: str, word: str) -> None:
    assert left(word) & set(spelling.two_edit_variants(slips))
    assert not left(word) & left(slips)
    assert spelling.rank_corrections(slips, [(word, 5)]) == (word,)


@pytest.mark.parametrize("other", ["zero", "zeta", "veba", "era"])
def test_a_short_word_has_no_two_slips(other: str) -> None:
    assert spelling.rank_corrections("zebra", [(other, 900)]) == ()
    assert spelling.rank_corrections(other, [("zebra", 900)]) == ()


def test_of_equally_near_words_the_commoner_comes_first_and_six_are_enough() -> None:
    known = [("hopa", 1), ("hope", 50), ("hops", 7), *((f"hop{letter}", 0) for letter in "bcdfgjkl")]
    assert spelling.rank_corrections("hopx", known)[:3] == ("hope", "hops", "hopa")
    assert len(spelling.rank_corrections("hopx", known)) == spelling.MAX_CORRECTIONS


@pytest.mark.parametrize("word", ["32", "4h", "st", "5a"])
def test_numbers_and_short_words_are_taken_as_they_stand(word: str) -> None:
    assert not spelling.is_correctable_word(word)


def candidate(
    nth: int, name: str, *, tier: int = 3, other: str = "", place: str = "", rank: int = 109
) -> SearchCandidate:
    return SearchCandidate(UUID(int=nth), tier, name, other, place, rank)


def order(query: str, *candidates: SearchCandidate) -> list[int]:
    return [placed.id.int for placed in ResultRanker(SearchQuery.parse(query)).rank_candidates(candidates)]


def test_the_whole_name_is_before_a_longer_one_and_words_as_typed_before_alike_ones() -> None:
    found = order(
        "red cross",
        candidate(1, "red crass"),
        candidate(2, "friends of the red cross of casper"),
        candidate(3, "red cross"),
        candidate(4, "cross red"),
    )
    assert found[:2] in ([3, 4], [4, 3])
    assert found[2:] == [2, 1]


def test_a_number_is_before_any_name() -> None:
    assert order("123456789", candidate(1, "123456789"), candidate(2, "something else", tier=0)) == [2, 1]


def test_the_second_line_of_a_name_counts() -> None:
    query = "parents against tired truckers"
    assert order(query, candidate(1, "parents against"), candidate(2, "p a t t", other=query)) == [2, 1]


def test_initials_are_before_slips_of_the_pen() -> None:
    names = ("b nai b rith", "national congress of american indians fund", "national congress of american indians")
    several = [candidate(nth, name) for nth, name in enumerate(names, 1)]
    assert order("ncai", *several) == [3, 2, 1]
    first, second, _ = ResultRanker(SearchQuery.parse("ncai")).rank_candidates(several)
    assert (
        (first.found_by, first.has_all_words_as_typed)
        == (second.found_by, second.has_all_words_as_typed)
        == ("initials", True)
    )
    assert order("aclu", candidate(1, "american civil liberties union"), candidate(2, "aclu of wyoming", tier=2)) == [
        2,
        1,
    ]


def test_a_name_that_begins_with_what_is_typed_stays_first_from_key_to_key() -> None:
    name = "american national red cross"
    others = [
        candidate(1, "native american jump start", place="lander wy"),
        candidate(2, "psi chi the national honor society", other="american nati"),
        candidate(3, "american legion", other="na post 4"),
    ]
    for typed in range(len("american n"), len(name) + 1):
        assert order(name[:typed], *others[::2], candidate(9, name, tier=2))[0] == 9, name[:typed]


def test_a_place_on_the_second_line_is_not_the_name() -> None:
    zonta = candidate(1, "zonta international", other="washington", place="washington dc 20036")
    assert order("washington", zonta, candidate(2, "washington bach consort", tier=2)) == [2, 1]


def test_equal_names_stand_by_rank_then_id() -> None:
    same = [candidate(3, "lions club"), candidate(1, "lions club"), candidate(2, "lions club", rank=100)]
    assert order("lions club", *same) == order("lions club", *same[::-1]) == [2, 1, 3]


def test_active_bodies_are_before_others_and_central_ones_before_their_branches() -> None:
    found = order(
        "lions club of casper wyoming",
        candidate(1, "lions club of casper wy", rank=309),
        candidate(2, "lions club of casper wy", rank=109),
        candidate(3, "lions club of casper wy", rank=9),
    )
    assert found == [3, 2, 1]


def test_a_place_that_is_typed_counts_for_the_body_that_is_there() -> None:
    here = candidate(2, "first baptist church", place="dallas tx 75201", tier=4)
    there = candidate(1, "first baptist church", place="waco tx 76701", tier=4)
    assert order("first baptist church dallas", there, here) == [2, 1]
    (placed,) = ResultRanker(SearchQuery.parse("first baptist church dallas")).rank_candidates([here])
    assert (placed.found_by, placed.similarity, placed.has_all_words_as_typed) == ("place", 100, True)


def test_a_word_of_name_and_place_counts_for_the_place_if_it_is_typed_twice() -> None:
    here = candidate(2, "washington bach consort", place="washington dc dc 20036", tier=4)
    there = candidate(1, "washington bach consort", place="jericho vt 05465", tier=4)
    assert order("washington bach consort washington dc", there, here) == [2, 1]
    (placed,) = ResultRanker(SearchQuery.parse("washington bach consort washington dc")).rank_candidates([here])
    assert placed.similarity == 100
    (without,) = ResultRanker(SearchQuery.parse("washington bach consort")).rank_candidates([here])
    assert (without.found_by, without.similarity) == ("words", 100)


def test_a_state_that_is_typed_beside_a_name_is_found_by_its_code() -> None:
    heard = WordSuggestions({"food": 9, "bank": 8, "wyoming": 2, "wy": 5, "york": 3, "ny": 7})
    *_, wyoming = spelling.build_query_terms(SearchQuery.parse("food bank wyoming"), heard)
    assert (wyoming.build_name_tsquery(), wyoming.build_place_or_description_tsquery(), wyoming.total_occurrences) == (
        "('wyoming')",
        "(('@wyoming' | '@wy') | ('#wyoming'))",
        7,
    )
    assert wyoming.build_name_or_place_tsquery() == "(('wyoming') | ('@wyoming' | '@wy'))"
    assert SearchQuery.parse("food bank new york").state_codes_by_word == {"new": "ny", "york": "ny"}
    assert SearchQuery.parse("west virginia food bank").state_codes_by_word == {"west": "wv", "virginia": "wv"}
    for typed in ("wyoming", "new york", "mass food bank", "food bank wyo"):
        assert SearchQuery.parse(typed).state_codes_by_word == {}, typed
    here, there = candidate(2, "food bank", place="casper wy 82601"), candidate(1, "food bank", place="waco tx 76701")
    assert order("food bank wyoming", there, here) == [2, 1]
    (placed,) = ResultRanker(SearchQuery.parse("food bank wyoming")).rank_candidates([here])
    assert (placed.found_by, placed.similarity, placed.has_all_words_as_typed) == ("place", 100, True)


@pytest.mark.parametrize(
    ("typed", "listed"),
    [
        ("n dakota farmers", "north dakota farmers"),
        ("north hudson club", "n hudson club"),
        ("geo washington univ", "george washington university"),
        ("william penn house", "wm penn house"),
        ("first presbyterian church", "first pres church"),
        ("mt zion miss bapt church", "mount zion missionary baptist church"),
        ("so cal food bank", "southern california food bank"),
        ("phila orchestra", "philadelphia orchestra"),
        ("sw youth services", "southwest youth services"),
    ],
)
def test_what_is_short_is_looked_for_as_the_whole_word_and_the_other_way_round(typed: str, listed: str) -> None:
    heard = WordSuggestions(dict.fromkeys(listed.split(), 5))
    made = spelling.build_query_terms(SearchQuery.parse(f"{typed} "), heard)
    assert all(set(group.spellings) & set(listed.split()) for group in made)
    (placed,) = ResultRanker(SearchQuery.parse(f"{typed} ")).rank_candidates([candidate(1, listed)])
    assert placed.has_all_words_as_typed


def test_what_mostly_means_something_else_is_not_looked_for() -> None:
    heard = WordSuggestions(dict.fromkeys(("south", "s", "north", "n", "no", "miss", "missionary", "shore"), 5))
    for typed, spellings in (("south", ("south",)), ("north", ("north", "n")), ("missionary", ("missionary",))):
        first, _ = spelling.build_query_terms(SearchQuery.parse(f"{typed} shore "), heard)
        assert first.spellings == spellings
    (alone,) = spelling.build_query_terms(SearchQuery.parse("north "), heard)
    assert alone.spellings == ("north",)


@given(lists(tuples(sampled_from(["red cross", "red cros", "the red cross", "cross"]), integers(0, 309)), max_size=8))
def test_the_order_does_not_depend_on_how_candidates_came(made: list[tuple[str, int]]) -> None:
    several = [candidate(nth, name, rank=rank) for nth, (name, rank) in enumerate(made)]
    assert order("red cross", *several) == order("red cross", *several[::-1])


def test_donations_go_to_listed_nonprofits() -> None:
    assert can_receive_donations(("nonprofit", "education"), active=True)
    assert not can_receive_donations(("nonprofit",), active=False)
    assert not can_receive_donations(("social_impact",), active=True)
    assert not can_receive_donations((), active=True)


def test_an_organisation_receives_its_own_currency_and_three_of_the_world() -> None:
    assert donation_currencies_of_country("USA") == ("USD", "EUR", "GBP")
    assert donation_currencies_of_country("KEN") == ("KES", "USD", "EUR", "GBP")
    assert donation_currencies_of_country("ATA") == ("USD", "EUR", "GBP")


def test_countries_have_three_letter_codes_names_and_endonyms() -> None:
    assert len(COUNTRIES) == 250
    assert list(COUNTRIES) == sorted(COUNTRIES)
    assert all(len(code) == 3 and code.isupper() and country.name for code, country in COUNTRIES.items())
    assert COUNTRIES["CHE"].endonyms["fr"] == "Suisse"
    assert COUNTRIES["DEU"].endonyms == {"de": "Deutschland"}
    assert (currency_of_country("JPN"), currency_of_country("ZZZ")) == ("JPY", None)
