"""Adds and authenticates operators, and records approvals that need two of them.

Functions with ``by`` write the audit log themselves; callers audit decisions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

from almoner.access.credentials import service as credentials
from almoner.access.credentials.domain import AuditContext
from almoner.access.keys import domain as keys_domain
from almoner.access.operators import domain, store
from almoner.access.operators.domain import (
    AccessGrantKind,
    Approval,
    ApprovalOutcome,
    ApprovalReview,
    ApprovedDecision,
    InvalidOperatorToken,
    LastAdministratorRequired,
    NewOperatorToken,
    OperatorAccount,
    OperatorNotInvitable,
    OperatorsNotIndependent,
    OperatorToken,
    OwnAccountChangeDenied,
    PendingApproval,
    SecondApproval,
    SecondOperatorRequired,
    TokenOwnerMismatch,
)
from almoner.access.people import service as people
from almoner.access.people.domain import (
    OPERATORS,
    OperatorRole,
    Person,
    Role,
    UserNameTaken,
    build_profile,
    clean_display_name,
    ensure_roles_unchanged,
)
from almoner.access.security_emails import service as security_emails
from almoner.access.sign_ins.service import account, links
from almoner.kit.errors import IncorrectParams
from almoner.platform.audit import log as audit
from almoner.platform.database.transactions import Tx
from almoner.platform.outbound import email_addresses

ID: Final = OPERATORS.person_id_type
TOKEN_ID: Final = "operatortoken"  # noqa: S105 (the type of an identifier)
DAY: Final = timedelta(days=1)
RULE: Final = "two_people"
"""The audit subject of the dual control setting."""


class NoSuchToken(LookupError):
    """There is no operator token with this ID."""


async def has_any_operator(tx: Tx) -> bool:
    """Whether any operator exists; until then, the machine's account acts as one."""
    return await store.has_any_operator(tx, OPERATORS)


async def lock_and_check_no_operator_exists(tx: Tx) -> bool:
    """Whether no operator exists yet; locks, so that only one caller can add the first one."""
    await store.lock_realm_for_update(tx, OPERATORS)
    return not await has_any_operator(tx)


async def add_operator(
    tx: Tx, audit_context: AuditContext, email: str, name: str | None, roles: Iterable[OperatorRole]
) -> Person:
    """Add an operator and email them an invitation link.

    Raises IncorrectParams, UserNameTaken.
    """
    profile = _profile(email, name)
    person = await people.create(tx, OPERATORS, profile, _checked_roles(roles))
    await _record(tx, audit_context, "operator.invited", _text(tx, person), roles=sorted(person.roles))
    await _record_access_grant(tx, audit_context, person, "invited")
    await links.send_invitation(tx, person)
    return person


def _profile(email: str, name: str | None) -> dict[str, Any]:
    address = email_addresses.clean_email_address(email)
    if not email_addresses.is_email_address(address):
        raise IncorrectParams(f"email: {address!r} is not a valid email address. Use a format like ada@example.org")
    return build_profile(address, email=address, name=clean_display_name(name))


async def resend_invitation(tx: Tx, audit_context: AuditContext, operator_id: UUID) -> None:
    """Email an operator a new invitation link. Raises NoSuchPerson, OperatorNotInvitable."""
    person = await people.get_for_update(tx, OPERATORS, operator_id)
    if not person.active:
        raise OperatorNotInvitable(f"{person.display_name} is deactivated.")
    if await _has_joined(tx, person):
        raise OperatorNotInvitable(
            f"{person.display_name} has already signed in and can reset their password on the sign-in page."
        )
    if await store.count_invitations_since(tx, OPERATORS, person.id, tx.now - DAY) >= domain.MAX_DAILY_INVITATIONS:
        raise OperatorNotInvitable(
            f"You can send {domain.MAX_DAILY_INVITATIONS} invitations a day to one operator. Try again tomorrow."
        )
    await _record(tx, audit_context, "operator.invited_again", _text(tx, person))
    await _record_access_grant(tx, audit_context, person, "invited")
    await links.send_invitation(tx, person)


async def _has_joined(tx: Tx, person: Person) -> bool:
    factors = await credentials.get_authentication_factors(tx, person)
    return factors.password or factors.passkeys > 0


async def update_details(
    tx: Tx, audit_context: AuditContext, operator_id: UUID, *, email: str | None = None, name: str | None = None
) -> Person | Approval:
    """Change an operator's email address (also their user name), name or both.

    The address of an operator who has used the account changes only when two administrators have entered the new one;
    returns the approval while the second one is missing. We notify the old address of both steps, and open links of the
    old address become void. Raises NoSuchPerson, IncorrectParams, UserNameTaken, OwnAccountChangeDenied,
    SecondOperatorRequired, OperatorsNotIndependent.
    """
    person = await people.get_for_update(tx, OPERATORS, operator_id)
    given: dict[str, Any] = _profile(email, name) if email else {}
    if named := clean_display_name(name):
        given["displayName"] = named
    waiting = await _approve_email_change(tx, audit_context, person, given["userName"]) if email else None
    if waiting is not None:
        given = {key: given[key] for key in ("displayName",) if key in given}
    changed = {key for key in ("userName", "displayName") if given.get(key) not in (None, person.profile.get(key))}
    if not changed:
        return waiting or person
    after = await people.update_profile(tx, person, {**person.profile, **given, "active": person.active})
    reported = [stated for key, stated in (("userName", "email"), ("displayName", "name")) if key in changed]
    await _record(tx, audit_context, "operator.changed", _text(tx, person), changed=reported)
    await _record_access_grant(tx, audit_context, person, "changed")
    await security_emails.notify_of_account_changes(tx, person, after)
    return waiting or after


async def _approve_email_change(tx: Tx, by: AuditContext, person: Person, address: str) -> Approval | None:
    """The first approval of a new address, if a second administrator must enter it, too; None if it can change now.

    One administrator alone could otherwise enter their own address, reset the sign-in methods, and act as the operator.
    """
    if address.lower() == person.user_name.lower() or not await people.has_had_credentials(tx, person):
        return None
    subject, fingerprint = _text(tx, person), domain.fingerprint_email(address)
    if by.actor.id == subject:
        await _ensure_another_entered_address(tx, subject, fingerprint)
    if await people.find_by_user_name(tx, OPERATORS, address) is not None:
        raise UserNameTaken(f"userName '{address}' is taken")
    officer_id = tx.ids.decode(ID, by.actor.id)
    if officer_id is None:
        raise SecondOperatorRequired("Two administrators must enter the new email address of an operator.")
    officer = await people.get(tx, OPERATORS, officer_id)
    approval = await record_approval(
        tx, officer, domain.EMAIL_CHANGE, subject, fingerprint, domain.EMAIL_CHANGE_NOTE, "administrator"
    )
    if approval.second is not None:
        if approval.first.by != person.id:
            await store.record_access_granted_by_operator(tx, person.id, approval.first.by, "changed")
        return None
    await _record(tx, by, "operator.email_change_requested", subject)
    await security_emails.enqueue_email(tx, person, "email_change_requested", to_old_address=True)
    return approval


async def _ensure_another_entered_address(tx: Tx, subject: str, fingerprint: bytes) -> None:
    """Raises OwnAccountChangeDenied unless another administrator has entered this address for the operator."""
    waits = await store.find_pending_approval_for_update(tx, OPERATORS, domain.EMAIL_CHANGE, subject)
    if waits is None or waits.fingerprint != fingerprint or tx.now >= waits.expires_at:
        raise OwnAccountChangeDenied(
            "You cannot change your own email address. Another administrator must enter the new address first, and you "
            "or a third administrator can then confirm it."
        )


async def reset_credentials_and_reinvite(tx: Tx, audit_context: AuditContext, operator_id: UUID) -> Person:
    """Delete the credentials and tokens of an operator who lost their second factor, and email a new link.

    The caller must have verified the operator's identity. The link goes to an address that no administrator can change
    alone. Raises NoSuchPerson.
    """
    person = await people.get_for_update(tx, OPERATORS, operator_id)
    await revoke_all_tokens(tx, audit_context, person)
    await account.reset_credentials_and_send_invitation(tx, person, audit_context)
    await _record_access_grant(tx, audit_context, person, "reset")
    return person


async def list_operators(tx: Tx) -> list[OperatorAccount]:
    """All operators in order of creation."""
    return await store.list_operators(tx, OPERATORS)


async def set_roles(
    tx: Tx,
    audit_context: AuditContext,
    operator_id: UUID,
    roles: Iterable[OperatorRole],
    *,
    expected_current_roles: Iterable[str] | None = None,
) -> Person:
    """Replace another operator's roles. ``expected_current_roles``: those that a page showed, which must be current.

    Raises NoSuchPerson, IncorrectParams, OwnAccountChangeDenied, LastAdministratorRequired.
    """
    await store.lock_realm_for_update(tx, OPERATORS)
    person = await people.get_for_update(tx, OPERATORS, operator_id)
    wanted = frozenset[Role](roles)
    ensure_roles_unchanged(expected_current_roles, person.roles, wanted)
    granted = _checked_roles(wanted)
    if audit_context.actor.id == _text(tx, person):
        raise OwnAccountChangeDenied("You cannot change your own roles. Another administrator can change them for you.")
    if "administrator" not in granted:
        await _ensure_other_administrator(tx, person)
    changed = await people.set_granted_roles(tx, person, granted)
    await security_emails.notify_of_account_changes(tx, person, changed)
    was, now = sorted(person.roles), sorted(changed.roles)
    if now != was:
        await _record(tx, audit_context, "operator.roles_changed", _text(tx, person), was=was, roles=now)
    if changed.roles - person.roles:
        await _record_access_grant(tx, audit_context, person, "granted")
    return changed


def _checked_roles(roles: Iterable[Role]) -> frozenset[Role]:
    granted = frozenset[Role](roles)
    if not granted:
        raise IncorrectParams(
            "roles: select at least one role: reviewer, finance or administrator. To remove all access, deactivate the "
            "operator"
        )
    return granted


async def deactivate(tx: Tx, audit_context: AuditContext, operator_id: UUID) -> Person:
    """Deactivate an operator: ends sign-ins, tokens and pending approvals. Raises LastAdministratorRequired."""
    await store.lock_realm_for_update(tx, OPERATORS)
    person = await people.get_for_update(tx, OPERATORS, operator_id)
    await _ensure_other_administrator(tx, person)
    await store.revoke_tokens(tx, OPERATORS, tx.real_now, person_id=person.id)
    return await _set_active(tx, audit_context, person, active=False)


async def activate(tx: Tx, audit_context: AuditContext, operator_id: UUID) -> Person:
    """Reactivate an operator, without their former tokens. Raises NoSuchPerson."""
    return await _set_active(tx, audit_context, await people.get_for_update(tx, OPERATORS, operator_id), active=True)


async def _set_active(tx: Tx, by: AuditContext, person: Person, *, active: bool) -> Person:
    if person.active == active:
        return person
    await _record(tx, by, "operator.activated" if active else "operator.deactivated", _text(tx, person))
    if active:
        await _record_access_grant(tx, by, person, "activated")
    changed = await people.update_profile(tx, person, {**person.profile, "active": active})
    await security_emails.notify_of_account_changes(tx, person, changed)
    return changed


async def _ensure_other_administrator(tx: Tx, person: Person) -> None:
    """Raises LastAdministratorRequired unless another active administrator has joined."""
    others = [
        one for one in await list_operators(tx) if one.person.has_role("administrator") and one.person.id != person.id
    ]
    if person.has_role("administrator") and not any(one.has_joined for one in others):
        waited = f" (not signed in yet: {', '.join(one.person.display_name for one in others)})" if others else ""
        raise LastAdministratorRequired(
            f"{person.display_name} is the last administrator{waited}. Add another administrator first, under "
            "Operators in the console or with `almoner operators add`."
        )


async def list_administrators(tx: Tx) -> list[Person]:
    """All active administrators."""
    return [one.person for one in await list_operators(tx) if one.person.has_role("administrator")]


async def is_two_person_approval_enabled(tx: Tx) -> bool:
    """Whether bank account changes and disbursements need two operators (default: in production)."""
    stated = await store.find_two_person_approval_setting(tx)
    return not tx.deployment.sandbox if stated is None else stated


async def set_two_person_approval(tx: Tx, audit_context: AuditContext, *, required: bool) -> None:
    """Set whether bank account changes and disbursements need two operators."""
    await store.set_two_person_approval(tx, audit_context.actor.id, required=required)
    await _record(tx, audit_context, "two_person_approval.changed", RULE, required=required)


async def load_display_names_by_operator_id(tx: Tx, actor_ids: Iterable[str | None]) -> Mapping[str, str]:
    """Display names, by ID, of those texts that are operator IDs."""
    found = {}
    for text in {text for text in actor_ids if text}:
        if operator_id := tx.ids.decode(ID, text):
            found[text] = (await people.get(tx, OPERATORS, operator_id)).display_name
    return found


async def create_token(
    tx: Tx,
    audit_context: AuditContext,
    operator: Person,
    name: str,
    lifetime: timedelta = domain.DEFAULT_TOKEN_LIFETIME,
) -> NewOperatorToken:
    """Create an operator token.

    The secret is returned only now, and an email notifies the operator. Raises IncorrectParams; InvalidOperatorToken if
    the operator is not active; TokenOwnerMismatch if ``audit_context`` is somebody else.
    """
    await people.get_for_update(tx, OPERATORS, operator.id)
    if not operator.active:
        raise InvalidOperatorToken(f"{operator.display_name} is deactivated and cannot have new tokens.")
    if audit_context.actor.id != _text(tx, operator) and not await _may_hand_over(tx, audit_context, operator):
        raise TokenOwnerMismatch(
            f"Tokens are personal. Only {operator.display_name} can create them, at /operator/tokens."
        )
    if await store.count_valid_tokens(tx, OPERATORS, operator.id, tx.real_now) >= domain.MAX_TOKENS:
        raise IncorrectParams(f"name: you can have {domain.MAX_TOKENS} active tokens. Revoke one first")
    secret = keys_domain.generate_secret(domain.token_prefix(sandbox=tx.deployment.sandbox))
    token = OperatorToken(
        tx.new_id(), operator.id, domain.parse_token_name(name), secret[-4:], tx.real_now, tx.real_now + lifetime
    )
    await store.insert_token(tx, token, _hash(tx, secret))
    named = tx.ids.encode(TOKEN_ID, token.id)
    await _record(tx, audit_context, "operator_token.created", named, operator=_text(tx, operator))
    await security_emails.enqueue_email(tx, operator, "token_created", placeholder_values={"name": token.name})
    return NewOperatorToken(token, secret)


async def record_token_shown_again(tx: Tx, audit_context: AuditContext, operator: Person, token: OperatorToken) -> None:
    """Record that the secret of a new operator token was shown again."""
    named, whose = tx.ids.encode(TOKEN_ID, token.id), _text(tx, operator)
    await _record(tx, audit_context, "operator_token.created", named, operator=whose, shown_again=True)


async def _may_hand_over(tx: Tx, by: AuditContext, operator: Person) -> bool:
    """Whether ``by`` may create tokens for others: the machine's account for the first operator or a sandbox's demo."""
    if by.actor.kind != "machine":
        return False
    alone = [one.person.id for one in await list_operators(tx)] == [operator.id]
    return tx.deployment.sandbox or (alone and not await list_tokens(tx))


def _hash(tx: Tx, secret: str) -> bytes:
    """The stored hash of a token, as for API keys (K2)."""
    return tx.vault.compute_keyed_hash("operator-token", secret.encode())


async def authenticate(tx: Tx, secret: str) -> tuple[Person, OperatorToken]:
    """The operator behind a valid token; records the use. Raises InvalidOperatorToken."""
    start = domain.token_prefix(sandbox=tx.deployment.sandbox)
    token = None
    if keys_domain.is_well_formed_secret(start, secret):
        token = await store.find_token_by_secret_hash(tx, OPERATORS, _hash(tx, secret))
    if token is None:
        raise InvalidOperatorToken(
            f"This is not a token of this deployment. Its tokens begin with {start}. See `almoner operators`."
        )
    operator = await people.get(tx, OPERATORS, token.person_id)
    domain.ensure_token_valid(token, operator, tx.real_now)
    await store.record_token_use(tx, OPERATORS, token.id, tx.real_now)
    return operator, token


async def ensure_has_role(tx: Tx, operator: Person, *roles: OperatorRole) -> None:
    """Raises OperatorRoleRequired unless the operator has one of the roles."""
    domain.ensure_has_role(operator, tx.ids.encode(ID, operator.id), roles, await list_administrators(tx))


async def list_tokens(tx: Tx, operator_id: UUID | None = None) -> list[OperatorToken]:
    """Tokens of one operator, or of all, newest first."""
    return await store.list_tokens(tx, OPERATORS, operator_id)


async def get_token(tx: Tx, token_id: UUID) -> OperatorToken:
    """One token. Raises NoSuchToken."""
    if (token := await store.find_token(tx, OPERATORS, token_id)) is None:
        raise NoSuchToken(tx.ids.encode("operatortoken", token_id))
    return token


async def revoke_token(tx: Tx, audit_context: AuditContext, token: OperatorToken) -> None:
    """Revoke a token; nothing happens if it is revoked already."""
    if await store.revoke_tokens(tx, OPERATORS, tx.real_now, token_id=token.id):
        await _record(tx, audit_context, "operator_token.revoked", tx.ids.encode(TOKEN_ID, token.id))


async def revoke_all_tokens(tx: Tx, audit_context: AuditContext, operator: Person) -> None:
    """Revoke all tokens of an operator."""
    live = [token for token in await list_tokens(tx, operator.id) if token.is_valid(tx.real_now)]
    for token in live:
        await revoke_token(tx, audit_context, token)


async def record_approval(
    tx: Tx, operator: Person, action: str, subject: str, fingerprint: bytes, note: str, role: OperatorRole
) -> Approval:
    """Record an operator's approval of a subject: the first approval, or the second one, which completes it.

    ``fingerprint``: 32 bytes that identify what the operator saw. A first approval is void if the fingerprint differs
    or if its operator no longer has the ``role``. Raises SecondOperatorRequired if the first approval is the operator's
    own, OperatorsNotIndependent if one of the two recently granted the other access.
    """
    if not 1 <= len(note) <= domain.LONGEST_NOTE:
        raise IncorrectParams(f"the note must have 1 to {domain.LONGEST_NOTE} characters")
    mine = ApprovalReview(operator.id, tx.now, note)
    while True:
        waits = await store.find_pending_approval_for_update(tx, OPERATORS, action, subject)
        if waits is None:
            started = Approval(tx.new_id(), action, subject, fingerprint, mine, tx.now + domain.APPROVAL_LIFETIME)
            if await store.insert_approval(tx, started):
                return started
            continue  # a concurrent first approval: try again
        first = await people.get(tx, OPERATORS, waits.first.by)
        if void := _void_reason(tx, waits, fingerprint, first, role):
            await store.close_approval(tx, OPERATORS, waits, void, None, tx.now)
            continue
        if waits.first.by == operator.id:
            raise SecondOperatorRequired(
                f"{operator.display_name} has already confirmed this (1 of 2). A second operator with the role {role} "
                f"must confirm it, too, before {waits.expires_at:%Y-%m-%d %H:%M} UTC."
            )
        if until := await store.find_time_when_operators_become_independent(tx, waits.first.by, operator.id):
            raise OperatorsNotIndependent(
                f"{operator.display_name} cannot confirm this after {first.display_name}, because one of them gave or "
                f"restored the other's access in the last 7 days. Ask another operator with the role {role} to "
                f"confirm, or wait until {until:%Y-%m-%d %H:%M} UTC."
            )
        await store.close_approval(tx, OPERATORS, waits, "approved", mine, tx.now)
        return replace(waits, second=mine, outcome="approved")


async def require_two_person_approval_if_enabled(
    tx: Tx, operator: Person, role: OperatorRole, action: str, subject: str, fingerprint: bytes, note: str
) -> ApprovedDecision | Approval:
    """The approved decision, or the first approval while a second operator must approve (if dual control is on).

    ``fingerprint`` is the fingerprint; raises what ``record_approval`` raises.
    """
    if not await is_two_person_approval_enabled(tx):
        return ApprovedDecision(tx.ids.encode(ID, operator.id), note)
    return await require_two_person_approval(tx, operator, role, action, subject, fingerprint, note)


async def require_two_person_approval(
    tx: Tx, operator: Person, role: OperatorRole, action: str, subject: str, fingerprint: bytes, note: str
) -> ApprovedDecision | Approval:
    """The approved decision, or the first approval while a second operator must approve (always).

    ``fingerprint`` is the fingerprint; raises what ``record_approval`` raises.
    """
    approval = await record_approval(tx, operator, action, subject, fingerprint, note, role)
    if approval.second is None:
        return approval
    by = tx.ids.encode(ID, approval.first.by)
    return ApprovedDecision(by, approval.first.note, SecondApproval(tx.ids.encode(ID, operator.id), note))


async def ensure_independent_operator(tx: Tx, operator: Person, other_actor_ids: Iterable[str]) -> None:
    """Raises OperatorsNotIndependent if the operator and one of ``other_actor_ids`` recently gave each other access."""
    for person_id in [known for other in other_actor_ids if (known := tx.ids.decode(ID, other))]:
        if person_id != operator.id and (
            until := await store.find_time_when_operators_become_independent(tx, person_id, operator.id)
        ):
            first = await people.get(tx, OPERATORS, person_id)
            raise OperatorsNotIndependent(
                f"{operator.display_name} cannot review this after {first.display_name}, because one of them gave or "
                f"restored the other's access in the last 7 days. Ask another operator to review it, or wait until "
                f"{until:%Y-%m-%d %H:%M} UTC."
            )


def _void_reason(
    tx: Tx, waits: Approval, fingerprint: bytes, first: Person, role: OperatorRole
) -> ApprovalOutcome | None:
    """Why a first approval is void; None if it is valid."""
    if tx.now >= waits.expires_at:
        return "expired"
    if waits.fingerprint != fingerprint:
        return "changed"
    return None if first.has_role(role) else "withdrawn"


async def list_pending_approvals(
    tx: Tx, action: str | None = None, subjects: Sequence[str] | None = None
) -> list[PendingApproval]:
    """Approvals that wait for a second operator, with the first one; oldest first. None: of all actions or subjects."""
    return await store.list_pending_approvals(tx, OPERATORS, tx.now, action, subjects)


async def _record_access_grant(tx: Tx, by: AuditContext, person: Person, kind: AccessGrantKind) -> None:
    """Record that an operator granted another access, so that the two are not independent for a week."""
    who = tx.ids.decode(ID, by.actor.id) if by.actor.kind == "operator" else None
    if who and who != person.id:
        await store.record_access_granted_by_operator(tx, person.id, who, kind)


async def _record(tx: Tx, by: AuditContext, action: str, subject: str, **details: str | bool | Sequence[str]) -> None:
    await audit.record_entry(
        tx, audit.DEPLOYMENT, by.actor, action, subject, ip_address=by.ip_address, details=details or None
    )


def _text(tx: Tx, operator: Person) -> str:
    return tx.ids.encode(ID, operator.id)
