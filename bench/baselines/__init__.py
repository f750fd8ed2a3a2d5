"""The same work without the framework around it: what keys, limits, validation, logs and links cost."""

from collections.abc import Callable
from typing import Any


def replace(owner: object, replaced: Callable[..., Any], replacement: Callable[..., Any]) -> None:
    """Replace a function, method or class of ``owner``, a module or class, for the rest of the process."""
    (name,) = [name for name, value in vars(owner).items() if value is replaced]
    setattr(owner, name, replacement)
