"""Random users and random filters, built from few words so that they often match."""

from typing import Any, Final

from hypothesis import strategies as st

ENTERPRISE: Final = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User"
CORE: Final = "urn:ietf:params:scim:schemas:core:2.0:User"

TEXTS = st.sampled_from(
    [
        "a",
        "A",
        "ab",
        "B%",
        "b_",
        "%",
        "_",
        "\\",
        "",
        "é",
        "e\u0301",
        "É",
        "Ünal",
        "ünal",
        "ß",
        "'",
        '"',
        "Ж",
        "ж",
        "山",
        "z z",
        "10",
        "9",
    ]
)
WORDS = st.one_of(TEXTS, st.text("abAB%_é'\\ 1", max_size=4))
KINDS = st.sampled_from(["work", "Work", "home", "x"])
BOOLEANS = st.booleans()


def _maybe(**parts: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=parts).filter(bool)


_ENTRY = _maybe(value=WORDS, type=KINDS, display=WORDS, primary=BOOLEANS)
_URL = st.sampled_from(["http://x.example/a", "http://x.example/A", "http://y.example/"])
_PHOTO = _maybe(value=_URL, type=KINDS)
_ADDRESS = _maybe(locality=WORDS, country=WORDS, type=KINDS)
_CERTIFICATE = _maybe(value=st.sampled_from(["aGVsbG8=", "d29ybGQ="]), display=WORDS)


def _some(entry: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(entry, min_size=1, max_size=3)


USERS = st.fixed_dictionaries(
    {"userName": st.text("abAB%_é", min_size=1, max_size=4)},
    optional={
        "externalId": WORDS,
        "active": BOOLEANS,
        "title": WORDS,
        "displayName": WORDS,
        "profileUrl": _URL,
        "name": _maybe(givenName=WORDS, familyName=WORDS, formatted=WORDS),
        "emails": _some(_ENTRY),
        "photos": _some(_PHOTO),
        "addresses": _some(_ADDRESS),
        "x509Certificates": _some(_CERTIFICATE),
        ENTERPRISE: _maybe(
            employeeNumber=WORDS, department=WORDS, manager=st.fixed_dictionaries({"value": WORDS, "$ref": WORDS})
        ),
    },
)

_TEXT_PATHS = [
    "userName",
    "USERNAME",
    f"{CORE}:userName",
    "externalId",
    "title",
    "displayName",
    "profileUrl",
    "name.givenName",
    "name.familyName",
    "emails",
    "emails.value",
    "emails.type",
    "emails.display",
    "photos",
    "photos.value",
    "addresses.locality",
    "groups",
    "groups.display",
    "groups.$ref",
    "groups.type",
    "schemas",
    "nickName",
    "meta.resourceType",
    "meta.version",
    "meta.location",
    f"{ENTERPRISE}:department",
    f"{ENTERPRISE}:employeeNumber",
    f"{ENTERPRISE}:manager.value",
    f"{ENTERPRISE}:manager.$ref",
    "id",
]
_BOOLEAN_PATHS = ["active", "emails.primary"]
_TIME_PATHS = ["meta.created", "meta.lastModified"]
_WHOLE_PATHS = ["name", "addresses", "meta", "x509Certificates", f"{ENTERPRISE}:manager", "password"]
_LISTS = {
    "emails": (["value", "type", "display"], ["primary"]),
    "photos": (["value", "type"], ["primary"]),
    "addresses": (["locality", "country"], ["primary"]),
    "groups": (["value", "display"], []),
    "schemas": (["value", "other"], []),
}
_TIMES = ["2000-01-01T00:00:00Z", "2026-03-02T09:30:00Z", "2026-03-02T10:30:00+01:00", "2999-12-31T23:59:59.999Z"]
_ORDERING = ["eq", "ne", "co", "sw", "ew", "gt", "ge", "lt", "le"]
SORTS: Final = [
    *(path for path in _TEXT_PATHS if path != "meta.location"),
    *_BOOLEAN_PATHS,
    *_TIME_PATHS,
]


def _quoted(text: str) -> str:
    letters = (f"\\{letter}" if letter in '"\\' else letter for letter in text)
    return f'"{"".join(letters)}"'


def _literals(known: list[str]) -> st.SearchStrategy[str]:
    return st.one_of(st.one_of(WORDS, st.sampled_from(known)).map(_quoted), st.just("null"))


def _leaf(texts: list[str], booleans: list[str], literals: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    compared = st.tuples(st.sampled_from(texts), st.sampled_from(_ORDERING), literals).map(" ".join)
    present = st.sampled_from([*texts, *booleans]).map("{} pr".format)
    if not booleans:
        return st.one_of(compared, present)
    yes_no = st.tuples(
        st.sampled_from(booleans), st.sampled_from(["eq", "ne"]), st.sampled_from(["true", "false", "null"])
    ).map(" ".join)
    return st.one_of(compared, present, yes_no)


def _joined(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        inner.map("not ({})".format),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map("({0[0]}) {0[1]} ({0[2]})".format),
        st.tuples(inner, inner, inner).map("{0[0]} or {0[1]} and {0[2]}".format),
    )


def filters(known: list[str]) -> st.SearchStrategy[str]:
    """Filters of users; ``known``: texts that occur in users, such as IDs."""
    literals = _literals(known)
    times = st.tuples(
        st.sampled_from(_TIME_PATHS), st.sampled_from(_ORDERING), st.sampled_from(_TIMES).map(_quoted)
    ).map(" ".join)
    whole = st.tuples(st.sampled_from(_WHOLE_PATHS), st.sampled_from(["pr", "eq null", "ne null"])).map(" ".join)
    complexes = st.sampled_from(['name eq "x"', 'name ne "x"', 'addresses ne "x"', 'addresses co "x"', 'name gt "x"'])
    binary = st.sampled_from(['x509Certificates eq "aGVsbG8="', 'x509Certificates.value ne "aGVsbG8="'])
    chosen = [
        st.recursive(_leaf(texts, booleans, literals), _joined, max_leaves=3).map(f"{name}[{{}}]".format)
        for name, (texts, booleans) in _LISTS.items()
    ]
    leaf = st.one_of(_leaf(_TEXT_PATHS, _BOOLEAN_PATHS, literals), times, whole, complexes, binary, *chosen)
    return st.recursive(leaf, _joined, max_leaves=5)
