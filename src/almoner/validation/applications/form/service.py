"""Changes to a form before it is submitted. The caller locks the invite first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final
from uuid import UUID

import msgspec

from almoner.access.partners import service as partners
from almoner.access.partners.domain import PartnerAccount
from almoner.kit.errors import NotFound
from almoner.kit.public_links import PublicLinks
from almoner.nonprofits.organisations import service as organisations
from almoner.nonprofits.organisations.domain import Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries import service as registries
from almoner.nonprofits.registries.domain import Registry
from almoner.platform.database.transactions import ALL_PARTNERS, Partner, Tx
from almoner.platform.jobs.queue import JobKind
from almoner.validation.applications.configurations import service as configurations
from almoner.validation.applications.configurations.domain import Configuration
from almoner.validation.applications.form import drafts, store
from almoner.validation.applications.form.drafts import ApplicationDraft, FormShare, Problems, UnlistedNonprofit
from almoner.validation.applications.form.store import next_form_data_deletion_at as next_form_data_deletion_at
from almoner.validation.applications.invites import service as invites
from almoner.validation.applications.invites.domain import Invite
from almoner.validation.applications.submission_documents import service as submission_documents
from almoner.validation.applications.submissions.domain import OrganisationNotActive


class SendFormShareJob(msgspec.Struct, frozen=True):
    """The details of the job that emails the form to a colleague."""

    share_id: UUID = msgspec.field(name="handover")


SEND_FORM_SHARE: Final = JobKind("applications.share", SendFormShareJob)
BATCH: Final = 500
_MAX_SEARCH_RESULTS: Final = 8
"""Results of a search: about what a small window shows; a longer query narrows them down."""
_LONGEST_QUERY: Final = 200


@dataclass(frozen=True, slots=True)
class Application:
    """A form being filled in, with everything that its pages show."""

    invite: Invite
    account: PartnerAccount
    configuration: Configuration
    draft: ApplicationDraft

    @property
    def partner(self) -> Partner:
        """The partner of the invite."""
        return Partner(self.invite.partner_id)

    @property
    def language(self) -> str:
        """The one that the applicant chose, else the invite's."""
        return self.draft.language or self.invite.language


async def load_application(tx: Tx, invite_id: UUID) -> Application:
    """The form of an invite, whatever the invite's status. Raises NotFound."""
    # Read the draft first: submitting deletes the draft and completes the invite in one commit. In the other order a
    # concurrent submission would make an open invite appear to have no answers.
    draft = await store.get_draft(tx, invite_id)
    invite = await invites.get(tx, ALL_PARTNERS, invite_id)
    partner = Partner(invite.partner_id)
    if invite.configuration_id is None:
        configuration = await configurations.find_default(tx, partner)
    else:
        configuration = await configurations.find(tx, partner, invite.configuration_id)
    if configuration is None:
        raise NotFound
    account = await partners.get(tx, partner)
    return Application(invite, account, configuration, draft)


async def find_partner_public_links(tx: Tx, invite_id: UUID) -> PublicLinks | None:
    """The public links of the partner who invited; None for an unknown invite."""
    try:
        invite = await invites.get(tx, ALL_PARTNERS, invite_id)
    except NotFound:
        return None
    return (await partners.get(tx, Partner(invite.partner_id))).public_links


async def update_draft(
    tx: Tx, invite_id: UUID, change_draft: Callable[[ApplicationDraft], ApplicationDraft]
) -> ApplicationDraft:
    """Change the answers of one step of a locked open invite. Raises NotFound, InviteExpired, InviteInvalidState."""
    invite = await invites.get_for_update(tx, ALL_PARTNERS, invite_id)
    invite.ensure_open(tx.now)
    changed = change_draft(await store.get_draft(tx, invite_id))
    await store.save_draft(tx, Partner(invite.partner_id), invite, changed)
    return changed


async def choose_organisation(tx: Tx, invite_id: UUID, partner: Partner, organisation_id: UUID) -> ApplicationDraft:
    """Choose an organisation from the search results.

    Raises NotFound, OrganisationNotActive, and what ``update_draft`` raises.
    """
    found = await organisations.get(tx, partner, organisation_id)
    if not found.active:  # otherwise it would be refused at the very end
        raise OrganisationNotActive
    return await update_draft(tx, invite_id, lambda draft: replace(draft, organisation=found.id, unlisted=None))


async def search_organisations(tx: Tx, partner: Partner, query: str) -> organisations.OrganisationResults | None:
    """The best matches for a name or number; None for an empty query."""
    if not (text := query[:_LONGEST_QUERY].strip()):
        return None
    return await organisations.list_best_matches(tx, partner, text, _MAX_SEARCH_RESULTS)


async def find_chosen_organisation(tx: Tx, application: Application) -> Organisation | None:
    """The selected organisation; None if none is selected, or if it no longer exists."""
    if application.draft.organisation is None:
        return None
    try:
        return await organisations.get(tx, application.partner, application.draft.organisation)
    except NotFound:
        return None


async def find_registry(tx: Tx, registry_code: str, country_code: str) -> Registry | None:
    """The registry with a code in a country; None if there is none."""
    return next((one for one in await registries.list_by_country(tx, country_code) if one.code == registry_code), None)


async def find_unlisted_nonprofit_problems(tx: Tx, unlisted_nonprofit: UnlistedNonprofit) -> Problems:
    """Find all problems of an entered nonprofit, including its number's format."""
    problems = drafts.find_unlisted_nonprofit_problems(unlisted_nonprofit)
    problems |= await find_registration_problems(
        tx, unlisted_nonprofit.registry, unlisted_nonprofit.number, unlisted_nonprofit.country
    )
    order = ("name", "registry", "number", "website")
    return {field: problems[field] for field in order if field in problems}


async def find_registration_problems(tx: Tx, registry_code: str, number: str, country_code: str) -> Problems:
    """Find all problems of a register's code and a number, by the register's format."""
    given = UnlistedNonprofit(registry=registry_code, number=number)
    problems = {
        field: key
        for field, key in drafts.find_unlisted_nonprofit_problems(given).items()
        if field in ("registry", "number")
    }
    named = await find_registry(tx, registry_code, country_code) if registry_code else None
    if registry_code and named is None:
        problems["registry"] = "apply.problem.registry.missing"
    if (
        named is not None
        and "number" not in problems
        and registries_domain.check_registry_number(named.code, number).number_key is None
    ):
        problems["number"] = "apply.problem.number.wrong"
    return problems


async def email_form_link(tx: Tx, invite_id: UUID, email: str) -> bool:
    """Email the form's link to a colleague; False if limits forbid it.

    Raises NotFound, InviteExpired, InviteInvalidState.
    """
    invite = await invites.get_for_update(tx, ALL_PARTNERS, invite_id)
    invite.ensure_open(tx.now)
    of_invite = await store.list_form_share_send_times(tx, invite_id)
    to_address = await store.lock_address_and_list_share_send_times(tx, email, tx.real_now - drafts.DAY)
    if not drafts.may_email_form_link(of_invite, to_address, tx.real_now):
        return False
    new = FormShare(tx.new_id(), invite_id, email, tx.real_now)
    await store.insert_form_share(tx, new, invite.expires_at + timedelta(days=1))
    await SEND_FORM_SHARE.enqueue(tx, SendFormShareJob(new.id))
    return True


async def find_open_form_share_and_application(tx: Tx, share_id: UUID) -> tuple[FormShare, Application] | None:
    """The handover to email, and its form; None if the form cannot be continued any more."""
    found = await store.find_form_share(tx, share_id)
    if found is None:
        return None
    application = await load_application(tx, found.invite_id)
    return (found, application) if application.invite.status_at(tx.now) == "open" else None


async def delete_expired_form_data(tx: Tx, limit: int = BATCH) -> int:
    """Delete drafts, documents and handovers of expired invites; returns how many."""
    unused = await store.list_expired_invite_ids_with_documents(tx, limit)
    await submission_documents.delete_documents_of_unused_invites(tx, unused)
    return len(unused) + await store.delete_expired_form_data(tx, limit)


async def list_registries(tx: Tx, country_code: str) -> Sequence[Registry]:
    """The registers of a country that an applicant may choose."""
    return await registries.list_by_country(tx, country_code) if country_code else []


async def list_country_codes_with_registry(tx: Tx) -> set[str]:
    """The countries that have a register."""
    return await registries.list_country_codes(tx)
