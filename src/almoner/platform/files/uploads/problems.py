"""The errors of uploads (settled 3)."""

from typing import Final

from almoner.kit.errors import BadRequest
from almoner.platform.files.uploads.verdicts import RefusalCause


class TooManyFiles(BadRequest):
    code = "upload/too_many_files"
    message = "Upload one file at a time"


class ContentTypeError(BadRequest):
    code = "upload/content_type_error"
    message = "Send the file as multipart/form-data"


class FileTooLarge(BadRequest):
    code = "upload/max_file_size"
    message = "The file is too large for this endpoint"


class FiletypeNotSupported(BadRequest):
    """The file type is not accepted. ``cause``: why, for the page's message."""

    code = "upload/filetype_not_supported"
    message = "The file was rejected; see the reason"

    def __init__(self, *reasons: str, cause: RefusalCause = "type") -> None:
        super().__init__(*reasons)
        self.cause = cause


class MultipartBoundaryNotFound(BadRequest):
    code = "upload/multipart_boundary_not_found"
    message = "The Content-Type header of a multipart body must include its boundary"


class FileIsMissing(BadRequest):
    code = "upload/file_is_missing"
    message = "The request contains no file"


UPLOAD_ERRORS: Final[tuple[type[BadRequest], ...]] = (
    TooManyFiles,
    ContentTypeError,
    FileTooLarge,
    FiletypeNotSupported,
    MultipartBoundaryNotFound,
    FileIsMissing,
)
