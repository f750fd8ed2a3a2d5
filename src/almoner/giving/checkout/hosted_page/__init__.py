"""The hosted donation page: from the link to the thank-you (spec 2.7, 4.8; H1-H4)."""
