"""Hosted pages: layout, style, languages, money and dates, headers, visits (architecture 5, H1-H4, H8, H9)."""
