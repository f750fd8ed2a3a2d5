"""Messages of ISO 20022 as they come from outside: the right message and nothing else, without XML's traps.

Large libraries: whoever reads messages imports this module on first use.
"""

from importlib import import_module
from typing import Any, Final

from lxml import etree
from xsdata.exceptions import ParserError
from xsdata.formats.dataclass.parsers import XmlParser
from xsdata.formats.dataclass.parsers.config import ParserConfig
from xsdata.formats.dataclass.parsers.handlers import LxmlEventHandler

SPACE: Final = "urn:iso:std:iso:20022:tech:xsd:"
MOST_BYTES: Final = 64 * 1024 * 1024


class MessageRefused(Exception):
    """What came is no message of the kind that was expected; the message says why."""


def safe_xml_parser() -> etree.XMLParser:
    """Reads no document type, no entity, nothing from elsewhere."""
    return etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False)


def parse_message(content: bytes, message: str, versions: range) -> Any:
    """The document of a message such as ``pain.002.001``, of one of the versions. Raises MessageRefused."""
    if len(content) > MOST_BYTES:
        raise MessageRefused(f"it has more than {MOST_BYTES // 1024 // 1024} MB")
    try:
        tree = etree.fromstring(content, safe_xml_parser()).getroottree()
    except etree.XMLSyntaxError as error:
        raise MessageRefused(f"it is no XML: {error.msg}") from error
    space = (etree.QName(tree.getroot()).namespace or "").removeprefix(SPACE)
    known = {f"{message}.{version:02}" for version in versions}
    if tree.docinfo.doctype or space not in known:
        wanted = f"{message}.{versions[0]:02} to .{versions[-1]:02}"
        raise MessageRefused(f"it is no {wanted} but {space or 'something else'!r}")
    form = import_module(f"pyiso20022.{message.partition('.')[0]}.{space.replace('.', '_')}").Document
    try:
        return XmlParser(ParserConfig(fail_on_converter_warnings=True), handler=LxmlEventHandler).parse(tree, form)
    except (ParserError, TypeError, ValueError) as error:
        raise MessageRefused(f"it is not as its form says: {error}") from error
