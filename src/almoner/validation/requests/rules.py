"""The rules that evaluate a validation request step by step (spec 4.3); pure.

A request is accepted automatically only as settled 5 allows: the register lists the identifier as active, under an
agreeing name, in reliable data, and no step fails. Unknown results of other steps never block. Everything else goes to
a reviewer; nothing is rejected here.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

import idna

from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.kit.scripts import unicode_scripts_in_text
from almoner.kit.text import hidden_character_names
from almoner.kit.web import host_of_web_address
from almoner.nonprofits.legal_status.domain import RegistryNumberStatus
from almoner.nonprofits.organisations.domain import FormerName, Namesake, Organisation
from almoner.nonprofits.registries import domain as registries_domain
from almoner.nonprofits.registries.domain import IdentifierCheck, Registry
from almoner.screening.matching import service as matching
from almoner.screening.matching.domain import Party, PartyAgreement, ScorePart
from almoner.validation.requests import namesake_rules, register_rules
from almoner.validation.requests.domain import MATCH, OTHER_ADDRESS, NonprofitDetails, RequestEvaluationOutcome
from almoner.validation.requests.namesake_rules import RegistryNumberMismatch


@dataclass(frozen=True, slots=True)
class AcceptanceThresholds:
    """The name agreement (0 to 1) and data age required to accept automatically.

    The threshold applies to names alone, or to names and addresses together if both sides have one.
    """

    min_name_score: float
    max_data_age: timedelta | None = None


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """Everything known about a request when it is evaluated.

    ``listed``: the record of exactly this number; ``main``: the body that it is a branch of; ``namesakes``: how many
    others in the register share the first line of its name; ``others``: those that may be meant; ``former_names``: its
    earlier names in the register; ``parts``: the loaded parts of the register.
    """

    asked: NonprofitDetails
    registry: Registry
    check: IdentifierCheck
    legal_status: RegistryNumberStatus
    listed: Organisation | None
    main: Organisation | None
    namesakes: int
    now: datetime
    parts: tuple[str, ...] = ()
    number_key: str = ""
    others: tuple[Namesake, ...] = ()
    former_names: tuple[FormerName, ...] = ()


@dataclass(frozen=True, slots=True)
class RulesResult:
    """The steps and outcome of an evaluation, with the name agreement."""

    steps: tuple[EvaluationStep, ...]
    outcome: RequestEvaluationOutcome
    name_agreement: float | None


_MUST_PASS: Final = frozenset({"register", "source", "age", "status", "name"})
_MAX_CANDIDATES: Final = 8
"""How many of the bodies that may be meant are listed."""
_NOT_LISTED: Final = "not_listed"
_OLD_DATA: Final = "old_data"
"""The data are older than the register's update interval: reported, but they decide unless a setting limits their age.
"""


def evaluate_rules(facts: RequestFacts, thresholds: AcceptanceThresholds) -> RulesResult:
    """Run all rules and return their steps and the outcome."""
    agreement = _agreement(facts)
    mismatch = _mismatch(facts, agreement)
    name = _name(facts, agreement, thresholds, mismatch)
    steps = (
        _identifier(facts),
        _register(facts),
        *_data_steps(facts, thresholds),
        _status(facts),
        name,
        *_script_steps(facts),
        *_address(facts, agreement, thresholds, name),
        *_namesakes(facts, mismatch),
        *register_rules.build_register_specific_steps(facts.registry.code, facts.legal_status, facts.main),
        *_claim_steps(facts),
    )
    if agreement is None:
        return RulesResult(steps, _outcome(steps), None)
    by_name = any(step.code == OTHER_ADDRESS for step in steps)
    return RulesResult(steps, _outcome(steps), agreement.name_score if by_name else _score(facts, agreement))


def _outcome(steps: Sequence[EvaluationStep]) -> RequestEvaluationOutcome:
    listed = any(step.name == "register" and step.verdict == "pass" for step in steps)
    reasons = [
        step.code or step.name
        for step in steps
        if step.verdict == "fail"
        or (step.name in _MUST_PASS and step.verdict in ("warn", "unknown") and step.code != _OLD_DATA)
        or (step.name == "identifier" and step.verdict == "warn" and not listed)
    ]
    return (
        RequestEvaluationOutcome("review", tuple(dict.fromkeys(reasons)))
        if reasons
        else RequestEvaluationOutcome("accept")
    )


def _identifier(seen: RequestFacts) -> EvaluationStep:
    check = seen.check
    facts = {"given": seen.asked.registry_number, "written": check.formatted_number, "reason": check.explanation}
    if check.suggested_numbers:
        facts["hints"] = "; ".join(check.suggested_numbers)
    if check.verdict == "ok":
        code = "well_formed" if check.is_format_known else "format_not_checked"
        return EvaluationStep("identifier", "pass", code, seen.registry.code, facts=facts)
    return EvaluationStep("identifier", "warn", check.verdict, seen.registry.code, facts=facts)


def _register(seen: RequestFacts) -> EvaluationStep:
    lister, listed = seen.legal_status.listing_report, seen.listed
    facts: dict[str, object] = {"register": seen.registry.code, "number": seen.check.formatted_number}
    if lister is None or lister.data_as_of is None:
        return EvaluationStep("register", "unknown", "register_not_loaded", facts=facts)
    reported = lister.source, lister.data_as_of
    if listed is not None and lister.rows:
        facts |= {"name": listed.name, "other_names": list(listed.other_names), "address": listed.address}
        if listed.secondary_name:
            facts["secondary_name"] = listed.secondary_name
        return EvaluationStep("register", "pass", "listed", *reported, facts)
    if listed is not None and any(source.source_code for source in listed.sources):
        facts |= {"name": listed.name}
        return EvaluationStep("register", "fail", "no_longer_listed", *reported, facts)
    if seen.parts and (missing := registries_domain.missing_register_parts(seen.registry.code, seen.parts)):
        facts |= {"loaded_parts": ", ".join(seen.parts), "missing_parts": len(missing)}
        return EvaluationStep("register", "unknown", "partly_loaded", *reported, facts)
    return EvaluationStep("register", "fail", _NOT_LISTED, *reported, facts)


def _data_steps(seen: RequestFacts, rules: AcceptanceThresholds) -> Iterator[EvaluationStep]:
    """Whether the data that list it may decide: their reader, and their age."""
    lister = seen.legal_status.listing_report
    if lister is None or lister.data_as_of is None or not lister.rows:
        yield EvaluationStep("source", "not_applicable", _NOT_LISTED)
        yield EvaluationStep("age", "not_applicable", _NOT_LISTED)
        return
    reported = lister.source, lister.data_as_of
    if lister.is_format_unverified:
        yield EvaluationStep("source", "warn", "unverified_source", *reported)
    else:
        yield EvaluationStep("source", "pass", "verified_source", *reported)
    age, usual = seen.now - lister.data_as_of, register_rules.max_usual_data_age(seen.registry.code)
    facts: dict[str, object] = {"dataAgeDays": age.days, "usualDays": usual.days}
    if rules.max_data_age is not None:
        facts["greatestDays"] = rules.max_data_age.days
    if rules.max_data_age is not None and age > rules.max_data_age:
        yield EvaluationStep("age", "warn", "stale_data", *reported, facts)
    elif age > usual:
        yield EvaluationStep("age", "warn", _OLD_DATA, *reported, facts)
    else:
        yield EvaluationStep("age", "pass", "recent_data", *reported, facts)


def _status(seen: RequestFacts) -> EvaluationStep:
    listed, lister = seen.listed, seen.legal_status.listing_report
    if listed is None or lister is None:
        return EvaluationStep("status", "not_applicable", _NOT_LISTED)
    reported = lister.source, lister.data_as_of
    facts = register_rules.extract_status_facts(lister)
    if not listed.active:
        reason = listed.inactive_reason or "removed"
        if reason == "removed" and not lister.rows:  # such a register drops removed bodies without a trace
            reason = "no_longer_listed"
        return EvaluationStep("status", "fail", reason, *reported, facts)
    if register_rules.lacks_registration_status(seen.registry.code, lister):
        return EvaluationStep("status", "unknown", "status_not_told", *reported, facts)
    return EvaluationStep("status", "pass", "active", *reported, facts)


def _agreement(facts: RequestFacts) -> PartyAgreement | None:
    """How name and address agree with the register's; None if it is not listed.

    Members of a family share the first line of their name, which alone does not identify one.
    """
    return (
        None if facts.listed is None else matching.compare_parties(_requested_party(facts.asked), _listed_party(facts))
    )


def _requested_party(nonprofit_details: NonprofitDetails) -> Party:
    street = _lines(nonprofit_details.address_line_1, nonprofit_details.address_line_2)
    return Party(
        [nonprofit_details.name],
        street,
        nonprofit_details.city,
        nonprofit_details.state,
        nonprofit_details.postal,
        nonprofit_details.country_code,
    )


def _listed_party(facts: RequestFacts) -> Party:
    listed, main = facts.listed, facts.main
    assert listed is not None
    party = namesake_rules.build_party(listed, others_share_first_line=_in_family(facts, listed))
    if main is None or not set(_words_of(listed.name)) <= set(_words_of(facts.asked.name)):
        return party
    return replace(party, names=[*party.names, f"{listed.name} {main.name}"])  # the fund of a charity


def _words_of(name: str) -> tuple[str, ...]:
    return matching.prepare_name(name).words


def _in_family(facts: RequestFacts, listed: Organisation) -> bool | None:
    """Whether others share its first line; None if they may be in a part of the register that is not loaded.

    A subordinate of a group usually has the name of the group there.
    """
    if facts.namesakes or matching.prepare_name(listed.name).name_frequency > 1:
        return True
    if not _is_partly_loaded(facts):
        return False
    further = set(_words_of(listed.secondary_name or "")).difference(_words_of(listed.name))
    return True if listed.usa_group_exempt and any(map(str.isalpha, further)) else None


def _is_partly_loaded(facts: RequestFacts) -> bool:
    return bool(registries_domain.missing_register_parts(facts.registry.code, facts.parts))


def _has_addresses(facts: RequestFacts) -> bool:
    """Whether both sides state more of the address than the country."""
    sides = [_requested_party(facts.asked), _listed_party(facts)] if facts.listed else []
    return bool(sides) and all(side.street or side.city or side.state or side.postcode for side in sides)


def _lines(*lines: str | None) -> str | None:
    return " ".join(line for line in lines if line) or None


def _score(facts: RequestFacts, agreement: PartyAgreement) -> float:
    """The deciding score: names with addresses if both sides have one, else names alone."""
    return agreement.score if _has_addresses(facts) else agreement.name_score


def _source_of(facts: RequestFacts) -> tuple[str | None, datetime | None]:
    lister = facts.legal_status.listing_report
    return (lister.source, lister.data_as_of) if lister else (None, None)


def _name(
    seen: RequestFacts,
    agreement: PartyAgreement | None,
    rules: AcceptanceThresholds,
    mismatch: RegistryNumberMismatch | None,
) -> EvaluationStep:
    """The name step. If addresses agree too, names only need to be likely the same."""
    if agreement is None or seen.listed is None:
        return EvaluationStep("name", "not_applicable", _NOT_LISTED)
    source, day = _source_of(seen)
    enough = min(matching.LIKELY_SCORE, rules.min_name_score) if _has_addresses(seen) else rules.min_name_score
    facts: dict[str, object] = {
        "asked": seen.asked.name,
        "listed": list(seen.listed.registered_names),
        "score": round(agreement.name_score, 4),
        "threshold": enough,
        "parts": [_part_fact(part) for part in agreement.name_parts],
    }
    if agreement.vetoes:
        facts["vetoes"] = list(agreement.vetoes)
    if "unnamed" in agreement.vetoes and mismatch is not None and mismatch.reason_code == "member_not_named":
        return EvaluationStep("name", "fail", "member_not_named", source, day, facts)
    if agreement.name_score < enough or agreement.vetoes:
        if former := _former_name(seen):
            facts["former_name"], facts["former_name_until"] = former.name, f"{former.until:%Y-%m-%d}"
            return EvaluationStep("name", "fail", "former_name", source, day, facts)
        return EvaluationStep("name", "fail", "name_disagrees", source, day, facts)
    if agreement.differs_in_distinctive_word and not agreement.is_same_place:
        return EvaluationStep("name", "fail", "distinctive_word_differs", source, day, facts)
    return EvaluationStep("name", "pass", "name_agrees", source, day, facts)


def _former_name(facts: RequestFacts) -> FormerName | None:
    """The newest former name that is likely the stated one; None if there is none."""
    asked = [facts.asked.name]
    likely = (
        former
        for former in facts.former_names
        if (found := matching.best_name_similarity(asked, [former.name])).score >= matching.LIKELY_SCORE
        and not found.vetoes
    )
    return next(likely, None)


def _script_steps(seen: RequestFacts) -> Iterator[EvaluationStep]:
    """The step for characters: hidden ones, and letters of several scripts that look alike (confusables).

    Spellings that the register itself uses pass. A name wholly in another script gets a warning.
    """
    source, day = _source_of(seen)
    written = seen.listed.registered_names if seen.listed else ()
    known = " ".join(written).casefold().split()
    strange = [word for word in seen.asked.name.split() if word.casefold() not in known]
    new = unicode_scripts_in_text(" ".join(strange)) - unicode_scripts_in_text(" ".join(known))
    facts: dict[str, object] = {"scripts": sorted(unicode_scripts_in_text(seen.asked.name))}
    if unseen := hidden_character_names(" ".join(strange)):
        yield EvaluationStep("letters", "fail", "hidden_characters", source, day, facts | {"hidden": unseen})
    elif seen.listed is None:
        return
    elif any(len(unicode_scripts_in_text(word)) > 1 for word in strange) or (
        new and len(unicode_scripts_in_text(seen.asked.name)) > 1
    ):
        yield EvaluationStep("letters", "fail", "mixed_scripts", source, day, facts)
    elif new:
        yield EvaluationStep("letters", "warn", "other_script", source, day, facts)
    else:
        yield EvaluationStep("letters", "pass", "one_script", source, day, facts)


def _address(
    seen: RequestFacts, agreement: PartyAgreement | None, rules: AcceptanceThresholds, name: EvaluationStep
) -> Iterator[EvaluationStep]:
    """The address step: a stated address must be close enough to the register's not to weaken the name.

    If the address does not differ, but name and address together are not close enough or may be those of another
    organisation with the same name, a second step says so. It decides only if the name step passes.
    """
    if agreement is None or seen.listed is None:
        return
    source, day = _source_of(seen)
    facts: dict[str, object] = {"listed": seen.listed.address}
    if not _has_addresses(seen):
        yield EvaluationStep("address", "unknown", "no_address_to_compare", source, day, facts)
        return
    scored = facts | {
        "score": round(agreement.score, 4),
        "threshold": rules.min_name_score,
        "parts": [_part_fact(part) for part in agreement.parts],
    }
    others = [] if agreement.is_same_place else _bearers_elsewhere(seen)
    if others:
        scored["bearers"] = len(others)
    if agreement.score >= rules.min_name_score and not others:
        yield EvaluationStep("address", "pass", "address_agrees", source, day, scored)
    elif (
        agreement.is_exact_name
        and agreement.matches_main_name
        and not others
        and _is_unlikely_elsewhere(seen, agreement)
    ):
        yield EvaluationStep("address", "warn", OTHER_ADDRESS, source, day, scored)
    elif agreement.address_differs:
        yield EvaluationStep("address", "fail", "address_disagrees", source, day, scored)
    else:
        if agreement.is_same_place:
            yield EvaluationStep("address", "pass", "address_agrees", source, day, facts)
        else:
            yield EvaluationStep("address", "unknown", "no_address_to_compare", source, day, facts)
        verdict: StepVerdict = "fail" if name.verdict == "pass" else "warn"
        code = "match_uncertain" if agreement.score < rules.min_name_score else "same_name_elsewhere"
        yield EvaluationStep(MATCH, verdict, code, source, day, scored)


def _bearers_elsewhere(facts: RequestFacts) -> list[Namesake]:
    """Other bodies of the register in other places with exactly the stated name."""
    if facts.listed is None:
        return []
    return namesake_rules.find_namesakes_at_other_addresses(_requested_party(facts.asked), facts.listed, facts.others)


def _is_unlikely_elsewhere(facts: RequestFacts, agreement: PartyAgreement) -> bool:
    """Whether a body of this name elsewhere is unlikely to be another one, as no other loaded entry has the name.

    True in the same state, for a rare name, or if the whole register is loaded and gives no state. Otherwise a common
    name in another state may belong to a body that the register does not list.
    """
    if agreement.is_same_state or not (_is_partly_loaded(facts) or (facts.listed and facts.listed.state)):
        return True
    return matching.prepare_name(facts.asked.name).total_weight >= matching.RARE_NAME_WEIGHT


def _part_fact(part: ScorePart) -> list[object]:
    return [part.finding, round(part.points, 4), part.asked, part.listed]


def _mismatch(facts: RequestFacts, agreement: PartyAgreement | None) -> RegistryNumberMismatch | None:
    """Why another number may be meant; None if nothing suggests one."""
    if facts.listed is None or agreement is None:
        return None
    party, addressed = _requested_party(facts.asked), _has_addresses(facts)
    return namesake_rules.find_registry_number_mismatch(
        party, facts.listed, facts.number_key, agreement, facts.others, both_have_addresses=addressed
    )


def _namesakes(seen: RequestFacts, mismatch: RegistryNumberMismatch | None) -> Iterator[EvaluationStep]:
    """The step for a name that several organisations share: the number decides, unless another one fits better."""
    if seen.listed is None:
        return
    source, day = _source_of(seen)
    facts: dict[str, object] = {"others": seen.namesakes}
    if mismatch is not None:
        facts["candidates"] = [_candidate_fact(one) for one in mismatch.candidates[:_MAX_CANDIDATES]]
        yield EvaluationStep("namesakes", "fail", mismatch.reason_code, source, day, facts)
    elif seen.namesakes:
        yield EvaluationStep("namesakes", "warn", "common_name", source, day, facts)
    else:
        yield EvaluationStep("namesakes", "pass", "unique_name", source, day, facts)


def _candidate_fact(one: Namesake) -> list[object]:
    return [one.registry_number, one.display_name or one.name, _lines(one.city, one.state)]


def _claim_steps(seen: RequestFacts) -> Iterator[EvaluationStep]:
    """The steps for other details that the partner stated, compared with the register."""
    asked, listed, lister = seen.asked, seen.listed, seen.legal_status.listing_report
    if listed is None or lister is None:
        return
    reported = lister.source, lister.data_as_of
    if asked.usa_group_exempt is not None and seen.registry.code == "IRS":
        agrees = asked.usa_group_exempt == bool(listed.usa_group_exempt)
        facts = {"claimed": asked.usa_group_exempt, "listed": listed.usa_group_exempt}
        code = "group_exemption_agrees" if agrees else "group_exemption_differs"
        yield EvaluationStep("group_claim", "pass" if agrees else "warn", code, *reported, facts)
    known = [host for site in listed.websites if (host := _host(site))]
    site_facts = {"given": asked.website, "listed": list(listed.websites)}
    if not known:
        yield EvaluationStep("website", "unknown", "no_website_listed", *reported, site_facts)
    elif _host(asked.website) in known:
        yield EvaluationStep("website", "pass", "same_website", *reported, site_facts)
    else:
        yield EvaluationStep("website", "warn", "other_website", *reported, site_facts)


def _host(address: str) -> str:
    """``https://www.Example.org/about`` -> ``example.org``; names beyond ASCII by their A-labels."""
    host = host_of_web_address(address)
    with suppress(idna.IDNAError, UnicodeError):
        host = host if host.isascii() else idna.encode(host, uts46=True, transitional=False).decode()
    return host.removeprefix("www.")
