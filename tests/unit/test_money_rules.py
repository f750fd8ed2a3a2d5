"""The rules for money that pays no donation, as docs/money-rules.md writes them down (M6, settled 5)."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from almoner.giving.accounting.ledger.domain import TransferKind
from almoner.giving.accounting.suspense import domain as suspense_domain
from almoner.giving.accounting.suspense.domain import AutomaticAction
from almoner.giving.checkout.payments.domain import BANK_TRANSFER, UnallocatedReason
from almoner.platform.pages.translations import LOCALE_FOLDER

DOCUMENT = Path(__file__).parents[2] / "docs" / "money-rules.md"
ENGLISH = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
WORDS = {"refunds": AutomaticAction.REFUND, "dismisses": AutomaticAction.DISMISS}
NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """One row of the table."""

    reason: str
    action: AutomaticAction
    after: timedelta
    person: tuple[str, ...]
    postings: tuple[str, ...]


def rows() -> list[Row]:
    """The table of the document."""
    found = []
    for line in DOCUMENT.read_text("utf-8").splitlines():
        if match := re.fullmatch(r"\| `(\w+)` \| .+ \| (\w+) \| (\d+) days \| ([\w, ]+) \| (.+) \|", line):
            reason, does, days, person, postings = match.groups()
            named = tuple(re.findall(r"`(\w+)`", postings))
            found.append(Row(reason, WORDS[does], timedelta(days=int(days)), tuple(person.split(", ")), named))
    return found


ROWS = rows()


def test_m6_every_reason_has_one_row() -> None:
    assert [row.reason for row in ROWS] == [reason.value for reason in UnallocatedReason]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.reason)
def test_m6_the_code_decides_as_the_document_says(row: Row) -> None:
    decision = suspense_domain.compute_scheduled_automatic_action(UnallocatedReason(row.reason), NOW)
    assert decision == suspense_domain.ScheduledAutomaticAction(row.action, NOW + row.after)


def test_m6_a_bank_transfer_waits_for_a_person_whatever_the_reason() -> None:
    for reason in UnallocatedReason:
        assert suspense_domain.compute_scheduled_automatic_action(reason, NOW, BANK_TRANSFER).due_at == NOW + timedelta(
            days=30
        )


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.reason)
def test_m6_what_is_refunded_is_in_the_books_and_nothing_else(row: Row) -> None:
    assert all(name in set(TransferKind) for name in row.postings)
    assert (
        suspense_domain.requires_ledger_posting(UnallocatedReason(row.reason))
        is (row.action is AutomaticAction.REFUND)
        is bool(row.postings)
    )
    assert ("refund" in row.person) is bool(row.postings)


def test_there_are_words_for_a_donor_about_every_refund_of_a_known_payment() -> None:
    refunded = {row.reason for row in ROWS if row.action is AutomaticAction.REFUND} - {
        UnallocatedReason.UNKNOWN_PAYMENT.value
    }
    assert {key.rpartition(".")[2] for key in ENGLISH if key.startswith("refund.why.")} == refunded
