"""ISO 20022 messages: pain.001.001.09 as our bank takes it, pain.002 as it answers.

What is written is checked against the schema that ISO publishes before anybody sees it; what is read comes from outside
and may hold no document type, no entities, nothing of another name space.
"""

from datetime import date, datetime
from decimal import Decimal
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import groupby
from typing import Any, Final

from lxml import etree
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
    batch_name,
    is_sepa_transfer,
)
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountNumbers, Address
from almoner.kit.money import Money, currency_exponent
from almoner.nonprofits.countries.domain import ALPHA3_BY_ALPHA2
from almoner.platform.files import iso20022
from almoner.platform.files.iso20022 import MessageRefused

PAIN_001_VERSION: Final = "pain.001.001.09"
_ANSWER: Final = "pain.002.001"
_VERSIONS: Final = range(3, 15)
_TWO: Final = {three: two for two, three in ALPHA3_BY_ALPHA2.items()}
_CLEARING: Final = {"gb": "GBDSC", "us": "USABA", "au": "AUBSB", "nz": "NZNCC", "ca": "CACPA"}
"""ISO 20022's names of the countries' systems of bank numbers."""
_ENDINGS: Final = str.maketrans({"&": "+", "/": "-"})


def write_pain001(order: CreditTransferInitiation) -> bytes:
    """The file of an order, valid by its schema. Raises PaymentFileRefused when some payment cannot be written."""
    batches = [
        _batch(order, sepa, list(some)) for sepa, some in groupby(sorted(order.payments, key=_sort_key), key=_is_sepa)
    ]
    total, count = _decimal(order.total), str(len(order.payments))
    head = pain.GroupHeader85(
        msg_id=order.message_id,
        cre_dt_tm=_moment(order.created_at),
        nb_of_txs=count,
        ctrl_sum=total,
        initg_pty=_party(order.own.name, None),
    )
    initiation = pain.CustomerCreditTransferInitiationV09(grp_hdr=head, pmt_inf=batches)
    document = pain.Document(cstmr_cdt_trf_initn=initiation)
    content = XmlSerializer().render(document, ns_map={None: iso20022.SPACE + PAIN_001_VERSION}).encode()
    schema = _schema()
    if not schema.validate(etree.fromstring(content, iso20022.safe_xml_parser())):
        raise PaymentFileError(f"the file would not be valid: {schema.error_log[0].message}")
    return content


def _sort_key(one: CreditTransfer) -> tuple[bool, str]:
    return not _is_sepa(one), one.payout.end_to_end_id


def _is_sepa(one: CreditTransfer) -> bool:
    return is_sepa_transfer(one.payout.money.currency, one.payee.numbers.scheme, one.payee.numbers.account)


def _batch(order: CreditTransferInitiation, sepa: bool, payments: list[CreditTransfer]) -> Any:
    own = order.own
    total = Money(sum(one.payout.money.minor for one in payments), own.single_release_limit.currency)
    level = pain.PaymentTypeInformation26(svc_lvl=[pain.ServiceLevel8Choice(cd="SEPA")]) if sepa else None
    return pain.PaymentInstruction30(
        pmt_inf_id=batch_name(order.message_id, sepa=sepa),
        pmt_mtd=pain.PaymentMethod3Code.TRF,
        btch_bookg=False,  # one line for each, where the bank heeds it
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
    payout, payee = one.payout, one.payee
    amount = pain.ActiveOrHistoricCurrencyAndAmount(value=_decimal(payout.money), ccy=payout.money.currency)
    known = payee.numbers.bic or payee.numbers.bank
    return pain.CreditTransferTransaction34(
        pmt_id=pain.PaymentIdentification6(end_to_end_id=payout.end_to_end_id),
        amt=pain.AmountType4Choice(instd_amt=amount),
        cdtr_agt=_bank(payee.numbers) if known else None,
        cdtr=_party(payee.holder, payee.address),
        cdtr_acct=_account(payee.numbers),
        rmt_inf=pain.RemittanceInformation16(ustrd=[f"Donations {payout.end_to_end_id}"]),
    )


def _party(name: str, address: Address | None) -> Any:
    return pain.PartyIdentification135(nm=_bank_safe_name(name), pstl_adr=_address(address) if address else None)


def _address(address: Address) -> Any:
    return pain.PostalAddress24(
        strt_nm=_bank_safe_name(address.street) if address.street else None,
        bldg_nb=_bank_safe_name(address.building) if address.building else None,
        pst_cd=address.postcode,
        twn_nm=_bank_safe_name(address.town),
        ctry=_TWO[address.country],
    )


def _bank_safe_name(text: str) -> str:
    """What banks take in names: & and / are refused by some, accents are not (SEPA's rules since 2023)."""
    return text.translate(_ENDINGS)


def _account(numbers: AccountNumbers) -> Any:
    if numbers.scheme == "iban":
        return pain.CashAccount38(id=pain.AccountIdentification4Choice(iban=numbers.account))
    other = pain.GenericAccountIdentification1(id=numbers.account)
    return pain.CashAccount38(id=pain.AccountIdentification4Choice(othr=other))


def _bank(numbers: AccountNumbers) -> Any:
    """The bank by its BIC, its number in its country, or (an IBAN says it) not at all."""
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
    """ISO 20022's own schema of what is written (origin: schemas/README.md)."""
    with files("almoner.giving.banking.payment_files").joinpath(f"schemas/{PAIN_001_VERSION}.xsd").open("rb") as opened:
        return etree.XMLSchema(etree.parse(opened, iso20022.safe_xml_parser()))


def parse_pain002(content: bytes) -> StatusReport:
    """What a bank says of a file, from pain.002.001.03 to .14. Raises PaymentFileRefused."""
    try:
        report = iso20022.parse_message(content, _ANSWER, _VERSIONS).cstmr_pmt_sts_rpt
    except MessageRefused as refused:
        raise PaymentFileError(f"This is no answer of a bank: {refused}") from refused
    about = report.orgnl_grp_inf_and_sts
    return StatusReport(
        message_id=report.grp_hdr.msg_id,
        original_message_id=about.orgnl_msg_id,
        original_message_form=about.orgnl_msg_nm_id,
        sha256=sha256(content).hexdigest(),
        whole=_group_status(about, about.grp_sts),
        batches=tuple(
            (some.orgnl_pmt_inf_id, _group_status(some, some.pmt_inf_sts)) for some in report.orgnl_pmt_inf_and_sts
        ),
        transactions=tuple(
            _transaction_status(one, some.orgnl_pmt_inf_id)
            for some in report.orgnl_pmt_inf_and_sts
            for one in some.tx_inf_and_sts
        ),
    )


def _group_status(one: Any, status: Any) -> GroupStatus:
    return GroupStatus(_bank_status(status, one.sts_rsn_inf), one.orgnl_nb_of_txs, _sum(one.orgnl_ctrl_sum))


def _sum(value: Any) -> Decimal | None:
    """Of an element without content its library makes an empty text."""
    return value if isinstance(value, Decimal | None) else Decimal("nan")


def _transaction_status(one: Any, batch: str) -> TransactionStatus:
    amount = one.orgnl_tx_ref and one.orgnl_tx_ref.amt and one.orgnl_tx_ref.amt.instd_amt
    currency, value = (amount.ccy, _sum(amount.value)) if amount else (None, None)
    return TransactionStatus(
        one.orgnl_end_to_end_id or "", batch, currency, value, _bank_status(one.tx_sts, one.sts_rsn_inf)
    )


def _bank_status(status: Any, reasons: list[Any]) -> BankStatus | None:
    return BankStatus(_code(status), _reason(reasons)) if status is not None else None


def _code(status: Any) -> str:
    return str(getattr(status, "value", status))


def _reason(reasons: list[Any]) -> str | None:
    """The first reason: the bank's code, and its words."""
    for one in reasons:
        code = one.rsn.cd or one.rsn.prtry if one.rsn else None
        words = " ".join(one.addtl_inf)
        if code or words:
            return " ".join(part for part in (_code(code) if code else "", words) if part)[:400]
    return None
