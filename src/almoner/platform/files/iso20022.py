"""Parses ISO 20022 XML messages, ignoring namespaces and safe against XML attacks.

Banks omit required elements and add unknown ones, so needed elements are looked up by name, and callers report missing
ones. The library is large and imported on first use.
"""

import codecs
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import reduce
from typing import Final, NamedTuple

from lxml import etree
from lxml.etree import _Element as Element

SPACE: Final = "urn:iso:std:iso:20022:tech:xsd:"
_MOST_BYTES: Final = 64 * 1024 * 1024
_MESSAGE: Final = re.compile(r"(?<![a-z])([a-z]{4}\.\d{3}\.\d{3})\.(\d{2})(?!\d)", re.ASCII | re.IGNORECASE)
"""In a namespace. Banks of a country have their own, such as ``ISO:camt.053.001.02:APC:STUZZA:payments:003``."""
_MESSAGES: Final = {
    "BkToCstmrStmt": "camt.053.001.08",
    "BkToCstmrAcctRpt": "camt.052.001.08",
    "BkToCstmrDbtCdtNtfctn": "camt.054.001.08",
    "CstmrPmtStsRpt": "pain.002.001.10",
    "CstmrCdtTrfInitn": "pain.001.001.09",
}
"""Without a namespace, the messages by their element, in the version that most banks use."""
_AROUND: Final = b" \t\r\n\x00\x1a"
"""Blank lines, and what older systems end files with."""
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff", b"<\x00", b"\x00<")
_DECLARED: Final = re.compile(rb"""<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w-]+)""")
_BARE: Final = re.compile(rb"(<!\[CDATA\[.*?(?:]]>|\Z)|<!--.*?(?:-->|\Z))|&(?!#?\w{1,30};)", re.DOTALL)
_CONTROLS: Final = re.compile(rb"[\x01-\x08\x0b\x0c\x0e-\x1f]")
"""What payers typed, and what some banks write as it is: it makes the XML invalid and changes nothing that counts."""
_ENVELOPES: Final = 4
"""The maximum number of envelopes around a message, such as a business message with its header."""


class Iso20022Message(NamedTuple):
    """A message of a type such as ``pain.002.001``, and its element."""

    message_type: str
    version: int
    element: Element


class MessageRefused(Exception):
    """The file is not an ISO 20022 message of the expected kind; the message says why."""


def build_safe_xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """An XML parser that allows no document type, entities or external resources.

    ``encoding``: instead of the one that the file declares.
    """
    return etree.XMLParser(
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )


def parse_message(content: bytes) -> Iso20022Message:
    """Parse the message in a file. Raises MessageRefused."""
    if len(content) > _MOST_BYTES:
        raise MessageRefused(f"it has more than {_MOST_BYTES // 1024 // 1024} MB")
    if not content.startswith(_UTF_16):
        content = content.strip(_AROUND).removeprefix(codecs.BOM_UTF8).lstrip(_AROUND)
    root = _parsed(content)
    if root.getroottree().docinfo.doctype:
        raise MessageRefused("it has a document type (<!DOCTYPE>), which no bank writes, and is not read")
    around = [root]
    for _ in range(_ENVELOPES):
        for one in around:
            name = etree.QName(one)
            found = _MESSAGE.search(name.namespace or "") or _MESSAGE.search(_MESSAGES.get(name.localname, ""))
            if found and not found[1].lower().startswith("head."):
                inside = child_elements(one)
                is_document = name.localname == "Document"
                if is_document and not inside:
                    raise MessageRefused(f"its {found[0]} is empty")
                return Iso20022Message(found[1].lower(), int(found[2]), inside[0] if is_document else one)
        around = [inner for one in around for inner in child_elements(one)]
    raise MessageRefused("it is another kind of XML than the messages of banks (ISO 20022)")


def _parsed(content: bytes) -> Element:
    """The root element. Raises MessageRefused."""
    try:
        return _parsed_as_it_is(content)
    except etree.XMLSyntaxError as error:
        repaired = content if content.startswith(_UTF_16) else _BARE.sub(_escaped, _CONTROLS.sub(b" ", content))
        if repaired != content:
            with suppress(etree.XMLSyntaxError):  # if it is broken elsewhere, too
                return _parsed_as_it_is(repaired)
        is_xml = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] == b"<"
        raise MessageRefused(f"its XML is broken in line {error.lineno}" if is_xml else "it is no XML") from error


def _escaped(found: re.Match[bytes]) -> bytes:
    """A bare ampersand; a CDATA section or comment as it is."""
    return found[1] or b"&amp;"


def _parsed_as_it_is(content: bytes) -> Element:
    try:
        return etree.fromstring(content, build_safe_xml_parser(_encoding(content)))
    except (ValueError, LookupError) as error:
        raise MessageRefused("its characters cannot be read") from error


def _encoding(content: bytes) -> str | None:
    """The encoding of a file that is not in UTF-8, though it declares it or none; None to believe the file."""
    if content.startswith(_UTF_16) or ((declared := _DECLARED.match(content)) and declared[1].lower() != b"utf-8"):
        return None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return None


def child_elements(element: Element, name: str | None = None) -> list[Element]:
    """The child elements, all or those with a local name."""
    return [inner for inner in element if name is None or etree.QName(inner).localname == name]


def find_element_by_path(element: Element | None, *names: str) -> Element | None:
    """The first element at a path of local names, or None."""

    def step(at: Element | None, name: str) -> Element | None:
        return next(iter(child_elements(at, name)), None) if at is not None else None

    return reduce(step, names, element)


def find_elements_by_path(element: Element | None, *names: str) -> list[Element]:
    """All elements at a path of local names."""
    found = [element] if element is not None else []
    for name in names:
        found = [inner for outer in found for inner in child_elements(outer, name)]
    return found


def element_text_at_path(element: Element | None, *names: str) -> str | None:
    """The text at a path of local names, whitespace collapsed; None if missing or empty."""
    found = find_element_by_path(element, *names)
    return " ".join((found.text or "").split()) or None if found is not None else None


def descendant_texts(element: Element | None) -> Iterator[str]:
    """Every text in an element and its descendants, in order."""
    for inner in element.iter() if element is not None else ():
        if text := " ".join((inner.text or "").split()):
            yield text
