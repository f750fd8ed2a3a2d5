"""Documents that anybody can check: what is signed, and what a changed byte does (V8)."""

import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from almoner.platform.crypto import Vault
from almoner.platform.files.signing import DOSSIERS, DocumentSigner, has_valid_signature

SCRIPT = Path(__file__).parents[2] / "docs" / "verify_document.py"
SIGNER = DocumentSigner(Vault(b"k" * 32), DOSSIERS)


def _script() -> ModuleType:
    spec = spec_from_file_location("verify_document", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


VERIFIER = _script()
"""The script that ships in the docs."""


def _document(text: bytes = b"what was found") -> bytes:
    return SIGNER.sign(
        b"head "
        + SIGNER.blank_signature_block.encode()
        + b" "
        + text
        + b" "
        + SIGNER.blank_signature_block.encode()
        + b" tail"
    )


def test_a_signed_document_is_genuine_to_the_service_and_to_the_script() -> None:
    document = _document()
    assert has_valid_signature(document, SIGNER.public)
    assert VERIFIER.fault_of(document, SIGNER.public) is None


def test_a_change_of_any_one_byte_is_found() -> None:
    document = _document()
    for place in range(len(document)):
        changed = document[:place] + bytes([document[place] ^ 1]) + document[place + 1 :]
        assert not has_valid_signature(changed, SIGNER.public), place
        assert VERIFIER.fault_of(changed, SIGNER.public), place


@pytest.mark.parametrize("cut", [b"", b"head ", b"\n"])
def test_what_is_added_or_cut_off_is_found(cut: bytes) -> None:
    document = _document()
    for changed in (document + cut + b" ", document[1:], document[:-1], document.replace(b"what", b"")):
        assert not has_valid_signature(changed, SIGNER.public)
        assert VERIFIER.fault_of(changed, SIGNER.public)


def test_another_key_signs_nothing_here() -> None:
    other = DocumentSigner(Vault(b"o" * 32), DOSSIERS)
    document = other.sign(other.blank_signature_block.encode())
    assert not has_valid_signature(document, SIGNER.public)
    assert "key" in VERIFIER.fault_of(document, SIGNER.public)
    assert DocumentSigner(Vault(b"k" * 32), "receipts").public != SIGNER.public


def test_what_has_no_place_for_a_signature_is_not_signed() -> None:
    with pytest.raises(ValueError, match="no place"):
        SIGNER.sign(b"nothing")
    assert not has_valid_signature(b"nothing", SIGNER.public)


@given(st.binary(max_size=200))
def test_whatever_is_signed_the_two_agree(text: bytes) -> None:
    document = _document(text)
    assert has_valid_signature(document, SIGNER.public)
    assert VERIFIER.fault_of(document, SIGNER.public) is None


def test_the_script_is_run_as_its_docstring_says(tmp_path: Path) -> None:
    file = tmp_path / "dossier.json"
    file.write_bytes(_document())
    command = [sys.executable, "-I", str(SCRIPT), str(file), SIGNER.public.hex()]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Genuine")
    file.write_bytes(_document().replace(b"found", b"lost."))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("NOT GENUINE: it was altered")
    done = subprocess.run(command[:-1], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "PUBLIC_KEY" in done.stderr
