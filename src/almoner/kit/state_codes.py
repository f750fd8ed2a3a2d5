"""The codes of states and provinces by their names, for addresses and searches. Put together for Almoner. Pure."""

from collections.abc import Mapping
from typing import Final

_TABLE: Final = """
    al: alabama, ala
    ak: alaska
    az: arizona, ariz
    ar: arkansas, ark
    ca: california, calif
    co: colorado, colo
    ct: connecticut, conn
    de: delaware, del
    dc: district of columbia, washington dc
    fl: florida, fla
    ga: georgia
    hi: hawaii, hawai i
    id: idaho
    il: illinois, ill
    in: indiana, ind
    ia: iowa
    ks: kansas, kan
    ky: kentucky
    la: louisiana
    me: maine
    md: maryland
    ma: massachusetts, mass
    mi: michigan, mich
    mn: minnesota, minn
    ms: mississippi, miss
    mo: missouri
    mt: montana, mont
    ne: nebraska, neb
    nv: nevada, nev
    nh: new hampshire
    nj: new jersey
    nm: new mexico
    ny: new york, new york state
    nc: north carolina, n carolina
    nd: north dakota, n dakota
    oh: ohio
    ok: oklahoma, okla
    or: oregon, ore
    pa: pennsylvania, penn, penna
    pr: puerto rico
    ri: rhode island
    sc: south carolina, s carolina
    sd: south dakota, s dakota
    tn: tennessee, tenn
    tx: texas, tex
    ut: utah
    vt: vermont
    va: virginia
    wa: washington, wash, washington state, western australia
    wv: west virginia, w virginia
    wi: wisconsin, wis
    wy: wyoming, wyo
    as: american samoa
    gu: guam
    mp: northern mariana islands
    vi: us virgin islands, virgin islands
    ab: alberta
    bc: british columbia, colombie britannique
    mb: manitoba
    nb: new brunswick, nouveau brunswick
    nl: newfoundland and labrador, newfoundland, terre neuve et labrador
    ns: nova scotia, nouvelle ecosse
    nt: northwest territories, territoires du nord ouest, northern territory
    nu: nunavut
    on: ontario
    pe: prince edward island, ile du prince edouard, pei
    qc: quebec
    sk: saskatchewan
    yt: yukon
    act: australian capital territory
    nsw: new south wales
    qld: queensland
    sa: south australia
    tas: tasmania
    vic: victoria
    sp: sao paulo
    rj: rio de janeiro
    mg: minas gerais
    rs: rio grande do sul
    ba: bahia
    df: distrito federal
    es: espirito santo
    go: goias
    ce: ceara
"""
"""A code that registers have, then the names of its state: of the United States, Canada, Australia and Brazil.

WA and NT are codes of two countries. Codes of Brazil that are those of other states are left out.
"""


def _parse() -> list[tuple[str, list[str]]]:
    lines = (line.strip().split(": ") for line in _TABLE.strip().splitlines())
    return [(code, names.split(", ")) for code, names in lines]


STATE_CODES: Final[Mapping[str, str]] = {name: code for code, names in _parse() for name in names}
"""The code of a state or province, by its names: ``district of columbia`` -> ``dc``."""

_SHORTEST_NAME: Final = 6
STATE_CODES_BY_FULL_NAME: Final[Mapping[str, str]] = {
    name: code for code, names in _parse() for name in names if name == names[0] or len(name) >= _SHORTEST_NAME
}
"""The same without short forms, which are words as well: MASS, ARK."""
