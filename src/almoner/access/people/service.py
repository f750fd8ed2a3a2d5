"""Creates, finds and updates people. The caller writes the audit log."""

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from almoner.access.people import store
from almoner.access.people.domain import (
    LONGEST_NAME,
    MAX_TYPED_NAME,
    NoSuchPerson,
    Person,
    Profile,
    Realm,
    Role,
    UserNameTaken,
)
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Partner, Tx

COLUMNS: Final = store.COLUMNS
"""For a store that reads people with its own records: the columns of ``person p``, read by ``person_from_row``."""
person_columns = store.person_columns_sql
person_from_row = store.person_from_row


async def create(tx: Tx, realm: Realm, profile: Profile, roles: Iterable[Role] = ()) -> Person:
    """Create a person. Raises IncorrectParams, UserNameTaken."""
    granted = frozenset(roles)
    _check(realm, profile, granted)
    active = bool(profile.get("active", True))
    person = Person(tx.new_id(), realm, profile, active, 1, tx.now, tx.now, granted)
    if not await store.insert(tx, person):
        raise UserNameTaken(f"userName '{person.user_name}' is taken")
    return person


async def get(tx: Tx, realm: Realm, person_id: UUID) -> Person:
    """One person of the realm. Raises NoSuchPerson."""
    if (person := await store.find(tx, realm, person_id)) is None:
        raise NoSuchPerson(tx.ids.encode(realm.person_id_type, person_id))
    return person


async def load_people_by_id(tx: Tx, realm: Realm, person_ids: Iterable[UUID]) -> Mapping[UUID, Person]:
    """Those of the people who belong to the realm, by ID."""
    return {person.id: person for person in await store.list_people_with_ids(tx, realm, list(person_ids))}


async def find_by_user_name(tx: Tx, realm: Realm, user_name: str) -> Person | None:
    """The person with this user name (case-insensitive), active or not."""
    if len(user_name) > MAX_TYPED_NAME:
        return None
    return await store.find_by_user_name(tx, realm, user_name)


async def find_by_external_id(tx: Tx, realm: Realm, external_id: str) -> Person | None:
    """The person with this SCIM externalId."""
    return await store.find_by_external_id(tx, realm, external_id)


async def list_partners_with_email(tx: Tx, email: str) -> list[Partner]:
    """The partners that have an active member with this email address."""
    return [Partner(partner) for partner in await store.list_partner_ids_with_email(tx, email)]


async def get_for_update(tx: Tx, realm: Realm, person_id: UUID) -> Person:
    """One person, locked until the transaction ends. Raises NoSuchPerson."""
    if (person := await store.find_for_update(tx, realm, person_id)) is None:
        raise NoSuchPerson(tx.ids.encode(realm.person_id_type, person_id))
    return person


async def list_page(tx: Tx, realm: Realm, after: UUID | None = None, limit: int = 100) -> list[Person]:
    """People in order of creation, after the given one."""
    return await store.list_page(tx, realm, after, limit)


async def list_with_any_role(tx: Tx, realm: Realm, *roles: Role) -> list[Person]:
    """Active people who have one of the roles."""
    found: list[Person] = []
    after: UUID | None = None
    while some := await store.list_page(tx, realm, after, 100):
        found += [one for one in some if one.has_role(*roles)]
        after = some[-1].id
    return found


async def update_profile(tx: Tx, person: Person, profile: Mapping[str, Any]) -> Person:
    """Replace a locked person's profile; ``active`` false deactivates. Raises IncorrectParams, UserNameTaken."""
    _check(person.realm, profile, frozenset())
    changed = await store.update_profile(tx, person, profile)
    if changed is None:
        raise UserNameTaken(f"userName '{profile['userName']}' is taken")
    return changed


async def set_granted_roles(tx: Tx, person: Person, roles: Iterable[Role]) -> Person:
    """Replace the roles granted directly to a locked person. Raises IncorrectParams."""
    granted = frozenset(roles)
    _check(person.realm, person.profile, granted)
    await store.set_roles(tx, person, granted, "granted")
    return await get(tx, person.realm, person.id)


async def set_sso_roles(tx: Tx, person: Person, roles: Iterable[Role]) -> Person:
    """Replace the roles that single sign-on gives a locked person. Raises IncorrectParams."""
    stated = frozenset(roles)
    _check(person.realm, person.profile, stated)
    await store.set_roles(tx, person, stated, "provider")
    return await get(tx, person.realm, person.id)


async def clear_sso_roles(tx: Tx, realm: Realm) -> None:
    """Remove all roles that single sign-on gave to the realm's people."""
    await store.clear_sso_roles(tx, realm)


async def load_roles_by_source(tx: Tx, person: Person) -> Mapping[str, frozenset[str]]:
    """A person's roles by source: ``granted`` or ``provider``; roles from groups are not included."""
    return await store.load_roles_by_source(tx, person.realm, person.id)


async def has_had_credentials(tx: Tx, person: Person) -> bool:
    """Whether the account is somebody's: a password or passkey was set, even if it was removed later."""
    return await store.has_had_credentials(tx, person.realm, person.id)


async def delete(tx: Tx, realm: Realm, person_id: UUID) -> None:
    """Delete a person with their credentials and sign-ins. Raises NoSuchPerson."""
    if not await store.delete(tx, realm, person_id):
        raise NoSuchPerson(tx.ids.encode(realm.person_id_type, person_id))


def _check(realm: Realm, profile: Profile, roles: frozenset[Role]) -> None:
    problems = []
    name = profile.get("userName")
    if not isinstance(name, str) or not 1 <= len(name.strip()) <= LONGEST_NAME or name != name.strip():
        problems.append(f"userName must be 1 to {LONGEST_NAME} characters without leading or trailing spaces")
    if strange := sorted(roles - set(realm.roles)):
        problems.append(f"unknown role: {', '.join(strange)}. Choose from: {', '.join(realm.roles)}")
    if problems:
        raise IncorrectParams(*problems)
