"""H11: no mail makes a link of what somebody typed, in any language or script, in text, HTML and subject."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from almoner.access.security_emails import domain as security_emails
from almoner.giving.checkout.donations.domain import RefundedAmount
from almoner.giving.checkout.sessions.domain import Benefits
from almoner.giving.receipts.domain import DonationReassignment, Donee, Receipt
from almoner.giving.subscriptions.donation_subscriptions.domain import NoticeKind
from almoner.giving.subscriptions.subscription_emails.domain import TEXTS
from almoner.kit.ids import RecordIdCodec
from almoner.kit.money import Money
from almoner.kit.public_links import NO_LINKS
from almoner.kit.text import prevent_autolinking
from almoner.platform.crypto import Vault
from almoner.platform.deployment import BaseUrls, Deployment
from almoner.platform.outbound.mail import Mail
from almoner.platform.outbound.mail_rendering import MailRenderer
from almoner.platform.pages.formats import format_money
from almoner.platform.pages.translations import LOCALE_FOLDER, TranslationCatalogues
from almoner.validation.applications.form.notifications import NotificationKind
from tests.architecture.sources import PACKAGE
from tests.support.clock import TestClock
from tests.support.linkifier import ShownHtml, find_links

AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
PAGES = "https://give.example.org"
OWN = f"{PAGES}/gift?token=AbC-d_1.2&x=1"
DEPLOYMENT = Deployment("sandbox", TestClock(), RecordIdCodec(sandbox=True), BaseUrls(PAGES, PAGES), Vault(bytes(32)))
CATALOGUES = TranslationCatalogues()
WORDS = json.loads((LOCALE_FOLDER / "en.json").read_text("utf-8"))
JOINER = "\u2060"

HOSTILE = (
    "http://evil.example/login click here",
    "HTTPS://EVIL.EXAMPLE",
    "http://2130706433/",
    "192.0.2.7/login",
    "Open 192.0.2.7.",
    "www.evil.example",
    "WWW.4.example",
    "evil.example",
    "See evil.example!",
    "ada@evil.example",
    "mailto:ada@evil.example?subject=Hello",
    "tel:+449098790000",
    "Call +44 (909) 879-0000 or 0909 879 0000",
    "(900) 555-0100",
    "javascript:alert(1)",
    "//evil.example/x",
    r"\\evil.example\share",
    "пример.рф",
    "例え.jp",
    "例え。テスト",
    "ｅｖｉｌ｡ｃｏｍ",
    "http：／／evil．example",
    "ada＠evil．example",
    "xn--e1afmkfd.xn--p1ai",
    "موقع.السعودية",
    "शादी.com",
    "ⓔⓥⓘⓛ.ⓒⓞⓜ",
    ".example",
    "evil.\u200bexample",
    "evil\u2060.example",
    "\u2069\u202eevil.example",
    "Ada\nhttp://evil.example",
    '<a href="http://evil.example">here</a>',
    "http&#58;//evil&#46;example",
    OWN,
    f"{PAGES}.evil.example/gift",
)
BESIDE_WORDS = ("http://evil.example/login .example //evil.example/x", f".example {OWN} 例え。テスト")
"""Some of each kind, for catalogues: what they add is the words before and after what is typed."""
HARMLESS = (
    "St. Mary",
    "Dr. Who, Esq.",
    "Verein Hilfe e.V.",
    "1,234.50 / 05-0258809 / 1.234.567.890",
    "10:30",
    "山田。",
    "DE02 1203 0000 0000 2020 51",
    "NL91 ABNA 0417 1643 00",
    "LV80 BANK 0000 4351 9500 1",
    "KW81 CBKU 0000 0000 0000 1234 5601 01",
)

RECEIPT = Receipt(
    donation_id=UUID(int=1),
    partner_id=UUID(int=1),
    number=42,
    prefix="",
    issuer="",
    language="en",
    organisation="",
    register="",
    register_number="",
    first_name="",
    last_name="",
    anonymous=True,
    payment_id=UUID(int=2),
    money=Money(2600, "GBP"),
    cover_minor=100,
    received_at=AT,
    issued_at=AT,
)


def receipts(typed: str) -> list[dict[str, Any]]:
    """A receipt that stands, one whose gift went back in part to be passed on, and a void one."""
    receipt = replace(RECEIPT, issuer=typed, organisation=typed, first_name=typed, last_name=typed)
    passed_on = replace(
        receipt,
        passed_on=DonationReassignment(typed, AT),
        refunded=RefundedAmount(AT, Money(600, "GBP")),
    )
    void = replace(receipt, refunded=RefundedAmount(AT, receipt.money))
    facts = {"amount": "£26.00", "facts": [("receipt.donor", typed)], "manage_url": None}
    donee = Donee(UUID(int=3), UUID(int=1), typed, "123456789", typed, "a", "n", AT, "b", "n", AT)
    ours = replace(receipt, donee=donee, benefits=Benefits(typed, 100))
    return [{**facts, "receipt": one} for one in (receipt, passed_on, void, ours)]


def letters(typed: str) -> list[dict[str, Any]]:
    """Every kind of mail to people who sign in; harmless ones name no file of ours."""
    named = ("left", "name", "issuer", "source", "amount", "roles", "place", "user_name")
    kinds = [kind for kind in get_args(security_emails.Kind) if typed in HOSTILE or not kind.startswith("refund_")]
    values = dict.fromkeys(named, typed)
    return [
        {
            "letter": security_emails.build_security_email(kind, values, {"Device": typed}),
            "name": typed,
            "place": typed,
            "url": OWN,
        }
        for kind in kinds
    ]


def applications(typed: str) -> list[dict[str, Any]]:
    """Every kind of mail about an application, with all that may be missing, and every reason."""
    missing = [
        SimpleNamespace(text_key=kind, registry_name=typed, registry_number=typed)
        for kind in ("registration_evidence", "registry_number", "confirmation", "association")
    ]
    reasons = [key for key in WORDS if key.startswith("applied.reason.")]
    facts = {"missing": missing, "reasons": reasons, "due": AT, "name": typed}
    return [{**facts, "kind": kind, **named(typed)} for kind in get_args(NotificationKind)]


def notices(typed: str) -> list[dict[str, Any]]:
    """Every kind of mail about a regular donation, with an agreement and every reason."""
    facts = {
        "facts": [("receipt.organisation", typed)],
        "every": typed,
        "agreement": SimpleNamespace(text=typed, version=typed),
        "agreed_at": AT,
        "ended": False,
    }
    return [
        named(
            typed,
            **facts,
            kind=kind,
            text=TEXTS.get(kind, f"regular.mail.{kind}.text"),
            reason=reason,
            open="regular.mail.open",
            retry_on=AT if kind == "payment_failed" else None,
        )
        for kind in get_args(NoticeKind)
        for reason in (["regular.move.text"] if kind == "organisation_proposed" else [None])
    ]


def named(typed: str, **facts: object) -> dict[str, Any]:
    """What most mails name."""
    names = ("organisation", "partner", "agent", "name", "issuer", "former", "holder", "reference", "title", "amount")
    return {**dict.fromkeys(names, typed), "until": AT, "on": AT, **facts}


SAMPLES: Mapping[str, Callable[[str], list[dict[str, Any]]]] = {
    "access/accounts/mails/addresses": lambda typed: [{"addresses": [SimpleNamespace(partner=typed, url=OWN)]}],
    "access/security_emails/mails/letter": letters,
    "dashboard/mails/csv_export": lambda _typed: [{"link": OWN}],
    "giving/account_notices/mails/payee_account": lambda typed: [
        named(typed, account=SimpleNamespace(currency="EUR", masked_number=typed, holder=typed))
    ],
    "giving/checkout/card_testing/mails/code": lambda typed: [named(typed, code="123456")],
    "giving/disbursing/organisation_confirmations/mails/payee": lambda typed: [named(typed)],
    "giving/accounting/monthly_reports/mails/monthly_report": lambda _typed: [{"link": OWN, "month": "March 2026"}],
    "giving/checkout/dedications/mails/dedication": lambda typed: [
        named(typed, donor=donor, dedication=typed, message=typed) for donor in (typed, None)
    ],
    "giving/donor_statements/mails/statement": lambda typed: [named(typed)],
    "giving/donor_emails/mails/reassigned": lambda typed: [
        named(typed, why=f"reassigned.why.{ground}") for ground in ("merged", "unknown", "failed_compliance")
    ],
    "giving/gift_aid/reminders/mails/reminder": lambda typed: [named(typed, statement=typed, notify=typed)],
    "giving/receipts/mails/receipt": receipts,
    "giving/donor_emails/mails/gift_refund": lambda typed: [named(typed, left=left) for left in (typed, None)],
    "giving/donor_emails/mails/refund": lambda typed: [named(typed, why="refund.why.paid_twice")],
    "giving/donor_emails/mails/transfer": lambda typed: [named(typed, numbers=[("transfer.iban", typed)])],
    "giving/subscriptions/donor_pages/mails/link": lambda typed: [named(typed)],
    "giving/subscriptions/subscription_emails/mails/notice": notices,
    "validation/agents/mails/confirmation": lambda typed: [named(typed, code="123456")],
    "validation/agents/mails/question": lambda typed: [named(typed)],
    "validation/applications/form/mails/application": applications,
    "validation/applications/form/mails/handover": lambda typed: [named(typed)],
}


def found() -> set[str]:
    """Every mail of the service, from the folders."""
    return {path.relative_to(PACKAGE).with_suffix("").as_posix() for path in PACKAGE.glob("**/mails/*")}


def in_every_language() -> list[tuple[str, str]]:
    """Each mail with each language; what says nothing of the catalogues is in English only."""
    return [
        (mail, tag)
        for mail in sorted(SAMPLES)
        for tag in CATALOGUES.offered_languages
        if tag == "en" or "{{ t(" in (PACKAGE / f"{mail}.html").read_text()
    ]


@cache
def _renderer(mail: str) -> tuple[MailRenderer, str]:
    """With its template compiled once for all languages and texts."""
    path = Path(mail)
    return MailRenderer(DEPLOYMENT, PACKAGE / path.parent, CATALOGUES), f"{path.name}.html"


def rendered(mail: str, tag: str, typed: str) -> list[Mail]:
    """The mail in all its forms, in a language, with this in each place where somebody types."""
    renderer, template = _renderer(mail)
    return [
        renderer.render_mail(
            template,
            renderer.language_for_tag(tag),
            {"link": OWN, **facts},
            brand=renderer.build_partner_brand(typed, typed, "#123456", None, NO_LINKS),
            deduplication_key="key",
            at=AT,
            partner_id=None,
            to="ada@example.org",
        )
        for facts in SAMPLES[mail](typed)
    ]


def test_every_mail_of_the_service_is_tried() -> None:
    assert found() == set(SAMPLES)
    assert len(CATALOGUES.offered_languages) == 12


def with_what_is_typed() -> Iterator[Any]:
    """Everything hostile in English, some of it in every other language; all in all among the long figures."""
    for mail, tag in in_every_language():
        if tag == "en":
            yield pytest.param(mail, tag, HOSTILE, id=f"{mail}-en")
        else:
            yield pytest.param(mail, tag, BESIDE_WORDS, id=f"{mail}-{tag}")
            yield pytest.param(mail, tag, HOSTILE, id=f"{mail}-{tag}-all", marks=pytest.mark.long)


@pytest.mark.parametrize(("mail", "tag", "all_typed"), [*with_what_is_typed()])
def test_h11_nothing_that_was_typed_becomes_a_link(mail: str, tag: str, all_typed: tuple[str, ...]) -> None:
    own_links = [ShownHtml(one.html).targets for one in rendered(mail, tag, "Ada")]
    for typed in all_typed:
        for made, own in zip(rendered(mail, tag, typed), own_links, strict=False):
            shown = ShownHtml(made.html)
            assert find_links(made.subject) == [], typed
            assert find_links(made.text.replace(OWN, " ", len(own))) == [], typed
            assert list(shown.links(OWN if "addresses" in mail else "\0")) == [], typed
            assert shown.targets == own == [OWN] * len(own)
            assert made.text.count(OWN) == len(own)


@pytest.mark.parametrize(("mail", "tag"), in_every_language())
def test_what_is_no_link_is_shown_as_it_was_typed_and_our_own_words_stay(mail: str, tag: str) -> None:
    for typed in HARMLESS if tag == "en" else (" ".join(HARMLESS[::2]),):
        for made in rendered(mail, tag, typed):
            assert JOINER not in made.subject + made.text + made.html
            assert typed in made.text or "code" in made.text or mail.endswith("letter")


@pytest.mark.parametrize("tag", CATALOGUES.offered_languages)
def test_no_word_of_ours_makes_a_host_name_of_what_is_typed_after_it(tag: str) -> None:
    """``。`` parts names of hosts, too, and no blank comes after it. Figures and dates are ours."""
    words = (LOCALE_FOLDER / f"{tag}.json").read_text("utf-8")
    assert re.findall(r"[.。．｡@/]\{(?!amount|day|left|moment|when)\w+\}", words) == []


def test_the_subject_is_one_line_and_the_title_of_the_html() -> None:
    for made in rendered("giving/receipts/mails/receipt", "en", "Salt & <Light>\nTrust"):
        assert made.subject.endswith("Salt & <Light> Trust")
        assert "Salt &amp; &lt;Light&gt; Trust</title>" in made.html


def test_html_from_elsewhere_keeps_its_tags_and_loses_its_links(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text(
        "{% block subject %}S{% endblock %}{{ shown }} {{ link|own_link }} {{ elsewhere|own_link }}"
    )
    facts = {
        "shown": Markup('<b title="a.example">&lt;evil.example</b>'),
        "link": OWN,
        "elsewhere": "https://evil.example",
    }
    mails = MailRenderer(DEPLOYMENT, tmp_path, CATALOGUES)
    english, brand = mails.language_for_tag("en"), mails.deployment_brand()
    made = mails.render_mail(
        "x.html", english, facts, brand=brand, deduplication_key="k", at=AT, partner_id=None, to="ada@example.org"
    )
    assert made.html.startswith(f'S<b title="a.example">&lt;evil{JOINER}.{JOINER}example</b> {PAGES}')
    assert find_links(made.text) == [OWN]


@pytest.mark.parametrize("typed", HOSTILE)
def test_the_linkifier_finds_what_is_not_defused(typed: str) -> None:
    plain = "".join(sign for sign in typed if sign not in "\u200b\u2060\u2069\u202e").replace("&#58;", ":")
    assert find_links(f"様{plain}")


PARTS = st.sampled_from(
    [
        *".:/@\\ \n,-_1aZéя例。．｡：＠／ⓒ℡",
        "http",
        "www",
        "com",
        "xn--p1ai",
        "рф",
        "\u200c",
        "\u200d",
        "\u2060",
        "\u202e",
        "\u200f",
        "\u2067",
        "\u2069",
        "\u00a0",
        "\u0301",
    ]
)
TYPED = st.lists(PARTS | st.characters(), max_size=30).map("".join)


@given(TYPED)
def test_no_text_has_a_link_when_it_is_defused(typed: str) -> None:
    assert find_links(prevent_autolinking(typed)) == []


@given(TYPED)
def test_defusing_adds_what_is_not_seen_and_nothing_more_the_second_time(typed: str) -> None:
    once = prevent_autolinking(typed)
    assert prevent_autolinking(once) == once
    assert _seen(once) == _seen(typed)


def _seen(text: str) -> list[str]:
    return [" " if sign.isspace() else sign for sign in text if sign.isprintable() or sign.isspace()]


@given(TYPED)
def test_what_is_typed_ends_no_isolation_of_ours_and_turns_nothing_around(typed: str) -> None:
    depth = 0
    for sign in prevent_autolinking(typed):
        assert sign not in "\u202a\u202b\u202c\u202d\u202e"
        depth += (sign in "\u2066\u2067\u2068") - (sign == "\u2069")
        assert depth >= 0
    assert depth == 0


@pytest.mark.parametrize("tag", ["ar", "he"])
@pytest.mark.parametrize("currency", ["USD", "EUR", "ILS", "GBP"])
def test_amounts_from_right_to_left_keep_their_direction(tag: str, currency: str) -> None:
    language = CATALOGUES.language(tag)
    amount = format_money(123450, currency, language.locale)
    renderer, template = _renderer("giving/receipts/mails/receipt")
    facts = {**receipts("Martha\u2019s Table (DC)")[0], "amount": amount, "facts": [("receipt.donor", amount)]}
    brand = renderer.deployment_brand()
    made = renderer.render_mail(
        template,
        language,
        {"link": OWN, **facts},
        brand=brand,
        deduplication_key="k",
        at=AT,
        partner_id=None,
        to="ada@example.org",
    )
    alone = f"\u2068{amount}\u2069"
    assert alone in made.subject
    assert made.text.count(alone) == 2
    assert f"<bdi>{amount}</bdi>" in made.html
    assert "\u2068Martha\u2019s Table (DC)\u2069" in made.subject


@given(
    st.lists(st.sampled_from(["Mary", "St.", "12-3", "4.5", "10:30", "e.V.", "9/11", "山田", "O'Neil,"])).map(" ".join)
)
def test_what_is_no_address_stays_as_it_is(typed: str) -> None:
    assert prevent_autolinking(typed) == typed


@pytest.mark.parametrize("number", ["00 44 20 7946 0958", "00-49-30-1234567", "(0)30 123456", "98765 43210"])
def test_telephone_numbers_are_parted_however_a_country_groups_them(number: str) -> None:
    assert JOINER in prevent_autolinking(f"Call {number} now.")


@pytest.mark.parametrize(
    "figures", ["00-1234567", "00123456789", "12345 67890", "00 12", "(0) 12", "2026-11-28", "98765432"]
)
def test_figures_that_are_no_telephone_numbers_stay_as_they_are(figures: str) -> None:
    assert prevent_autolinking(f"The number {figures}.") == f"The number {figures}."
