"""The country that a sanctions programme concerns, for entries without an address."""

from collections.abc import Iterable, Mapping
from typing import Final

_OF: Final[Mapping[str, str]] = {
    "AFG": "Taliban",
    "BLR": "BELARUS|BELARUS-EO14038",
    "CAF": "CAR",
    "CHN": "CMIC-EO13959",
    "COD": "DRC|DRCONGO",
    "CUB": "CUBA",
    "ETH": "ETHIOPIA-EO14046",
    "HTI": "Haiti",
    "IRN": "CAATSA - IRAN|HRIT-IR|IFCA|IFSR|IRAN|IRAN-CON-ARMS-EO|IRAN-EO13846|IRAN-EO13871|IRAN-EO13876|IRAN-EO13902"
    "|IRAN-HR|IRAN-TRA|IRGC|ISA|Iran",
    "IRQ": "IRAQ2|IRAQ3|Iraq",
    "LBN": "LEBANON",
    "LBY": "LIBYA2|LIBYA3|Libya",
    "MMR": "BURMA-EO14014",
    "NIC": "NICARAGUA|NICARAGUA-NHRAA",
    "PRK": "DPRK|DPRK-NKSPEA|DPRK2|DPRK3|DPRK4",
    "PSE": "NS-PLC",
    "RUS": "BPI-RUSSIA-EO14024|CAATSA - RUSSIA|PEESA-EO14039|RUSSIA-EO14024|RUSSIA-EO14065|SSI|UKRAINE-EO13662",
    "SDN": "DARFUR|SUDAN-EO14098",
    "SOM": "SOMALIA|Somalia",
    "SSD": "SOUTH SUDAN",
    "SYR": "HRIT-SY|SYRIA|SYRIA-CAESAR|SYRIA-EO13894",
    "VEN": "VENEZUELA|VENEZUELA-EO13850|VENEZUELA-EO13884",
    "YEM": "YEMEN|Yemen",
    "ZWE": "ZIMBABWE",
}
"""Programmes as OFAC and the United Nations write them. Those against acts, such as SDGT, concern no country."""
_BY_PROGRAMME: Final = {code: country for country, codes in _OF.items() for code in codes.split("|")}


def countries_of_sanctions_programmes(programmes: Iterable[str]) -> frozenset[str]:
    """The countries that programmes concern. An entry need not be there: it may have dealt with them from elsewhere."""
    return frozenset(_BY_PROGRAMME[one] for one in programmes if one in _BY_PROGRAMME)
