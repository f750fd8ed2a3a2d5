"""Asking a person to decide, showing the evidence, and keeping what was decided.

Whose subject it is calls ``ask``, ``conclude`` and ``withdraw`` in the transaction of its own change, after it has
locked the subject: every other lock order is the subject's first, then the review's.
"""

from collections.abc import Sequence

from almoner.platform.db import Tx
from almoner.validation.reviews import store
from almoner.validation.reviews.domain import Decided, Decision, History, Subject


async def ask(tx: Tx, subject: Subject, reasons: Sequence[str]) -> None:
    """Have a person decide about it; where they are asked already, for these reasons too. At least one reason."""
    await store.ask(tx, subject, list(dict.fromkeys(reasons)))


async def conclude(tx: Tx, subject: Subject, decision: Decision) -> None:
    """It was decided: end its open review, if any, and keep who decided, when and why."""
    ended = await store.end(tx, subject, "decided")
    await store.insert_decision(tx, subject, Decided(decision, tx.now, ended))


async def withdraw(tx: Tx, subject: Subject) -> None:
    """Nobody need decide about it any more. Does nothing where nobody was asked."""
    await store.end(tx, subject, "withdrawn")


async def of(tx: Tx, subject: Subject) -> History:
    """All that was asked and decided about it."""
    return History(await store.reviews(tx, subject), await store.decisions(tx, subject))
