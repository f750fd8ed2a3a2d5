"""Checks that continue while a partner subscribes: monitoring, eligibility, watch list matches."""
