"""Error messages of commands: one line that says what to do. Imported when a command has failed."""

import errno
import socket
from urllib.parse import urlsplit

import asyncpg

from almoner import settings
from almoner.access.keys.service import NoSuchKey
from almoner.access.members.domain import NoSuchGroup
from almoner.access.operators.domain import OperatorRefused
from almoner.access.operators.service import NoSuchToken
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people.domain import NoSuchPerson
from almoner.cli.ports import PortBusy
from almoner.giving.accounting.disputes.domain import DisputeError
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.accounting.settlements.domain import ClearExceptionError, ImportInterrupted, SettlementReportError
from almoner.giving.accounting.suspense.domain import NoSuchUnallocatedPayment, UnallocatedPaymentError
from almoner.giving.banking.bank_statements.domain import StatementError
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.checkout.donation_requests.domain import DonationRequestError
from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccountError
from almoner.giving.gift_aid.claims.domain import GiftAidClaimError
from almoner.giving.gift_aid.declarations.domain import DeclarationError
from almoner.kit.errors import Problem
from almoner.migrations import MigrationRefused
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.platform.audit.heads import ExportFailed
from almoner.platform.database.programs import DatabaseUnavailable
from almoner.platform.outbound.remote_files import FetchRefused
from almoner.screening.watchlists.domain import WatchlistRefused
from almoner.validation.decisions.reviews.domain import ReviewRefused

_PRINTED_AS_IS = (
    GiftAidClaimError,
    PaymentFileError,
    DisputeError,
    ExportFailed,
    RefundError,
    DatabaseUnavailable,
    FetchRefused,
    DeclarationError,
    MigrationRefused,
    ImportInterrupted,
    ImportRefused,
    NoSuchUnallocatedPayment,
    ClearExceptionError,
    UnallocatedPaymentError,
    PayeeAccountError,
    DisbursementError,
    PortBusy,
    OperatorRefused,
    SettlementReportError,
    DonationRequestError,
    ReviewRefused,
    StatementError,
    WatchlistRefused,
)

_LISTED: dict[type[BaseException], str] = {
    NoSuchKey: "`almoner partners list` and `almoner keys list`",
    NoSuchPartner: "`almoner partners list`",
    NoSuchGroup: "`almoner members groups`",
    NoSuchPerson: "`almoner operators list` and `almoner members list`",
    NoSuchToken: "`almoner operators tokens list`",
}


def explain_error(error: BaseException) -> str | None:
    """What the error means and what to do about it; None when it is a defect, which deserves its traceback."""
    if isinstance(error, BaseExceptionGroup):
        reported = [explain_error(one) for one in error.exceptions]
        return reported[0] if all(reported) else None
    if isinstance(error, settings.UnsafeSettings):
        return "\n  ".join(["Fix these settings:", *error.problems]) if error.problems[1:] else str(error)
    if isinstance(error, _PRINTED_AS_IS):
        return str(error)
    if isinstance(error, Problem):
        return "\n".join(error.reasons or (error.message,))
    if (listed := _LISTED.get(type(error))) is not None:
        return f"There is no {error}: see {listed}."
    if isinstance(error, asyncpg.DiskFullError) or (isinstance(error, OSError) and error.errno in _FULL):
        return f"The disk is full ({error}): free some space, or set ALMONER_DATA_DIR to a folder on another disk."
    if isinstance(error, PermissionError) or (isinstance(error, OSError) and error.errno == errno.EROFS):
        return f"{error.filename} is not writable ({error.strerror}): run as its owner, or set ALMONER_DATA_DIR."
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError):
        return f"{_database()} rejected the connection ({error}): check the role, the password and the database name."
    if isinstance(error, ConnectionError | TimeoutError | socket.gaierror | asyncpg.CannotConnectNowError):
        return f"{_database()} cannot be reached ({str(error) or type(error).__name__}): start it, or fix the address."
    return None


_FULL = (errno.ENOSPC, errno.EDQUOT)


def _database() -> str:
    for name in ("database_url", "owner_database_url"):
        value = getattr(settings.read_settings(), name)
        if value is not None:
            parts = urlsplit(value.get_secret_value())
            place = f"{parts.hostname or 'this machine'}:{parts.port or 5432}"
            return f"The database at {place} ({settings.PREFIX}{name.upper()})"
    return "The embedded database"
