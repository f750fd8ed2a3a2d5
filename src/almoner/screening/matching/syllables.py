"""Latin spellings of names in Han and Hangul syllables, in a coarse form.

A syllable has several spellings (Xi, Hsi; Chan, Chen; Jong, Jung, Chong), and its consonants alone are too weak. So
whole names are compared, each spelling reduced to what they share: the class of the first consonant, the vowel as open,
front or back, and whether the syllable ends in a nasal.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Final

from almoner.screening.matching import tables
from almoner.screening.matching.spelling import collapse_doubled_letters
from almoner.screening.matching.transcription import compute_latin_sound_similarity

_MOST_SYLLABLES: Final = 5
_MOST_SPELLINGS: Final = 64
"""The maximum number of spellings of a name."""
_FIRST_HANGUL, _LAST_HANGUL = 0xAC00, 0xD7A3
_INITIALS: Final = "K K n T T r m P P S S - C C ch G D F h".split()
_VOWELS: Final = "a ae ya yae EO e yEO ye o wa wae oe yo U wO we wi yU EU EUI I".split()
_FINALS: Final = "- k k k n n n t l k m l l l p l m p p t t ng t t k t p t".split()
"""The letters of Korean systems, in capitals where they differ: see ``transcription``."""
_FAMILIES: Final = {
    "이": "i lee yi ri rhee", "박": "pak park bak", "최": "choe choi", "임": "im lim rim", "노": "no roh",
    "로": "ro no", "류": "ryu yu", "유": "yu ryu", "리": "ri lee yi i", "림": "rim lim im", "정": "chong chung",
    "허": "ho hur", "우": "u woo", "여": "yo ryo", "양": "yang ryang", "라": "ra na", "나": "na ra",
    "용": "yong ryong", "량": "ryang yang", "룡": "ryong yong", "전": "chon chun", "천": "chon chun",
    "강": "kang", "신": "sin shin", "심": "sim shim", "염": "yom", "선": "son sun", "성": "song sung",
    "석": "sok suk", "서": "so suh", "구": "ku koo", "국": "kuk kook", "희": "hee",
}  # fmt: skip
"""Syllables that lists spell in irregular ways, mostly family names."""
_MANDARIN_FAMILIES: Final = {
    "曾": "zeng", "单": "shan", "單": "shan", "解": "xie", "仇": "qiu", "查": "zha", "区": "ou", "區": "ou",
    "朴": "piao", "盖": "ge", "蓋": "ge", "尉": "yu", "万": "wan", "任": "ren", "华": "hua", "洗": "xian",
    "冼": "xian", "翟": "zhai", "缪": "miao", "繆": "miao", "乐": "yue", "樂": "yue", "覃": "qin", "员": "yun",
    "黑": "he", "祭": "zhai", "种": "chong", "重": "chong", "秘": "bi", "折": "she", "繁": "po", "洪": "hong",
    "召": "shao", "宓": "fu", "逄": "pang", "牟": "mu",
}  # fmt: skip
_FAMILY_ALIKE: Final = 0.75
_WADE_GILES: Final = tuple(
    (re.compile(old), new)
    for old, new in (
        (r"^b", "p"), (r"^d", "t"), (r"^g", "k"), (r"^zh|^q|^j", "ch"), (r"^z|^c(?!h)", "ts"), (r"^x", "hs"),
        (r"^r", "j"),
        (r"ong$", "ung"), (r"ian$", "ien"), (r"^tsi$", "tzu"), (r"(?<=ts)i$", "u"), (r"^si$", "szu"), (r"ie$", "ieh"),
    )
)  # fmt: skip
_VOWEL_LETTERS: Final = "aeiouyw"
_LONGEST: Final = 64
_LETTERS: Final = re.compile(r"[^a-z]+")
_PIECES: Final = re.compile(r"[aeiouyw]+|ng|tch|tsz|tz|ts|zh|ch|dj|hs|sh|kh|gh|th|dh|ph|[a-z]")
_CONSONANTS: Final = {
    **dict.fromkeys(("tch", "tsz", "tz", "ts", "zh", "ch", "dj", "j", "z", "c", "q"), "c"),
    **dict.fromkeys(("hs", "sh", "x", "s"), "s"),
    **dict.fromkeys(("kh", "gh", "g", "k"), "k"),
    **dict.fromkeys(("th", "dh", "d", "t"), "t"),
    **dict.fromkeys(("ph", "b", "p", "f"), "p"),
    **dict.fromkeys(("l", "r"), "r"),
    **dict.fromkeys(("ng", "n", "m"), "n"),
    "h": "",
}
_GLIDE: Final = re.compile(r"^(?:[yw]+|[iu](?=[aeiou]))")


def _vowel(cluster: str) -> str:
    """The class of a vowel: open, front or back."""
    vowel = _GLIDE.sub("", cluster)
    if not vowel:
        return "e" if "y" in cluster else "o"
    if vowel[0] == "a":
        return "a" if vowel.strip("a") == "" else "o" if vowel[-1] in "ou" else "e"
    if vowel[0] == "o":
        return "e" if vowel[-1] == "i" else "o"
    return "o" if vowel[-1] in "ou" or vowel[0] == "u" else "e"


@lru_cache(maxsize=65_536)
def compute_coarse_word_spelling(spelling: str) -> str:
    """What all spellings of one word share: ``jong`` and ``chung`` -> ``con``."""
    pieces = _PIECES.findall(_LETTERS.sub("", spelling[:_LONGEST].lower()).replace("wh", "w"))
    classes = (_vowel(piece) if piece[0] in _VOWEL_LETTERS else _CONSONANTS.get(piece, piece) for piece in pieces)
    return collapse_doubled_letters("".join(classes))


def compute_coarse_name_spelling(words: Iterable[str]) -> str:
    """What all spellings of a name share, however it is split into words."""
    return collapse_doubled_letters("".join(map(compute_coarse_word_spelling, words)).replace("nk", "n"))


_HONG_KONG: Final = tuple(
    (re.compile(old), new)
    for old, new in (
        ("yu(?=[nt])", "uE"), ("oeng", "eung"), ("oe", "eu"), ("eoi", "ui"), ("eo", "u"), ("aa$", "aH"), ("aa", "a"),
        ("yu", "u"), ("j", "y"), ("ou", "o"), ("^g", "K"), ("^b", "P"), ("^d", "T"), ("^[zc]", "Z"),
    )
)  # fmt: skip


def _jyutping(one: str) -> str:
    """Convert Jyutping to the spelling of the Hong Kong government: ``can`` -> ``chan``, ``zoeng`` -> ``cheung``."""
    for old, new in _HONG_KONG:
        one = old.sub(new, one)
    return one


def _wade_giles(pinyin: str) -> str:
    """Convert Pinyin to Wade-Giles, as older sources write it: ``xi`` -> ``hsi``, ``zhou`` -> ``chou``."""
    for old, new in _WADE_GILES:
        pinyin = old.sub(new, pinyin)
    return pinyin


@lru_cache(maxsize=4_096)
def _spellings_of(sign: str, *, first: bool) -> tuple[tuple[str, ...], ...]:
    """The spellings of a syllable by system: Korean; or Pinyin, Wade-Giles and Cantonese. ``first``: a family name."""
    number = ord(sign)
    if _FIRST_HANGUL <= number <= _LAST_HANGUL:
        place = number - _FIRST_HANGUL
        by_rule = f"{_INITIALS[place // 588]}{_VOWELS[place % 588 // 28]}{_FINALS[place % 28]}".replace("-", "")
        return (tuple(dict.fromkeys((by_rule, *_FAMILIES.get(sign, "").split()))),)
    mandarin, cantonese = tables.mandarin_and_cantonese_readings(sign) or ((), ())
    if first and sign in _MANDARIN_FAMILIES:
        mandarin = (_MANDARIN_FAMILIES[sign], *mandarin)
    return mandarin, tuple(map(_wade_giles, mandarin)), tuple(map(_jyutping, cantonese))


def is_hangul_or_han_syllable(character: str) -> bool:
    """Whether a character is a Hangul syllable, or a Han character with known readings."""
    return (
        _FIRST_HANGUL <= ord(character) <= _LAST_HANGUL or tables.mandarin_and_cantonese_readings(character) is not None
    )


@lru_cache(maxsize=1_024)
def list_family_and_given_name_romanisations(syllabic_name: str) -> tuple[tuple[str, str], ...]:
    """Ways to spell a syllabic name (family name, given name); empty if it is not one."""
    signs = [sign for sign in syllabic_name if is_hangul_or_han_syllable(sign)]
    if not 1 < len(signs) <= _MOST_SYLLABLES:
        return ()
    ways = [_spellings_of(sign, first=not place) for place, sign in enumerate(signs)]
    found: dict[tuple[str, str], None] = {}
    for options in zip(*ways, strict=False):
        limited: list[tuple[str, ...]] = []
        count = 1
        for one in options:
            known = one[: max(1, _MOST_SPELLINGS // count)]
            count *= max(1, len(known))
            limited.append(known)
        for parts in product(*limited):
            for family in (1, 2) if len(parts) > 3 else (1,):
                found["".join(parts[:family]), "".join(parts[family:])] = None
    return tuple(found)


def compute_coarse_spellings_of_syllabic_name(syllabic_name: str) -> frozenset[str]:
    """Coarse Latin spellings of a name of syllables, with the family name first and last."""
    found = set()
    for family, given in list_family_and_given_name_romanisations(syllabic_name):
        found.add(compute_coarse_name_spelling((family, given)))
        found.add(compute_coarse_name_spelling((given, family)))
    return frozenset(found)


def compute_syllabic_spelling_similarity(syllabic_name: str, latin_words: Sequence[str]) -> float:
    """How well Latin words, in their order, spell a name of syllables; its family name is first or last."""
    best = 0.0
    for family, given in list_family_and_given_name_romanisations(syllabic_name):
        for first, rest in ((latin_words[0], latin_words[1:]), (latin_words[-1], latin_words[:-1])):
            alike = compute_latin_sound_similarity(family, first)
            if alike >= _FAMILY_ALIKE:
                best = max(best, min(alike, compute_latin_sound_similarity(given, "".join(rest))))
    return best
