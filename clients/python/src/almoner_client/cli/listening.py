"""``listen``: forwards events to a receiver on this machine, in order."""

import os
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import typer

from almoner_client.cli import output
from almoner_client.cli.feed import EventFeed
from almoner_client.cli.forwarding import Answer, Forwarder
from almoner_client.cli.keyboard import watch_keys
from almoner_client.cli.signature_check import check_signatures

KEYS = "Keys: r resend the last event, f resend all that failed, c check signatures, q quit"


@dataclass
class Listener:
    """Forwards what the feed brings. Without a forwarder it only shows events. ``types``: empty for all."""

    feed: EventFeed
    forwarder: Forwarder | None
    types: frozenset[str]
    as_json: bool
    failed: list[dict[str, Any]] = field(default_factory=list)
    last: dict[str, Any] | None = None
    is_quitting: bool = False
    _turn: threading.RLock = field(default_factory=threading.RLock)

    def run(self, most: int | None = None) -> None:
        """Forward events until interrupted, or so many."""
        actions = {"r": self.resend_last, "f": self.resend_failed, "c": self.check, "q": self.quit}
        with watch_keys(actions if self.forwarder else {"q": self.quit}) as has_keys:
            if has_keys and self.forwarder:
                report(KEYS)
            try:
                self._follow(most)
            except KeyboardInterrupt:
                report(f"Stopped. To go on where this ended: --after {self.feed.after}")
                if not self.is_quitting:
                    raise

    def _follow(self, most: int | None) -> None:
        for number, event in enumerate(self._chosen(), 1):
            self._handle(event)
            if number == most:
                return

    def _chosen(self) -> Iterator[dict[str, Any]]:
        return (event for event in self.feed if not self.types or event["eventType"] in self.types)

    def quit(self) -> None:
        """End as Ctrl-C does, but as a success."""
        self.is_quitting = True
        os.kill(os.getpid(), signal.SIGINT)

    def resend_last(self) -> None:
        """Send the newest event again."""
        with self._turn:
            if self.last is None:
                report("No event has come yet.")
            else:
                self._send(self.last)

    def resend_failed(self) -> None:
        """Send all events again that the receiver has refused, in order."""
        with self._turn:
            again, self.failed = self.failed, []
            report(f"Resending {len(again)} events." if again else "None has failed.")
            for event in again:
                self._send(event)

    def check(self) -> None:
        """Say whether the receiver checks signatures."""
        with self._turn:
            if self.forwarder is not None:
                for line in check_signatures(self.forwarder).lines:
                    report(line)

    def _handle(self, event: dict[str, Any]) -> None:
        with self._turn:
            self.last = event
            if self.forwarder is None:
                show_event(event, None, as_json=self.as_json)
            else:
                self._send(event)

    def _send(self, event: dict[str, Any]) -> None:
        assert self.forwarder is not None, "only a listener with a receiver sends"
        answer = self.forwarder.send(event)
        if not answer.is_success:
            self.failed.append(event)
        show_event(event, answer, as_json=self.as_json)


def report(message: str) -> None:
    """A line for people, beside what programs read."""
    typer.echo(output.one_line(message), err=True)


def show_event(event: dict[str, Any], answer: Answer | None, *, as_json: bool) -> None:
    """One line: the event, and what the receiver answered."""
    if as_json:
        told = None if answer is None else {"status": answer.status, "milliseconds": answer.milliseconds}
        output.print_json_line(event if answer is None else {"event": event, "answer": told})
        return
    record = str(output.member(event, "eventData.id") or "-")
    line = f"{event['createdAt'][:19].replace('T', ' ')}  #{event['sequence']}  {event['eventType']}  {record}"
    if answer is not None:
        line += f"  -> {answer.status} in {answer.milliseconds} ms"
        if not answer.is_success and answer.body:
            line += f"  {answer.body[:100]}"
    colour = None if answer is None or answer.is_success else typer.colors.RED
    typer.secho(output.one_line(line), fg=colour)
