// Numbers with units, as the terminal report writes them.

// Three significant digits.
export function digits(v) {
  if (v === 0) return '0';
  return Math.abs(v) >= 999.5 ? String(Math.round(v)) : v.toPrecision(3);
}

export function seconds(s) {
  const a = Math.abs(s);
  if (a >= 3600) return `${digits(s / 3600)} h`;
  if (a >= 300) return `${digits(s / 60)} min`;
  if (a >= 1) return `${digits(s)} s`;
  if (a >= 1e-3) return `${digits(s * 1e3)} ms`;
  return a > 0 ? `${digits(s * 1e6)} us` : '0 s';
}

// An axis of seconds from 0: marks at round numbers of one unit.
export function secondsAxis(most) {
  const [unit, name] = most >= 7200 ? [3600, 'h'] : most >= 300 ? [60, 'min'] : [1, 's'];
  const rough = most / unit / 5;
  const power = 10 ** Math.floor(Math.log10(rough || 1));
  const step = [1, 2, 5, 10].find((k) => k * power >= rough) * power * unit;
  return { interval: step, max: Math.ceil(most / step) * step, axisLabel: { formatter: (v) => `${Number((v / unit).toPrecision(6))} ${name}` } };
}

export const gib = (v) => (Math.abs(v) >= 1024 ? `${digits(v / 1024)} TiB` : Math.abs(v) >= 1 || v === 0 ? `${digits(v)} GiB` : `${digits(v * 1024)} MiB`);

export function percent(fraction) {
  const p = fraction * 100;
  if (p <= 0) return '0 %';
  return p < 9.95 ? `${p.toFixed(1)} %` : `${p.toFixed(0)} %`;
}

export const signed = (fraction) => `${fraction < 0 ? '-' : '+'}${Math.abs(fraction * 100).toFixed(1)} %`;

// Four significant digits, without an exponent where one can be avoided.
export function figure(v) {
  if (v === 0) return '0';
  const a = Math.abs(v);
  if (a >= 1e15 || a < 1e-6) return v.toPrecision(4);
  return a >= 9999.5 ? String(Math.round(v)) : String(Number(v.toPrecision(4)));
}

// "1:02:03.456" of the run.
export function clock(s) {
  const ms = Math.round(s * 1000);
  const two = (v) => String(Math.floor(v)).padStart(2, '0');
  return `${Math.floor(ms / 3600000)}:${two((ms / 60000) % 60)}:${two((ms / 1000) % 60)}.${String(ms % 1000).padStart(3, '0')}`;
}

// The labels of an axis of times: seconds, of long runs hours and minutes. Ends of the axis that are no round
// numbers have none.
export function timeAxis(length) {
  const round = (v, unit) => (Math.abs(v - Number(v.toPrecision(4))) <= Math.abs(v) * 1e-9 ? `${Number(v.toPrecision(4))} ${unit}` : '');
  if (length < 1) return (s) => round(s * 1e3, 'ms');
  if (length < 7200) return (s) => round(s, 's');
  return (s) => `${Math.floor(s / 3600 + 1e-9)} h ${String(Math.round(s / 60) % 60).padStart(2, '0')}`;
}

export function escape(text) {
  return String(text).replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
