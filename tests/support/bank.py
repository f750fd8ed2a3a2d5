"""Nonprofits' bank accounts, and our own bank, for tests."""

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from almoner.giving.banking.bank_statements import flows as bank_statements_flows
from almoner.giving.banking.bank_statements import service as bank_statements
from almoner.giving.banking.bank_statements.domain import BankStatement
from almoner.giving.banking.bank_statements.flows import StatementImportProgress
from almoner.giving.banking.payment_files import flows as payment_files_flows
from almoner.giving.banking.payment_files import service as payment_files
from almoner.giving.banking.payment_files.domain import BankOutcome, OwnAccount, PaymentFile
from almoner.giving.banking.payment_files.flows import StatusReportResult
from almoner.giving.banking.payment_files.service import FileCreationResult
from almoner.giving.disbursing.disbursements import flows as disbursements_flows
from almoner.giving.disbursing.disbursements import service as disbursements
from almoner.giving.disbursing.disbursements.domain import DisbursementRules
from almoner.giving.disbursing.payee_bank_accounts import service as payee_bank_accounts
from almoner.giving.disbursing.payee_bank_accounts.domain import AccountProposal, Address, PayeeAccount
from almoner.nonprofits.organisations import service as organisations
from almoner.platform.database.transactions import ALL_PARTNERS, Tx
from tests.support.payouts import uuid_of
from tests.support.service import Service

IBAN: Final = "DE89370400440532013000"
OTHER_IBAN: Final = "FR1420041010050500013M02606"
NUMBER: Final = "12345678"
"""The number of our own account in dollars."""
OWN: Final = """
[USD]
name = "Example Foundation"
routing = "011000015"
account = "12345678"
town = "Boston"
country = "USA"
single_approval_limit = "100.00"

[EUR]
name = "Example & Söhne"
iban = "NL91ABNA0417164300"
bic = "ABNANL2A"
town = "Utrecht"
country = "NLD"
"""


def own(folder: Path, currency: str) -> OwnAccount:
    """Our account of a currency, from a file like an administrator's."""
    file = folder / "accounts.toml"
    file.write_text(OWN)
    return payment_files.load_own_accounts(file)[currency]


def proposal(
    service_: Service,
    organisation: str,
    currency: str = "USD",
    iban: str = IBAN,
    holder: str = "Any name",
    bic: str | None = None,
) -> AccountProposal:
    """The proposed details of a nonprofit's account."""
    organisation_id = uuid_of(service_, "organisation", organisation)
    address = Address("Berlin", "DEU", "Weg", "1 a", "10115")
    return AccountProposal(
        organisation_id,
        currency,
        holder,
        payee_bank_accounts.parse_account_numbers({"iban": iban, "bic": bic}),
        address,
    )


async def account(
    service_: Service,
    organisation: str,
    currency: str = "USD",
    iban: str = IBAN,
    holder: str | None = None,
    bic: str | None = None,
) -> PayeeAccount:
    """Create an approved account of a nonprofit in its own name; replaces an earlier one."""
    async with service_.db.write() as tx:
        named = await organisations.get(tx, ALL_PARTNERS, uuid_of(service_, "organisation", organisation))
        given = proposal(service_, organisation, currency, iban, holder or named.name, bic)
        made = await payee_bank_accounts.propose_account(tx, given, note="letter", proposed_by="one")
    for officer in ("two", "three")[: made.required_review_count]:
        async with service_.db.write() as tx:
            made = await payee_bank_accounts.approve(
                tx, made.id, entered_account_number=iban, note="telephone", approved_by=officer
            )
    return made


async def sent(service_: Service) -> None:
    """Send disbursements as in production: nobody confirms them yet."""
    await disbursements_flows.add_settled_donations_to_disbursements(service_.db, DisbursementRules())
    async with service_.db.read() as tx:
        waiting = await disbursements.list_disbursement_ids_with_status(tx, "PENDING")
    for payout in waiting:
        async with service_.db.write() as tx:
            await disbursements.send_disbursement(tx, payout, DisbursementRules())


async def in_a_file(service_: Service) -> PaymentFile:
    """Send disbursements in a payment file that another operator has released."""
    await sent(service_)
    with TemporaryDirectory() as folder:
        ours = own(Path(folder), "USD")
    file = (await made(service_, ours)).file
    assert file is not None
    await released(service_, file)
    return file


async def made(service_: Service, ours: OwnAccount, *, by: str = "one", on: date | None = None) -> FileCreationResult:
    """Create a payment file of the sent disbursements."""
    async with service_.db.write() as tx:
        return await payment_files.create_file(tx, ours, on or tx.now.date(), created_by=by)


async def released(service_: Service, file: PaymentFile, *, by: str = "two") -> bytes:
    """Release a payment file; returns its content."""
    async with service_.db.write() as tx:
        return payment_files.decrypt_released_content(tx, await payment_files.release_file(tx, file.id, released_by=by))


async def withdrawn(service_: Service, file: PaymentFile) -> None:
    """Withdraw a payment file."""
    async with service_.db.write() as tx:
        await payment_files.withdraw_file(tx, file.id, note="not this one", withdrawn_by="one")


async def heard(service_: Service, content: bytes) -> StatusReportResult:
    """Import the bank's status report."""

    async def record(_tx: Tx, _file: PaymentFile, _counts: dict[BankOutcome, int]) -> None:
        return None

    return await payment_files_flows.import_status_report(
        service_.db, content, imported_by="officer", on_finished=record
    )


def all_own(folder: Path) -> Mapping[str, OwnAccount]:
    """Our accounts by currency, from a file like an administrator's."""
    own(folder, "EUR")
    return payment_files.load_own_accounts(folder / "accounts.toml")


async def stated(
    service_: Service, content: bytes, ours: Mapping[str, OwnAccount] | None = None, mapping: Path | None = None
) -> StatementImportProgress:
    """Import a bank statement; without ``ours`` no accounts are configured."""

    async def record(_tx: Tx, _statements: Sequence[BankStatement], _looked: StatementImportProgress) -> None:
        return None

    return await bank_statements_flows.import_statements(
        service_.db,
        content,
        bank_statements.load_mapping(mapping) if mapping else None,
        own_accounts=ours,
        imported_by="officer",
        on_finished=record,
    )


def answer(
    file: PaymentFile,
    *said: tuple[str, str],
    whole: str | None = None,
    version: str = "10",
    payments: int | None = None,
    message: str = "B1",
) -> bytes:
    """A bank's pain.002: the status of the file, and of payments by their end-to-end IDs."""
    return answer_to(file.message_id, *said, whole=whole, version=version, payments=payments, message=message)


def answer_to(
    about: str,
    *said: tuple[str, str],
    whole: str | None = None,
    version: str = "10",
    payments: int | None = None,
    message: str = "B1",
) -> bytes:
    """Like ``answer``, for the message with this ID."""
    rows = "".join(
        f"<TxInfAndSts><OrgnlEndToEndId>{one}</OrgnlEndToEndId><TxSts>{code}</TxSts>"
        f"<StsRsnInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>account closed</AddtlInf></StsRsnInf></TxInfAndSts>"
        for one, code in said
    )
    batch = f"<OrgnlPmtInfAndSts><OrgnlPmtInfId>{about}-other</OrgnlPmtInfId>{rows}</OrgnlPmtInfAndSts>"
    group = f"<GrpSts>{whole}</GrpSts>" if whole else ""
    count = f"<OrgnlNbOfTxs>{payments}</OrgnlNbOfTxs>" if payments is not None else ""
    return (
        f'<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.{version}">'
        f"<CstmrPmtStsRpt><GrpHdr><MsgId>{message}</MsgId><CreDtTm>2026-03-03T10:00:00</CreDtTm></GrpHdr>"
        f"<OrgnlGrpInfAndSts><OrgnlMsgId>{about}</OrgnlMsgId><OrgnlMsgNmId>pain.001.001.09</OrgnlMsgNmId>"
        f"{count}{group}</OrgnlGrpInfAndSts>{batch if rows else ''}</CstmrPmtStsRpt></Document>"
    ).encode()
