"""The mails that tell a donor that money went back: held money, with why it was none of a gift, and gifts."""
