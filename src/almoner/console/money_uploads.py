"""Files that finance operators upload: their size limit, and the messages for invalid files."""

from typing import Final

from almoner.access.accounts.page_guard import Visitor
from almoner.giving.banking.bank_statements.domain import MAX_UPLOAD
from almoner.platform.files.uploads.problems import MaxFileSize
from almoner.platform.http.uploads import UploadDeclaration

BANK_FILE: Final = UploadDeclaration("file", MAX_UPLOAD, ())
"""An uploaded bank statement, status report or settlement report; the parser detects which."""


def upload_problem(visitor: Visitor) -> str:
    """The message to show if the form contains no usable file."""
    if visitor.upload is not None and isinstance(visitor.upload.problem, MaxFileSize):
        return f"The file is too large: at most {MAX_UPLOAD // 1024 // 1024} MB. Use the command for larger files."
    return "Choose a file."


def uploaded_bytes(visitor: Visitor) -> bytes | None:
    """The content of the uploaded file; None if there is none."""
    if visitor.upload is None or visitor.upload.uploaded is None:
        return None
    content = visitor.upload.uploaded.content
    content.seek(0)
    return content.read()
