// The page of one run.
import { startPlots } from './charts.js';
import { enginesSection, linksSection, memorySection } from './curves.js';
import { asTable, bars, h, legend, section, stack, table } from './dom.js';
import { clock, figure, percent, seconds, signed } from './format.js';
import { ganttSection } from './gantt.js';
import { servingSections } from './serving.js';
import { activityVar, phaseVar, seriesVar } from './theme.js';
import { cards, verdictSection } from './verdict.js';

const phaseName = (p, data) => (data.pools.length > 1 ? `${p.name} (${p.pool})` : p.name);

function timeSection(data) {
  if (!data.phases.length) return null;
  const whole = Math.max(data.steps ? data.steps.mean : 0, ...data.phases.map((p) => p.mean));
  if (!(whole > 0)) return null;
  const rows = data.phases.map((p) => {
    const known = Object.entries(p.activities);
    const rest = Math.max(0, p.mean - known.reduce((s, [, v]) => s + v, 0));
    const parts = known.map(([name, v]) => ({ name, value: v, text: `${seconds(v)}, ${percent(v / p.mean)}`, color: activityVar(name) }));
    if (rest > p.mean * 1e-6) parts.push({ name: 'unaccounted', value: rest, text: seconds(rest), color: activityVar('unaccounted') });
    const words = known.filter(([, v]) => v >= 0.01 * p.mean).map(([name, v]) => `${name} ${percent(v / p.mean)}`).join(', ');
    return { name: phaseName(p, data), parts, numbers: [seconds(p.mean), p.share === null ? '' : percent(p.share)], words };
  });
  return section('time', 'Where the time goes',
    h('p', { class: 'soft small' }, `Mean per step${data.steps ? `, of ${seconds(data.steps.mean)}` : ''}. Inside a phase: what its GPUs do, on average.`),
    bars(rows, whole),
    legend([...new Set(data.phases.flatMap((p) => Object.keys(p.activities)))].map((name) => ({ name, color: activityVar(name) }))),
    asTable([{ name: 'phase' }, { name: 'mean', num: true }, { name: 'exposed', num: true }, { name: 'of the step', num: true }], () => data.phases.map((p) => [phaseName(p, data), seconds(p.mean), seconds(p.exposed), p.share === null ? '' : percent(p.share)])));
}

function useSection(data) {
  if (!data.utilization.length) return null;
  const rows = data.utilization.map((u) => ({
    name: `${u.pool}: ${u.gpus} x ${u.gpu}`,
    parts: [{ name: 'busy', value: u.busy, text: percent(u.busy), color: activityVar('compute') }, ...Object.entries(u.idle).map(([name, v]) => ({ name: `idle: ${name}`, value: v, text: percent(v), color: activityVar(name) }))],
    numbers: [`busy ${percent(u.busy)}`, `MFU ${percent(u.mfu)}, MBU while generating ${percent(u.mbu)}`],
    words: Object.keys(u.idle).length ? `idle: ${Object.entries(u.idle).map(([name, v]) => `${name} ${percent(v)}`).join(', ')}` : '',
  }));
  return section('use', 'Utilization', h('p', { class: 'soft small' }, 'Share of GPU time over the completed steps.'), bars(rows, 1));
}

function pathSection(data) {
  const sum = data.critical_path.reduce((s, p) => s + p.seconds, 0);
  if (!(sum > 0)) return null;
  const name = (p) => `${p.phase}: ${p.cause}`;
  const parts = data.critical_path.map((p) => ({ name: name(p), value: p.seconds, text: `${seconds(p.seconds)}, ${percent(p.seconds / sum)}`, color: phaseVar(p.phase) }));
  const sorted = [...data.critical_path].sort((a, b) => b.seconds - a.seconds).filter((p) => p.seconds >= sum * 0.01);
  const rows = sorted.slice(0, 10).map((p) => ({ name: name(p), parts: [{ name: name(p), value: p.seconds, text: seconds(p.seconds), color: phaseVar(p.phase) }], numbers: [seconds(p.seconds), percent(p.seconds / sum)] }));
  const levers = data.levers.map((l) => ({ name: `${l.pool ? `${l.pool}: ` : ''}${l.text.split(':')[0]}`, parts: [{ name: 'saves at most', value: l.seconds, text: seconds(l.seconds), color: seriesVar(1) }], numbers: [seconds(l.seconds), percent(l.share)], words: l.text.split(': ').slice(1).join(': ') }));
  return section('path', 'Critical path and levers',
    h('p', { class: 'soft small' }, 'What a step waits for, in order: of each phase the ranks that end it, and how their time divides. Shortening anything else does not shorten the step.'),
    stack('Critical path', parts, sum, true), bars(rows, sum),
    levers.length ? [h('h3', {}, 'Biggest levers'), h('p', { class: 'soft small' }, 'What removing each would save per step, at most.'), bars(levers, Math.max(...data.levers.map((l) => l.seconds)))] : null,
    asTable([{ name: 'phase' }, { name: 'cause' }, { name: 'time a step', num: true }], () => data.critical_path.map((p) => [p.phase, p.cause, seconds(p.seconds)])));
}

function syncSection(data) {
  const s = data.weight_sync;
  if (!s) return null;
  const whole = Math.max(...s.causes.map((c) => c.seconds));
  if (!(whole > 0)) return null;
  return section('sync', 'Weight sync', h('p', { class: 'soft small' }, `${s.heading}.`),
    bars(s.causes.map((c) => ({ name: c.name, parts: [{ name: c.name, value: c.seconds, text: seconds(c.seconds), color: phaseVar('weight_sync') }], numbers: [seconds(c.seconds)] })), whole));
}

function incidentSection(data) {
  const i = data.incident;
  if (!i) return null;
  const start = i.happenings[0].time;
  const rows = i.happenings.map((x) => [clock(x.time), `+${(x.time - start).toFixed(1)} s`, x.kind, x.until - x.time >= 0.0005 ? `${x.what} (until ${clock(x.until)})` : x.what]);
  return section('incident', 'What happened',
    table([{ name: 'time of the run', num: true }, { name: 'since the cause', num: true }, { name: '' }, { name: 'what' }], rows),
    i.left_out ? h('p', { class: 'soft small' }, `${i.left_out} later ones are left out; --incident tells all.`) : null,
    h('p', {}, i.cost),
    i.sooner.length ? [h('h3', {}, 'What would have ended it sooner'), h('ul', { class: 'plain' }, i.sooner.map((t) => h('li', {}, t)))] : null);
}

function measuredSection(data) {
  const m = data.measured;
  if (!m) return null;
  return section('measured', 'Beside the measured values', m.source ? h('p', { class: 'soft small' }, m.source) : null,
    table([{ name: '' }, { name: 'measured', num: true }, { name: 'forecast', num: true }, { name: 'error', num: true }],
      m.values.map((v) => [v.name, figure(v.measured), v.forecast === null ? 'none' : figure(v.forecast), v.forecast === null || v.measured === 0 ? '' : signed(v.forecast / v.measured - 1)])));
}

function longSection(data) {
  return data.long_run ? section('long', data.long_run.heading, h('pre', { class: 'wide', tabindex: 0, role: 'region', 'aria-label': data.long_run.heading }, data.long_run.text)) : null;
}

function basisSection(data) {
  const known = data.prices.filter((p) => p.p90 !== null);
  const whole = Math.max(0.5, ...known.map((p) => p.p90));
  return section('basis', 'What the forecast stands on',
    data.prices.map((p) => h('p', {}, p.sentence)),
    known.length ? [h('h3', {}, 'Error of a price of one kernel, against what was measured'),
      bars(known.map((p) => ({ name: p.pools.join(', '), parts: [{ name: 'half of the kernels are within', value: p.median, text: percent(p.median), color: seriesVar(0) }, { name: 'nine in ten are within', value: p.p90 - p.median, text: percent(p.p90), color: seriesVar(1) }], numbers: [`median ${percent(p.median)}`, `p90 ${percent(p.p90)}`] })), whole)] : null,
    data.prices.length && !known.length ? h('p', { class: 'soft' }, 'How far these prices are off is not known.') : null,
    data.notes.length ? [h('h3', {}, 'Assumptions'), h('ul', { class: 'plain' }, data.notes.map((n) => h('li', {}, n)))] : null,
    h('p', { class: 'soft small' }, `Seed ${data.seed}. The same scenario and seed give the same page.`));
}

export function runPage(data, main) {
  const sections = [verdictSection(data, [h('p', {}, data.summary), data.samples ? h('p', {}, data.samples) : null, data.message ? h('pre', {}, data.message) : null, cards(data.cards)]),
    ...servingSections(data), incidentSection(data), ganttSection(data), timeSection(data), useSection(data), pathSection(data), enginesSection(data), memorySection(data, startPlots),
    linksSection(data), syncSection(data), measuredSection(data), longSection(data), basisSection(data)].filter(Boolean);
  main.replaceChildren(...sections);
  return [['verdict', 'Verdict'], ['latency', 'Latencies'], ['requests', 'Requests'], ['gpu-time', 'GPU time'], ['tenants', 'Tenants'], ['incident', 'Incident'], ['timeline', 'Timeline'], ['time', 'Time'], ['use', 'Utilization'], ['path', 'Critical path'], ['engines', 'Rollout'], ['memory', 'Memory'], ['links', 'Network'], ['measured', 'Measured'], ['basis', 'Basis']];
}
