"""Every parser of external text, the longest text that it gets, and the errors by which it refuses text."""

import hmac
import json
import os
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final
from xml.sax.saxutils import escape

from babel import Locale
from scim2_models import SCIMException, ScimFilter
from scim2_server.utils import load_default_provider, parametrize

from almoner.access import guard
from almoner.access.credentials import domain as credentials
from almoner.access.credentials.service import webauthn
from almoner.access.operators import domain as operators
from almoner.adapters import stripe_webhooks
from almoner.giving.banking.bank_statements import camt, csv_statements, mt940, packed_files
from almoner.giving.banking.bank_statements.csv_mapping import load_mapping
from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.giving.checkout.payments.domain import WebhookRefused
from almoner.kit import ids, iso11649, scripts, text, time, web
from almoner.kit import language as languages
from almoner.kit.errors import Problem
from almoner.nonprofits.organisations import normalisation
from almoner.nonprofits.registries import identifiers, number_formats
from almoner.nonprofits.registries.domain import possible_number_keys
from almoner.platform import idempotency
from almoner.platform.crypto import Vault
from almoner.platform.http import negotiation
from almoner.platform.http.paging import CursorCodec
from almoner.platform.outbound import addresses, email_addresses
from almoner.platform.outbound.addresses import AddressRefused
from almoner.platform.pages import colours, numbers, pdf
from almoner.scim import attributes, filters
from almoner.screening.matching import service as matching
from almoner.screening.screenings import indexing
from almoner.validation.applications.form import drafts
from almoner.webhooks.deliveries import domain as deliveries

NOW: Final = datetime(2026, 11, 21, tzinfo=UTC)
VAULT: Final = Vault(os.urandom(32))
CURSORS: Final = CursorCodec(VAULT, None, "donations", [])
LANGUAGES: Final = [Locale.parse(tag) for tag in ("en", "de", "ar", "hi", "fr_CH")]
_USER: Final[Any] = load_default_provider().model_for("User")
REFUSALS: Final = (
    *(
        ValueError,
        Problem,
        SCIMException,
        AddressRefused,
        credentials.InvalidPasskeyResponse,
        BankStatementError,
        WebhookRefused,
    ),
)

HEAD, FORM, LINE = 16_000, 64_000, 500
"""The sizes of a request head, of a form, and of a field whose length is checked before it is parsed.

The longest field of a bank's file counts as a head: an operator's command reads the file row by row.
"""


def _scim_filter(typed: str) -> None:
    known = attributes.AttributeMap(ids.RecordIdCodec(sandbox=False), "User", _USER)
    filters.filter_to_sql(parametrize(ScimFilter, _USER)(typed), known, filters.SqlParameters())


MT940: Final = (
    ":20:A\n:25:DE02120300000000202051\n:28C:{}\n:60F:C260301EUR1,00\n:61:{}\n:86:{}\n:62F:C260302EUR2,00\n-\n"
)
ENTRY: Final = "2603020302C1,00NTRFNONREF"
CAMT: Final = (
    '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"><BkToCstmrStmt><Stmt><Id>{0}</Id><Acct><Id>'
    '<IBAN>DE02120300000000202051</IBAN></Id><Ccy>EUR</Ccy></Acct><Ntry><Amt Ccy="EUR">{1}</Amt>'
    "<CdtDbtInd>CRDT</CdtDbtInd><Sts>BOOK</Sts><BookgDt><Dt>2026-03-02</Dt></BookgDt><AcctSvcrRef>{0}</AcctSvcrRef>"
    "<NtryDtls><TxDtls><Refs><EndToEndId>{0}</EndToEndId></Refs><RltdPties><Dbtr><Nm>{0}</Nm></Dbtr></RltdPties>"
    "<RmtInf><Ustrd>{0}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry></Stmt></BkToCstmrStmt></Document>"
)
TABLE: Final = """
account = "Main"
currency = "EUR"
[columns]
day = { column = "day", format = "%Y-%m-%d" }
amount = "amount"
reference = "reference"
words = "words"
"""


@cache
def _mapping() -> Path:
    found = Path(tempfile.mkdtemp(prefix="almoner-mapping-")) / "bank.toml"
    found.write_text(TABLE)
    return found


def _csv(typed: str) -> None:
    quoted = '"' + typed.replace('"', '""') + '"'
    for row in (f"{quoted},1.00,a,b", f"2026-03-02,{quoted},a,b", f"2026-03-02,1.00,{quoted},{quoted}", typed):
        csv_statements.parse_statements(
            f"day,amount,reference,words\n{row}\n".encode(errors="replace"), load_mapping(_mapping())
        )


def _mt940(typed: str) -> None:
    for parts in (
        ("1", typed, "a"),
        ("1", ENTRY, typed),
        (typed, ENTRY + typed, "?20" + typed),
        ("1", ENTRY, "/" + typed),
    ):
        mt940.parse_statements(MT940.format(*parts).encode(errors="replace"))


def _camt(typed: str) -> None:
    for parts in ((typed, "1.00"), ("a", typed)):
        camt.parse_statements(CAMT.format(*map(escape, parts)).encode(errors="replace"))


def _stripe(typed: str) -> None:
    about = f'{{"object":{{"id":{json.dumps(typed)},"payment_intent":{json.dumps(typed)}}}}}'
    body = f'{{"id":"evt","type":"refund.created","livemode":false,"object":"event","data":{about}}}'.encode()
    stamp = int(NOW.timestamp())
    signature = hmac.new(b"whsec", f"{stamp}.".encode() + body, "sha256").hexdigest()
    stripe_webhooks.parse_webhook("whsec", {"stripe-signature": f"t={stamp},v1={signature}"}, body, NOW)


PARSERS: Final[dict[str, tuple[int, Callable[[str], object]]]] = {
    "typed": (FORM, text.clean_text),
    "typed lines": (FORM, lambda typed: text.clean_text(typed, keep_line_breaks=True)),
    "hidden": (LINE, text.hidden_character_names),
    "links in mail": (5000, text.prevent_autolinking),
    "one line": (5000, text.sanitise_for_terminal),
    "scripts": (LINE, scripts.unicode_scripts_in_text),
    "email": (FORM, email_addresses.is_email_address),
    "web address": (FORM, web.is_web_address),
    "moment": (HEAD, time.parse_day_or_timestamp),
    "id": (HEAD, lambda typed: ids.RecordIdCodec(sandbox=False).decode("donation", "donation_" + typed)),
    "language tag": (HEAD, languages.is_language_tag),
    "Accept-Language": (HEAD, lambda typed: languages.negotiate_language(typed, ["en", "fr", "pt-BR"])),
    "Accept": (HEAD, lambda typed: negotiation.negotiate_media_type(typed, ["application/json", "application/pdf"])),
    "Authorization": (HEAD, guard.parse_key_from_authorization),
    "Basic": (HEAD, lambda typed: guard.parse_key_from_authorization("Basic " + typed)),
    "Idempotency-Key": (HEAD, lambda typed: idempotency.read_idempotency_key({idempotency.HEADER: typed})),
    "Retry-After": (HEAD, lambda typed: deliveries.parse_retry_after(typed, NOW)),
    "cursor": (LINE, CURSORS.decode),
    "page token": (HEAD, lambda typed: VAULT.read_page_token("give", typed)),
    "amount": (FORM, lambda typed: [numbers.parse_amount(typed, "GBP", locale) for locale in LANGUAGES]),
    "number": (FORM, drafts.parse_number),
    "colour": (HEAD, colours.parse_colour),
    "one-time code": (FORM, credentials.parse_one_time_code),
    "recovery code": (FORM, credentials.parse_recovery_code),
    "passkey's name": (FORM, credentials.clean_passkey_name),
    "passkey": (FORM, webauthn.parse_authentication_response),
    "token's name": (FORM, operators.parse_token_name),
    "webhook address": (2048, lambda typed: addresses.parse_target.__wrapped__(typed, addresses.PUBLIC_ONLY)),
    "client": (HEAD, addresses.client_network_for_rate_limit),
    "search": (LINE, normalisation.SearchQuery.parse),
    "list filter": (LINE, normalisation.extract_search_terms),
    "number keys": (LINE, lambda typed: [*possible_number_keys(typed)]),
    "registry numbers": (
        255, lambda typed: [number_formats.parse_number_key(code, typed) for code in number_formats.NUMBER_FORMATS]
    ),
    "registry identifiers": (
        255, lambda typed: [identifiers.check_registry_number(code, typed) for code in number_formats.NUMBER_FORMATS]
    ),
    "org-id": (LINE, number_formats.parse_org_id),
    "name against a name": (
        LINE, lambda typed: matching.compare_names(matching.prepare_name(typed), matching.prepare_name(typed[::-1]))
    ),
    "identifier on a list": (LINE, indexing.normalise_identifier),
    "reference": (LINE, iso11649.find_creditor_references),
    "printed": (4000, pdf.replace_unprintable_characters),
    "SCIM filter": (4000, _scim_filter),
    "Stripe's webhook": (FORM, _stripe),
    "Stripe's signature": (
        HEAD, lambda typed: stripe_webhooks.parse_webhook("whsec", {"stripe-signature": typed}, b"{}", NOW)
    ),
    "CSV of a bank": (HEAD, _csv),
    "MT940": (HEAD, _mt940),
    "camt.053": (HEAD, _camt),
    "archive": (HEAD, lambda typed: packed_files.unpack_archive(b"PK\x03\x04" + typed.encode(errors="replace"))),
}  # fmt: skip
