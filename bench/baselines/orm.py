"""(b) The conventional way: FastAPI, Pydantic models in and out, and the SQLAlchemy ORM, over the same tables.

No key check (a dictionary look-up replaces it), no scope, limit, Request-Id, log line or metrics. Run as ``uvicorn
bench.baselines.orm:app`` with BENCH_DSN and BENCH_PARTNERS set by the benchmark.
"""

import hashlib
import json
import os
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Depends, FastAPI, Header, HTTPException
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from sqlalchemy import BigInteger, DateTime, SmallInteger, func, select
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from bench.baselines.bare import iso, new_id, parse, text

PARTNERS: dict[str, UUID] = {key: UUID(partner) for key, partner in json.loads(os.environ["BENCH_PARTNERS"]).items()}
engine = create_async_engine(os.environ["BENCH_DSN"].replace("postgresql://", "postgresql+asyncpg://"), pool_size=10)
sessions = async_sessionmaker(engine, expire_on_commit=False)


class Model(DeclarativeBase):
    """Mapped tables."""

    type_annotation_map = {dict[str, Any]: JSONB, datetime: DateTime(timezone=True)}  # noqa: RUF012 (SQLAlchemy's own form)


class Organisation(Model):
    """organisation."""

    __tablename__ = "organisation"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    partner_id: Mapped[UUID | None]
    name: Mapped[str]
    country_code: Mapped[str]


class DonationSession(Model):
    """donation_session."""

    __tablename__ = "donation_session"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    partner_id: Mapped[UUID]
    organisation_id: Mapped[UUID]
    status: Mapped[str]
    metadata_: Mapped[dict[str, Any] | None] = mapped_column("metadata", JSONB)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]
    status_changed_at: Mapped[datetime]


class Donation(Model):
    """donation."""

    __tablename__ = "donation"
    id: Mapped[UUID] = mapped_column(primary_key=True)
    partner_id: Mapped[UUID]
    user_id: Mapped[UUID | None]
    organisation_id: Mapped[UUID]
    type: Mapped[str]
    session_id: Mapped[UUID | None]
    amount_minor: Mapped[int] = mapped_column(BigInteger)
    currency: Mapped[str]
    status: Mapped[str]
    first_name: Mapped[str | None]
    last_name: Mapped[str | None]
    email: Mapped[str | None]
    consented: Mapped[bool]
    anonymous: Mapped[bool]
    gift_aid_id: Mapped[UUID | None]
    donation_request_id: Mapped[UUID | None]
    subscription_id: Mapped[UUID | None]
    subscription_due_on: Mapped[date | None]
    giving_link_id: Mapped[UUID | None]
    designation: Mapped[str | None]
    dedication: Mapped[str | None]
    metadata_: Mapped[dict[str, Any]] = mapped_column("metadata", JSONB)
    created_at: Mapped[datetime]
    cancelled_at: Mapped[datetime | None]
    settled_at: Mapped[datetime | None]
    settled_minor: Mapped[int | None] = mapped_column(BigInteger)
    settled_currency: Mapped[str | None]
    disbursed_at: Mapped[datetime | None]
    reassigned_at: Mapped[datetime | None]
    reassigned_from: Mapped[UUID | None]
    refunded_at: Mapped[datetime | None]
    refunded_minor: Mapped[int | None] = mapped_column(BigInteger)
    last_disputed_at: Mapped[datetime | None]
    dispute_status: Mapped[str | None]
    receipt_delivery: Mapped[str | None]


class IdempotencyAnswer(Model):
    """idempotency_response."""

    __tablename__ = "idempotency_response"
    partner_id: Mapped[UUID] = mapped_column(primary_key=True)
    key_hash: Mapped[bytes] = mapped_column(primary_key=True)
    route: Mapped[str]
    fingerprint: Mapped[bytes]
    response: Mapped[bytes]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime]


class ListCounter(Model):
    """list_counter."""

    __tablename__ = "list_counter"
    partner_id: Mapped[UUID] = mapped_column(primary_key=True)
    list: Mapped[str] = mapped_column(primary_key=True)
    slot: Mapped[int] = mapped_column(SmallInteger, primary_key=True)
    records: Mapped[int] = mapped_column(BigInteger)


class Wire(BaseModel):
    """camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class SessionBody(Wire):
    """A new session."""

    organisation_id: str
    metadata: dict[str, str] | None = None


class SessionResponse(Wire):
    """A session."""

    id: str | None
    status: str
    organisation_id: str
    metadata: dict[str, str] | None
    url: str
    created_at: str | None
    expires_at: str | None


class Hosted(Wire):
    """Part of a donation."""

    session_id: str | None


class Series(Wire):
    """Part of a donation."""

    initial: bool
    id: str | None


class SettledAmount(Wire):
    """Part of a donation."""

    amount: int | None
    currency: str | None


class DonationResponse(Wire):
    """A donation."""

    id: str | None
    user_id: str | None
    organisation_id: str | None
    type: str
    hosted: Hosted
    amount: int
    currency_code: str
    status: str
    first_name: str | None
    last_name: str | None
    email: str | None
    consented_to_be_contacted_by_org: str
    anonymous: str
    gift_aid_id: str | None
    donation_request_id: str | None
    subscription: Series
    giving_link_id: str | None
    designation: str | None
    dedication: str | None
    metadata: dict[str, str]
    created_at: str | None
    cancelled_at: str | None
    settled_at: str | None
    settled_amount: SettledAmount | None
    disbursed_at: str | None
    reassigned_at: str | None
    reassigned_from_organisation_id: str | None
    refunded_at: str | None
    refunded_amount: int | None
    disputed_at: str | None
    dispute_status: str | None
    receipt_delivery: str


class One(Wire):
    """An envelope."""

    data: SessionResponse | DonationResponse
    object: str


class Many(Wire):
    """A list."""

    data: list[DonationResponse]
    object: str
    total_results: int
    page_size: int
    links: dict[str, str | None] = Field(alias="_links")


@asynccontextmanager
async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
    """Close the pool at the end."""
    yield
    await engine.dispose()


async def database() -> AsyncIterator[AsyncSession]:
    """One session per request."""
    async with sessions() as session:
        yield session


def partner(authorization: Annotated[str, Header()]) -> UUID:
    """The calling partner."""
    return PARTNERS[authorization]


app = FastAPI(lifespan=lifespan)
Db = Annotated[AsyncSession, Depends(database)]
PartnerId = Annotated[UUID, Depends(partner)]


def out(row: Donation) -> DonationResponse:
    """A donation as the service returns it."""
    return DonationResponse(
        id=text("donation", row.id),
        user_id=text("user", row.user_id),
        organisation_id=text("organisation", row.organisation_id),
        type=row.type,
        hosted=Hosted(session_id=text("donationsession", row.session_id)),
        amount=row.amount_minor,
        currency_code=row.currency,
        status=row.status,
        first_name=row.first_name,
        last_name=row.last_name,
        email=row.email,
        consented_to_be_contacted_by_org="yes" if row.consented else "no",
        anonymous="yes" if row.anonymous else "no",
        gift_aid_id=text("giftaid", row.gift_aid_id),
        donation_request_id=text("donationrequest", row.donation_request_id),
        subscription=Series(
            initial=row.subscription_due_on is None, id=text("donationsubscription", row.subscription_id)
        ),
        giving_link_id=text("givinglink", row.giving_link_id),
        designation=row.designation,
        dedication=row.dedication,
        metadata=row.metadata_,
        created_at=iso(row.created_at),
        cancelled_at=iso(row.cancelled_at),
        settled_at=iso(row.settled_at),
        settled_amount=SettledAmount(amount=row.settled_minor, currency=row.settled_currency)
        if row.settled_at
        else None,
        disbursed_at=iso(row.disbursed_at),
        reassigned_at=iso(row.reassigned_at),
        reassigned_from_organisation_id=text("organisation", row.reassigned_from),
        refunded_at=iso(row.refunded_at),
        refunded_amount=row.refunded_minor,
        disputed_at=iso(row.last_disputed_at),
        dispute_status=row.dispute_status,
        receipt_delivery=row.receipt_delivery or "none",
    )


@app.post("/v1/donation-sessions")
async def create_session(body: SessionBody, db: Db, who: PartnerId, idempotency_key: Annotated[str, Header()]) -> One:
    """Create a donation session."""
    key = hashlib.sha256(idempotency_key.encode()).digest()
    if stored := await db.get(IdempotencyAnswer, (who, key)):
        return One.model_validate_json(stored.response)
    organisation = await db.get(Organisation, parse(body.organisation_id))
    if organisation is None or organisation.partner_id not in (None, who):
        raise HTTPException(400)
    now = datetime.now(UTC)
    made = DonationSession(
        id=new_id(),
        partner_id=who,
        organisation_id=organisation.id,
        status="open",
        metadata_=body.metadata or {},
        created_at=now,
        expires_at=now + timedelta(hours=24),
        status_changed_at=now,
    )
    answer = One(
        data=SessionResponse(
            id=text("donationsession", made.id),
            status="open",
            organisation_id=body.organisation_id,
            metadata=body.metadata,
            url=f"http://localhost:8080/give?token={secrets.token_urlsafe(40)}",
            created_at=iso(now),
            expires_at=iso(made.expires_at),
        ),
        object="donation_session",
    )
    fingerprint = hashlib.sha256(body.model_dump_json().encode()).digest()
    db.add(made)
    db.add(
        IdempotencyAnswer(
            partner_id=who,
            key_hash=key,
            route="POST /v1/donation-sessions",
            fingerprint=fingerprint,
            response=answer.model_dump_json().encode(),
            created_at=now,
            expires_at=now + timedelta(days=21),
        )
    )
    slot = (who, "donation_session", secrets.randbelow(16))
    counter = await db.get(ListCounter, slot, with_for_update=True)
    if counter is None:
        db.add(ListCounter(partner_id=slot[0], list=slot[1], slot=slot[2], records=1))
    else:
        counter.records += 1
    await db.commit()
    return answer


@app.get("/v1/donations/{donation_id}")
async def get_donation(donation_id: str, db: Db, who: PartnerId) -> One:
    """Retrieve a donation."""
    row = await db.scalar(select(Donation).where(Donation.partner_id == who, Donation.id == parse(donation_id)))
    if row is None:
        raise HTTPException(404)
    return One(data=out(row), object="donation")


@app.get("/v1/donations")
async def list_donations(db: Db, who: PartnerId) -> Many:
    """List donations, newest first."""
    rows = (
        await db.scalars(select(Donation).where(Donation.partner_id == who).order_by(Donation.id.desc()).limit(26))
    ).all()
    counted = select(func.sum(ListCounter.records)).where(ListCounter.partner_id == who, ListCounter.list == "donation")
    total = await db.scalar(counted)
    following = f"/v1/donations?cursor={text('donation', rows[24].id)}"
    return Many(
        data=[out(row) for row in rows[:25]],
        object="donation",
        total_results=int(total or 0),
        page_size=25,
        links={"next": following},
    )


@app.get("/v1/organisations")
async def search(query: str, db: Db) -> dict[str, object]:
    """Search organisations: plain substring search, which repairs no typo."""
    found = await db.scalars(
        select(Organisation)
        .where(Organisation.partner_id.is_(None), Organisation.name.icontains(query))
        .order_by(Organisation.name)
        .limit(26)
    )
    data = [{"id": text("organisation", row.id), "name": row.name, "countryCode": row.country_code} for row in found]
    return {"data": data, "object": "organisation"}
