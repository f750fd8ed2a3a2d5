"""What people and registers shorten in names: one table, for finding organisations and for comparing them. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

_TABLE: Final = """
    academy: acad
    administration: admin adm
    agricultural: agric agri
    american: amer
    apartment: apt
    apostolic: apost
    assembly: assem
    association: assn assoc asso asn
    athletic: ath athl
    auxiliary: aux auxl
    baptist: bapt bpt
    behavioral: behavioural
    benevolent: benev
    board: bd
    brotherhood: brhd bro
    brothers: bros
    building: bldg
    captain: capt
    catholic: cath
    center: centre centers ctr cntr cntrl ctrs
    chapter: chap chptr chp
    charitable: char charit
    christian: christn
    church: chr ch
    college: coll
    commission: comm commn cmsn
    committee: cmte comm cttee
    communications: comm
    community: cmty cmnty commun comm
    company: co
    conference: conf
    congregation: cong
    congress: congr
    conservation: conserv
    cooperative: coop
    corps: cps
    council: cncl
    county: cnty cty co
    defense: defence
    department: dept dpt
    development: dev devel devt
    diocese: dioc
    district: dist
    division: div
    doctor: dr
    education: educ ed edu
    educational: educl
    elementary: elem
    employees: empl employes
    endowment: endow
    environmental: env envir environ
    episcopal: episc
    evangelical: evang
    family: fam
    federation: fed fedn
    fellowship: flwshp
    fort: ft
    foundation: fdn fnd fndn fdtn found foun
    friends: frds frnds
    fund: fd
    general: gen genl
    government: govt
    grand: grd
    harbor: harbour
    health: hlth
    heights: hts
    high: hs
    historical: hist
    hospital: hosp
    housing: hsg
    improvement: imprv
    incorporated: incorp
    independent: indep ind
    information: info
    institute: inst
    insurance: ins
    international: intl int intern internat internl
    junior: jr
    labor: labour
    laboratory: lab
    league: lg lge
    legion: lgn
    library: lib libr
    lieutenant: lt
    local: loc
    lutheran: luth
    management: mgmt mgt
    manufacturers: mfrs
    medical: med
    medicine: med
    memorial: mem meml
    methodist: meth
    ministries: min ministry mins
    missionary: msnry
    monsignor: msgr
    mount: mt
    mountain: mtn
    municipal: mun
    museum: mus
    national: natl nat nati nationl
    neighborhood: neighbourhood
    officers: offcrs
    organization: org organisation orgn
    orthodox: orth
    parent: prnt parents
    park: pk
    presbyterian: presb presbyt
    preservation: pres
    professional: prof
    program: prog programme programs
    protestant: prot
    province: prov
    public: pub
    recreation: rec
    regional: reg regl
    rehabilitation: rehab
    representatives: reps
    rescue: resc
    research: res rsch
    retirement: retmt
    reverend: rev
    saint: st ste sta
    saints: sts
    scholarship: schol
    school: sch schl
    science: sci
    sciences: scis
    senior: sr
    sergeant: sgt
    services: svc svcs serv srvc service
    society: soc socy
    square: sq
    student: stdnt
    teacher: tchr
    teachers: tchrs
    technology: tech
    theater: theatre
    township: twp
    training: trng
    trust: tr trst tru
    trustee: ttee
    university: univ
    valley: vly
    veterans: vets
    village: vlg vill
    voluntary: vol
    volunteer: vol vols volunteers volun
    washington: wash
    women: womens womans woman
    youth: yth
"""
"""A word, then its other spellings. One spelling may stand for several words: COMM for committee or community."""


def _parse() -> dict[str, tuple[str, ...]]:
    lines = (line.split(": ") for line in _TABLE.strip().splitlines())
    return {word.strip(): tuple(spellings.split()) for word, spellings in lines}


def _invert(spellings: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word, shorter in spellings.items():
        for one in shorter:
            found[one] = (*found.get(one, ()), word)
    return found


_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = _parse()
"""The other spellings of a word."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = _invert(_SPELLINGS)
"""The words that an abbreviation may stand for."""


_FULL_WORDS: Final[Mapping[str, str]] = {short: words[0] for short, words in WORDS.items() if len(words) == 1}
"""The full words of abbreviations that are not ambiguous."""


def expand_abbreviation(abbreviation: str) -> str:
    """The full word of an abbreviation; unchanged if unknown or ambiguous."""
    return _FULL_WORDS.get(abbreviation, abbreviation)


def expand_abbreviations(words: Iterable[str]) -> list[str]:
    """The words, each as ``expand_abbreviation`` returns it: names are compared by the hundred."""
    full = _FULL_WORDS.get
    return [full(word, word) for word in words]


def other_spellings(word: str) -> tuple[str, ...]:
    """All spellings of a word: abbreviations, what it abbreviates, and their other spellings."""
    meant = WORDS.get(word, ())
    every = (*_SPELLINGS.get(word, ()), *meant, *(one for other in meant for one in _SPELLINGS[other]))
    return tuple(dict.fromkeys(one for one in every if one != word))


def may_be_same_word(word: str, other_word: str) -> bool:
    """Whether two spellings may be of one word: COMM and COMMUNITY, ASSN and ASSOC."""
    return word == other_word or not {word, *WORDS.get(word, ())}.isdisjoint({other_word, *WORDS.get(other_word, ())})
