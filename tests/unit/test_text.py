"""What people type, and what a terminal is given of it."""

import pytest

from almoner.cli.tables import print_table
from almoner.kit.text import clean_text, defuse_links, to_one_line

ESCAPE, OVERRIDE, JOINER, LINE = "\x1b[2J", "\u202e", "\u200d", "\u2028"


def test_a_typed_text_has_no_control_characters_and_keeps_joiners() -> None:
    assert clean_text(f" Ada{ESCAPE}\x00Example ") == "Ada[2JExample"
    assert clean_text("one\r\ntwo\x00", lines=True) == "one\ntwo"
    assert clean_text(f"क्{JOINER}ष") == f"क्{JOINER}ष"


@pytest.mark.parametrize("gap", ["\t", "\n", "\r\n", "\r", " \t ", "\x0b", "\x85", "\u2028", "\t\n\t"])
def test_what_parts_words_is_a_blank_between_them(gap: str) -> None:
    assert clean_text(f"Marthas{gap}Table{gap}") == "Marthas Table"


def test_a_text_of_several_lines_keeps_them_and_its_tabs_are_blanks() -> None:
    assert clean_text("one\ttwo\n\nthree  four\n", lines=True) == "one two\n\nthree  four"


@pytest.mark.parametrize("sign", ["\n", "\r", "\x1b", "\x9b", OVERRIDE, JOINER, LINE, "\u2029", "\ufeff"])
def test_a_terminal_is_given_one_line(sign: str) -> None:
    assert to_one_line(f"Ada{sign}Example") == "Ada Example"


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
    assert defuse_links(text) == parted.replace("|", "\u2060")


def test_a_message_forges_no_row_at_an_officers_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(("name", "status"), [(f"Ada\nEve  paid{OVERRIDE}", f"held{ESCAPE}"), ("Bo", None)])
    printed = capsys.readouterr().out
    assert printed.splitlines() == ["name            status", "Ada Eve  paid   held [2J", "Bo              -"]
