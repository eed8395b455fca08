// The page of `rollcast compare`: the same work by several runs, side by side.
import { asTable, bars, h, legend, section, select, table } from './dom.js';
import { digits, figure, gib, percent, seconds } from './format.js';
import { activityVar, phaseVar, seriesVar } from './theme.js';
import { cards, verdictSection } from './verdict.js';

const kGiB = 2 ** 30;
const known = (v) => v !== null && v !== undefined;
const dollars = (v) => `$${v < 100 ? v.toPrecision(3) : figure(v)}`;
const times = (v) => `${v.toFixed(2)} x`;
const interval = (low, high) => (known(low) ? `${times(low)} to ${times(high)}` : '');

// What bars can show; less: the smaller the better.
const kFigures = [
  { key: 'step_seconds_mean', name: 'step time', text: seconds, less: true },
  { key: 'samples_per_second', name: 'samples per second', text: (v) => `${figure(v)}/s` },
  { key: 'tokens_per_second_per_gpu', name: 'tokens per second and GPU', text: (v) => `${figure(v)}/s` },
  { key: 'gpu_hours_per_step', name: 'GPU hours a step', text: (v) => `${figure(v)} h`, less: true },
  { key: 'gpu_hours_per_million_tokens', name: 'GPU hours a million tokens', text: (v) => `${figure(v)} h`, less: true },
  { key: 'gpu_hours_per_run', name: 'GPU hours of the run', text: (v) => `${figure(v)} h`, less: true },
  { key: 'dollars_per_step', name: 'price of a step', text: dollars, less: true },
  { key: 'dollars_per_million_tokens', name: 'price of a million tokens', text: dollars, less: true },
  { key: 'dollars_per_run', name: 'price of the run', text: dollars, less: true },
  { key: 'sync_exposed_seconds', name: 'exposed weight sync', text: seconds, less: true },
  { key: 'mean_staleness', name: 'staleness', text: (v) => `${figure(v)} updates`, less: true },
];

// Of contenders that serve, in the place of those above; `of` their key serving.
const kServingFigures = [
  { key: 'goodput', name: 'requests in time per second', text: (v) => `${figure(v)}/s` },
  { key: 'in_time_share', name: 'share of requests in time', text: percent },
  { key: 'requests_per_second', name: 'requests per second', text: (v) => `${figure(v)}/s` },
  { key: 'output_tokens_per_second', name: 'output tokens per second', text: (v) => `${figure(v)}/s` },
  { key: 'ttft_p50', name: 'first token, median', text: seconds, less: true },
  { key: 'ttft_p99', name: 'first token, p99', text: seconds, less: true },
  { key: 'tpot_p50', name: 'a token after it, median', text: seconds, less: true },
  { key: 'tpot_p99', name: 'a token after it, p99', text: seconds, less: true },
  { key: 'latency_p50', name: 'whole answer, median', text: seconds, less: true },
  { key: 'latency_p99', name: 'whole answer, p99', text: seconds, less: true },
  { key: 'gpu_hours_per_thousand_requests', name: 'GPU hours a thousand requests', text: (v) => `${figure(v)} h`, less: true },
  { key: 'dollars_per_thousand_requests', name: 'price of a thousand requests', text: dollars, less: true },
  { key: 'fairness', name: 'fairness between tenants', text: digits },
];
const kGpuTimes = [['base', 'the base model\u2019s steps', 'compute'], ['adapters', 'adapters in steps', 'communication'], ['loads', 'waits for loads', 'driver'], ['switches', 'merging and unmerging', 'overhead'], ['idle', 'idle', 'unaccounted']];

// Figures by their keys, wherever they are.
function withServing(c) {
  return c.serving ? { ...c, ...c.serving } : c;
}

const kUnits = { token: 'tokens', sample: 'samples', request: 'requests', 'request in time': 'requests in time' };

const kBy = { speed: 'Fastest', gpu_hours: 'Fewest GPU hours', dollars: 'Cheapest' };

function winnerCards(data) {
  return (data.winners || []).filter((w) => w.contender).map((w) => {
    const than = w.next ? ` against ${w.next}` : ', the only one that can';
    const range = known(w.low) ? `; 95 %: ${interval(w.low, w.high)}` : w.next ? '; one seed, no interval' : '';
    return { name: kBy[w.by] || w.by, value: !w.next || !known(w.ratio) ? '1 of 1' : w.decided ? times(w.ratio) : 'no difference', tone: w.decided ? 'good' : '', note: `${w.contender}${than}${range}${w.decided || !w.next ? '' : ': none that we can tell'}` };
  });
}

// The speed of each against the best, with its interval as a whisker.
function speedRows(data) {
  return data.contenders.map((c, i) => {
    if (!known(c.speed_of_best)) return { name: c.name, parts: [], numbers: [c.serving && c.outcome === 'completed' ? 'none in time' : c.outcome], words: c.reason || '' };
    return { name: c.name, parts: [{ name: 'of the best one\u2019s speed', value: c.speed_of_best, text: percent(c.speed_of_best), color: seriesVar(i) }], low: c.speed_of_best_low, high: c.speed_of_best_high, numbers: [percent(c.speed_of_best), c.speed_of_best < 1 && known(c.speed_of_best_low) ? `95 %: ${percent(c.speed_of_best_low)} to ${percent(c.speed_of_best_high)}` : ''] };
  });
}

function speedSection(data) {
  const rows = speedRows(data);
  const whole = Math.max(1, ...rows.map((r) => r.high || 0));
  const out = bars(rows, whole);
  out.querySelectorAll('.stack').forEach((bar, i) => {
    if (known(rows[i].low) && rows[i].high > rows[i].low) bar.append(h('b', { class: 'whisker', style: { left: `${(100 * rows[i].low) / whole}%`, width: `${(100 * (rows[i].high - rows[i].low)) / whole}%` } }));
  });
  return section('speed', `Speed, in ${kUnits[data.unit]} per second, against the best`,
    h('p', { class: 'soft small' }, `${data.serving_why ? '' : `${data.steps} steps of `}${data.seeds.length} ${data.seeds.length === 1 ? 'seed' : 'seeds'}, the same for all${data.seeds.length > 1 ? '; the line in a bar is its 95 % interval over them' : ''}.`), out);
}

function figuresSection(data) {
  const contenders = data.contenders.map(withServing);
  const there = (data.serving_why ? kServingFigures : kFigures).filter((f) => contenders.some((c) => known(c[f.key])));
  if (!there.length) return null;
  const box = h('div');
  const show = (key) => {
    const f = there.find((x) => x.key === key);
    const whole = Math.max(...contenders.map((c) => c[key] || 0)) || 1;
    box.replaceChildren(bars(contenders.map((c, i) => ({ name: c.name, parts: known(c[key]) ? [{ name: f.name, value: c[key], text: f.text(c[key]), color: seriesVar(i) }] : [], numbers: [known(c[key]) ? f.text(c[key]) : 'not known'], words: key === 'step_seconds_mean' && known(c.step_seconds_p10) ? `p10-p90 ${seconds(c.step_seconds_p10)} to ${seconds(c.step_seconds_p90)}` : '' })), whole), h('p', { class: 'soft small' }, f.less ? 'The shorter the better.' : 'The longer the better.'));
  };
  show(there[0].key);
  return section('figures', 'Side by side', h('div', { class: 'tools' }, select('Figure', there.map((f) => ({ value: f.key, name: f.name })), there[0].key, show)), box,
    asTable([{ name: '' }, ...data.contenders.map((c) => ({ name: c.name, num: true }))], () => there.map((f) => [f.name, ...contenders.map((c) => (known(c[f.key]) ? f.text(c[f.key]) : ''))])));
}

function whySection(data) {
  if (!(data.why || []).length) return null;
  const w = data.winners.find((x) => x.by === 'speed');
  return section('why', `Why ${w && w.contender ? w.contender : 'the fastest'} is faster`, h('p', { class: 'soft small' }, `Time on the critical path for the work of one step of ${w && w.next ? w.next : 'the next'}, largest difference first.`),
    table([{ name: 'phase' }, { name: 'cause' }, { name: '' }, { name: 'the fastest', num: true }, { name: 'the next', num: true }, { name: 'saves', num: true }], data.why.map((x) => [x.phase, x.cause, x.change, seconds(x.winner_seconds), seconds(x.next_seconds), seconds(x.saved_seconds)])));
}

// Where they serve: the GPU time of a request.
function gpuTimeSection(data) {
  const there = data.contenders.filter((c) => c.serving && known(c.serving.gpu_seconds_base));
  if (!there.length) return null;
  const sum = (c) => kGpuTimes.reduce((s, [key]) => s + (c.serving[`gpu_seconds_${key}`] || 0), 0);
  const rows = there.map((c) => {
    const parts = kGpuTimes.map(([key, name, colour]) => ({ name, value: c.serving[`gpu_seconds_${key}`] || 0, color: activityVar(colour) })).map((p) => ({ ...p, text: `${seconds(p.value)}, ${percent(p.value / sum(c))}` }));
    return { name: c.name, parts, numbers: [seconds(sum(c))], words: parts.filter((p) => p.value >= 0.01 * sum(c)).map((p) => `${p.name} ${seconds(p.value)}`).join(', ') };
  });
  return section('gpu-time', 'Where the GPUs\u2019 time goes', h('p', { class: 'soft small' }, 'GPU time of a request.'), bars(rows, Math.max(...there.map(sum))),
    legend(kGpuTimes.map(([, name, colour]) => ({ name, color: activityVar(colour) }))));
}

function pathSection(data) {
  const there = data.contenders.filter((c) => (c.critical_path || []).length);
  if (!there.length || data.serving_why) return null;
  const whole = Math.max(...there.map((c) => c.critical_path.reduce((s, p) => s + p.seconds, 0)));
  const rows = there.map((c) => ({ name: c.name, parts: c.critical_path.map((p) => ({ name: `${p.phase}: ${p.cause}`, value: p.seconds, text: seconds(p.seconds), color: phaseVar(p.phase) })), numbers: [seconds(c.step_seconds_mean)], words: [...c.critical_path].sort((a, b) => b.seconds - a.seconds).slice(0, 5).map((p) => `${p.phase}: ${p.cause} ${seconds(p.seconds)}`).join(', ') }));
  return section('path', 'Critical paths', h('p', { class: 'soft small' }, 'What a step of each waits for, in order, coloured by phase.'), bars(rows, whole));
}

function poolsSection(data) {
  const pools = data.contenders.flatMap((c) => (c.pools || []).map((p) => [c, p]));
  if (!pools.length) return null;
  const name = (c, p) => `${c.name}: ${p.name}`;
  const use = pools.filter(([, p]) => known(p.busy_fraction)).map(([c, p]) => ({ name: name(c, p), parts: [{ name: 'busy', value: p.busy_fraction, text: percent(p.busy_fraction), color: activityVar('compute') }, ...p.idle.map((x) => ({ name: `idle: ${x.cause}`, value: x.fraction, text: percent(x.fraction), color: activityVar(x.cause) }))], numbers: [`busy ${percent(p.busy_fraction)}`, known(p.mfu) ? `MFU ${percent(p.mfu)}` : ''], words: `idle: ${p.idle.filter((x) => x.fraction >= 0.005).map((x) => `${x.cause} ${percent(x.fraction)}`).join(', ') || 'none'}` }));
  const memory = pools.filter(([, p]) => known(p.peak_bytes)).map(([c, p]) => ({ name: name(c, p), parts: [{ name: `peak in ${p.peak_phase}`, value: Math.min(1, p.peak_bytes / p.capacity_bytes), text: `${gib(p.peak_bytes / kGiB)} of ${gib(p.capacity_bytes / kGiB)}`, color: p.headroom_bytes < 0 ? 'var(--bad)' : seriesVar(2) }], numbers: [`${gib(p.peak_bytes / kGiB)} of ${gib(p.capacity_bytes / kGiB)}`, p.headroom_bytes < 0 ? `${gib(-p.headroom_bytes / kGiB)} too much` : `${gib(p.headroom_bytes / kGiB)} free`], words: `in ${p.peak_phase} on ${p.gpus} x ${p.gpu}` }));
  return [use.length ? section('use', 'Utilization', h('p', { class: 'soft small' }, 'Share of GPU time.'), bars(use, 1)) : null, memory.length ? section('memory', 'Memory of one GPU at its peak, against the card', bars(memory, 1)) : null];
}

function risksSection(data) {
  const rows = data.contenders.map((c) => {
    const w = c.longest_wait || {};
    const pools = (c.pools || []).filter((p) => known(p.headroom_fraction));
    const tightest = pools.length ? Math.min(...pools.map((p) => p.headroom_fraction)) : null;
    return [c.name, c.outcome, known(tightest) ? (tightest < 0 ? 'does not fit' : percent(tightest)) : '', known(w.wait_seconds) ? `${seconds(w.wait_seconds)} of ${seconds(w.timeout_seconds)} (${w.phase})` : 'no timer', known(c.preemptions_per_step) ? figure(c.preemptions_per_step) : '', known(c.sync_exposed_seconds) ? seconds(c.sync_exposed_seconds) : '', known(c.mean_staleness) ? digits(c.mean_staleness) : ''];
  });
  return section('risks', 'Risks', table([{ name: '' }, { name: 'outcome' }, { name: 'memory left', num: true }, { name: 'longest wait of a timer' }, { name: 'preemptions a step', num: true }, { name: 'exposed sync', num: true }, { name: 'staleness', num: true }], rows));
}

function sourcesSection(data) {
  return section('sources', 'What was compared',
    table([{ name: '' }, { name: 'scenario' }, { name: 'GPUs', num: true }, { name: 'overrides' }, { name: 'outcome' }], data.contenders.map((c) => [c.name, c.file, c.gpus ?? '', (c.sets || []).join(', '), c.reason ? `${c.outcome}: ${c.reason}` : c.outcome])),
    h('p', { class: 'soft small' }, `Seeds ${data.seeds.join(', ')}; the same lengths for all.`));
}

export function comparePage(data, main) {
  const names = data.contenders.map((c) => c.name).join(' or ');
  main.replaceChildren(...[
    verdictSection({ headline: data.verdict, scenario: names }, [data.cost_verdict ? h('p', {}, data.cost_verdict) : null, (data.warnings || []).map((w) => h('p', { class: 'warning' }, w)), cards(winnerCards(data))]),
    speedSection(data), figuresSection(data), whySection(data), gpuTimeSection(data), pathSection(data), poolsSection(data), risksSection(data), sourcesSection(data),
  ].flat(9).filter(Boolean));
  return [['verdict', 'Verdict'], ['speed', 'Speed'], ['figures', 'Figures'], ['why', 'Why'], ['gpu-time', 'GPU time'], ['path', 'Critical paths'], ['use', 'Utilization'], ['memory', 'Memory'], ['risks', 'Risks'], ['sources', 'Sources']];
}
