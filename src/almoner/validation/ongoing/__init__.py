"""What is checked for as long as a partner subscribes: monitoring, eligibility, watch list matches."""
