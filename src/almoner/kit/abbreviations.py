"""What people and registers shorten in names: one table, for finding organisations and for comparing them. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_TABLE: Final = """
    academy: acad
    administration: admin adm
    agency: agy agcy
    agricultural: agric agri
    american: amer
    apartment: apt
    apostolic: apost
    assembly: assem
    association: assn assoc asso asn
    athletic: ath athl
    authority: auth
    auxiliary: aux auxl
    baptist: bapt bpt
    beach: bch
    behavioral: behavioural
    benevolent: benev
    board: bd
    boulevard: blvd
    brotherhood: brhd bro
    brothers: bros
    building: bldg
    california: calif
    captain: capt
    catholic: cath
    cemetery: cem cemy
    center: centre centers ctr cntr cntrl ctrs
    central: cntrl ctrl
    chapter: chap chptr chp
    charitable: char charit
    christian: christn chr
    church: chr ch
    club: clb
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
    council: cncl coun
    counseling: coun
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
    electric: elec
    electrical: elec
    elementary: elem
    employees: empl employes
    endowment: endow
    environmental: env envir environ
    episcopal: episc
    evangelical: evang
    family: fam
    federal: fed
    federation: fed fedn
    fellowship: flwshp
    fort: ft
    foundation: fdn fnd fndn fdtn found foun
    friends: frds frnds
    fund: fd
    general: gen genl
    government: govt gov
    governor: gov
    grand: grd
    greater: gtr grtr
    greek: gk
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
    little: ltl
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
    northwest: nw
    northwestern: nw
    officers: offcrs
    organization: org organisation orgn
    orthodox: orth
    parent: prnt parents
    park: pk
    philadelphia: phila
    preparatory: prep
    presbyterian: presb presbyt presbyn pres
    preservation: pres
    prevention: prev
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
    salvation: salv
    scholarship: schol
    school: sch schl
    science: sci
    sciences: scis
    senior: sr
    sergeant: sgt
    services: svc svcs serv srvc service
    society: soc socy
    southwest: sw
    southwestern: sw
    springs: spgs
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
    workers: wrkrs wkrs
    youth: yth
"""
"""A word, then its other spellings. One spelling may stand for several words: COMM for committee or community."""


def _parse(table: str) -> dict[str, tuple[str, ...]]:
    lines = (line.split(": ") for line in table.strip().splitlines())
    return {word.strip(): tuple(spellings.split()) for word, spellings in lines}


def _invert(spellings: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word, shorter in spellings.items():
        for one in shorter:
            found[one] = (*found.get(one, ()), word)
    return found


_SPELLINGS: Final[Mapping[str, tuple[str, ...]]] = _parse(_TABLE)
"""The other spellings of a word."""

WORDS: Final[Mapping[str, tuple[str, ...]]] = _invert(_SPELLINGS)
"""The words that an abbreviation may stand for."""

_FIRST_NAMES_TABLE: Final = """
    benjamin: benj
    charles: chas
    daniel: danl
    edward: edw
    frederick: fredk
    george: geo
    james: jas
    john: jno
    joseph: jos
    richard: richd
    robert: robt
    samuel: saml
    thomas: thos
    william: wm
"""
"""First names as they are shortened in writing. They count before a surname or after SAINT: GEO GROUP is no George."""

_DIRECTIONS_TABLE: Final = """
    north: n no
    northern: n no
    south: s so
    southern: s so
    east: e
    eastern: e
    west: w
    western: w
    northeast: ne
    northeastern: ne
    northwest: nw
    northwestern: nw
    southeast: se
    southeastern: se
    southwest: sw
    southwestern: sw
"""
"""Directions. They count before the words below: elsewhere W is an initial, and E, NO and SO are words."""
_WORDS_AFTER_DIRECTIONS: Final = frozenset(
    """
    alabama alaska arizona arkansas california calif cal carolina colorado connecticut dakota delaware florida fla
    georgia idaho illinois indiana iowa kansas kentucky louisiana maine maryland massachusetts michigan minnesota
    mississippi missouri montana nebraska nevada ohio oklahoma oregon pennsylvania penn tennessee texas tex utah vermont
    virginia va washington wisconsin wyoming wyo dak jersey ontario quebec alberta wales yorkshire ayrshire lanarkshire
    lothian sussex midlands london philadelphia phila jurisdiction juris
    """.split()
)
_WORDS_AFTER_DIRECTION_LETTERS: Final = _WORDS_AFTER_DIRECTIONS | frozenset(
    """
    new africa african asia asian america american korea korean atlantic pacific central coast coastal county cnty
    district end fork forks gate region regional shore shores side suburban attleboro babylon bend bergen brunswick
    carrollton haven hartford hempstead hollywood islip kingstown lansing milwaukee orange platte plainfield pasadena
    providence tonawanda yarmouth greenwich ctrl cntrl
    """.split()
)
"""Also before these, unless they are words themselves: NO END."""

_BESIDE_TABLE: Final = """
    california: cal
    evangelical: ev
    missionary: miss
    roman catholic: rc
    united: utd
    virginia: va
"""
_FOLLOWED_BY: Final = {
    "ev": frozenset("luth lutheran".split()),
    "miss": frozenset("baptist bapt bpt church ch chr society soc".split()),
    "rc": frozenset("church ch diocese archdiocese parish".split()),
    "utd": frozenset("meth methodist presb presbyterian way".split()),
}
_PRECEDED_BY: Final = {"cal": frozenset("so southern no northern".split()), "va": frozenset("w west".split())}
"""The words before which, or after which, a spelling stands for its word: MISS BAPTIST, but never MISS AMERICA."""
_SEVERAL_WORDS: Final = {"socal": "southern california", "norcal": "northern california"}
_WORDS_THEMSELVES: Final = frozenset(("no", "so"))
_SAINTS: Final = frozenset("saint st sts".split())
_NO_SURNAMES: Final = (frozenset(_SPELLINGS) - {"park", "washington"}) | frozenset(
    "alliance at by club coalition for from global group house home in initiative network of on partners project "
    "solutions systems team the to usa with world".split()
)
"""What follows GEO where it stands for no George: kinds of bodies, and small words."""

_FIRST_NAMES: Final = _invert(_parse(_FIRST_NAMES_TABLE))
_DIRECTIONS: Final = _invert(_parse(_DIRECTIONS_TABLE))
_BESIDE: Final = _invert(_parse(_BESIDE_TABLE))
_IN_CONTEXT: Final = frozenset((*_FIRST_NAMES, *_DIRECTIONS, *_BESIDE, *_SEVERAL_WORDS))

MEANINGS: Final[Mapping[str, tuple[str, ...]]] = {
    short: tuple(
        dict.fromkeys(word for table in (WORDS, _FIRST_NAMES, _DIRECTIONS, _BESIDE) for word in table.get(short, ()))
    )
    for short in dict.fromkeys((*WORDS, *_FIRST_NAMES, *_DIRECTIONS, *_BESIDE))
}
"""The words that a spelling may stand for, whatever is beside it: what is searched for."""

_NOT_SEARCHED: Final = frozenset("cal ev miss no rc s va".split())
"""LODGE NO 5, MOTHER S, MISS AMERICA: not looked for where NORTH, SOUTH or MISSIONARY is typed."""
_SEARCHED: Final[Mapping[str, tuple[str, ...]]] = {
    word: tuple(short for short in several if short not in _NOT_SEARCHED) for word, several in _invert(MEANINGS).items()
}


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


def expand_abbreviations_in_context(words: Sequence[str]) -> list[str]:
    """The words, with those written out that are short for another beside certain words alone: N DAKOTA, WM PENN."""
    if _IN_CONTEXT.isdisjoint(words):
        return [*words]
    beside = zip(("", *words[:-1]), words, (*words[1:], ""), strict=True)
    return [word for several in beside for word in _write_out(*several).split()]


def _write_out(before: str, word: str, after: str) -> str:
    words_after = _WORDS_AFTER_DIRECTIONS if word in _WORDS_THEMSELVES else _WORDS_AFTER_DIRECTION_LETTERS
    if word in _DIRECTIONS and after in words_after:
        return _DIRECTIONS[word][0]
    if word in _FIRST_NAMES and (before in _SAINTS or _is_surname(after)):
        return _FIRST_NAMES[word][0]
    if after in _FOLLOWED_BY.get(word, ()) or before in _PRECEDED_BY.get(word, ()):
        return _BESIDE[word][0]
    return _SEVERAL_WORDS.get(word, word)


def _is_surname(word: str) -> bool:
    return word.isalpha() and _NO_SURNAMES.isdisjoint((word, *WORDS.get(word, ())))


def other_spellings_for_search(word: str) -> tuple[str, ...]:
    """The other spellings under which a search looks for a word, without those that mostly mean something else."""
    meant = MEANINGS.get(word, ())
    every = (*_SEARCHED.get(word, ()), *meant, *(one for other in meant for one in _SEARCHED.get(other, ())))
    return tuple(dict.fromkeys(one for one in every if one != word))
