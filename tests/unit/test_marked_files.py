"""Files of settings that begin with a byte order mark, as Windows' editors write them."""

import codecs
from pathlib import Path

from almoner import settings, sources
from almoner.adapters.registers_mapping import load_mapping
from almoner.giving.banking.bank_statements import csv_mapping
from almoner.giving.banking.payment_files import own_accounts_file
from almoner.giving.checkout.hosted_page.legal_notices import load_legal_notices
from almoner.platform.outbound.addresses import PUBLIC_ONLY
from tests.unit.test_register_mappings import WHOLE
from tests.unit.test_register_schedule import GOOD

STATEMENT = 'account = "1"\ncurrency = "EUR"\n[columns]\namount = "A"\nday = {column = "D", format = "%Y-%m-%d"}\n'
NOTICE = '[[notice]]\ncountry = "USA"\ntext = "A notice"\n'


def marked(folder: Path, text: str) -> Path:
    file = folder / "settings.toml"
    file.write_bytes(codecs.BOM_UTF8 + text.replace("\n", "\r\n").encode())
    return file


def test_mappings_are_read(tmp_path: Path) -> None:
    assert load_mapping(marked(tmp_path, WHOLE)).code
    assert csv_mapping.load_mapping(marked(tmp_path, STATEMENT)).columns


def test_schedules_notices_and_accounts_are_read(tmp_path: Path) -> None:
    scheduled = settings.read_settings(register_schedule=marked(tmp_path, GOOD))
    assert len(sources.parse_register_refresh_schedule(scheduled, PUBLIC_ONLY)) == 2
    assert len(load_legal_notices(marked(tmp_path, NOTICE))) == 1
    assert own_accounts_file.parse_own_accounts(marked(tmp_path, "# none yet\n")) == {}
