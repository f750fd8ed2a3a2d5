"""Donors who declared Gift Aid for a regular donation are reminded once a year, and can end it there."""
