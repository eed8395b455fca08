// The page of `rollcast ratio`: how the GPUs divide, and how many there should be.
import { legendOption, plot, startPlots, tipHtml, valueAxis } from './charts.js';
import { asTable, choice, h, section, table } from './dom.js';
import { digits, figure, percent, seconds, secondsAxis, signed } from './format.js';
import { paper, seriesColor } from './theme.js';
import { cards, verdictSection } from './verdict.js';

const dollars = (v) => (v === null || v === undefined ? '' : `$${v < 100 ? v.toPrecision(3) : figure(v)}`);
const split = (p) => (p ? `${figure(p.rollout_gpus)} + ${figure(p.train_gpus)}` : 'none');

const kCurves = {
  split: { name: 'the split of a fixed total', x: (p) => p.rollout_gpus, axis: 'rollout GPUs (the others train)' },
  rollout: { name: 'rollout GPUs alone', x: (p) => p.rollout_gpus, axis: 'rollout GPUs' },
  train: { name: 'trainer GPUs alone', x: (p) => p.train_gpus, axis: 'trainer GPUs' },
  total: { name: 'all GPUs, in proportion', x: (p) => p.gpus, axis: 'GPUs in all' },
  staleness: { name: 'the staleness bound', x: (p) => p.max_staleness, axis: 'schedule.async.max_staleness' },
};

const line = (name, color, data, more = {}) => ({ type: 'line', name, symbol: 'circle', symbolSize: 7, itemStyle: { color }, lineStyle: { color, width: 2, ...(more.lineStyle || {}) }, data, ...Object.fromEntries(Object.entries(more).filter(([k]) => k !== 'lineStyle')) });

// Low to high as an area behind the lines.
function area(name, color, points, x, low, high) {
  const common = { type: 'line', name, stack: name, stackStrategy: 'all', symbol: 'none', lineStyle: { opacity: 0 }, silent: true, tooltip: { show: false } };
  return [{ ...common, data: points.map((p) => [x(p), low(p)]) }, { ...common, areaStyle: { color, opacity: 0.2 }, data: points.map((p) => [x(p), high(p) - low(p)]) }];
}

// Balance, knee and band where the x axis counts rollout GPUs.
function marks(data, curve) {
  const p = paper();
  const lines = [];
  const at = (x, name, color) => lines.push({ xAxis: x, name, lineStyle: { color, type: 'dashed', width: 1.6 }, label: { formatter: name, color, fontSize: 12, position: 'end' } });
  if (curve === 'split' && data.balance && data.balance.rollout_gpus !== null && data.balance.rollout_gpus !== undefined) at(data.balance.rollout_gpus, `balance ${digits(data.balance.rollout_gpus)}`, p.text);
  if (curve === 'rollout' && data.knee && data.knee.rollout_gpus !== null) at(data.knee.rollout_gpus, `knee ${figure(data.knee.rollout_gpus)}`, p.text);
  if (data.base && curve === 'split') at(data.base.rollout_gpus, 'base', p.soft);
  const out = { markLine: { symbol: 'none', silent: true, animation: false, data: lines } };
  if (curve === 'split' && data.band) out.markArea = { silent: true, itemStyle: { color: p.text, opacity: 0.08 }, data: [[{ xAxis: data.band.low }, { xAxis: data.band.high }]] };
  return out;
}

const timeLines = (points, x, curve) => [
  line('step', seriesColor(0), points.map((p) => [x(p), p.step_seconds]), { lineStyle: { width: 3 } }),
  ...(curve === 'staleness' ? [] : [
    line('rollout works', seriesColor(1), points.map((p) => [x(p), p.generate_seconds]), { lineStyle: { type: 'dashed' } }),
    line('trainer works', seriesColor(3), points.map((p) => [x(p), p.train_seconds]), { lineStyle: { type: 'dashed' } })]),
  line('weight sync', seriesColor(2), points.map((p) => [x(p), p.sync_seconds]), { lineStyle: { type: 'dotted' } }),
];

const kFigures = [
  { name: 'Time of a step', axis: secondsAxis, lines: timeLines, band: ['step_seconds_low', 'step_seconds_high'] },
  { name: 'Throughput', format: (v) => `${figure(v)}/s`, lines: (points, x) => [line('samples per second', seriesColor(4), points.map((p) => [x(p), p.samples_per_second]))] },
  { name: 'GPU hours a step', format: (v) => figure(v), lines: (points, x) => [line('GPU hours a step', seriesColor(6), points.map((p) => [x(p), p.gpu_hours_per_step]))] },
  { name: 'Busy GPUs', format: percent, lines: (points, x) => [line('rollout pool', seriesColor(1), points.map((p) => [x(p), p.busy_rollout])), line('trainer\u2019s pool', seriesColor(3), points.map((p) => [x(p), p.busy_train]))] },
];

function pointRows(p) {
  return [['split (rollout + train)', split(p)], ['step', `${seconds(p.step_seconds)} (${seconds(p.step_seconds_low)} to ${seconds(p.step_seconds_high)})`], ['rollout works', seconds(p.generate_seconds)], ['trainer works', seconds(p.train_seconds)], ['weight sync', seconds(p.sync_seconds)],
    ['samples per second', figure(p.samples_per_second)], ['tokens/s/GPU', figure(p.tokens_per_second_per_gpu)], ['GPU hours a step', figure(p.gpu_hours_per_step)], ...(p.dollars_per_step === null || p.dollars_per_step === undefined ? [] : [['price of a step', dollars(p.dollars_per_step)]]),
    ['busy: rollout, train', `${percent(p.busy_rollout)}, ${percent(p.busy_train)}`], ...(p.bottleneck ? [['waits for', p.bottleneck === 'train' ? 'the trainer' : 'the rollout']] : [])];
}

function curveFigure(f, data, curve) {
  const points = data.curves[curve];
  const c = kCurves[curve];
  const option = () => {
    const lines = f.lines(points, c.x, curve);
    Object.assign(lines[0], marks(data, curve));
    const xs = points.map(c.x);
    const pad = (Math.max(...xs) - Math.min(...xs)) * 0.03 || 1;
    return {
      legend: legendOption({ data: lines.map((l) => l.name) }),
      grid: { left: 70, right: 24, top: 56, bottom: 46 },
      xAxis: valueAxis({ min: Math.max(0, Math.floor(Math.min(...xs) - pad)), max: Math.ceil(Math.max(...xs) + pad), name: c.axis, nameLocation: 'middle', nameGap: 28, minInterval: 1 }),
      yAxis: valueAxis({ min: 0, ...(f.axis ? f.axis(Math.max(...points.map((p) => p.step_seconds_high))) : { axisLabel: { formatter: f.format } }) }),
      tooltip: { trigger: 'axis', formatter: (ps) => { const p = points[ps[0].dataIndex]; return tipHtml(`${c.axis.split(' (')[0]}: ${figure(c.x(p))}`, pointRows(p)); } },
      series: [...(f.band ? area('range', seriesColor(0), points, c.x, (p) => p[f.band[0]], (p) => p[f.band[1]]) : []), ...lines],
    };
  };
  return pointPlot(`${f.name} over ${c.axis}`, 300, option, points.length, (i) => [`${c.axis} ${figure(c.x(points[i]))}`, pointRows(points[i])], f.band ? 2 : 0);
}

// A chart of points that the arrow keys go through. at: the series whose points they are.
export function pointPlot(label, height, option, count, what, at) {
  const p = plot(`${label}. The arrow keys go from point to point.`, height, option);
  let chosen = -1;
  p.element.addEventListener('keydown', (e) => {
    if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return;
    e.preventDefault();
    chosen = Math.min(Math.max(chosen + (e.key === 'ArrowLeft' ? -1 : 1), 0), count - 1);
    p.chart.dispatchAction({ type: 'showTip', seriesIndex: at, dataIndex: chosen });
    const [title, rows] = what(chosen);
    document.getElementById('live').textContent = `${title}: ${rows.map((r) => `${r[0]} ${r[1]}`).join(', ')}`;
  });
  return p.element;
}

const kColumns = ['rollout', 'train', 'staleness', 'step', 'least', 'most', 'rollout works', 'trainer works', 'samples/s', 'tokens/s/GPU', 'GPU hours', 'price', 'waits for'];
const pointCells = (p) => [p.rollout_gpus, p.train_gpus, p.max_staleness ?? '', seconds(p.step_seconds), seconds(p.step_seconds_low), seconds(p.step_seconds_high), seconds(p.generate_seconds), seconds(p.train_seconds), figure(p.samples_per_second), figure(p.tokens_per_second_per_gpu), figure(p.gpu_hours_per_step), dollars(p.dollars_per_step), p.bottleneck || ''];

function curvesSection(data) {
  const there = Object.keys(kCurves).filter((c) => (data.curves[c] || []).length > 1);
  if (!there.length) return null;
  const box = h('div');
  const show = (curve) => {
    box.replaceChildren(
      h('div', { class: 'pairs' }, kFigures.map((f) => h('div', {}, h('h3', {}, f.name), curveFigure(f, data, curve)))),
      asTable(kColumns.map((name) => ({ name, num: true })), () => data.curves[curve].map(pointCells)));
    startPlots();
  };
  const tools = h('div', { class: 'tools' }, 'What varies', choice('What varies', there.map((c) => ({ value: c, name: kCurves[c].name })), there[0], show));
  const out = section('curves', 'Curves',
    h('p', { class: 'soft small' }, `Means of ${data.steps} steps and ${data.seeds.length} ${data.seeds.length === 1 ? 'seed' : 'seeds'}; the band of the step runs from the least to the most over the seeds. The grey strip is where the balance lies as responses grow and shrink.`), tools, box);
  out.begin = () => show(there[0]);
  return out;
}

function lengthsSection(data) {
  const points = (data.lengths || []).filter((l) => l.balance_rollout_gpus !== null);
  if (!(data.lengths || []).length) return null;
  const rows = () => data.lengths.map((l) => [figure(l.length_factor), l.mean_response_tokens === null ? '' : figure(l.mean_response_tokens), l.balance_rollout_gpus === null ? 'none' : digits(l.balance_rollout_gpus), l.fastest_rollout_gpus ?? '', l.cheapest_rollout_gpus ?? '']);
  const columns = ['times as long', 'response tokens', 'balance, rollout GPUs', 'fastest', 'cheapest'].map((name) => ({ name, num: true }));
  if (points.length < 2) return section('lengths', 'As responses grow', table(columns, rows()));
  const option = () => ({
    legend: legendOption(),
    grid: { left: 60, right: 24, top: 40, bottom: 46 },
    xAxis: valueAxis({ name: 'mean response tokens', nameLocation: 'middle', nameGap: 28, scale: true }),
    yAxis: valueAxis({ min: 0, name: 'rollout GPUs' }),
    tooltip: { trigger: 'axis', formatter: (ps) => { const l = points[ps[0].dataIndex]; return tipHtml(`${figure(l.mean_response_tokens)} response tokens`, [['times as long', figure(l.length_factor)], ['balance', `${digits(l.balance_rollout_gpus)} rollout GPUs`], ['fastest', figure(l.fastest_rollout_gpus)], ['cheapest', figure(l.cheapest_rollout_gpus)]]); } },
    series: [line('balance', seriesColor(0), points.map((l) => [l.mean_response_tokens, l.balance_rollout_gpus])), line('fastest', seriesColor(1), points.map((l) => [l.mean_response_tokens, l.fastest_rollout_gpus]), { lineStyle: { type: 'dashed' } }), line('cheapest', seriesColor(2), points.map((l) => [l.mean_response_tokens, l.cheapest_rollout_gpus]), { lineStyle: { type: 'dotted' } })],
  });
  return section('lengths', 'As responses grow', h('p', { class: 'soft small' }, 'Where the balance goes when all responses are longer or shorter by a factor.'),
    pointPlot('Balance over the length of responses', 280, option, points.length, (i) => [`${figure(points[i].mean_response_tokens)} response tokens`, [['balance', digits(points[i].balance_rollout_gpus)]]], 0), asTable(columns, rows));
}

const kKnobs = { rollout_gpus: 'rollout GPUs', train_gpus: 'trainer GPUs', max_concurrent: 'samples under way (max_concurrent)', max_staleness: 'staleness bound (max_staleness)' };

function changesSection(data) {
  if (!(data.changes || []).length) return null;
  return section('changes', 'What would help', h('p', { class: 'soft small' }, `One change at a time, against ${split(data.base)} GPUs (rollout + train); seeds paired.`),
    table([{ name: 'change' }, { name: 'from', num: true }, { name: 'to', num: true }, { name: 'step time', num: true }, { name: 'over the seeds', num: true }, { name: 'GPU hours', num: true }, { name: '' }],
      data.changes.map((c) => [kKnobs[c.what] || c.what, c.from, c.to, signed(c.step), `${signed(c.step_low)} to ${signed(c.step_high)}`, signed(c.gpu_hours), c.sure ? '' : 'no difference that we can tell'])));
}

function togetherSection(data) {
  const c = data.colocated;
  if (!c) return null;
  if (!c.point) return section('colocated', 'Colocated', h('p', {}, `It cannot be: ${c.reason}`));
  const p = c.point;
  const than = c.step === null || c.step === undefined ? '' : ` ${signed(c.step)} against the fastest split (${signed(c.step_low)} to ${signed(c.step_high)} over the seeds)${c.sure ? '' : ': no difference that we can tell'}.`;
  return section('colocated', 'Colocated', h('p', {}, `All ${p.gpus} GPUs take turns: a step takes ${seconds(p.step_seconds)}.${than}`), table(pointRows(p).filter(([n]) => !n.startsWith('split')).map(([name]) => ({ name, num: true })), [pointRows(p).filter(([n]) => !n.startsWith('split')).map(([, v]) => v)]),
    (c.sets || []).length ? h('pre', {}, c.sets.map((s) => `--set '${s}'`).join('\n')) : null);
}

function headCards(data) {
  const out = [];
  const add = (name, value, note, tone = '') => out.push({ name, value, note, tone });
  const b = data.balance;
  if (b && b.rollout_gpus !== null && b.rollout_gpus !== undefined) add('Balance', `${digits(b.rollout_gpus)} rollout GPUs`, `${digits(b.train_gpus)} train${data.band ? `; ${digits(data.band.low)} to ${digits(data.band.high)} as lengths change` : ''}`);
  else if (b && b.longer) add('Balance', 'none', `the ${b.longer === 'train' ? 'trainer' : 'rollout'} works longer at every split`);
  if (data.fastest) add('Fastest split', split(data.fastest), 'rollout + train GPUs');
  if (data.cheapest) add('Cheapest split', split(data.cheapest), 'per sample, rollout + train GPUs');
  if (data.knee && data.knee.rollout_gpus !== null) add('Knee', `${figure(data.knee.rollout_gpus)} rollout GPUs`, `beyond it, 1 % more of them adds less than ${figure(data.knee.least_gain)} % throughput`);
  if (data.bottleneck) add('Bottleneck', data.bottleneck.side === 'train' ? 'trainer' : 'rollout', `at ${split(data.base)}, ${data.bottleneck.limit === 'bound' ? 'bound by the samples under way' : 'for want of GPUs'}`);
  const c = data.colocated;
  if (c && c.point && c.step !== null && c.step !== undefined) add('Colocated', signed(c.step), `step time against the fastest split${c.sure ? '' : '; no difference that we can tell'}`);
  return out;
}

export function ratioPage(data, main) {
  const verdict = Array.isArray(data.verdict) ? data.verdict : [data.verdict];
  const curves = curvesSection(data);
  const failed = data.infeasible || [];
  main.replaceChildren(...[
    verdictSection({ headline: verdict[0], scenario: data.scenario }, [verdict.slice(1).map((t) => h('p', {}, t)), cards(headCards(data))]),
    curves, lengthsSection(data), changesSection(data), togetherSection(data),
    failed.length ? section('infeasible', 'What does not run', table([{ name: 'curve' }, { name: 'rollout', num: true }, { name: 'train', num: true }, { name: 'times as long', num: true }, { name: 'why' }], failed.slice(0, 200).map((f) => [f.curve, f.rollout_gpus, f.train_gpus, figure(f.length_factor ?? 1), f.reason]))) : null,
  ].filter(Boolean));
  if (curves) curves.begin();
  return [['verdict', 'Verdict'], ['curves', 'Curves'], ['lengths', 'Lengths'], ['changes', 'Changes'], ['colocated', 'Colocated'], ['infeasible', 'Infeasible']];
}
