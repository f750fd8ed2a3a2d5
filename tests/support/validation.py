"""Validation requests through the partner's API, and registers for them."""

import csv
import gzip
import io
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from almoner.adapters.registers_irs_bmf import IrsBmfReader
from almoner.kit.evidence import Evaluation, EvaluationStep
from almoner.nonprofits.registers import flows as registers_flows
from almoner.nonprofits.registers.ports import RegisterSource
from almoner.platform.database.transactions import Database
from almoner.platform.evidence import store as evidence_store
from tests.support import bmf
from tests.support.client import Client, data
from tests.support.irs_month import SAMPLES
from tests.support.service import Service

PATH, SIMULATE = "/v1/validation-requests", "/v1/sandbox/simulate"
INVALID_STATE = (400, "validation_request/invalid_state")
BODY: Final[dict[str, Any]] = {
    "name": "Casper Relief Fund",
    "registryName": "IRS",
    "registryId": "85-0196605",
    "website": "https://example.org",
    "countryCode": "USA",
}
UNHEARD_OF: Final = {"registryName": "HMRC", "registryId": "X6243", "countryCode": "GBR"}
"""A number of a register that no test imports, so nothing is known of it."""


async def requested(api: Client, **body: Any) -> dict[str, Any]:
    """Create a request; by default for an organisation that no register lists."""
    made: dict[str, Any] = data(await api.post(PATH, {**BODY, **body}))
    return made


async def shown(api: Client, record: dict[str, Any]) -> dict[str, Any]:
    """The record as its GET returns it now."""
    found: dict[str, Any] = data(await api.get(f"{PATH}/{record['id']}"))
    return found


async def decided(service: Service, api: Client, **body: Any) -> dict[str, Any]:
    """Create a request, and do all due work."""
    made = await requested(api, **body)
    await service.drain()
    return await shown(api, made)


async def refused(api: Client, **body: Any) -> tuple[int, str, list[str]]:
    """(status, error code, reasons) of a refused creation."""
    answer = await api.post(PATH, {**BODY, **body})
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["reasons"]


async def simulate(api: Client, record: dict[str, Any], action: str, **more: Any) -> dict[str, Any]:
    """Simulate a decision; returns the record."""
    answer = await api.post(SIMULATE, {"id": record["id"], "action": action, **more})
    found: dict[str, Any] = data(answer)
    assert answer.json()["object"] == "validation_request"
    return found


async def told(service: Service, api: Client) -> list[tuple[str, dict[str, Any]]]:
    """The partner's events about requests, in order: (last word of the type, record)."""
    await service.drain()
    events = data(await api.get("/v1/events", direction="ASC", pageSize=100))
    return [(event["eventType"].rsplit(".", 1)[1], event["eventData"]) for event in events]


async def evidence(service: Service, record: dict[str, Any]) -> list[Evaluation]:
    """Every evaluation of a request, oldest first."""
    request_id = service.db.deployment.ids.decode("validationrequest", record["id"])
    assert request_id is not None
    async with service.db.read() as tx:
        return await evidence_store.list_evaluations(tx, request_id)


async def steps(service: Service, record: dict[str, Any]) -> dict[str, EvaluationStep]:
    """The steps of the last evaluation, by name."""
    return {step.name: step for step in (await evidence(service, record))[-1].steps}


def sampled(*eins: str) -> list[dict[str, str]]:
    """The rows of these numbers in the shipped IRS files, as published."""
    found: dict[str, dict[str, str]] = {}
    for state in ("dc", "wy"):
        text = gzip.decompress((SAMPLES / f"eo_{state}.csv.gz").read_bytes()).decode("ascii")
        found |= {row["EIN"]: row for row in csv.DictReader(io.StringIO(text)) if row["EIN"] in eins}
    return [found[ein] for ein in eins]


class Lists:
    """The IRS lists, imported in the files' own formats."""

    def __init__(self, db: Database, folder: Path) -> None:
        self.db, self._folder, self._files = db, folder, 0

    def _next(self, suffix: str) -> Path:
        self._files += 1
        return self._folder / f"file{self._files}{suffix}"

    async def master(self, day: datetime, rows: Iterable[dict[str, str]]) -> None:
        """Import the master file of a day."""
        file = bmf.write(self._next(".csv"), rows)
        await registers_flows.import_files(self.db, IrsBmfReader(), [file], as_of=day, force=True)

    async def listing(self, source: RegisterSource, day: datetime, lines: Iterable[str]) -> None:
        """Import another list of a day."""
        file = self._next(".txt")
        file.write_text("\n\n" + "\n".join(lines) + "\n" * self._files, encoding="utf-8")
        await registers_flows.import_files(self.db, source, [file], as_of=day, force=True)
