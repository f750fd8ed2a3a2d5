"""Pages of people: signing in, and one's own account, for members and operators alike."""
