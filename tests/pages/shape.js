// What axe can judge on this page, without its words, since equal shapes have equal verdicts in every language: of each
// element its kind, the attributes that mean something to others, how it is shown, and whether it says anything. Ids are
// told by their order, so that what refers to nothing and what stands twice differ. Rows like the one before count once.
// Answers the shape without colours, and with them.
() => {
    const MEANT = /^(role|type|name|autocomplete|scope|dir|hidden|disabled|tabindex|http-equiv|rel|for|href|content|inert)$/;
    const REFERS = /^(for|aria-(labelledby|describedby|controls|owns|details|errormessage|activedescendant))$/;
    const WORDS = /^aria-(label|description|roledescription|valuetext|placeholder)$/;
    const LEAST = 24, NARROW = 600;  // pixels: of a target, of a window
    const order = (seen, value) => seen.get(value) ?? (seen.set(value, seen.size), seen.size - 1);
    const ids = new Map(), labels = new Map();
    document.querySelectorAll('[id]').forEach(one => order(ids, one.id));
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
    const shape = (element, colours) => {
        const style = getComputedStyle(element);
        const painted = colours ? [large(style), ...['opacity', 'color', 'backgroundColor', 'backgroundImage', 'textShadow',
            'textDecorationLine'].map(name => style[name])] : [];
        const shown = [style.display, style.visibility, style.position, style.overflow];
        const box = element.getBoundingClientRect();
        const target = element.matches('a, button, input, select, textarea, summary, [role]')
            && [box.width < LEAST, box.height < LEAST, box.width === 0];
        const says = [...element.childNodes].some(one => one.nodeType === Node.TEXT_NODE && one.data.trim());
        const children = [...element.children].map(one => shape(one, colours)).filter((one, at, all) => one !== all[at - 1]);
        const own = [element.localName, [...element.attributes].map(attribute).sort(), painted, shown, target, says];
        return `(${JSON.stringify([...own, element.checked ?? null])}${children.join('')})`;
    };
    const all = colours => `${innerWidth < NARROW} ${document.title.trim() !== ''} ${shape(document.documentElement, colours)}`;
    return [all(false), all(true)];
}
