"""Names, former names and acronyms by which registries are known.

A text is compared without accents, case, punctuation, articles and small words; then without brackets, in parts, and
without generic words such as REGISTER or the country at its ends. The nearest match to the text as written counts.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from rapidfuzz.distance import OSA

_NAMES: Final[Mapping[str, str]] = {
    "IRS": """
        US-EIN | EIN | FEIN | TIN | Taxpayer Identification Number | tax identification number | Internal Revenue
        Department of the Treasury | US Department of the Treasury | Form 990 | Employer Identification Number
        federal tax ID | tax ID
        Department of the Treasury Internal Revenue Service | US Treasury | Bureau of Internal Revenue
        Servicio de Impuestos Internos | Servicio de Rentas Internas | IRS TEGE | TEGE | TE/GE
        Tax Exempt and Government Entities | Exempt Organizations Business Master File | Business Master File
        EO BMF | EO Select Check | IRS BMF | BMF | IRS Exempt Organizations | Tax Exempt Organization Search | TEOS
        IRS TEOS
        Publication 78 | Pub 78 | IRS Publication 78 | IRS 501(c)(3) | 501(c)(3)
        Employer ID | Employer ID number | Federal ID | Federal ID number | federal tax number | 美国国税局 | 美國國稅局
        Taxpayer ID | Inland Revenue Service | 501(c)(3) organization | IRS 501(c)(3) organization
        Exempt Organization Master File | IRS Exempt Organization Master File | Exempt Organizations Select Check
    """,
    "CCEW": """
        GB-CHC | GB-CC | CHC | Charity Commission | CCEW | CC | Comisiwn Elusennau | Y Comisiwn Elusennau
        Comisiwn Elusennau Cymru a Lloegr | Comisiwn Elusennau Lloegr a Chymru | Charity Commissioners
        Charity Commissioners for England and Wales | Charity Commission of England | Charity Commission Wales
        register of charities | charity register | register of charities for England and Wales | charity number
        charity registration number | charity reg no
        England and Wales | Central Register of Charities | charity regulator | registered charity
        E&W | Eng & Wales | Charity Commission Eng & Wales | charitycommission.gov.uk
        英国慈善委员会 | 英國慈善委員會 | 英格兰和威尔士慈善委员会
    """,
    "OSCR": """
        GB-SC | Scottish Charity Regulator | Scottish Charity Register | Scottish register of charities
        Charity Regulator Scotland | Oifis Riaghladair Carthannais na h-Alba | Riaghladair Carthannais na h-Alba
        Oifis Riaghladair Charthannas na h-Alba | Scottish Charities Office | Scotland | Scottish charity number
        register of charities | charity register | charity number | charity regulator | registered charity
        Charity Commission Scotland | Charity Commission for Scotland
        Scottish Charity Commission | Scottish register | SC number | Scottish charity SC number
        Scottish Charity
    """,
    "CCNI": """
        GB-NIC | Charity Commission NI | Charity Commission for NI | Northern Ireland Charity Commission | NICC
        Coimisiún Carthanachta Thuaisceart Éireann | Coimisiún na gCarthanachtaí do Thuaisceart Éireann
        Charity Commission of Northern Ireland | Northern Ireland | register of charities Northern Ireland
        NI charity number | Charity Commission | register of charities | charity register | charity number
        charity regulator | registered charity | Tha Cherity Commission fur Norlin Airlann
        NIC | NIC number
    """,
    "HMRC": """
        GB-REV | HMRC | HM Revenue & Customs | Her Majesty's Revenue and Customs | His Majesty's Revenue and Customs
        HMRC Charities | HM Revenue and Customs Charities | Inland Revenue | HM Inland Revenue | Revenue and Customs
        Board of Inland Revenue | Cyllid a Thollau EF | Cyllid a Thollau EM | Cyllid a Thollau Ei Fawrhydi
        Cyllid a Thollau Ei Mawrhydi | CThEF | CThEM | Gift Aid number | HMRC charity number | Inland Revenue number
        HM Revenue | Gift Aid | CASC register | Community Amateur Sports Clubs
        CASC | HMRC CASC
    """,
    "ACNC": """
        AU-ABN | AU-ACNC | ABN | Australian Business Number | Australian Business Register | ABR
        ACNC charity register
        Australian charity register | charity register | Australian Charities and Not-for-profits Commission register
        Australian Charities & Not-for-profit Commission | Charities and Not-for-profits Commission
        Australian Taxation Office | ATO | Australian Charities Commission
        Charities Commission | Australian Charities and NFP Commission | Charities and NFP Commission
        charity number | registered charity number | 澳大利亚慈善与非营利组织委员会
    """,
    "CRA": """
        CA-CRA_ACR | CA-CRA | ARC | Agence du revenu du Canada | Revenue Canada | Revenu Canada | Revenue Agency
        Canada Customs and Revenue Agency | CCRA | Agence des douanes et du revenu du Canada | ADRC
        Charities Directorate | CRA Charities Directorate | Direction des organismes de bienfaisance
        Canadian Revenue Agency | CRA charities listing | list of charities | Liste des organismes de bienfaisance
        business number | BN | numéro d'entreprise | Revenue Canada Charities | registered charities
        charitable registration number
        Charities Listings | Canada Revenue Service | canada.ca | RR number | numéro d'enregistrement
        charity number | charity registration number | registered charity number | charity register
        numéro d'enregistrement d'organisme de bienfaisance | 加拿大税务局 | 加拿大稅務局
    """,
    "CRI": """
        IE-CHY | CHY | IE-CRA | IE-RCN | Charities Regulatory Authority | CRA
        Charities Regulatory Authority of Ireland
        An Rialálaí Carthanas | An Rialtóir Carthanas | An tÚdarás Rialála Carthanas | Rialálaí Carthanas
        Charity Regulator | Irish Charities Regulator | register of charities | charity register
        registered charity number | charity number | public register | RCN | Clár na gCarthanas
        Commissioners of Charitable Donations and Bequests
        Register of Charitable Organisations | Revenue CHY
    """,
    "NZCS": """
        NZ-CR | NZ-CS | Charities Services New Zealand | Charities Commission | New Zealand Charities Commission
        Charities Register | New Zealand Charities Register | Ngā Ratonga Kaupapa Atawhai | DIA Charities Services
        Te Rātā Atawhai | Kōmihana Kaupapa Atawhai | Charities Registration Board | Te Tari Taiwhenua
        Department of Internal Affairs | DIA | NZ Charities Services | NZBN | charity register
        Internal Affairs | CC | charities.govt.nz
        Register of Charities | Charities Registry
        charity number | charity registration number | registered charity number
    """,
    "ANBI": """
        NL-RSIN | NL-ANBI | RSIN | Belastingdienst | Belastingdienst ANBI | Nederlandse Belastingdienst
        fiscaal nummer
        Algemeen nut beogende instellingen | Algemeen nut beogende instelling | Dutch tax authority
        Dutch Tax and Customs Administration | Tax and Customs Administration | Dutch Tax Administration
        public benefit organisations | Dutch Tax Office | ANBI lijst | ANBI opzoeken | Centraal Bureau Fondsenwerving
        Rechtspersonen en Samenwerkingsverbanden Informatienummer
    """,
    "RNA": """
        FR-RNA | FR-WALDEC | Waldec | Registre national des associations | National register of associations
        Journal officiel | Journal officiel des associations | JOAFE | Journal officiel des associations et fondations
        Journal officiel des associations et fondations d'entreprise | préfecture
        numéro RNA | Ministère de l'Intérieur
        Fichier national des associations | Directory of associations
        RNA W | numéro W | répertoire des associations | JO | JO Associations | préfecture de police
    """,
    "CNPJ": """
        BR-CNPJ | Receita Federal | Receita Federal do Brasil | RFB | Secretaria da Receita Federal
        Secretaria Especial da Receita Federal do Brasil | Federal Revenue of Brazil | Brazilian Federal Revenue
        Federal Revenue Service | National Registry of Legal Entities | Cadastro Nacional de Pessoas Jurídicas
        Cadastro Nacional de Pessoa Jurídica | Cadastro Geral de Contribuintes | CGC | CGC/MF | CNPJ/MF
        Ministério da Fazenda | Ministério da Economia
        Receita | SRF | Mapa das OSC | Mapa das Organizações da Sociedade Civil | Secretaria Especial da Receita Federal
        Receita Federal Brasileira | receita.fazenda.gov.br
    """,
    "RFC": """
        MX-RFC | SAT | Servicio de Administración Tributaria | Tax Administration Service | Hacienda | SHCP
        Registro Federal de Contribuyentes de México | Federal Taxpayers Registry | Federal Taxpayer Registry
        Secretaría de Hacienda | RFC con homoclave | Secretaría de Hacienda y Crédito Público | donatarias autorizadas
        Directorio de donatarias autorizadas
        Registro Federal de Causantes | donataria autorizada
        Sistema de Administración Tributaria
    """,
    "COC": """
        SG-COC | SG-UEN | UEN | Unique Entity Number | Charity Portal | Charities Portal | charity register
        Charities Unit | Charity Council | Registry of Charities
        Commissioner of Charities Singapore | Office of the Commissioner of Charities | register of charities
        Pesuruhjaya Badan Amal | 慈善总监 | 慈善總監 | அறநிறுவனங்களின் ஆணையர்
        Ministry of Culture, Community and Youth | MCCY
        新加坡慈善总监 | charities.gov.sg
        charity number | charity registration number | registered charity number
    """,
    "NPO": """
        ZA-NPO | NPO Directorate | Directorate for Nonprofit Organisations | Directorate of Nonprofit Organisations
        Directorate: Nonprofit Organisations | Nonprofit Organisations Directorate | Department of Social Development
        DSD | South African NPO Directorate | Nonprofit Organisations | Registrar of Nonprofit Organisations
        Direktoraat vir Niewinsgewende Organisasies | Niewinsgewende Organisasies
        Departement van Maatskaplike Ontwikkeling | NPO number
        Social Development
    """,
    "FCRA": """
        IN-MHA | MHA | Ministry of Home Affairs | Foreign Contribution Regulation Act | FC(R)A | FCRA 2010 | FCRA 1976
        Foreign Contribution (Regulation) Act, 2010 | Foreign Contribution (Regulation) Act 1976 | FCRA online
        Foreigners Division | गृह मंत्रालय | विदेशी अभिदाय (विनियमन) अधिनियम | विदेशी अंशदान विनियमन अधिनियम
        Home Ministry | Foreign Contribution Regulation | एफसीआरए | गृह मंत्रालय भारत सरकार
        Foreign Contribution Act | Foreign Contribution Registration Act
    """,
    "ZER": """
        DE-ZER | Bundeszentralamt für Steuern | BZSt | Federal Central Tax Office | Register der Zuwendungsempfänger
        Zuwendungsempfänger-Register | donation recipients register | register of donation recipients
        Spendenempfängerregister | Bundesamt für Finanzen | BfF
        Zuwendungsempfängerreg
        Zuwendungsregister
    """,
}
"""By registry code. Compiled for Almoner; from org-id.guide only the prefixes of single lists."""

_COUNTRIES: Final[Mapping[str, str]] = {
    "USA": "us|usa|federal|united states|united states america|america|american|estados unidos",
    "GBR": "uk|united kingdom|gb|gbr|great britain|britain|british",
    "AUS": "au|aus|aust|australia|australian",
    "CAN": "ca|can|canada|canadian",
    "IRL": "ie|irl|ireland|irish|eire|republic ireland",
    "NZL": "nz|nzl|new zealand|aotearoa|aotearoa new zealand",
    "NLD": "nl|nld|netherlands|nederland|dutch|holland",
    "FRA": "fr|fra|france|french|francais",
    "BRA": "br|bra|brazil|brasil|brazilian",
    "MEX": "mx|mex|mexico|mexican|mexicano",
    "SGP": "sg|sgp|singapore|singapura",
    "ZAF": "za|zaf|south africa|south african|suid afrika|rsa",
    "IND": "in|ind|india|indian|bharat|government india",
    "DEU": "de|deu|germany|deutschland|german",
}
_REGIONS: Final[Mapping[str, str]] = {
    "CCEW": "england wales|eng wales|england|wales|cymru|e w|ew",
    "OSCR": "scotland|scottish|scots",
    "CCNI": "northern ireland|n ireland|ni|northern irish",
}
"""Regions within a country that have a registry.

A region names it as the whole text; in brackets it may be another's.
"""
_SMALL: Final = frozenset(
    "the of for and an in la le les el los de des du da do dos del der die das beim bei fur van het et y l d ar "
    "gyfer yr".split()
)
_GENERAL: Final = frozenset(
    "act authority beschikking certificate charity clave code data database db determination directory division "
    "exempt extract form gov id instelling letter list listing listings lookup n number office official online "
    "opzoeken portal public recognised ref reference reg register registered registration registry search status tax "
    "unit website wing zoeken".split()
)
_ONE_WORD: Final = {
    "charities": "charity", "organisations": "organisation", "associations": "association", "dept": "department",
    "authorities": "authority", "auth": "authority", "comm": "commission", "govt": "government", "reg": "register",
    "admin": "administration", "admon": "administracion",
    **dict.fromkeys(("no", "nr", "num", "nummer", "numero"), "number"),
}  # fmt: skip
_LONG_PLURALS: Final = ("charities", "organisations", "associations", "authorities")
"""Words that are shortened even with a typo in them: CHARITES."""
_LONG_WORD: Final = 8
_YEAR: Final = re.compile("(?:19|20)[0-9]{2}")
_HOST: Final = re.compile(
    r"(?:https?://)?(?:www\.)?(([a-z0-9.-]+?)(?:\.(?:gov|govt|org|gob|gouv|gc|co|nic))?\.[a-z]{2,4})(?:/\S*)?"
)
"""The address of a website: (its host, the names in it)."""
_ELISION: Final = re.compile("\\b[dl]['\u2019](?=\\w)")
_SHORTEST_ABBREVIATION: Final = 3
_SHORTEST_SLIP: Final = 12
"""Letters of a name that may have one typo; with twice as many, two."""
_BRACKETS: Final = re.compile(r"[(\[（]([^)\]）]*)[)\]）]")
_PARTS: Final = re.compile(r"\s+[-\u2010-\u2015|:]\s*|[/|,;:]\s*|\s+[-\u2010-\u2015]\s+")
_DOTTED: Final = re.compile(r"\b(?:[a-z]\.){2,}")
_LONGEST: Final = 300
"""Letters of a text that are compared: it may come from a URL."""
_MOST_WORDS: Final = 30
_MOST_WORDS_OF_A_NAME: Final = 12
_MADE_OF_NAMES, _NEARLY = 9, 50
"""Distances of texts composed of names, and of near matches.

Composed ones are nearer than texts of which only a part is a name.
"""
_UMLAUTS: Final = re.compile("([aou])e")


def _words(text: str) -> list[str]:
    """Words in lower case, without accents, punctuation and articles."""
    plain = _ELISION.sub("", text.casefold()).replace("&", " and ")
    plain = _DOTTED.sub(lambda letters: letters[0].replace(".", "") + " ", plain)
    plain = unicodedata.normalize("NFKD", plain)
    plain = "".join(
        "" if unicodedata.combining(one) or one in "'\u2019\u02bc" else one if _is_letter(one) else " " for one in plain
    )
    plain = plain.replace("organiz", "organis")
    return [_one_word(word) for word in plain.split() if word not in _SMALL]


def _one_word(word: str) -> str:
    """The word under which its plural, its abbreviations and a long plural with a typo are known."""
    if (known := _ONE_WORD.get(word)) is not None or len(word) < _LONG_WORD:
        return known or word
    return next((_ONE_WORD[one] for one in _LONG_PLURALS if OSA.distance(word, one, score_cutoff=1) <= 1), word)


def _is_letter(one: str) -> bool:
    return one.isalnum() or unicodedata.category(one).startswith("M")


def _key(words: list[str]) -> str:
    """The normalised form of a name: umlauts may be written as two letters, words joined."""
    return _UMLAUTS.sub(r"\1", "".join(words))


@cache
def _keys(code: str, names: tuple[str, ...]) -> frozenset[str]:
    return frozenset(_key(_words(one)) for one in _spellings(code, names))


def _spellings(code: str, names: tuple[str, ...]) -> Iterator[str]:
    aliases = (one for line in _NAMES.get(code, "").strip().splitlines() for one in line.split("|"))
    return filter(str.strip, (*names, *aliases))


@cache
def _sorted_keys(code: str, names: tuple[str, ...]) -> frozenset[str]:
    """Normalised names with their words in alphabetical order."""
    return frozenset(_key(sorted(_words(one))) for one in _spellings(code, names))


@cache
def _country_words(country: str) -> tuple[tuple[str, ...], ...]:
    found = [tuple(one.split()) for one in _COUNTRIES.get(country, country.casefold()).split("|")]
    return tuple(sorted(found, key=len, reverse=True))


def _without_general(words: list[str], code: str, country: str) -> Iterator[list[str]]:
    """The words, then with more and more generic words (country, kind of register) removed at the ends."""
    yield words
    ends = [*_country_words(country), *((one,) for one in sorted(_GENERAL)), (code.casefold(),)]
    while words:
        before = words
        for end in ends:
            if tuple(words[: len(end)]) == end:
                words = words[len(end) :]
                break
            if tuple(words[-len(end) :]) == end:
                words = words[: -len(end)]
                break
        if words == before or not words:
            return
        yield words


@cache
def _fillers(code: str, country: str) -> frozenset[str]:
    """Words without meaning of their own beside a name: the country, the region, words such as REGISTER."""
    regions = (tuple(one.split()) for one in _REGIONS.get(code, "").split("|"))
    return frozenset(map(_key, map(list, (*_country_words(country), *regions)))) | _GENERAL


def _is_made_of(words: list[str], known: frozenset[str], fillers: frozenset[str]) -> bool:
    """Whether the words consist of names of the registry and filler words only: BZST (ZER)."""
    named: list[bool | None] = [False] + [None] * len(words)
    for end in range(1, len(words) + 1):
        for start in range(max(0, end - _MOST_WORDS_OF_A_NAME), end):
            if (before := named[start]) is None:
                continue
            run = _key(words[start:end])
            if run in known:
                named[end] = True
            elif (run in fillers or _YEAR.fullmatch(run)) and named[end] is None:
                named[end] = before
    return bool(named[-1])


@cache
def _worded(code: str, names: tuple[str, ...]) -> tuple[list[str], ...]:
    """The words of the names of several words."""
    return tuple(words for one in _spellings(code, names) if len(words := _words(one)) > 1)


def _is_abbreviated(words: list[str], names: tuple[list[str], ...]) -> bool:
    """Whether they are the words of a name, cut off except for one at least: INT. REV. SERVICE."""
    return any(
        len(name) == len(words)
        and any(whole == word for whole, word in zip(name, words, strict=True))
        and all(
            whole == word or (len(word) >= _SHORTEST_ABBREVIATION and whole.startswith(word))
            for whole, word in zip(name, words, strict=True)
        )
        for name in names
    )


def _is_nearly(words: list[str], known: frozenset[str]) -> bool:
    """Whether it is a name except for a typo or the order of its words."""
    key = _key(words)
    if len(key) < _SHORTEST_SLIP:
        return False
    typos = min(2, len(key) // _SHORTEST_SLIP)
    return any(OSA.distance(key, one, score_cutoff=typos) <= typos for one in known if len(one) >= _SHORTEST_SLIP)


def registry_name_distance(text: str, registry_code: str, names: tuple[str, ...], country_code: str) -> int | None:
    """How far a text is from a registry's name: 0 for an exact match, None if it does not match."""
    text = text[:_LONGEST]
    known, fillers = _keys(registry_code, names), _fillers(registry_code, country_code)
    host = _HOST.fullmatch(text.strip().casefold())
    labels = host[1].split(".") if host else []
    if any(_key(_words(".".join(labels[first:]))) in known for first in range(len(labels) - 1)):
        return 0
    regions = frozenset(_REGIONS.get(registry_code, "").replace(" ", "").split("|"))
    for further, words in enumerate(_without_general(_words(text), registry_code, country_code)):
        if words and _key(words) in known:
            return further
    words = _words(text)[:_MOST_WORDS]
    if _is_made_of(words, known - fillers, fillers):
        return _MADE_OF_NAMES
    outside = _BRACKETS.sub(" ", text)
    readings = [outside, *_BRACKETS.findall(text), *_PARTS.split(outside)]
    if host:
        readings += [host[1], *(name.replace("charities", "charity") for name in host[2].split("."))]
    for distance, reading in enumerate(readings, 1):
        for further, one in enumerate(_without_general(_words(reading), registry_code, country_code)):
            if one and _key(one) in (known - regions if distance > 1 else known):
                return min(distance, 3) * 10 + further
    if _is_nearly(words, known) or _is_nearly(sorted(words), _sorted_keys(registry_code, names)):
        return _NEARLY
    named, variants = _worded(registry_code, names), _without_general(words, registry_code, country_code)
    return _NEARLY if any(_is_abbreviated(one, named) for one in variants) else None
