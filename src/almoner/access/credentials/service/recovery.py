"""Single-use recovery codes that replace a lost second factor."""

import os

from almoner.access.credentials import domain, service, store
from almoner.access.credentials.domain import RECOVERY_CODE_COUNT, AuditContext
from almoner.access.people.domain import Person
from almoner.platform.database.transactions import Tx


async def create_recovery_codes(tx: Tx, person: Person, audit_context: AuditContext) -> list[str]:
    """Create ten recovery codes, shown once; all earlier ones become invalid."""
    codes = [domain.encode_recovery_code(os.urandom(16)) for _ in range(RECOVERY_CODE_COUNT)]
    await store.replace_recovery_codes(tx, person, [_hash(tx, person, code) for code in codes])
    await service.record_audit_entry(
        tx, person, audit_context, "recovery_codes.created", {"codes": RECOVERY_CODE_COUNT}
    )
    return codes


async def consume_recovery_code(tx: Tx, person: Person, entered_code: str) -> bool:
    """Use up a recovery code; False if it is not one of the person's unused codes."""
    code = domain.parse_recovery_code(entered_code)
    return code is not None and await store.consume_recovery_code(tx, person, _hash(tx, person, code))


def _hash(tx: Tx, person: Person, code: str) -> bytes:
    """The stored hash: 80 random bits under a key need no slow hash (ASVS 6.5.2)."""
    return tx.vault.compute_keyed_hash("recovery-code", person.id.bytes + code.encode())
