"""Find the partner, key, member or group that a console URL refers to."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar
from uuid import UUID

from almoner.access.accounts.domain import OPERATORS_HOME
from almoner.access.accounts.page_guard import SignedInRequest
from almoner.access.keys.domain import ApiKey
from almoner.access.keys.service import NoSuchKey
from almoner.access.members import service as members
from almoner.access.members.domain import Group, MembershipState, NoSuchGroup
from almoner.access.members.service import api_keys
from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people import service as people
from almoner.access.people.domain import NoSuchPerson, member_realm
from almoner.kit.errors import NotFound
from almoner.platform.database.transactions import Partner, Tx

PATH = "/partners"
R = TypeVar("R")


def partner_page_path(tx: Tx, account: PartnerAccount) -> str:
    """The path of a partner's page, below ``/operator``."""
    return f"{PATH}/{tx.ids.encode('partner', account.id)}"


async def get_partner_from_url(tx: Tx, visitor: SignedInRequest) -> PartnerAccount:
    """The partner in the URL. Raises NotFound."""
    partner_id = tx.ids.decode("partner", _segment(visitor, 1))
    if partner_id is None:
        raise NotFound
    try:
        return await partners.get(tx, Partner(partner_id))
    except NoSuchPartner:
        raise NotFound from None


async def describe_partner_owners(tx: Tx, account: PartnerAccount) -> str:
    """The recipients of an email to the partner's owners, as the start of a sentence."""
    owners = len(await people.list_with_any_role(tx, member_realm(Partner(account.id)), "owner"))
    if not owners:
        return "Nobody (the partner has no owner)"
    return f"{owners:,} owner{'' if owners == 1 else 's'} of {account.name}"


async def get_api_key_from_url(tx: Tx, visitor: SignedInRequest) -> ApiKey:
    """The partner's key in the URL. Raises NotFound."""
    return await _record_of_path(tx, visitor, "apikey", api_keys.get)


async def get_member_from_url(tx: Tx, visitor: SignedInRequest) -> MembershipState:
    """The partner's member in the URL. Raises NotFound."""
    return await _record_of_path(tx, visitor, "member", members.get_member)


async def get_group_from_url(tx: Tx, visitor: SignedInRequest) -> Group:
    """The partner's group in the URL, without its members. Raises NotFound."""
    return await _record_of_path(tx, visitor, "group", partial(members.get_group, with_members=False))


async def _record_of_path(
    tx: Tx, visitor: SignedInRequest, id_type: str, get: Callable[[Tx, Partner, UUID], Awaitable[R]]
) -> R:
    account = await get_partner_from_url(tx, visitor)
    record_id = tx.ids.decode(id_type, _segment(visitor, 3))
    if record_id is None:
        raise NotFound
    try:
        return await get(tx, Partner(account.id), record_id)
    except (NoSuchKey, NoSuchPerson, NoSuchGroup):
        raise NotFound from None


def _segment(visitor: SignedInRequest, number: int) -> str:
    """One segment of the path below ``/operator``, or an empty string if the path has fewer segments."""
    parts = visitor.path.removeprefix(f"{OPERATORS_HOME}/").split("/")
    return parts[number] if number < len(parts) else ""
