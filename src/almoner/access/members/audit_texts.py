"""Texts for the audit log: who did what, and to whom."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from markupsafe import Markup, escape

from almoner.access.accounts.domain import ROLE_NAMES
from almoner.access.accounts.page_texts import PageTexts, mark_as_english
from almoner.access.keys import service as keys
from almoner.access.people import service as people
from almoner.access.people.domain import member_realm
from almoner.platform.audit.log import Actor, AuditEntry
from almoner.platform.database.transactions import Partner, Tx
from almoner.platform.pages import formats
from almoner.platform.pages.rendering import bidi_isolated

_IN_WORDS: Final = frozenset(
    {"was", "role", "roles", "by", "method", "because", "reason", "kind", "changed", "rate_limit"}
)
"""Details whose values come from a fixed list."""
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_ID: Final = re.compile(r"(?:sandbox_)?([a-z]+)_[0-9a-z]{26}")
_OWN_PATHS: Final = {"member": "/members", "apikey": "/keys"}
"""Paths of records whose names are known until they are deleted."""


async def load_display_names_by_id(
    tx: Tx, partner: Partner, actors: Iterable[Actor], subjects: Iterable[str]
) -> Mapping[str, str]:
    """Display names of members and API keys, by ID. Deleted ones have none."""
    texts = {*(actor.id for actor in actors), *subjects}
    persons = {found: text for text in texts if (found := tx.ids.decode("member", text))}
    called = {found: text for text in texts if (found := tx.ids.decode("apikey", text))}
    members = await people.load_people_by_id(tx, member_realm(partner), persons) if persons else {}
    held = await keys.list_by_partner(tx, partner) if called else []
    named = {persons[one.id]: one.display_name for one in members.values()}
    return named | {called[key.id]: f"“{key.name}”" for key in held if key.id in called}


@dataclass(frozen=True, slots=True)
class AuditTexts:
    """The texts of an audit log page. ``display_names_by_id``: of members and keys, by ID.

    ``home_path``: the account's path; ``record_paths_by_id_type``: of record pages by ID type, relative to it.
    """

    texts: PageTexts
    display_names_by_id: Mapping[str, str]
    home_path: str
    record_paths_by_id_type: Mapping[str, str]

    def action_text(self, action: str) -> str:
        """The text of an action."""
        for key in (f"audit_log.action.{action}", f"account.event.{action}"):
            if self.texts.language.has_message(key):
                return self.texts.text(key)
        return mark_as_english(action)

    def actor_text(self, actor: Actor) -> str:
        """The actor of an entry, as text."""
        if name := self.display_names_by_id.get(actor.id):
            isolated = bidi_isolated(name)
            return self.texts.language.html("audit_log.key", name=isolated) if actor.kind == "key" else isolated
        return self._actor_kind(actor)

    def actor_choice_label(self, actor: Actor) -> str:
        """The actor as plain text for a list of choices; actors without a name are shown by ID."""
        if name := self.display_names_by_id.get(actor.id):
            return self.texts.text("audit_log.key", name=name) if actor.kind == "key" else name
        who = self._actor_kind(actor)
        if actor.kind == "system" and who != self.texts.text("audit_log.actor.system"):
            return who
        return self.texts.text(
            "audit_log.actor.which", who=who, id=_short(actor.id) if _ID.fullmatch(actor.id) else actor.id
        )

    def entry_sentence(self, entry: AuditEntry) -> Markup:
        """The entry as a sentence with links to records: actor, action and subject."""
        facts = {"who": self.actor_text(entry.actor), "what": self.action_text(entry.action)}
        subject = None if entry.subject == entry.actor.id else self._subject(entry.subject)
        if subject is None:
            return self.texts.language.html("audit_log.entry", **facts)
        return self.texts.language.html("audit_log.entry.subject", **facts, subject=subject)

    def details_text(self, entry: AuditEntry) -> str:
        """The entry's details as one line of text."""
        given = entry.details or {}
        language, currency = self.texts.language, given.get("currency")
        shown = [
            language.html("audit_log.detail", field=self._field(name), value=self._value(name, value, currency))
            for name, value in given.items()
            if not (name == "currency" and "amount" in given)
        ]
        return reduce(
            lambda first, more: language.html("audit_log.details", first=first, more=more), shown or [Markup()]
        )

    def _actor_kind(self, actor: Actor) -> str:
        """The kind of an actor without a name, such as a key or a part of the system."""
        key = f"audit_log.actor.{actor.id}" if actor.kind == "system" else f"audit_log.actor.{actor.kind}"
        return self.texts.text(key if self.texts.language.has_message(key) else "audit_log.actor.system")

    def _subject(self, subject: str) -> Markup | None:
        """The record's name, else its type and the end of its ID; None for a subject without a page and a name."""
        found = _ID.fullmatch(subject)
        path = self.record_paths_by_id_type.get(found[1]) if found else None
        if name := self.display_names_by_id.get(subject):
            words: Markup = bidi_isolated(name)
            path = _OWN_PATHS[found[1]] if found else None
        elif found and path:
            key = f"dashboard.list.{found[1]}.singular"
            kind = self.texts.text(key) if self.texts.language.has_message(key) else ""
            words = Markup('{} <bdi class="code">{}</bdi>').format(kind, _short(subject))
        else:
            return None
        return Markup('<a href="{}{}/{}">{}</a>').format(self.home_path, path, subject, words) if path else words

    def _field(self, name: str) -> str:
        """The display name of a detail: ``groupsClaim`` becomes "groups claim", ``sign_ins`` "sessions"."""
        key = f"audit_log.field.{_CAMEL.sub('_', name).lower()}"
        return self.texts.text(key) if self.texts.language.has_message(key) else self.texts.field_label(name)

    def _value(self, name: str, value: object, currency: object) -> str:
        texts = self.texts
        if isinstance(value, bool):
            return texts.text("dashboard.yes" if value else "dashboard.no")
        if value is None or value in ("", [], ()):
            return texts.text("dashboard.none")
        if isinstance(value, list | tuple):
            return escape(formats.list_separator(texts.language.locale)).join(
                self._value(name, one, currency) for one in value
            )
        if name == "amount" and isinstance(value, int) and isinstance(currency, str):
            return bidi_isolated(formats.format_money(value, currency, texts.language.locale))
        if isinstance(value, int):
            return texts.number_text(value)
        if name in _IN_WORDS:
            return self._words(name, str(value))
        return bidi_isolated(self.display_names_by_id.get(str(value), str(value)))

    def _words(self, name: str, value: str) -> str:
        """The text of an enumerated value."""
        if value in ROLE_NAMES:
            return self.texts.text(f"desk.role.{value}")
        if name == "changed":
            return self.texts.field_label(value)
        key = f"audit_log.value.{value}"
        return (
            self.texts.text(key) if self.texts.language.has_message(key) else mark_as_english(value.replace("_", " "))
        )


def _short(name: str) -> str:
    """The end of an ID, which is enough to tell IDs apart."""
    return f"…{name[-8:]}"
