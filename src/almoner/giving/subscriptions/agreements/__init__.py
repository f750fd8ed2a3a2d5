"""What donors agree to who give regularly, in the words that they are shown."""
