"""Checks that continue while a partner subscribes: monitoring, eligibility, watchlist matches."""
