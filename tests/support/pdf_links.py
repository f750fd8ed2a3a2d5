"""What a reader of PDFs turns into links by itself, as browsers do."""

import pypdfium2_raw as pdfium

from almoner.platform.files.uploads.pdf_pages import initialise_pdfium


def count_web_links(content: bytes) -> int:
    """How many links Chromium's reader finds in the text of the pages, besides those that the document has."""
    initialise_pdfium()
    opened, found = pdfium.FPDF_LoadMemDocument64(content, len(content), None), 0
    for number in range(pdfium.FPDF_GetPageCount(opened)):
        text = pdfium.FPDFText_LoadPage(pdfium.FPDF_LoadPage(opened, number))
        found += pdfium.FPDFLink_CountWebLinks(pdfium.FPDFLink_LoadWebLinks(text))
    return found
