"""axe is not asked twice about pages that differ in words alone, and is asked again about any other difference."""

import pytest

from tests.pages.site import SHAPE, Site, findings

FAULTS = {
    "a field without its label": "document.querySelector('label[for=email]').removeAttribute('for')",
    "a label of nothing": "document.querySelector('label[for=email]').htmlFor = 'nowhere'",
    "a button without words": "document.querySelector('main button').textContent = ' '",
    "pale words": "document.querySelector('label[for=email]').style.color = 'rgb(250, 250, 250)'",
    "dark ground": "document.querySelector('label[for=email]').parentElement.style.background = 'rgb(70, 70, 70)'",
    "half seen": "document.querySelector('label[for=email]').parentElement.style.opacity = 0.3",
    "words over something else": """
        const below = document.createElement('p'), above = document.createElement('p');
        below.style = 'background: rgb(70, 70, 70); block-size: 3rem; margin: 0';
        above.style = 'position: absolute; margin: 0';
        above.textContent = 'Words over something else';
        document.querySelector('main').prepend(above, below)""",
    "a link told by its colour": """
        const words = document.createElement('p'), link = document.createElement('a');
        [link.href, link.textContent] = ['/elsewhere', 'the terms'];
        link.style = 'text-decoration: none; color: rgb(0, 0, 90)';
        words.append('By giving you agree to all that is said at length in ', link, ', which anybody may read.');
        document.querySelector('main').append(words)""",
    "an unknown language": "document.documentElement.lang = 'qq'",
    "no title": "document.title = ''",
    "a wrong role": "document.querySelector('main p').setAttribute('role', 'buton')",
    "a picture without words": "document.querySelector('main').append(document.createElement('img'))",
    "a small target": """
        document.querySelector('main').insertAdjacentHTML('beforeend', '<button>a</button><button>b</button>');
        for (const one of document.querySelectorAll('main button'))
            one.style = 'font-size: 5px; padding: 0; margin: 0; border: 0; min-height: 0; width: 8px; height: 8px'""",
    "no zoom": "document.querySelector('meta[name=viewport]').content = 'width=device-width, user-scalable=no'",
}


@pytest.mark.usefixtures("axe")
async def test_a_page_that_was_fine_is_looked_at_again_with_any_fault(site: Site) -> None:
    session = await site.session()
    async with site.donor() as page:
        await page.goto(session["url"])
        assert await findings(page) == []
        unnoticed = []
        for name, fault in FAULTS.items():
            await page.goto(session["url"])
            await page.evaluate(f"() => {{ {fault} }}")
            if not await findings(page):
                unnoticed.append(name)
    assert unnoticed == []


async def test_one_page_in_several_languages_is_one_shape(site: Site) -> None:
    told = []
    for language in ("en", "de", "fr"):
        session = await site.session(language=language)
        async with site.donor() as page:
            await page.goto(session["url"])
            told.append(await page.evaluate(SHAPE))
    assert len({one["shape"] for one in told}) == 1
    assert len({tuple(sorted(one["looks"])) for one in told}) == 1
