"""Registries are understood by every name that people have for them (D7), and by no name that means another."""

import re
from pathlib import Path
from uuid import uuid4

import pytest

from almoner.nonprofits.registries import domain
from almoner.nonprofits.registries.domain import Registry

BASELINE = Path(domain.__file__).parents[2] / "migrations" / "baseline" / "05_registers.sql"
REGISTRIES = [
    Registry(uuid4(), code, name, english, country, None)
    for country, code, name, english in re.findall(
        r"\('[0-9a-f-]{36}', '(\w{3})', '(\w+)',\s*'([^']+)',\s*'([^']+)'\)", BASELINE.read_text()
    )
]
SPELLINGS = """
USA IRS: the IRS|I.R.S.|The Internal Revenue Service|Internal Revenue Service (IRS)
USA IRS: IRS (Internal Revenue Service)
USA IRS: internal revenue service|INTERNAL REVENUE SERVICE.|US-EIN|US EIN|us-ein|EIN
USA IRS: Employer Identification Number
USA IRS: U.S. Internal Revenue Service|IRS - Internal Revenue Service|United States IRS|IRS, USA
USA IRS: IRS 501(c)(3)
USA IRS: Servicio de Impuestos Internos|IRS Exempt Organizations Business Master File
USA IRS: Internal Revenue Service, US
USA IRS: IRS Tax Exempt Organization Search (TEOS)|Internal  Revenue\u00a0Service
GBR CCEW: The Charity Commission for England & Wales|Charity Commission of England and Wales|GB-CHC
GBR CCEW: gb chc
GBR CCEW: Charity Commission for England and Wales (CCEW)|Comisiwn Elusennau Cymru a Lloegr
GBR CCEW: Charity Commissioners
GBR CCEW: Charity Commission (England and Wales)|Charity Commission, England and Wales
GBR CCEW: Comisiwn Elusennau
GBR OSCR: Scottish Charity Regulator|OSCR (Scotland)|Scottish Charity Register|GB-SC
GBR OSCR: The Scottish Charity Regulator (OSCR)
GBR OSCR: Office of the Scottish Charity Regulator (OSCR)|Office of Scottish Charity Regulator
GBR CCNI: Charity Commission (Northern Ireland)|The Charity Commission for Northern Ireland (CCNI)
GBR CCNI: GB-NIC
GBR CCNI: Charity Commission NI|Coimisiún Carthanachta Thuaisceart Éireann
GBR CCNI: Northern Ireland Charity Commission
GBR HMRC: HMRC|HM Revenue & Customs|H.M. Revenue and Customs|Her Majesty's Revenue & Customs
GBR HMRC: His Majesty’s Revenue and Customs
GBR HMRC: Inland Revenue|GB-REV|HM Revenue and Customs (HMRC)|Cyllid a Thollau EF
AUS ACNC: Australian Charities and Not-for-profits Commission (ACNC)
AUS ACNC: Australian Charities & Not for Profits Commission
AUS ACNC: ACNC Register|AU-ABN|AU-ACNC|ABN|the ACNC
AUS ACNC: Australian Charities and Not-For-Profits Commission
CAN CRA: Canada Revenue Agency (CRA)|Agence du revenu du Canada|ARC|CRA Charities Directorate
CAN CRA: CA-CRA_ACR|Revenue Canada
CAN CRA: Canadian Revenue Agency|Agence du Revenu du Canada (ARC)|The Canada Revenue Agency|CRA/ARC
IRL CRI: Charities Regulatory Authority|An Rialálaí Carthanas|IE-CHY|The Charities Regulator|CRA
IRL CRI: Charities Regulator Ireland
IRL CRI: Charities Regulator (Ireland)|An Rialalai Carthanas|Charities Regulatory Authority (CRA)
IRL CRI: Irish Charities Regulator
NZL NZCS: Charities Services (NZ)|NZ-CR|Ngā Ratonga Kaupapa Atawhai|New Zealand Charities Register
NZL NZCS: Charities Commission
NZL NZCS: Charities Services - Ngā Ratonga Kaupapa Atawhai|Nga Ratonga Kaupapa Atawhai
NZL NZCS: The Charities Register
NLD ANBI: Belastingdienst|ANBI-register|Algemeen Nut Beogende Instelling (ANBI)|de Belastingdienst
NLD ANBI: RSIN|Belastingdienst (ANBI)
FRA RNA: RNA|Repertoire National des Associations|Répertoire national des associations (RNA)
FRA RNA: le Répertoire National des Associations
FRA RNA: Waldec|JOAFE|REPERTOIRE NATIONAL DES ASSOCIATIONS
BRA CNPJ: Cadastro Nacional da Pessoa Juridica (CNPJ)|Receita Federal|Receita Federal do Brasil
BRA CNPJ: BR-CNPJ|CNPJ/MF
MEX RFC: RFC|SAT|Servicio de Administración Tributaria (SAT)|Servicio de Administracion Tributaria
MEX RFC: MX-RFC|R.F.C.
SGP COC: The Commissioner of Charities|Commissioner of Charities (COC)|Charity Portal|SG-COC|UEN
SGP COC: Charities Portal
ZAF NPO: NPO Directorate (DSD)|Nonprofit Organisations Directorate|Department of Social Development
ZAF NPO: ZA-NPO|Non-Profit Organizations Directorate
IND FCRA: FCRA|Foreign Contribution Regulation Act|FC(R)A|Ministry of Home Affairs|IN-MHA
IND FCRA: Ministry of Home Affairs (FCRA)|गृह मंत्रालय
DEU ZER: Zuwendungsempfaengerregister|Zuwendungsempfängerregister (ZER)|Bundeszentralamt für Steuern
DEU ZER: BZSt|Das Zuwendungsempfängerregister
DEU ZER: Bundeszentralamt fuer Steuern (BZSt)
"""
FURTHER = """
USA IRS: www.irs.gov|Federal Employer Identification Number|F.E.I.N.|Internal Revenue Sevice|Dept. of the Treasury
GBR CCEW: England & Wales Charity Commission|Charity Commission E&W|Charity Commision for England and Wales
GBR OSCR: oscr.org.uk|Scottish Charity No.|Scotland Charity Register|Register of Scottish charities
GBR CCNI: NI Charity Commission|Charity Commission for N. Ireland|Register of Charities (NI)
AUS ACNC: Australian Charities and Nonprofits Commission|ABN Lookup|Aust. Charities & Not-for-profits Commission
CAN CRA: Canada Revenue|L'Agence du revenu du Canada|Direction des organismes de bienfaisance de l’ARC
CAN CRA: Canada Revenue Agency Charities Listings
IRL CRI: charitiesregulator.ie|An Rialtóir Carthanais
NZL NZCS: Charities Services Nga Ratonga Kaupapa Atawhai|Department of Internal Affairs Charities Services
NLD ANBI: RSIN-nummer|ANBI status
FRA RNA: N° RNA
MEX RFC: Registro Federal del Contribuyente
ZAF NPO: Department of Social Development NPO Directorate
IND FCRA: FCRA Act 2010|Foreign Contributions Regulation Act
DEU ZER: BZSt Zuwendungsempfängerregister|Zuwendungsempfängerregister beim Bundeszentralamt für Steuern
USA IRS: IRS Publication 78 data|Employer ID number|Federal ID number
GBR CCEW: Charity Comm. for England and Wales|Charity Commission Eng & Wales
GBR OSCR: Scottish Charity Reg|https://www.oscr.org.uk/about-charities/
GBR HMRC: HMRC Charities Unit|HMRC recognised charity
IRL CRI: Charities Reg.|Register of Charitable Organisations
NZL NZCS: www.charities.govt.nz|Register of Charities NZ
NLD ANBI: ANBI-instelling|Dutch Tax Authorities
BRA CNPJ: https://receita.fazenda.gov.br/
MEX RFC: El SAT|Clave RFC|Servicio de Admon. Tributaria
SGP COC: www.charities.gov.sg
IND FCRA: fcraonline.nic.in|Ministry of Home Affairs, Govt. of India
USA IRS: Int. Rev. Service|Fed. Tax ID|IRS 501c3 determination letter|EO Select Check
GBR CCEW: https://register-of-charities.charitycommission.gov.uk/charity-search
GBR CCEW: Comisiwn Elusennau ar gyfer Cymru a Lloegr
GBR HMRC: UK tax authority HMRC|HMRC Gift Aid reference
IRL CRI: Public Register of Charities
NZL NZCS: Charities Serv. NZ
ZAF NPO: Dept. of Soc. Development
USA IRS: Taxpayer ID|Inland Revenue Service|IRS BMF extract|IRS 501(c)(3) organization
USA IRS: IRS Exempt Organization Master File
GBR CCEW: Charites Commission for England and Wales|英国慈善委员会
GBR OSCR: Scottish Charity
GBR HMRC: HMRC CASC
AUS ACNC: Australian charity number|Australian Charites and Not-for-profits Commission
CAN CRA: Canadian charity number|Canadian Charity Registration Number|加拿大税务局
CAN CRA: Numéro d'enregistrement d'organisme de bienfaisance
IRL CRI: Charites Regulator|Charites Regulatory Authority
NZL NZCS: Charites Services|NZ charity number
NLD ANBI: Rechtspersonen en Samenwerkingsverbanden Informatienummer
FRA RNA: Répertoire national des assocations
MEX RFC: Sistema de Administración Tributaria
ZAF NPO: Nonprofit Organistions
IND FCRA: FCRA certificate|Foreign Contribution Act
DEU ZER: Zuwendungsregister
GBR CCEW: Comisiwn yr Elusennau
IND FCRA: Foreign Contribution Registration Act
"""
"""With slips, cut off, in another order, side by side, as the host of a website."""
WRITTEN = [
    (country, code, one)
    for country, code, names in re.findall(r"(\w+) (\w+): (.+)", SPELLINGS + FURTHER)
    for one in names.split("|")
]


def meant(text: str, country: str) -> list[str]:
    distances = [
        (distance, one.code)
        for one in REGISTRIES
        if one.country_code == country and (distance := domain.registry_match_distance(one, text)) is not None
    ]
    return [code for distance, code in distances if distance == min(distances)[0]]


def test_all_registries_are_read() -> None:
    assert len(REGISTRIES) == 17


@pytest.mark.parametrize(("country", "code", "text"), WRITTEN)
def test_a_registry_is_understood_however_it_is_called(country: str, code: str, text: str) -> None:
    assert meant(text, country) == [code]


@pytest.mark.parametrize(("code", "number"), [("CCNI", "NIC100019"), ("OSCR", "SC042386"), ("CCEW", "1173575")])
def test_where_several_are_meant_the_number_may_tell(code: str, number: str) -> None:
    named = meant("register of charities", "GBR")
    assert {"CCEW", "CCNI", "OSCR"} == set(named)
    possible = [one for one in named if domain.check_registry_number(one, number).number_key is not None]
    assert possible == [code]


@pytest.mark.parametrize(
    ("country", "text"),
    [
        ("GBR", "The Guild"),
        ("GBR", "Companies House"),
        ("GBR", "Companies House (Scotland)"),
        ("GBR", "Jersey Charity Commissioner"),
        ("GBR", "companieshouse.gov.uk"),
        ("NZL", "www.govt.nz"),
        ("GBR", "Not the Charity Commission"),
        ("GBR", "Tax authority"),
        ("USA", "EIN of Canada"),
        ("USA", "Charity Commission"),
        ("USA", "US"),
        ("USA", "the"),
        ("USA", "()"),
        ("NLD", "KVK"),
        ("NLD", "NL-KVK"),
        ("IRL", "Revenue Commissioners"),
        ("FRA", "INSEE"),
        ("DEU", "Vereinsregister"),
        ("DEU", ""),
        ("CAN", "Ontario Business Registry"),
    ],
)
def test_other_registers_and_none_are_not_guessed(country: str, text: str) -> None:
    assert meant(text, country) == []


def test_what_a_mapping_declares_is_understood_by_its_names_too() -> None:
    own = Registry(uuid4(), "KE-NGO", "NGO Co-ordination Board", "Public Benefit Organizations Authority", "KEN", None)
    for text in ("the NGO Coordination Board", "Public Benefit Organisations Authority (PBORA)", "ke ngo"):
        assert domain.registry_match_distance(own, text) is not None
