"""Who somebody is here whom the partner's provider vouches for, and undoing that."""

from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import By
from almoner.access.people import service as people
from almoner.access.people.domain import NameTaken, Person, members_of, profile_of
from almoner.access.security_emails import service as letters
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser, SignIn, device_of
from almoner.access.sign_on import store
from almoner.access.sign_on.domain import (
    Bound,
    BoundBy,
    Identity,
    LastWayIn,
    Provider,
    Reason,
    Refused,
    Said,
    granted,
)
from almoner.kit.errors import IncorrectParams
from almoner.platform.database.transactions import Tx


async def of_person(tx: Tx, person: Person) -> list[Bound]:
    """By which accounts at a provider the person signs in, oldest first; none for operators."""
    return await store.identities(tx, person)


async def admit(tx: Tx, provider: Provider, said: Said, invited: Person | None, browser: Browser) -> Person:
    """Who somebody is here whom the provider vouches for, with the roles that it gives them. Raises Refused.

    In this order: who was bound to this subject; whoever accepts an invitation in this browser; the member whom the
    provider's own provisioning calls so; a new member, where the owner allowed it. An e-mail never links.
    """
    if not await store.hold(tx, provider):
        raise Refused(Reason.CHANGED, "The sign-in settings have changed. Please try again.")
    partner = provider.partner
    identity = await store.find_identity(tx, partner, said.issuer, said.subject)
    bound_by: BoundBy | None = None
    if identity is not None:
        person = await people.lock(tx, members_of(partner), identity.person_id)
    else:
        person, bound_by = await _newcomer(tx, provider, said, invited)
        identity = Identity(said.issuer, said.subject, person.id)
    if invited is not None and invited.id != person.id:
        raise Refused(
            Reason.OTHER_PERSON, "This SSO account belongs to a different member from the one who was invited."
        )
    if not person.active:
        raise Refused(Reason.DEACTIVATED, "Your account has been deactivated. Contact an owner for help.")
    if bound_by is None:
        await store.note_use(tx, partner, identity)
    else:
        await _bind(tx, person, identity, bound_by, browser)
    return await people.accept_provider_roles(tx, person, granted(provider, said))


async def connect(tx: Tx, provider: Provider, said: Said, sign_in: SignIn, browser: Browser) -> None:
    """Whoever is signed in, and has just proved it, signs in by this account of the provider too. Raises Refused."""
    if not await store.hold(tx, provider):
        raise Refused(Reason.CHANGED, "The sign-in settings have changed. Please try again.")
    if not sign_ins.recently_proved(sign_in, tx.wall):
        raise Refused(Reason.STATE, "Your request has expired. Start again from your account page.")
    identity = Identity(said.issuer, said.subject, sign_in.person_id)
    known = await store.find_identity(tx, provider.partner, said.issuer, said.subject)
    if known is not None and known.person_id != sign_in.person_id:
        raise Refused(Reason.OTHER_PERSON, "This SSO account is connected to another member.")
    if known is None:
        await _bind(tx, await people.lock(tx, sign_in.realm, sign_in.person_id), identity, "account", browser)


async def confirm(tx: Tx, provider: Provider, said: Said, person_id: UUID) -> None:
    """That it was this person who proved who they are at the provider. Raises Refused."""
    identity = await store.find_identity(tx, provider.partner, said.issuer, said.subject)
    if identity is None or identity.person_id != person_id:
        raise Refused(
            Reason.OTHER_PERSON,
            "You signed in to the identity provider with a different account. Sign in there with your own account.",
        )


async def unbind(tx: Tx, person: Person, by: By) -> None:
    """The person signs in by no account of a provider any more: what it said is forgotten, and sign-ins there end.

    Nothing happens where there is none.
    """
    person = await people.lock(tx, person.realm, person.id)
    issuers = await store.delete_identities(tx, person)
    if not issuers:
        return
    await people.accept_provider_roles(tx, person, ())
    ended = await sign_ins.end_provided(tx, person.realm, person)
    await credentials.record(tx, person, by, "identity.unbound", {"issuers": issuers, "signInsEnded": ended})
    await letters.send(tx, person, "identity_unbound")


async def unbind_own(tx: Tx, person: Person, by: By) -> None:
    """As ``unbind``, by the person. Raises LastWayIn when they have no other way in."""
    person = await people.lock(tx, person.realm, person.id)
    held = await credentials.factors(tx, person)
    if not (held.password or held.passkeys):
        raise LastWayIn("Set a password or add a passkey first")
    await unbind(tx, person, by)


async def _newcomer(tx: Tx, provider: Provider, said: Said, invited: Person | None) -> tuple[Person, BoundBy]:
    """Who comes from the provider for the first time, and what vouches for it. Raises Refused."""
    realm = members_of(provider.partner)
    provisioned = await store.find_provisioned(tx, provider.partner, said.subject)
    if invited is not None and (provisioned is None or provisioned.id == invited.id):
        return await people.lock(tx, realm, invited.id), "invitation"
    if provisioned is not None:
        person = await people.lock(tx, realm, provisioned.id)
        await _ensure_of_the_directory(tx, person)
        return person, "provisioned"
    if not provider.creates_members:
        raise Refused(Reason.UNKNOWN, "You are not a member yet. Ask an owner to invite you.")
    if not granted(provider, said):
        raise Refused(Reason.NO_ROLE, "None of your groups have access. Contact an owner for help.")
    if said.user_name is None:
        raise Refused(Reason.UNKNOWN, "The identity provider did not send your username. Ask an owner to invite you.")
    profile = profile_of(said.user_name, email=said.email, name=said.name)
    try:
        return await people.create(tx, realm, profile), "created"
    except NameTaken as error:
        text = f"The username {said.user_name} is already taken. Ask an owner to invite you."
        raise Refused(Reason.NAME_TAKEN, text) from error
    except IncorrectParams as error:
        raise Refused(Reason.UNKNOWN, "Your username cannot be used here. Ask an owner to invite you.") from error


async def _ensure_of_the_directory(tx: Tx, person: Person) -> None:
    """That a directory may say who this is: nobody has come as them, and nobody here made them an owner.

    Raises Refused. Whoever holds a directory key could come in as any member otherwise, by a subject of theirs (0030).
    """
    held = await credentials.factors(tx, person)
    by_source = await people.roles_by_source(tx, person)
    if held.password or held.passkeys or await store.identities(tx, person):
        text = "You already have another way to sign in. Use it, then connect your SSO account on your account page."
        raise Refused(Reason.OTHER_WAY_IN, text)
    if "owner" in by_source.get("granted", ()):
        text = "You are an owner. Open the link in your invitation and continue with SSO from there."
        raise Refused(Reason.OTHER_WAY_IN, text)


async def _bind(tx: Tx, person: Person, identity: Identity, bound_by: BoundBy, browser: Browser) -> None:
    """From now on this subject is this person, who is told by mail. Raises Refused."""
    if any(one.issuer == identity.issuer for one in await store.identities(tx, person)):
        text = "A different SSO account is already connected. Disconnect it first, or contact an owner for help."
        raise Refused(Reason.OTHER_PERSON, text)
    partner = person.realm.partner
    assert partner is not None, "only partners have a provider"
    if not await store.insert_identity(tx, partner, identity, bound_by):
        raise Refused(Reason.USED, "You tried to sign in twice at the same time. Please try again.")
    by = credentials.themself(tx, person, browser.address)
    await credentials.record(tx, person, by, "identity.bound", {"issuer": identity.issuer, "by": bound_by})
    facts = sign_ins.told(tx, browser.address, device_of(browser.user_agent))
    await letters.send(tx, person, "identity_bound", values={"issuer": identity.issuer}, facts=facts)
