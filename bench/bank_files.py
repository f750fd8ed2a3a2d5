"""Seconds to write a file of 10,000 payments, validate it against ISO's schema, and read the bank's report.

``python -m bench.bank_files``; ``--write`` puts the figures into docs/evidence/bank-files.md. The baseline is the same
file written as text by a template, the least that any writer costs.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from uuid import UUID

from almoner.giving.banking.payment_files import domain as payment_files_domain
from almoner.giving.banking.payment_files import iso20022
from almoner.giving.banking.payment_files.domain import CreditTransfer, CreditTransferInitiation, OwnAccount
from almoner.giving.checkout.donations.domain import DisbursementBatch
from almoner.giving.disbursing.disbursements.domain import new_disbursement
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address, Payee
from almoner.kit.money import Money
from bench import machine

REPORT = Path(__file__).parents[1] / "docs" / "evidence" / "bank-files.md"
PAYMENTS = 10_000
ROUNDS = 5
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
ACCOUNT = AccountNumbers("iban", "DE89370400440532013000")
ADDRESS = Address("Berlin", "DEU", "Weg", "1", "10115")
AIM = 10.0


def order() -> CreditTransferInitiation:
    """10,000 payments in one currency, half of them by SEPA."""
    own = OwnAccount("Example Foundation", ACCOUNT, ADDRESS, Money(0, "EUR"))
    other = AccountNumbers("gb", "55779911", "200000")
    payments = []
    for number in range(1, PAYMENTS + 1):
        bucket = DisbursementBatch(UUID(int=1), UUID(int=number), "EUR")
        payout = replace(
            new_disbursement(UUID(int=number), bucket, AT), money=Money(1000 + number, "EUR"), status="SENT"
        )
        payee = Payee(UUID(int=number), f"Förderverein {number}", ACCOUNT if number % 2 else other, ADDRESS)
        payments.append(CreditTransfer(payout, payee))
    return CreditTransferInitiation(
        payment_files_domain.message_id_of(UUID(int=7)), own, AT, date(2026, 3, 3), payments
    )


def _template(asked: CreditTransferInitiation) -> bytes:
    return "".join(
        f"<CdtTrfTxInf><EndToEndId>{one.disbursement.end_to_end_id}</EndToEndId><InstdAmt>{one.disbursement.money.minor}</InstdAmt>"
        f"<Nm>{one.payee.holder}</Nm><IBAN>{one.payee.numbers.account}</IBAN></CdtTrfTxInf>"
        for one in asked.transfers
    ).encode()


def _answer(asked: CreditTransferInitiation) -> bytes:
    rows = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{one.disbursement.end_to_end_id}</OrgnlEndToEndId><TxSts>ACSC</TxSts></TxInfAndSts>"
        for one in asked.transfers
    )
    return (
        '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt><GrpHdr><MsgId>B</MsgId>'
        "<CreDtTm>2026-03-03T10:00:00</CreDtTm></GrpHdr><OrgnlGrpInfAndSts>"
        f"<OrgnlMsgId>{asked.message_id}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId></OrgnlGrpInfAndSts>"
        f"<OrgnlPmtInfAndSts><OrgnlPmtInfId>x</OrgnlPmtInfId>{rows}</OrgnlPmtInfAndSts></CstmrPmtStsRpt></Document>"
    ).encode()


def measured() -> list[str]:
    """The table: medians of five rounds in turn."""
    asked = order()
    answer = _answer(asked)
    work: dict[str, Callable[[], object]] = {
        "written and checked against the schema": lambda: iso20022.render_pain001(asked),
        "a template that checks nothing": lambda: _template(asked),
        "the bank's answer about all of them read": lambda: iso20022.parse_pain002(answer),
    }
    times: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(ROUNDS):
        for name, do in work.items():
            started = time.perf_counter()
            do()
            times[name].append(time.perf_counter() - started)
    lines = [f"| {PAYMENTS:,} payments | seconds, median ({ROUNDS} rounds) | aim |", "|---|---|---|"]
    for name, found in times.items():
        aim = f"{AIM:.0f}" if "written" in name else ""
        lines.append(f"| {name} | {statistics.median(found):.2f} ({min(found):.2f}-{max(found):.2f}) | {aim} |")
    return [*lines, "", f"The file has {len(iso20022.render_pain001(asked)) / 2**20:.1f} MiB."]


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", metavar="WORDS", help="Into docs/evidence, with these words about the machine.")
    words = parser.parse_args().write
    facts = [f"- {fact}" for fact in machine.facts("not asked")]
    lines = measured()
    print("\n".join(lines))
    if words is not None:
        head = ["# Files of payments", "", "Repeat with `python -m bench.bank_files`.", "", *facts, f"- {words}", ""]
        REPORT.write_text("\n".join([*head, *lines, ""]))


if __name__ == "__main__":
    main()
