"""Upload a logo. A sandboxed process checks and re-encodes the image."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response

from almoner.access.accounts.page_guard import SignedInRequest, redirect_to
from almoner.console.context import ConsoleContext
from almoner.console.rejected_files import rejected_file_text
from almoner.platform.files.images import Image, read_checked_image
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.platform.http.uploads import UploadDeclaration

LOGO: Final = UploadDeclaration("file", 5 * 1024 * 1024, ())
_WRONG_TYPE: Final = "The file is not a valid image. Use a JPEG, PNG or HEIC."


async def handle_logo_upload(
    context: ConsoleContext,
    visitor: SignedInRequest,
    save_logo: Callable[[Image], Awaitable[str]],
    *,
    max_side_pixels: int,
    return_path: str,
    return_label: str,
) -> Response:
    """Show the upload form, or store the uploaded logo.

    ``save_logo``: saves the image and returns the path to redirect to. It raises ValueError if the image is not
    accepted.
    """
    problems: dict[str, str] = {}
    uploaded = visitor.upload.uploaded_file if visitor.upload else None
    if visitor.form and uploaded is None:
        problems = {"file": "Choose an image of at most 5 MB."}
    elif visitor.form and uploaded is not None:
        try:
            checked = await context.services.upload_intake.reencode_image(uploaded.content, max_side_pixels)
            with checked.content:
                logo = read_checked_image(checked)
            return redirect_to(visitor.portal.home + await save_logo(logo))
        except FiletypeNotSupported as rejected:
            problems = {"file": rejected_file_text(rejected, _WRONG_TYPE)}
        except ValueError as error:
            problems = {"file": str(error)}
    return await context.render_console_page(
        visitor,
        "logo_upload.html",
        status=422 if problems else 200,
        problems=problems,
        back=return_path,
        back_label=return_label,
    )
