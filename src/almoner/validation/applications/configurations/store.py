"""SQL for submission configurations."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

import msgspec
from asyncpg import Record

from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.validation.applications.configurations.domain import Configuration, PartnerField

Scope = Partner | AllPartners

_COLUMNS: Final = (
    "id, partner_id, name, display_name, logo, primary_color, is_default, checks, allowed_organisation_types, "
    "compliance_flags, allowed_activity_sub_tags, email_verification, partner_fields, created_at, updated_at"
)


def _configuration(row: Record) -> Configuration:
    codes = row["allowed_activity_sub_tags"]
    return Configuration(
        id=row["id"],
        partner_id=row["partner_id"],
        name=row["name"],
        display_name=row["display_name"],
        logo=row["logo"],
        primary_color=row["primary_color"],
        is_default=row["is_default"],
        checks=tuple(row["checks"]),
        allowed_organisation_types=tuple(row["allowed_organisation_types"]),
        compliance_flags=tuple(row["compliance_flags"]),
        allowed_activity_sub_tags=None if codes is None else tuple(codes),
        email_verification=row["email_verification"],
        partner_fields=msgspec.convert(row["partner_fields"], tuple[PartnerField, ...]),
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


async def insert(tx: Tx, partner: Partner, configuration: Configuration) -> None:
    """Store a new configuration."""
    await tx.execute(
        f"insert into hosted_configuration ({_COLUMNS}) "
        "values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        configuration.id,
        partner.id,
        configuration.name,
        configuration.display_name,
        configuration.logo,
        configuration.primary_color,
        configuration.is_default,
        list(configuration.checks),
        list(configuration.allowed_organisation_types),
        list(configuration.compliance_flags),
        configuration.allowed_activity_sub_tags and list(configuration.allowed_activity_sub_tags),
        configuration.email_verification,
        configuration.partner_fields,
        configuration.created_at,
        configuration.updated_at,
    )


async def update(tx: Tx, partner: Partner, configuration: Configuration) -> None:
    """Store the changes of a locked configuration."""
    await tx.execute(
        """
        update hosted_configuration set
            name = $3, display_name = $4, logo = $5, primary_color = $6, is_default = $7, checks = $8,
            allowed_organisation_types = $9, compliance_flags = $10, allowed_activity_sub_tags = $11,
            email_verification = $12, partner_fields = $13, updated_at = $14
        where partner_id = $1 and id = $2
        """,
        partner.id,
        configuration.id,
        configuration.name,
        configuration.display_name,
        configuration.logo,
        configuration.primary_color,
        configuration.is_default,
        list(configuration.checks),
        list(configuration.allowed_organisation_types),
        list(configuration.compliance_flags),
        configuration.allowed_activity_sub_tags and list(configuration.allowed_activity_sub_tags),
        configuration.email_verification,
        configuration.partner_fields,
        configuration.updated_at,
    )


async def find(tx: Tx, scope: Scope, configuration_id: UUID) -> Configuration | None:
    """One configuration; None if it does not exist."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from hosted_configuration where id = $1 and ($2::uuid is null or partner_id = $2)",
        configuration_id,
        _owner(scope),
    )
    return _configuration(row) if row else None


async def list_configurations_with_ids(
    tx: Tx, partner: Partner, configuration_ids: Sequence[UUID]
) -> list[Configuration]:
    """The existing ones of these configurations."""
    rows = await tx.fetch(
        f"select {_COLUMNS} from hosted_configuration where partner_id = $1 and id = any($2::uuid[])",
        partner.id,
        configuration_ids,
    )
    return [_configuration(row) for row in rows]


async def find_default(tx: Tx, partner: Partner) -> Configuration | None:
    """The partner's default configuration; None if there is none."""
    row = await tx.fetchrow(
        f"select {_COLUMNS} from hosted_configuration where partner_id = $1 and is_default", partner.id
    )
    return _configuration(row) if row else None


async def list_all(tx: Tx, partner: Partner) -> list[Configuration]:
    """All configurations of the partner, oldest first."""
    rows = await tx.fetch(f"select {_COLUMNS} from hosted_configuration where partner_id = $1 order by id", partner.id)
    return [_configuration(row) for row in rows]


async def lock_configurations(tx: Tx, partner: Partner) -> list[Configuration]:
    """Lock all configurations of the partner until the transaction ends.

    The partner's row is locked: without a default configuration there is no other row to lock.
    """
    await tx.execute("select from partner where id = $1 for no key update", partner.id)
    return await list_all(tx, partner)


async def clear_default(tx: Tx, partner: Partner) -> None:
    """Unset the default, so that another one can become it."""
    await tx.execute(
        "update hosted_configuration set is_default = false where partner_id = $1 and is_default", partner.id
    )
