"""What may be a password, how codes are read, and how long a wrong try makes the next one wait (ASVS 6.2, 6.3, 6.5)."""

import os
import random
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from almoner.access.credentials import domain as credentials_domain
from almoner.access.credentials import hashing
from almoner.access.credentials.domain import (
    CODE_THROTTLE_ANYWHERE,
    LONGEST_PASSWORD,
    NAME_THROTTLE,
    PASSWORD_THROTTLE,
    SHORTEST_PASSWORD,
    FailedAttempts,
    PasswordTooWeak,
    ThrottlePolicy,
)
from almoner.access.credentials.service import passwords

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
HOUR = timedelta(hours=1)


def judge(password: str, name: str = "ada.lovelace@example.org") -> tuple[str, ...]:
    """The reasons against a password."""
    try:
        credentials_domain.ensure_strong_password(
            credentials_domain.normalise_password(password), name, passwords.common_passwords()
        )
    except PasswordTooWeak as weak:
        return weak.reasons
    return ()


@pytest.mark.parametrize(
    "password",
    [
        "seven green herons dance",
        "Ünïcödé Grüße 🦩 morgen",
        "no digits no capitals",
        "            x y z w v u",
        "x" + "abcdefghij" * 19 + "!",
        "パスワードは長い方がよいのです",
        "\tcontrol\x00characters too",
    ],
)
def test_any_characters_will_do(password: str) -> None:
    assert judge(password) == ()


@pytest.mark.parametrize(
    "password",
    [
        "short",
        "elevenchars",
        "y" + "abcdefghij" * 20,
        "password1234",
        "PASSWORD1234",
        "Administrator",
        "qwertyuiop123",
        "monkey2026!!!",
        "111111111111",
        "abcabcabcabc",
        "abcdefghijklm",
        "123456789000",
        "zyxwvutsrqpo",
        "summer! summer! ",
        "I am ada.lovelace!",
        "ADA.LOVELACE@EXAMPLE.ORG",
        "broken \ud800 text here",
    ],
)
def test_what_everybody_tries_is_refused(password: str) -> None:
    assert judge(password)


def test_lengths_count_characters_after_normalising() -> None:
    assert judge("a" * 3 + "bcdefghi" + "é") == ()
    assert judge("e\u0301" * 6 + "abcde"), "eleven characters, however they are composed"
    assert credentials_domain.normalise_password("ﬁne e\u0301") == "fine é"
    assert (SHORTEST_PASSWORD, LONGEST_PASSWORD) == (12, 200)
    phrase = "".join(f"{number * number} words " for number in range(30))
    assert judge(phrase[:LONGEST_PASSWORD]) == ()
    assert judge(phrase[: LONGEST_PASSWORD + 1])


def test_all_reasons_are_told_at_once_in_sentences() -> None:
    name, common = (
        "Password must not contain your username",
        "This is a common password and is easy to guess. Choose a different one",
    )
    assert judge("lovelace", "lovelace") == (
        "Password must be at least 12 characters. Try several unusual words",
        name,
    )
    assert judge("ada@home " + "x1y2z3a4" * 24, "ada@home") == ("Password must be 200 characters or fewer", name)
    assert judge("password1234") == (common,)


def test_a_short_name_may_be_in_a_password() -> None:
    assert judge("alternating herons", "alt") == ()
    assert judge("alternating herons", "alt@example.org") == ()
    assert judge("alternating herons", "alte")
    assert judge("alternating herons", "alte@ring@nest"), "what stands before the first sign"


def test_five_different_characters_in_no_order_are_enough() -> None:
    assert judge("aabbccddeabcdce") == ()
    assert judge("aabbccddabcdcab")


def test_a_name_that_can_be_stored_has_no_nul_and_no_half_character() -> None:
    assert credentials_domain.can_be_stored_in_database("Zoë 🦩 \ud7ff\ue000")
    for broken in ("a\0", "\0", "\ud800", "x\udfff"):
        assert not credentials_domain.can_be_stored_in_database(broken)


def test_the_list_is_small_and_says_where_it_comes_from() -> None:
    text = (passwords._LIST).read_text()
    assert "BSD" in text.splitlines()[2]
    assert len(text) < 40_000
    assert len(passwords.common_passwords()) > 1_500


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("123456", "123456"),
        (" 123 456 ", "123456"),
        ("123-456", "123456"),
        ("١٢٣٤٥٦", "123456"),
        ("１２３４５６", "123456"),
    ],
)
def test_digits_are_read_as_people_type_them(typed: str, read: str) -> None:
    assert credentials_domain.parse_one_time_code(typed) == read


@pytest.mark.parametrize("typed", ["", "12345", "1234567", "12345a", "²23456", "123456\x00"])
def test_what_is_no_code_is_none(typed: str) -> None:
    assert credentials_domain.parse_one_time_code(typed) is None


def test_a_passkey_is_called_in_one_printable_line() -> None:
    assert credentials_domain.clean_passkey_name(" My \x00 \n laptop ") == "My laptop"
    assert credentials_domain.clean_passkey_name("\u200f \ud800") == "Passkey"
    assert len(credentials_domain.clean_passkey_name("x" * 99 + " y")) == 99


def test_a_recovery_code_is_eighty_bits_in_groups_of_four() -> None:
    assert credentials_domain.encode_recovery_code(bytes(range(16))) == "aaaq-eaye-auda-ocaj"


def test_recovery_codes_are_read_whatever_their_case_and_blanks() -> None:
    for _ in range(200):
        code = credentials_domain.encode_recovery_code(os.urandom(16))
        assert len(code) == 19
        assert credentials_domain.parse_recovery_code(code) == code
        assert credentials_domain.parse_recovery_code(f" {code.upper().replace('-', ' ')} ") == code
        assert (
            credentials_domain.parse_recovery_code(code.replace("o", "0").replace("l", "1").replace("b", "8")) == code
        )
    assert credentials_domain.parse_recovery_code("abcd") is None
    assert credentials_domain.parse_recovery_code("äbcd-efgh-ijkl-mnop") is None


def waits(brake: ThrottlePolicy, tries: int) -> list[float]:
    """Seconds to wait after each of so many wrong tries, made as soon as they may be."""
    at, found = AT, []
    for failures in range(1, tries + 1):
        until = FailedAttempts(failures, at).next_allowed_at(brake, at)
        found.append((until - at).total_seconds() if until else 0.0)
        at = until or at
    return found


def test_after_five_wrong_tries_the_wait_doubles_to_a_minute() -> None:
    assert waits(PASSWORD_THROTTLE, 13) == [0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_a_try_is_taken_at_its_very_moment() -> None:
    attempts = FailedAttempts(5, AT)
    assert attempts.next_allowed_at(PASSWORD_THROTTLE, AT + timedelta(seconds=1)) is None
    assert attempts.next_allowed_at(PASSWORD_THROTTLE, AT + timedelta(milliseconds=999)) == AT + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("brake", "most"), [(PASSWORD_THROTTLE, 75), (NAME_THROTTLE, 100), (CODE_THROTTLE_ANYWHERE, 25)]
)
def test_no_hour_has_more_guesses_than_the_standard_allows(brake: ThrottlePolicy, most: int) -> None:
    """ASVS 6.3.1, NIST 800-63B: at most 100 in an hour for one name."""
    for seed in range(20):
        chance = random.Random(seed)
        at, attempts, made = AT, FailedAttempts(0, AT), []
        while at < AT + 6 * HOUR:
            at = attempts.next_allowed_at(brake, at) or at
            made.append(at)
            attempts = FailedAttempts(attempts.count_unexpired(brake, at) + 1, at)
            if seed and chance.random() < 0.1:
                at += timedelta(minutes=chance.random() * 30)
        busiest = max(sum(one <= other < one + HOUR for other in made) for one in made)
        assert busiest <= most, seed


def test_wrong_tries_fade() -> None:
    attempts = FailedAttempts(7, AT)
    assert [attempts.count_unexpired(PASSWORD_THROTTLE, AT + HOUR * n) for n in range(9)] == [
        7,
        6,
        5,
        4,
        3,
        2,
        1,
        0,
        0,
    ]
    assert attempts.count_unexpired(PASSWORD_THROTTLE, AT - HOUR) == 7, "a clock that is behind forgives nothing"


def test_the_cost_of_hashes_is_that_of_today() -> None:
    source = (
        "from almoner.access.credentials import hashing; import asyncio; print(asyncio.run(hashing.hash_secret(b'x')))"
    )
    made = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert made.startswith("$argon2id$v=19$m=47104,t=2,p=1$")


async def test_hashes_are_argon2id_of_today_and_tell_right_from_wrong(hashes_of_today: None) -> None:
    made = await hashing.hash_secret(b"secret")
    assert made.startswith("$argon2id$v=19$m=47104,t=2,p=1$")
    assert await hashing.verify_hash(made, b"secret", has_priority=True)
    assert not await hashing.verify_hash(made, b"other", has_priority=True)
    assert not await hashing.verify_hash("$argon2id$broken", b"secret", has_priority=False)
    assert not hashing.needs_rehash(made)
    assert not hashing.needs_rehash(hashing.dummy_hash()), "what stands for nobody's hash takes as long as others"
    assert hashing.needs_rehash(made.replace("t=2", "t=1"))
