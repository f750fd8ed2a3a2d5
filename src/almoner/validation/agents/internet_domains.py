"""Domains of email addresses and websites: parsed, reduced to the registered part, compared; pure."""

import unicodedata
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import idna
from publicsuffixlist import PublicSuffixList
from rapidfuzz.distance import OSA

from almoner.kit.scripts import unicode_scripts_in_text
from almoner.kit.web import add_missing_url_scheme
from almoner.platform.outbound.addresses import AddressRefused, ascii_host

_DATA: Final = Path(__file__).parent / "data"
_INSTITUTIONS: Final = frozenset("ac ed edu k12 sch school gov gouv gob go mil police nhs parliament".split())
"""Labels of public suffixes under which one domain serves many bodies: universities, states, armies."""
_OUTSIDERS: Final = frozenset(
    "alum alumni alumnus alumna student students stud stu std members member guest guests my users user lists "
    "community friends fans supporters".split()
)
"""Subdomain labels of mailboxes whose users do not represent the domain's owner, such as students."""


@cache
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()


@cache
def _read_list(name: str) -> frozenset[str]:
    lines = (_DATA / f"{name}.txt").read_text("ascii").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


@dataclass(frozen=True, slots=True)
class Domain:
    """An internet domain. ``registrable_domain``: the registrable part."""

    host: str
    registrable_domain: str

    @property
    def public_suffix(self) -> str:
        """The public suffix: ``org.uk``."""
        return self.registrable_domain.split(".", 1)[1]

    @property
    def registrable_label(self) -> str:
        """The registered label, in its own script."""
        return _to_unicode(self.registrable_domain.split(".", 1)[0])

    @property
    def subdomain_labels(self) -> tuple[str, ...]:
        """The labels before the registered name."""
        return (
            tuple(self.host.removesuffix(self.registrable_domain).rstrip(".").split(".")) if self.has_subdomain else ()
        )

    @property
    def has_subdomain(self) -> bool:
        """Whether the host is longer than the registered domain."""
        return self.host != self.registrable_domain

    @property
    def is_institutional(self) -> bool:
        """Whether the domain belongs to an institution that hosts many organisations, such as a university."""
        return not _INSTITUTIONS.isdisjoint(self.public_suffix.split("."))

    @property
    def is_free_mail(self) -> bool:
        """Whether anybody can create a mailbox there."""
        return self._is("free_mail")

    @property
    def is_disposable(self) -> bool:
        """Whether its mailboxes are disposable."""
        return self._is("disposable")

    @property
    def is_shared_hosting(self) -> bool:
        """Whether many organisations have their pages there."""
        return self._is("shared_hosts")

    @property
    def has_mixed_scripts(self) -> bool:
        """Whether one label mixes letters of several scripts, as lookalike domains do."""
        return any(len(unicode_scripts_in_text(_to_unicode(part))) > 1 for part in self.host.split("."))

    @property
    def is_for_members_or_students(self) -> bool:
        """Whether its mailboxes belong to students, members or other outsiders."""
        return not _OUTSIDERS.isdisjoint(self.subdomain_labels)

    def _is(self, name: str) -> bool:
        listed = _read_list(name)
        return self.registrable_domain in listed or self.host in listed


@dataclass(frozen=True, slots=True)
class Website:
    """A website's domain without ``www``, and whether the address has a path."""

    domain: Domain
    has_path: bool


def parse_domain(host: str) -> Domain | None:
    """The domain of a host; None for IP addresses, public suffixes and invalid text."""
    if ":" in host:
        return None
    try:
        name = ascii_host(host.strip().strip("."))
        for label in name.split("."):
            if label.startswith("xn--"):
                idna.decode(label)
    except (AddressRefused, idna.IDNAError, UnicodeError):
        return None
    if name.rpartition(".")[2].isdigit():
        return None  # an IP address
    registered = _suffixes().privatesuffix(name)
    return None if registered is None else Domain(name, registered)


def parse_email_domain(email: str) -> Domain | None:
    """The domain of an email address; None if it has none."""
    return parse_domain(email.rpartition("@")[2])


def parse_website(url: str) -> Website | None:
    """The website of a URL; None for anything else, including email addresses."""
    text = url.strip()
    try:
        parts = urlsplit(add_missing_url_scheme(text))
        host = parts.hostname
    except ValueError:
        return None
    if not host or parts.username is not None or parts.scheme not in ("http", "https"):
        return None
    while host.startswith("www."):
        host = host[4:]
    domain = parse_domain(host)
    return None if domain is None else Website(domain, parts.path.strip("/") != "" or parts.query != "")


def is_lookalike(domain: Domain, other: Domain) -> bool:
    """Whether one domain may be mistaken for the other: same look, a typo, or another suffix."""
    if domain.registrable_domain == other.registrable_domain:
        return False
    pairs = [
        (_skeleton(domain.registrable_label), _skeleton(other.registrable_label)),
        (domain.registrable_label, other.registrable_label),
    ]
    if any(one == two for one, two in pairs):
        return True
    return any(min(len(one), len(two)) >= 4 and OSA.distance(one, two, score_cutoff=1) <= 1 for one, two in pairs)


def _to_unicode(label: str) -> str:
    try:
        return idna.decode(label)
    except (idna.IDNAError, UnicodeError):
        return label


_CONFUSABLES: Final = {
    ord(letter): shown
    for shown, letters in {
        # Letters that look like Latin ones (Unicode's confusables, those allowed in domains).
        "a": "àáâãäåāăąǎạаαɑ",
        "b": "ьЬƅβᏏ",
        "c": "çćĉċčсϲᴄ",
        "d": "ďđḍԁժ",
        "e": "èéêëēĕėęěẹеєҽ",
        "f": "ƒϝ",
        "g": "ĝğġģɡց",
        "h": "ĥħһհ",
        "i": "ìíîïĩīĭįıịіιɩӏ1l|",
        "j": "ĵјϳ",
        "k": "ķкκ",
        "m": "мṃ",
        "n": "ñńņňṇпηո",
        "o": "òóôõöøōŏőọоοσօ0",
        "p": "рρ",
        "q": "ԛզ",
        "r": "ŕŗřгɾ",
        "s": "śŝşšṣѕʂ5",
        "t": "ţťŧтτ",
        "u": "ùúûüũūŭůűųụυսцᴜ",
        "v": "ѵνᴠ",
        "w": "ŵẁẃẅѡԝωᴡ",
        "x": "хχ×",
        "y": "ýÿŷуүγỳ",
        "z": "źżžẓᴢ",
    }.items()
    for letter in letters
}


def _skeleton(label: str) -> str:
    """The label with confusable letters, hyphens and letter pairs that look alike reduced to one form."""
    folded = unicodedata.normalize("NFKC", label).casefold().translate(_CONFUSABLES)
    return folded.replace("-", "").replace("rn", "m").replace("vv", "w")
