// One bundle for all reports: the kind of the data says which page it is.
import { startPlots } from './charts.js';
import { comparePage } from './compare.js';
import { h } from './dom.js';
import { ratioPage } from './ratio.js';
import { runPage } from './run.js';
import { shadeButton } from './theme.js';

const pages = { run: runPage, compare: comparePage, ratio: ratioPage };
const names = { run: 'forecast', compare: 'comparison', ratio: 'ratio' };

const { kind, version, data } = JSON.parse(document.getElementById('data').textContent);
const links = pages[kind](data, document.getElementById('main'));
const there = links.filter(([id]) => document.getElementById(id));
document.getElementById('top').append(
  h('div', { class: 'bar-top' },
    h('div', { class: 'brand' }, 'Rollcast ', h('span', {}, names[kind])),
    h('nav', { 'aria-label': 'Parts of the report' }, there.map(([id, name]) => h('a', { href: `#${id}` }, name))),
    shadeButton()));
document.getElementById('main').append(h('p', { class: 'soft small' }, `Made by Rollcast ${version}; this file holds all it needs.`));
startPlots();
document.documentElement.dataset.ready = 'yes';
