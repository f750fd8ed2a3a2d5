"""Web pages for operators: reviews, money, data, partners, people and health.

They call the same services as the commands.
"""
