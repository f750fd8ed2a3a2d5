"""The largest payment file: valid by its schema, and in the characters that banks take (M11)."""

import string
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from lxml import etree

from almoner.giving.banking.payment_files import iso20022
from almoner.giving.banking.payment_files.domain import (
    MAX_PAYMENTS,
    CreditTransfer,
    CreditTransferInitiation,
    OwnAccount,
)
from almoner.giving.checkout.donations.domain import DisbursementBatch
from almoner.giving.disbursing.disbursements.domain import new_disbursement
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address, Payee
from almoner.kit.money import Money

NOW: Final = datetime(2026, 3, 1, tzinfo=UTC)
SEPA: Final = frozenset(string.ascii_letters + string.digits + "/-?:().,'+ ")
SCHEMA: Final = Path(iso20022.__file__).with_name("schemas") / "pain.001.001.09.xsd"
NAMES: Final = (
    "Brød & Sønner “Łódź”",
    "Straße der Güte e.V.",
    "L'Île d'Été – Œuvre",
    "Čápové Šťastní",
    "Fundația Țară",
    "Ýmir Þór",
    "Bread 🍞 Trust",
    "No\u00a0break \u200bhidden",
    "Ａｉｄ №5",
    "a" * 69 + "ß",
    "O’Neill; Sons @ Co. _x_",
    "Đồng Hành",
)
NUMBERS: Final = (
    AccountNumbers("iban", "DE89370400440532013000"),
    AccountNumbers("iban", "TR330006100519786457841326", None, "TCZBTR2A"),
)


def test_m11_a_file_of_ten_thousand_payouts_is_valid_and_in_the_banks_characters() -> None:
    own = OwnAccount(
        "Example & Söhne",
        AccountNumbers("iban", "NL91ABNA0417164300"),
        Address("’s-Gravenhage", "NLD"),
        Money(0, "EUR"),
    )
    sent = new_disbursement(UUID(int=1), DisbursementBatch(UUID(int=2), UUID(int=3), "EUR"), NOW)
    payments = [
        CreditTransfer(
            replace(sent, id=UUID(int=at), end_to_end_id=f"{at:026d}", money=Money(at, "EUR")),
            Payee(
                UUID(int=at),
                NAMES[at % len(NAMES)],
                NUMBERS[at % 2],
                Address("Kraków", "POL", NAMES[(at + 1) % len(NAMES)], "3/4 ½", "PL–00"),
            ),
        )
        for at in range(1, MAX_PAYMENTS + 1)
    ]
    content = iso20022.render_pain001(CreditTransferInitiation("0" * 26, own, NOW, date(2026, 3, 2), payments))
    tree = etree.fromstring(content)
    etree.XMLSchema(etree.parse(str(SCHEMA))).assertValid(tree)
    assert content.isascii()
    texts = [one.text.strip() for one in tree.iter() if one.text and one.text.strip()]
    assert all(set(text) <= SEPA for text in texts)
    named = [one.text or "" for one in tree.iterfind(".//{*}Nm")]
    assert len(named) >= MAX_PAYMENTS
    assert all(0 < len(name) <= 70 and not name.startswith("/") and "//" not in name for name in named)
    assert tree.findtext(".//{*}GrpHdr/{*}NbOfTxs") == f"{MAX_PAYMENTS}"
    assert tree.findtext(".//{*}GrpHdr/{*}CtrlSum") == "500050.00"
