"""The command argument that identifies a member of a partner."""

from typing import Annotated
from uuid import UUID

import typer

from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.cli.access import parse_id
from almoner.platform.database.transactions import Partner, Tx

Member = Annotated[str, typer.Argument(metavar="MEMBER", help="Member ID or user name, from `almoner members list`.")]


async def get_member_id(tx: Tx, partner: Partner, id_or_user_name: str) -> UUID:
    """The member with this ID or user name. Raises BadParameter."""
    if person := await people.find_by_user_name(tx, member_realm(partner), id_or_user_name.strip()):
        return person.id
    return parse_id(tx, "member", id_or_user_name)
