"""Web addresses as people write them."""

import re

_ADDRESS = re.compile(r"(?:https?://)?[^\s/?#@:.]+(?:\.[^\s/?#@:.]+)+\.?(?::[0-9]{1,5})?(?:[/?#]\S*)?", re.IGNORECASE)


def is_web_address(text: str) -> bool:
    """Whether the text is an address of the web, with or without ``https://``: a host with a dot in it, at least."""
    return _ADDRESS.fullmatch(text) is not None
