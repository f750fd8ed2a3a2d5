"""The consent texts of regular donations, as shown to donors."""
