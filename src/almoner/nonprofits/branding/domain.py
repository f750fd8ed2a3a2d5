"""An organisation's own branding, and its limits."""

from dataclasses import dataclass
from typing import Final

LOGO_SIDE: Final = 320
IMAGE_SIDE: Final = 1600
MAX_LOGO_BYTES: Final = 40_000  # every donation page contains it
MAX_IMAGE_BYTES: Final = 2_000_000
MAX_IMAGES: Final = 10
MAX_NAME_LENGTH: Final = 200
MAX_DESCRIPTION_LENGTH: Final = 5_000


class InvalidBranding(ValueError):
    """The branding is not valid; the message says why."""


@dataclass(frozen=True, slots=True)
class BrandingOverrides:
    """An organisation's own name, description and images; empty members fall back to its record."""

    display_name: str | None = None
    description: str | None = None
    logo: str | None = None
    images: tuple[str, ...] = ()
    primary_color: str | None = None

    @property
    def image_keys(self) -> set[str]:
        """The media keys of all images."""
        return {*self.images, *([self.logo] if self.logo else ())}


def normalise_text(field_name: str, text: str | None, max_length: int) -> str | None:
    """A text with collapsed whitespace, None if empty. Raises InvalidBranding."""
    if text is None:
        return None
    stored = "\n".join(" ".join(line.split()) for line in text.strip().splitlines()).strip()
    if any(not (character.isprintable() or character == "\n") for character in stored):
        raise InvalidBranding(f"the {field_name} contains characters that cannot be displayed")
    if len(stored) > max_length:
        raise InvalidBranding(f"the {field_name} has {len(stored)} characters, but the maximum is {max_length}")
    return stored or None


def ensure_image_size(field_name: str, image: bytes, max_bytes: int) -> None:
    """Raises InvalidBranding for an image that is too large for every page."""
    if len(image) > max_bytes:
        raise InvalidBranding(
            f"the {field_name} has {len(image)} bytes after processing, but the maximum is {max_bytes}: "
            "use a simpler image"
        )
