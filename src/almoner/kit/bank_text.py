"""Texts as banks take them in payments: SEPA's basic characters, by the conversion of the EPC (EPC217-08); pure.

Letters with marks become their base letters, other signs the nearest one of the set. What has no form in it (other
scripts, emoji) is left out, and named by ``unsendable``, so that nobody can enter it.
"""

import unicodedata
from typing import Final

_ALLOWED: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-?:().,'+ ")
_LETTERS: Final = dict(
    pair.split("=")
    for pair in (
        "ß=ss ẞ=SS æ=ae Æ=AE œ=oe Œ=OE ø=o Ø=O ð=d Ð=D đ=d Đ=D þ=th Þ=TH ł=l Ł=L ħ=h Ħ=H ı=i ŋ=n Ŋ=N ŧ=t Ŧ=T ĸ=k "
        "ə=a Ə=A ɓ=b Ɓ=B ɗ=d Ɗ=D ƙ=k Ƙ=K ƴ=y Ƴ=Y"
    ).split()
)
_SIGNS: Final = {
    **dict.fromkeys('’‘‛`´ʼʻʽ′"“”„«»‹›″', "'"),
    **dict.fromkeys("–—−‐‑‒―_~/⁄\\|·•", "-"),
    **dict.fromkeys("!#$%*<=>^§¤¦¬°…¡", "."),
    **dict.fromkeys("[{", "("),
    **dict.fromkeys("]}", ")"),
    **dict(pair.split("=") for pair in "&=+ ;=, @=(at) €=EUR £=GBP ¥=JPY ¿=? ©=(C) ®=(R) ™=TM №=No".split()),
}


UNCHANGED: Final = r"\A[A-Za-z0-9?:().,'+-]+( [A-Za-z0-9?:().,'+-]+)*\Z"
"""A regular expression, also for PostgreSQL, that matches only texts that ``to_sepa_text`` does not change."""


def to_sepa_text(text: str, max_length: int | None = None) -> str:
    """A text in the SEPA character set, cut to a length."""
    converted = " ".join("".join(_converted(one) or "" for one in text).split())
    return converted if max_length is None else converted[:max_length].rstrip()


def non_sepa_characters(text: str) -> list[str]:
    """Characters that cannot be converted to the SEPA character set."""
    return list(dict.fromkeys(one for one in text if _converted(one) is None))


def _converted(one: str) -> str | None:
    """The replacement of a character: "" for a combining mark, None if there is no replacement."""
    if one.isspace():
        return " "
    if known := _LETTERS.get(one) or _SIGNS.get(one):
        return known
    if one in _ALLOWED:
        return one
    if unicodedata.category(one) in ("Mn", "Me", "Cf"):
        return ""
    parts = [_LETTERS.get(part, part) for part in unicodedata.normalize("NFKD", one) if not unicodedata.combining(part)]
    found = "".join(_SIGNS.get(part, part) for part in parts)
    return found if found and all(part in _ALLOWED for part in found) else None
