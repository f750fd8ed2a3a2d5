"""Strip the legal forms of nonprofits, in their official languages and scripts, from the ends of a name.

Forms in other scripts are stripped before romanisation: without vowels or blanks they could not be told from the name,
and two letters (БО) are words in other languages. Latin forms are recognised by their words, like those of companies. A
form that is as often an ordinary word (Fund, CTR) stays in the name; names that differ only in it are equal.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Final, NamedTuple

from almoner.screening.matching.spelling import normalise_text

_TABLE: Final = files("almoner.screening.matching") / "data" / "nonprofit_forms.tsv"
_MARKS: Final = "<?!"
_SHORT: Final = 3
_LETTERS_OF_AN_ABBREVIATION: Final = 5
_BESIDE: Final = r"""[\s\-\u2010-\u2015\u00b7.,:;/|"'«»‟‹›()\[\]{}「」『』【】〔〕、。・]"""
_INVISIBLE: Final = re.compile("[\u0640\u064b-\u0652\u0591-\u05bd\u05bf-\u05c7\u200b-\u200f\u2060\ufeff]")
_ONE_SPELLING: Final = {
    **{ord(quote): '"' for quote in "“”„״"},
    **{ord(quote): "'" for quote in "‘’׳"},
    **dict(zip(map(ord, "ةىیکأإآؤئё"), "هييكاااويе", strict=True)),
    **dict(zip(map(ord, "άέήίόύώϊϋΐΰς"), "αεηιουωιυιυσ", strict=True)),
}
"""Letters with several spellings, folded to one: Greek capitals lose their accents, Persian letters become Arabic."""
_GLUED: Final = (("HANGUL", 4), ("CJK", 3), ("HIRAGANA", 3), ("THAI", 4), ("LAO", 4), ("KHMER", 4), ("MYANMAR", 4))
"""Scripts without blanks between form and name, and the fewest letters of a form recognised without one."""
_CASED: Final = ("CYRILLIC", "GREEK")
_LETTERS_BESIDE_A_GLUED_FORM: Final = 4
_NOT: Final = "no"
"""A form after a name (n.o.), but a negation before it: NO KILL SHELTER."""
_NO_FORM_BEFORE: Final = frozenset("of for to in on and the against".split())
"""Words after which a first word is no form: ASSOCIATION FOR ..."""


class LatinLegalForm(NamedTuple):
    """A legal form in Latin letters.

    ``is_ambiguous``: it may be an ordinary word. ``is_prefix``: it stands in front of a name only.
    """

    words: tuple[str, ...]
    kind: str
    is_ambiguous: bool
    is_prefix: bool


def _rows() -> Iterator[tuple[str, str, str]]:
    """(kind, form, marks) of each form in the table."""
    for line in _TABLE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            _, _, kind, forms, _ = line.split("\t")
            for form in forms.split("; "):
                bare = form.rstrip(_MARKS)
                yield kind, bare, form[len(bare) :]


def _is_latin(form: str) -> bool:
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in form if letter.isalpha())


@cache
def latin_legal_forms() -> tuple[LatinLegalForm, ...]:
    """All forms in Latin letters."""
    found = []
    for kind, form, marks in _rows():
        if _is_latin(form):
            words = tuple(normalise_text(form).split())
            short = len(words) == 1 and len(words[0]) <= _SHORT and "!" not in marks
            found.append(LatinLegalForm(words, kind, short or "?" in marks or "<" in marks, "<" in marks))
    return tuple(found)


def _plain(text: str) -> str:
    """The text without invisible characters and without optional vowel marks."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def fold_letter_variants(text: str) -> str:
    """The text in lower case with one spelling of each letter; its length stays the same."""
    return text.lower().translate(_ONE_SPELLING)


def _pattern(folded: str, form: str) -> tuple[str, bool]:
    """(pattern, whether it may stand without a blank beside the name)."""
    if folded.startswith("(") and folded.endswith(")"):
        return rf"\(\s*{re.escape(folded[1:-1])}\s*\)", True
    if '"' in folded:
        return r"(?:\"|''|'|\.\s?)".join(map(re.escape, folded.split('"'))) + r"\.?", False
    letters = form.replace(".", "")
    if len(letters) <= _LETTERS_OF_AN_ABBREVIATION and all(map(str.isupper, letters)):
        return r"(?:\.\s?)?".join(map(re.escape, fold_letter_variants(letters))) + r"\.?", False
    script = unicodedata.name(folded[-1], "")
    glued = any(script.startswith(name) and len(folded) >= least for name, least in _GLUED)
    return r"\s+".join(map(re.escape, folded.split())), glued


@cache
def _native_forms() -> tuple[dict[str, str], re.Pattern[str], re.Pattern[str]]:
    """(kinds by folded form, pattern in front of a name, pattern behind it)."""
    kinds: dict[str, set[str]] = {}
    glued: dict[str, int] = {}
    apart: dict[str, int] = {}
    for kind, form, _ in _rows():
        if not _is_latin(form):
            folded = fold_letter_variants(_plain(form))
            pattern, sticks = _pattern(folded, form)
            kinds.setdefault(_letters(folded), set()).add(kind)
            (glued if sticks else apart)[pattern] = len(folded)

    def either(patterns: Mapping[str, int]) -> str:
        return "|".join(sorted(patterns, key=lambda pattern: (-patterns[pattern], pattern)))

    edge = f"(?={_BESIDE}|$)"
    front = re.compile(f"{_BESIDE}*(?:({either(apart)}){edge}|({either(glued)})){_BESIDE}*")
    behind = re.compile(f"(?:(?:{_BESIDE}|^)({either(apart)})|({either(glued)})){_BESIDE}*$")
    return {form: "|".join(sorted(found)) for form, found in kinds.items()}, front, behind


@cache
def _glued_forms() -> tuple[frozenset[str], re.Pattern[str], re.Pattern[str]]:
    """Cyrillic and Greek forms without a blank beside the name: (short ones, pattern in front, pattern behind it)."""
    forms = {
        fold_letter_variants(_plain(form)) for _, form, _ in _rows() if unicodedata.name(form[0], "").startswith(_CASED)
    }
    long = sorted((form for form in forms if len(_letters(form)) >= _SHORT), key=lambda form: (-len(form), form))
    either, rest = "|".join(_pattern(form, form)[0] for form in long), f"\\w{{{_LETTERS_BESIDE_A_GLUED_FORM}}}"
    front, behind = re.compile(f"{_BESIDE}*(?:{either})(?={rest})"), re.compile(f"(?<={rest})(?:{either}){_BESIDE}*$")
    return frozenset(map(_letters, forms.difference(long))), front, behind


def strip_attached_legal_form(name: str) -> str | None:
    """The name without a Cyrillic or Greek form that stands at an end without a blank; None if there is none.

    It may be part of a word: ФОНДНАДЕЖДА and ФОНДОВЫЙ. A form of two letters has capitals before a capitalised word.
    """
    text = _plain(name)
    short, front, behind = _glued_forms()
    folded = fold_letter_variants(text)
    if text[:2].isupper() and text[2:4].istitle() and folded[:2] in short:
        return text[2:]
    if met := front.match(folded):
        return text[met.end() :]
    return text[: met.start()] if (met := behind.search(folded)) else None


def _letters(form: str) -> str:
    return "".join(letter for letter in form if letter.isalnum() or unicodedata.category(letter).startswith("M"))


def separate_name_from_non_latin_legal_forms(name: str) -> tuple[str, frozenset[str]]:
    """Strip legal forms in non-Latin scripts from the ends of a name; returns the rest and the forms' kinds."""
    rest = _plain(name)
    kinds, front, behind = _native_forms()
    found: set[str] = set()
    while len(folded := fold_letter_variants(rest)) == len(rest):
        if (met := front.match(folded)) and _letters(folded[met.end() :]):
            rest = rest[met.end() :]
        elif (met := behind.search(folded)) and _letters(folded[: met.start()]):
            rest = rest[: met.start()]
        else:
            break
        found.update(kinds.get(_letters(met.group(1) or met.group(2)), "").split("|"))
    return (rest, frozenset(found - {""})) if found else (name, frozenset())


@cache
def _ambiguous_suffix_forms() -> frozenset[tuple[str, ...]]:
    return frozenset(form.words for form in latin_legal_forms() if form.is_ambiguous and not form.is_prefix)


@cache
def _ambiguous_forms() -> frozenset[tuple[str, ...]]:
    return frozenset(form.words for form in latin_legal_forms() if form.is_ambiguous)


def strip_ambiguous_legal_form(words: Sequence[str]) -> Sequence[str] | None:
    """The words without an ambiguous legal form; None if there is none."""
    for length in (3, 2, 1):
        if len(words) <= length:
            continue
        if tuple(words[-length:]) in _ambiguous_suffix_forms():
            return words[:-length]
        if tuple(words[:length]) in _ambiguous_forms() and words[length] not in _NO_FORM_BEFORE and words[0] != _NOT:
            return words[length:]
    return None
