"""Passwords. Hashing happens outside transactions: read, close the transaction, verify, then write."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from uuid import UUID

from almoner.access.credentials import domain, hashing, service, store
from almoner.access.credentials.domain import AuditContext, PasswordTooWeak
from almoner.access.people import service as people
from almoner.access.people.domain import Person, Realm
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Tx

_LIST: Final = Path(__file__).parent.parent / "common_passwords.txt"


@dataclass(frozen=True, slots=True)
class HashedPassword:
    """The hash of a person's new password, ready to be stored."""

    person_id: UUID
    hash: str


@dataclass(frozen=True, slots=True)
class StoredPassword:
    """A user name's person and password hash; both None if nobody has the name."""

    person: Person | None
    hash: str | None


async def load_password_of_user_name(tx: Tx, realm: Realm, user_name: str) -> StoredPassword:
    """The stored password of a user name; runs the same queries if nobody has it."""
    person = await people.find_by_user_name(tx, realm, user_name if domain.can_be_stored_in_database(user_name) else "")
    return StoredPassword(person, await store.find_password_hash(tx, realm, person.id if person else UUID(int=0)))


async def load_password_of_person(tx: Tx, person: Person) -> StoredPassword:
    """The stored password of a person."""
    return StoredPassword(person, await store.find_password_hash(tx, person.realm, person.id))


async def verify_password(
    vault: Vault, stored_password: StoredPassword, password: str, *, has_signed_in_here_before: bool = False
) -> bool:
    """Whether the password is right; takes as long if there is no such person or password (ASVS 6.3.8).

    ``has_signed_in_here_before``: whether the person has signed in from this source before, which gives them priority.
    Call it outside a transaction. Raises SignInOverloaded.
    """
    try:
        typed = domain.normalise_password(password)
    except PasswordTooWeak:
        typed = ""
    owner = stored_password.person.id if stored_password.person else UUID(int=0)
    secret = _secret(vault, owner, typed[: domain.LONGEST_PASSWORD + 1])
    right = await hashing.verify_hash(
        stored_password.hash or hashing.dummy_hash(), secret, has_priority=has_signed_in_here_before
    )
    return right and stored_password.hash is not None


async def hash_new_password(vault: Vault, person: Person, password: str) -> HashedPassword:
    """Check and hash a new password, outside a transaction. Raises PasswordTooWeak, SignInOverloaded."""
    chosen = domain.normalise_password(password)
    domain.ensure_strong_password(chosen, person.user_name, common_passwords())
    return HashedPassword(person.id, await hashing.hash_secret(_secret(vault, person.id, chosen)))


async def store_password(
    tx: Tx,
    person: Person,
    hashed_password: HashedPassword,
    audit_context: AuditContext,
    changed_through: str = "account",
) -> None:
    """Set the password. ``changed_through``: ``account``, ``invitation`` or ``reset``. The caller ends the sign-ins."""
    if hashed_password.person_id != person.id:
        raise ValueError("a password hashed for somebody else")
    await store.set_password_hash(tx, person, hashed_password.hash)
    await service.record_audit_entry(tx, person, audit_context, "password.changed", {"by": changed_through})


async def rehash_if_outdated(vault: Vault, stored_password: StoredPassword, password: str) -> HashedPassword | None:
    """Hash the verified password again if its parameters are outdated, outside a transaction; else None."""
    if stored_password.person is None or stored_password.hash is None or not hashing.needs_rehash(stored_password.hash):
        return None
    chosen = domain.normalise_password(password)
    return HashedPassword(
        stored_password.person.id, await hashing.hash_secret(_secret(vault, stored_password.person.id, chosen))
    )


async def store_rehashed_password(tx: Tx, stored_password: StoredPassword, hashed_password: HashedPassword) -> None:
    """Store the result of ``rehash_if_outdated``, unless the password was changed in the meantime."""
    if stored_password.person is not None and stored_password.hash is not None:
        await store.replace_password_hash(tx, stored_password.person, stored_password.hash, hashed_password.hash)


@cache
def common_passwords() -> frozenset[str]:
    """The list of common passwords that are rejected."""
    lines = _LIST.read_text().splitlines()
    return frozenset(line for line in lines if line and not line.startswith("# "))


def _secret(vault: Vault, person_id: UUID, password: str) -> bytes:
    """The hash's input: keyed, so that a stolen table cannot be brute-forced, and bound to the person."""
    return vault.compute_keyed_hash("password", person_id.bytes + password.encode())
