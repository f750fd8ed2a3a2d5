"""Checks whether a text can be a number of a registry.

Nothing is looked up and no names are compared. A possibly intended number is given as a hint and never used: a guessed
number belongs to another body.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from almoner.nonprofits.registries import check_digits, number_formats
from almoner.nonprofits.registries.number_formats import (
    MAX_CHARACTERS,
    NUMBER_FORMATS,
    EnteredRegistrationNumber,
    NumberFormat,
)

Verdict = Literal["ok", "malformed", "wrong_check_digit", "refused"]


@dataclass(frozen=True, slots=True)
class IdentifierCheck:
    """The result of checking a number.

    ``number_key``: set whenever the format is right, so that it can be looked up despite a wrong check digit;
    ``formatted_number``: as the register writes it. ``explanation``: a whole sentence; ``suggested_numbers``: possibly
    intended numbers. ``is_format_known``: whether there was a format to check it against.
    """

    verdict: Verdict
    explanation: str
    number_key: str | None = None
    formatted_number: str | None = None
    suggested_numbers: tuple[str, ...] = ()
    is_format_known: bool = True


def check_registry_number(registry_code: str, number: str) -> IdentifierCheck:
    """Check a text as a number of this registry."""
    if (numbering := NUMBER_FORMATS.get(registry_code)) is None:
        return _check_declared(registry_code, number)
    if (key := number_formats.parse_number_key(registry_code, number)) is None:
        return _explain_invalid(registry_code, numbering, number)
    written = number_formats.format_registry_number(registry_code, key)
    agree = check_digits.has_valid_check_digits(registry_code, key)
    doubts = tuple(_warnings(registry_code, number, key, agree=agree))
    if agree is False:
        return IdentifierCheck(
            "wrong_check_digit", f"{written} breaks the rule of its check digit.", key, written, doubts
        )
    proof = "its check digit is right" if agree else "it has no check digit to prove it by"
    return IdentifierCheck("ok", f"The number has the form of its register; {proof}.", key, written, doubts)


def _check_declared(code: str, text: str) -> IdentifierCheck:
    key = number_formats.parse_number_key(code, text) if len(text) <= MAX_CHARACTERS else None
    if key is None:
        return IdentifierCheck("malformed", "There is no number, or the text is longer than any.")
    reason = "Almoner does not check the format of this register's numbers."
    return IdentifierCheck("ok", reason, key, text.strip(), is_format_known=False)


def _warnings(code: str, text: str, key: str, *, agree: bool | None) -> Iterator[str]:
    """Warnings about a number with the right format."""
    if code == "IRS":
        from stdnum.us import ein  # on first use

        if re.fullmatch(r"\s*[0-9]{3}-[0-9]{2}-[0-9]{4}\s*", text):
            yield "it is grouped like the social security number of a person: is it an EIN?"
        if not ein.is_valid(key):
            yield f"few EINs begin with {key[:2]}"  # real EINs do begin with these: 00, 69, 78, 96, 97
    if code == "RFC" and agree is False:
        yield "some numbers in use break the rule: look it up before it is called wrong"  # about 1.5 % (stdnum.mx.rfc)


def _explain_invalid(code: str, numbering: NumberFormat, text: str) -> IdentifierCheck:
    form = f"A number of this register has {numbering.form}, such as {numbering.example}"
    spelling = EnteredRegistrationNumber(text)
    if not spelling.without_hyphens:
        return IdentifierCheck("malformed", f"There is no number. {form}.")
    if len(text) > MAX_CHARACTERS:
        return IdentifierCheck("malformed", f"The text is longer than any number. {form}.")
    if number_formats.is_number_mangled_by_spreadsheet(text):
        reason = "A spreadsheet has turned the number into a quantity, which loses digits: take it from its source."
        return IdentifierCheck(
            "malformed", reason, suggested_numbers=_suggestion(code, re.sub(r"[.,]0+\s*$", "", text))
        )
    if spelling.without_hyphens in numbering.refused:
        return IdentifierCheck(
            "refused", "This number was never given to anybody: it fills a field that must not be empty."
        )
    if (ascii_text := number_formats.to_ascii_digits(text)) != text:
        reason = f"The digits are of another script or style: write them as 0 to 9. {form}."
        return IdentifierCheck("refused", reason, suggested_numbers=_suggestion(code, ascii_text))
    if (other := _other_number(code, numbering, text, spelling)) is not None:
        return IdentifierCheck("refused", f"{other}. {form}.", suggested_numbers=tuple(_hints(code, spelling)))
    return IdentifierCheck("malformed", f"{form}.", suggested_numbers=tuple(_hints(code, spelling)))


_OTHER_NUMBERS: Final = (
    ("ACNC", re.compile(r"(?:ACN)?[0-9]{9}"), "Nine digits are the number of a company (ACN), not an ABN"),
    ("CRI", re.compile(r"(?:IECHY)?CHY(?:NO)?[0-9]{1,6}"), "A CHY number is that of the tax office"),
    ("ANBI", re.compile(r"(?:NL)?KVK[0-9]{8}"), "A KVK number is that of the trade register, not the fiscal number"),
    ("RFC", re.compile(r"[A-ZÑ&]{4}[0-9]{6}[0-9A-Z]{3}"), "Thirteen characters are the number of a person"),
    ("CRA", re.compile(r"(?:BN)?[0-9]{9}R[CMPTZ][0-9]{4}"), "This is another account of the business"),
    ("RNA", re.compile(r"[0-9]{9}|[0-9]{14}"), "Nine or fourteen digits are a SIREN or SIRET"),
)


def _other_number(code: str, numbering: NumberFormat, text: str, spelling: EnteredRegistrationNumber) -> str | None:
    """Which other kind of number the text is; None if unknown."""
    name = number_formats.org_id_prefix(text)
    if name is not None and name not in numbering.lists:
        listed = number_formats.parse_org_id(text)
        return f"{name} is the prefix of {'numbers of ' + listed[0] if listed else 'another list'}"
    for of_code, pattern, sentence in _OTHER_NUMBERS:
        if of_code == code and pattern.fullmatch(spelling.without_hyphens):
            return sentence
    return None


def _hints(code: str, spelling: EnteredRegistrationNumber) -> Iterator[str]:
    digits = re.sub(r"\D", "", spelling.without_hyphens, flags=re.ASCII)
    if code in _LEADING_ZEROS and (padded := _zero_padded(code, spelling.without_hyphens)):
        yield f"a leading zero may be missing: {padded}?"
    if (letters := _LEADING_LETTERS.get(code)) and _is_ok(code, f"{letters}{spelling.without_hyphens}"):
        yield f"its letters may be missing: {letters}{spelling.without_hyphens}?"
    if replaced := _letters_for_digits(code, spelling.without_hyphens):
        yield f"a letter may stand for a digit: {replaced}?"
    if code == "CCEW":
        yield from _hints_of_ccew(spelling, digits)
    if code == "CRA" and re.fullmatch(r"(?:BN)?[0-9]{9}", spelling.without_hyphens) and _is_ok(code, f"{digits}RR0001"):
        yield f"the account is missing, RR and four digits: {digits}RR0001?"
    yield from (f"this is how {other} writes its numbers" for other in _registers_like(code, spelling))


def _hints_of_ccew(spelling: EnteredRegistrationNumber, digits: str) -> Iterator[str]:
    if linked := re.search(r"([0-9]{6,7})\s*[./_]\s*([0-9]{1,5})\s*$", spelling.text):
        yield f"a linked charity is written with a hyphen: {'-'.join(linked.groups())}?"
    elif (stripped := digits.lstrip("0")) != digits and _is_ok("CCEW", stripped):
        yield f"numbers of this register do not begin with 0: {stripped}?"


def _registers_like(code: str, spelling: EnteredRegistrationNumber) -> Iterator[str]:
    """Registers whose numbers begin with letters of their own."""
    own = (other for other in ("OSCR", "NZCS", "RNA", "CRA") if other != code)
    return (other for other in own if NUMBER_FORMATS[other].pattern.fullmatch(spelling.without_hyphens))


_LEADING_ZEROS: Final = {"IRS": 9, "OSCR": 8, "CRA": 15, "ANBI": 9, "CNPJ": 14, "FCRA": 9}
"""Registers whose numbers may begin with 0 (after SC, for Scotland), and the length of a number."""


_LEADING_LETTERS: Final = {"OSCR": "SC", "NZCS": "CC"}
"""Registers whose numbers begin with letters of their own."""


def _zero_padded(code: str, joined: str) -> str | None:
    prefix, rest = ("SC", joined.removeprefix("SC")) if code == "OSCR" else ("", joined)
    candidate = prefix + rest.rjust(_LEADING_ZEROS[code] - len(prefix), "0")
    # Adding more than two zeros would turn anything into a number.
    return candidate if 0 < len(candidate) - len(prefix) - len(rest) <= 2 and _is_ok(code, candidate) else None


_LOOK_ALIKES: Final = str.maketrans("OQILSB", "001158")


def _letters_for_digits(code: str, joined: str) -> str | None:
    prefix = joined[: 2 if code in ("OSCR", "NZCS") else 0]
    candidate = prefix + joined[len(prefix) :].translate(_LOOK_ALIKES)
    return candidate if candidate != joined and _is_ok(code, candidate) else None


def _is_ok(code: str, candidate: str) -> bool:
    key = number_formats.parse_number_key(code, candidate)
    return key is not None and check_digits.has_valid_check_digits(code, key) is not False


def _suggestion(code: str, candidate: str) -> tuple[str, ...]:
    key = number_formats.parse_number_key(code, candidate)
    return (f"{number_formats.format_registry_number(code, key)}?",) if key is not None and _is_ok(code, key) else ()
