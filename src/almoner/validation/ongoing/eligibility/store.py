"""SQL for eligibility subscriptions."""

from collections.abc import Sequence
from typing import Final
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import MAX_INDEX_PATTERNS, normalise_search_text
from almoner.platform.database import counters
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.ongoing.eligibility.domain import (
    SUBSCRIPTION,
    EligibilityFilters,
    EligibilityResults,
    EligibilitySubscription,
    Sort,
)

Scope = Partner | AllPartners

_LIST: Final = "eligibility_subscription"
_TOTAL: Final = (
    f"select coalesce(sum(records), 0)::bigint as total from list_counter where partner_id = $1 and list = '{_LIST}'"
)
_OWN: Final = "s.partner_id = $1"
_COUNTED: Final = "select count(*) as total from eligibility_subscription s"
_SELECTED: Final = """
    s.id, s.partner_id, s.organisation_id, s.validation_request_id, s.configuration_id,
    coalesce(o.name, r.name) as organisation_name, s.suggested, s.simulated_status,
    s.metadata, s.status, s.eligibility_status, s.confirmed, s.rejected, s.created_at, s.updated_at, s.search_name,
    s.cancelled_at
"""
_FROM: Final = f"""
select {_SELECTED} from eligibility_subscription s
left join organisation named on named.id = s.organisation_id
left join organisation o on o.id = coalesce(named.same_as, named.id)
left join validation_request r on r.id = s.validation_request_id
"""
_EVALUATED: Final = "status in ('pending', 'live', 'cannot_define_eligibility')"


def _subscription(row: Record) -> EligibilitySubscription:
    values = list(row[:17])
    values[6] = tuple(values[6])
    values[10:13] = [EligibilityResults(row[10], row[11], tuple(row[12]))]
    return EligibilitySubscription(*values)


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


async def insert(tx: Tx, partner: Partner, subscription: EligibilitySubscription) -> None:
    """Store a new subscription."""
    await tx.execute(
        """
        insert into eligibility_subscription (
            id, partner_id, organisation_id, validation_request_id, configuration_id, suggested, simulated_status,
            metadata, status, created_at, updated_at, status_changed_at, search_name
        ) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $10, $10, $11)
        """,
        subscription.id,
        partner.id,
        subscription.organisation_id,
        subscription.validation_request_id,
        subscription.configuration_id,
        list(subscription.suggested_sub_tags),
        subscription.simulated_status,
        subscription.metadata,
        subscription.status,
        subscription.created_at,
        subscription.search_name,
    )
    await counters.add_to_list_total(tx, partner, _LIST, 1)


async def find(tx: Tx, scope: Scope, subscription_id: UUID) -> EligibilitySubscription | None:
    """One subscription; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_FROM} where s.id = $1 and ($2::uuid is null or s.partner_id = $2)", subscription_id, _owner(scope)
    )
    return _subscription(row) if row else None


async def list_subscriptions_with_ids(
    tx: Tx, partner: Partner, subscription_ids: Sequence[UUID]
) -> list[EligibilitySubscription]:
    """The existing ones of these subscriptions."""
    rows = await tx.fetch(f"{_FROM} where s.partner_id = $1 and s.id = any($2::uuid[])", partner.id, subscription_ids)
    return [_subscription(row) for row in rows]


async def find_for_update(tx: Tx, scope: Scope, subscription_id: UUID) -> EligibilitySubscription | None:
    """Lock one subscription until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_FROM} where s.id = $1 and ($2::uuid is null or s.partner_id = $2) for no key update of s",
        subscription_id,
        _owner(scope),
    )
    return _subscription(row) if row else None


async def update_status(tx: Tx, subscription: EligibilitySubscription, *, allow_same_status: bool = False) -> bool:
    """Store a locked subscription's new state; False if the transition is not allowed.

    ``allow_same_status``: the same state is allowed too.
    """
    return bool(
        await tx.fetchval(
            """
            update eligibility_subscription
            set status = $2, organisation_id = $3, eligibility_status = $4, confirmed = $5, rejected = $6,
                updated_at = $7, cancelled_at = $8, search_name = $11,
                status_changed_at = case status when $2 then status_changed_at else $9 end
            where id = $1 and status = any($10) returning true
            """,
            subscription.id,
            subscription.status,
            subscription.organisation_id,
            subscription.results.status,
            dict(subscription.results.rule_by_confirmed_activity),
            list(subscription.results.rejected_activities),
            subscription.updated_at,
            subscription.cancelled_at,
            tx.now,
            [
                *SUBSCRIPTION.source_states_of(subscription.status),
                *([subscription.status] if allow_same_status else []),
            ],
            normalise_search_text(subscription.name),
        )
    )


async def set_search_name(tx: Tx, subscription: EligibilitySubscription) -> None:
    """Store the search words of a locked subscription after its nonprofit's name changed."""
    await tx.execute(
        "update eligibility_subscription set search_name = $2 where id = $1",
        subscription.id,
        normalise_search_text(subscription.name),
    )


async def set_metadata(tx: Tx, subscription: EligibilitySubscription) -> None:
    """Store the metadata of a locked subscription."""
    await tx.execute(
        "update eligibility_subscription set metadata = $2, updated_at = $3 where id = $1",
        subscription.id,
        subscription.metadata,
        subscription.updated_at,
    )


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: EligibilityFilters, sort: Sort
) -> tuple[list[EligibilitySubscription], int]:
    """One page in reading order and the exact total, in one statement (P7): from counters, or from an index."""
    conditions = _conditions(filters)
    where = conditions.sql
    total = _TOTAL if where == _OWN else f"{_COUNTED} where {where}"
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    keys = ("search_name", "id") if sort == "name" else ("id",)
    if page_.position is None:
        after = "$2::uuid is null and $3::text is null"
    elif sort == "name":
        after = f"(s.search_name, s.id) {comparison} ($3, $2)"
    else:
        after = f"s.id {comparison} $2 and $3::text is null"
    *name, id_ = page_.position or (None, None)
    within, listed = (", ".join(f"{row}.{key} {order}" for key in keys) for row in ("s", "listed"))
    rows = await tx.fetch(
        f"""
        select listed.*, total from ({total}) counted
        left join lateral (
            {_FROM} where {where} and {after} order by {within} limit $4
        ) listed on true
        order by {listed}
        """,
        partner.id,
        UUID(bytes=id_) if id_ else None,
        name[0] if name else None,
        page_.fetch_limit,
        *conditions.values,
    )
    return [_subscription(row) for row in rows if row[0] is not None], rows[0]["total"]


def _conditions(filters: EligibilityFilters) -> SqlConditions:
    conditions = SqlConditions(_OWN, bound=4)
    if filters.status is not None:
        conditions.add("s.status = {}", filters.status)
    if filters.has_organisation is not None:
        conditions.add_without_value(
            "s.organisation_id is not null" if filters.has_organisation else "s.organisation_id is null"
        )
    if filters.created_from is not None:
        conditions.add("s.created_at >= {}", filters.created_from)
    if filters.created_before is not None:
        conditions.add("s.created_at < {}", filters.created_before)
    conditions.require_words("s.search_name", filters.search_words, max_indexed_words=MAX_INDEX_PATTERNS)
    return conditions


def cursor_position_of(subscription: EligibilitySubscription, sort: Sort) -> tuple[object, ...]:
    """The position of a subscription in its list."""
    by_id = (subscription.id.bytes,)
    return (subscription.search_name, *by_id) if sort == "name" else by_id


@across_partners("followers")
async def list_subscription_ids_waiting_for_requests(tx: Tx, request_ids: Sequence[UUID]) -> list[UUID]:
    """The subscriptions that wait for these validation requests."""
    rows = await tx.fetch(
        """
        select id from eligibility_subscription
        where validation_request_id = any($1::uuid[]) and status = 'pending_validation_request'
        """,
        request_ids,
    )
    return [row["id"] for row in rows]


@across_partners("followers")
async def load_subscribed_partner_ids_by_organisation(
    tx: Tx, organisation_ids: Sequence[UUID]
) -> dict[UUID, set[UUID]]:
    """The partners whose subscriptions follow each of these records."""
    rows = await tx.fetch(
        f"""
        select distinct organisation_id, partner_id from eligibility_subscription
        where organisation_id = any($1::uuid[]) and {_EVALUATED}
        """,
        organisation_ids,
    )
    found: dict[UUID, set[UUID]] = {}
    for row in rows:
        found.setdefault(row["organisation_id"], set()).add(row["partner_id"])
    return found


async def list_subscription_ids_by_organisations(
    tx: Tx, partner: Partner, organisation_ids: Sequence[UUID]
) -> list[UUID]:
    """The partner's subscriptions that follow any record of these organisations."""
    rows = await tx.fetch(
        f"""
        select s.id from eligibility_subscription s
        where s.partner_id = $1 and s.{_EVALUATED} and s.organisation_id in (
            select unnest($2::uuid[])
            union all
            select o.id from organisation o where o.same_as = any($2::uuid[]) and o.same_as is not null
        )
        order by s.id
        """,
        partner.id,
        organisation_ids,
    )
    return [row["id"] for row in rows]


@across_partners("sweep")
async def list_evaluated_subscription_ids(tx: Tx, after_id: UUID, limit: int) -> list[UUID]:
    """Evaluated subscriptions after an ID, by ID."""
    rows = await tx.fetch(
        f"select id from eligibility_subscription where {_EVALUATED} and id > $1 order by id limit $2", after_id, limit
    )
    return [row["id"] for row in rows]


async def list_subscription_ids_by_configuration(
    tx: Tx, partner: Partner, configuration_id: UUID, after_id: UUID, limit: int, *, include_unconfigured: bool
) -> list[UUID]:
    """A configuration's subscriptions, by ID. ``include_unconfigured``: also those without a configuration."""
    rows = await tx.fetch(
        f"""
        select id from eligibility_subscription
        where partner_id = $1 and (configuration_id = $2 or $3 and configuration_id is null) and {_EVALUATED}
            and id > $4
        order by id limit $5
        """,
        partner.id,
        configuration_id,
        include_unconfigured,
        after_id,
        limit,
    )
    return [row["id"] for row in rows]
