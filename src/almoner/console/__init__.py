"""Web pages for operators: reviews, money, data, partners, people and health.

The pages call the same services as the CLI commands.
"""
