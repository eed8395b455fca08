// Light and dark: the shade of the page, the colours of phases and activities in it.
import { h } from './dom.js';

// [light, dark]; work is blue to violet, waiting yellow to red.
const activities = {
  compute: ['#2f6fde', '#5b93f5'],
  communication: ['#0e8f7e', '#2fb8a4'],
  copy: ['#7a58d1', '#a287f0'],
  overhead: ['#78879a', '#8f9fb3'],
  pipeline_bubble: ['#eab308', '#e5bd36'],
  rollout_tail: ['#f08a24', '#f59a45'],
  collective_wait: ['#dd4b2a', '#f0704f'],
  phase_wait: ['#bf2f62', '#e0638f'],
  driver: ['#96694c', '#c0916f'],
  unaccounted: ['#b6c0cc', '#566474'],
};
const phases = {
  wake: ['#94a3b8', '#7e8da3'],
  generate: ['#2f6fde', '#5b93f5'],
  sleep: ['#64748b', '#9aa8bb'],
  score: ['#7a58d1', '#a287f0'],
  old_logprob: ['#0891b2', '#38b6d4'],
  reference: ['#0e8f7e', '#2fb8a4'],
  values: ['#65a30d', '#8fc93a'],
  advantage: ['#b08d2e', '#cfb159'],
  update_critic: ['#f08a24', '#f59a45'],
  update_actor: ['#dd4b2a', '#f0704f'],
  weight_sync: ['#bf2f62', '#e0638f'],
  checkpoint: ['#7c5a45', '#b08a72'],
  between_phases: ['#b6c0cc', '#566474'],
};
const series = [
  ['#2f6fde', '#5b93f5'], ['#f08a24', '#f59a45'], ['#0e8f7e', '#2fb8a4'], ['#bf2f62', '#e0638f'], ['#7a58d1', '#a287f0'],
  ['#eab308', '#e5bd36'], ['#0891b2', '#38b6d4'], ['#dd4b2a', '#f0704f'], ['#65a30d', '#8fc93a'], ['#96694c', '#c0916f'],
  ['#64748b', '#9aa8bb'], ['#c026d3', '#e06bf0'], ['#4d7c0f', '#b2d46a'], ['#1e3a8a', '#93b4ff'], ['#b6c0cc', '#566474'],
];

const listeners = [];
const dark = matchMedia('(prefers-color-scheme: dark)');
let wish = 'auto'; // auto | light | dark

export const shade = () => (wish === 'auto' ? (dark.matches ? 'dark' : 'light') : wish);
const of = (pair) => (pair || series[14])[shade() === 'dark' ? 1 : 0];
export const activityColor = (name) => of(activities[name]);
export const phaseColor = (name) => of(phases[name]);
export const seriesColor = (i) => of(series[i % series.length]);

// For elements: colours that follow the shade by themselves.
export const activityVar = (name) => `var(--activity-${activities[name] ? name : 'unaccounted'})`;
export const phaseVar = (name) => `var(--phase-${phases[name] ? name : 'between_phases'})`;
export const seriesVar = (i) => `var(--series-${i % series.length})`;

export function paper() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { card: of('--card'), text: of('--text'), soft: of('--soft'), line: of('--line'), bad: of('--bad'), accent: of('--accent') };
}

export const onShade = (f) => listeners.push(f);

function apply() {
  const root = document.documentElement;
  root.dataset.theme = wish;
  root.dataset.shade = shade();
  const set = (kind, table) => Object.entries(table).forEach(([name, pair]) => root.style.setProperty(`--${kind}-${name}`, of(pair)));
  set('activity', activities);
  set('phase', phases);
  set('series', series);
  listeners.forEach((f) => f());
}

// A button that turns light to dark and back.
export function shadeButton() {
  const button = h('button', { type: 'button', id: 'shade' });
  const name = () => {
    button.textContent = shade() === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-label', `Show in ${shade() === 'dark' ? 'light' : 'dark'} colours`);
  };
  button.addEventListener('click', () => {
    wish = shade() === 'dark' ? 'light' : 'dark';
    apply();
  });
  onShade(name);
  name();
  return button;
}

dark.addEventListener('change', apply);
apply();
