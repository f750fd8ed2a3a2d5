"""Heads are signed every five minutes and exported until they are there; entries never wait for long (V8)."""

from datetime import timedelta
from pathlib import Path

import msgspec

from almoner.platform.audit import log as audit
from almoner.platform.audit import verification as audit_verification
from almoner.platform.audit.log import Actor
from almoner.platform.database.transactions import Database
from tests.support.audit_log import begun
from tests.support.database import TestDatabase
from tests.support.eventually import eventually
from tests.support.service import Service, serving

PERIOD = timedelta(minutes=5)
SYSTEM = Actor("system", "tests")


async def write(db: Database) -> None:
    async with db.write() as tx:
        await audit.record_entry(tx, audit.DEPLOYMENT, SYSTEM, "thing.done", "thing_1")


def exported(service: Service) -> list[int]:
    """The places of the heads that were exported for the deployment."""
    file = service.services.settings.audit_heads_folder / "deployment.jsonl"
    lines = file.read_text().splitlines() if file.exists() else []
    return [msgspec.json.decode(line)["sequence"] for line in lines]


async def test_v8_a_head_is_signed_and_exported_every_five_minutes_when_its_chain_moved(
    alone: Service,
) -> None:
    await write(alone.db)
    await alone.drain()
    assert exported(alone) == [1], "the first entry at once"
    for _ in range(2):
        await write(alone.db)
    alone.clock.advance(PERIOD)
    await alone.drain()
    assert exported(alone) == [1, 3]
    alone.clock.advance(PERIOD * 5)
    await alone.drain()
    assert exported(alone) == [1, 3]
    await write(alone.db)
    alone.clock.advance(PERIOD)
    await alone.drain()
    assert exported(alone) == [1, 3, 4]
    proof = await audit_verification.verify_chain(
        alone.db, audit.DEPLOYMENT, alone.services.settings.audit_heads_folder
    )
    assert (proof.entry_count, proof.signed_head_count, proof.chain_error) == (4, 3, None)


async def test_v8_what_could_not_be_exported_is_tried_again(empty_database: TestDatabase, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    folder.write_text("not mounted")
    async with serving(empty_database, audit_heads=str(folder)) as service:
        await write(service.db)
        await service.drain()
        assert any(b"schedule_failed" in line and b"audit.export" in line for line in service.lines)
        folder.unlink()

        async def there() -> bool:
            await service.drain()
            return exported(service) == [1]

        await eventually(there, within=30)


async def test_v8_a_line_that_a_crash_cut_off_comes_again(alone: Service, tmp_path: Path) -> None:
    log = await begun(alone, tmp_path)
    first = log.file.read_bytes()
    await log.sign()
    whole = log.file.read_bytes()
    log.file.write_bytes(whole[: len(first) + 20])
    async with alone.db.write() as tx:
        rows = await tx.fetch("select sequence from audit_head where scope = $1 order by 1", log.scope)
        await tx.execute("update audit_head set exported_at = null where scope = $1 and sequence = 9", log.scope)
    assert [row["sequence"] for row in rows] == [6, 9]
    await log.sign()
    assert log.file.read_bytes() == whole
    assert (await log.prove()).chain_error is None


async def test_v8_an_end_that_the_service_did_not_write_is_never_signed(alone: Service, tmp_path: Path) -> None:
    log = await begun(alone, tmp_path)
    await log.tamper("update audit_chain set last_hash = sha256(last_hash) where scope = $1")
    await log.sign()
    assert log.file.read_bytes().count(b"\n") == 1


async def test_v8_one_scope_that_cannot_be_chained_holds_up_no_other(alone: Service) -> None:
    folder = alone.services.settings.audit_heads_folder
    broken, sound = await begun(alone, folder), await begun(alone, folder)
    await broken.tamper("update audit_chain set last_sequence = 3 where scope = $1")
    async with alone.db.write() as tx:
        for scope in (broken.scope, sound.scope):
            await audit.record_entry(tx, scope, SYSTEM, "thing.done", "thing_1")
    await alone.drain()
    assert any(b"audit_chain_failed" in line for line in alone.lines)
    proof = await sound.prove()
    assert (proof.entry_count, proof.unchained_entry_count, proof.chain_error) == (10, 0, None)
    proof = await broken.prove()
    assert proof.chain_error is not None
