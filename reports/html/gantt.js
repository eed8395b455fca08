// The step timeline: a row for each pool's phases and each rank class, coloured by phase or by activity.
import { graphic, timePlot, tipHtml, valueAxis, zoomOption } from './charts.js';
import { asTable, choice, legend, say, section, h } from './dom.js';
import { percent, seconds, timeAxis } from './format.js';
import { activityColor, activityVar, paper, phaseColor, phaseVar } from './theme.js';

const kWorks = 4; // the first activities are work

// One list of what is drawn: rows of names, items {row, from, to, phase, activity, step, mix}.
function laidOut(t, pools) {
  const rows = [];
  const items = [];
  const at = (ticks) => t.start + ticks * t.tick;
  pools.forEach((pool, i) => {
    const own = t.windows.filter((w) => w[0] === i);
    if (!own.length) return;
    rows.push({ name: pools.length > 1 ? `phases of ${pool}` : 'phases', phases: true });
    for (const [, step, phase, start, length] of own) items.push({ row: rows.length - 1, from: at(start), to: at(start + length), step, phase, window: true });
  });
  for (const r of t.rows) {
    rows.push({ name: r.name, of: r });
    for (const [start, length, phase, activity, step, what] of r.segments) {
      const mix = Array.isArray(what) ? what : [[activity, what, 100]];
      items.push({ row: rows.length - 1, from: at(start), to: at(start + length), phase, activity, step, mix });
    }
  }
  return { rows, items };
}

const stepName = (step) => (step < 0 ? 'warm-up' : `step ${step + 1}`);

export function ganttSection(data) {
  const t = data.timeline;
  if (!t.rows.length || !(t.end > t.start)) return null;
  const { rows, items } = laidOut(t, data.pools);
  const phase = (i) => t.phases[i];
  const activity = (i) => t.activities[i];
  let by = 'phase';

  const what = (i) => {
    if (i.window) return [`${phase(i.phase)}, ${stepName(i.step)}`, [['pool\u2019s phase', seconds(i.to - i.from)], ['from', seconds(i.from)], ['to', seconds(i.to)]]];
    const lines = i.mix.map(([a, label, share]) => [
      t.labels[label] === activity(a) ? activity(a) : `${activity(a)}: ${t.labels[label]}`, i.mix.length > 1 || share < 100 ? `${share} %` : seconds(i.to - i.from), activityColor(activity(a))]);
    const row = rows[i.row].of;
    return [`${phase(i.phase)}, ${stepName(i.step)}`, [...lines, ['time', `${seconds(i.from)} to ${seconds(i.to)}`], ['length', seconds(i.to - i.from)], ['ranks', row.ranks > 1 ? `${rows[i.row].name}, ${row.ranks} ranks` : rows[i.row].name]]];
  };

  const color = (i) => (by === 'phase' || i.window ? phaseColor(phase(i.phase)) : activityColor(activity(i.activity)));
  // By phase, time that the ranks wait is pale; of gathered segments by the share of it.
  const works = (i) => i.mix.reduce((sum, [a, , share]) => sum + (a < kWorks ? share : 0), 0) / i.mix.reduce((sum, m) => sum + m[2], 0);
  const opacity = (i) => (by === 'phase' && !i.window ? 0.25 + 0.75 * works(i) : 1);

  const draw = (params, api) => {
    const i = items[params.dataIndex];
    const a = api.coord([i.from, i.row]);
    const b = api.coord([i.to, i.row]);
    const height = Math.max(3, api.size([0, 1])[1] - 3);
    const shape = graphic.clipRectByRect({ x: a[0], y: a[1] - height / 2, width: Math.max(b[0] - a[0], 0.6), height }, params.coordSys);
    if (!shape) return undefined;
    const rect = { type: 'rect', shape, style: { fill: color(i), opacity: opacity(i) }, emphasis: { style: { stroke: paper().text, lineWidth: 2 } } };
    if (!i.window || shape.width < phase(i.phase).length * 6.4 + 6) return rect;
    return { type: 'group', children: [rect, { type: 'text', silent: true, style: { text: phase(i.phase), x: shape.x + shape.width / 2, y: shape.y + height / 2, align: 'center', verticalAlign: 'middle', fill: '#fff', stroke: 'rgba(0,0,0,.35)', lineWidth: 2, fontSize: 11.5 } }] };
  };

  const range = [t.start, t.end];
  const rowHeight = rows.length > 40 ? 14 : rows.length > 20 ? 17 : 22;
  const left = innerWidth < 700 ? 96 : 170;
  const option = () => ({
    grid: { left, right: 16, top: 8, bottom: 54 },
    xAxis: valueAxis({ min: range[0], max: range[1], axisLabel: { formatter: timeAxis(t.end - t.start), hideOverlap: true, showMaxLabel: false } }),
    yAxis: { type: 'category', inverse: true, data: rows.map((r) => r.name), axisTick: { show: false }, axisLine: { show: false }, axisLabel: { color: paper().text, fontSize: rowHeight > 16 ? 12 : 10.5, width: left - 12, overflow: 'truncate', interval: 0 } },
    dataZoom: zoomOption(range, [0], 'weakFilter'),
    tooltip: { trigger: 'item', formatter: (p) => (p.componentType === 'markLine' ? tipHtml(p.name, [['at', seconds(p.value)]]) : tipHtml(...what(items[p.dataIndex]))) },
    series: [{
      type: 'custom', renderItem: draw, progressive: 0, encode: { x: [0, 1], y: 2 }, data: items.map((i) => [i.from, i.to, i.row]),
      markLine: { symbol: 'none', animation: false, silent: false, data: t.marks.map((m) => ({ name: m.text, xAxis: m.time, label: { show: false }, lineStyle: { color: paper().bad, width: 2, type: 'solid' } })) },
    }],
  });

  // The arrow keys go from segment to segment.
  let chosen = -1;
  const of = (row) => items.map((_, n) => n).filter((n) => items[n].row === row);
  const nearest = (row, time) => of(row).reduce((best, n) => (best < 0 || Math.abs((items[n].from + items[n].to) / 2 - time) < Math.abs((items[best].from + items[best].to) / 2 - time) ? n : best), -1);
  const go = (n, member) => {
    if (n < 0) return;
    const chart = member.plot.chart;
    if (chosen >= 0) chart.dispatchAction({ type: 'downplay', seriesIndex: 0, dataIndex: chosen });
    chosen = n;
    const i = items[n];
    const [a, b] = member.window();
    if (i.to < a || i.from > b) member.show(i.from - (b - a) / 3, i.from + ((b - a) * 2) / 3);
    const point = chart.convertToPixel({ xAxisIndex: 0, yAxisIndex: 0 }, [Math.min(Math.max((i.from + i.to) / 2, a), b), i.row]);
    chart.dispatchAction({ type: 'highlight', seriesIndex: 0, dataIndex: n });
    chart.dispatchAction({ type: 'showTip', seriesIndex: 0, dataIndex: n, position: [Math.min(point[0] + 12, member.plot.element.clientWidth - 320), point[1] + 12] });
    const [title, lines] = what(i);
    say(`${rows[i.row].name}: ${title}: ${lines.map((l) => `${l[0]} ${l[1]}`).join(', ')}`);
  };
  const keys = (e, member) => {
    if (!e.key.startsWith('Arrow') || e.shiftKey) return false;
    e.claimed = true;
    const [a, b] = member.window();
    if (chosen < 0) go(nearest(0, a + (b - a) / 8), member);
    else if (e.key === 'ArrowLeft' || e.key === 'ArrowRight') {
      const row = of(items[chosen].row);
      go(row[Math.min(Math.max(row.indexOf(chosen) + (e.key === 'ArrowLeft' ? -1 : 1), 0), row.length - 1)], member);
    } else {
      const row = items[chosen].row + (e.key === 'ArrowUp' ? -1 : 1);
      if (row >= 0 && row < rows.length) go(nearest(row, (items[chosen].from + items[chosen].to) / 2), member);
    }
    return true;
  };

  const used = (key) => [...new Set(items.filter((i) => i[key] !== undefined).map((i) => i[key]))].sort((a, b) => a - b);
  const legends = h('div');
  const showLegend = () => {
    const waiting = by === 'phase' ? [{ name: 'pale: the ranks wait', color: 'var(--bar)' }] : [];
    legends.replaceChildren(legend(by === 'phase' ? [...used('phase').map((p) => ({ name: phase(p), color: phaseVar(phase(p)) })), ...waiting] : used('activity').map((a) => ({ name: activity(a), color: activityVar(activity(a)) }))));
  };
  showLegend();
  const colours = choice('Colour', [{ value: 'phase', name: 'by phase' }, { value: 'activity', name: 'by activity' }], by, (v) => {
    by = v;
    showLegend();
    member.plot.redraw();
  });
  const member = timePlot({ label: `Step timeline of ${rows.length} rows. Arrow keys go from segment to segment`, height: rows.length * rowHeight + 66, range, option, keys, tools: ['Colour', colours] });
  const notes = [t.note, t.grain > 0 ? `What is shorter than ${seconds(t.grain)} is gathered with its neighbours; the tooltip tells the shares.` : ''].filter(Boolean);
  const summary = () => t.rows.map((r, n) => {
    const sums = {};
    for (const i of items) {
      if (i.row !== rows.findIndex((x) => x.of === r)) continue;
      for (const [a, , share] of i.mix) sums[activity(a)] = (sums[activity(a)] || 0) + ((i.to - i.from) * share) / 100;
    }
    const busy = t.activities.slice(0, kWorks).reduce((s, a) => s + (sums[a] || 0), 0);
    return [r.name, r.ranks, percent(busy / (t.end - t.start)), ...t.activities.map((a) => (sums[a] ? seconds(sums[a]) : '0 s'))];
  });
  return section('timeline', 'Step timeline',
    h('p', { class: 'soft small' }, `${t.name[0].toUpperCase()}${t.name.slice(1)}, ${seconds(t.end - t.start)}. A row is ranks with the same times. Ctrl and the wheel zoom, dragging moves.`),
    member.elements, legends, notes.map((n) => h('p', { class: 'soft small' }, n)),
    asTable([{ name: 'row' }, { name: 'ranks', num: true }, { name: 'busy', num: true }, ...t.activities.map((a) => ({ name: a, num: true }))], summary));
}
