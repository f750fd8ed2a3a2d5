"""Hosted pages: layout, languages, money and dates, headers, link sessions (architecture 5, H1-H4, H8, H9)."""
