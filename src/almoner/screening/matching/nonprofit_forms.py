"""Legal forms of nonprofits in their official languages and scripts: at an end of a name, long or short.

Forms in other scripts are taken off before letters are romanised: without vowels or blanks nothing would tell them from
the name, and two letters (БО) are words of other languages. Latin ones are known by their words, as those of companies
are. A form that is a word as often (Fund, CTR) stays in the name, and names that differ in nothing else are the same.
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
"""Letters that are written either way: accents of Greek capitals are left out, Persian letters are Arabic ones."""
_GLUED: Final = (("HANGUL", 4), ("CJK", 3), ("HIRAGANA", 3), ("THAI", 4), ("LAO", 4), ("KHMER", 4), ("MYANMAR", 4))
"""Scripts that put no blank between a form and a name, and the letters from which on a form is told without one."""
_NOT: Final = "no"
"""A form behind a name (n.o.), and the contrary of a name before it: NO KILL SHELTER."""
_NO_FORM_BEFORE: Final = frozenset("of for to in on and the against".split())
"""What follows a word at the beginning of an English name that is no form there: ASSOCIATION FOR ..."""


class LatinForm(NamedTuple):
    """A legal form in Latin letters: its words, its kinds, and where it can stand."""

    words: tuple[str, ...]
    kind: str
    doubtful: bool
    front: bool


def _rows() -> Iterator[tuple[str, str, str]]:
    """(kind, form, its marks) of every form."""
    for line in _TABLE.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            _, _, kind, forms, _ = line.split("\t")
            for form in forms.split("; "):
                bare = form.rstrip(_MARKS)
                yield kind, bare, form[len(bare) :]


def _is_latin(form: str) -> bool:
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in form if letter.isalpha())


@cache
def latin_forms() -> tuple[LatinForm, ...]:
    """All forms in Latin letters."""
    found = []
    for kind, form, marks in _rows():
        if _is_latin(form):
            words = tuple(normalise_text(form).split())
            short = len(words) == 1 and len(words[0]) <= _SHORT and "!" not in marks
            found.append(LatinForm(words, kind, short or "?" in marks or "<" in marks, "<" in marks))
    return tuple(found)


def _plain(text: str) -> str:
    """Without signs that are not seen, and vowels of scripts that leave them out."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))


def fold_letters(text: str) -> str:
    """One letter for one: letters that are written either way as one."""
    return text.lower().translate(_ONE_SPELLING)


def _pattern(folded: str, form: str) -> tuple[str, bool]:
    """(how it is found, whether it may stand without a blank beside the name)."""
    if folded.startswith("(") and folded.endswith(")"):
        return rf"\(\s*{re.escape(folded[1:-1])}\s*\)", True
    if '"' in folded:
        return r"(?:\"|''|'|\.\s?)".join(map(re.escape, folded.split('"'))) + r"\.?", False
    letters = form.replace(".", "")
    if len(letters) <= _LETTERS_OF_AN_ABBREVIATION and all(map(str.isupper, letters)):
        return r"(?:\.\s?)?".join(map(re.escape, fold_letters(letters))) + r"\.?", False
    script = unicodedata.name(folded[-1], "")
    glued = any(script.startswith(name) and len(folded) >= least for name, least in _GLUED)
    return r"\s+".join(map(re.escape, folded.split())), glued


@cache
def _native_forms() -> tuple[dict[str, str], re.Pattern[str], re.Pattern[str]]:
    """(kinds by folded form, how one is found in front, and behind)."""
    kinds: dict[str, set[str]] = {}
    glued: dict[str, int] = {}
    apart: dict[str, int] = {}
    for kind, form, _ in _rows():
        if not _is_latin(form):
            folded = fold_letters(_plain(form))
            pattern, sticks = _pattern(folded, form)
            kinds.setdefault(_letters(folded), set()).add(kind)
            (glued if sticks else apart)[pattern] = len(folded)

    def either(patterns: Mapping[str, int]) -> str:
        return "|".join(sorted(patterns, key=lambda pattern: (-patterns[pattern], pattern)))

    edge = f"(?={_BESIDE}|$)"
    front = re.compile(f"{_BESIDE}*(?:({either(apart)}){edge}|({either(glued)})){_BESIDE}*")
    behind = re.compile(f"(?:(?:{_BESIDE}|^)({either(apart)})|({either(glued)})){_BESIDE}*$")
    return {form: "|".join(sorted(found)) for form, found in kinds.items()}, front, behind


def _letters(form: str) -> str:
    return "".join(letter for letter in form if letter.isalnum() or unicodedata.category(letter).startswith("M"))


def strip_native_forms(name: str) -> tuple[str, frozenset[str]]:
    """The name without forms in other scripts than ours at its ends, and their kinds."""
    rest = _plain(name)
    kinds, front, behind = _native_forms()
    found: set[str] = set()
    while len(folded := fold_letters(rest)) == len(rest):
        if (met := front.match(folded)) and _letters(folded[met.end() :]):
            rest = rest[met.end() :]
        elif (met := behind.search(folded)) and _letters(folded[: met.start()]):
            rest = rest[: met.start()]
        else:
            break
        found.update(kinds.get(_letters(met.group(1) or met.group(2)), "").split("|"))
    return (rest, frozenset(found - {""})) if found else (name, frozenset())


@cache
def _doubtful_forms() -> frozenset[tuple[str, ...]]:
    return frozenset(form.words for form in latin_forms() if form.doubtful and not form.front)


@cache
def _leading_forms() -> frozenset[tuple[str, ...]]:
    return frozenset(form.words for form in latin_forms() if form.doubtful)


def strip_doubtful_form(words: Sequence[str]) -> Sequence[str] | None:
    """The words without an ambiguous legal form; None if there is none."""
    for length in (3, 2, 1):
        if len(words) <= length:
            continue
        if tuple(words[-length:]) in _doubtful_forms():
            return words[:-length]
        if tuple(words[:length]) in _leading_forms() and words[length] not in _NO_FORM_BEFORE and words[0] != _NOT:
            return words[length:]
    return None
