// Curves over the run's time: the engines, the memory of a GPU, the links.
import { lineKeys, timePlot, tipHtml, valueAxis, zoomOption } from './charts.js';
import { asTable, h, legend, section, select } from './dom.js';
import { figure, gib, percent, seconds, timeAxis } from './format.js';
import { paper, seriesColor, seriesVar } from './theme.js';

export const xAxis = (range, more = {}) => valueAxis({ min: range[0], max: range[1], axisLabel: { formatter: timeAxis(range[1] - range[0]), hideOverlap: true, showMaxLabel: false, ...(more.axisLabel || {}) }, ...Object.fromEntries(Object.entries(more).filter(([k]) => k !== 'axisLabel')) });

// The last index whose time is at or before t.
function before(times, t) {
  let low = 0;
  let high = times.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (times[middle] <= t) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// The next number that an axis ends well at.
function rounded(v) {
  const unit = 10 ** Math.floor(Math.log10(v));
  const step = v / unit < 2 ? unit / 5 : v / unit < 5 ? unit / 2 : unit;
  return Math.ceil(v / step) * step;
}

// A value that holds until the next time: two points where it changes.
export const held = (times, values) => times.flatMap((t, i) => (i === 0 ? [[t, values[0]]] : [[t, values[i - 1]], [t, values[Math.min(i, values.length - 1)]]]));

export const cellTimes = (range, count) => Array.from({ length: count + 1 }, (_, i) => range[0] + ((range[1] - range[0]) * i) / count);

const kEngineKinds = [['running', 'running sequences'], ['waiting', 'waiting sequences'], ['kv_blocks', 'KV blocks in use']];

function enginesPlot(e, range) {
  const kinds = kEngineKinds.filter(([key]) => e[key]);
  const times = cellTimes(range, e[kinds[0][0]].mean.length);
  const each = 150;
  const rowsAt = (t) => {
    const i = Math.min(Math.max(before(times, t), 0), times.length - 2);
    return [times[i], kinds.map(([key, name], k) => [name, `${figure(e[key].mean[i])} (${figure(e[key].low[i])} to ${figure(e[key].high[i])})`, seriesColor([0, 1, 2][k])])];
  };
  const option = () => ({
    grid: kinds.map((_, k) => ({ left: 64, right: 16, top: 32 + k * each, height: each - 54 })),
    xAxis: kinds.map((_, k) => xAxis(range, { gridIndex: k, axisLabel: { show: k === kinds.length - 1 } })),
    yAxis: kinds.map(([, name], k) => valueAxis({ gridIndex: k, name, nameLocation: 'end', nameGap: 14, nameTextStyle: { color: paper().soft, fontSize: 12, align: 'left', padding: [0, 0, 0, -52] }, min: 0, splitNumber: 3, axisLabel: { formatter: figure } })),
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    dataZoom: zoomOption(range, kinds.map((_, k) => k)),
    tooltip: { trigger: 'axis', formatter: (ps) => { const [t, rows] = rowsAt(ps[0].axisValue); return tipHtml(`${seconds(t)}, one engine: mean (least to most)`, rows); } },
    series: kinds.flatMap(([key], k) => {
      const color = seriesColor([0, 1, 2][k]);
      const common = { type: 'line', symbol: 'none', xAxisIndex: k, yAxisIndex: k, silent: true };
      const band = { ...common, stack: `band ${key}`, stackStrategy: 'all', lineStyle: { opacity: 0 } };
      return [
        { ...band, data: held(times, e[key].low) },
        { ...band, data: held(times, e[key].high.map((v, i) => v - e[key].low[i])), areaStyle: { color, opacity: 0.22 } },
        { ...common, data: held(times, e[key].mean), lineStyle: { color, width: 2 }, itemStyle: { color } },
      ];
    }),
  });
  const says = (t) => { const [at, rows] = rowsAt(t); return `${seconds(at)}: ${rows.map((r) => `${r[0]} ${r[1]}`).join(', ')}`; };
  const member = timePlot({ label: `Engines of ${e.pool} over time`, height: kinds.length * each + 42, range, option, keys: lineKeys(range, says) });
  const rows = () => times.slice(0, -1).filter((_, i) => i % 4 === 0).map((t) => [seconds(t), ...rowsAt(t)[1].map((r) => r[1])]);
  return [member.elements, asTable([{ name: 'time' }, ...kinds.map(([, name]) => ({ name: `${name}, mean (least to most)`, num: true }))], rows)];
}

export function enginesSection(data) {
  if (!data.engines.length) return null;
  return section('engines', 'Rollout engines',
    data.engines.map((e) => [
      data.engines.length > 1 ? h('h3', {}, e.pool) : null,
      h('p', { class: 'soft small' }, `${e.engines === 1 ? 'One engine' : `${e.engines} engines`}${data.engines.length > 1 ? '' : ` of ${e.pool}`}. Line: the mean of the engines; band: from the engine with the least to the one with the most. Where the line falls and the band stays, a few engines hold the others up.`),
      enginesPlot(e, data.range),
    ]));
}

// Parts too thin to be seen as one: each below 2 % of the card.
function withoutThin(all, capacity) {
  const thin = all.filter((s) => Math.max(...s.gib) < capacity * 0.02);
  if (thin.length < 2) return all;
  const sum = thin[0].gib.map((_, i) => thin.reduce((x, s) => x + s.gib[i], 0));
  return [...all.filter((s) => !thin.includes(s)), { name: `small parts: ${thin.map((s) => s.name).join(', ')}`, gib: sum }];
}

function memoryPlot(m, range) {
  const parts = withoutThin(m.series, m.capacity);
  const ends = [...m.times, Math.max(range[1], m.times[m.times.length - 1] || 0)];
  const top = Math.max(m.capacity, m.oom ? m.oom.gib : 0, ...m.times.map((_, i) => m.series.reduce((s, x) => s + x.gib[i], 0)));
  const line = (points) => held([...points.map((x) => x[0]), range[1]], points.map((x) => x[1]));
  const torch = [['PyTorch reserved', m.reserved], ['PyTorch in use', m.allocated]].filter(([, points]) => points.length);
  const rowsAt = (t) => {
    const i = before(m.times, t);
    const rows = i < 0 ? [] : parts.map((s, k) => [s.name, s.gib[i], seriesColor(k)]).filter((r) => r[1] > 0);
    const sum = rows.reduce((s, r) => s + r[1], 0);
    const held = torch.map(([name, points]) => [name, before(points.map((x) => x[0]), t), points]).filter((x) => x[1] >= 0).map(([name, n, points]) => [name, gib(points[n][1])]);
    return [...rows.reverse().map((r) => [r[0], gib(r[1]), r[2]]), ['ledger, in all', `${gib(sum)} of ${gib(m.capacity)}`], ...held];
  };
  const option = () => {
    const p = paper();
    return {
      grid: { left: 64, right: 20, top: 12, bottom: 54 },
      xAxis: xAxis(range),
      yAxis: valueAxis({ min: 0, max: rounded(top * 1.06), axisLabel: { formatter: (v) => `${figure(v)} GiB` } }),
      dataZoom: zoomOption(range, [0]),
      tooltip: { trigger: 'axis', formatter: (ps) => tipHtml(seconds(ps[0].axisValue), rowsAt(ps[0].axisValue)) },
      series: [
        ...parts.map((s, k) => ({ type: 'line', name: s.name, stack: 'ledger', stackStrategy: 'all', symbol: 'none', lineStyle: { width: 0 }, itemStyle: { color: seriesColor(k) }, areaStyle: { color: seriesColor(k), opacity: 0.85 }, data: held(ends, s.gib) })),
        ...torch.map(([name, points], k) => ({ type: 'line', name, symbol: 'none', lineStyle: { color: p.text, width: 1.6, type: k ? 'dotted' : 'solid' }, itemStyle: { color: p.text }, data: line(points) })),
        {
          type: 'line', symbol: 'none', silent: true, data: [[range[0], m.capacity], [range[1], m.capacity]], lineStyle: { opacity: 0 }, itemStyle: { color: p.bad },
          markLine: { symbol: 'none', silent: true, animation: false, data: [{ yAxis: m.capacity, lineStyle: { color: p.bad, width: 2, type: 'dashed' }, label: { position: 'insideStartBottom', formatter: `the card: ${gib(m.capacity)}`, color: p.bad, fontSize: 12.5, fontWeight: 'bold' } }, ...(m.oom ? [{ xAxis: m.oom.time, lineStyle: { color: p.bad, width: 1.5, type: 'solid' }, label: { show: false } }] : [])] },
          markPoint: m.oom ? { symbol: 'circle', symbolSize: 13, itemStyle: { color: p.bad, borderColor: p.card, borderWidth: 2 }, data: [{ coord: [m.oom.time, m.oom.gib] }], label: { show: true, formatter: 'out of memory', color: p.bad, fontWeight: 'bold', fontSize: 12.5, position: m.oom.time > (range[0] + range[1]) / 2 ? 'left' : 'right' } } : undefined,
        },
      ],
    };
  };
  const says = (t) => `${seconds(t)}: ${rowsAt(t).map((r) => `${r[0]} ${r[1]}`).join(', ')}`;
  const member = timePlot({ label: `Memory of rank ${m.rank} over time`, height: 380, range, option, keys: lineKeys(range, says) });
  const rows = () => m.times.map((t, i) => [seconds(t), gib(m.series.reduce((s, x) => s + x.gib[i], 0)), ...m.series.map((s) => gib(s.gib[i]))]);
  const colours = legend([...parts.map((s, k) => ({ name: s.name, color: seriesVar(k) })), ...torch.map(([name], k) => ({ name: `${name} (${k ? 'dotted' : 'line'})`, color: 'var(--text)' }))]);
  return [member.elements, colours, asTable([{ name: 'from' }, { name: 'in all', num: true }, ...m.series.map((s) => ({ name: s.name, num: true }))], rows)];
}

const whose = (m, data) => `${data.pools.length > 1 ? `${m.pool} ` : ''}${m.name}, rank ${m.rank} (one of ${m.ranks})`;

export function memorySection(data, start) {
  const peaks = peaksTable(data);
  const curves = data.memory.filter((m) => m.times.length);
  if (!curves.length) return peaks ? section('memory', 'Memory of one GPU', peaks) : null;
  const box = h('div');
  const show = (i) => box.replaceChildren(...[
    curves[i].oom ? h('p', {}, `Out of memory at ${seconds(curves[i].oom.time)}: ${curves[i].oom.text}.`) : null,
    memoryPlot(curves[i], data.range),
  ].flat(9).filter(Boolean));
  show(0);
  const pick = curves.length > 1 ? h('div', { class: 'tools' }, h('span', {}, 'Of'), select('Whose memory', curves.map((m, i) => ({ value: String(i), name: whose(m, data) })), '0', (v) => { show(Number(v)); start(); })) : h('p', { class: 'soft small' }, `Of ${whose(curves[0], data)}.`);
  return section('memory', 'Memory of one GPU over time, against the card',
    h('p', { class: 'soft small' }, 'Areas: the most that each part needs in the phase, by the ledger. Lines: what PyTorch\u2019s allocator held where it was followed. The dashed line is what the card has for a process.'),
    pick, box, peaks);
}

function peaksTable(data) {
  if (!data.peaks.length) return null;
  const row = (p) => [data.pools.length > 1 ? `${p.pool} ${p.name}` : p.name, p.ranks, `${gib(p.gib)} of ${gib(p.capacity)}`, percent(p.gib / p.capacity), p.phase, p.host > 0 ? gib(p.host) : '0', p.parts.map((x) => `${x.name} ${gib(x.gib)}`).join(', ')];
  const out = asTable([{ name: 'ranks with one ledger' }, { name: 'ranks', num: true }, { name: 'peak', num: true }, { name: 'of the card', num: true }, { name: 'in' }, { name: 'host memory', num: true }, { name: 'parts of 1 % and more' }],
    () => data.peaks.map(row), 'The peak of each ledger, by its parts');
  return data.peaks_left_out ? [out, h('p', { class: 'soft small' }, `${data.peaks_left_out} emptier ones are left out.`)] : out;
}

function linksPlot(l, range) {
  const times = cellTimes(range, l.series[0].share.length);
  const rowsAt = (t) => {
    const i = Math.min(Math.max(before(times, t), 0), times.length - 2);
    return l.series.map((s, k) => [`${s.stream}: ${s.label}`, s.share[i], seriesColor(k)]).filter((r) => r[1] > 0).map((r) => [r[0], percent(r[1]), r[2]]);
  };
  const option = () => ({
    grid: { left: 64, right: 20, top: 12, bottom: 54 },
    xAxis: xAxis(range),
    yAxis: valueAxis({ min: 0, axisLabel: { formatter: percent } }),
    dataZoom: zoomOption(range, [0]),
    tooltip: { trigger: 'axis', formatter: (ps) => { const rows = rowsAt(ps[0].axisValue); return tipHtml(`${seconds(ps[0].axisValue)}: share of the GPUs`, rows.length ? rows : [['nothing is transferred', '']]); } },
    series: l.series.map((s, k) => ({ type: 'line', name: `${s.stream}: ${s.label}`, stack: 'links', stackStrategy: 'all', symbol: 'none', lineStyle: { width: 0 }, itemStyle: { color: seriesColor(k) }, areaStyle: { color: seriesColor(k), opacity: 0.85 }, data: held(times, s.share) })),
  });
  const says = (t) => `${seconds(t)}: ${rowsAt(t).map((r) => `${r[0]} ${r[1]}`).join(', ') || 'nothing is transferred'}`;
  const member = timePlot({ label: `Transfers of ${l.pool} over time`, height: 240, range, option, keys: lineKeys(range, says) });
  const total = l.series.filter((s) => s.seconds !== null);
  const list = total.length ? asTable([{ name: 'transfer' }, { name: 'over' }, { name: 'time a step and GPU', num: true }], () => total.map((s) => [s.label, s.stream, seconds(s.seconds)]), 'Time of each transfer') : null;
  return [member.elements, legend(l.series.map((s, k) => ({ name: `${s.stream}: ${s.label}`, color: seriesVar(k) }))), list];
}

export function linksSection(data) {
  const pools = data.links.filter((l) => l.series.length).slice(0, 6);
  if (!pools.length) return null;
  return section('links', 'Network and links',
    h('p', { class: 'soft small' }, 'Share of a pool\u2019s GPUs that have a transfer under way, hidden behind other work or not: communication is NVLink and the network, copy the host link, storage the file system. A log holds the times of transfers, not their bytes.'),
    pools.map((l) => [pools.length > 1 ? h('h3', {}, l.pool) : null, linksPlot(l, data.range)]));
}
