"""Makes the readings of Han signs: ``python -m tools.han_readings FOLDER``.

``FOLDER`` holds pypinyin 0.55.0 and ToJyutping 3.2.0 as ``pip install --no-deps --target`` puts them. The service has
neither of them: it needs the readings of single signs alone, which is one small file.
"""

import gzip
import json
import sys
import unicodedata
from pathlib import Path
from typing import Any, Final

TARGET: Final = Path(__file__).parents[1] / "src/almoner/screening/matching/data/han.tsv.gz"
FIRST, LAST = 0x4E00, 0x9FFF
MANDARIN, CANTONESE = 3, 2
"""So many readings of a sign at most, the usual ones first."""


def _plain(pinyin: str) -> str:
    """Without tones: ``lǜ`` -> ``lv``."""
    parted = unicodedata.normalize("NFD", pinyin).replace("u\u0308", "v")
    return "".join(sign for sign in parted if not unicodedata.combining(sign))


def main() -> None:
    """Write the table."""
    folder = Path(sys.argv[1])
    sys.path.insert(0, str(folder))
    import ToJyutping  # type: ignore[import-not-found]

    jyutping: Any = ToJyutping
    pinyin = json.loads((folder / "pypinyin/pinyin_dict.json").read_text())
    lines = []
    for number in range(FIRST, LAST + 1):
        mandarin = list(dict.fromkeys(_plain(one) for one in pinyin.get(str(number), "").split(",") if one))
        [(_, given)] = jyutping.get_jyutping_candidates(chr(number))
        cantonese = list(dict.fromkeys(one.rstrip("0123456789") for one in given or ()))
        if mandarin or cantonese:
            lines.append(f"{chr(number)}\t{','.join(mandarin[:MANDARIN])}\t{','.join(cantonese[:CANTONESE])}")
    TARGET.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    main()
