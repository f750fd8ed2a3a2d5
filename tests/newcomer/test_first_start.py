"""What a newcomer sees: from a clone to a service that answers, whoever and wherever they are."""

import re
import stat
import subprocess
import urllib.request
from pathlib import Path

from tests.newcomer.clones import Clone, Started
from tests.support.browsing import localhost_cookies

SANDBOX_KEYS = [
    "baseUrl",
    "publishableKey",
    "secretKey",
    "secondSecretKey",
    "scimKey",
    "partnerId",
    "mailboxUrl",
    "consoleUrl",
    "dashboardUrl",
    "logins",
]


def test_first_start_below_a_private_folder_with_a_path_of_150_characters(private: Clone) -> None:
    assert len(str(private.path)) == 150
    above = [folder for folder in private.path.parents if folder != Path("/tmp")]
    modes = {folder: folder.stat().st_mode for folder in above}
    with private.started("make", "run") as started:
        started.until("Ready after")
        _answers_as_promised(private, started)
        _six_lines_of_the_readme(private)
        _gift_aid_of_the_guide(private)
    assert {folder: folder.stat().st_mode for folder in above} == modes  # no parent was opened for the database


def test_first_start_of_an_ordinary_user_and_make_clean_which_removes_all_that_it_made(ordinary: Clone) -> None:
    with ordinary.started("make", "run") as started:
        started.until("Ready after")
        _answers_as_promised(ordinary, started)
        made_by = {path.owner() for path in (ordinary.path / "var").iterdir()}
        refused = ordinary.run("make", "clean")
        assert "stop it first" in refused.stdout
        assert ordinary.sandbox_file.exists()
    assert made_by == {ordinary.path.owner()}
    assert not ordinary.processes()
    assert ordinary.run("make", "clean").returncode == 0
    assert not (ordinary.path / "var").exists()


def _answers_as_promised(clone: Clone, started: Started) -> None:
    """The pages, the keys, and the curl line as printed, pasted into a shell."""
    sandbox = clone.sandbox()
    assert list(sandbox) == SANDBOX_KEYS
    assert stat.S_IMODE(clone.sandbox_file.stat().st_mode) == 0o600
    for name in ("publishableKey", "secretKey", "secondSecretKey"):
        assert sandbox[name] in started.printed
    for family in ("127.0.0.1", "[::1]"):
        assert urllib.request.urlopen(f"http://{family}:{started.port}/readyz").status == 200
    section = started.printed.partition("\nOpen\n")[2].partition("Try")[0]
    pages = re.findall(r"http://\S+", section)
    assert pages
    for page in pages:
        assert urllib.request.urlopen(page).status == 200, page
    line = re.search(r"^ *(curl .*)$", started.printed, re.MULTILINE)
    assert line is not None
    answer = subprocess.run(["/bin/sh", "-c", line[1]], capture_output=True, text=True, check=True).stdout
    assert '"registryName"' in answer
    assert '"totalResults":0' not in answer.replace(" ", "")


def _six_lines_of_the_readme(clone: Clone) -> None:
    """The donation of the README, in a plain shell, in the clone."""
    block = (clone.path / "README.md").read_text().partition("## Make a test donation")[2].split("```")[1]
    lines = block.removeprefix("sh\n").replace("localhost:8080", f"localhost:{clone.port}")
    assert sum("curl " in line for line in lines.splitlines()) == 6
    reported = clone.run("/bin/sh", "-euc", lines)
    assert reported.returncode == 0, reported.stdout
    assert '"status":"RECEIVED_PAYMENT"' in reported.stdout
    assert '"eventType":"donation.created"' in reported.stdout
    assert '"object":"error"' not in reported.stdout


def _gift_aid_of_the_guide(clone: Clone) -> None:
    """The session in pounds of the guide, in the clone: its page offers Gift Aid."""
    block = (
        (clone.path / "docs/guides/gift-aid.md").read_text().partition("## See it in the sandbox")[2].split("```")[1]
    )
    made = clone.run("/bin/sh", "-euc", block.removeprefix("sh\n").replace("localhost:8080", f"localhost:{clone.port}"))
    found = re.search(r'"url":"([^"]+)"', made.stdout)
    assert found is not None, made.stdout
    page = (
        urllib.request.build_opener(urllib.request.HTTPCookieProcessor(localhost_cookies()))
        .open(found[1])
        .read()
        .decode()
    )
    assert 'name="gift_aid"' in page
