"""Names that registers keep in capitals, as they are read (U9)."""

import pytest

from almoner.kit.title_case import to_title_case

NAMES = """
O'Brien & Sons; St "John" Quoted Fund; “John” Fund; 'St John' Trust; Veterans' Fund; St Mary's; Children's; O'Brien's
D'Arcy; L'Arche; Dell'Arte; N'Dour; Qu'Appelle; École L'Étoile; Friends of the O’Neill (UK) Ltd; Bo'ness; Kol Ta'anit
Rock'n'Roll; Y'all; I'll; A's; YMCA's; Saint-O'Neil; McGraw-Hill; McDonald House; McArthur; McIntyre; McCoy; McAfee
MacDonald; MacLeod; MacKenzie; MacArthur; Machine Shop; Macedonia; Macon; Mackinac; Macclesfield; Macmillan Support
Louis XIV Society; XXIII Club; Pope John XXIII; Class of MCMXC; Mix; Dix; 1st and 21st; 1990s; 4-H Club; U.S. P.T.A.
PhD Fund; Foo/Bar; D.A.R.E.; Association Française; Sons of Italy; (The) Friends; Star*Kids; Trade-Mark's
St Marys PTA Inc; AT&T Foundation; (B&O) Railroad; R&B; Smith&Jones Trust
ʻOhana Trust; Hawaiʻi Fund; ʼAbd Fund; İzmir Fund
"""


@pytest.mark.parametrize("name", [name.strip() for name in NAMES.replace("\n", ";").split(";") if name.strip()])
def test_a_name_in_capitals_is_shown_as_people_write_it(name: str) -> None:
    assert to_title_case(name.upper()) == name
