"""The pages of the dashboard of a large partner, and how long they take. ``bench.desks`` measures them."""

import asyncio
import html
import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import aiohttp
import asyncpg
import pyotp

from almoner import wiring
from almoner.access.accounts.domain import build_member_portal
from almoner.access.credentials.service import authenticators, build_audit_context_of_person
from almoner.access.people import service as people
from almoner.access.people.domain import build_profile, member_realm
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser
from almoner.giving.accounting.monthly_reports import service as monthly_reports
from almoner.kit.ids import RecordIdCodec
from almoner.platform.database.transactions import Partner
from almoner.validation.applications.configurations import service as configurations
from bench.large_partner import donor
from bench.machine import Spent
from bench.stage import Stage, server

REPORT: Final = Path(__file__).parents[1] / "docs" / "evidence" / "dashboard.md"
AIM_MS: Final = 150
SEARCH_MS: Final = 100
AIM_BYTES: Final = 100_000
CALLS: Final = 100
_WARM: Final = 30
_CONFIRMED_SECONDS: Final = 480
"""How long a confirmation of one's identity is relied on: less than the ten minutes for which pages accept it."""
_LOOKED_AT: Final = 200
_TABLES: Final = (
    "donation",
    "validation_submission",
    "validation_request",
    "event",
    "donation_request",
    "donation_subscription",
    "giving_link",
    "hosted_configuration",
    "disbursement",
    "validation_invite",
    "agent_verification",
    "monitoring_subscription",
    "eligibility_subscription",
)

Ask = Callable[[random.Random], str]


@dataclass(frozen=True, slots=True)
class Signed:
    """A signed-in person. ``home``: the account's path; ``cookie``: of the session; ``totp``: their app's secret."""

    home: str
    cookie: str
    totp: str


@dataclass(frozen=True, slots=True)
class Figure:
    """The measurements of one page. ``processor_ms``: processor time of server and database for one call."""

    page: str
    taken: list[float]
    processor_ms: float
    size: int
    aim: int

    @property
    def p99(self) -> float:
        """The 99th percentile in milliseconds."""
        return statistics.quantiles(self.taken, n=100)[98]

    @property
    def is_met(self) -> bool:
        """Whether it meets the limits of time and size."""
        return self.p99 < self.aim and self.size < AIM_BYTES

    def line(self) -> str:
        """A row of the table."""
        p50, verdict = statistics.median(self.taken), "met" if self.is_met else "**missed**"
        times = f"{self.processor_ms:.1f} | {p50:.1f} | {self.p99:.1f} | {self.aim}"
        return f"| {self.page} | {times} | {self.size / 1000:.1f} | {verdict} |"


async def sign_in(stage: Stage, partner: Partner) -> Signed:
    """Sign in as an owner."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            await configurations.create_default(tx, partner)
            profile = build_profile("owner@example.org", email="owner@example.org", name="Owner")
            person = await people.create(tx, member_realm(partner), profile, ["owner"])
            set_up = await authenticators.begin_setup(tx, person, "Almoner")
            secret = set_up.secret.replace(" ", "")
            code = pyotp.TOTP(secret).at(tx.real_now)
            await authenticators.confirm_setup(tx, person, code, build_audit_context_of_person(tx, person, None))
            begun = await sign_ins.begin_sign_in(tx, person, "password_totp", Browser("127.0.0.1"))
            portal = build_member_portal(person.realm, tx.ids.encode("partner", partner.id), "")
        return Signed(portal.home, f"{portal.session_cookie_name}={begun.session_secret}", secret)
    finally:
        await services.close()


async def looked_at(stage: Stage, partner: Partner) -> dict[str, list[str]]:
    """The IDs of some records, by record type."""
    ids, found = RecordIdCodec(sandbox=stage.settings.sandbox), {}
    connection = await asyncpg.connect(stage.settings.owner_dsn)
    for table in _TABLES:
        rows = await connection.fetch(
            f"select id from {table} where partner_id = $1 order by id desc limit $2", partner.id, _LOOKED_AT
        )
        type_ = table.replace("_", "")
        found[table] = [ids.encode(type_, row["id"]) for row in rows]
    await connection.close()
    return found


async def report(stage: Stage, partner: Partner) -> None:
    """Build the report of last month."""
    services = await wiring.build_services(stage.settings)
    try:
        async with services.db.write() as tx:
            requested = await monthly_reports.request_report(tx, partner, last_month())
            await monthly_reports.build_report(tx, requested.id)
    finally:
        await services.close()


def last_month() -> date:
    """The first day of last month."""
    return (datetime.now(UTC).date().replace(day=1) - timedelta(days=1)).replace(day=1)


def pages(records: Mapping[str, list[str]], organisations: list[str], donations: int) -> dict[str, Ask]:
    """The pages, and their requests."""

    def one_of(path: str, table: str) -> Ask:
        return lambda pick: f"{path}/{pick.choice(records[table])}"

    def listed(path: str, **asked: list[str]) -> Ask:
        return lambda pick: f"{path}?{urlencode({name: pick.choice(values) for name, values in asked.items()})}"

    def ordered(path: str, **asked: list[str]) -> Ask:
        return listed(path, **asked, direction=["ASC", "DESC"])

    statuses = ["ACTIVE", "REQUESTED_PAYMENT", "RECEIVED_PAYMENT", "CANCELLED"]
    emails = [donor(number)[2] for number in range(0, min(donations, 100_000), 997)]
    return {
        "home": lambda _: "/home",
        "donations": lambda _: "/donations",
        "donations, oldest first": lambda _: "/donations?sort=createdAt&direction=ASC",
        "donations by status, oldest first": listed(
            "/donations", status=statuses, sort=["createdAt"], direction=["ASC"]
        ),
        "donations, sorted by amount": ordered("/donations", sort=["amount"]),
        "donations by status, sorted by amount": ordered("/donations", status=statuses, sort=["amount"]),
        "donations of a nonprofit, sorted by amount": ordered(
            "/donations", organisationId=organisations, sort=["amount"]
        ),
        "donations since a day, sorted by amount": ordered("/donations", startDate=["2026-01-01"], sort=["amount"]),
        "donations, sorted by status": ordered("/donations", sort=["status"]),
        "donations by status": listed("/donations", status=statuses),
        "donations by status since a day": listed("/donations", status=statuses, startDate=["2026-01-01"]),
        "donations of a nonprofit": listed("/donations", organisationId=organisations),
        "donations of a donor": listed("/donations", email=emails),
        "donation": one_of("/donations", "donation"),
        "donation sessions": lambda _: "/donation-sessions",
        "donation requests": lambda _: "/donation-requests",
        "donation requests, sorted by due day": ordered("/donation-requests", sort=["dueAt"]),
        "donation requests, sorted by status": ordered("/donation-requests", sort=["status"]),
        "donation request": one_of("/donation-requests", "donation_request"),
        "disbursements": lambda _: "/disbursements",
        "disbursements by status": listed("/disbursements", status=["PENDING", "SENT", "PAID"]),
        "disbursements, sorted by status": ordered("/disbursements", sort=["status"]),
        "disbursement": one_of("/disbursements", "disbursement"),
        "regular donations": lambda _: "/regular-donations",
        "regular donations by status": listed("/regular-donations", status=["active", "past_due"]),
        "regular donations, sorted by next day": ordered("/regular-donations", sort=["nextDonationAt"]),
        "regular donations, sorted by status": ordered("/regular-donations", sort=["status"]),
        "regular donations of a donor": listed("/regular-donations", email=emails),
        "regular donation": one_of("/regular-donations", "donation_subscription"),
        "giving links": lambda _: "/giving-links",
        "giving links by state": listed("/giving-links", active=["true", "false"]),
        "giving link": one_of("/giving-links", "giving_link"),
        "nonprofits": lambda _: "/nonprofits",
        "submissions": lambda _: "/validation-submissions",
        "submissions by status": listed("/validation-submissions", status=["pending", "succeeded"]),
        "submissions by name": listed("/validation-submissions", query=["relief", "society 000123", "000777"]),
        "submission": one_of("/validation-submissions", "validation_submission"),
        "validation requests": lambda _: "/validation-requests",
        "validation requests by name": listed("/validation-requests", query=["relief", "society 000123", "000777"]),
        "validation requests, sorted by name": lambda _: "/validation-requests?sort=name&direction=ASC",
        "validation request": one_of("/validation-requests", "validation_request"),
        "invites": lambda _: "/validation-invites",
        "invite": one_of("/validation-invites", "validation_invite"),
        "agents": lambda _: "/agent-verifications",
        "agents by status": listed("/agent-verifications", status=["pending_review", "approved"]),
        "agent": one_of("/agent-verifications", "agent_verification"),
        "monitoring": lambda _: "/monitoring-subscriptions",
        "monitoring by name": listed("/monitoring-subscriptions", query=["relief", "society 000123", "000777"]),
        "monitoring subscription": one_of("/monitoring-subscriptions", "monitoring_subscription"),
        "eligibility": lambda _: "/eligibility-subscriptions",
        "eligibility by name": listed("/eligibility-subscriptions", query=["relief", "society 000123", "000777"]),
        "eligibility subscription": one_of("/eligibility-subscriptions", "eligibility_subscription"),
        "events": lambda _: "/events",
        "events of a type": listed("/events", type=["donation.created", "organisation.updated"]),
        "event": one_of("/events", "event"),
        "webhooks": lambda _: "/webhooks",
        "application forms": lambda _: "/application-forms",
        "application form": one_of("/application-forms", "hosted_configuration"),
        "request log": lambda _: "/request-log",
        "request log of failures": lambda _: "/request-log?outcome=failed",
        "request log by status": listed("/request-log", statusCode=["200", "422", "429", "404"]),
        "request log by route": listed("/request-log", route=["/v1/events", "/v1/refunds"]),
        "limits": lambda _: "/limits",
        "reports": lambda _: "/reports",
        "report": lambda _: f"/reports/{last_month():%Y-%m}",
        "audit log": lambda _: "/audit",
        "audit log by action": listed("/audit", action=["key.created", "member.changed"]),
        "audit log by person": listed("/audit", who=[f"member_{number}" for number in range(40)]),
        "members": lambda _: "/members",
        "API keys": lambda _: "/keys",
        "notifications": lambda _: "/preferences",
        "brand": lambda _: "/brand",
        "exports": lambda _: "/exports",
    }


def searches(donations: int) -> dict[str, Ask]:
    """The searches."""

    def typed(*words: Callable[[int], str]) -> Ask:
        return lambda pick: (
            "/search/hits?" + urlencode({"q": " ".join(word(pick.randrange(donations)) for word in words)})
        )

    return {
        "search: an email address": typed(lambda n: donor(n)[2]),
        "search: the beginning of one": typed(lambda n: donor(n)[2][:9]),
        "search: a first name that one in 20 has": typed(lambda n: donor(n)[0]),
        "search: two names": lambda pick: "/search/hits?" + urlencode(
            {"q": " ".join(donor(pick.randrange(donations))[:2])}
        ),
        "search: a metadata value that one in 40 has": typed(lambda n: f"appeal-{n % 40}"),
        "search: a metadata value that all begin with": typed(lambda _: "appeal"),
        "search: an order number": typed(lambda n: f"ORD-{n:07d}"),
        "search: an order number and a name": lambda pick: "/search/hits?" + urlencode(
            {"q": f"ORD-{(n := pick.randrange(donations)):07d} {donor(n)[1]}"}
        ),
        "search: a registry number": typed(lambda n: f"{n % 100_000:09d}"),
        "search: a word of each submission": typed(lambda _: "relief"),
        "search: nothing of it": typed(lambda n: f"nothing{n}"),
    }  # fmt: skip


async def measure(stage: Stage, signed: Signed, asked: Mapping[str, tuple[Ask, int]], calls: int) -> list[Figure]:
    """Measure each page, one request after the other."""
    pick, figures = random.Random(20261127), []
    with server(stage, "dashboard", "-m", "almoner", "serve") as running:
        async with aiohttp.ClientSession(f"http://127.0.0.1:{running.port}") as client:
            visitor = _Visitor(client, signed)
            for name, (ask, aim) in asked.items():
                await visitor.confirm()
                taken, size, spent = [], 0, 0.0
                for number in range(calls + _WARM):
                    if number == _WARM:
                        spent = _processor_seconds(running.pid, stage)
                    started = time.perf_counter()
                    status, body = await visitor.get(ask(pick))
                    if status != 200:
                        raise RuntimeError(f"{name}: {status}\n{body[:2000].decode()}")
                    if number >= _WARM:  # the first ones plan the statements on each connection, and compile the page
                        taken.append((time.perf_counter() - started) * 1000)
                        size = max(size, len(body))
                processor_ms = (_processor_seconds(running.pid, stage) - spent) / calls * 1000
                figures.append(Figure(name, taken, processor_ms, size, aim))
                print(figures[-1].line(), flush=True)
    return figures


class _Visitor:
    """A signed-in person who confirms their identity again before pages stop to accept the last confirmation."""

    def __init__(self, client: aiohttp.ClientSession, signed: Signed) -> None:
        self._client, self._home, self._cookie = client, signed.home, signed.cookie
        self._app, self._confirm_at = pyotp.TOTP(signed.totp), 0.0

    async def get(self, path: str) -> tuple[int, bytes]:
        """The status and the body of a page; a redirect is not followed."""
        headers = {"Cookie": self._cookie}
        async with self._client.get(self._home + path, headers=headers, allow_redirects=False) as answer:
            return answer.status, await answer.read()

    async def confirm(self) -> None:
        """Enter a code of the authenticator app, unless that was done in the last minutes.

        A code counts once, so that this waits for the next one after signing in.
        """
        if time.monotonic() < self._confirm_at:
            return
        await asyncio.sleep(self._app.interval - time.time() % self._app.interval + 1)
        _, page = await self.get("/prove")
        token = re.search(rb'name="csrf" value="([^"]+)"', page)
        assert token is not None, page[:2000]
        form = {"csrf": html.unescape(token[1].decode()), "next": self._home, "code": self._app.now()}
        headers = {"Cookie": self._cookie, "Sec-Fetch-Site": "same-origin"}
        address = f"{self._home}/prove"
        async with self._client.post(address, data=form, headers=headers, allow_redirects=False) as answer:
            name = self._cookie.partition("=")[0]
            if answer.status != 303 or name not in answer.cookies:
                raise RuntimeError(f"the code was not accepted: {answer.status}\n{(await answer.text())[:2000]}")
            self._cookie = f"{name}={answer.cookies[name].value}"
        self._confirm_at = time.monotonic() + _CONFIRMED_SECONDS


def _processor_seconds(server_pid: int, stage: Stage) -> float:
    return Spent.by(server_pid).seconds + Spent.by(stage.database_pid).seconds


def render(facts: Iterable[str], notes: Iterable[str], figures: Sequence[Figure]) -> str:
    """The report in Markdown: machine, what was measured, and a row for each page."""
    missed = [figure.page for figure in figures if not figure.is_met]
    met = ", ".join(missed) + " **missed**" if missed else "met"
    return "\n".join(
        [
            *(f"- {line}" for line in (*facts, *notes)),
            f"- p99 as below, under {AIM_BYTES:,} bytes each: {met}",
            "",
            "| page | processor ms | p50 ms | p99 ms | aim ms | kB | |",
            "|---|---|---|---|---|---|---|",
            *(figure.line() for figure in figures),
            "",
        ]
    )
