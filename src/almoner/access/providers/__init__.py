"""Pages of sign-on at a partner's provider: the way there and back, and how owners set it up."""
