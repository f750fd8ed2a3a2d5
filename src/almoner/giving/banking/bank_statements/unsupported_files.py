"""Recognises files that people confuse with bank statements, to say what they are and what to ask the bank for."""

import re
import zipfile
from typing import Final

_ASK: Final = "Ask the bank for statements, camt.053 or MT940."
_SAVE: Final = "Save the table as a CSV file, and import that with a mapping."
_UNPACK: Final = "Unpack it first."
_Kinds = tuple[tuple[re.Pattern[bytes], str], ...]


def _kinds(*kinds: tuple[bytes, str]) -> _Kinds:
    return tuple((re.compile(pattern, re.IGNORECASE), kind) for pattern, kind in kinds)


_NO_TABLES: Final = _kinds(
    (rb"%PDF-", f"a PDF document. {_ASK}"),
    (rb"\xd0\xcf\x11\xe0|<\?mso-application|<html[^>]{0,500}office:excel", f"a spreadsheet. {_SAVE}"),
    (
        rb"7z\xbc\xaf|Rar!\x1a|BZh[1-9]1AY&SY|\xfd7zXZ|\x28\xb5\x2f\xfd",
        f"an archive of another kind than zip. {_UNPACK}",
    ),
    (rb"<!doctype html|<html", "a web page, such as the bank's sign-in page. Download the statement again."),
)
_OTHER_TEXTS: Final = _kinds(
    (
        rb"OFXHEADER|(?:<\?xml[^>]{0,200}>\s*)?(?:<\?OFX[^>]{0,200}>\s*)?<OFX>",
        f"OFX, for home accounting. {_ASK}",
    ),
    (rb"!Type:|!Account", f"QIF, for home accounting. {_ASK}"),
    (rb"01,\w*,\w*,\d{6},\d{0,4},[\w,]*/", f"BAI2. {_ASK}"),
    (rb"00000\d{9}05[^\r\n]{112}(?:[\r\n]|$)", f"CODA, as banks in Belgium have. {_ASK}"),
    (rb"01\d{5} {4}\d{5}.{5}", f"CFONB 120, as banks in France have. {_ASK}"),
    (rb"MIME-Version:|-----BEGIN", "signed or encrypted. Take the statement out of it first."),
)
"""A table may begin as these do: they are not looked for if there is a mapping."""
_SNIFFED: Final = 4096


def describe_unsupported_file(content: bytes, *, has_csv_mapping: bool = False) -> str | None:
    """What a file is that is no bank statement, and what to do; None if it is not known.

    ``has_csv_mapping``: there is a mapping for it.
    """
    begin = content[:_SNIFFED].lstrip(b"\xef\xbb\xbf \t\r\n\x00")
    if not begin:
        return "empty. Download it again."
    return next(
        (
            kind
            for pattern, kind in (_NO_TABLES if has_csv_mapping else _NO_TABLES + _OTHER_TEXTS)
            if pattern.match(begin)
        ),
        None,
    )


def describe_unsupported_zip(zip_file: zipfile.ZipFile) -> str | None:
    """What a zip file is that is no archive of statements: spreadsheets and text documents are zip files, too."""
    names = set(zip_file.namelist())
    if "[Content_Types].xml" in names or "mimetype" in names:
        is_table = any(name.startswith("xl/") for name in names) or not any(name.startswith("word/") for name in names)
        return f"a spreadsheet. {_SAVE}" if is_table else f"a text document. {_ASK}"
    return None
