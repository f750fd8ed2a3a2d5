"""One-line error messages that explain what to do. This module is imported only when a command fails."""

import errno
import socket
import ssl
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final
from urllib.parse import urlsplit

import asyncpg

from almoner import settings
from almoner.access.keys.service import NoSuchKey
from almoner.access.members.domain import NoSuchGroup
from almoner.access.operators.domain import OperatorActionDenied
from almoner.access.operators.service import NoSuchToken
from almoner.access.partners.service import NoSuchPartner
from almoner.access.people.domain import NoSuchPerson
from almoner.cli.outputs import OutputDiskFull
from almoner.cli.ports import PortBusy
from almoner.giving.accounting.disputes.domain import DisputeError
from almoner.giving.accounting.refunds.domain import RefundError
from almoner.giving.accounting.settlements.domain import ImportInterrupted, LineNotDismissible, SettlementReportError
from almoner.giving.accounting.suspense.domain import NoSuchUnallocatedPayment, UnallocatedPaymentError
from almoner.giving.banking.bank_statements.domain import BankStatementError
from almoner.giving.banking.payment_files.domain import PaymentFileError
from almoner.giving.checkout.donation_requests.domain import DonationRequestError
from almoner.giving.disbursing.disbursements.domain import DisbursementError
from almoner.giving.disbursing.payee_bank_accounts.domain import PayeeAccountError
from almoner.giving.gift_aid.claims.domain import GiftAidClaimError
from almoner.giving.gift_aid.declarations.domain import DeclarationError
from almoner.giving.receipts.domain import DoneeError
from almoner.kit.errors import Problem
from almoner.migrations import MigrationRefused
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.platform.audit.heads import AuditHeadExportFailed
from almoner.platform.database.connections import ConnectionUnavailable
from almoner.platform.database.key_check import WrongMasterKey
from almoner.platform.database.pooler_check import PoolerNotSupported
from almoner.platform.database.programs import DatabaseUnavailable
from almoner.platform.outbound.remote_files import FetchRefused
from almoner.screening.watchlists.domain import WatchlistImportRefused
from almoner.validation.decisions.reviews.domain import ReviewRefused

_PRINTED_AS_IS = (
    GiftAidClaimError,
    PaymentFileError,
    DisputeError,
    AuditHeadExportFailed,
    RefundError,
    DatabaseUnavailable,
    FetchRefused,
    DeclarationError,
    MigrationRefused,
    ImportInterrupted,
    ImportRefused,
    PoolerNotSupported,
    NoSuchUnallocatedPayment,
    LineNotDismissible,
    UnallocatedPaymentError,
    PayeeAccountError,
    DoneeError,
    DisbursementError,
    PortBusy,
    OperatorActionDenied,
    OutputDiskFull,
    SettlementReportError,
    DonationRequestError,
    ReviewRefused,
    BankStatementError,
    WatchlistImportRefused,
    WrongMasterKey,
)

_LISTED: dict[type[BaseException], str] = {
    NoSuchKey: "`almoner partners list` and `almoner keys list`",
    NoSuchPartner: "`almoner partners list`",
    NoSuchGroup: "`almoner members groups`",
    NoSuchPerson: "`almoner operators list` and `almoner members list`",
    NoSuchToken: "`almoner operators tokens list`",
}


def explain_error(error: BaseException) -> str | None:
    """Explain an error and what to do about it. None if the error is a bug, which is shown with its traceback."""
    if isinstance(error, BaseExceptionGroup):
        reported = [explain_error(one) for one in error.exceptions]
        return reported[0] if all(reported) else None
    if isinstance(error, settings.InvalidSettings):
        return "\n  ".join(["Fix these settings:", *error.problems]) if error.problems[1:] else str(error)
    if isinstance(error, _PRINTED_AS_IS):
        return str(error)
    if isinstance(error, Problem):
        return "\n".join(error.reasons or (error.message,))
    if (listed := _LISTED.get(type(error))) is not None:
        return f"There is no {error}: see {listed}."
    if isinstance(error, OSError) and (in_files := _explain_file_error(error)) is not None:
        return in_files
    if (original := getattr(error, "orig", None)) is not None:  # as SQLAlchemy wraps errors of `migrate`
        error = original.__cause__ or original
    return _explain_database_error(error)


def _explain_file_error(error: OSError) -> str | None:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"The disk is full ({error}): free some space, or set ALMONER_DATA_DIR to a folder on another disk."
    if error.errno in (errno.EIO, errno.ESTALE) and not isinstance(error, ssl.SSLError):  # which has its own numbers
        return f"A file cannot be read or written ({error}): check the disk and its file system."
    if error.filename is None:  # a failed connection
        return None
    if isinstance(error, PermissionError) and PurePath(str(error.filename)).parent.name == ".postgresql":
        return (  # the database driver looks for a client certificate
            f"{error.filename} cannot be read ({error.strerror}): set HOME to the home folder of the account that runs "
            "this command."
        )
    if isinstance(error, PermissionError) or error.errno == errno.EROFS:
        return (
            f"{error.filename} cannot be read or written by this account ({error.strerror}): use a path that the "
            "account has access to (for Almoner's own files: ALMONER_DATA_DIR), or run the command as the owner."
        )
    return f"{error.filename} cannot be used ({error.strerror}): check the path."


def _explain_database_error(error: BaseException) -> str | None:
    """Database and connection pooler errors that an operator can fix."""
    text = " ".join(str(error).split())  # details are on lines of their own
    for kinds, quoted, sentence in _DATABASE_SENTENCES:
        known = isinstance(error, kinds) and quoted in text
        if known or (ConnectionError in kinds and _is_unclassified_connection_error(error)):
            return sentence.format(database=_database(error), text=text or type(error).__name__)
    return None


_UNREACHABLE: Final = frozenset(
    {
        errno.EHOSTUNREACH,
        errno.ENETUNREACH,
        errno.EHOSTDOWN,
        errno.ENETDOWN,
        errno.EADDRNOTAVAIL,
        errno.EACCES,
        errno.EPERM,
    }
)


def _is_unclassified_connection_error(error: BaseException) -> bool:
    """Whether a connection failed with an error that Python has no class for.

    asyncio raises one error about all addresses of a host, such as ``localhost``.
    """
    several = str(error).startswith("Multiple exceptions: ")
    return isinstance(error, OSError) and (several or (error.filename is None and error.errno in _UNREACHABLE))


_DATABASE_SENTENCES: Final[Sequence[tuple[tuple[type[BaseException], ...], str, str]]] = (
    (
        (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError),
        "",
        "{database} rejected the connection ({text}): check the role, the password and the database name.",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        "permission denied for database",
        "{database} rejected the connection ({text}): grant the role the right to connect.",
    ),
    (
        (asyncpg.TooManyConnectionsError,),
        "",
        "{database} has no free connections ({text}): increase max_connections, or reduce ALMONER_DATABASE_POOL.",
    ),
    (
        (asyncpg.UndefinedObjectError,),
        "configuration parameter",
        "{database} has a URL with an option that PostgreSQL does not know ({text}): remove the option.",
    ),
    (
        (asyncpg.ProtocolViolationError,),
        "startup parameter",
        "{database} is a connection pooler that rejects session settings ({text}): see docs/guides/postgresql.md.",
    ),
    (
        (asyncpg.DuplicatePreparedStatementError, asyncpg.InvalidSQLStatementNameError),
        "",
        "{database} is a connection pooler that loses prepared statements ({text}): see docs/guides/postgresql.md.",
    ),
    (
        (asyncpg.ReadOnlySQLTransactionError,),
        "",
        "{database} does not accept writes ({text}): connect to the primary server.",
    ),
    (
        (asyncpg.InsufficientPrivilegeError,),
        "",
        "{database} does not allow the role to do this ({text}): run `almoner migrate` as the owner of the tables.",
    ),
    (
        (asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError),
        "extension",
        (
            "{database} lacks an extension ({text}): install the postgresql-contrib package for this version of "
            "PostgreSQL."
        ),
    ),
    (
        (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError),
        "",
        "{database} does not have the schema of this version ({text}): run `almoner migrate`, or restore a backup.",
    ),
    ((asyncpg.DiskFullError,), "", "{database} has a full disk ({text}): free some space on it."),
    ((asyncpg.ClientConfigurationError,), "", "{database} has a URL that cannot be used ({text}): correct the URL."),
    (
        (ssl.SSLError,),
        "",
        "{database} has a certificate that cannot be trusted ({text}): check sslmode and sslrootcert in the URL.",
    ),
    (
        (asyncpg.QueryCanceledError, asyncpg.LockNotAvailableError, asyncpg.IdleInTransactionSessionTimeoutError),
        "",
        "{database} cancelled a statement ({text}): run the command again, or increase the time limits of the role.",
    ),
    (
        (
            asyncpg.AdminShutdownError,
            asyncpg.CrashShutdownError,
            asyncpg.ConnectionDoesNotExistError,
            ConnectionUnavailable,
        ),
        "",
        "{database} is not available ({text}): check it, and run the command again.",
    ),
    (
        (asyncpg.InterfaceError,),
        "connection is closed",
        "{database} is not available ({text}): check it, and run the command again.",
    ),
    (
        (UnicodeError,),
        "idna",
        "{database} has a host name that cannot be used ({text}): correct the URL.",
    ),
    (
        (
            ConnectionError,
            TimeoutError,
            socket.gaierror,
            asyncpg.CannotConnectNowError,
            FileNotFoundError,
            asyncpg.TargetServerAttributeNotMatched,
        ),
        "",
        "{database} cannot be reached ({text}): start the database, or correct the address.",
    ),
)
"""How to recognise an error, by its classes and a text in its message, and what to do about it."""


def _database(error: BaseException) -> str:
    """The database that a command connected to, and the setting that contains its address."""
    owner = f"{settings.PREFIX}OWNER_DATABASE_URL" in getattr(error, "__notes__", ())
    given = settings.read_settings()
    for name in ("owner_database_url", "database_url") if owner else ("database_url", "owner_database_url"):
        value = getattr(given, name)
        if value is not None:
            place = urlsplit(value.get_secret_value()).netloc.rpartition("@")[2] or "this machine"
            port = "" if ":" in place.rpartition("]")[2] or "," in place else ":5432"
            return f"The database at {place}{port} ({settings.PREFIX}{name.upper()})"
    return "The embedded database"
