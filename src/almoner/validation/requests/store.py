"""SQL for validation requests."""

from collections.abc import Sequence
from dataclasses import astuple
from typing import Final, NamedTuple
from uuid import UUID

from asyncpg import Record

from almoner.nonprofits.organisations.domain import MAX_INDEX_PATTERNS, normalise_search_text
from almoner.platform.database import counters, lists
from almoner.platform.database.across_partners import across_partners
from almoner.platform.database.conditions import SqlConditions
from almoner.platform.database.transactions import AllPartners, Partner, Tx
from almoner.platform.http.paging import RequestedPage
from almoner.validation.requests.domain import REQUEST, NonprofitDetails, RequestFilters, Sort, ValidationRequest

Scope = Partner | AllPartners

_ASKED: Final = (
    "name, registry_name, registry_number, website, country_code, email, address_line_1, address_line_2, city, state, "
    "postal, usa_group_exempt"
)
_OWN: Final = (
    "id, partner_id, status, registry_id, number_key, organisation_id, organisation_types, rejection_reason, "
    "rejection_reason_code, created_at, deleted_at, accepted_at, rejected_at, corrections, corrected_at"
)
_COLUMNS: Final = f"{_OWN}, {_ASKED}"
_SELECT: Final = f"select {_COLUMNS} from validation_request"
_LIST: Final = "validation_request"
_TEXT: Final = "(search_name || ' ' || lower(number_key))"
_UNINDEXED: Final = f"({_TEXT} || '')"
"""The same without the word index, for words too short for it, which would scan it with all partners' requests."""
_INDEXED: Final = 3


def _request(row: Record) -> ValidationRequest:
    values = list(row[:15])
    values[6] = tuple(values[6])
    values.insert(3, NonprofitDetails(*row[15:27]))
    return ValidationRequest(*values)


def _owner(scope: Scope) -> UUID | None:
    return scope.id if isinstance(scope, Partner) else None


class RequestReference(NamedTuple):
    """A request's ID and its partner's."""

    request_id: UUID
    partner_id: UUID


@across_partners("operators")
async def list_requests_by_number(tx: Tx, registry_id: UUID, number_key: str, limit: int) -> list[RequestReference]:
    """Requests with this number, newest first, with their partners."""
    rows = await tx.fetch(
        """
        select id, partner_id from validation_request where registry_id = $1 and number_key = $2
        order by id desc limit $3
        """,
        registry_id,
        number_key,
        limit,
    )
    return [RequestReference(row[0], row[1]) for row in rows]


async def insert(tx: Tx, partner: Partner, request: ValidationRequest) -> None:
    """Store a new request."""
    await tx.execute(
        f"""
        insert into validation_request (
            id, partner_id, status, registry_id, number_key, created_at, status_changed_at, search_name, {_ASKED}
        ) values ($1, $2, $3, $4, $5, $6, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
        """,
        request.id,
        partner.id,
        request.status,
        request.registry_id,
        request.number_key,
        request.created_at,
        normalise_search_text(request.details.name),
        *astuple(request.details),
    )
    await counters.add_to_list_total(tx, partner, _LIST, 1)


async def find(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest | None:
    """One request; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_SELECT} where id = $1 and ($2::uuid is null or partner_id = $2)", request_id, _owner(scope)
    )
    return _request(row) if row else None


@across_partners("operators")
async def load_nonprofit_names_by_request_id(tx: Tx, request_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The names of the nonprofits of these requests."""
    rows = await tx.fetch("select id, name from validation_request where id = any($1)", request_ids)
    return {row["id"]: row["name"] for row in rows}


async def list_requests_with_ids(tx: Tx, partner: Partner, request_ids: Sequence[UUID]) -> list[ValidationRequest]:
    """The existing ones of these requests."""
    rows = await tx.fetch(f"{_SELECT} where partner_id = $1 and id = any($2::uuid[])", partner.id, request_ids)
    return [_request(row) for row in rows]


async def list_accepted_requests(
    tx: Tx, partner: Partner, registry_id: UUID, number_key: str
) -> list[ValidationRequest]:
    """The partner's accepted requests for a number, newest first."""
    rows = await tx.fetch(
        f"""
        {_SELECT} where partner_id = $1 and status = 'accepted' and registry_id = $2 and number_key = $3
        order by id desc
        """,
        partner.id,
        registry_id,
        number_key,
    )
    return [_request(row) for row in rows]


async def find_for_update(tx: Tx, scope: Scope, request_id: UUID) -> ValidationRequest | None:
    """Lock one request until the transaction ends; None if it does not exist."""
    row = await tx.fetchrow(
        f"{_SELECT} where id = $1 and ($2::uuid is null or partner_id = $2) for no key update",
        request_id,
        _owner(scope),
    )
    return _request(row) if row else None


@across_partners("held")
async def lock_request_exclusively(tx: Tx, request_id: UUID) -> None:
    """Lock one request until the transaction ends, also against new rows that refer to it."""
    await tx.execute("select from validation_request where id = $1 for update", request_id)


async def store_decision(tx: Tx, request: ValidationRequest) -> bool:
    """Store the decision on a locked request; False if the transition is not allowed."""
    return bool(
        await tx.fetchval(
            """
            update validation_request
            set status = $2, organisation_id = $3, organisation_types = $4, rejection_reason = $5,
                rejection_reason_code = $6, accepted_at = $7, rejected_at = $8, status_changed_at = $9
            where id = $1 and status = any($10) returning true
            """,
            request.id,
            request.status,
            request.organisation_id,
            request.organisation_types,
            request.rejection_reason,
            request.rejection_reason_code,
            request.accepted_at,
            request.rejected_at,
            tx.now,
            REQUEST.source_states_of(request.status),
        )
    )


async def store_correction(tx: Tx, original_request: ValidationRequest, corrected_request: ValidationRequest) -> None:
    """Store the corrected number of a locked request, and keep the earlier one."""
    await tx.execute(
        """
        insert into validation_request_correction (
            id, validation_request_id, position, registry_id, registry_name, registry_number, number_key, corrected_at
        ) values ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        tx.new_id(),
        original_request.id,
        corrected_request.corrections,
        original_request.registry_id,
        original_request.details.registry_name,
        original_request.details.registry_number,
        original_request.number_key,
        tx.now,
    )
    await tx.execute(
        """
        update validation_request
        set registry_id = $2, registry_name = $3, registry_number = $4, number_key = $5, corrections = $6,
            corrected_at = $7
        where id = $1 and status = 'pending'
        """,
        corrected_request.id,
        corrected_request.registry_id,
        corrected_request.details.registry_name,
        corrected_request.details.registry_number,
        corrected_request.number_key,
        corrected_request.corrections,
        corrected_request.corrected_at,
    )


async def list_replaced_registry_names_and_numbers(tx: Tx, request_id: UUID) -> list[tuple[str, str]]:
    """Register and number as given before each correction, oldest first."""
    rows = await tx.fetch(
        """
        select registry_name, registry_number from validation_request_correction
        where validation_request_id = $1 order by position
        """,
        request_id,
    )
    return [(row[0], row[1]) for row in rows]


async def list_page(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: RequestFilters, sort: Sort
) -> tuple[list[ValidationRequest], int]:
    """One page in reading order and the exact total, in one statement (P7): from counters, or from an index."""
    if filters == RequestFilters() and sort == "id":
        rows, total = await lists.list_partner_page(tx, partner, _LIST, _COLUMNS, page_)
    else:
        rows, total = await _narrowed(tx, partner, page_, filters, sort)
    return [_request(row) for row in rows], total


async def _narrowed(
    tx: Tx, partner: Partner, page_: RequestedPage, filters: RequestFilters, sort: Sort
) -> tuple[list[Record], int]:
    conditions = _conditions(filters)
    where = conditions.sql
    comparison, order = ("<", "desc") if page_.fetches_descending else (">", "asc")
    keys = "search_name, id" if sort == "name" else "id"
    if page_.position is None:
        after = "$2::uuid is null and $3::text is null"
    elif sort == "name":
        after = f"(search_name, id) {comparison} ($3, $2)"
    else:
        after = f"id {comparison} $2 and $3::text is null"
    *name, id_ = page_.position or (None, None)
    by = ", ".join(f"{key} {order}" for key in keys.split(", "))
    rows = await tx.fetch(
        f"""
        select {_COLUMNS}, total from (select count(*) as total from validation_request where {where}) counted
        left join lateral (
            select {_COLUMNS}, search_name from validation_request
            where {where} and {after} order by {by} limit $4
        ) listed on true
        order by {by}
        """,
        partner.id,
        UUID(bytes=id_) if id_ else None,
        name[0] if name else None,
        page_.fetch_limit,
        *conditions.values,
    )
    return [row for row in rows if row[0] is not None], rows[0]["total"]


def _conditions(filters: RequestFilters) -> SqlConditions:
    conditions = SqlConditions("partner_id = $1", bound=4)
    if filters.status is not None:
        conditions.add("status = {}", filters.status)
    if filters.created_from is not None:
        conditions.add("created_at >= {}", filters.created_from)
    if filters.created_before is not None:
        conditions.add("created_at < {}", filters.created_before)
    for word in filters.search_words[:MAX_INDEX_PATTERNS]:
        conditions.add((_TEXT if len(word) >= _INDEXED else _UNINDEXED) + " like {}", f"%{word}%")
    if further := filters.search_words[MAX_INDEX_PATTERNS:]:
        conditions.add(f"{_UNINDEXED} like all({{}}::text[])", [f"%{word}%" for word in further])
    return conditions


def cursor_position_of(request: ValidationRequest, sort: Sort) -> tuple[object, ...]:
    """The position of a request in its list."""
    return (normalise_search_text(request.details.name), request.id.bytes) if sort == "name" else (request.id.bytes,)


@across_partners("sweep")
async def list_pending_request_ids(tx: Tx, registry_id: UUID, after_id: UUID, limit: int) -> Sequence[UUID]:
    """The IDs of a registry's pending requests after an ID, by ID."""
    rows = await tx.fetch(
        """
        select id from validation_request where registry_id = $1 and status = 'pending' and id > $2
        order by id limit $3
        """,
        registry_id,
        after_id,
        limit,
    )
    return [row["id"] for row in rows]


async def attach_document(tx: Tx, partner: Partner, request_id: UUID, document_id: UUID) -> None:
    """Attach a document to a request of the same partner."""
    await tx.execute(
        """
        insert into validation_request_document (document_id, validation_request_id, partner_id) values ($1, $2, $3)
        """,
        document_id,
        request_id,
        partner.id,
    )


@across_partners("followers")
async def load_request_ids_by_document_id(tx: Tx, request_ids: Sequence[UUID]) -> dict[UUID, UUID]:
    """Among these requests, those with documents, by document ID."""
    rows = await tx.fetch(
        """
        select document_id, validation_request_id from validation_request_document
        where validation_request_id = any($1::uuid[])
        """,
        request_ids,
    )
    return {row[0]: row[1] for row in rows}


@across_partners("held")
async def list_request_ids_of_document(tx: Tx, document_id: UUID) -> list[UUID]:
    """The requests that a document is attached to."""
    rows = await tx.fetch(
        "select validation_request_id from validation_request_document where document_id = $1 order by 1", document_id
    )
    return [row[0] for row in rows]
