"""``almoner audit`` at a terminal: prove, read, sign, and check an export with the public key alone (V8)."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import asyncpg

from almoner.platform.audit import heads as audit_heads
from almoner.platform.audit import log as audit
from almoner.platform.audit.log import Actor
from tests.support.audit_log import begun
from tests.support.database import TestDatabase
from tests.support.service import serving
from tests.support.terminal import in_process, terminal

CHECK = Path(__file__).parents[2] / "docs" / "runbooks" / "check_audit_heads.py"


async def test_v8_the_log_is_signed_proved_and_read(empty_database: TestDatabase, tmp_path: Path) -> None:
    folder = tmp_path / "heads"
    async with serving(empty_database) as service:
        typed = terminal(service, tmp_path, AUDIT_HEADS=str(folder))
        tenant = await service.tenant()
        log = await begun(service, folder)
        async with service.db.write() as tx:
            operator = Actor("operator", "sandbox_operator_1")
            await audit.record_entry(tx, audit.DEPLOYMENT, operator, "gate.opened", "gate_1", ip_address="192.0.2.9")
            await audit.record_entry(tx, tenant.partner.id, Actor("machine", "root"), "partner.created", "partner_1")
        status, stated = await typed("audit", "sign")
        assert (status, "3 signed heads exported" in stated) == (0, True), stated
        status, stated = await typed("audit", "verify")
        assert (status, stated.count(": OK")) == (0, 4), stated
        assert "11 entries of 3 chains: OK" in stated
        partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
        status, stated = await typed("audit", "verify", "--partner", partner, "--heads", str(folder))
        assert (status, "1 entries of 1 chains: OK" in stated) == (0, True), stated

        status, stated = await typed("audit", "list")
        assert status == 0
        assert stated.splitlines()[1].split()[1:] == [
            "operator", "sandbox_operator_1", "gate.opened", "gate_1", "192.0.2.9", "-",
        ]  # fmt: skip
        status, stated = await typed("audit", "list", "--partner", partner, "--limit", "5", "--json")
        [entry] = json.loads(stated)
        assert (status, entry["actor"], entry["action"]) == (0, "machine root", "partner.created")
        assert (entry["subject"], entry["address"]) == ("partner_1", None)
        status, stated = await typed("audit", "list", "--partner", "partner_of_nobody")
        assert (status, "almoner partners list" in stated) == (1, True)

        await log.tamper("update audit_entry set subject = 'x' where scope = $1 and sequence = 7")
        status, stated = await typed("audit", "verify")
        assert (status, "BROKEN (entry 7: edited or inserted" in stated, stated.count(": OK")) == (1, True, 2), stated
        assert "3 chains: 1 BROKEN" in stated


async def test_v8_a_log_whose_exported_heads_are_away_is_not_proved(
    empty_database: TestDatabase, tmp_path: Path
) -> None:
    """Nobody touched it: a store that is not mounted must not look like one that says that all is well."""
    folder = tmp_path / "heads"
    async with serving(empty_database) as service:
        typed = terminal(service, tmp_path, AUDIT_HEADS=str(folder))
        await begun(service, folder)
        await typed("audit", "sign")
        folder.rename(tmp_path / "elsewhere")
        status, stated = await typed("audit", "verify")
        assert (status, "Check that the folder is mounted" in stated, "1 BROKEN" in stated) == (1, True, True), stated
        status, stated = await typed("audit", "verify", "--without-heads")
        assert (status, "9 entries of 1 chains: OK" in stated) == (0, True), stated
        folder.mkdir()
        status, stated = await typed("audit", "verify")
        assert (status, "is missing from" in stated) == (1, True), stated
        status, stated = await typed("audit", "verify", "--heads", str(tmp_path / "elsewhere"))
        assert (status, "9 entries of 1 chains: OK" in stated) == (0, True), stated


async def test_v8_a_partner_whose_whole_chain_was_erased_is_told(empty_database: TestDatabase, tmp_path: Path) -> None:
    """Before its first head was exported: nothing in the log tells of it, but the partner is there."""
    async with serving(empty_database) as service:
        typed = in_process(service, tmp_path, AUDIT_HEADS=str(tmp_path))
        tenant = await service.tenant()
        partner = service.db.deployment.ids.encode("partner", tenant.partner.id)
        owner = await asyncpg.connect(service.database.owner_dsn)
        for hours, status in ((1, 0), (3, 1)):
            await owner.execute("update partner set created_at = now() - $1 * interval '1 h'", hours)
            for words in ((), ("--partner", partner)):
                reported, stated = await typed("audit", "verify", *words)
                assert (reported, "the whole chain is missing" in stated) == (status, status == 1), stated
        await owner.close()


async def test_v8_an_export_is_checked_with_the_public_key_alone(empty_database: TestDatabase, tmp_path: Path) -> None:
    folder, key = tmp_path / "heads", tmp_path / "key.pem"
    async with serving(empty_database) as service:
        typed = terminal(service, tmp_path, AUDIT_HEADS=str(folder))
        log = await begun(service, folder)
        await typed("audit", "sign")
        _, pem = await typed("audit", "public-key")
        key.write_text(pem)

    def check() -> tuple[int, str]:
        done = subprocess.run([sys.executable, CHECK, key, folder], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    status, stated = check()
    assert (status, "2 heads" in stated) == (0, True), stated
    good = log.file.read_bytes()
    for bad in (
        good.replace(b'"sequence":6', b'"sequence":7'),
        good[:-20],
        good.replace(b'"signature":"', b'"signature":"AAAA', 1),
    ):
        log.file.write_bytes(bad)
        assert check()[0] == 1
    log.file.write_bytes(good + good)  # several waited, and were written again after a failure
    assert check()[0] == 0
    log.file.write_bytes(b"".join(reversed(good.splitlines(keepends=True))))  # by two workers
    assert check()[0] == 0
    vault, ids = service.db.deployment.vault, service.db.deployment.ids
    for sequence, after in ((6, timedelta()), (7, timedelta(days=-1))):  # signed with the key, but another chain
        head = audit_heads.SignedHead(log.scope, sequence, bytes(32), service.clock.now() + after, b"")
        signature = audit_heads.audit_head_signing_key(vault).sign(head.to_exported_head(ids).signed_message())
        audit_heads.append_exported_heads(folder, ids, [replace(head, signature=signature)])
        assert (check()[0], "contradict each other" in check()[1]) == (1, True)
        log.file.write_bytes(good)


async def test_an_empty_log_is_no_error(empty_database: TestDatabase, tmp_path: Path) -> None:
    async with serving(empty_database) as service:
        status, stated = await terminal(service, tmp_path)("audit", "verify")
        assert (status, "0 entries of 0 chains: OK" in stated) == (0, True), stated
