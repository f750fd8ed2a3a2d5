"""Notifies nonprofits of new payee accounts, and lets them report accounts that are not their own."""
