"""Texts on the wire that several records have: language tags, and addresses to which a browser is sent."""

from typing import Annotated, Final

from pydantic import AfterValidator

from almoner.kit import language as languages
from almoner.platform.outbound import addresses

ANY_PORT: Final = addresses.AddressPolicy(loopback=True, ports=range(1, 65536))
"""Somebody's browser goes there, not we: any port will do. Services judge loopback: they know where they run."""


def _language(text: str) -> str:
    if not languages.is_language_tag(text):
        raise ValueError("must be a language tag such as en or pt-BR (RFC 5646)")
    return text


def _browser_address(text: str) -> str:
    try:
        addresses.parse_target(text, ANY_PORT)
    except addresses.AddressRefused as refused:
        raise ValueError(refused.reason) from refused
    return text


LanguageTag = Annotated[str, AfterValidator(_language)]
BrowserAddress = Annotated[str, AfterValidator(_browser_address)]
