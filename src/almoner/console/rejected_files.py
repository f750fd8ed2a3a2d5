"""Says why an uploaded file was rejected."""

from collections.abc import Mapping
from typing import Final

from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.platform.files.uploads.verdicts import RefusalCause

_MESSAGES_BY_CAUSE: Final[Mapping[RefusalCause, str]] = {
    "damaged": "The file is damaged. Save or print it to a new file and upload that file.",
    "encrypted": "The PDF needs a password to open. Remove the password and upload it again.",
    "pixels": "The image has too many pixels. Resize the image and upload it again.",
    "pages": "The PDF must have between 1 and 200 pages.",
    "large": "The PDF is too large. The limit for a PDF is 5 MB.",
    "complex": "The file is too complex to check. Print it to a new PDF or upload a photo of it.",
    "animation": "Animations are not accepted. Upload a still image.",
}


def rejected_file_text(rejected: FiletypeNotSupported, wrong_type_text: str) -> str:
    """Why the file was rejected, and what helps. ``wrong_type_text``: the text if its type is not accepted."""
    return _MESSAGES_BY_CAUSE.get(rejected.cause, wrong_type_text)
