// A headless Chromium for the tests of pages: opens a file and keeps what went wrong in it.
import { createRequire } from 'node:module';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const kFlags = ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'];
const kPatience = 120000; // of a busy machine; what it took is told

export function failed(what) {
  throw new Error(what);
}

export function check(good, what) {
  if (!good) failed(what);
}

// f(page, trouble): trouble holds console errors, exceptions and requests of anything but the file.
export async function withPage({ packages, chromium, file }, f) {
  const playwright = createRequire(join(packages, 'package.json'))('playwright-core');
  const profile = mkdtempSync(join(tmpdir(), 'rollcast-browser-'));
  const context = await playwright.chromium.launchPersistentContext(profile, { executablePath: chromium, headless: true, args: kFlags, viewport: { width: 1280, height: 900 }, colorScheme: 'light', timeout: kPatience });
  try {
    const page = context.pages()[0] || (await context.newPage());
    page.setDefaultTimeout(kPatience);
    const trouble = [];
    const url = pathToFileURL(file).href;
    page.on('console', (m) => ['error', 'warning'].includes(m.type()) && trouble.push(`console: ${m.text()}`));
    page.on('pageerror', (e) => trouble.push(`exception: ${e.message}`));
    page.on('request', (r) => r.url() !== url && !r.url().startsWith('data:') && trouble.push(`request: ${r.url()}`));
    await page.goto(url, { waitUntil: 'commit' });
    await page.waitForSelector('html[data-ready]', { state: 'attached' });
    await f(page, trouble);
    check(trouble.length === 0, trouble.join('\n'));
  } finally {
    await context.close();
    rmSync(profile, { recursive: true, force: true });
  }
}

// In the page: the pixels of a canvas, read from a copy.
const pixels = `function pixels(c) {
  const copy = document.createElement('canvas');
  [copy.width, copy.height] = [c.width, c.height];
  const to = copy.getContext('2d', { willReadFrequently: true });
  to.drawImage(c, 0, 0);
  return to.getImageData(0, 0, c.width, c.height).data;
}`;

// Number of different colours of each chart: one is an empty canvas.
export const coloursOfCharts = (page) =>
  page.evaluate(`(() => { ${pixels}
    return [...document.querySelectorAll('.chart canvas')].map((c) => {
      const data = pixels(c);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4 * 7) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    }); })()`);

// What a chart shows, small, once it stands still.
export const picture = (page, selector) =>
  page.evaluate(async (s) => {
    const small = document.createElement('canvas');
    [small.width, small.height] = [160, 60];
    const to = small.getContext('2d', { willReadFrequently: true });
    const now = () => {
      to.clearRect(0, 0, small.width, small.height);
      to.drawImage(document.querySelector(`${s} canvas`), 0, 0, small.width, small.height);
      return [...to.getImageData(0, 0, small.width, small.height).data];
    };
    const frames = async (n) => { for (let i = 0; i < n; ++i) await new Promise((r) => requestAnimationFrame(r)); };
    await frames(4);
    let last = now();
    for (let i = 0; i < 20; ++i) {
      await frames(4);
      const next = now();
      if (next.every((v, k) => v === last[k])) break;
      last = next;
    }
    return last;
  }, selector);

// Whether two pictures are of different things: not where an edge has moved by a fraction of a pixel.
export const differ = (a, b) => a.reduce((sum, v, i) => sum + Math.abs(v - b[i]), 0) / a.length > 1.5;

// The least contrast of text against what is behind it (WCAG), over all elements with text of their own.
export const leastContrast = (page) =>
  page.evaluate(() => {
    const parse = (c) => (c.match(/[\d.]+/g) || []).map(Number);
    const light = ([r, g, b]) => {
      const [x, y, z] = [r, g, b].map((v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
      return 0.2126 * x + 0.7152 * y + 0.0722 * z;
    };
    const behind = (e) => {
      for (let at = e; at; at = at.parentElement) {
        const c = parse(getComputedStyle(at).backgroundColor);
        if (c.length === 3 || c[3] > 0.99) return c;
      }
      return [255, 255, 255];
    };
    let least = { ratio: 21, text: '' };
    for (const e of document.querySelectorAll('body *')) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      const box = e.getBoundingClientRect();
      if (!own || box.width < 2 || box.height < 2 || e.closest('script,noscript')) continue;
      const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      if (ratio < least.ratio) least = { ratio, text: e.textContent.slice(0, 60) };
    }
    return least;
  });
