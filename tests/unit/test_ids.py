"""Identifiers: TypeID text form, order of creation, one environment each."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from almoner.kit.ids import TYPES, RecordIdCodec, Uuid7Generator, decode_uuid, encode_uuid

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


@given(st.uuids())
def test_text_form_goes_there_and_back(value: UUID) -> None:
    assert decode_uuid(encode_uuid(value)) == value


def test_text_form_is_the_typeid_one() -> None:
    # Valid examples of the TypeID specification (jetify-com/typeid, spec/valid.json).
    assert encode_uuid(UUID(int=0)) == "0" * 26
    assert encode_uuid(UUID(int=2**128 - 1)) == "7zzzzzzzzzzzzzzzzzzzzzzzzz"
    assert encode_uuid(UUID("0110c853-1d09-52d8-d73e-1194e95b5f19")) == "0123456789abcdefghjkmnpqrs"


@given(st.uuids(), st.uuids())
def test_text_sorts_as_the_uuid(left: UUID, right: UUID) -> None:
    assert (encode_uuid(left) < encode_uuid(right)) == (left.bytes < right.bytes)


def test_other_types_environments_and_spellings_are_refused() -> None:
    sandbox, live = RecordIdCodec(sandbox=True), RecordIdCodec(sandbox=False)
    value = Uuid7Generator()(NOON)
    text = sandbox.encode("donation", value)
    assert sandbox.decode("donation", text) == value
    assert sandbox.decode("donationsession", text) is None
    assert live.decode("donation", text) is None
    assert sandbox.decode("donation", live.encode("donation", value)) is None
    for wrong in (
        text.upper(),
        text + "0",
        text[:-1],
        text[:-1] + "u",
        text.replace("donation_", "donation_8")[: len(text)],
    ):
        assert sandbox.decode("donation", wrong) is None


def test_examples_fit_their_patterns() -> None:
    import re

    for ids in (RecordIdCodec(sandbox=True), RecordIdCodec(sandbox=False)):
        for type_ in TYPES:
            assert re.fullmatch(ids.id_pattern(type_), ids.example_id(type_))


def test_identifiers_never_go_backwards() -> None:
    new_id = Uuid7Generator()
    # Many in one millisecond, then a clock that falls back by a second.
    moments = [NOON] * 5000 + [NOON - timedelta(seconds=1)] * 100 + [NOON + timedelta(milliseconds=1)]
    made = [new_id(moment) for moment in moments]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


@given(st.binary(min_size=10, max_size=10))
def test_identifiers_are_version_seven(tail: bytes) -> None:
    made = Uuid7Generator(lambda length: tail[:length])(NOON)
    assert made.version == 7
    assert made.variant == "specified in RFC 4122"
    assert made.int >> 80 == int(NOON.timestamp() * 1000)
