"""Signing in at the partner's provider: away by ``begin``, back by ``finish``, and no call inside a transaction."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from almoner.access.people.domain import Person, members_of
from almoner.access.sign_ins import service as sign_ins
from almoner.access.sign_ins.domain import Browser, Entered, Link, LinkClosed, SecondNeeded, SignIn, WrongSignIn
from almoner.access.sign_ins.service import links, sign_in_methods
from almoner.access.sign_on import exchange, service, state
from almoner.access.sign_on.directory import Directory
from almoner.access.sign_on.domain import (
    Metadata,
    NoProvider,
    Provider,
    Reason,
    Refused,
    Said,
    authenticated_at,
    is_fresh,
)
from almoner.access.sign_on.exchange import Exchange
from almoner.access.sign_on.service import identities
from almoner.access.sign_on.state import Purpose, State
from almoner.platform.database.transactions import Database, Partner, Tx
from almoner.platform.outbound.client import Outbound


@dataclass(frozen=True, slots=True)
class Departure:
    """Away to the provider's address ``url``, with a cookie that the browser keeps for ``PATIENCE``."""

    url: str
    cookie: str
    kept: str


@dataclass(frozen=True, slots=True)
class Return:
    """A browser that comes back: what its address and its cookies hold, and who is signed in there."""

    partner: Partner
    query: Mapping[str, str]
    cookies: Mapping[str, str]
    browser: Browser
    sign_in: SignIn | None = None

    @property
    def cookie(self) -> str:
        """The cookie that was set when it went away; it is of no more use."""
        return state.cookie(self.query.get("state", ""))


@dataclass(frozen=True, slots=True)
class Arrival:
    """What came of it. ``onward``: the page to go to.

    ``entered``: who is signed in, or has to show a second factor first; None for who was signed in already. ``proof``:
    the secret for the cookie of whoever proved it.
    """

    entered: Entered | SecondNeeded | None
    onward: str
    proof: tuple[SignIn, str] | None = None


@dataclass(frozen=True, slots=True)
class _Taken:
    """What the provider is asked with."""

    provider: Provider
    secret: str | None
    redirect: str


class SignOn:
    """Sign-on at the providers of all partners. One for the process: it keeps what providers publish."""

    def __init__(self, db: Database, outbound: Outbound) -> None:
        self._db = db
        self._clock = db.deployment.clock
        self._directory = Directory(outbound, self._clock)
        self._exchange = Exchange(outbound, self._directory, self._clock)

    async def begin(self, partner: Partner, purpose: Purpose, onward: str, record: UUID | None = None) -> Departure:
        """Away to the provider. ``record``: the link that is accepted, the sign-in that is to be proved.

        Raises Refused, NoProvider.
        """
        async with self._db.read() as tx:
            provider = await service.get(tx, partner)
            redirect = service.redirect_address(tx, partner)
        if not provider.enabled:
            raise NoProvider
        metadata = await self._directory.metadata(provider)
        begun = state.begin(provider, purpose, onward, self._clock.wall(), record)
        url = exchange.departure(provider, metadata, begun, redirect)
        return Departure(url, begun.cookie, state.encrypt(self._db.deployment.vault, partner, begun))

    async def finish(self, back: Return) -> Arrival:
        """Sign in whoever the provider vouches for. Raises Refused; the audit log has it when the state was ours.

        A state that is not is not recorded: anybody could fill the log.
        """
        vault, kept = self._db.deployment.vault, back.cookies.get(back.cookie, "")
        found = state.read(vault, back.partner, back.query.get("state", ""), kept, self._clock.wall())
        try:
            taken = await self._take(back, found)
            metadata = await self._directory.metadata(taken.provider)
            code = exchange.read_return(taken.provider, metadata, back.query)
            said = await self._exchange.redeem(taken.provider, taken.secret, found, code, taken.redirect)
            async with self._db.write() as tx:
                return await _arrive(tx, taken.provider, found, said, back)
        except Refused as refused:
            async with self._db.write() as tx:
                await service.note_refused(tx, back.partner, refused, address=back.browser.address)
            raise

    async def look(self, partner: Partner) -> Metadata:
        """What the partner's provider says of itself just now. Raises Refused, NoProvider."""
        async with self._db.read() as tx:
            provider = await service.get(tx, partner)
        return await self._directory.look(provider)

    async def _take(self, back: Return, found: State) -> _Taken:
        """Take the state, once. Raises Refused."""
        async with self._db.write() as tx:
            is_first = await service.take(tx, back.partner, found.hash, found.started_at)
            provider = await service.find(tx, back.partner)
            redirect = service.redirect_address(tx, back.partner)
            secret = service.secret_of(tx, provider) if provider else None
        if not is_first:
            raise Refused(Reason.USED, "This sign-in has ended. Please start again.")
        if provider is None or not provider.enabled or provider.version != found.version:
            raise Refused(Reason.CHANGED, "The sign-in settings have changed. Please try again.")
        return _Taken(provider, secret, redirect)


async def _arrive(tx: Tx, provider: Provider, found: State, said: Said, back: Return) -> Arrival:
    """What the sign-in was begun for. Raises Refused."""
    if found.purpose == "proof":
        return Arrival(None, found.onward, await _prove(tx, provider, found, said, back.sign_in))
    if found.purpose == "connect":
        await identities.connect(tx, provider, said, _still_there(found, back.sign_in), back.browser)
        return Arrival(None, found.onward)
    link, invited = await _invitation(tx, provider.partner, found) if found.purpose == "invitation" else (None, None)
    person = await identities.admit(tx, provider, said, invited, back.browser)
    try:
        if link is not None:
            await links.use_link(tx, link, person)
        at = authenticated_at(said, tx.wall)
        return Arrival(
            await sign_in_methods.after_provider(tx, person, back.browser, authenticated_at=at, by_two=said.by_two),
            found.onward,
        )
    except LinkClosed as error:
        raise Refused(Reason.INVITATION, "This invitation is no longer valid.") from error
    except WrongSignIn as error:
        raise Refused(Reason.DEACTIVATED, "Your account has been deactivated.") from error


async def _prove(tx: Tx, provider: Provider, found: State, said: Said, sign_in: SignIn | None) -> tuple[SignIn, str]:
    """Whoever is signed in proves that it is still they. Raises Refused."""
    sign_in = _still_there(found, sign_in)
    if not is_fresh(said, found.started_at):
        raise Refused(Reason.NOT_FRESH, "The identity provider did not confirm that you have just signed in.")
    await identities.confirm(tx, provider, said, sign_in.person_id)
    return sign_in, await sign_ins.prove(tx, sign_in)


def _still_there(found: State, sign_in: SignIn | None) -> SignIn:
    """The sign-in in which it was begun. Raises Refused when the browser is not in it any more."""
    if sign_in is None or sign_in.id != found.record:
        raise Refused(Reason.STATE, "You are no longer signed in to this browser.")
    return sign_in


async def _invitation(tx: Tx, partner: Partner, found: State) -> tuple[Link, Person]:
    """The invitation that is being accepted in this browser, still open, and whose it is. Raises Refused."""
    try:
        assert found.record is not None, "a sign-in for an invitation is begun with its link"
        link, invited = await links.open_link(tx, tx.vault.page_token("invitation", found.record), "invitation")
    except LinkClosed as error:
        raise Refused(Reason.INVITATION, "This invitation is no longer valid. Ask for a new one.") from error
    if invited.realm != members_of(partner):
        raise Refused(Reason.INVITATION, "This invitation is for a different organisation.")
    return link, invited
