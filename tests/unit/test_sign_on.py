"""What a token must satisfy before anybody is believed, and what its claims are worth."""

from base64 import urlsafe_b64encode
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, OKPKey, RSAKey
from joserfc.jws import JWSRegistry

from almoner.access.sso import state as sso_state
from almoner.access.sso import tokens
from almoner.access.sso.domain import (
    STATE_LIFETIME,
    IdentityProvider,
    SsoRefusalReason,
    SsoRefused,
    authentication_time_from_claims,
    is_fresh_authentication,
    parse_identity_claims,
    roles_from_groups,
)
from almoner.access.sso.tokens import UnknownSigningKey
from almoner.platform.crypto import Vault
from almoner.platform.database.transactions import Partner
from tests.support.hostile_openid import KEY, OTHER_KEY, by_public_key, signed, unsigned

NOW = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
AT = int(NOW.timestamp())
PARTNER = Partner(UUID(int=7))
ISSUER = "https://id.example.org"
SHORT = {"kty": "RSA", "kid": "short", "e": "AQAB", "n": urlsafe_b64encode(b"\xc5" * 128).decode().rstrip("=")}
VAULT = Vault(b"k" * 32)
GOOD: dict[str, Any] = {
    "iss": ISSUER,
    "aud": "almoner",
    "sub": "ada",
    "exp": AT + 300,
    "iat": AT,
    "nonce": "n",
}


def provider(**changed: Any) -> IdentityProvider:
    made = IdentityProvider(
        PARTNER, "Example", ISSUER, "almoner", None, "sub", "groups", {"staff": "finance", "it": "developer"},
        ("openid",), False, True, 1, NOW, NOW,
    )  # fmt: skip
    return replace(made, **changed)


def keys(*some: Any) -> Any:
    return tokens.parse_key_set({"keys": [key.as_dict(private=False) for key in some or (KEY,)]})


def read(token: str, known: Any = None) -> Any:
    return tokens.verify_id_token(token, known or keys(), provider(), "n", "the access token", NOW)


def claims(**changed: Any) -> dict[str, Any]:
    return {name: value for name, value in {**GOOD, **changed}.items() if value is not None}


def test_a_right_token_is_believed() -> None:
    assert read(signed(claims()))["sub"] == "ada"


@pytest.mark.parametrize(
    "wrong",
    [
        {"iss": "https://id.example.org/"},
        {"iss": "https://elsewhere.example.org"},
        {"iss": None},
        {"aud": "another-client"},
        {"aud": ["another-client"]},
        {"aud": ["almoner", "another-client"]},
        {"aud": ["almoner", "another-client"], "azp": "another-client"},
        {"aud": None},
        {"aud": []},
        {"azp": "another-client"},
        {"exp": AT - 61},
        {"exp": None},
        {"exp": "never"},
        {"exp": float(AT + 300), "iat": AT + 120},
        {"iat": None},
        {"iat": AT + 61},
        {"nbf": AT + 61},
        {"nonce": "another"},
        {"nonce": None},
        {"nonce": ""},
        {"nonce": ["n"]},
        {"sub": None},
        {"sub": 7},
        {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
        {"at_hash": ""},
        {"at_hash": 5},
        {"at_hash": ["x"]},
    ],
)
def test_one_wrong_claim_refuses_the_token(wrong: dict[str, Any]) -> None:
    with pytest.raises(SsoRefused) as refused:
        read(signed(claims(**wrong)))
    assert refused.value.reason is SsoRefusalReason.TOKEN


@pytest.mark.parametrize(
    "right",
    [
        {"aud": ["almoner"]},
        {"aud": ["almoner", "another"], "azp": "almoner"},
        {"azp": "almoner"},
        {"exp": AT - 59},
        {"iat": AT + 59},
        {"at_hash": "8kJybPby-BwHrrSnx_oS4A"},
    ],
)
def test_a_minute_of_skew_and_all_forms_of_audience_are_taken(right: dict[str, Any]) -> None:
    assert read(signed(claims(**right)))["sub"] == "ada"


@pytest.mark.parametrize("algorithm", ["RS256", "PS256", "ES256", "EdDSA"])
@pytest.mark.filterwarnings("ignore:EdDSA")
def test_these_signatures_are_taken(algorithm: str) -> None:
    makers: dict[str, Callable[[], Any]] = {
        "ES256": lambda: ECKey.generate_key("P-256", {"kid": "e"}),
        "EdDSA": lambda: OKPKey.generate_key("Ed25519", {"kid": "o"}),
    }
    key = makers.get(algorithm, lambda: RSAKey.generate_key(2048, {"kid": "r"}))()
    registry = JWSRegistry(algorithms=[algorithm])
    token = jwt.encode({"alg": algorithm, "kid": key.kid}, claims(), key, registry=registry)
    assert read(token, keys(key))["sub"] == "ada"


@pytest.mark.parametrize("algorithm", ["RS384", "RS512", "PS384", "ES384", "ES512"])
def test_no_other_signature_is_taken(algorithm: str) -> None:
    curve = {"ES384": "P-384", "ES512": "P-521"}.get(algorithm)
    key: Any = ECKey.generate_key(curve, {"kid": "e"}) if curve else RSAKey.generate_key(2048, {"kid": "r"})
    token = jwt.encode({"alg": algorithm, "kid": key.kid}, claims(), key, registry=JWSRegistry(algorithms=[algorithm]))
    with pytest.raises(SsoRefused):
        read(token, keys(key))


@pytest.mark.parametrize("forge", [unsigned, by_public_key], ids=["no signature", "the public key as a secret"])
def test_a_token_that_anybody_can_make_is_refused(forge: Any) -> None:
    with pytest.raises(SsoRefused):
        read(forge(claims()))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda token: token[:-8] + "AAAAAAAA",
        lambda token: token.rpartition(".")[0] + ".",
        lambda token: token.rpartition(".")[0],
        lambda token: "." + token,
        lambda _: "",
        lambda _: "a.b.c",
        lambda _: "ü.ü.ü",
        lambda _: "e30.e30.e30",
        lambda token: token + "." + token,
        lambda token: "x" * 300_000,
    ],
)
def test_what_is_no_token_is_refused(spoil: Any) -> None:
    with pytest.raises((SsoRefused, UnknownSigningKey)):
        read(spoil(signed(claims())))


def test_of_a_token_of_another_key_under_a_known_name_newer_keys_are_asked_for() -> None:
    with pytest.raises(UnknownSigningKey):
        read(signed(claims(), OTHER_KEY, kid=KEY.kid))


def test_a_key_that_is_not_published_is_asked_for() -> None:
    with pytest.raises(UnknownSigningKey):
        read(signed(claims(), OTHER_KEY))


def test_without_a_name_only_a_single_key_is_meant() -> None:
    assert read(signed(claims(), kid=None))["sub"] == "ada"
    with pytest.raises(UnknownSigningKey):
        read(signed(claims(), kid=None), keys(KEY, OTHER_KEY))


def test_a_critical_header_that_we_do_not_know_refuses_the_token() -> None:
    registry = JWSRegistry(algorithms=["RS256"], strict_check_header=False)
    registry.check_header = lambda header: None  # type: ignore[method-assign]
    head = {"alg": "RS256", "kid": KEY.kid, "crit": ["exp2"], "exp2": 1}
    token = jwt.encode(head, claims(), KEY, registry=registry)
    with pytest.raises(SsoRefused):
        read(token)


def test_a_header_that_means_nothing_to_us_is_left_alone() -> None:
    registry = JWSRegistry(algorithms=["RS256"], strict_check_header=False)
    token = jwt.encode({"alg": "RS256", "kid": KEY.kid, "vendor": "x"}, claims(), KEY, registry=registry)
    assert read(token)["sub"] == "ada"


def test_shared_secrets_short_keys_and_keys_for_encryption_are_no_keys() -> None:
    listed = [
        OctKey.generate_key(256, {"kid": "shared"}).as_dict(),
        {**OTHER_KEY.as_dict(private=False), "use": "enc"},
        {"kty": "RSA", "kid": "broken", "n": "!", "e": "AQAB"},
        {"kty": "AKP", "kid": "unknown"},
        SHORT,
        "no key",
    ]
    assert list(tokens.parse_key_set({"keys": listed})) == []
    assert list(tokens.parse_key_set({"keys": "none"})) == []
    assert list(tokens.parse_key_set({})) == []


def test_groups_give_roles_and_no_claim_gives_none() -> None:
    def roles(claim: Any) -> frozenset[str]:
        return frozenset(roles_from_groups(provider(), parse_identity_claims(provider(), claims(groups=claim))))

    assert roles(["staff", "it", "strangers"]) == {"finance", "developer"}
    assert roles("staff") == {"finance"}
    assert roles(None) == roles([]) == roles({"staff": True}) == roles([["staff"]]) == roles(7) == frozenset()
    nothing = provider(groups_claim=None)
    assert roles_from_groups(nothing, parse_identity_claims(nothing, claims(groups=["staff"]))) == frozenset()


def test_the_person_is_whom_the_chosen_claim_names() -> None:
    assert parse_identity_claims(provider(subject_claim="oid"), claims(oid="the-object")).subject == "the-object"
    for wrong in (None, "", 7, ["x"], "x" * 256, "a\0da", "ada\ud800"):
        with pytest.raises(SsoRefused):
            parse_identity_claims(provider(subject_claim="oid"), claims(oid=wrong))


def test_an_address_is_taken_only_when_the_provider_verified_it() -> None:
    assert (
        parse_identity_claims(provider(), claims(email="a@example.org", email_verified=True)).email == "a@example.org"
    )
    assert parse_identity_claims(provider(), claims(email="a@example.org")).email is None
    assert parse_identity_claims(provider(), claims(email="a@example.org", email_verified=False)).email is None


def test_what_no_database_can_hold_is_not_taken() -> None:
    for wrong in ("a\0da", "ada\ud800"):
        stated = parse_identity_claims(
            provider(), claims(preferred_username=wrong, name=wrong, groups=[wrong], amr=wrong)
        )
        assert (stated.user_name, stated.name, roles_from_groups(provider(), stated)) == (None, None, frozenset())


def test_more_than_one_factor_is_what_the_token_says_in_these_words() -> None:
    for methods, by_two in ((["pwd", "mfa"], True), ("mfa", True), (["pwd", "otp"], False), (None, False), (7, False)):
        assert parse_identity_claims(provider(), claims(amr=methods)).used_multi_factor is by_two


def test_who_comes_from_the_provider_proved_it_when_the_token_says_so_or_long_ago() -> None:
    def at(auth_time: Any) -> datetime:
        return authentication_time_from_claims(parse_identity_claims(provider(), claims(auth_time=auth_time)), NOW)

    assert at(AT - 300) == NOW - timedelta(minutes=5)
    assert at(AT + 60) == NOW
    assert at(None) == at("soon") == NOW - timedelta(minutes=10)


def test_a_proof_is_not_older_than_the_question() -> None:
    def fresh(auth_time: Any) -> bool:
        return is_fresh_authentication(parse_identity_claims(provider(), claims(auth_time=auth_time)), NOW)

    assert fresh(AT)
    assert fresh(AT - 60)
    assert not any(fresh(value) for value in (AT - 61, None, True, str(AT), -1, 2**40))


def test_a_state_opens_only_for_its_partner_its_value_and_ten_minutes() -> None:
    started = sso_state.create_state(provider(), "sign_in", "/account", NOW)
    stored = sso_state.encrypt_state(VAULT, PARTNER, started)
    assert sso_state.decrypt_state(VAULT, PARTNER, started.state, stored, NOW) == started
    attempts = [
        (Partner(UUID(int=8)), started.state, stored, NOW),
        (PARTNER, started.state + "x", stored, NOW),
        (PARTNER, "", stored, NOW),
        (PARTNER, "ü" * 300, stored, NOW),
        (PARTNER, started.state, stored[:-2] + "AA", NOW),
        (PARTNER, started.state, "", NOW),
        (PARTNER, started.state, "ü", NOW),
        (PARTNER, started.state, sso_state.encrypt_state(Vault(b"o" * 32), PARTNER, started), NOW),
        (PARTNER, started.state, stored, NOW + STATE_LIFETIME),
    ]
    for partner, returned, held, real_now in attempts:
        with pytest.raises(SsoRefused) as refused:
            sso_state.decrypt_state(VAULT, partner, returned, held, real_now)
        assert refused.value.reason is SsoRefusalReason.STATE
    assert (
        sso_state.decrypt_state(VAULT, PARTNER, started.state, stored, NOW + STATE_LIFETIME - timedelta(seconds=1))
        == started
    )


def test_every_sign_in_has_secrets_of_its_own() -> None:
    one, other = (sso_state.create_state(provider(), "sign_in", "/account", NOW) for _ in range(2))
    assert len({one.state, one.nonce, one.verifier, other.state, other.nonce, other.verifier}) == 6
    assert one.cookie_name != other.cookie_name
    assert all(43 <= len(text) <= 128 for text in (one.state, one.nonce, one.verifier))
