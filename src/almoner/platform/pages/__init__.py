"""Hosted pages: layout, style, languages, money and dates for people, headers, visits (house 5, H1-H4, H8, H9)."""
