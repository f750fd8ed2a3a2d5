"""Emails people the URLs of their sign-in pages."""

from dataclasses import dataclass
from typing import Final

import msgspec

from almoner.access.accounts.domain import MEMBERS_HOME
from almoner.access.partners import service as partners
from almoner.access.people import service as people
from almoner.platform.crypto import DecryptionFailed
from almoner.platform.database.transactions import Tx
from almoner.platform.jobs.queue import JobKind


class SendSignInPageUrlsJob(msgspec.Struct, frozen=True):
    """The email address, encrypted."""

    email: str


SEND_ADDRESSES: Final = JobKind("accounts.send_addresses", SendSignInPageUrlsJob)
_CONTEXT: Final = "accounts-addresses"


@dataclass(frozen=True, slots=True)
class SignInPageUrl:
    """The URL of one partner's sign-in page."""

    partner: str
    url: str


async def email_sign_in_page_urls(tx: Tx, email: str) -> None:
    """Enqueue an email with the sign-in pages of this email address; takes equally long if nobody has it."""
    sealed = tx.vault.encrypt(email.encode(), context=_CONTEXT)
    unique = tx.vault.compute_keyed_hash(_CONTEXT, email.casefold().encode()).hex()
    await SEND_ADDRESSES.enqueue(tx, SendSignInPageUrlsJob(sealed.hex()), unique_key=unique)


async def decrypt_email_and_find_sign_in_page_urls(tx: Tx, encrypted_email: str) -> tuple[str, list[SignInPageUrl]]:
    """Decrypt the requested email address and find the partners' sign-in pages for it."""
    try:
        email = tx.vault.decrypt(bytes.fromhex(encrypted_email), context=_CONTEXT).decode()
    except DecryptionFailed:
        return "", []
    found = []
    for partner in await people.list_partners_with_email(tx, email):
        name = tx.ids.encode("partner", partner.id)
        account = await partners.get(tx, partner)
        found.append(SignInPageUrl(account.name, f"{tx.base_urls.pages}{MEMBERS_HOME}/{name}/sign-in"))
    return email, found
