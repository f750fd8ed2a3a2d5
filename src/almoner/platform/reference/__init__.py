"""The API reference page at /docs, generated from the API description, without scripts."""
