"""Render pages of PDFs to images, in the confined child process.

PDFium is called directly: its Python helpers would load the system's fonts, which a child cannot open. Its built-in
fonts replace fonts that a file names but does not embed. This build of it runs no scripts.
"""

import ctypes
from typing import Any, BinaryIO, Final

import pypdfium2_raw as pdfium
from PIL import Image

from almoner.platform.files.uploads import image_checks
from almoner.platform.files.uploads.verdicts import FileRefused

_MAX_SIDE: Final = 3600
"""The maximum number of pixels of a side; such a square page takes 52 MB, and its image 39."""
_NO_PAGE: Final = "has no such page, or one that cannot be shown"
_CONFIGURATION_VERSION: Final = 2
_FORMS_VERSION: Final = 2
_BYTE_ORDER: Final = "BGRX"
_WHITE: Final = 0xFFFFFFFF


def initialise_pdfium() -> None:
    """Start PDFium, once for each process."""
    no_fonts = (ctypes.POINTER(ctypes.c_char) * 1)()
    pdfium.FPDF_InitLibraryWithConfig(pdfium.FPDF_LIBRARY_CONFIG(_CONFIGURATION_VERSION, no_fonts, None, 0))


def render_page_and_count_pages(
    content: bytes, page_number: int, target: BinaryIO, longest_side: int, *, quarter_turns: int = 0
) -> int:
    """Render page ``page_number`` (from 1) as a JPEG; ``longest_side``: in pixels. Returns the number of pages.

    ``quarter_turns``: clockwise turns by 90 degrees. Raises FileRefused.
    """
    opened = pdfium.FPDF_LoadMemDocument64(content, len(content), None)
    pages: int = pdfium.FPDF_GetPageCount(opened) if opened else 0
    page = pdfium.FPDF_LoadPage(opened, page_number - 1) if 1 <= page_number <= pages else None
    if not page:
        raise FileRefused(_NO_PAGE)
    image_checks.save_jpeg(_draw(opened, page, min(longest_side, _MAX_SIDE), quarter_turns), target)
    return pages


def _draw(opened: Any, page: Any, side: int, quarter_turns: int) -> Image.Image:
    """Draw the page on white, with its annotations and form values, as readers show it."""
    width, height = pdfium.FPDF_GetPageWidthF(page), pdfium.FPDF_GetPageHeightF(page)
    if not (width > 0 and height > 0):
        raise FileRefused(_NO_PAGE)
    if quarter_turns % 2:
        width, height = height, width
    size = max(1, round(side * width / max(width, height))), max(1, round(side * height / max(width, height)))
    bitmap = pdfium.FPDFBitmap_Create(*size, 0)
    pdfium.FPDFBitmap_FillRect(bitmap, 0, 0, *size, _WHITE)
    pdfium.FPDF_RenderPageBitmap(bitmap, page, 0, 0, *size, quarter_turns, pdfium.FPDF_ANNOT)
    form_info = pdfium.FPDF_FORMFILLINFO(version=_FORMS_VERSION)  # must exist until the drawing is done
    forms = pdfium.FPDFDOC_InitFormFillEnvironment(opened, form_info)
    pdfium.FPDF_FFLDraw(forms, bitmap, page, 0, 0, *size, quarter_turns, pdfium.FPDF_ANNOT)
    stride = pdfium.FPDFBitmap_GetStride(bitmap)
    pixels = ctypes.string_at(pdfium.FPDFBitmap_GetBuffer(bitmap), stride * size[1])
    return Image.frombuffer("RGB", size, pixels, "raw", _BYTE_ORDER, stride, 1)
