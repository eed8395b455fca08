// Of a run that serves: latencies, requests over time, where the GPUs' time goes, tenants.
import { lineKeys, plot, timePlot, tipHtml, valueAxis, zoomOption } from './charts.js';
import { cellTimes, held, xAxis } from './curves.js';
import { asTable, bars, h, legend, section, table } from './dom.js';
import { digits, figure, percent, seconds } from './format.js';
import { activityVar, paper, seriesColor, seriesVar } from './theme.js';

// The share of a curve's requests that take no longer than t.
function shareAt(points, t) {
  let share = 0;
  for (const [at, s] of points) {
    if (at > t) break;
    share = s;
  }
  return share;
}

function latencyPlot(curves) {
  const all = curves.flatMap((c) => c.points.map((p) => p[0])).filter((t) => t > 0);
  if (!all.length) return null;
  const low = 10 ** Math.floor(Math.log10(Math.min(...all)));
  const high = 10 ** Math.ceil(Math.log10(Math.max(...all) * 1.0001));
  const option = () => ({
    grid: { left: 64, right: 20, top: 12, bottom: 34 },
    xAxis: valueAxis({ type: 'log', min: low, max: high, axisLabel: { formatter: seconds, hideOverlap: true } }),
    yAxis: valueAxis({ min: 0, max: 1, axisLabel: { formatter: percent } }),
    tooltip: { trigger: 'axis', formatter: (ps) => tipHtml(`within ${seconds(ps[0].axisValue)}`, curves.map((c, k) => [c.name, percent(shareAt(c.points, ps[0].axisValue)), seriesColor(k)])) },
    series: curves.map((c, k) => ({
      type: 'line', name: c.name, symbol: 'none', step: 'end', lineStyle: { color: seriesColor(k), width: 2 }, itemStyle: { color: seriesColor(k) },
      data: c.points.map(([t, s]) => [Math.max(t, low), s]),
      markLine: c.limit === null ? undefined : { symbol: 'none', silent: true, lineStyle: { color: seriesColor(k), type: 'dashed' }, label: { formatter: 'limit', color: paper().soft }, data: [{ xAxis: c.limit }] },
    })),
  });
  return plot('Share of the requests that take no longer', 260, option).element;
}

const kLatencyColumns = ['mean', 'p50', 'p90', 'p99', 'max'];

function latencySection(s) {
  return section('latency', 'Latencies',
    h('p', { class: 'soft small' }, 'The share of the requests that take no longer than a time, which grows in powers of ten. First token: from the arrival; a token after it: the mean of a response; dashed: the limit that is asked.'),
    latencyPlot(s.curves), legend(s.curves.map((c, k) => ({ name: c.name, color: seriesVar(k) }))),
    table([{ name: '' }, ...kLatencyColumns.map((name) => ({ name, num: true }))], s.latencies.map((l) => [l.name, ...kLatencyColumns.map((c) => seconds(l[c]))])),
    table([{ name: '' }, { name: '' }], s.figures));
}

function requestsSection(s, range) {
  const o = s.over_time;
  if (!o) return null;
  const kinds = [['finished', 'requests finished a second'], ['in_flight', 'requests in flight'], ['waiting', 'of them without a first token']];
  const times = cellTimes(range, o.finished.length);
  const rowsAt = (t) => {
    const i = Math.min(Math.max(Math.floor((t - range[0]) / o.cell), 0), o.finished.length - 1);
    return kinds.map(([key, name], k) => [name, figure(o[key][i]), seriesColor(k)]);
  };
  const line = (key, k, more = {}) => ({ type: 'line', symbol: 'none', silent: true, lineStyle: { color: seriesColor(k), width: 2 }, itemStyle: { color: seriesColor(k) }, data: held(times, o[key]), ...more });
  const axis = (index, name) => valueAxis({ gridIndex: index, name, nameLocation: 'end', nameGap: 14, nameTextStyle: { color: paper().soft, fontSize: 12, align: 'left', padding: [0, 0, 0, -52] }, min: 0, splitNumber: 3, axisLabel: { formatter: figure } });
  const option = () => ({
    grid: [0, 1].map((k) => ({ left: 64, right: 16, top: 32 + k * 150, height: 96 })),
    xAxis: [0, 1].map((k) => xAxis(range, { gridIndex: k, axisLabel: { show: k === 1 } })),
    yAxis: [axis(0, 'finished a second'), axis(1, 'in flight, and waiting for a first token')],
    axisPointer: { link: [{ xAxisIndex: 'all' }] },
    dataZoom: zoomOption(range, [0, 1]),
    tooltip: { trigger: 'axis', formatter: (ps) => tipHtml(seconds(ps[0].axisValue), rowsAt(ps[0].axisValue)) },
    series: [line('finished', 0), line('in_flight', 1, { xAxisIndex: 1, yAxisIndex: 1 }), line('waiting', 2, { xAxisIndex: 1, yAxisIndex: 1, areaStyle: { color: seriesColor(2), opacity: 0.3 } })],
  });
  const says = (t) => `${seconds(t)}: ${rowsAt(t).map((r) => `${r[0]} ${r[1]}`).join(', ')}`;
  const member = timePlot({ label: 'Requests over time', height: 342, range, option, keys: lineKeys(range, says) });
  const rows = () => times.slice(0, -1).filter((_, i) => i % 4 === 0).map((t) => [seconds(t), ...rowsAt(t).map((r) => r[1])]);
  return section('requests', 'Requests over time', member.elements, legend(kinds.map(([, name], k) => ({ name, color: seriesVar(k) }))),
    asTable([{ name: 'time' }, ...kinds.map(([, name]) => ({ name, num: true }))], rows));
}

function timesSection(s) {
  const t = s.times;
  if (!t.parts.length) return null;
  const color = ['compute', 'communication', 'copy', 'overhead'];
  return section('gpu-time', 'Where the GPUs\u2019 time goes',
    h('p', { class: 'soft small' }, `GPU time of a request, ${seconds(t.whole)} in all. What removing a part would save, at most, is the part.`),
    bars(t.parts.map((p, k) => ({ name: p.name, parts: [{ name: p.name, value: p.seconds, text: seconds(p.seconds), color: p.name === 'idle' ? activityVar('unaccounted') : activityVar(color[k] || 'driver') }], numbers: [seconds(p.seconds), percent(p.share)], words: p.share >= 0.01 ? p.advice : '' })), t.whole));
}

function tenantsSection(s) {
  if (s.tenants.length < 2) return null;
  return section('tenants', 'The slowest tenants',
    h('p', { class: 'soft small' }, 'A tenant is an adapter: those with the longest mean latency, then those with the longest 99th percentile.'),
    table([{ name: 'adapter' }, { name: 'requests', num: true }, { name: 'mean latency', num: true }, { name: 'p99', num: true }, { name: 'tokens a second', num: true }],
      s.tenants.map((t) => [t.adapter, t.requests, seconds(t.mean), seconds(t.p99), digits(t.tokens_per_second)])));
}

export function servingSections(data) {
  const s = data.serving;
  return s ? [latencySection(s), requestsSection(s, data.range), timesSection(s), tenantsSection(s)] : [];
}
