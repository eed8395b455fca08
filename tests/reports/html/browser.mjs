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

// Number of different colours of each chart: one is an empty canvas.
export const coloursOfCharts = (page) =>
  page.evaluate(() =>
    [...document.querySelectorAll('.chart canvas')].map((c) => {
      const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
      const seen = new Set();
      for (let i = 0; i < data.length; i += 4 * 7) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]);
      return seen.size;
    }));

// What a chart shows, as one number.
export const picture = (page, selector) =>
  page.evaluate(async (s) => {
    await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
    const c = document.querySelector(`${s} canvas`);
    const { data } = c.getContext('2d').getImageData(0, 0, c.width, c.height);
    let hash = 7;
    for (let i = 0; i < data.length; i += 1) hash = (hash * 31 + data[i]) | 0;
    return hash;
  }, selector);

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
