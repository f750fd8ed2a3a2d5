"""Applies a bank's status report, one disbursement per transaction; skips those that were already updated."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from asyncpg import DeadlockDetectedError, SerializationError

from almoner.giving.banking.payment_files import service
from almoner.giving.banking.payment_files.domain import BankOutcome, PaymentFile
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementError, DisbursementRules, RefusedDisbursement
from almoner.platform.database.transactions import ALL_PARTNERS, Database, Partner, Tx
from almoner.platform.observability.loggers import get_logger

OnFinished = Callable[[Tx, PaymentFile, dict[BankOutcome, int]], Awaitable[None]]
"""Records who imported the report, in its last transaction."""
MAX_ATTEMPTS: Final = 5
_BY_RULE: Final = "rule"
_STATUS: Final = {BankOutcome.PAID: "PAID", BankOutcome.REJECTED: "RETURNED"}
_log: Final = get_logger("almoner.giving")


@dataclass(slots=True)
class StatusReportResult:
    """The result of importing a status report.

    ``contradicted_disbursement_ids``: disbursements for which the bank contradicts itself, now on hold.
    ``refused_disbursements``: if there are any, the report is not complete.
    """

    file: PaymentFile
    outcome_counts: dict[BankOutcome, int]
    confirmed_count: int = 0
    returned_count: int = 0
    contradicted_disbursement_ids: list[UUID] = field(default_factory=list)
    refused_disbursements: list[RefusedDisbursement] = field(default_factory=list)


async def import_status_report(
    db: Database, content: bytes, *, imported_by: str, on_finished: OnFinished
) -> StatusReportResult:
    """Confirm paid and return rejected disbursements by a status report; a wrong report changes nothing.

    An interrupted import is finished by importing the report again. Raises PaymentFileError.
    """
    answer = await asyncio.to_thread(service.parse_status_report, content)  # let the server handle others
    async with db.read() as tx:
        file, stated = await service.evaluate_status_report(tx, answer)
    reported = StatusReportResult(file, dict(Counter(verdict for verdict, _ in stated.values())))
    for disbursement_id, (verdict, words) in stated.items():
        if verdict in _STATUS:
            await _apply_outcome(db, reported, disbursement_id, verdict, words, imported_by)
    if stated:
        async with db.write() as tx:
            if not reported.refused_disbursements:
                await service.record_status_report(tx, file, answer, reported.outcome_counts, imported_by=imported_by)
            await on_finished(tx, file, reported.outcome_counts)
    return reported


async def _apply_outcome(
    db: Database, reported: StatusReportResult, disbursement_id: UUID, verdict: BankOutcome, words: str, by: str
) -> None:
    """Apply the outcome of one disbursement; an error does not stop the others."""
    why = f"other work was let pass {MAX_ATTEMPTS} times"
    for _ in range(MAX_ATTEMPTS):
        try:
            async with db.write() as tx:  # a worker updates the donations beyond one batch
                if verdict is BankOutcome.PAID:
                    await disbursements.confirm_paid(tx, disbursement_id)
                else:
                    await disbursements.mark_returned(tx, disbursement_id, words[:500], recorded_by=by)
        except (DeadlockDetectedError, SerializationError):
            continue
        except DisbursementError:
            await _compare_outcome(db, reported, disbursement_id, verdict, words)
        except disbursements.REFUSALS as refused:
            why = str(refused)
            break
        else:
            reported.confirmed_count += verdict is BankOutcome.PAID
            reported.returned_count += verdict is BankOutcome.REJECTED
        return
    reported.refused_disbursements.append(RefusedDisbursement(disbursement_id, why))


async def _compare_outcome(
    db: Database, reported: StatusReportResult, disbursement_id: UUID, verdict: BankOutcome, words: str
) -> None:
    """Hold the nonprofit's disbursements if the outcome contradicts the status, so that nothing is paid twice."""
    named = db.deployment.ids.encode("disbursement", disbursement_id)
    async with db.write() as tx:
        disbursement = await disbursements.get(tx, ALL_PARTNERS, disbursement_id)
        if disbursement.status == _STATUS[verdict]:
            return
        note = f"{named} is {disbursement.status}, and {words}: find out which is true before its gifts are paid again"
        scope = Partner(disbursement.partner_id)
        await disbursements.hold_disbursements(
            tx, scope, disbursement.organisation_id, note=note, decided_by=_BY_RULE, rules=DisbursementRules()
        )
    reported.contradicted_disbursement_ids.append(disbursement_id)
    _log.error("bank_report_conflicts", disbursement=named, is_now=disbursement.status)
