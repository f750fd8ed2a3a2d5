"""Whatever is done to an audit log by somebody who owns its tables, the verifier finds it (V8)."""

import random
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from almoner.kit.ids import new_id
from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit import verification as audit_verification
from almoner.platform.audit.chain import COLUMNS, GENESIS, compute_chained_hash
from almoner.platform.audit.heads import AuditChainHead
from almoner.platform.database.postgres import PostgresServer
from almoner.platform.database.transactions import open_database
from tests.support import database
from tests.support.audit_log import Log, begun
from tests.support.clock import TestClock
from tests.support.database import TestDatabase
from tests.support.figures import Figures
from tests.support.service import Service, serving

FIRST, MIDDLE, BEFORE_HEAD, AT_HEAD, LAST = 1, 4, 5, 6, 9
PLACES = (FIRST, MIDDLE, BEFORE_HEAD, AT_HEAD, LAST)

EDITS = {
    "position": "default",
    "id": "gen_random_uuid()",
    "scope": "gen_random_uuid()",
    "at": "at + interval '1 microsecond'",
    "actor_kind": "'operator'",
    "actor_id": "actor_id || '1'",
    "action": "action || '.'",
    "subject": "upper(subject)",
    "address": "'192.0.2.2'",
    "address_hash": "sha256(address_hash)",
    "request_id": "null",
    "details": "details || '{\"n\": -1}'",
    "mac": "sha256(mac)",
    "sequence": "sequence + 100",
    "hash": "sha256(hash)",
}
WHERE = "where scope = $1 and sequence"
FORGED = """
insert into audit_entry (id, scope, at, actor_kind, actor_id, action, subject, mac, sequence, hash)
select gen_random_uuid(), scope, at, actor_kind, actor_id, action, subject, mac, {} from audit_entry
where scope = $1 and sequence = 3
"""
MAKE_ROOM = (
    f"update audit_entry set sequence = -sequence {WHERE} >= 3",
    "update audit_entry set sequence = 1 - sequence where scope = $1 and sequence < 0",
)


@pytest.fixture(scope="module")
async def lab(postgres_server: PostgresServer) -> AsyncIterator[Service]:
    """A service whose log may be tampered with."""
    async with database.copied(postgres_server) as made, serving(made) as service:
        async with Log(service, audit.DEPLOYMENT, Path()).tampering() as owner:
            await owner.execute("alter table audit_entry drop constraint audit_entry_sequence_check")
        yield service


@pytest.fixture
async def log(lab: Service, tmp_path: Path) -> Log:
    """Nine entries, of which the sixth was the head that was signed."""
    return await begun(lab, tmp_path)


async def test_v8_a_log_that_nobody_touched_is_proved(log: Log) -> None:
    proof = await log.prove()
    assert (proof.entry_count, proof.signed_head_count, proof.unchained_entry_count, proof.chain_error) == (
        9,
        1,
        0,
        None,
    )
    async with log.service.db.write() as tx:
        await audit.record_entry(tx, log.scope, audit.Actor("system", "test"), "thing.late", "thing_1")
    proof = await log.prove()
    assert (proof.entry_count, proof.unchained_entry_count, proof.chain_error) == (9, 1, None)


async def test_v8_every_column_can_be_tampered_with(log: Log) -> None:
    async with log.service.db.read() as tx:
        columns = await tx.fetch("select column_name from information_schema.columns where table_name = 'audit_entry'")
    assert {row["column_name"] for row in columns} == EDITS.keys()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("column", EDITS)
async def test_v8_an_edit_of_any_column_is_found(log: Log, column: str, place: int) -> None:
    await log.tamper(f"update audit_entry set {column} = {EDITS[column]} {WHERE} = {place}")
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert broken.sequence == place


@pytest.mark.parametrize("heads", [True, False], ids=["with heads", "without heads"])
@pytest.mark.parametrize("place", PLACES)
async def test_v8_a_deleted_entry_is_found(log: Log, place: int, *, heads: bool) -> None:
    await log.tamper(f"delete from audit_entry {WHERE} = {place}")
    broken = (await log.prove(heads=heads)).chain_error
    assert broken is not None
    assert broken.sequence == place
    assert any(word in str(broken) for word in ("deleted", "truncated"))


@pytest.mark.parametrize("place", PLACES)
async def test_v8_a_deleted_entry_is_found_when_the_others_close_ranks(log: Log, place: int) -> None:
    await log.tamper(
        f"delete from audit_entry {WHERE} = {place}",
        f"update audit_entry set sequence = -sequence {WHERE} > {place}",
        "update audit_entry set sequence = -sequence - 1 where scope = $1 and sequence < 0",
    )
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert broken.sequence == place


@pytest.mark.parametrize(
    ("statements", "place", "says"),
    [
        ([FORGED.format("10, sha256(hash)")], 10, "inserted"),
        ([*MAKE_ROOM, FORGED.format("3, sha256(hash)").replace("= 3", "= 4")], 3, "inserted"),
        ([FORGED.format("null, null")], None, "inserted"),
    ],
    ids=["at the end", "in the middle", "as if it waited"],
)
async def test_v8_an_inserted_entry_is_found(log: Log, statements: list[str], place: int | None, says: str) -> None:
    await log.tamper(*statements)
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert (broken.sequence, says in str(broken)) == (place, True)


async def test_v8_an_inserted_entry_that_was_chained_is_found(log: Log) -> None:
    await log.tamper(FORGED.format("null, null"))
    await log.chain()
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert broken.sequence == 10


async def test_v8_a_copy_of_an_entry_is_found(empty_database: TestDatabase, tmp_path: Path) -> None:
    """Its mac is good: it was written once, not twice."""
    async with serving(empty_database) as service:
        log = await begun(service, tmp_path)
        columns = COLUMNS.removeprefix("position, ")
        await log.tamper(
            "alter table audit_entry drop constraint audit_entry_pkey",
            f"insert into audit_entry ({columns}) select {columns} from audit_entry {WHERE} = 4",
        )
        for place in (4, 10):  # before it has a place of its own, and after
            broken = (await log.prove()).chain_error
            assert broken is not None
            assert (broken.sequence, "a copy of another" in str(broken)) == (place, True)
            await log.chain()


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 8), (6, 7), (8, 9)])
@pytest.mark.parametrize("columns", ["sequence", "sequence, hash", "sequence, hash, position"])
async def test_v8_reordered_entries_are_found(log: Log, one: int, other: int, columns: str) -> None:
    async with log.tampering() as owner:
        await owner.execute("alter table audit_entry alter position set generated by default")
        await owner.execute("drop index audit_entry_sequence")
        await owner.execute("alter table audit_entry alter position drop identity")
        await owner.execute(
            f"""
            update audit_entry a set ({columns}) = (
                select {columns} from audit_entry b where b.scope = $1 and b.sequence = $2 + $3 - a.sequence
            ) where scope = $1 and sequence in ($2, $3)
            """,
            log.scope,
            one,
            other,
        )
        await owner.execute(
            "alter table audit_entry alter position add generated always as identity (start with 1000000)"
        )
        await owner.execute("create unique index audit_entry_sequence on audit_entry (scope, sequence)")
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert (broken.sequence, "reordered" in str(broken)) == (one, True)


async def test_v8_a_chain_cut_to_an_end_that_once_was_is_found_by_its_heads(log: Log) -> None:
    """The end is the service's own, of an earlier hour: only the signed head knows that there was more."""
    async with log.tampering() as owner:
        old = await owner.fetchrow("select last_sequence, last_hash, mac from audit_chain where scope = $1", log.scope)
    assert old is not None
    await log.write(3)
    await log.sign()
    async with log.tampering() as owner:
        await owner.execute("delete from audit_entry where scope = $1 and sequence > 9", log.scope)
        await owner.execute(
            "update audit_chain set last_sequence = $2, last_hash = $3, mac = $4 where scope = $1", log.scope, *old
        )
    broken = (await log.prove(heads=False)).chain_error
    assert (broken is not None, "truncated" in str(broken)) == (True, True)
    await log.tamper("delete from audit_head where scope = $1 and sequence > 9")
    assert (await log.prove(heads=False)).chain_error is None, "the database knows nothing of it any more"
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert (broken.sequence, "missing from the database" in str(broken)) == (12, True)


async def test_v8_a_chain_made_anew_with_the_services_own_keys_is_found_by_its_heads(log: Log) -> None:
    vault, ids = log.service.db.deployment.vault, log.service.db.deployment.ids
    async with log.tampering() as owner:
        await owner.set_type_codec(
            "jsonb",
            encoder=lambda _: "",
            decoder=lambda text: msgspec.json.decode(text),
            schema="pg_catalog",
        )
        await owner.execute(f"update audit_entry set subject = 'thing_2' {WHERE} = 2", log.scope)
        end = AuditChainHead(log.scope, 0, GENESIS)
        rows = await owner.fetch(
            f"select {COLUMNS}, sequence from audit_entry where scope = $1 order by sequence", log.scope
        )
        for row in rows:
            body = audit.entry_from_row(row).authenticated_bytes()
            mac = audit.compute_entry_mac(vault, body)
            end = AuditChainHead(
                log.scope, row["sequence"], compute_chained_hash(end.hash, row["sequence"], row["position"], mac, body)
            )
            await owner.execute(
                f"update audit_entry set mac = $2, hash = $3 {WHERE} = $4", log.scope, mac, end.hash, end.sequence
            )
            if end.sequence == AT_HEAD:
                signed_at = await owner.fetchval("select signed_at from audit_head where scope = $1", log.scope)
                head = audit_heads.SignedHead(log.scope, end.sequence, end.hash, signed_at, b"")
                signature = audit_heads.audit_head_signing_key(vault).sign(head.to_exported_head(ids).signed_message())
                await owner.execute(
                    "update audit_head set hash = $2, signature = $3 where scope = $1", log.scope, end.hash, signature
                )
        await owner.execute(
            "update audit_chain set last_hash = $2, mac = $3 where scope = $1",
            log.scope,
            end.hash,
            end.compute_mac(vault),
        )
    assert (await log.prove(heads=False)).chain_error is None, "the database agrees with itself"
    broken = (await log.prove()).chain_error
    assert broken is not None
    assert broken.sequence == AT_HEAD


async def test_v8_a_scope_is_signed_with_its_first_entry_so_that_it_cannot_vanish(lab: Service, tmp_path: Path) -> None:
    log = Log(lab, new_id(lab.clock.real_now()), tmp_path)
    assert (await log.prove()).chain_error is None
    proof = await audit_verification.verify_chain(lab.db, log.scope, tmp_path, fail_if_chain_missing=True)
    assert "never started" in str(proof.chain_error)
    await log.write()
    async with lab.db.write() as tx:
        assert await audit_heads.export_signed_chain_heads(tx, tmp_path) == 1
    assert (
        await audit_verification.verify_chain(lab.db, log.scope, tmp_path, fail_if_chain_missing=True)
    ).chain_error is None
    await log.tamper("delete from audit_head where scope = $1")
    assert "signed heads are missing" in str((await log.prove(heads=False)).chain_error)
    await log.tamper("delete from audit_entry where scope = $1", "delete from audit_chain where scope = $1")
    assert "missing from the database" in str((await log.prove()).chain_error)
    proof = await audit_verification.verify_chain(lab.db, log.scope, fail_if_chain_missing=True)
    assert "the whole chain is missing" in str(proof.chain_error)


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_chain set last_sequence = last_sequence - 1 where scope = $1",
        "update audit_chain set last_hash = sha256(last_hash) where scope = $1",
        "update audit_chain set mac = sha256(mac) where scope = $1",
        "delete from audit_chain where scope = $1",
        "update audit_head set sequence = 5 where scope = $1",
        "update audit_head set hash = sha256(hash) where scope = $1",
        "update audit_head set signed_at = signed_at + interval '1 s' where scope = $1",
        "update audit_head set signature = sha256(signature) || sha256(hash) where scope = $1",
        "delete from audit_head where scope = $1",
    ],
)
async def test_v8_a_tampered_end_or_head_is_found(log: Log, statement: str) -> None:
    await log.tamper(statement)
    assert (await log.prove()).chain_error is not None


@pytest.mark.parametrize("how", ["gone", "empty", "cut", "edited", "another's"])
async def test_v8_a_tampered_export_is_found(log: Log, how: str) -> None:
    await log.sign()
    good = log.file.read_bytes()
    if how == "gone":
        log.file.unlink()
    elif how == "another's":
        another = await begun(log.service, log.folder, entries=3)
        log.file.write_bytes(good + another.file.read_bytes())
    else:
        log.file.write_bytes(
            {"empty": b"", "cut": good[:-9], "edited": good.replace(b'"sequence":6', b'"sequence":5')}[how]
        )
    assert (await log.prove()).chain_error is not None
    log.file.write_bytes(good)
    assert (await log.prove()).chain_error is None


async def test_v8_an_address_is_forgotten_after_a_year_and_not_a_day_before(lab: Service, tmp_path: Path) -> None:
    log = await begun(lab, tmp_path)
    lab.clock.advance(audit.ADDRESS_RETENTION - timedelta(days=1))
    young = await begun(lab, tmp_path)
    await young.tamper(f"update audit_entry set address = null {WHERE} = 4")
    broken = (await young.prove()).chain_error
    assert broken is not None
    assert (broken.sequence, "deleted less than a year" in str(broken)) == (4, True)
    for after, left in ((timedelta(days=1) - timedelta(seconds=1), 9), (timedelta(seconds=1), 0)):
        lab.clock.advance(after)
        async with lab.db.write() as tx:
            while await audit.erase_ip_addresses(tx, limit=4):
                pass
        async with lab.db.read() as tx:
            entries = await audit.list_entries(tx, log.scope)
            assert sum(entry.ip_address is not None for entry in entries) == left
            assert sum(entry.ip_address is not None for entry in await audit.list_entries(tx, young.scope)) == 8
        assert (await log.prove()).chain_error is None


async def test_v8_a_clock_that_was_ahead_for_a_minute_keeps_no_address_for_longer(lab: Service, tmp_path: Path) -> None:
    """What a signed head covers is as old as the head, whatever the clock said that wrote it."""
    log = Log(lab, new_id(lab.clock.real_now()), tmp_path)
    ahead = TestClock()
    ahead.advance_to(lab.clock.now() + 3 * audit.ADDRESS_RETENTION)
    server = await open_database(lab.database.dsn, replace(lab.db.deployment, clock=ahead), pool_size=1)
    try:
        await log.write(3, server)
    finally:
        await server.close()
    for _ in range(2):
        await log.write(3)
        lab.clock.advance(timedelta(minutes=5))
        await log.sign()
    for after, left in ((audit.ADDRESS_RETENTION - timedelta(minutes=15), 9), (timedelta(minutes=15), 0)):
        lab.clock.advance(after)
        async with lab.db.write() as tx:
            while await audit.erase_ip_addresses(tx, limit=4):
                pass
            due = await audit.next_ip_erasure_at(tx)
            assert due is None or due > tx.now
            entries = await audit.list_entries(tx, log.scope)
        assert sum(entry.ip_address is not None for entry in entries) == left
        assert (await log.prove()).chain_error is None


async def test_v8_whatever_is_tampered_with_at_random_is_found(lab: Service, tmp_path: Path, figures: Figures) -> None:
    dice = random.Random(figures.seed)
    rounds = figures.count(40, 1000)
    for _ in range(rounds):
        log = await begun(lab, tmp_path, entries=dice.randint(3, 30))
        size = (await log.prove()).entry_count
        place, column = dice.randint(1, size), dice.choice(list(EDITS))
        statement = dice.choice(
            [
                f"update audit_entry set {column} = {EDITS[column]} {WHERE} = {place}",
                f"delete from audit_entry {WHERE} = {place}",
                f"delete from audit_entry {WHERE} >= {place}",
                f"delete from audit_entry {WHERE} <= {place}",
                FORGED.format(f"{size + 1}, sha256(hash)"),
                FORGED.format("null, null"),
            ]
        )
        await log.tamper(statement)
        assert (await log.prove()).chain_error is not None, statement
    figures.write("audit-tampering", "Tampering with the audit log", f"{rounds:,} random changes, all found")
