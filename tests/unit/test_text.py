"""What people type, and what a terminal is given of it."""

import pytest

from almoner.cli.tables import Table
from almoner.kit.text import clean_ascii_code, clean_json_texts, clean_text, prevent_autolinking, sanitise_for_terminal

ESCAPE, OVERRIDE, JOINER, LINE = "\x1b[2J", "\u202e", "\u200d", "\u2028"


def test_a_typed_text_has_no_control_characters_and_keeps_joiners() -> None:
    assert clean_text(f" Ada{ESCAPE}\x00Example ") == "Ada[2JExample"
    assert clean_text("one\r\ntwo\x00", keep_line_breaks=True) == "one\ntwo"
    assert clean_text(f"क्{JOINER}ष") == f"क्{JOINER}ष"


@pytest.mark.parametrize("gap", ["\t", "\n", "\r\n", "\r", " \t ", "\x0b", "\x85", "\u2028", "\t\n\t"])
def test_what_parts_words_is_a_blank_between_them(gap: str) -> None:
    assert clean_text(f"Marthas{gap}Table{gap}") == "Marthas Table"


def test_a_text_of_several_lines_keeps_them_and_its_tabs_are_blanks() -> None:
    assert clean_text("one\ttwo\n\nthree  four\n", keep_line_breaks=True) == "one two\n\nthree  four"


@pytest.mark.parametrize("end", ["\r\n", "\r", "\x85", "\u2028", "\u2029"])
def test_the_line_breaks_of_every_system_are_kept_as_one(end: str) -> None:
    assert clean_text(f"one{end}two{end}{end}three{end}", keep_line_breaks=True) == "one\ntwo\n\nthree"


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b", "\x9b", OVERRIDE, JOINER, LINE, "\u2029", "\ufeff"])
def test_a_terminal_is_given_one_line(sign: str) -> None:
    assert sanitise_for_terminal(f"Ada{sign}Example") == "Ada Example"


@pytest.mark.parametrize(
    ("text", "parted"),
    [
        ("See https://evil.example/x now", "See https|:|/|/evil|.|example/x now"),
        ("www.evil.example", "www|.|evil|.|example"),
        ("www.4.example ｗｗｗ．4", "www|.|4|.|example ｗｗｗ|．|4"),
        ("a@evil.example", "a|@|evil|.|example"),
        ("tel:+4490, mailto:ada", "tel|:|+4490, mailto|:|ada"),
        ("शादी.com", "शादी|.|com"),
        ("пример.рф", "пример|.|рф"),
        ("cafe\u0301.com", "cafe\u0301|.|com"),
        ("evil。com ｅｖｉｌ．ｃｏｍ", "evil|。|com ｅｖｉｌ|．|ｃｏｍ"),
        ("http：／／a", "http|：|／|／a"),
        ("192.0.2.7/login 12.345.678/0001-90", "192|.|0.2.7/login 12.345.678/0001-90"),
        (r"\\evil\share", r"|\|\evil\share"),
        ("Dr.Who, e.V., 10:30, 9/11, £1,234.50, Inc.”", "Dr|.|Who, e.V., 10:30, 9/11, £1,234.50, Inc.”"),
        (f"Ada{OVERRIDE} B. Example, Inc.", "Ada B. Example, Inc."),
        (f"क्{JOINER}ष", f"क्{JOINER}ष"),
    ],
)
def test_what_others_have_typed_is_no_link_in_a_mail(text: str, parted: str) -> None:
    assert prevent_autolinking(text) == parted.replace("|", "\u2060")


def test_a_message_forges_no_row_at_an_officers_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    Table(("name", "status"), [(f"Ada\nEve  paid{OVERRIDE}", f"held{ESCAPE}"), ("Bo", None)]).print()
    printed = capsys.readouterr().out
    assert printed.splitlines() == ["name            status", "Ada Eve  paid   held [2J", "Bo              -"]


@pytest.mark.parametrize("place", ["{}Ada", "A{}da", "Ada{}", "{0}A{0}{0}da{0}"])
def test_what_nobody_sees_goes_wherever_it_stands(place: str) -> None:
    unseen = [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x2070), 0xAD, 0x61C, 0xFEFF]
    assert [hex(code) for code in unseen if clean_text(place.format(chr(code))) != "Ada"] == []


@pytest.mark.parametrize(
    "sign", ["\u034f", "\u115f", "\u2800", "\u3164", "\uffa0", "\ufe0f", "\U000e0041", "\U000e0100"]
)
def test_fillers_selectors_and_tags_go_from_what_they_do_not_belong_to(sign: str) -> None:
    assert clean_text(f"A{sign}da{sign}") == "Ada"


@pytest.mark.parametrize(
    "text", ["می‌خواهم", "क्\u200dष", "രാജന്\u200d", "രാജന്\u200d കുമാര്\u200d", "葛\U000e0100城", "٣\u06dd", "❤\ufe0f"]
)
def test_what_belongs_to_its_script_stays(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize("text", ["می\u200c", "\u200dक", "A\u200cb", "م\u200c b", "👩\u200d🌾"])
def test_joiners_that_join_no_letters_of_such_a_script_go(text: str) -> None:
    assert clean_text(text) == text.replace("\u200c", "").replace("\u200d", "")


def test_what_is_kept_is_composed() -> None:
    assert clean_text("Zoe\u0308 A\u030angstro\u034f\u0308m") == "Zoë Ångström"


def test_a_letter_has_no_more_marks_than_any_language_gives_it() -> None:
    assert len(clean_text("a" + "\u0301" * 100_000)) <= 31


@pytest.mark.parametrize(
    "typed", ["SW1A  1AA", "SW1A\u00a01AA", " SW1A\u20091AA\u200b", "ＳＷ１Ａ　１ＡＡ", "SW1A\u202f\u00a01AA"]
)
def test_a_code_has_one_blank_between_its_words(typed: str) -> None:
    assert clean_ascii_code(typed) == "SW1A 1AA"


def test_json_is_cleaned_to_its_last_text() -> None:
    given = {"a\u200b": ["x\u200b", {"b": "e\u0301\n\u202e"}, 1, None, True]}
    assert clean_json_texts(given) == {"a\u200b": ["x", {"b": "é"}, 1, None, True]}
