"""Tokens and roles of operators, without a database."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from almoner.access.keys import domain as keys_domain
from almoner.access.operators import domain as operators_domain
from almoner.access.operators.domain import InvalidOperatorToken, OperatorRoleRequired, OperatorToken
from almoner.access.people.domain import OPERATORS, Person, Role, build_profile
from almoner.kit.errors import IncorrectParams
from almoner.settings import read_settings

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
TOKEN = OperatorToken(UUID(int=2), UUID(int=1), "laptop", "wxyz", NOW - timedelta(days=1), NOW + timedelta(days=1))


def person(*roles: Role, name: str = "Ada", active: bool = True) -> Person:
    profile = {**build_profile("ada@example.org", name=name), "active": active}
    return Person(UUID(int=sum(name.encode())), OPERATORS, profile, active, 1, NOW, NOW, frozenset(roles))


@pytest.mark.parametrize("sandbox", [True, False])
def test_k1_a_token_has_the_form_of_a_key_with_a_beginning_of_its_own(sandbox: bool) -> None:
    start = operators_domain.token_prefix(sandbox=sandbox)
    made = keys_domain.generate_secret(start)
    assert start == ("op_sandbox_" if sandbox else "op_live_")
    assert len(made) == len(start) + 38
    assert keys_domain.is_well_formed_secret(start, made)
    assert keys_domain.key_kind_of_secret(made, sandbox=sandbox) is None, "a token is no key"
    assert not keys_domain.is_well_formed_secret(operators_domain.token_prefix(sandbox=not sandbox), made)
    for wrong in (made[:-1], made + "0", made[:-1] + ("a" if made[-1] != "a" else "b"), made.replace(made[15], "-")):
        assert not keys_domain.is_well_formed_secret(start, wrong)


@pytest.mark.parametrize("days", [1, 90, 365])
def test_a_token_lives_a_day_to_a_year(days: int) -> None:
    assert operators_domain.parse_token_lifetime(days) == timedelta(days=days)


@pytest.mark.parametrize("days", [-1, 0, 366])
def test_no_token_lives_longer_or_not_at_all(days: int) -> None:
    with pytest.raises(IncorrectParams):
        operators_domain.parse_token_lifetime(days)


@pytest.mark.parametrize("name", ["", "  ", "x" * 101])
def test_a_token_has_a_name(name: str) -> None:
    with pytest.raises(IncorrectParams):
        operators_domain.parse_token_name(name)
    assert operators_domain.parse_token_name(" laptop ") == "laptop"


def test_a_token_works_until_its_very_end() -> None:
    end = TOKEN.expires_at
    operators_domain.ensure_token_valid(TOKEN, person("finance"), end - timedelta(microseconds=1))
    for token, who, at, why in (
        (TOKEN, person("finance"), end, "expired on 2026-03-03"),
        (replace(TOKEN, revoked_at=NOW), person("finance"), NOW, "is revoked"),
        (TOKEN, person("finance", active=False), NOW, "Ada is deactivated"),
    ):
        with pytest.raises(InvalidOperatorToken, match=why):
            operators_domain.ensure_token_valid(token, who, at)
        assert not (token.is_valid(at) and who.active)


def test_an_administrator_decides_about_nothing_by_that() -> None:
    ada, bo = person("administrator"), person("reviewer", "finance", name="Bo")
    for role in ("reviewer", "finance"):
        operators_domain.ensure_has_role(bo, "operator_bo", [role], [ada])
        with pytest.raises(
            OperatorRoleRequired, match=f"Ada lacks the role {role}, and nobody can change their own roles"
        ):
            operators_domain.ensure_has_role(ada, "operator_ada", [role], [ada])
        eve = person("administrator", name="Eve")
        with pytest.raises(OperatorRoleRequired, match=f"Ada lacks the role {role}: Eve can grant it under Operators"):
            operators_domain.ensure_has_role(ada, "operator_ada", [role], [ada, eve])
    with pytest.raises(OperatorRoleRequired, match="almoner operators set-roles operator_bo"):
        operators_domain.ensure_has_role(bo, "operator_bo", ["administrator"], [ada])
    with pytest.raises(OperatorRoleRequired):
        operators_domain.ensure_has_role(person("finance", active=False), "operator_x", ["finance"], [ada])


def test_a_token_in_the_settings_is_not_shown() -> None:
    given = read_settings(operator_token=" op_sandbox_x\n")
    assert given.operator_token_value == "op_sandbox_x"
    assert "op_sandbox_x" not in repr(given)
