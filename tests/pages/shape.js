// What axe can judge on this page, without its words, since equal shapes have equal verdicts in every language: of each
// element its kind, the attributes that mean something to others, how it is shown, and whether it says anything. Ids are
// told by their order, so that what refers to nothing and what stands twice differ. Rows like the one before count once.
// Once transitions have ended, answers the shape, and what the rules of colours go by: the looks of whatever says
// something, each on its grounds.
async () => {
    await Promise.allSettled(document.getAnimations().map(moving => moving.finished));
    const MEANT = /^(role|type|name|autocomplete|scope|dir|hidden|disabled|tabindex|http-equiv|rel|for|href|content|inert)$/;
    const REFERS = /^(for|aria-(labelledby|describedby|controls|owns|details|errormessage|activedescendant))$/;
    const WORDS = /^aria-(label|description|roledescription|valuetext|placeholder)$/;
    const FIELDS = 'select, textarea, input:not([type=hidden], [type=checkbox], [type=radio], [type=range], [type=color], [type=image])';
    const PAINT = ['opacity', 'backgroundColor', 'backgroundImage', 'filter', 'mixBlendMode'];
    const LEAST = 24, NARROW = 600;  // pixels: of a target, of a window
    const order = (seen, value) => seen.get(value) ?? (seen.set(value, seen.size), seen.size - 1);
    const ids = new Map(), labels = new Map(), styles = new Map();
    document.querySelectorAll('[id]').forEach(one => order(ids, one.id));
    const style = one => styles.get(one) ?? (styles.set(one, getComputedStyle(one)), styles.get(one));
    const known = tag => /^[a-z]{2,3}(-[A-Za-z0-9]+)*$/.test(tag)
        && new Intl.DisplayNames(['en'], {type: 'language', fallback: 'none'}).of(tag.slice(0, 2)) !== undefined;
    const attribute = ({name, value}) => {
        if (name === 'id') return `#${order(ids, value)}`;
        if (name === 'lang') return known(value) ? 'lang' : `lang=${value}`;
        if (REFERS.test(name)) return `${name}=${value.split(/\s+/).map(id => ids.get(id) ?? '?')}`;
        if (name === 'href' && value.startsWith('#')) return `href=${ids.get(value.slice(1)) ?? '?'}`;
        if (WORDS.test(name)) return `${name}=${value.trim() ? order(labels, value) : ''}`;
        if (name === 'content' && !/^(\d|width|initial)/.test(value)) return 'content';
        if (name === 'href' || !(MEANT.test(name) || name.startsWith('aria-'))) return value.trim() ? name : `${name}=`;
        return `${name}=${value}`;
    };
    const large = ({fontSize, fontWeight}) => parseFloat(fontSize) >= (fontWeight >= 700 ? 18.66 : 24);
    const paint = one => PAINT.map(name => style(one)[name]);
    const plain = JSON.stringify(['1', 'rgba(0, 0, 0, 0)', 'none', 'none', 'normal']);
    const saying = element => [...element.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim());
    const shape = (element, colours) => {
        const own = style(element);
        const painted = colours ? [large(own), own.color, own.textShadow, own.textDecorationLine, paint(element)] : [];
        const shown = [own.display, own.visibility, own.position, own.overflow];
        const box = element.getBoundingClientRect();
        const target = element.matches('a, button, input, select, textarea, summary, [role]')
            && [box.width < LEAST, box.height < LEAST, box.width === 0];
        const children = [...element.children].map(one => shape(one, colours)).filter((one, at, all) => one !== all[at - 1]);
        const meant = [element.localName, [...element.attributes].map(attribute).sort(), painted, shown, target, saying(element)];
        return `(${JSON.stringify([...meant, element.checked ?? null])}${children.join('')})`;
    };
    const inner = one => one.clientWidth - parseFloat(style(one).paddingLeft) - parseFloat(style(one).paddingRight);
    // Whether it may lie on other grounds than those of what it stands in.
    const moved = one => {
        const own = style(one), off = name => parseFloat(own[name]) !== 0 && own[name] !== 'auto';
        return ['absolute', 'fixed'].includes(own.position) || own.transform !== 'none' || own.zIndex < 0
            || own.position === 'relative' && ['top', 'right', 'bottom', 'left'].some(off)
            || own.float !== 'none' && one.getBoundingClientRect().width + 1 < inner(one.parentElement)
            || ['marginTop', 'marginRight', 'marginBottom', 'marginLeft'].some(name => parseFloat(own[name]) < 0);
    };
    const solid = one => /^rgb\(/.test(style(one).backgroundColor);
    const letters = one => one.textContent.replace(/\s/g, '').length;
    // How a link stands out from the words around it.
    const linked = link => {
        let block = link.parentElement;
        while (style(block).display.startsWith('inline')) block = block.parentElement;
        const links = [...block.querySelectorAll('a, button, select, input, textarea')].reduce((sum, one) => sum + letters(one), 0);
        const manner = one => ['color', 'fontWeight', 'fontStyle', 'fontSize', 'fontFamily', 'borderBottomStyle'].map(name => style(one)[name]);
        return [letters(block) - links >= letters(link), manner(link), manner(link.parentElement), manner(block)];
    };
    // What the rules of colours go by for one element; undefined where its grounds may be anybody's.
    const look = element => {
        const grounds = [];
        let standing = false;
        for (let one = element; one !== null; one = one.parentElement) {
            const painted = JSON.stringify(paint(one));
            if (painted !== plain) grounds.push(painted);
            standing ||= solid(one);
            if (!standing && moved(one)) return undefined;
        }
        const own = style(element), link = element.closest('a');
        const off = element.closest(':disabled, [aria-disabled=true]') !== null || element.closest('label')?.control?.disabled;
        return JSON.stringify([large(own), own.color, own.textShadow, own.textDecorationLine, off, link && linked(link), grounds]);
    };
    const seen = one => one.checkVisibility({opacityProperty: true, visibilityProperty: true})
        && one.closest('[aria-hidden=true], [inert]') === null;
    const clipped = one => one !== null && (style(one).clipPath !== 'none' || clipped(one.parentElement));
    const all = colours => `${innerWidth < NARROW} ${document.title.trim() !== ''} ${shape(document.documentElement, colours)}`;
    const speaking = [...document.querySelectorAll('body, body *')].filter(one =>
        (saying(one) || one.matches(FIELDS)) && seen(one) && !clipped(one));
    const looks = new Set(speaking.map(look));
    if (looks.delete(undefined)) looks.add(all(true));
    window.lookOf = look;
    return {shape: all(false), looks: [...looks]};
}
