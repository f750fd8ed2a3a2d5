"""Text types of the API: language tags, web and email addresses."""

from typing import Annotated, Final

from pydantic import AfterValidator, BeforeValidator, Field

from almoner.kit import language as languages
from almoner.platform.http.wire import MAX_TYPED
from almoner.platform.outbound import addresses, email_addresses

ANY_PORT: Final = addresses.AddressPolicy(allows_loopback=True, allowed_ports=range(1, 65536))
"""For URLs that only a browser opens: any port is allowed. Services check loopback, since they know the environment."""


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


def _clean_email(value: object) -> object:
    return email_addresses.clean_email_address(value) if isinstance(value, str) and len(value) <= MAX_TYPED else value


def _email(text: str) -> str:
    if text and not email_addresses.is_email_address(text):
        raise ValueError("must be an email address such as ada@example.org")
    return text


TypedEmail = BeforeValidator(_clean_email)
"""Cleans a typed email address."""
EmailRule = AfterValidator(_email)
TypedEmailText = Annotated[str, TypedEmail]
EmailAddress = Annotated[str, Field(min_length=1, max_length=255), TypedEmail, EmailRule]
LanguageTag = Annotated[str, Field(max_length=35), AfterValidator(_language)]
BrowserAddress = Annotated[str, AfterValidator(_browser_address)]
