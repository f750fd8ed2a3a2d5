"""Variants of names as people and other registers write them: with typos, reordered, with another legal form."""

import random
import re
import string
from collections.abc import Callable
from typing import Final

_WRITTEN: Final = (
    "kh:h q:k ou:u oo:u ee:i y:i i:y ph:f dh:d gh:g sh:ch ks:x ts:tz w:v j:dj ai:ay iya:ia z:s ll:l mm:m ss:s u:ou o:u "
    "e:i k:c"
)
"""Different romanisations of the same letters."""
_SPELLINGS: Final = [tuple(pair.upper().split(":")) for pair in _WRITTEN.split()]
_FORM: Final = re.compile(
    r",?\s+(INC|LTD|LLC|CORP|CO|S\.?A\.?|LIMITED|COMPANY|GMBH|OOO|PJSC|JSC|OAO|LTDA|S\.?R\.?L)\.?(?=$|\s)",
    re.IGNORECASE,
)
_FORMS: Final = ("Ltd", "LLC", "Inc", "Co., Ltd.")
_SHORTEST: Final = 4


def _slip(word: str, rng: random.Random) -> str:
    place = rng.randrange(len(word))
    letter = rng.choice(string.ascii_uppercase)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:place] + word[place + 1 :]
    if kind == 1:
        return word[:place] + letter + word[place:]
    if kind == 2 or place + 1 == len(word):
        return word[:place] + letter + word[place + 1 :]
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _slips(name: str, count: int, rng: random.Random) -> str:
    words = name.split()
    for _ in range(count):
        places = [place for place, word in enumerate(words) if sum(map(str.isalpha, word)) >= _SHORTEST]
        if places:
            place = rng.choice(places)
            words[place] = _slip(words[place], rng)
    return " ".join(words)


def _turned(name: str, rng: random.Random) -> str:
    words = name.replace(",", " ").split()
    if len(words) < 2:
        return name
    place = rng.randrange(1, len(words))
    return " ".join(words[place:] + words[:place])


def _other_form(name: str, rng: random.Random) -> str:
    bare = _FORM.sub("", name).strip()
    return bare if bare and bare != name else f"{name} {rng.choice(_FORMS)}"


def _other_spelling(name: str, rng: random.Random) -> str:
    upper = name.upper()
    known = [pair for pair in _SPELLINGS if pair[0] in upper]
    if not known:
        return name
    letters, others = rng.choice(known)
    at = rng.choice([found.start() for found in re.finditer(letters, upper)])
    return upper[:at] + others + upper[at + len(letters) :]


KINDS: Final[dict[str, Callable[[str, random.Random], str]]] = {
    "as listed": lambda name, _: name,
    "one slip": lambda name, rng: _slips(name, 1, rng),
    "two slips": lambda name, rng: _slips(name, 2, rng),
    "other order": _turned,
    "other legal form": _other_form,
    "other romanisation": _other_spelling,
}
