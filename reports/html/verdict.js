// The head of every page: what it comes to, and the figures that people quote.
import { h } from './dom.js';

const good = new Set(['completed']);

// data: {headline, scenario, outcome?}.
export function verdictSection(data, more) {
  return h('section', { id: 'verdict', 'aria-labelledby': 'verdict-title' },
    h('div', {}, data.outcome ? h('span', { class: good.has(data.outcome) ? 'badge' : 'badge bad' }, data.outcome) : null, h('span', { class: 'from' }, data.scenario)),
    h('h1', { id: 'verdict-title' }, data.headline), more);
}

function card(c) {
  const at = c.value.indexOf(' ');
  const value = at < 0 ? [c.value] : [c.value.slice(0, at), h('small', {}, c.value.slice(at))];
  const share = typeof c.share === 'number' ? h('div', { class: 'meter', 'aria-hidden': true }, h('i', { style: { width: `${Math.min(100, c.share * 100)}%` } })) : null;
  return h('div', { class: `card ${c.tone || ''}` }, h('div', { class: 'name' }, c.name), h('div', { class: 'value' }, value), share, h('div', { class: 'note' }, c.note));
}

export const cards = (list) => (list.length ? h('div', { class: 'cards' }, list.map(card)) : null);
