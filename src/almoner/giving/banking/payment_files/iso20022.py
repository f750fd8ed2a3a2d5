"""ISO 20022 messages: pain.001.001.09 for our bank, and its pain.002 responses.

Messages that we write are validated against ISO's schema. Messages that we read are untrusted: document types, entities
and other namespaces are rejected.
"""

from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from lxml import etree
from lxml.etree import _Element as Element
from pyiso20022.pain import pain_001_001_09 as pain
from xsdata.formats.dataclass.serializers import XmlSerializer

from almoner.giving.banking.payment_files.domain import (
    BankStatus,
    CreditTransfer,
    CreditTransferInitiation,
    GroupStatus,
    PaymentFileError,
    StatusReport,
    TransactionStatus,
    build_batch_id,
    is_sepa_transfer,
)
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address
from almoner.kit.bank_text import to_sepa_text
from almoner.kit.money import Money, currency_exponent
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2
from almoner.platform.files import iso20022
from almoner.platform.files.iso20022 import MessageRefused

_PAIN_001_VERSION: Final = "pain.001.001.09"
_ANSWER: Final = "pain.002.001"
_VERSIONS: Final = range(3, 15)
_TWO: Final = {three: two for two, three in ALPHA3_BY_ALPHA2.items()}
_CLEARING: Final = {"gb": "GBDSC", "us": "USABA", "au": "AUBSB", "nz": "NZNCC", "ca": "CACPA"}
"""ISO 20022's codes of national clearing systems."""
_NAME, _STREET, _BUILDING, _TOWN = 70, 70, 16, 35
"""SEPA's maximum lengths; the schema allows names of 140 characters."""


def render_pain001(transfer_initiation: CreditTransferInitiation) -> bytes:
    """Write a pain.001.001.09 file. Raises PaymentFileError."""
    batches = [
        _batch(transfer_initiation, sepa, list(some))
        for sepa, some in groupby(sorted(transfer_initiation.transfers, key=_sort_key), key=_is_sepa)
    ]
    total, count = _decimal(transfer_initiation.total), str(len(transfer_initiation.transfers))
    head = pain.GroupHeader85(
        msg_id=transfer_initiation.message_id,
        cre_dt_tm=_moment(transfer_initiation.created_at),
        nb_of_txs=count,
        ctrl_sum=total,
        initg_pty=_party(transfer_initiation.own_account.name, None),
    )
    initiation = pain.CustomerCreditTransferInitiationV09(grp_hdr=head, pmt_inf=batches)
    document = pain.Document(cstmr_cdt_trf_initn=initiation)
    content = XmlSerializer().render(document, ns_map={None: iso20022.SPACE + _PAIN_001_VERSION}).encode()
    schema = _schema()
    if not schema.validate(etree.fromstring(content, iso20022.build_safe_xml_parser())):
        raise PaymentFileError(f"the file would not be valid: {schema.error_log[0].message}")
    return content


def _sort_key(one: CreditTransfer) -> tuple[bool, str]:
    return not _is_sepa(one), one.disbursement.end_to_end_id


def _is_sepa(one: CreditTransfer) -> bool:
    return is_sepa_transfer(one.disbursement.money.currency, one.payee.numbers.scheme, one.payee.numbers.account)


def _batch(order: CreditTransferInitiation, sepa: bool, payments: list[CreditTransfer]) -> Any:
    own = order.own_account
    total = Money(sum(one.disbursement.money.minor for one in payments), own.single_operator_release_limit.currency)
    level = pain.PaymentTypeInformation26(svc_lvl=[pain.ServiceLevel8Choice(cd="SEPA")]) if sepa else None
    return pain.PaymentInstruction30(
        pmt_inf_id=build_batch_id(order.message_id, is_sepa=sepa),
        pmt_mtd=pain.PaymentMethod3Code.TRF,
        btch_bookg=False,  # one booking for each, if the bank honours it
        nb_of_txs=str(len(payments)),
        ctrl_sum=_decimal(total),
        pmt_tp_inf=level,
        reqd_exctn_dt=pain.DateAndDateTime2Choice(dt=_day(order.execution_date)),
        dbtr=_party(own.name, own.address),
        dbtr_acct=_account(own.numbers),
        dbtr_agt=_bank(own.numbers),
        chrg_br=pain.ChargeBearerType1Code.SLEV if sepa else pain.ChargeBearerType1Code.SHAR,
        cdt_trf_tx_inf=[_payment(one) for one in payments],
    )


def _payment(one: CreditTransfer) -> Any:
    disbursement, payee = one.disbursement, one.payee
    amount = pain.ActiveOrHistoricCurrencyAndAmount(value=_decimal(disbursement.money), ccy=disbursement.money.currency)
    known = payee.numbers.bic or payee.numbers.bank
    return pain.CreditTransferTransaction34(
        pmt_id=pain.PaymentIdentification6(end_to_end_id=disbursement.end_to_end_id),
        amt=pain.AmountType4Choice(instd_amt=amount),
        cdtr_agt=_bank(payee.numbers) if known else None,
        cdtr=_party(payee.holder, payee.address),
        cdtr_acct=_account(payee.numbers),
        rmt_inf=pain.RemittanceInformation16(ustrd=[f"Donations {disbursement.end_to_end_id}"]),
    )


def _party(name: str, address: Address | None) -> Any:
    return pain.PartyIdentification135(nm=_sent(name, _NAME), pstl_adr=_address(address) if address else None)


def _address(address: Address) -> Any:
    return pain.PostalAddress24(
        strt_nm=_sent(address.street, _STREET),
        bldg_nb=_sent(address.building, _BUILDING),
        pst_cd=_sent(address.postcode, _BUILDING),
        twn_nm=_sent(address.town, _TOWN),
        ctry=_TWO[address.country],
    )


def _sent(text: str | None, max_count: int) -> str | None:
    return to_sepa_text(text, max_count) or None if text else None


def _account(numbers: AccountNumbers) -> Any:
    if numbers.scheme == "iban":
        return pain.CashAccount38(id=pain.AccountIdentification4Choice(iban=numbers.account))
    other = pain.GenericAccountIdentification1(id=numbers.account)
    return pain.CashAccount38(id=pain.AccountIdentification4Choice(othr=other))


def _bank(numbers: AccountNumbers) -> Any:
    """The bank: its BIC, else its national number, else none (the IBAN implies it)."""
    member = None
    if numbers.bank:
        system = pain.ClearingSystemIdentification2Choice(cd=_CLEARING[numbers.scheme])
        member = pain.ClearingSystemMemberIdentification2(clr_sys_id=system, mmb_id=numbers.bank)
    nameless = pain.GenericFinancialIdentification1(id="NOTPROVIDED") if not (numbers.bic or member) else None
    institution = pain.FinancialInstitutionIdentification18(bicfi=numbers.bic, clr_sys_mmb_id=member, othr=nameless)
    return pain.BranchAndFinancialInstitutionIdentification6(fin_instn_id=institution)


def _decimal(money: Money) -> Decimal:
    return Decimal(money.minor).scaleb(-currency_exponent(money.currency))


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def _day(day: date) -> str:
    return day.isoformat()


@cache
def _schema() -> etree.XMLSchema:
    """ISO 20022's schema of the file that is written (origin: schemas/README.md)."""
    with (
        files("almoner.giving.banking.payment_files").joinpath(f"schemas/{_PAIN_001_VERSION}.xsd").open("rb") as opened
    ):
        return etree.XMLSchema(etree.parse(opened, iso20022.build_safe_xml_parser()))


def parse_pain002(content: bytes) -> StatusReport:
    """Parse a pain.002 status report (versions 03 to 14). Raises PaymentFileError."""
    try:
        kind, version, report = iso20022.parse_message(content)
    except MessageRefused as refused:
        raise PaymentFileError(f"This is no status report of a bank: {refused}") from refused
    if kind != _ANSWER or version not in _VERSIONS:
        raise PaymentFileError(
            f"This is no status report of a bank: it is {kind}.{version:02}, and what is read is {_ANSWER}."
            f"{_VERSIONS[0]:02} to .{_VERSIONS[-1]:02}."
        )
    about = iso20022.find_element_by_path(report, "OrgnlGrpInfAndSts")
    batches = iso20022.child_elements(report, "OrgnlPmtInfAndSts")
    named = iso20022.find_elements_by_path(about, "OrgnlMsgId")
    original = iso20022.element_text_at_path(named[0]) if len(named) == 1 else None
    if about is None or original is None:
        raise PaymentFileError("This status report does not name the one file that it is of, in OrgnlMsgId.")
    digest = sha256(content).digest()
    return StatusReport(
        message_id=(iso20022.element_text_at_path(report, "GrpHdr", "MsgId") or digest.hex())[:35],
        original_message_id=original,
        original_message_name_id=iso20022.element_text_at_path(about, "OrgnlMsgNmId") or "",
        sha256=digest,
        file_status=_group_status(about, "GrpSts"),
        batch_statuses=tuple((_batch_id(some), _group_status(some, "PmtInfSts")) for some in batches),
        transaction_statuses=tuple(
            _transaction_status(one, _batch_id(some))
            for some in batches
            for one in iso20022.child_elements(some, "TxInfAndSts")
        ),
    )


def _batch_id(some: Element) -> str:
    return iso20022.element_text_at_path(some, "OrgnlPmtInfId") or ""


def _group_status(element: Element, status: str) -> GroupStatus:
    return GroupStatus(
        _bank_status(element, status),
        _stated(element, "OrgnlNbOfTxs"),
        _sum(iso20022.find_element_by_path(element, "OrgnlCtrlSum")),
    )


def _stated(element: Element, name: str) -> str | None:
    """The element's text; "" if empty, None if the element is missing."""
    found = iso20022.find_element_by_path(element, name)
    return None if found is None else (found.text or "").strip()


def _sum(element: Element | None) -> Decimal | None:
    if element is None:
        return None
    try:
        return Decimal((element.text or "").strip())
    except InvalidOperation:
        return Decimal("nan")


def _transaction_status(element: Element, batch: str) -> TransactionStatus:
    amount = iso20022.find_element_by_path(element, "OrgnlTxRef", "Amt", "InstdAmt")
    currency = amount.get("Ccy") if amount is not None else None
    return TransactionStatus(
        iso20022.element_text_at_path(element, "OrgnlEndToEndId") or "",
        batch,
        currency,
        _sum(amount),
        _bank_status(element, "TxSts"),
    )


def _bank_status(element: Element, status: str) -> BankStatus | None:
    code = _stated(element, status)
    return None if code is None else BankStatus(code, _reason(iso20022.child_elements(element, "StsRsnInf")))


def _reason(reasons: list[Element]) -> str | None:
    """The first reason: the bank's code and text."""
    for one in reasons:
        code = iso20022.element_text_at_path(one, "Rsn", "Cd") or iso20022.element_text_at_path(one, "Rsn", "Prtry")
        words = [iso20022.element_text_at_path(some) for some in iso20022.child_elements(one, "AddtlInf")]
        if stated := " ".join(part for part in (code, *words) if part):
            return stated[:400]
    return None
