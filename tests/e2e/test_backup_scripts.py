"""The script of ``deploy/backup`` where a part is not there: it fails, and reports no backup."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "deploy" / "backup" / "almoner-backup"


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    """The folder of a machine's settings, certificate and backups; a command of Almoner only prints its words."""
    (tmp_path / "settings").mkdir()
    (tmp_path / "settings" / "almoner.env").write_text("ALMONER_MASTER_KEY=secret\n")
    (tmp_path / "backup.env").write_text(
        f"ALMONER=echo\nBACKUPS={tmp_path}/backups\nKEEP_DAYS=30\nDOCUMENTS={tmp_path}/documents\n"
        f"SETTINGS={tmp_path}/settings\nKEYS_CERTIFICATE={tmp_path}/certificate.pem\n"
    )
    certificate = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=backup -keyout private.pem -out certificate.pem"
    subprocess.run(certificate.split(), cwd=tmp_path, capture_output=True, check=True)
    return tmp_path


def backup(configured: Path, part: str) -> "subprocess.CompletedProcess[str]":
    """Run the script."""
    environment = {"PATH": "/usr/bin:/bin", "ALMONER_BACKUP_ENV": str(configured / "backup.env")}
    return subprocess.run([SCRIPT, part], env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_settings_are_encrypted_and_reported(configured: Path) -> None:
    done = backup(configured, "keys")
    assert done.returncode == 0, done.stderr
    (made,) = (configured / "backups" / "keys").iterdir()
    assert done.stdout == f"{made}\n"
    assert f"backups record settings --note {made.name}" in done.stderr
    opened = f"openssl cms -decrypt -inform DER -in {made} -inkey private.pem | tar -x --to-stdout"
    restored = subprocess.run(opened, shell=True, cwd=configured, capture_output=True, check=True)
    assert restored.stdout == b"ALMONER_MASTER_KEY=secret\n"


@pytest.mark.parametrize("missing", ["settings/almoner.env", "certificate.pem"])
def test_settings_that_cannot_be_encrypted_are_no_backup(configured: Path, missing: str) -> None:
    (configured / missing).unlink()
    if missing.startswith("settings/"):
        (configured / "settings").rmdir()
    done = backup(configured, "keys")
    assert done.returncode != 0
    assert "backups record" not in done.stdout + done.stderr
    assert not list((configured / "backups" / "keys").iterdir())


def test_a_folder_of_documents_that_is_not_mounted_does_not_replace_their_backup(configured: Path) -> None:
    (configured / "documents").mkdir()
    done = backup(configured, "documents")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{configured}/documents has no folder marks: check that it is mounted.\n"
