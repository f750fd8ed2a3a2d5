"""What may be wrong with an upload (settled 3)."""

from typing import Final

from almoner.kit.errors import BadRequest


class TooManyFiles(BadRequest):
    code = "upload/too_many_files"
    message = "Send one file at a time"


class ContentTypeError(BadRequest):
    code = "upload/content_type_error"
    message = "Send the file as multipart/form-data"


class MaxFileSize(BadRequest):
    code = "upload/max_file_size"
    message = "The file is larger than this address accepts"


class FiletypeNotSupported(BadRequest):
    code = "upload/filetype_not_supported"
    message = "Files of this type are not accepted here"


class MultipartBoundaryNotFound(BadRequest):
    code = "upload/multipart_boundary_not_found"
    message = "The Content-Type header of a multipart body must name its boundary"


class FileIsMissing(BadRequest):
    code = "upload/file_is_missing"
    message = "The request holds no file"


UPLOAD_ERRORS: Final[tuple[type[BadRequest], ...]] = (
    TooManyFiles,
    ContentTypeError,
    MaxFileSize,
    FiletypeNotSupported,
    MultipartBoundaryNotFound,
    FileIsMissing,
)
