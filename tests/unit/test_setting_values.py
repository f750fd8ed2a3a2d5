"""Wrong values of settings: each is told in one sentence that says what is right, and not by who reads them."""

import subprocess
from ipaddress import ip_network
from pathlib import Path
from typing import Final

import pytest

from almoner.settings import InvalidSettings, read_settings

SCRIPT: Final = Path(__file__).parents[2] / "deploy" / "systemd" / "almoner"

WRONG = {
    "api_url": ("https://api.example.org:99999", "https://u:p@api.example.org", "https://api example.org",
                "https://[::1", "https://give..example.org", "https://.", "https://api.example.org:x",
                "https://api.example.org/almoner", '"https://api.example.org"', "https://api.example.org # ours"),
    "pages_url": ("https://give.example.org/give", "https://CHANGE-ME.example.org"),
    "provider_url": ("http://localhost:8081/test",),
    "documents_endpoint": ("https://key:secret@s3.example.org", "https://s3.example.org"),
    "documents_url": ("s3:/bucket", "s3://key:secret@bucket/x", "s3://bucket?region=eu", "~/documents",
                      "file://srv/documents", "s3://[::1", "//srv/documents"),
    "stripe_fee": ("2.9 %", "290 USD:0.30", "290 usd:30", "290,USD:30"),
    "log_level": ("trace",),
    "public_name": ("Giving\tInc", "CHANGE-ME Foundation", "'Giving'"),
    "disk_reserve_mb": ("256MB", "1.5", "9" * 5000),
    "traces_share": ("1%", "nan", "-0.1"),
    "data_dir": ("~/almoner", "'/srv/almoner'"),
    "time_zone": ("UTC # ours",),
    "privacy_url": ("https://[::1", "https://exa mple.org", "https://example.org:0"),
    "database_url": ("postgresql://app:x@[::1/almoner", "postgresql://app:p/w@h/almoner",
                     "postgresql://app:p#w@h/almoner", "postgresql://app:p?w@h/almoner",
                     "postgresql://app:p@w@h/almoner", "postgresql://app:x@h/almoner # ours"),
    "mail_url": ("smtp://[::1", "smtps://u:p w@h:465", "smtps://u:p/w@h", "smtps://u:p#w@h:465", "smtps://u:p?w@h",
                 "smtps://u:p@w@h:465", "smtp://h:25/inbox", "smtp://h?x=1", "smtp://u@h:25"),
    "mail_from": ("Giving <a@example.org>, B <c@example.org>", "A <a@example.org> <c@example.org>", "a\nb@example.org"),
    "scanner_url": ("clamd://h:99999", "clamd://h:x", "clamd://h:3310/run/clamd", "clamd://u:p@h"),
    "webhook_source_addresses": ("api.example.org", "203.0.113.7;203.0.113.8", "1.2.3", "10.0.0.0/33"),
    "port": ("8080/tcp", "-1", "65535", "1e3"),
    "metrics_token": ("short", "\u00e9" * 16),
    "name_match_threshold": ("0,95", "95"),
    "environment": ("Production",),
    "rejected_retention_days": ("forever", "999999999"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in WRONG.items() for value in values])
def test_a_wrong_value_is_told_in_a_sentence_of_ours(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings) as refused:
        read_settings(**{name: value})
    (sentence,) = refused.value.problems
    assert sentence.startswith(f"ALMONER_{name.upper()} must ")
    assert value not in sentence
    assert "secret" not in sentence


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_url", "http://localhost:8080"),
        ("api_url", "http://[::1]:8080/"),
        ("api_url", " https://api.example.org\r\n"),
        ("public_name", "Fund #1"),
        ("public_name", "Fondation\u00a0de l'Eau"),
        ("public_name", "\u06a9\u0645\u06a9\u200c\u0647\u0627"),  # a joiner is spelling in Persian
        ("public_name", '"Help" and "Care"'),
        ("documents_url", "/srv/documents#1"),
        ("log_level", "INFO"),
        ("documents_url", "file:///srv/documents"),
        ("database_url", "postgresql:///almoner?host=/run/postgresql&user=app@server"),
        ("mail_url", "smtps://user:pa%20ss@mail.example.org:465"),
        ("mail_from", '"Giving, Inc." <giving@example.org>'),
        ("webhook_source_addresses", "203.0.113.7, 2001:db8::/64"),
    ],
)
def test_a_right_value_is_taken(name: str, value: str) -> None:
    read_settings(**{name: value})


def test_what_is_empty_is_not_set() -> None:
    given = read_settings(worker_port=" ", public_name="\t", documents_url=" ", port="\n8100 ")
    assert (given.worker_port, given.public_name, given.documents_url, given.port) == (None, "", None, 8100)


def test_the_path_of_traces_is_added_once() -> None:
    for value in ("http://collector:4318", "http://collector:4318/v1/traces/"):
        assert read_settings(traces_url=value).traces_url == "http://collector:4318"


def test_an_endpoint_belongs_to_a_bucket() -> None:
    endpoint = "http://object_store:9000"
    assert read_settings(documents_url="s3://bucket/x", documents_endpoint=endpoint).documents_endpoint == endpoint


def test_the_script_for_commands_reads_settings_as_systemd_does(tmp_path: Path) -> None:
    file = tmp_path / "almoner.env"
    file.write_text(
        """# A comment
        ; another
        BARE=Giving & <giving@example.org> $HOME `id` #1
        SINGLE='a "b" \\ $c'
        DOUBLE="say \\"hi\\" for \\$5"\r
        QUERY=postgresql://h/almoner?sslmode=require&options='x'
        BACKSLASH=a\\b
        EMPTY=\r
        no setting
        LAST=z"""
    )
    reader = SCRIPT.read_text().partition("read_settings()")[2].partition("\n}\n")[0]
    names = ("BARE", "SINGLE", "DOUBLE", "QUERY", "BACKSLASH", "EMPTY", "LAST")
    command = f'read_settings(){reader}\n}}\nread_settings "$1"\n' + "".join(f'echo "${name}"\n' for name in names)
    printed = subprocess.run(["sh", "-euc", command, "sh", file], capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [
        "Giving & <giving@example.org> $HOME `id` #1",
        'a "b" \\ $c',
        'say "hi" for $5',
        "postgresql://h/almoner?sslmode=require&options='x'",
        "ab",
        "",
        "z",
    ]


def test_networks_of_ipv4_within_ipv6_are_ipv4() -> None:
    assert read_settings(trusted_proxies="::ffff:10.0.0.0/104").trusted_proxies == [ip_network("10.0.0.0/8")]


@pytest.mark.parametrize("network", ["0.0.0.0/0", "::/0", "::ffff:0.0.0.0/96", "10.0.0.0/8,128.0.0.0/1", "2000::/3"])
def test_nobody_trusts_every_address_as_a_proxy(network: str) -> None:
    with pytest.raises(InvalidSettings, match=r"must not be as wide as .* name the networks of your own proxies"):
        read_settings(trusted_proxies=network)


@pytest.mark.parametrize("value", ["https://a.example/v1", "https://a.example/?", "https://a.example#", "http://a/x?y"])
@pytest.mark.parametrize("name", ["api_url", "pages_url"])
def test_the_public_addresses_have_nothing_behind_the_host(name: str, value: str) -> None:
    with pytest.raises(InvalidSettings, match=f"ALMONER_{name.upper()} must (not have a path|be an address)"):
        read_settings(**{name: value})


def test_line_ends_of_windows_are_no_part_of_a_value() -> None:
    given = read_settings(port="8100\r", time_zone="UTC\r\n", worker_port="\r", trusted_proxies="10.0.0.0/8\r")
    assert (given.port, given.time_zone, given.worker_port) == (8100, "UTC", None)
    assert given.trusted_proxies == [ip_network("10.0.0.0/8")]


@pytest.mark.parametrize("name", ["almoner-backup", "almoner-restore"])
def test_the_scripts_of_backups_stop_without_their_settings(name: str, tmp_path: Path) -> None:
    settings = tmp_path / "backup.env"
    command = ["sh", str(SCRIPT.parents[1] / "backup" / name)]
    environment = {"PATH": "/usr/bin:/bin", "ALMONER_BACKUP_ENV": str(settings)}
    stopped = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert stopped.returncode != 0
    assert f"{name} documents" not in stopped.stderr
    settings.write_bytes(b"echo read\r\n")
    explained = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (explained.returncode, explained.stdout) == (2, "read\n")
    assert f"{name} documents" in explained.stderr
