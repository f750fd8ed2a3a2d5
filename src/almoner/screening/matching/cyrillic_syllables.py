"""Read Korean and Chinese names back from Cyrillic letters: Ким Чен Ын is 김정은, Дун Цзяньвэй is Dong Jianwei.

Korean names follow Kontsevich's system or the older one, Chinese ones Palladius'. Both write syllables by rule, so only
names made up of such syllables can be read; other names have no reading.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice, product
from typing import Final

_MOST_READINGS: Final = 8
_SYLLABLES: Final = range(2, 5)
"""The numbers of syllables that a name can have."""


def _pairs(table: str) -> dict[str, str]:
    """Parse ``г:0 к:0`` into a mapping."""
    return dict(pair.split(":") for pair in table.split())


_INITIALS: Final = _pairs(
    "г:0 к:0 кк:1 н:2 д:3 т:3 тт:4 р:5 л:5 м:6 б:7 п:7 пп:8 с:9 сс:10 дж:12 чж:12 ч:12 чч:13 чх:14 кх:15 "
    "тх:16 пх:17 х:18"
)
_VOWELS: Final = {
    "а": (0,), "э": (1,), "ай": (1,), "я": (2,), "йя": (2,), "о": (4, 8), "е": (4, 5), "ё": (6, 12), "йе": (7,),
    "ва": (9,), "вэ": (10,), "ве": (11,), "у": (13,), "во": (14,), "ви": (16,), "ю": (17,), "ы": (18,), "ый": (19,),
    "и": (20,),
}  # fmt: skip
_FINALS: Final = {
    "": (0,), "к": (1,), "г": (1,), "н": (21, 4), "нъ": (4,), "нг": (21,), "т": (7,), "ль": (8,), "л": (8,), "м": (16,),
    "п": (17,), "б": (17,),
}  # fmt: skip
_MUTE: Final = 11
_OPEN: Final = "аеёиоуыэюяйь"
"""Letters at the end of an open syllable; a consonant before a vowel starts the next syllable."""
_KOREAN_FAMILIES: Final = frozenset(
    "ким ли ри и пак чхве чхой цой чой чон чан кан чо чжо юн лим рим им хан о со син квон хван ан сон ю "
    "рю хон мун ян пэ пэк хо нам сим но ро ха чу ку мин на чи ом вон чхон пан кон хён пён ё чу до то ма ы "
    "пхё тхэ ён кук чжон чжан".split()
)
_FAMILY_SPELLINGS: Final = {"цой": "чхве", "чой": "чхве", "чхой": "чхве", "и": "ли"}
_PALLADIUS_INITIALS: Final = {
    "б": "b", "п": "p", "м": "m", "ф": "f", "д": "d", "т": "t", "н": "n", "л": "l", "г": "g", "к": "k", "х": "h",
    "цз": "z", "ц": "c", "с": "s", "чж": "zh", "ч": "ch", "ш": "sh", "ж": "r",
}  # fmt: skip
_PALATAL: Final = {"цз": "j", "ц": "q", "с": "x"}
_PALLADIUS_FINALS: Final = _pairs(
    "а:a о:o э:e ай:ai эй:ei ао:ao оу:ou ань:an энь:en ан:ang эн:eng ун:ong эр:er и:i я:ia е:ie яо:iao "
    "ю:iu янь:ian инь:in ян:iang ин:ing юн:iong у:u уа:ua уо:uo уай:uai уй:ui уань:uan унь:un уан:uang "
    "юй:u юэ:ue юань:uan юнь:un ы:i"
)
_WITHOUT_INITIAL: Final = _pairs(
    "а:a ай:ai ань:an ан:ang ао:ao э:e энь:en эр:er оу:ou и:yi я:ya е:ye яо:yao ю:you янь:yan инь:yin "
    "ян:yang ин:ying юн:yong у:wu ва:wa во:wo вай:wai вэй:wei вань:wan вэнь:wen ван:wang вэн:weng юй:yu "
    "юэ:yue юань:yuan юнь:yun"
)
_HARD: Final = frozenset(("г", "к", "х", "д", "т", "н", "л", "чж", "ч", "ш", "ж", "цз", "ц", "с"))
"""Initials after which О is UO."""


@cache
def _palladius() -> dict[str, str]:
    """Mandarin syllables in Cyrillic letters -> Pinyin."""
    found = dict(_WITHOUT_INITIAL)
    for (initial, latin), (final, vowel) in product(_PALLADIUS_INITIALS.items(), _PALLADIUS_FINALS.items()):
        written = _PALATAL[initial] if initial in _PALATAL and final[0] in "ияею" else latin
        found[initial + final] = written + ("uo" if final == "о" and initial in _HARD else vowel)
    return found


@cache
def _kontsevich() -> dict[str, tuple[str, ...]]:
    """Korean syllables in Cyrillic letters -> possible Hangul syllables."""
    initials = {"": _MUTE, **{one: int(place) for one, place in _INITIALS.items()}}
    found: dict[str, tuple[str, ...]] = {}
    for (initial, first), (vowel, vowels), (final, finals) in product(
        initials.items(), _VOWELS.items(), _FINALS.items()
    ):
        signs = tuple(chr(0xAC00 + (first * 21 + middle) * 28 + last) for middle, last in product(vowels, finals))
        found[initial + vowel + final] = signs
    return found


@cache
def _pattern(*, korean: bool) -> re.Pattern[str]:
    known = sorted(_kontsevich() if korean else _palladius(), key=lambda one: (-len(one), one))
    return re.compile("|".join(one if one[-1] in _OPEN else f"{one}(?![{_OPEN[:-2]}])" for one in known))


def _split(word: str, *, korean: bool) -> list[str] | None:
    """Split a word into syllables, longest first; None if a part is no syllable."""
    found: list[str] = []
    place = 0
    while place < len(word):
        if (met := _pattern(korean=korean).match(word, place)) is None:
            return None
        found.append(met[0])
        place = met.end()
    return found


def possible_hangul_or_pinyin_spellings(cyrillic_name: str) -> Iterator[str]:
    """Possible Hangul or Pinyin spellings of a name in lower-case Cyrillic letters."""
    words = re.findall(r"[а-яё]+", cyrillic_name)
    if len(words) > 1 and words[0] in _KOREAN_FAMILIES:
        yield from islice(_korean(words), _MOST_READINGS)
    if len(words) > 1 and (reading := _chinese(words)):
        yield reading


def _korean(words: list[str]) -> Iterator[str]:
    written = [_FAMILY_SPELLINGS.get(words[0], words[0]), *words[1:]]
    syllables = [one for word in written for one in _split(word, korean=True) or [""]]
    if "" not in syllables and len(syllables) in _SYLLABLES:
        yield from map("".join, product(*(_kontsevich()[one] for one in syllables)))


def _chinese(words: list[str]) -> str | None:
    syllables = [_split(word, korean=False) for word in words]
    if not all(syllables) or sum(map(len, filter(None, syllables))) not in _SYLLABLES:
        return None
    return " ".join("".join(_palladius()[one] for one in word or ()) for word in syllables)
