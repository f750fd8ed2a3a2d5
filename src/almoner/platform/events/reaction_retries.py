"""Retry failed reactions, each in a job of its own.

Numbering, listing and delivering a partner's events must not wait for a slice that cannot process one of them. A job
retries for days, is reported by the self-check when it gives up (``jobs.none_dead``), and runs again once an operator
retries it.
"""

from collections.abc import Mapping, Sequence
from typing import Final
from uuid import UUID

from almoner.platform.database.transactions import Partner
from almoner.platform.events import outbox
from almoner.platform.events.outbox import Event, EventReaction
from almoner.platform.jobs.background_tasks import Handler, JobContext
from almoner.platform.jobs.queue import Job, JobDone, JobDropped, NewJob, Result

RETRY_REACTION: Final = "events.react"


def build_reaction_retry_job(reaction: EventReaction, event: Event) -> NewJob:
    """The job that retries a reaction to an event."""
    assert event.partner_id is not None, "internal events wait in their table"
    payload = {"reaction": reaction.name, "partner": str(event.partner_id), "event": str(event.id)}
    return NewJob(RETRY_REACTION, payload, unique_key=f"{reaction.name} {event.id}")


def build_reaction_retry_handlers(reactions: Sequence[EventReaction]) -> Mapping[str, Handler]:
    """The job handlers that retry reactions."""
    named = {reaction.name: reaction for reaction in reactions}

    async def react(context: JobContext, job: Job) -> Result:
        reaction = named.get(job.payload["reaction"])
        if reaction is None:
            return JobDropped(f"no slice of this version reacts as {job.payload['reaction']}")
        async with context.db.write() as tx:
            event = await outbox.find_public_event(
                tx, Partner(UUID(job.payload["partner"])), UUID(job.payload["event"])
            )
            if event is None:
                return JobDropped("the event is no longer kept")
            await reaction.react(tx, [event])
        return JobDone()

    return {RETRY_REACTION: react}
