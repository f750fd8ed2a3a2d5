"""Creates and changes giving links, and lists the nonprofits that a donor can choose on them."""

import os
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, Final
from uuid import UUID

from almoner.giving.checkout.giving_links import domain, store
from almoner.giving.checkout.giving_links.domain import GivingLink, GivingLinkOptOut, GivingLinkRecipient
from almoner.giving.checkout.giving_links.schemas import GivingLinkInput
from almoner.giving.checkout.giving_links.store import find_by_slug as find_by_slug
from almoner.giving.checkout.giving_links.store import find_opt_out as find_opt_out
from almoner.giving.checkout.giving_links.store import list_opt_outs as list_opt_outs
from almoner.giving.checkout.giving_links.store import list_page as list_page
from almoner.giving.checkout.giving_links.store import list_recipients as list_recipients
from almoner.giving.checkout.giving_links.store import load_fundraising_progress as load_fundraising_progress
from almoner.giving.checkout.hosted_page.domain import find_amount_problems
from almoner.giving.checkout.sessions import service as sessions
from almoner.giving.checkout.sessions.domain import ONE_TIME
from almoner.kit import metadata as metadata_rules
from almoner.kit.errors import IncorrectParams, NotFound
from almoner.kit.ids import encode_uuid
from almoner.nonprofits.categories import service as categories
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.files import media
from almoner.platform.files.images import Image

_RANDOM: Final = 6
"""The length of a slug's random suffix; a title without usable letters gets a slug of twice that."""
MAX_REASON: Final = 2000
"""Maximum characters of the reason for an opt-out."""
_OPTIONS: Final = {
    "suggested_amounts": "suggested",
    "minimum": "minimum",
    "maximum": "maximum",
    "designations": "designations",
    "offers_dedication": "dedication",
}
_MEMBERS: Final = {
    "title": "title",
    "text": "text",
    "organisation_ids": "organisation_ids",
    "category_id": "category_id",
    "currencies": "currencies",
    "frequencies": "frequencies",
    "goal": "goal_minor",
    "shows_progress": "shows_progress",
    "allowed_origins": "allowed_origins",
    "success_url": "success_url",
    "active": "active",
    "expires_at": "expires_at",
}
_LISTS: Final = frozenset({"organisation_ids", "currencies", "frequencies", "allowed_origins", "designations"})


async def create(
    tx: Tx, partner: Partner, link_input: GivingLinkInput, slug: str | None, payable_currencies: Collection[str] | None
) -> GivingLink:
    """Create a link. ``payable_currencies``: the currencies that donors can pay in here.

    Raises IncorrectParams, OrganisationNotFound, CategoryNotFound, CannotAcceptDonations, SlugTaken, InvalidMetadata.
    """
    if (held := await store.lock_and_count_links(tx, partner)) >= domain.MAX_LINKS:
        raise IncorrectParams(f"there are already {held} giving links, which is the maximum")
    blank = GivingLink(
        tx.new_id(),
        partner.id,
        slug or "",
        "",
        None,
        None,
        (),
        None,
        (),
        ONE_TIME,
        None,
        shows_progress=False,
        allowed_origins=(),
        success_url=None,
        metadata=None,
        active=True,
        expires_at=None,
        created_at=tx.now,
        updated_at=tx.now,
    )
    made = await _changed(tx, partner, blank, link_input, payable_currencies)
    if slug is not None:
        if not await store.insert(tx, partner, made):
            raise domain.SlugTaken(f"body.slug '{slug}'")
        return made
    words = domain.slug_of_title(made.title)
    for chosen in (words, f"{words}-{_random()}" if words else _random() + _random(), _random() + _random()):
        if chosen and await store.insert(tx, partner, replace(made, slug=chosen)):
            return replace(made, slug=chosen)
    raise domain.SlugTaken


async def get(tx: Tx, partner: Partner, link_id: UUID) -> GivingLink:
    """Get one giving link. Raises NotFound."""
    if (found := await store.find(tx, partner, link_id)) is None:
        raise NotFound
    return found


async def get_for_update(tx: Tx, partner: Partner, link_id: UUID) -> GivingLink:
    """One giving link, locked until the transaction ends. Raises NotFound."""
    if (found := await store.find_for_update(tx, partner, link_id)) is None:
        raise NotFound
    return found


async def update(
    tx: Tx, partner: Partner, link_id: UUID, link_input: GivingLinkInput, payable_currencies: Collection[str] | None
) -> GivingLink:
    """Change a giving link. Raises NotFound, and what ``create`` raises except SlugTaken."""
    before = await get_for_update(tx, partner, link_id)
    changed = await _changed(tx, partner, before, link_input, payable_currencies)
    if changed == before:
        return before
    changed = replace(changed, updated_at=tx.now)
    await store.update(tx, partner, changed)
    return changed


async def set_image(tx: Tx, partner: Partner, link_id: UUID, image: Image) -> GivingLink:
    """Set the link's image in place of an earlier one. Raises NotFound."""
    before = await get_for_update(tx, partner, link_id)
    key = await media.insert_image(tx, image.content, image.media_type)
    changed = replace(before, image_key=key, updated_at=tx.now)
    await store.update(tx, partner, changed)
    if before.image_key is not None:
        await media.delete_image(tx, before.image_key)
    return changed


async def record_opt_out(tx: Tx, organisation_id: UUID, reason: str, recorded_by: str) -> bool:
    """Exclude a nonprofit from giving links; False if it is already excluded.

    Raises NotFound, IncorrectParams.
    """
    if not 1 <= len(reason) <= MAX_REASON:
        raise IncorrectParams(f"the note must have 1 to {MAX_REASON:,} characters")
    organisation = await organisations.get(tx, ALL_PARTNERS, organisation_id)
    return await store.insert_opt_out(tx, GivingLinkOptOut(organisation.id, reason, recorded_by, tx.now))


async def withdraw_opt_out(tx: Tx, organisation_id: UUID) -> bool:
    """Allow giving links for a nonprofit again; False if they are already allowed. Raises NotFound."""
    organisation = await organisations.get(tx, ALL_PARTNERS, organisation_id)
    return await store.delete_opt_out(tx, organisation.id)


async def _changed(
    tx: Tx, partner: Partner, before: GivingLink, link_input: GivingLinkInput, payable: Collection[str] | None
) -> GivingLink:
    """The link with the changes of ``link_input``, validated as a whole."""
    values = {_MEMBERS[name]: _stored(name, value) for name, value in link_input.values.items() if name in _MEMBERS}
    options = {_OPTIONS[name]: _stored(name, value) for name, value in link_input.values.items() if name in _OPTIONS}
    problems: list[str] = []
    if "organisation_ids" in values or "category_id" in values:
        values |= await _whom(tx, partner, before, values, problems)
    if "metadata" in link_input.values:
        values["metadata"] = _metadata(before, link_input.values["metadata"])
    link = replace(before, **values, options=replace(before.options, **options))
    problems += _problems(tx, link, link_input, payable)
    if link.success_url is not None and link.success_url != before.success_url:
        problems += await sessions.find_success_url_problems(tx, partner, link.success_url)
    if problems:
        raise IncorrectParams(*problems)
    if link_input.values.keys() & {"organisation_ids", "currencies"}:
        await _check_recipients(tx, partner, link)
    return link


def _stored(name: str, value: Any) -> Any:
    if name in _LISTS or name == "suggested_amounts":
        return tuple(value or ())
    return value


async def _whom(
    tx: Tx, partner: Partner, before: GivingLink, values: dict[str, Any], problems: list[str]
) -> dict[str, Any]:
    """Resolve the given organisations or category. Raises OrganisationNotFound, CategoryNotFound."""
    named: Sequence[str] = values.get("organisation_ids") or ()
    category: str | None = values.get("category_id")
    if bool(named) == bool(category):
        kept = [values.get(name) is None and getattr(before, name) for name in ("organisation_ids", "category_id")]
        gone = ("organisation_ids" in values and kept[0]) or ("category_id" in values and kept[1])
        if named or gone or not any(kept):
            problems.append("body must have either organisationIds or categoryId")
        return {"organisation_ids": before.organisation_ids, "category_id": before.category_id}
    if category:
        found = tx.ids.decode("category", category)
        try:
            return {"organisation_ids": (), "category_id": (await categories.get(tx, partner, found or UUID(int=0))).id}
        except NotFound:
            raise domain.CategoryNotFound(f"body.categoryId '{category[:100]}' names no category") from None
    ids = []
    for text in named:
        if (one := tx.ids.decode("organisation", text)) is None:
            raise domain.OrganisationNotFound(_names_nothing(text))
        ids.append(one)
    known = {one.listed_organisation_id: one for one in await store.list_recipients(tx, partner, ids)}
    for text, one in zip(named, ids, strict=True):
        if one not in known:
            raise domain.OrganisationNotFound(_names_nothing(text))
    return {
        "organisation_ids": tuple(dict.fromkeys(known[one].primary_organisation_id for one in ids)),
        "category_id": None,
    }


async def _check_recipients(tx: Tx, partner: Partner, link: GivingLink) -> None:
    """Check that the link's organisations accept donations. Raises CannotAcceptDonations, IncorrectParams."""
    recipients: Sequence[GivingLinkRecipient] = await store.list_recipients(tx, partner, link.organisation_ids)
    refused = [(one, one.ineligibility_reason) for one in recipients if one.ineligibility_reason is not None]
    if refused:
        raise domain.CannotAcceptDonations(
            *(f"{tx.ids.encode('organisation', one.listed_organisation_id)} {problem}" for one, problem in refused)
        )
    wrong = [
        f"body.currencies {code} is not one that {tx.ids.encode('organisation', one.listed_organisation_id)} receives"
        for one in recipients
        for code in link.currencies
        if code not in one.currencies
    ]
    if wrong:
        raise IncorrectParams(*wrong)


def _problems(tx: Tx, link: GivingLink, link_input: GivingLinkInput, payable: Collection[str] | None) -> list[str]:
    problems = []
    if link.options.has_amounts or link.goal_minor is not None:
        if len(link.currencies) != 1:
            problems.append("body.currencies must contain exactly one currency if there are amounts or a goal")
        else:
            problems += find_amount_problems(link.options, link.currencies[0])
    if payable is not None:
        problems += [
            f"body.currencies the payment provider takes no payments in {code}"
            for code in link.currencies
            if code not in payable
        ]
    if link_input.values.get("expires_at") is not None and link.expires_at is not None and link.expires_at <= tx.now:
        problems.append("body.expiresAt must be in the future; set active to false to switch it off now")
    if not tx.deployment.sandbox and any(origin.startswith("http:") for origin in link.allowed_origins):
        problems.append("body.allowedOrigins must be https origins")
    return problems


def _metadata(before: GivingLink, given: Any) -> Any:
    """Merge the metadata as everywhere; null removes all. Raises InvalidMetadata."""
    if given is None:
        return None
    if found := metadata_rules.find_metadata_problems(given, is_patch=True):
        raise domain.InvalidMetadata(*found)
    merged = metadata_rules.merge_metadata(before.metadata or {}, given)
    if found := metadata_rules.find_metadata_problems(merged):
        raise domain.InvalidMetadata(*found)
    return merged


def _names_nothing(text: str) -> str:
    return f"body.organisationIds '{text[:100]}' names no organisation"


def _random() -> str:
    return encode_uuid(UUID(bytes=os.urandom(16)))[-_RANDOM:]
