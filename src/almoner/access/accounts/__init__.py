"""Account pages for members and operators: signing in, and managing one's own account."""
