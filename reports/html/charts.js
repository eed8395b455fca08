// Charts: ECharts with our colours, a toolbar, the keyboard, and one zoom for all charts over the run's time.
import * as echarts from 'echarts/core';
import { CustomChart, LineChart } from 'echarts/charts';
import { DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, MarkPointComponent, TooltipComponent } from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';
import { h, say } from './dom.js';
import { escape, seconds } from './format.js';
import { onShade, paper } from './theme.js';

echarts.use([CustomChart, LineChart, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, MarkPointComponent, TooltipComponent, CanvasRenderer]);
export const graphic = echarts.graphic;

const kFont = 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif';

// As ECharts wants it: HTML of escaped text.
export const tipHtml = (title, rows) =>
  `<div class="tip-title">${escape(title)}</div>${rows
    .map(([name, value, color]) => `<div class="tip-row"><span>${color ? `<i class="swatch" style="background:${color}"></i>` : ''}${escape(name)}</span><b>${escape(value)}</b></div>`)
    .join('')}`;

export function valueAxis(more = {}) {
  const p = paper();
  return {
    type: 'value',
    axisLine: { lineStyle: { color: p.line } },
    axisTick: { show: false },
    axisLabel: { color: p.soft, fontSize: 12, ...(more.axisLabel || {}) },
    nameTextStyle: { color: p.soft, fontSize: 12 },
    splitLine: { lineStyle: { color: p.line, opacity: 0.6 } },
    ...Object.fromEntries(Object.entries(more).filter(([k]) => k !== 'axisLabel')),
  };
}

export const legendOption = (more = {}) => ({
  type: 'scroll', top: 0, left: 0, itemWidth: 14, itemHeight: 9,
  textStyle: { color: paper().soft, fontSize: 12.5 }, pageTextStyle: { color: paper().soft },
  pageIconColor: paper().text, inactiveColor: paper().line, ...more,
});

const base = () => ({
  animation: false,
  textStyle: { fontFamily: kFont, color: paper().text },
  tooltip: { confine: true, className: 'chart-tip', appendTo: undefined, transitionDuration: 0, backgroundColor: paper().card, borderColor: paper().line, textStyle: { color: paper().text, fontSize: 13 }, axisPointer: { lineStyle: { color: paper().soft }, crossStyle: { color: paper().soft } } },
});

// label: for those who do not see it. option(): asked again when the shade changes. Returns {element, chart}.
export function plot(label, height, option) {
  const element = h('div', { class: 'chart', tabindex: 0, role: 'group', 'aria-roledescription': 'chart', 'aria-label': label, style: { height: `${height}px` } });
  const made = { element, chart: null, redraw: () => {} };
  const draw = () => {
    const o = option();
    made.chart.setOption({ ...base(), ...o, tooltip: { ...base().tooltip, ...(o.tooltip || {}) } }, { notMerge: true });
  };
  made.redraw = () => made.chart && draw();
  made.start = () => {
    made.chart = echarts.init(element, null, { renderer: 'canvas' });
    draw();
    new ResizeObserver(() => made.chart.resize()).observe(element);
    onShade(draw);
    element.addEventListener('blur', () => made.chart.dispatchAction({ type: 'hideTip' }));
    if (made.started) made.started(made.chart);
  };
  plots.push(made);
  return made;
}
const plots = [];

// When the elements are in the page.
export function startPlots() {
  for (const p of plots.splice(0)) p.start();
}

// Charts over the run's time share what part of it is seen.
const family = [];
let seen = null; // [from, to] in seconds
let waiting = false;

const clamp = (v, low, high) => Math.min(Math.max(v, low), high);

function look(from, to, except) {
  seen = [from, to];
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    for (const m of family) {
      if (m === except || !m.plot.chart) continue;
      m.silent = true;
      m.plot.chart.dispatchAction({ type: 'dataZoom', dataZoomIndex: 0, startValue: clamp(seen[0], ...m.range), endValue: clamp(seen[1], ...m.range) });
      m.silent = false;
    }
  });
}

export function zoomOption(range, axes, filterMode = 'none') {
  const window = seen ? { startValue: clamp(seen[0], ...range), endValue: clamp(seen[1], ...range) } : { startValue: range[0], endValue: range[1] };
  const p = paper();
  const one = { xAxisIndex: axes, filterMode, ...window };
  return [
    { type: 'inside', ...one, zoomOnMouseWheel: 'ctrl', moveOnMouseMove: true, moveOnMouseWheel: false },
    { type: 'slider', ...one, height: 18, bottom: 4, borderColor: p.line, fillerColor: `${p.accent}22`, handleStyle: { color: p.card, borderColor: p.soft }, moveHandleSize: 0, textStyle: { color: p.soft, fontSize: 11 }, labelFormatter: seconds, dataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } }, selectedDataBackground: { lineStyle: { opacity: 0 }, areaStyle: { opacity: 0 } }, brushSelect: false },
  ];
}

// A chart over [range] with a toolbar. option() has dataZoom: zoomOption(...). keys(event, member): true where
// the chart does something of its own with a key. tools: elements before the zoom buttons.
export function timePlot({ label, height, range, option, keys, tools = [] }) {
  const p = plot(`${label}. Plus and minus zoom, the left and right arrow keys move, 0 shows all.`, height, option);
  const member = { plot: p, range, silent: false };
  const now = () => (seen ? [clamp(seen[0], ...range), clamp(seen[1], ...range)] : [...range]);
  const to = (from, end) => {
    const length = clamp(end - from, (range[1] - range[0]) * 1e-5, range[1] - range[0]);
    const start = clamp(from, range[0], range[1] - length);
    look(start, start + length);
  };
  member.window = now;
  member.show = to;
  member.zoom = (factor, at) => {
    const [a, b] = now();
    const middle = at === undefined ? (a + b) / 2 : at;
    to(middle - (middle - a) * factor, middle + (b - middle) * factor);
  };
  member.move = (part) => {
    const [a, b] = now();
    to(a + (b - a) * part, b + (b - a) * part);
  };
  p.started = (chart) => {
    family.push(member);
    chart.on('datazoom', () => {
      if (member.silent) return;
      const z = chart.getOption().dataZoom[0];
      look(z.startValue, z.endValue, member);
    });
  };
  p.element.addEventListener('keydown', (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey) return;
    const act = {
      '+': () => member.zoom(0.5), '=': () => member.zoom(0.5), '-': () => member.zoom(2), 0: () => to(...range), Home: () => to(...range),
      ArrowLeft: () => member.move(-0.2), ArrowRight: () => member.move(0.2), Escape: () => p.chart.dispatchAction({ type: 'hideTip' }),
    }[e.key];
    if ((keys && keys(e, member)) || act) e.preventDefault();
    else return;
    if (!e.claimed && act) act();
  });
  const button = (name, title, act) => h('button', { type: 'button', title, 'aria-label': title, onclick: act }, name);
  const bar = h('div', { class: 'tools' }, tools, h('span', { class: 'gap' }),
    button('+', 'Zoom in', () => member.zoom(0.5)), button('\u2212', 'Zoom out', () => member.zoom(2)), button('All', 'Show all of it', () => to(...range)));
  member.elements = [bar, p.element];
  return member;
}

// Left and right go through the times of a line chart and show what its tooltip says there.
export function lineKeys(range, says) {
  let at = null;
  return (e, member) => {
    if (e.key !== 'ArrowLeft' && e.key !== 'ArrowRight') return false;
    if (e.shiftKey) return false;
    e.claimed = true;
    const [a, b] = member.window();
    const step = (b - a) / 40;
    at = at === null || at < a || at > b ? (a + b) / 2 : clamp(at + (e.key === 'ArrowLeft' ? -step : step), a, b);
    const chart = member.plot.chart;
    const x = chart.convertToPixel({ xAxisIndex: 0 }, at);
    chart.dispatchAction({ type: 'showTip', x, y: member.plot.element.clientHeight / 3 });
    say(says(at));
    return true;
  };
}

