"""What providers paid out to us: their reports, line by line, against what donors paid."""
