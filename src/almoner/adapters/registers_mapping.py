"""Parse and validate a mapping file (TOML) for a register without a reader of its own; reports every problem.

``docs/guides/register-mappings.md`` describes every member. A mapping names the columns it uses; no other is ever read.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal

from almoner.adapters import registers_declaration
from almoner.nonprofits.registers.domain import ImportRefused
from almoner.nonprofits.registries.domain import DeclaredRegistry, has_known_number_format, parse_number_key
from almoner.platform.files.mappings import ENCODINGS, FILE_OPTIONS, ColumnMapping, MappingParser

Kind = Literal["text", "number", "list", "day", "flag", "fact"]

MEMBERS: Final[Mapping[str, Kind]] = {
    "number": "number",
    "part": "text",
    "name": "text",
    "display_name": "text",
    "secondary_name": "text",
    "other_names": "list",
    "description": "text",
    "active": "flag",
    "websites": "list",
    "address_line_1": "text",
    "address_line_2": "text",
    "city": "text",
    "state": "text",
    "postcode": "text",
    "registration_date": "day",
    "until": "day",
    "group_key": "text",
    "is_branch_parent": "flag",
    "parent_number": "text",
}
"""The members of an entry that can be read from columns, and the type of each."""
_OPTIONS: Final[Mapping[Kind, frozenset[str]]] = {
    "text": frozenset({"column", "columns", "join"}),
    "number": frozenset({"column", "columns", "join", "remove"}),
    "list": frozenset({"column", "columns", "separator"}),
    "day": frozenset({"column", "format"}),
    "flag": frozenset({"column", "true", "false"}),
    "fact": frozenset({"column", "columns", "join", "separator", "format", "true", "false"}),
}
_TABLES: Final = frozenset({"source", "registry", "file", "columns", "constants", "facts", "personal"})
_SOURCE: Final = frozenset({"code", "registry", "lists", "unverified", "repeats", "canaries", "quiet"})
_FILE: Final = frozenset({"format", *FILE_OPTIONS})
_CONSTANTS: Final = frozenset({"part", "types", "active", "city", "state", "facts"})
_PERSONAL: Final = frozenset({"never", "none"})
_TYPES: Final = frozenset({"nonprofit", "social_impact", "education"})
_CODE: Final = re.compile(r"[a-z][a-z0-9-]{1,39}", re.ASCII)
_SOUNDS_PERSONAL: Final = re.compile(
    r"e[-_ ]?mail|phone|telefon|téléphone|mobile|\bfax|contact|trustee|director|officer|signator|birth|"
    r"first.?name|last.?name|surname|vorname|nachname|civilit|declarant|déclarant|responsible person|care of|"
    r"ansprechpartner|vorstand|chair(?:man|person|woman)|secretary|treasurer",
    re.IGNORECASE,
)
_NONE_TAKEN: Final[Mapping[str, str | None]] = {}


@dataclass(frozen=True, slots=True)
class RegisterMapping:
    """A valid mapping file."""

    code: str
    registry: str
    declared_registry: DeclaredRegistry | None = None
    lists_organisations: bool = True
    unverified: bool = True
    repeats_numbers: bool = False
    canary_numbers: frozenset[str] = frozenset()
    ignored_columns: frozenset[str] = frozenset()
    format: Literal["csv", "jsonl"] = "csv"
    encoding: str = "utf-8"
    delimiter: str = ","
    quote: str = '"'
    members: Mapping[str, ColumnMapping] = field(default_factory=dict)
    facts: Mapping[str, ColumnMapping] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that is read, once."""
        takings = (*self.members.values(), *self.facts.values())
        return tuple(dict.fromkeys(column for taking in takings for column in taking.columns))


def load_mapping(path: Path, registry_by_existing_source: Mapping[str, str | None] = _NONE_TAKEN) -> RegisterMapping:
    """Load the mapping of a file. Raises ImportRefused that names every problem.

    ``registry_by_existing_source``: the code of every other source, and the registry that it lists, None if it lists
    none.
    """
    try:
        return parse_mapping(path.read_text("utf-8"), str(path), registry_by_existing_source)
    except (OSError, UnicodeDecodeError) as error:
        raise ImportRefused(f"the mapping {path} cannot be read: {error}") from error


def parse_mapping(
    text: str, name: str, registry_by_existing_source: Mapping[str, str | None] = _NONE_TAKEN
) -> RegisterMapping:
    """Parse the text of a mapping file. Raises ImportRefused."""
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ImportRefused(f"the mapping {name} is not TOML: {error}") from error
    checking = _MappingParser(document)
    mapping = checking.mapping(registry_by_existing_source)
    if checking.problems:
        count = len(checking.problems)
        listed = "".join(f"\n- {problem}" for problem in checking.problems)
        raise ImportRefused(f"the mapping {name} has {count} problem{'s' * (count > 1)}:{listed}")
    return mapping


class _MappingParser(MappingParser):
    """Parses a document and collects every problem."""

    def mapping(self, other_sources: Mapping[str, str | None]) -> RegisterMapping:
        """The parsed mapping; valid only without problems."""
        self._reject_unknown_keys("the mapping", self.document, _TABLES, "table")
        source, file = self._table("source", _SOURCE), self._table("file", _FILE)
        columns, constants = self._table("columns", frozenset(MEMBERS)), self._table("constants", _CONSTANTS)
        personal = self._table("personal", _PERSONAL)
        declares, registry = self._registry(source, other_sources)
        members = {
            name: taking
            for name, stated in columns.items()
            if name in MEMBERS
            and (taking := self._taking(f"columns.{name}", stated, _OPTIONS[MEMBERS[name]], MEMBERS[name]))
        }
        facts = {
            name: taking
            for name, stated in self._table("facts", None).items()
            if (taking := self._taking(f"facts.{name}", stated, _OPTIONS["fact"], "fact"))
        }
        self._needed(source, members, constants)
        self._without_persons({"columns": members, "facts": facts}, personal)
        return RegisterMapping(
            code=self._code(source, other_sources),
            registry=registry,
            declared_registry=declares,
            lists_organisations=self._flag(source, "source.lists", default=True),
            unverified=self._flag(source, "source.unverified", default=True),
            repeats_numbers=self._flag(source, "source.repeats", default=False),
            canary_numbers=self._keys(registry, self._texts(source, "source.canaries")),
            ignored_columns=self._quiet(self._texts(source, "source.quiet"), facts, constants),
            members=members,
            facts=facts,
            constants=self._constants(constants, members, facts),
            **self._file(file),
        )

    def _code(self, source: Mapping[str, Any], other_sources: Mapping[str, str | None]) -> str:
        code = source.get("code")
        if not isinstance(code, str) or not _CODE.fullmatch(code):
            self.add_problem(
                "source.code is not 2 to 40 small letters, digits and hyphens: give the source a name of its own"
            )
            return ""
        if code in other_sources:
            self.add_problem(f"source.code {code} is the name of a source with a reader of its own: give yours another")
        return code

    def _registry(
        self, source: Mapping[str, Any], other_sources: Mapping[str, str | None]
    ) -> tuple[DeclaredRegistry | None, str]:
        if "registry" not in self.document:
            return None, self._known_registry(source, other_sources)
        declares = registers_declaration.parse_registry_declaration(self.document["registry"], self.add_problem)
        code = declares.code if declares else ""
        if declares and source.get("registry", code) != code:
            self.add_problem(f"source.registry is not {code}, the code in [registry]: leave it out")
        return declares, code

    def _known_registry(self, source: Mapping[str, Any], other_sources: Mapping[str, str | None]) -> str:
        code = source.get("registry")
        if not isinstance(code, str) or not code:
            self.add_problem(
                "source.registry is missing: name the registry by its code, as GET /v1/registries lists it (NPO)"
            )
            return ""
        if not has_known_number_format(code):
            self.add_problem(
                f"source.registry {code} is not a registry: use a code that GET /v1/registries lists, or declare it in "
                "[registry]"
            )
            return ""
        lister = next((other for other, listed in other_sources.items() if listed == code), None)
        if lister and source.get("lists", True) is True:
            self.add_problem(
                f"the organisations of {code} are listed by {lister}: set source.lists = false to add facts to them"
            )
        return code

    def _file(self, file: Mapping[str, Any]) -> dict[str, Any]:
        kind = file.get("format")
        if kind not in ("csv", "jsonl"):
            self.add_problem('file.format is not "csv" or "jsonl": say which of them the files are')
        if kind == "jsonl" and (stated := sorted({"delimiter", "quote"} & set(file))):
            self.add_problem(f"file.{stated[0]} is for csv: leave it out")
        return {"format": kind, **self._file_options(file, ENCODINGS)}

    def _needed(
        self, source: Mapping[str, Any], members: Mapping[str, ColumnMapping], constants: Mapping[str, Any]
    ) -> None:
        columns = self.document.get("columns", {})
        stated = set(columns) if isinstance(columns, dict) else set(members)
        if "number" not in stated:
            self.add_problem("columns.number is missing: name the column of the numbers in the register")
        if source.get("lists", True) is not True:
            return
        if "name" not in stated:
            self.add_problem("columns.name is missing: name the column of the names, or set source.lists = false")
        if "active" not in stated and "active" not in constants:
            self.add_problem(
                "nothing says which bodies are active: columns.active with the values that mean it, or "
                "constants.active = true when bodies leave the file as they leave the register"
            )
        if "until" in stated and "active" not in stated:
            self.add_problem(
                "columns.until tells of ends and nothing says whose: name the column in columns.active too, such as "
                'active = { column = "Ended", true = [""] }'
            )
        if source.get("repeats", False) is True:
            self.add_problem(
                "source.repeats holds for sources that add facts: say source.lists = false, or leave it out"
            )
        if "types" not in constants:
            self.add_problem(
                'constants.types is missing: types = ["nonprofit"], or [] when the register does not say it'
            )

    def _constants(
        self, constants: Mapping[str, Any], members: Mapping[str, ColumnMapping], facts: Mapping[str, ColumnMapping]
    ) -> dict[str, Any]:
        for name in sorted(set(constants) & set(members)):
            self.add_problem(f"{name} is in columns and in constants: keep one of them")
        types = self._texts(constants, "constants.types")
        for wrong in sorted(set(types) - _TYPES):
            self.add_problem(f"constants.types: {wrong} is not one of {', '.join(sorted(_TYPES))}")
        for name in ("part", "city", "state"):
            if name in constants and not (isinstance(constants[name], str) and constants[name]):
                self.add_problem(f"constants.{name} is not a text")
        self._flag(constants, "constants.active", default=True)
        own = constants.get("facts", {})
        if not isinstance(own, dict) or not all(isinstance(value, str | bool | int) for value in own.values()):
            self.add_problem("constants.facts is not a table of texts, numbers and booleans")
            own = {}
        for name in sorted(set(own) & set(facts)):
            self.add_problem(f"the fact {name} is in facts and in constants.facts: keep one of them")
        return dict(constants)

    def _without_persons(self, takings: Mapping[str, Mapping[str, ColumnMapping]], personal: Mapping[str, Any]) -> None:
        never = set(self._texts(personal, "personal.never"))
        none = set(self._texts(personal, "personal.none"))
        for table, members in takings.items():
            for name, taking in members.items():
                for column in taking.columns:
                    if any(column == each or column.startswith(f"{each}.") for each in never):
                        self.add_problem(
                            f"{table}.{name} reads {column}, which personal.never names: take one of them out"
                        )
                    elif column not in none and _SOUNDS_PERSONAL.search(column):
                        self.add_problem(
                            f"{table}.{name} reads {column}, which sounds like personal data: leave it out, or list it "
                            "in personal.none if you have checked that it has none"
                        )
        for column in sorted(never & none):
            self.add_problem(f"{column} is in personal.never and in personal.none: keep one of them")

    def _keys(self, registry: str, probes: Sequence[str]) -> frozenset[str]:
        keys = {text: parse_number_key(registry, text) for text in probes} if registry else {}
        for text, key in keys.items():
            if key is None:
                self.add_problem(f"source.canaries: {text} is not a number of {registry}")
        return frozenset(key for key in keys.values() if key)

    def _quiet(
        self, quiet: Sequence[str], facts: Mapping[str, ColumnMapping], constants: Mapping[str, Any]
    ) -> frozenset[str]:
        stated = self.document.get("facts", {})
        for name in quiet:
            if name not in facts and name not in stated and name not in constants.get("facts", {}):
                self.add_problem(f"source.quiet names {name}, which is not a fact: add it to facts or remove it")
        return frozenset(quiet)
