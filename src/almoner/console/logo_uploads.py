"""Upload a logo. A sandboxed process checks and re-encodes the image."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.responses import Response

from almoner.access.accounts.page_guard import Visitor, redirect_to
from almoner.console.context import ConsoleContext
from almoner.platform.files.images import Image, image_of_upload
from almoner.platform.files.uploads.problems import FiletypeNotSupported
from almoner.platform.http.uploads import UploadDeclaration

LOGO: Final = UploadDeclaration("file", 5 * 1024 * 1024, ())


async def upload_logo(
    context: ConsoleContext,
    visitor: Visitor,
    store: Callable[[Image], Awaitable[str]],
    *,
    longest_side: int,
    back: str,
    back_words: str,
) -> Response:
    """Show the upload form, or store the uploaded logo.

    ``store``: saves the image and returns the path to redirect to. It raises ValueError if the image is not accepted.
    """
    problems: dict[str, str] = {}
    uploaded = visitor.upload.uploaded if visitor.upload else None
    if visitor.form and uploaded is None:
        problems = {"file": "Choose an image of at most 5 MB."}
    elif visitor.form and uploaded is not None:
        try:
            checked = await context.services.intake.render_picture(uploaded.content, longest_side)
            with checked.content:
                logo = image_of_upload(checked)
            return redirect_to(visitor.place.home + await store(logo))
        except FiletypeNotSupported:
            problems = {"file": "The file is not a valid image. Use a JPEG or PNG."}
        except ValueError as error:
            problems = {"file": str(error)}
    return await context.show(
        visitor,
        "logo_upload.html",
        status=422 if problems else 200,
        problems=problems,
        back=back,
        back_words=back_words,
    )
