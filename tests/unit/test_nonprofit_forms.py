"""Legal forms of nonprofits: a name is the same with its form and without, wherever and however the form stands."""

import re
from importlib.resources import files

import pytest

from almoner.kit import abbreviations
from almoner.screening.matching.nonprofit_forms import _MARKS, _rows
from almoner.screening.matching.service import LIKELY_SCORE, compare_names, prepare_name

FORMS = """
AL: Fondacioni|Shoqata
AM: ՀԿ|Հիմնադրամ
AR: Asociación Civil|Fundación|A.C.
AT: Verein|gemeinnützige GmbH|Privatstiftung|gemeinnützige Privatstiftung
AU: Incorporated Association|Limited by Guarantee|Inc.|Aboriginal Corporation|RNTBC
BE: VZW|A.S.B.L.|AISBL|Stichting van openbaar nut
BG: Сдружение|Фондация|Народно читалище
BR: Associação|Fundação|OSCIP
CA: OBNL|Organisme à but non lucratif
CH: Stiftung|Fondazione|Fondation
CN: 基金会
CZ: z.s.|z. ú.|o.p.s.|Nadační fond|spolek
DE: e.V.|eingetragener Verein|gGmbH|gUG (haftungsbeschränkt)|Stiftung bürgerlichen Rechts
DE: rechtsfähige Stiftung des bürgerlichen Rechts
DK: Fonden|Forening|F.M.B.A.
EE: MTÜ|Sihtasutus|SA
EG: جمعية|مؤسسة
ES: Asociación|Fundación|Fundació|Associació|ONGD
FI: ry|r.y.|rekisteröity yhdistys|Säätiö|rf|sr
FR: Fonds de dotation|Association loi 1901|Fondation|FRUP|SCIC
GB: CIO|SCIO|CLG|CIC|Charitable Incorporated Organisation|Community Interest Company
GE: ა(ა)იპ
GR: ΑΜΚΕ|Σωματείο|Ίδρυμα
HR: Udruga|Zaklada
HK: 有限公司
HU: Alapítvány|Egyesület|nonprofit Kft.|Nkft.
ID: Yayasan|Perkumpulan
IE: Company Limited by Guarantee|Cuideachta faoi Theorainn Ráthaíochta|Teoranta|DAC
IL: עמותה|ע"ר|חל"צ
IN: Section 8 Company|न्यास|समिति
IS: ses.|Sjálfseignarstofnun
IT: ODV|APS|ETS|ONLUS|Fondazione|Ente del Terzo Settore
JP: NPO法人|特定非営利活動法人|公益財団法人|(一社)
KE: Public Benefit Organisation|PBO
KR: 사회복지법인|사단법인|(재)
KZ: Қоғамдық қор|ОФ
LT: VšĮ|Viešoji įstaiga|Labdaros ir paramos fondas
LU: a.s.b.l.
LV: Biedrība|Nodibinājums
MK: Здружение
MX: A.C.|I.A.P.|Institución de Asistencia Privada
NG: Ltd/Gte|Incorporated Trustees
NL: Stichting|Vereniging|ANBI
NO: Stiftelse|Forening
NZ: Charitable Trust Board|Incorporated Society
PH: Non-stock Corporation
PL: Fundacja|Stowarzyszenie|OPP
PT: IPSS|Associação
RO: Asociația|Fundația
RS: Удружење|Задужбина
RU: АНО|НКО|Благотворительный фонд
SE: Ideell förening|Insamlingsstiftelse|svb
SI: Društvo|Ustanova|zavod so.p.
SK: o.z.|n.o.|Občianske združenie|Nadácia|neziskový fond
TH: มูลนิธิ|สมาคม
TR: Vakfı|Derneği
TW: 財團法人
UA: БО|ГО|Благодійний фонд|Громадська організація
ZA: NPC|NPO|Non-Profit Company
DE: n.e.V.|gGmbH i.G.|Körperschaft des öffentlichen Rechts
FR: loi 1901|Association intermédiaire
IE: Cuideachta Ghníomhaíochta Ainmnithe
KZ: ОЮЛ
LV: Sabiedriskā organizācija
PL: Fundacja rodzinna
US: 501(c)(3)|Unincorporated Association|L3C
ZA: Section 21 Company
AR: Asoc. Civ.
AT: gemeinnütziger Fonds
CA: Corporation sans but lucratif
CZ: příspěvková organizace
FI: rek. yhdistys
IT: S.S.D. a r.l.
KR: 협동조합
KZ: КФ
SE: Fören.
TR: İktisadi İşletmesi
US: 501c3
"""
WRITTEN = [form for line in FORMS.strip().splitlines() for form in line.partition(": ")[2].split("|")]
BEHIND_ONLY = "n.o."
"""In front it would be the English word: NO KILL SHELTER."""


def score(one: str, other: str) -> float:
    return compare_names(prepare_name(one), prepare_name(other)).score


@pytest.mark.parametrize("written", dict.fromkeys(WRITTEN))
def test_forms_of_over_forty_countries_are_known_at_both_ends(written: str) -> None:
    for name in ("Karuna Zeleni", "Надія", "希望の家"):
        front = [f"{written} {name}"] * (written != BEHIND_ONLY)
        for other in (*front, f"{name} {written}", f"{name}, {written}", f"{name} ({written})"):
            assert score(name, other) == 1, other


@pytest.mark.parametrize("state", ["a Wyoming", "A NJ", "an Ohio", "a New Jersey", "a North Dakota"])
@pytest.mark.parametrize("form", ["nonprofit corporation", "Non-Profit Corp", "nonprofit religious corporation"])
def test_the_state_of_an_american_form_belongs_to_the_form(state: str, form: str) -> None:
    assert score("Karuna Zeleni", f"Karuna Zeleni, {state} {form}") == 1
    assert score("Karuna Zeleni", f"Karuna Zeleni of {state.split(maxsplit=1)[1]}") < 1


def test_a_word_that_says_the_contrary_is_no_form() -> None:
    assert score("No Kill Shelter", "Kill Shelter") < LIKELY_SCORE


def test_every_form_of_the_table_counts_as_one() -> None:
    rows = list(_rows())
    assert len(rows) > 900
    missed = []
    for _, form, marks in rows:
        ends = [f"{form} Karuna Zeleni"] * (form != BEHIND_ONLY) + [f"Karuna Zeleni {form}"] * ("<" not in marks)
        missed += [written for written in ends if score("Karuna Zeleni", written) < 0.999]
    assert not missed


def test_the_table_names_forty_countries_and_what_each_form_rests_on() -> None:
    lines = (files("almoner.screening.matching") / "data" / "nonprofit_forms.tsv").read_text("utf-8").splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    assert len({country for row in rows for country in row[0].split()}) > 100
    for countries, language, kind, forms, source in rows:
        assert re.fullmatch("[A-Z]{2}(?: [A-Z]{2})*", countries)
        assert re.fullmatch("[a-z]{2}", language)
        assert re.fullmatch("[A-Z]+", kind)
        assert source
        assert all(form.strip(_MARKS + " ") for form in forms.split("; "))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stichting Hoop voor Morgen", "Hoop voor Morgen"),
        ("STICHTING HOOP VOOR MORGEN", "Hoop voor Morgen Foundation"),
        ("Fundacja Dzieciom", "Dzieciom Fundacja"),
        ("Suomen Lukukeskus r.y.", "Suomen Lukukeskus ry"),
        ("NPO法人希望の家", "特定非営利活動法人 希望の家"),
        ("(公財)希望の家", "希望の家"),
        ("（特非）希望の家", "希望の家"),
        ("사회복지법인 희망재단", "희망재단"),
        ("사회복지법인희망재단", "희망재단"),
        ("БО «Надія»", "Надія"),
        ("БФНадія", "Надія"),
        ("БЛАГОДІЙНИЙ ФОНДНАДІЯ", "Надія"),
        ("ΣωματείοΕλπίδα", "Ελπίδα"),
        ("ΕΛΠΙΔΑΑΜΚΕ", "Ελπίδα"),
        ("Б.О. Надія", "Благодійна організація «Надія»"),
        ('עמותת יד לילד (ע"ר)', "יד לילד"),
        ("יד לילד ע״ר", "יד לילד"),
        ("جمعيّة الأمل", "الأمل"),
        ("มูลนิธิเด็ก", "เด็ก"),
        ("希望工程基金会", "希望工程"),
        ("Umut Vakfı", "Umut"),
        ("Spokój z.s.", "Spokój, zapsaný spolek"),
        ("Spokój o. z.", "Spokój"),
        ("Speranza O.D.V.", "ODV Speranza ETS"),
        ("Hope C.I.O.", "HOPE CIO"),
        ("ΑΜΚΕ Ελπίδα", "Ελπίδα"),
        ("Αστική Μη Κερδοσκοπική Εταιρεία Ελπίδα", "Ελπίδα Α.Μ.Κ.Ε."),
    ],
)
def test_a_form_is_no_part_of_the_name(one: str, other: str) -> None:
    assert score(one, other) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Stichting Hoop", "Vereniging Hoop"),
        ("Fundacja Dzieciom", "Stowarzyszenie Dzieciom"),
        ("Sierra Club", "Sierra Club Foundation"),
        ("Association for Hope", "Hope Society for Children"),
        ("St. Mary", "Mary House"),
        ("Goldschmidt-Stiftung", "Goldschmidt GmbH"),
    ],
)
def test_two_kinds_of_body_are_two(one: str, other: str) -> None:
    assert score(one, other) <= 0.8


@pytest.mark.parametrize(
    ("short", "whole"),
    [
        ("BUTLER CO HISTORICAL SOC", "Butler County Historical Society"),
        ("FRIENDS OF BUTLER CO", "Friends of Butler County"),
        ("SALEM COMM CTR", "Salem Community Center"),
        ("SALEM RELIEF COMM", "Salem Relief Committee"),
        ("SALEM WATER COMM", "Salem Water Commission"),
        ("SALEM VOL FIRE DEPT ASSN", "Salem Volunteer Fire Department Association"),
        ("SALEM VOL ACTION CNTR", "Salem Voluntary Action Centre"),
        ("SALEM MED ASSOC", "Salem Medical Assn"),
        ("REV JOHN LEE FUND", "Reverend John Lee Fund"),
        ("DR LEE FREE CLINIC", "Doctor Lee Free Clinic"),
        ("SGT YORK PATRIOTIC FUND", "Sergeant York Patriotic Fund"),
        ("SALEM FIRST PRES CHURCH", "Salem First Presbyterian Church"),
        ("SALEM PRES SOC", "Salem Preservation Society"),
        ("SALEM FED CREDIT UNION", "Salem Federal Credit Union"),
        ("SALEM FED OF TEACHERS", "Salem Federation of Teachers"),
        ("FIRST CHR CHURCH OF SALEM", "First Christian Church of Salem"),
        ("SALEM MISS BAPT CH", "Salem Missionary Baptist Church"),
        ("CNTRL OHIO SALEM CLUB", "Central Ohio Salem Club"),
        ("PHILA SALEM CLUB", "Philadelphia Salem Club"),
        ("N DAKOTA SALEM CLUB", "North Dakota Salem Club"),
        ("UNIVERSITY OF S FLORIDA", "University of South Florida"),
        ("FRIENDS OF S. SHORE", "Friends of the South Shore"),
        ("E TENNESSEE SALEM CLUB", "Eastern Tennessee Salem Club"),
        ("N. E. OHIO SALEM CLUB", "Northeast Ohio Salem Club"),
        ("NW SALEM CLUB", "Northwest Salem Club"),
        ("NO VIRGINIA SALEM CLUB", "Northern Virginia Salem Club"),
        ("SALEM CLUB OF N NEW JERSEY", "Salem Club of Northern New Jersey"),
        ("SALEM RITE SO JURISDICTION", "Salem Rite Southern Jurisdiction"),
        ("SALEM REALTORS OF SW WYO", "Salem Realtors of Southwest Wyoming"),
        ("SO CAL SALEM CLUB", "Southern California Salem Club"),
        ("SoCal Salem Club", "Southern California Salem Club"),
        ("W. VA. SALEM CLUB", "West Virginia Salem Club"),
        ("SALEM UTD METH CH", "Salem United Methodist Church"),
        ("SALEM EV LUTH CH", "Salem Evangelical Lutheran Church"),
        ("ST MARYS R C CHURCH", "St Mary's Roman Catholic Church"),
        ("GTR SALEM COUN", "Greater Salem Council"),
        ("SALEM HOSP AUTH", "Salem Hospital Authority"),
        ("SALEM GK ORTH CHURCH", "Salem Greek Orthodox Church"),
        ("SALEM COMM ACTION AGY", "Salem Community Action Agency"),
        ("WM PENN SALEM CLUB", "William Penn Salem Club"),
        ("COLLEGE OF WM & MARY", "College of William and Mary"),
        ("GEO WASHINGTON UNIV", "George Washington University"),
        ("CHAS H SALEM FOUNDATION", "Charles H. Salem Foundation"),
        ("ST JAS CHURCH", "Saint James Church"),
        ("ST THOS MORE PARISH", "St Thomas More Parish"),
    ],
)
def test_abbreviations_stand_for_every_word_that_is_shortened_so(short: str, whole: str) -> None:
    assert score(short, whole) == pytest.approx(1)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Geo Foundation", "George Foundation"),
        ("GEO Group", "George Group"),
        ("Jas Health", "James Health"),
        ("Miss America Foundation", "Missionary America Foundation"),
        ("Miss Teen Salem", "Mississippi Teen Salem"),
        ("Cal Ripken Foundation", "California Ripken Foundation"),
        ("John W Salem Foundation", "John West Salem Foundation"),
        ("Say No Salem", "Say North Salem"),
        ("No End Salem", "North End Salem"),
        ("Salem Club of NJ", "Salem Club of New York"),
        ("Salem RC Club", "Salem Roman Catholic Club"),
        ("N Dakota Salem Club", "South Dakota Salem Club"),
        ("NW Salem Club", "Southwest Salem Club"),
        ("Salem Federal Credit Union", "Salem Federation Credit Union"),
        ("Salem Preservation Church", "Salem Presbyterian Church"),
    ],
)
def test_what_is_short_beside_certain_words_is_itself_elsewhere(one: str, other: str) -> None:
    assert score(one, other) < LIKELY_SCORE


def test_a_committee_is_no_community() -> None:
    assert score("Salem Committee House", "Salem Community House") < 1
    assert abbreviations.may_be_same_word("comm", "community")
    assert not abbreviations.may_be_same_word("committee", "community")
    assert {"committee", "comm"} <= {*abbreviations.other_spellings("cmte")}
