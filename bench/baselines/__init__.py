"""The same work without the framework around it: what keys, limits, validation, logs and links cost."""

from collections.abc import Callable
from typing import Any


def replace(owner: object, replaced: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    """Replace a function, method or class of ``owner``, a module or class, for the rest of the process."""
    assert getattr(owner, replaced.__name__) is replaced
    setattr(owner, replaced.__name__, replacement)
