"""The documentation site: pages as Markdown, made from docs/ and from the code, and what Sphinx makes of them."""
