"""The size limit of files that finance operators upload, and the error messages for invalid files."""

from typing import Final

from almoner.access.accounts.page_guard import SignedInRequest
from almoner.giving.banking.bank_statements.domain import MAX_UPLOAD
from almoner.platform.files.uploads.problems import FileTooLarge
from almoner.platform.http.uploads import UploadDeclaration

BANK_FILE: Final = UploadDeclaration("file", MAX_UPLOAD, ())
"""A file field for a bank statement, status report or settlement report. The parser detects the format."""


def upload_problem_message(visitor: SignedInRequest) -> str:
    """The error message to show if the form contains no valid file."""
    if visitor.upload is not None and isinstance(visitor.upload.problem, FileTooLarge):
        return (
            f"The file is too large. The limit is {MAX_UPLOAD // 1024 // 1024} MB. For larger files, use the command "
            "line."
        )
    return "Choose a file."


def uploaded_bytes(visitor: SignedInRequest) -> bytes | None:
    """The content of the uploaded file, or None if no file was uploaded."""
    if visitor.upload is None or visitor.upload.uploaded_file is None:
        return None
    content = visitor.upload.uploaded_file.content
    content.seek(0)
    return content.read()
