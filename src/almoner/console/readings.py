"""Readings of names in Latin letters, for reviewers. A reading that may be wrong is marked as uncertain.

Chinese characters are read differently in Chinese, Japanese and Korean. Japanese names have no reading that follows
from their characters, apart from kana and some words.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal

from anyascii import anyascii

from almoner.kit.scripts import unicode_scripts_in_text

_CHINESE: Final = frozenset(("CHN", "TWN", "HKG", "MAC", "SGP"))
_HAN: Final = re.compile("[\u3005\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
_KANA: Final = re.compile("[\u3041-\u3096\u30a1-\u30fa]")
_PAIRS: Final = re.compile(r"\S+=[^=]+?(?=\s\S+=|$)")
_WORDS: Final = {
    characters: reading
    for line in """
認定=nintei 特定非営利活動法人=tokutei hieiri katsudō hōjin 法人=hōjin 公益=kōeki 一般=ippan 非営利=hieiri 財団=zaidan
社団=shadan 社会福祉=shakai fukushi 福祉=fukushi 学校法人=gakkō hōjin 医療法人=iryō hōjin 宗教法人=shūkyō hōjin
協会=kyōkai 基金=kikin 協議会=kyōgikai 委員会=iinkai 連盟=renmei 連合=rengō 機構=kikō 学会=gakkai 国際=kokusai
研究所=kenkyūjo/kenkyūsho 支援=shien 教育=kyōiku 災害=saigai 環境=kankyō 自然=shizen 保護=hogo 動物=dōbutsu
平和=heiwa 共同募金=kyōdō bokin 募金=bokin 奨学=shōgaku 文化=bunka 芸術=geijutsu 国境=kokkyō 医師団=ishidan
赤十字社=sekijūjisha 赤十字=sekijūji 日本=nihon/nippon 東京都=tōkyō-to 東京=tōkyō 大阪=ōsaka 京都=kyōto
北海道=hokkaidō 横浜=yokohama 名古屋=nagoya 福岡=fukuoka 広島=hiroshima 沖縄=okinawa
""".strip().splitlines()
    for characters, _, reading in (word.partition("=") for word in _PAIRS.findall(line))
}
"""Japanese words of names of organisations and places, each with its only common reading, or with both."""
_JAPANESE: Final = re.compile(
    "|".join(sorted(_WORDS, key=len, reverse=True)) + f"|(?P<kana>(?:{_KANA.pattern}|ー)+)|(?P<han>{_HAN.pattern}+)"
)
_SYLLABLES: Final = {
    kana: latin
    for line in """
あいうえお=a i u e o かきくけこ=ka ki ku ke ko がぎぐげご=ga gi gu ge go さしすせそ=sa shi su se so
ざじずぜぞ=za ji zu ze zo たちつてと=ta chi tsu te to だぢづでど=da ji zu de do なにぬねの=na ni nu ne no
はひふへほ=ha hi fu he ho ばびぶべぼ=ba bi bu be bo ぱぴぷぺぽ=pa pi pu pe po まみむめも=ma mi mu me mo
らりるれろ=ra ri ru re ro やゆよ=ya yu yo わゐゑをん=wa i e o n ゔ=vu ぁぃぅぇぉ=a i u e o ゃゅょ=ya yu yo
ゎゕゖ=wa ka ke
""".strip().splitlines()
    for row, _, latins in (one.partition("=") for one in _PAIRS.findall(line))
    for kana, latin in zip(row, latins.split(), strict=True)
}
_SMALL_VOWELS: Final = {"ぁ": "a", "ぃ": "i", "ぅ": "u", "ぇ": "e", "ぉ": "o", "ゃ": "ya", "ゅ": "yu", "ょ": "yo"}
_LONG: Final = str.maketrans("aiueo", "āīūēō")


@dataclass(frozen=True, slots=True)
class Romanisation:
    """A text in Latin letters. ``label``: of what kind the reading is. ``note``: why it is uncertain, if it is."""

    label: str
    text: str
    note: str = ""


def romanise_text(text: str, countries: Collection[str], other_texts: Iterable[str] = ()) -> Romanisation | None:
    """Return a reading of a text that is not in Latin letters.

    ``countries``: those of the record, which say whether Chinese characters are Chinese or Japanese. ``other_texts``:
    other texts of the record, since kana says that it is Japanese.
    """
    if not unicode_scripts_in_text(text) - {"LATIN"}:
        return None
    match _language(text, countries, other_texts):
        case "japanese":
            return _read_japanese(text)
        case "chinese":
            return Romanisation("Transliteration (Mandarin Chinese)", anyascii(text))
        case "unknown":
            note = "Uncertain: if this name is Japanese or Korean, its characters are read differently."
            return Romanisation("Transliteration as Mandarin Chinese", anyascii(text), note)
        case _:
            return Romanisation("Transliteration", anyascii(text))


def _language(
    text: str, countries: Collection[str], beside: Iterable[str]
) -> Literal["japanese", "chinese", "unknown", "other"]:
    """The language of Chinese characters and kana; ``other`` without any."""
    if _KANA.search(text):
        return "japanese"
    if not _HAN.search(text):
        return "other"
    if set(countries) == {"JPN"} or any(map(_KANA.search, beside)):
        return "japanese"
    return "chinese" if countries and _CHINESE.issuperset(countries) else "unknown"


def _read_japanese(text: str) -> Romanisation:
    """Read kana and known words. Other Chinese characters stay, because only their bearer knows how they are read."""
    parts, unread, end = [], [], 0
    plain = unicodedata.normalize("NFKC", text)
    for found in _JAPANESE.finditer(plain):
        parts += [plain[end : found.start()].replace("・", " "), " "]
        if found["kana"]:
            parts.append(romanise_kana(found["kana"]))
        elif found["han"]:
            parts.append(found["han"])
            unread.append(found["han"])
        else:
            parts.append(_WORDS[found[0]])
        parts.append(" ")
        end = found.end()
    shown = " ".join("".join([*parts, plain[end:]]).split())
    note = f"Uncertain: {', '.join(dict.fromkeys(unread))} can be read in several ways." if unread else ""
    return Romanisation("Japanese reading", shown, note)


def romanise_kana(kana: str) -> str:
    """Kana in Hepburn romanisation. A long vowel has a macron only where the kana has a mark for it."""
    plain = "".join(chr(ord(sign) - 0x60) if "ァ" <= sign <= "ヶ" else sign for sign in kana)
    latin = ""
    for sign, following in zip(plain, f"{plain[1:]} ", strict=True):
        if sign in _SMALL_VOWELS and latin:
            latin = _joined(latin, _SMALL_VOWELS[sign])
        elif sign == "ー":
            latin = latin[:-1] + latin[-1:].translate(_LONG)
        elif sign == "っ":
            doubled = _SYLLABLES.get(following, "")
            latin += "t" if doubled.startswith("ch") else doubled[:1]
        else:
            latin += _SYLLABLES.get(sign, sign)
            latin += "’" if sign == "ん" and _SYLLABLES.get(following, "n")[0] in "aiueoy" else ""
    return latin


def _joined(latin: str, small: str) -> str:
    """A syllable and the small vowel after it: ``ki`` and ``ya`` as ``kya``, ``fu`` and ``a`` as ``fa``."""
    stem = latin[:-1]
    if stem.endswith(("sh", "ch", "j")):
        return stem + small.removeprefix("y")
    return stem + ("w" if latin.endswith("u") and not stem[-1:].isalpha() else "") + small
