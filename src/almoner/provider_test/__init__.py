"""The built-in payment provider of the sandbox: its own tables, pages and callbacks.

It stands for a provider whose hosted page takes the card: Almoner talks to it over HTTP alone, as to any other. It is
not wired in production. No card number is stored or logged; of a card it keeps the brand and the last four digits.
"""
