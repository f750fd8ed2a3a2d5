"""A simulation in which money moves in any order: donors, a provider, its reports, a bank, officers, and crashes.

It records what really happened outside the service (at the provider, in its reports, at the bank). From that alone
``expected`` computes what the ledger must show once everything has been reported.
"""

import random
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from almoner.giving.accounting.disputes import jobs as disputes_jobs
from almoner.giving.accounting.reassignments import jobs as reassignments_jobs
from almoner.giving.accounting.reassignments import service as reassignments
from almoner.giving.accounting.refunds import jobs as refunds_jobs
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.accounting.settlements import flows as settlements_flows
from almoner.giving.accounting.settlements import jobs as settlements_jobs
from almoner.giving.accounting.settlements.domain import ImportInterrupted, SettlementReportError
from almoner.giving.accounting.suspense import jobs as suspense_jobs
from almoner.giving.checkout.donation_requests import jobs as donation_requests_jobs
from almoner.giving.checkout.donation_requests.domain import DonationRequestError
from almoner.giving.checkout.donations import flows as donations_flows
from almoner.giving.checkout.donations import jobs as donations_jobs
from almoner.giving.checkout.donations.domain import CannotAcceptDonations, InvalidState, WrongTargetCurrency
from almoner.giving.checkout.donations.flows import PaymentContext
from almoner.giving.checkout.payments.domain import ProviderPayment, ProviderStatus, ProviderUnavailable
from almoner.giving.checkout.sessions import jobs as sessions_jobs
from almoner.giving.checkout.sessions.domain import SessionAlreadyCompleted, SessionExpired
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import jobs as disbursements_jobs
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.verifications import jobs as verifications_jobs
from almoner.giving.gift_aid.claims import jobs as claims_jobs
from almoner.job_registry import WatchlistOrganisationScreener
from almoner.kit.errors import IncorrectParams
from almoner.kit.money import Money
from almoner.platform.database import transactions
from almoner.platform.database.transactions import ALL_PARTNERS
from almoner.platform.jobs.background import BackgroundWorker
from almoner.platform.jobs.background_tasks import merge_background_tasks
from almoner.platform.jobs.leases import CallInProgress
from almoner.screening.screenings.service import Screener
from tests.support import factories
from tests.support import giving as support
from tests.support.client import Client, data
from tests.support.fake_provider import FakeProvider, notice
from tests.support.fallible import Crash, Fallible, revive
from tests.support.giftaid import charity
from tests.support.giving import Giving, gift
from tests.support.money_world_back import DISPUTE_FEE, PROVIDER, Back, Told
from tests.support.money_world_claims import Claiming
from tests.support.money_world_direct import CURRENCY, Directly
from tests.support.money_world_transfers import Moved, Transferring
from tests.support.service import Service

RULES = DisbursementRules()
FEE = 30
"""The fee of every payment, in minor units; the provider charges nothing for refunds."""
_REFUSED = (
    SessionExpired, SessionAlreadyCompleted, InvalidState, ProviderUnavailable, CallInProgress, DisbursementError,
    CannotAcceptDonations, WrongTargetCurrency, IncorrectParams, SettlementReportError, ImportInterrupted,
    DonationRequestError,
    RefundError,
)  # fmt: skip


@dataclass(slots=True)
class World(Directly, Back, Claiming, Transferring):
    """One partner, some nonprofits, one provider. ``reported``: lines of the provider's reports, each once.

    ``transfers``: what the partner paid by bank, by the bank's reference: (request, amount).
    """

    service: Service
    api: Client
    db: Fallible
    chance: random.Random
    nonprofits: list[str]
    donor: str
    provider: FakeProvider = field(default_factory=FakeProvider)
    givings: list[Giving] = field(default_factory=list)
    reported: set[Told] = field(default_factory=set)
    reports: int = 0
    transfers: dict[str, tuple[UUID, Money]] = field(default_factory=dict)
    by_bank: dict[UUID, int] = field(default_factory=dict)
    moved: dict[str, Moved] = field(default_factory=dict)
    stated: list[bytes] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    first: list[Callable[[], Awaitable[object]]] = field(default_factory=list)

    @property
    def work(self) -> PaymentContext:
        """The dependencies of the payment flows."""
        return PaymentContext(self.db, self.provider)

    @property
    def background(self) -> BackgroundWorker:
        """The jobs, sweeps and reactions of everything that moves money."""
        accounts = payee_bank_accounts.find_approved_account
        duties = merge_background_tasks(
            [
                sessions_jobs.tasks,
                donations_jobs.tasks,
                donations_jobs.provider_tasks.bind(donations_jobs.JobDependencies(self.provider)),
                suspense_jobs.tasks,
                suspense_jobs.provider_tasks.bind(self.provider),
                settlements_jobs.tasks,
                disbursements_jobs.tasks,
                disbursements_jobs.payout_tasks.bind(
                    disbursements_jobs.JobDependencies(RULES, self.service.services.telemetry)
                ),
                disbursements_jobs.sandbox_tasks,
                verifications_jobs.tasks,
                verifications_jobs.checking_tasks.bind(
                    verifications_jobs.JobDependencies(WatchlistOrganisationScreener(Screener()), accounts)
                ),
                donation_requests_jobs.tasks,
                refunds_jobs.tasks.bind(self.provider),
                disputes_jobs.tasks,
                disputes_jobs.provider_tasks.bind(disputes_jobs.DisputeJobDependencies(self.provider, RULES)),
                disputes_jobs.recovery_tasks.bind(RULES),
                reassignments_jobs.rules_tasks.bind(RULES),
                claims_jobs.tasks,
            ]
        )
        return BackgroundWorker(self.db, duties, self.service.services.telemetry)

    async def happen(self) -> None:
        """Do one random action, or let time pass; refusals by the service are fine."""
        commands: list[Callable[[], Awaitable[object]]] = [
            self.begin, self.begin, self.pay, self.pay, self.pay_late, self.decline, self.stranger_pays, self.tell,
            self.tell, self.come_back, self.time_passes, self.drain, self.report, self.report, self.pay_out,
            self.bank_returns, self.reassign, self.verify, self.give_directly, self.give_directly,
            self.cancel_directly, self.ask, self.partner_pays, self.partner_pays, self.return_over,
            self.refund, self.refund, self.end_by_hand, self.provider_stumbles, self.dispute, self.bank_decides,
            self.tell_of_dispute, self.apply_over, self.merge, self.declare, self.claim, self.hmrc_answers,
            self.choose_transfer, self.choose_transfer, self.confirm_transfer, self.transfer_arrives,
            self.transfer_arrives, self.bank_repeats, self.accept_transfer, self.send_back, self.transfer_leaves,
            self.month_passes,
        ]  # fmt: skip
        if not self.done:  # first each of them, so that none is missed
            self.chance.shuffle(commands)
            self.first += commands
        command = self.first.pop() if self.first else self.chance.choice(commands)
        self.done[command.__name__] += 1
        with suppress(Crash, *_REFUSED):
            await command()
        revive()

    async def open(self) -> None:
        """Open a page as a donor."""
        body = {"userId": self.donor} if self.chance.random() < 0.5 else {}
        cause = self.chance.choice(self.nonprofits[:-1])  # the last one may be gone
        opened = await support.open_session(self.service, self.api, organisation=cause, **body)
        self.givings.append(Giving(self.service, self.api, opened.session_id, opened.session, self.provider))

    async def begin(self) -> None:
        """Choose an amount, or another one, as a donor."""
        chosen = gift(self.chance.choice((2500, 2500, 4000)), CURRENCY)
        await donations_flows.start_payment(self.work, self._some().session_id, chosen)

    async def come_back(self) -> None:
        """Return from the provider as a browser."""
        await donations_flows.handle_donor_return(self.work, self._some().session_id)

    async def pay(self) -> None:
        """Pay the amount due or (a fault at the provider) another one."""
        if payment := self._payment(ProviderStatus.OPEN):
            asked = payment.money
            odd = [Money(asked.minor - 1, CURRENCY), Money(asked.minor + 1, CURRENCY), Money(asked.minor, "EUR")]
            paid = self.chance.choice([asked] * 9 + odd)
            self.provider.pay_with_card(payment.id, money=paid)

    async def pay_late(self) -> None:
        """Receive money for an attempt that had ended."""
        if payment := self._payment(ProviderStatus.CANCELLED, ProviderStatus.FAILED):
            self.provider.pay_with_card(payment.id)

    async def decline(self) -> None:
        """Decline a card for good."""
        if payment := self._payment(ProviderStatus.OPEN):
            self.provider.become(payment.id, ProviderStatus.FAILED, attempts=1)

    async def stranger_pays(self) -> None:
        """Receive a payment without our reference."""
        if self.chance.random() < 0.2:
            name = f"tp_stranger{len(self.provider.payments)}"
            self.provider.payments[name] = ProviderPayment(
                name,
                "https://fake.example",
                ProviderStatus.SUCCEEDED,
                Money(700, CURRENCY),
                "nobody",
                1,
                is_live_mode=False,
            )

    async def tell(self) -> None:
        """Send the provider's webhook, up to ten times."""
        if payment := self._payment(*ProviderStatus):
            await self._tell(payment.id, self.chance.randint(1, 10))

    async def _tell(self, payment: str, times: int) -> None:
        reported = notice(payment, at=self.service.clock.real_now())
        event = self.provider.parse_webhook(
            {name.lower(): value for name, value in reported[1].items()}, reported[0], self.service.clock.real_now()
        )
        for _ in range(times):
            await donations_flows.handle_provider_webhook(self.work, event)

    async def time_passes(self) -> None:
        """Move business time, and real time beyond the leases of crashed processes."""
        self.service.clock.advance(timedelta(minutes=self.chance.choice((10, 100, 26 * 60))))
        self.service.clock.advance_wall(seconds=61)

    async def month_passes(self) -> None:
        """Move time beyond the deadline of confirmed transfers."""
        if self.chance.random() < 0.2:
            self.service.clock.advance(timedelta(days=31))

    async def drain(self) -> None:
        """Let workers take over the work of crashed ones, and do all due work."""
        background = self.background
        await background.runner.maintain_leases()
        await background.drain()

    async def report(self) -> None:
        """Report a provider payout of some payments and refunds, sometimes twice, sometimes with a wrong line first."""
        paid = [payment.id for payment in self._succeeded() if payment.money.currency == CURRENCY]
        lines = [Told("payment", name) for name in paid if self.chance.random() < 0.5]
        lines += self.lines_back(CURRENCY)
        wrong = self.chance.random() < 0.1
        await self._report(CURRENCY, [line for line in lines if line not in self.reported or wrong], wrong=wrong)

    async def _report(self, currency: str, lines: Iterable[Told], *, wrong: bool = False) -> None:
        if not (rows := [self._line(reported, wrong=wrong) for reported in lines]):
            return
        self.reports += 1
        head = f"report {self.reports},{self.service.clock.now():%Y-%m-%d},{currency}"
        content = "\n".join([",".join((*settlements_flows.COLUMNS, "refund")), *(f"{head},{row}" for row in rows)])
        await settlements_flows.import_report(self.db, PROVIDER, content.encode())
        if not wrong:
            self.reported |= set(lines)

    def _line(self, told: Told, *, wrong: bool) -> str:
        paid = self.provider.payments[told.payment].money.minor
        gross = (paid if told.kind == "payment" else self.back_minor(told)) + wrong
        gross = gross if told.kind in ("payment", "dispute_won") else -gross
        fee = {"payment": FEE, "dispute": DISPUTE_FEE}.get(told.kind, 0)
        sums = f"{gross / 100:.2f},{fee / 100:.2f},{(gross - fee) / 100:.2f}"
        return f"{told.kind},{told.payment},{sums},{told.name}"

    async def pay_out(self) -> None:
        """Run the disbursements as an officer."""
        await disbursements_flows.run_disbursements(self.db, RULES)

    async def bank_returns(self) -> None:
        """Return a disbursement as a bank."""
        if found := await self.ids("select id from disbursement where status in ('SENT', 'PAID') order by id"):
            returned = self.chance.choice(found)
            came_back = await disbursements_flows.mark_returned(
                self.db, returned, "account closed", recorded_by="officer"
            )
            if self.chance.random() < 0.7:
                await self._release(came_back.organisation_id)

    async def _release(self, organisation_id: UUID) -> None:
        async with self.db.write() as tx:
            await disbursements.release_holds(
                tx, ALL_PARTNERS, organisation_id, note="by mail", decided_by="officer", rules=RULES
            )

    async def reassign(self) -> None:
        """Reassign a donation to another nonprofit as an officer."""
        if found := await self.ids("select id from donation where status = 'RECEIVED_PAYMENT' order by id"):
            target = self.service.db.deployment.ids.decode("organisation", self.chance.choice(self.nonprofits))
            assert target is not None
            async with self.db.write() as tx:
                await reassignments.reassign_donation(
                    tx,
                    ALL_PARTNERS,
                    self.chance.choice(found),
                    target,
                    ground="merged",
                    reason="merged",
                    reassigned_by="officer",
                    rules=RULES,
                )

    async def verify(self) -> None:
        """Verify a nonprofit, most of the time."""
        name = self.chance.choice(self.nonprofits)
        await self.api.post(
            "/v1/monetary-donation-verifications", {"organisationId": f"{name}-monetaryDonation:approve"}
        )

    async def rest(self) -> None:
        """Without further crashes, report and do everything several times, until nothing moves."""
        self.db.share = 0.0
        self.provider.lose_answers = self.provider.refuse = 0
        for days in (1, 31, 2, 2, 2):
            self.service.clock.advance(timedelta(days=days))
            self.service.clock.advance_wall(seconds=61)
            for payment in list(self.provider.payments):
                await self._tell(payment, 2)
            for reference in self.transfers:
                await self.note_transfer(reference)
            await self.settle_what_goes_back()
            await self.settle_transfers()
            await self.follow_merged()
            await self.drain()
            for currency in (CURRENCY, "EUR"):
                lines = [Told("payment", one.id) for one in self._succeeded() if one.money.currency == currency]
                lines += self.lines_back(currency)
                await self._report(currency, [line for line in lines if line not in self.reported])
            await self.drain()
        await self.pay_out()
        await self.drain()
        await self.settle_claims()

    async def expected(self) -> tuple[dict[str, int], Counter[str]]:
        """(balance of each account as credits less debits, number of transfers of each kind)."""
        balances: Counter[str] = Counter()
        posted: Counter[str] = Counter()
        donations, withdrawn = await self.donations(), await self.withdrawn()
        async with self.db.read() as tx:
            held = {
                row["provider_payment"] for row in await tx.fetch("select provider_payment from unallocated_payment")
            }
            posted["fee_charged"] = await tx.fetchval(
                "select count(*) from settlement_line where payment_id is not null and fee_minor > waived_fee_minor"
            )
        for payment in self._succeeded():
            currency, minor = payment.money.currency, payment.money.minor
            posted["payment_unallocated" if payment.id in held else "payment_received"] += 1
            posted.update(("settled", "provider_fee"))
            balances[f"bank:{currency}"] -= minor - FEE
            if payment.id in held:
                balances[f"fees:{currency}:{PROVIDER}"] -= FEE
        await self.expect_back(balances, posted, held)
        await self.expect_requests(balances, posted, donations)
        await self.expect_transfers(balances, posted)
        for donation in donations:
            if donation["status"] not in ("RECEIVED_PAYMENT", "DISBURSED"):
                continue
            # The nonprofit bears the fee as far as something is left of the donation; we bear the rest.
            arrived, gone = donation["settledAmount"]["amount"], withdrawn[donation["id"]]
            owed = max(0, arrived - gone)
            balances[f"fees:{CURRENCY}:{PROVIDER}"] -= owed - (arrived - gone)
            if donation["status"] == "RECEIVED_PAYMENT":
                owner = self.service.db.deployment.ids.decode("organisation", donation["organisationId"])
                balances[f"donation_liability:{CURRENCY}:{owner}"] += owed
            else:
                balances[f"bank:{CURRENCY}"] += owed
        return {key: minor for key, minor in balances.items() if minor}, posted

    async def donations(self) -> list[dict[str, Any]]:
        """The partner's donations in the API."""
        found: list[dict[str, Any]] = []
        answer = await self.api.get("/v1/donations", pageSize=100)
        while True:
            found += data(answer)
            if (following := answer.json()["_links"]["next"]) is None:
                return found
            answer = await self.api.get(following)

    def _some(self) -> Giving:
        return self.chance.choice(self.givings)

    def _payment(self, *statuses: ProviderStatus) -> ProviderPayment | None:
        found = [payment for payment in self.provider.payments.values() if payment.status in statuses]
        return self.chance.choice(found) if found else None

    def _succeeded(self) -> list[ProviderPayment]:
        return [one for one in self.provider.payments.values() if one.status is ProviderStatus.SUCCEEDED]


@asynccontextmanager
async def begun(service: Service, seed: int, *, crashes: float) -> AsyncIterator[World]:
    """A simulation with four charities.

    ``crashes``: the share of transaction boundaries at which the process crashes.
    """
    tenant = await service.tenant()
    pool = await transactions.open_pool(service.database.dsn, 10)
    db = Fallible(pool, service.db.deployment)
    db.chance, db.share = random.Random(seed + 1), crashes
    nonprofits = [await charity(service) for _ in range(4)]
    api = service.client(tenant.secret)
    try:
        yield World(service, api, db, random.Random(seed), nonprofits, (await factories.user(api))["id"])
    finally:
        await api.close()
        await db.close()
