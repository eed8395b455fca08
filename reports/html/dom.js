// Elements, tables and the tooltip of bars. Text is always set as text.

export function h(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === 'style') Object.entries(value).forEach(([k, v]) => e.style.setProperty(k, v));
    else if (key.startsWith('on')) e.addEventListener(key.slice(2), value);
    else e.setAttribute(key, value === true ? '' : value);
  }
  e.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== ''));
  return e;
}

export const say = (text) => {
  document.getElementById('live').textContent = text;
};

// columns: [{name, num?}], rows: arrays of text.
export function table(columns, rows) {
  const cell = (tag) => (text, i) => h(tag, { class: columns[i].num ? 'num' : null, scope: tag === 'th' ? 'col' : null }, String(text));
  return h(
    'div',
    { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'table' },
    h('table', {}, h('thead', {}, h('tr', {}, columns.map((c) => c.name).map(cell('th')))), h('tbody', {}, rows.map((r) => h('tr', {}, r.map(cell('td')))))),
  );
}

// A table that is made when it is opened: of a large run most are never looked at.
export function asTable(columns, rows, name = 'As a table') {
  const details = h('details', {}, h('summary', {}, name));
  details.addEventListener('toggle', () => {
    if (details.open && details.children.length === 1) details.append(table(columns, rows()));
  });
  return details;
}

export function section(id, title, ...content) {
  return h('section', { id, 'aria-labelledby': `${id}-title` }, h('h2', { id: `${id}-title` }, title), content);
}

// A group of buttons of which one is pressed. choices: [{value, name}].
export function choice(label, choices, value, change) {
  const buttons = choices.map((c) =>
    h('button', { type: 'button', 'aria-pressed': String(c.value === value), onclick: () => press(c.value) }, c.name),
  );
  const press = (v) => {
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', String(choices[i].value === v)));
    change(v);
  };
  return h('span', { class: 'choice', role: 'group', 'aria-label': label }, buttons);
}

export function select(label, choices, value, change) {
  const box = h('select', { 'aria-label': label, onchange: () => change(box.value) },
    choices.map((c) => h('option', { value: c.value, selected: c.value === value }, c.name)));
  return box;
}

export const legend = (items) =>
  h('div', { class: 'legend' }, items.map((i) => h('span', {}, h('i', { style: { background: i.color } }), i.name)));

// What a tooltip says: a title and rows of a name and a value.
export const tipContent = (title, rows) => [
  h('div', { class: 'tip-title' }, title),
  rows.map(([name, value, color]) =>
    h('div', { class: 'tip-row' }, h('span', {}, color ? h('i', { class: 'swatch', style: { background: color } }) : null, name), h('b', {}, value)),
  ),
];

function placeTip(tip, x, y) {
  const width = tip.offsetWidth;
  const height = tip.offsetHeight;
  tip.style.left = `${Math.max(4, Math.min(x + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${y + 18 + height > innerHeight ? Math.max(4, y - height - 12) : y + 18}px`;
}

// A stacked bar: parts [{name, value, text, color}], whole: what the full width is.
export function stack(title, parts, whole, tall) {
  const tip = document.getElementById('tip');
  const rows = parts.filter((p) => p.value > 0).map((p) => [p.name, p.text, p.color]);
  const bar = h('div', { class: tall ? 'stack tall' : 'stack', tabindex: 0, role: 'img', 'aria-label': `${title}: ${rows.map((r) => `${r[0]} ${r[1]}`).join(', ')}` },
    parts.filter((p) => p.value > 0).map((p) => h('i', { style: { background: p.color, width: `${(100 * p.value) / whole}%` } })));
  const show = (x, y) => {
    tip.replaceChildren(...tipContent(title, rows).flat());
    tip.hidden = false;
    placeTip(tip, x, y);
  };
  const hide = () => {
    tip.hidden = true;
  };
  bar.addEventListener('mousemove', (e) => show(e.clientX, e.clientY));
  bar.addEventListener('mouseleave', hide);
  bar.addEventListener('focus', () => {
    const r = bar.getBoundingClientRect();
    if (bar.matches(':focus-visible')) show(r.left, r.bottom - 8);
  });
  bar.addEventListener('blur', hide);
  bar.addEventListener('keydown', (e) => e.key === 'Escape' && hide());
  return bar;
}

// rows: [{name, parts, numbers [text, text], words}], all bars of one scale.
export function bars(rows, whole) {
  return h('div', { class: 'bars' },
    rows.map((r) => [
      h('div', { class: 'name' }, r.name),
      stack(r.name, r.parts, whole),
      h('div', { class: 'num' }, r.numbers[0]),
      h('div', { class: 'num' }, r.numbers[1] || ''),
      r.words ? h('div', { class: 'parts' }, r.words) : null,
    ]));
}
