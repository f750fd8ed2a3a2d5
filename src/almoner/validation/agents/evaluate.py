"""Rules that approve an agent by an email address at the nonprofit's own domain; pure (settled 5).

Only a website that a register or reviewer confirms counts. The one that the applicant states is recorded and decides
nothing: an applicant who states a website and has an address on it has shown nothing about the nonprofit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from almoner.kit.evidence import EvaluationStep, StepVerdict
from almoner.validation.agents import internet_domains
from almoner.validation.agents.internet_domains import Domain, Website

Facts = Mapping[str, str | bool | Sequence[str] | None]

_SHOWN: Final = 10


@dataclass(frozen=True, slots=True)
class NonprofitEvidence:
    """The known websites and registration of the nonprofit.

    ``websites``: those of its record. ``are_websites_confirmed``: whether they come from a register or a reviewer.
    ``is_active``: None while it is no organisation yet. ``unreliable_reason``: why the register's data may not decide,
    as a code; None if they may.
    """

    websites: tuple[str, ...] = ()
    are_websites_confirmed: bool = False
    is_active: bool | None = None
    register_name: str | None = None
    data_as_of: datetime | None = None
    unreliable_reason: str | None = None

    def build_evaluation_step(
        self, name: str, verdict: StepVerdict, code: str | None = None, facts: Facts | None = None
    ) -> EvaluationStep:
        """A step whose source is the nonprofit's record."""
        return EvaluationStep(name, verdict, code, self.register_name, self.data_as_of, facts or {})


@dataclass(frozen=True, slots=True)
class AgentEvaluationOutcome:
    """Whether the rules approve the agent; if not, the reasons for a reviewer."""

    passes_rules: bool
    review_reasons: tuple[str, ...]
    steps: tuple[EvaluationStep, ...]

    def with_step(self, step: EvaluationStep) -> "AgentEvaluationOutcome":
        """The outcome with one more step, which can only count against the agent."""
        against = step.verdict in ("fail", "unknown")
        reasons = (*self.review_reasons, step.code) if against and step.code else self.review_reasons
        return AgentEvaluationOutcome(self.passes_rules and not against, reasons, (*self.steps, step))


def evaluate_agent(
    email: str, stated_website: str | None, evidence: NonprofitEvidence, *, domain_accepts_mail: bool | None
) -> AgentEvaluationOutcome:
    """Apply the rules to an agent. ``domain_accepts_mail``: whether the domain has a mail host; None if unknown."""
    domain = internet_domains.parse_email_domain(email)
    sites = _sites(evidence) if evidence.are_websites_confirmed and evidence.unreliable_reason is None else ()
    steps = [
        _organisation(evidence),
        _mailbox(domain),
        _website(evidence, sites),
        _given_website(stated_website, sites),
    ]
    steps.append(_agreement(domain, sites, evidence))
    steps.append(_mail_host(domain, domain_accepts_mail, asked=_nothing_fails(steps)))
    reasons = tuple(step.code for step in steps if step.verdict in ("fail", "unknown") and step.code)
    return AgentEvaluationOutcome(_nothing_fails(steps[:-1]) and steps[-1].verdict == "pass", reasons, tuple(steps))


def _nothing_fails(steps: Sequence[EvaluationStep]) -> bool:
    """Whether no step fails and the domains agree."""
    return steps[-1].verdict == "pass" and all(step.verdict not in ("fail", "unknown") for step in steps)


def find_mail_domain_to_check(email: str, evidence: NonprofitEvidence) -> str | None:
    """The domain whose mail host must be looked up; None if the rules can decide without it."""
    domain = internet_domains.parse_email_domain(email)
    without = evaluate_agent(email, None, evidence, domain_accepts_mail=True)
    return domain.host if domain is not None and without.passes_rules else None


def _sites(evidence: NonprofitEvidence) -> tuple[Website, ...]:
    """The nonprofit's own sites, without those on shared hosts."""
    found = (internet_domains.parse_website(website) for website in evidence.websites)
    return tuple(
        site for site in found if site is not None and not (site.domain.is_shared_hosting or site.domain.is_free_mail)
    )


def _organisation(evidence: NonprofitEvidence) -> EvaluationStep:
    if evidence.is_active is None:
        return EvaluationStep("organisation", "unknown", "validation_request_pending")
    if not evidence.is_active:
        return evidence.build_evaluation_step("organisation", "fail", "organisation_inactive")
    return evidence.build_evaluation_step("organisation", "pass")


def _mailbox(domain: Domain | None) -> EvaluationStep:
    """Whether the address could belong to a nonprofit at all."""
    if domain is None:
        return EvaluationStep("mailbox", "fail", "email_domain_not_registrable")
    facts = {"domain": domain.host, "registered": domain.registrable_domain}
    for code, found in (
        ("free_mail_domain", domain.is_free_mail),
        ("disposable_domain", domain.is_disposable),
        ("shared_domain", domain.is_shared_hosting),
        ("mixed_script_domain", domain.has_mixed_scripts),
        ("outsiders_domain", domain.is_for_members_or_students),
    ):
        if found:
            return EvaluationStep("mailbox", "fail", code, facts=facts)
    return EvaluationStep("mailbox", "pass", facts=facts)


def _website(evidence: NonprofitEvidence, sites: Sequence[Website]) -> EvaluationStep:
    facts = {"websites": evidence.websites[:_SHOWN], "counted": [site.domain.host for site in sites][:_SHOWN]}
    if not evidence.websites:
        return evidence.build_evaluation_step("website", "unknown", "no_website", facts)
    if not evidence.are_websites_confirmed:
        return evidence.build_evaluation_step("website", "unknown", "website_not_confirmed", facts)
    if evidence.unreliable_reason is not None:
        return evidence.build_evaluation_step("website", "unknown", evidence.unreliable_reason, facts)
    if not sites:
        return evidence.build_evaluation_step("website", "unknown", "website_on_shared_host", facts)
    return evidence.build_evaluation_step("website", "pass", None, facts)


def _given_website(website: str | None, sites: Sequence[Website]) -> EvaluationStep:
    """The website that the applicant states: recorded as evidence, never decisive."""
    if website is None:
        return EvaluationStep("given_website", "not_applicable")
    site = internet_domains.parse_website(website)
    own = {one.domain.registrable_domain for one in sites}
    facts = {"website": website, "domain": site.domain.host if site else None}
    if site is not None and site.domain.registrable_domain in own:
        return EvaluationStep("given_website", "pass", facts=facts)
    return EvaluationStep("given_website", "warn", "given_website_not_confirmed", facts=facts)


def _agreement(domain: Domain | None, sites: Sequence[Website], evidence: NonprofitEvidence) -> EvaluationStep:
    """Whether the address is at one of the nonprofit's domains."""
    if domain is None or not sites:
        return EvaluationStep("domain_agreement", "not_applicable")
    facts = {"domain": domain.host, "sites": [site.domain.host for site in sites][:_SHOWN]}
    same = [site for site in sites if site.domain.registrable_domain == domain.registrable_domain]
    if any(_is_own_domain(domain, site) for site in same):
        return evidence.build_evaluation_step("domain_agreement", "pass", None, facts)
    if same:
        code = "institution_domain" if domain.is_institutional else "sibling_domain"
        return evidence.build_evaluation_step("domain_agreement", "fail", code, facts)
    if any(internet_domains.is_lookalike(domain, site.domain) for site in sites):
        return evidence.build_evaluation_step("domain_agreement", "fail", "look_alike_domain", facts)
    return evidence.build_evaluation_step("domain_agreement", "fail", "other_domain", facts)


def _is_own_domain(domain: Domain, site: Website) -> bool:
    """Whether the whole domain is the nonprofit's.

    A page at a university does not make everybody there its agent, nor does a neighbouring subdomain of the same
    domain: many hosts that rent out names are in no list of suffixes.
    """
    within = domain.host == site.domain.host or domain.host.endswith("." + site.domain.host)
    if site.domain.is_institutional:
        return within and not site.has_path
    return within or not domain.has_subdomain


def _mail_host(domain: Domain | None, accepts_mail: bool | None, *, asked: bool) -> EvaluationStep:
    if domain is None or not asked:
        return EvaluationStep("mail_host", "not_applicable")
    facts = {"domain": domain.host}
    if accepts_mail is None:
        return EvaluationStep("mail_host", "unknown", "mail_host_unknown", facts=facts)
    if not accepts_mail:
        return EvaluationStep("mail_host", "fail", "no_mail_host", facts=facts)
    return EvaluationStep("mail_host", "pass", facts=facts)
