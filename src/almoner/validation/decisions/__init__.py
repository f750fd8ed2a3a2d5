"""What people decide: the review queue, and appeals against decisions."""
