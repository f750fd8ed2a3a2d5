"""Sound keys of words in any script: consonant classes that different spellings of a word share.

Scripts without vowels, and Latin spellings of one name, agree at most in their consonants, and only by class: P, B and
F; T and D; K, G and Q. A letter of several classes gives several keys.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import groupby, product
from typing import Final

from anyascii import anyascii

from almoner.screening.matching import tables
from almoner.screening.matching.arabic_article import shorten_abdul, shorten_abdul_prefix
from almoner.screening.matching.domain import PhoneticName
from almoner.screening.matching.nonprofit_forms import fold_letter_variants, separate_name_from_non_latin_legal_forms
from almoner.screening.matching.scripts import scripts_of_character
from almoner.screening.matching.spelling import normalise_text
from almoner.screening.matching.syllables import compute_coarse_spellings_of_syllabic_name

_MOST_KEYS: Final = 6
"""The maximum number of keys of a word; the usual ones come first."""
_WITHOUT_CONSONANTS: Final = frozenset(("--",))
"""The key of a word like YAHYA, in which every letter may be mute."""
_LONGEST_WORD: Final = 32
"""The maximum number of letters of a word that are read."""


def _classes(table: str) -> Mapping[str, tuple[str, ...]]:
    """Parse ``ج:SK`` (S or K); ``-`` marks a letter that may be mute."""
    pairs = (pair.split(":") for pair in table.split())
    return {
        letter: tuple("" if one == "-" else one for one in classes) for letters, classes in pairs for letter in letters
    }


_ARABIC: Final = _classes(
    "اأإآٱءئؤعحهىيیےھۀەۂۃې:- ة:-T وۇۆۈۋ:-P بپفڤڦ:P تدطټډٹڈ:T ثذظض:TS زسصشژچځڅڃڄښ:S ج:SK قكکغخگګڭ:K م:M نںڼ:N ل:L رړڑ:R"
)
_HEBREW: Final = _classes("אעהי:- ו:-P בפף:P תט:T ד:T סשזצץ:S כךקג:K ח:-K מם:M נן:N ל:L ר:R")
_BY_SCRIPT: Final = {"ARABIC": _ARABIC, "HEBREW": _HEBREW}

_LATIN: Final = _classes("bpfv:P td:T sz:S kq:K m:M n:N l:L r:R w:-P j:S-")
_DIGRAPHS: Final[Mapping[str, tuple[str, ...]]] = {
    "tch": ("S",), "sch": ("S",), "dzh": ("S",), "sh": ("S",), "zh": ("S",), "ch": ("S", "K"), "dj": ("S",),
    "ts": ("S",), "tz": ("S",), "cz": ("S",), "dz": ("S",), "th": ("T", "S"), "dh": ("T", "S"), "ph": ("P",),
    "kh": ("K", ""), "gh": ("K", ""), "ck": ("K",), "qu": ("K",), "ge": ("K", "S"), "gi": ("K", "S"), "gy": ("K", "S"),
    "ce": ("S",), "ci": ("S",), "cy": ("S",),
}  # fmt: skip
_ONE_LETTER: Final[Mapping[str, tuple[str, ...]]] = {**_LATIN, "c": ("K", "S"), "g": ("K",), "x": ("KS", "S")}
_PIECES: Final = re.compile("|".join((*_DIGRAPHS, "[a-z]")))
_DOUBLED: Final = re.compile(r"([a-z])\1+")
_ARTICLE: Final = re.compile(r"^[aeu]l(?=.{3})")


def _keys_of(options: Iterable[tuple[str, ...]]) -> frozenset[str]:
    """The keys that letters give, limited in number; beyond the limit, ambiguous letters have their usual class."""
    found: list[tuple[str, ...]] = []
    count = 1
    for option in options:
        read = option if count * len(option) <= _MOST_KEYS else option[:1]
        count *= len(read)
        found.append(read)
    return frozenset(filter(None, map("".join, product(*found)))) or _WITHOUT_CONSONANTS


def compute_latin_sound_keys(word: str) -> frozenset[str]:
    """The keys of a lower-case Latin word: ``qaddafi`` and ``gadhafi`` share one."""
    word = _DOUBLED.sub(r"\1", word[:_LONGEST_WORD])
    found = set(_plain_keys(word))
    for shortened in (shorten_abdul_prefix(shorten_abdul(word)), _ARTICLE.sub("", word)):
        if shortened != word:
            found |= _plain_keys(shortened)
    return frozenset(found)


latin_keys: Final = lru_cache(maxsize=16_384)(compute_latin_sound_keys)


def _plain_keys(word: str) -> frozenset[str]:
    pieces = _PIECES.findall(word)
    return _keys_of(_DIGRAPHS.get(piece) or _ONE_LETTER.get(piece, ("",)) for piece in pieces)


@lru_cache(maxsize=16_384)
def compute_non_latin_sound_keys(word: str, script: str) -> frozenset[str]:
    """The keys of a word in another script."""
    word = word[:_LONGEST_WORD]
    table = _BY_SCRIPT.get(script)
    if table is None:
        return latin_keys("".join(filter(str.isalpha, anyascii(word).lower())))
    found = set(_keys_of(table.get(letter, ("",)) for letter in word))
    if script == "ARABIC":
        word = word.replace("تش", "ش").replace("دج", "ج")
        found |= _keys_of(table.get(letter, ("",)) for letter in word)
        for head in ("ال", "وال", "لل", "عبدال"):
            if word.startswith(head) and len(word) > len(head) + 1:
                kept = "عبد" if head.startswith("عبد") else ""
                found |= _keys_of(table.get(letter, ("",)) for letter in kept + word[len(head) :])
    elif script == "HEBREW" and word.startswith("ה") and len(word) > 3:
        found |= _keys_of(table.get(letter, ("",)) for letter in word[1:])
    return frozenset(found)


_MERGING: Final = frozenset(("KATAKANA", "HIRAGANA", "HANGUL", "CJK", "TAMIL"))
_SYLLABIC: Final = frozenset(("HANGUL", "CJK"))
_POINTED: Final = frozenset(("ARABIC", "HEBREW"))
_UNSPELT: Final = _POINTED | _SYLLABIC
MOST_WORDS: Final = 10
"""The maximum number of words of a name that are read."""
_SERVANT_OF: Final = re.compile(r"\bعبدال(?=\w\w)")
"""A prefix written as one word or two; it is read as two."""
_STOPS: Final = frozenset("بن ابن بنت ولد آل ال و في فی من בן בת של ה".split())
LATIN_STOPS: Final = frozenset(
    "al el ul ud ash as ar an at ad az bin ibn ben bint bt ould uld of the and in for de da do wa e i".split()
)
"""Latin words that the spelling in another script may lack, or join to another word."""


def build_phonetic_name(raw_name: str) -> PhoneticName | None:
    """How a name sounds; None if it is in Latin letters only."""
    if raw_name.isascii():
        return None
    name, _ = separate_name_from_non_latin_legal_forms(raw_name)
    scripts = Counter(script for sign in name for script in scripts_of_character(sign))
    del scripts["LATIN"]
    if not scripts:
        return None
    script = scripts.most_common(1)[0][0]
    plain = strip_diacritics(name) if script in _POINTED else unicodedata.normalize("NFC", name)
    texts = [word for word in _words(_SERVANT_OF.sub("عبد ال", plain)) if word not in _STOPS][:MOST_WORDS]
    spellings = compute_coarse_spellings_of_syllabic_name("".join(texts)) if script in _SYLLABIC else frozenset[str]()
    words = tuple(_keys(word, script) for word in texts)
    native = filter(_is_native_letter, unicodedata.normalize("NFKC", "".join(texts)))
    letters = "".join(sorted(fold_letter_variants("".join(native))))
    forms = () if name is raw_name else set(_words(strip_diacritics(raw_name))) - set(_words(strip_diacritics(name)))
    meant = frozenset[str]().union(*map(tables.find_translations, forms))
    return PhoneticName(
        script, words, tuple(texts), spellings, script in _MERGING, script not in _UNSPELT, letters, meant
    )


def _is_native_letter(sign: str) -> bool:
    return bool(scripts_of_character(sign) - {"LATIN"})


def _keys(word: str, script: str) -> frozenset[str]:
    keys = latin_keys(normalise_text(word)) if word.isascii() else compute_non_latin_sound_keys(word, script)
    return frozenset(map(merge_l_and_r, keys)) if script in _MERGING else keys


def _words(text: str) -> Iterator[str]:
    """Runs of letters with their combining marks."""
    for letters, run in groupby(text, lambda sign: unicodedata.category(sign)[0] in "LM" or sign == "\u200c"):
        if letters:
            yield "".join(run).replace("\u200c", "")


def strip_diacritics(text: str) -> str:
    """A text without points, accents and elongation, which are optional in these scripts."""
    parted = unicodedata.normalize("NFKC", text)
    return "".join(sign for sign in parted if unicodedata.category(sign) not in ("Mn", "Cf") and sign != "\u0640")


def merge_l_and_r(sound_key: str) -> str:
    """A key in which L and R are the same, for scripts that do not distinguish them."""
    return sound_key.replace("L", "R")
