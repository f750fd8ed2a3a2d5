"""The deployment's settings, read from the environment (architecture 4).

Each setting is the variable ``ALMONER_<NAME>``. ``read_settings`` reports all missing and unsafe settings together;
secrets have no defaults in production. In the sandbox the command line adds missing ones from files in the data
directory.
"""

import os
from base64 import b64decode
from collections.abc import Mapping
from datetime import timedelta
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Literal
from zoneinfo import ZoneInfo

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from almoner import settings_values
from almoner.kit.ids import RecordIdCodec
from almoner.kit.public_links import PublicLinks
from almoner.kit.rates import RequestRate as RequestRate
from almoner.kit.time import Clock
from almoner.platform.crypto import Vault
from almoner.platform.deployment import BaseUrls, Deployment, Environment
from almoner.platform.outbound.addresses import AddressPolicy
from almoner.settings_values import NO_SCANNER, StripeAccount

PREFIX = "ALMONER_"
_LOOPBACK_HOSTS = frozenset({"localhost", "127.0.0.1", "::1"})

_FREE_TEXTS = frozenset({"public_name", "mail_from"})
"""Settings in which `` #`` can be part of the value."""

REQUIRED_IN_PRODUCTION = {
    "database_url": "the database for the role almoner_app, such as postgresql://almoner_app:secret@db.internal/almoner",
    "master_key": "the key that all secrets are derived from; create one with: openssl rand -base64 32",
    "api_url": "the public https address of the API, such as https://api.example.org",
    "pages_url": "the public https address of the hosted pages, such as https://give.example.org",
    "webhook_source_addresses": "the IP addresses that webhooks are sent from, separated by commas",
    "mail_url": "the mail server, such as smtps://user:secret@mail.example.org:465",
    "mail_from": "the sender of emails, such as Giving <giving@example.org>",
    "privacy_url": "your privacy notice, which pages and emails link to, or `none` if you have none",
    "contact_email": "the address where donors and applicants can ask for help, or `none` if there is none",
}
"""The settings that production requires, with their descriptions."""


class InvalidSettings(Exception):
    """Settings are missing, malformed or unsafe; ``problems`` lists what to do."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


DatabaseUrl = Annotated[SecretStr, AfterValidator(settings_values.check_database_url)]
BaseUrl = Annotated[str, AfterValidator(settings_values.check_base_url)]
Origin = Annotated[str, AfterValidator(settings_values.check_origin)]
RateLimit = Annotated[RequestRate, NoDecode, BeforeValidator(settings_values.parse_rate_limit)]
NoticeUrl = Annotated[str, AfterValidator(settings_values.check_legal_notice_url)]


class Settings(BaseSettings):
    """All settings. URLs have no trailing slash."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, extra="ignore", frozen=True, validate_default=True, env_ignore_empty=True
    )

    environment: Environment = Field(
        "sandbox", description="`sandbox` or `production`. Each environment needs its own database."
    )
    database_url: DatabaseUrl | None = Field(
        None,
        description="URL of a PostgreSQL 15 to 18 database, for the role almoner_app. If it is not set, `almoner run` "
        "starts an embedded server.",
    )
    owner_database_url: DatabaseUrl | None = Field(
        None,
        description="URL of the same database for the owner of the tables. Used by `almoner migrate`. Default: "
        "ALMONER_DATABASE_URL.",
    )
    database_pool: int = Field(10, ge=2, le=200, description="Maximum number of database connections per process.")
    master_key: Annotated[SecretStr, AfterValidator(settings_values.check_master_key)] | None = Field(
        None, description="32 random bytes in base64. All other secrets are derived from this key."
    )
    data_dir: Path = Field(Path("var"), description="Folder for the sandbox's files and embedded database.")
    disk_reserve_mb: int = Field(
        256,
        ge=0,
        description="Minimum free space in MB on the disk of the data directory. If less space is free, writes are "
        "refused with 503 and background work pauses. Reads continue. 0 turns this limit off.",
    )
    audit_heads: Path | None = Field(
        None,
        description="Folder for the exported signed heads of the audit log, ideally on another machine. "
        "Default: `audit-heads` in the data directory.",
    )
    status_dir: Path | None = Field(
        None,
        description="Folder for the status page as static files, which your proxy can serve while the service is down. "
        "Default: `status` in the data directory.",
    )
    documents_url: Annotated[str | None, AfterValidator(settings_values.check_document_storage_url)] = Field(
        None,
        description="Where encrypted documents are stored: s3://bucket/prefix (gs, az), or a folder that all "
        "servers share. Default: `documents` in the data directory.",
    )
    documents_endpoint: BaseUrl = Field(
        "",
        description="URL of your own object store, such as https://s3.internal:9000. Connections are unencrypted only "
        "if the URL begins with http://. Documents are always encrypted.",
    )
    scanner_url: Annotated[str | None, AfterValidator(settings_values.check_scanner_url)] = Field(
        None,
        description="URL of the ClamAV daemon: clamd://host:3310 or clamd:///path/to/socket. `none` disables scanning. "
        "In production, documents wait for a virus scan until this setting is set.",
    )
    pg_bin: Path | None = Field(None, description="Folder with the PostgreSQL programs for the embedded server.")

    host: str = Field("localhost", description="Address to listen on. `localhost` listens on IPv4 and IPv6 loopback.")
    port: int = Field(
        8080,
        ge=1,
        le=65534,
        description="Port of the API and the hosted pages. The test payment provider uses the next port.",
    )
    worker_port: int | None = Field(
        None,
        ge=1,
        le=65535,
        description="Port of a worker's `/healthz`, `/readyz` and `/metrics`, on ALMONER_HOST. If it is not set, a "
        "worker listens on no port.",
    )
    drain_seconds: int | None = Field(
        None,
        ge=0,
        le=300,
        description="Seconds for which a server continues to accept requests after SIGTERM while `/readyz` returns "
        "503, so that the load balancer stops sending requests to it. Default: 10, or 0 in the sandbox.",
    )
    api_url: Origin = Field(
        "", description="Public base URL of the API. Default in the sandbox: http://localhost:<port>."
    )
    pages_url: Origin = Field(
        "", description="Public base URL of the hosted pages. Default in the sandbox: the URL of the API."
    )
    provider_url: Origin = Field(
        "", description="Public base URL of the test payment provider. Only used in the sandbox."
    )
    trusted_proxies: Annotated[
        list[IPv4Network | IPv6Network], NoDecode, BeforeValidator(settings_values.parse_trusted_proxy_networks)
    ] = Field([], description="Networks whose X-Forwarded-For and X-Forwarded-Proto are trusted, separated by commas.")

    stripe_secret_key: Annotated[SecretStr, AfterValidator(settings_values.check_stripe_key)] | None = Field(
        None,
        description="Secret or restricted key of a dedicated Stripe account: a live key in production, a test key in "
        "the sandbox, where it replaces the test payment provider. See docs/guides/stripe.md.",
    )
    stripe_webhook_secret: Annotated[SecretStr, AfterValidator(settings_values.check_stripe_webhook_secret)] | None = (
        Field(None, description="Signing secret (whsec_...) of the Stripe webhook endpoint for `/callbacks/stripe`.")
    )
    stripe_fee: Annotated[str, AfterValidator(settings_values.check_stripe_fee)] = Field(
        "290 USD:30",
        description="Stripe's fee, used when donors cover the fee: basis points, then the fixed amount for each "
        "currency in minor units.",
    )
    stripe_api_url: BaseUrl = Field(
        "https://api.stripe.com", description="Base URL of Stripe's API. Change it only for tests."
    )
    stripe_pages_url: BaseUrl = Field(
        "https://checkout.stripe.com",
        description="Base URL of Stripe Checkout, or of the Stripe account's custom domain.",
    )

    rate_limit_secret: Annotated[RequestRate | None, NoDecode, BeforeValidator(settings_values.parse_rate_limit)] = (
        Field(
            None,
            description="Rate limit per secret key: requests per second, and burst. Default: 100/200, or 25/50 in the "
            "sandbox.",
        )
    )
    rate_limit_publishable: RateLimit = Field(
        RequestRate(25, 50), description="Rate limit per publishable key: requests per second, and burst."
    )
    rate_limit_address: RateLimit = Field(
        RequestRate(5, 20), description="Rate limit per client IP address for requests with a publishable key."
    )
    rate_limit_wrong_keys: RateLimit = Field(
        RequestRate(0.2, 20),
        description="Rate limit for invalid keys per client IP address. Each invalid key counts once.",
    )
    rate_limit_scim: RateLimit = Field(
        RequestRate(50, 500), description="Rate limit per SCIM key: requests per second, and burst."
    )
    metrics_token: (
        Annotated[SecretStr, Field(min_length=16), AfterValidator(settings_values.check_bearer_token)] | None
    ) = Field(
        None,
        description="Bearer token for `/metrics`. If it is not set, only this machine can read the metrics.",
    )

    card_testing_limits: Literal["strict", "loose"] | None = Field(
        None,
        description="Limits against card testing: `strict`, or `loose` for tests with declined cards (sandbox only).",
    )

    disbursement_min_donations: int = Field(
        0,
        ge=0,
        le=100_000,
        description="Minimum amount of a disbursement, as a multiple of the currency's minimum donation. 0 means no "
        "minimum.",
    )
    bank_accounts: Path | None = Field(
        None,
        description="TOML file with your own bank account for each currency, for disbursements and donors' bank "
        "transfers.",
    )
    disbursement_days: int = Field(
        60,
        ge=1,
        le=365,
        description="Number of days within which you send donations to nonprofits. Pages of giving links show this "
        "number.",
    )
    giving_notices: Path | None = Field(
        None,
        description="TOML file with notices that a country or state requires for donations to its nonprofits, on "
        "giving links and before regular donations.",
    )
    register_schedule: Path | None = Field(
        None, description="TOML file with the registers to refresh automatically, and their URLs."
    )
    watchlist_schedule: Path | None = Field(
        None, description="TOML file with the watchlists to refresh automatically, and their URLs."
    )
    review_second_look_percent: int = Field(
        5,
        ge=0,
        le=100,
        description="Percentage of decided reviews that a second reviewer decides again without seeing the first "
        "decision. 0 means none.",
    )
    register_max_age: int | None = Field(
        None,
        ge=1,
        le=3650,
        description="Maximum age of a register's data in days. Older data is shown as stale and is not used for "
        "automatic decisions.",
    )
    rejected_retention_days: int = Field(
        365,
        ge=30,
        le=36_500,
        description="Number of days that documents and applicants' details are kept for appeals after a rejection.",
    )
    accepted_retention_days: int = Field(
        2557,
        ge=30,
        le=36_500,
        description="Number of days that documents and applicants' details are kept as evidence after an acceptance. "
        "Default: 7 years.",
    )
    name_match_threshold: float | None = Field(
        None,
        ge=0.5,
        le=1,
        description="How closely names must match for a validation request to be accepted automatically, from 0.5 to "
        "1. Default: a threshold that was correct in 98 of 100 measured cases.",
    )
    operator_token: SecretStr | None = Field(
        None,
        description="Personal token of the operator who runs a command. If it is not set, the command prompts for "
        "the token at the terminal.",
    )
    webhook_source_addresses: Annotated[
        list[str], NoDecode, BeforeValidator(settings_values.parse_webhook_source_addresses)
    ] = Field(
        [],
        description="IP addresses that webhooks are sent from, separated by commas. Partners can see these addresses.",
    )
    mail_url: Annotated[SecretStr, AfterValidator(settings_values.check_mail_url)] | None = Field(
        None,
        description="URL of the mail server: smtp:// or smtps://. If it is not set, the sandbox stores emails in its "
        "own mailbox.",
    )
    mail_from: Annotated[str, AfterValidator(settings_values.check_mail_from)] = Field(
        "", description="Sender of emails, such as Giving <giving@example.org>."
    )
    time_zone: Annotated[str, AfterValidator(settings_values.check_time_zone)] = Field(
        "UTC",
        description="Time zone in which receipts are issued, such as America/New_York. Receipts, statements, pages and "
        "emails show dates in this time zone.",
    )
    public_name: Annotated[str, AfterValidator(settings_values.check_one_line)] = Field(
        "", max_length=200, description="Name of the organisation that runs this service, shown on pages and in emails."
    )
    privacy_url: NoticeUrl = Field(
        "", description="URL of your privacy notice, linked from pages and emails. Required in production, or `none`."
    )
    terms_url: NoticeUrl = Field("", description="URL of your terms, linked from pages and emails.")
    imprint_url: NoticeUrl = Field("", description="URL of your legal notice (imprint), linked from pages and emails.")
    contact_email: Annotated[str, AfterValidator(settings_values.check_contact_email)] = Field(
        "",
        description="Email address for questions of donors and applicants. Replies to emails go to this address. "
        "Required in production, or `none`.",
    )
    traces_url: Annotated[str, AfterValidator(settings_values.check_traces_url)] = Field(
        "",
        description="URL of an OpenTelemetry collector (OTLP over HTTP), such as http://localhost:4318. If it is not "
        "set, there are no traces. Needs the extra `traces`.",
    )
    traces_share: float = Field(
        0.01, ge=0, le=1, description="Share of requests and jobs that are traced, from 0 to 1."
    )
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], BeforeValidator(settings_values.lowercase_choice)
    ] = Field("info", description="Log level: debug, info, warning or error.")

    @field_validator("*", mode="before")
    @classmethod
    def _clean(cls, value: object, info: ValidationInfo) -> object:
        if not isinstance(value, str):
            return value
        text = settings_values.strip_and_check_text(value)
        if info.field_name not in _FREE_TEXTS:
            settings_values.check_no_trailing_comment(text)
        return text or cls.model_fields[info.field_name or ""].get_default()

    @field_validator(*REQUIRED_IN_PRODUCTION, mode="after")
    @classmethod
    def _required(cls, value: object, info: ValidationInfo) -> object:
        if info.data.get("environment") == "production" and not value:
            raise ValueError(f"is missing: {REQUIRED_IN_PRODUCTION[info.field_name or '']}")
        return value

    @field_validator("documents_endpoint", mode="after")
    @classmethod
    def _with_an_object_store(cls, value: str, info: ValidationInfo) -> str:
        place = info.data.get("documents_url")
        if value and "documents_url" in info.data and (not place or settings_values.documents_folder_from_url(place)):
            raise ValueError(
                "must be set together with the bucket in ALMONER_DOCUMENTS_URL, such as s3://bucket/prefix"
            )
        return value

    @field_validator("api_url", "pages_url", mode="after")
    @classmethod
    def _https(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("environment") == "production" and value and not value.startswith("https://"):
            raise ValueError("must begin with https:// in production")
        return value

    @field_validator("provider_url", mode="after")
    @classmethod
    def _sandbox_only(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("environment") == "production" and value:
            raise ValueError("must not be set in production: there is no test payment provider")
        return value

    @field_validator("stripe_secret_key", mode="after")
    @classmethod
    def _of_this_mode(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        mode = "live" if info.data.get("environment") == "production" else "test"
        if value is not None and f"_{mode}_" not in value.get_secret_value()[:8]:
            raise ValueError(f"must be a {mode} key here: payments of the other mode would not be allocated")
        return value

    @field_validator("stripe_webhook_secret", mode="after")
    @classmethod
    def _both_of_stripe(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if "stripe_secret_key" in info.data and (value is None) != (info.data["stripe_secret_key"] is None):
            raise ValueError("must be set together with ALMONER_STRIPE_SECRET_KEY")
        return value

    @field_validator("stripe_api_url", "stripe_pages_url", mode="after")
    @classmethod
    def _stripe_by_https(cls, value: str, info: ValidationInfo) -> str:
        if info.data.get("environment") == "production" and not value.startswith("https://"):
            raise ValueError("must begin with https:// in production")
        return value

    @field_validator("card_testing_limits", mode="after")
    @classmethod
    def _strict_in_production(cls, value: str | None, info: ValidationInfo) -> str | None:
        if info.data.get("environment") == "production" and value == "loose":
            raise ValueError("must be strict in production: donation pages are where stolen cards are tested")
        return value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 (the signature is pydantic-settings')
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Read values given in code, then the environment; no files."""
        return init_settings, env_settings

    @property
    def sandbox(self) -> bool:
        """Whether this is the sandbox."""
        return self.environment == "sandbox"

    @property
    def effective_drain_seconds(self) -> int:
        """How many seconds a server that is about to stop still accepts requests."""
        return (0 if self.sandbox else 10) if self.drain_seconds is None else self.drain_seconds

    @property
    def is_loopback_only(self) -> bool:
        """Whether only this machine can reach the API: then webhooks may be sent to loopback (architecture 6)."""
        return self.host in _LOOPBACK_HOSTS

    @property
    def base_urls(self) -> BaseUrls:
        """The base URLs of the API and pages."""
        api = self.api_url or f"http://localhost:{self.port}"
        return BaseUrls(api=api, pages=self.pages_url or api)

    @property
    def public_links(self) -> PublicLinks:
        """Name, notices and contact of the organisation that runs the service."""
        texts = (self.public_name, "", self.privacy_url, self.terms_url, self.imprint_url, self.contact_email)
        return PublicLinks(*(text if text not in ("", settings_values.NO_NOTICE) else None for text in texts))

    @property
    def uses_test_provider(self) -> bool:
        """Whether the test payment provider processes payments."""
        return self.sandbox and self.stripe_secret_key is None

    @property
    def stripe(self) -> StripeAccount | None:
        """The Stripe account for payments, if there is one."""
        if self.stripe_secret_key is None or self.stripe_webhook_secret is None:
            return None
        points, *fixed = self.stripe_fee.split(" ")
        parts = {code: int(minor) for code, minor in (part.split(":") for part in fixed)}
        key, secret = self.stripe_secret_key.get_secret_value(), self.stripe_webhook_secret.get_secret_value()
        return StripeAccount(key, secret, int(points), parts)

    @property
    def test_provider_base_url(self) -> str:
        """The base URL of the test payment provider."""
        return self.provider_url or f"http://localhost:{self.port + 1}"

    @property
    def audit_heads_folder(self) -> Path:
        """The folder for signed heads of the audit log."""
        return self.audit_heads or self.data_dir / "audit-heads"

    @property
    def status_folder(self) -> Path:
        """The folder of the static status page."""
        return self.status_dir or self.data_dir / "status"

    @property
    def disk_reserve_bytes(self) -> int:
        """The free space to keep on the disk of the data directory in bytes; 0 for none."""
        return self.disk_reserve_mb * 2**20

    @property
    def documents_folder(self) -> Path:
        """The folder for documents if no storage URL is set."""
        return self.data_dir / "documents"

    @property
    def skips_virus_scan(self) -> bool:
        """Whether documents are accepted without a virus scanner."""
        return self.scanner_url == NO_SCANNER or (self.sandbox and self.scanner_url is None)

    @property
    def watchlists_folder(self) -> Path:
        """The folder for downloaded watchlists."""
        return self.data_dir / "watchlists"

    @property
    def registers_folder(self) -> Path:
        """The folder for downloaded registers."""
        return self.data_dir / "registers"

    @property
    def secret_key_rate_limit(self) -> RequestRate:
        """The rate limit of a secret key (settled 8)."""
        return self.rate_limit_secret or (RequestRate(25, 50) if self.sandbox else RequestRate(100, 200))

    @property
    def rate_limits_by_key_kind(self) -> Mapping[str, RequestRate]:
        """The rate limits by kind of key."""
        return {
            "secret": self.secret_key_rate_limit,
            "publishable": self.rate_limit_publishable,
            "scim": self.rate_limit_scim,
        }

    @property
    def metrics_token_value(self) -> str | None:
        """The bearer token of /metrics, if there is one."""
        return None if self.metrics_token is None else self.metrics_token.get_secret_value()

    @property
    def card_testing_mode(self) -> Literal["strict", "loose"]:
        """How strict the limits against card testing are."""
        return self.card_testing_limits or ("loose" if self.sandbox else "strict")

    @property
    def operator_token_value(self) -> str | None:
        """The token of the operator who runs a command, if it is set."""
        return None if self.operator_token is None else self.operator_token.get_secret_value().strip()

    @property
    def dsn(self) -> str:
        """The database URL of the service. Raises InvalidSettings if it is not set."""
        return self._secret("database_url")

    @property
    def owner_dsn(self) -> str:
        """The database URL for migrations. Raises InvalidSettings if it is not set."""
        return self.owner_database_url.get_secret_value() if self.owner_database_url else self.dsn

    @property
    def master_key_bytes(self) -> bytes:
        """The master key. Raises InvalidSettings if it is not set."""
        return b64decode(self._secret("master_key"))

    def _secret(self, name: str) -> str:
        value: SecretStr | None = getattr(self, name)
        if value is None:
            raise InvalidSettings([f"{PREFIX}{name.upper()} is missing: {REQUIRED_IN_PRODUCTION[name]}"])
        return value.get_secret_value()


def read_settings(**given: Any) -> Settings:
    """The settings from the environment; ``given`` take precedence. Raises InvalidSettings with every problem."""
    try:
        return Settings(**given)
    except ValidationError as error:
        raise InvalidSettings(
            [_problem_sentence(dict(problem)) for problem in error.errors(include_input=False)]
        ) from None


_RENAMED = {
    "CARD_TESTING_BRAKES": "CARD_TESTING_LIMITS",
    "PAYOUT_LEAST_GIFTS": "DISBURSEMENT_MIN_DONATIONS",
    "KEEP_REFUSED_DAYS": "REJECTED_RETENTION_DAYS",
    "KEEP_ACCEPTED_DAYS": "ACCEPTED_RETENTION_DAYS",
    "NAME_AGREEMENT": "NAME_MATCH_THRESHOLD",
}
"""Settings that had another name before 0.1.0."""


def unknown_setting_warnings(environment: Mapping[str, str] | None = None) -> list[str]:
    """A warning for each variable that looks like a setting but is not one, with the most similar setting."""
    known = [name.upper() for name in Settings.model_fields]
    sentences = []
    for variable in sorted(os.environ if environment is None else environment):
        name = variable.removeprefix(PREFIX)
        if name == variable or name.upper() in known:
            continue
        near = _RENAMED.get(name) or next(iter(get_close_matches(name, known, 1, 0.6)), None)
        meant = f"did you mean {PREFIX}{near}?" if near else "see docs/reference/settings.md."
        sentences.append(f"{variable} is not a setting and has no effect: {meant}")
    return sentences


def inherited_socket_count(pid: int) -> int:
    """How many open files a service manager such as systemd has passed to this process."""
    count = os.environ.get("LISTEN_FDS", "")
    return int(count) if count.isdecimal() and os.environ.get("LISTEN_PID") == str(pid) else 0


def systemd_notify_socket() -> str | None:
    """The service manager's notification socket, if there is one."""
    return os.environ.get("NOTIFY_SOCKET") or None


def build_deployment(settings: Settings, clock: Clock) -> Deployment:
    """Build the description of this deployment from its settings."""
    return Deployment(
        settings.environment,
        clock,
        RecordIdCodec(sandbox=settings.sandbox),
        settings.base_urls,
        Vault(settings.master_key_bytes),
        outbound_address_policy=AddressPolicy(allows_loopback=settings.sandbox and settings.is_loopback_only),
        webhook_source_addresses=tuple(settings.webhook_source_addresses),
        max_data_age=timedelta(settings.register_max_age) if settings.register_max_age else None,
        second_look_percent=settings.review_second_look_percent,
        public_links=settings.public_links,
        time_zone=ZoneInfo(settings.time_zone),
    )


_FORMS = {
    "int_parsing": "must be a whole number, without a unit",
    "int_parsing_size": "must be a whole number, without a unit",
    "int_from_float": "must be a whole number, without a unit",
    "float_parsing": "must be a number, such as 0.5",
    "greater_than_equal": "must be {ge:g} or more",
    "less_than_equal": "must be {le:g} or less",
    "literal_error": "must be {expected}",
    "too_short": "must have {min_length} characters or more",
    "string_too_short": "must have {min_length} characters or more",
    "string_too_long": "must have {max_length} characters or less",
}
"""The texts of pydantic's errors, by type."""


def _problem_sentence(problem: Mapping[str, Any]) -> str:
    name = PREFIX + str(problem["loc"][0]).upper()
    message = str(problem["msg"]).removeprefix("Value error, ")
    if form := _FORMS.get(str(problem["type"])):
        message = form.format(**problem.get("ctx", {}))
    return f"{name} {message}" if message.startswith(("is ", "must ")) else f"{name}: {message}"
