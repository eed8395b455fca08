// node browser_test.mjs CASE PROGRAM PACKAGES CHROMIUM SOURCE WORK: one case of the tests of HTML pages.
// PACKAGES holds node_modules; SOURCE is the source folder, WORK one for pages. Exit code 77: skipped.
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [name, program, packages, chromium, source, work] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}
if (!chromium || chromium.endsWith('NOTFOUND')) skip('chromium is not installed');
mkdirSync(work, { recursive: true });

const { check, coloursOfCharts, differ, leastContrast, picture, withPage } = await import('./browser.mjs');

function runPage(scenario, more = []) {
  const file = join(work, `${name}.html`);
  const ran = spawnSync(program, ['run', join(source, 'scenarios', scenario), ...more, '--quiet', '--html', file], { encoding: 'utf8' });
  if (ran.status === 2 && ran.stderr.includes('--max-memory')) skip(ran.stderr.trim());
  check(ran.status === 0, ran.stderr);
  check(statSync(file).size < 2e6, `${file} has ${statSync(file).size} bytes`);
  return file;
}

// The page of a run with other data in it: pages of commands that take longer than a test may.
function pageWith(kind) {
  const page = readFileSync(runPage('examples/sft-8b-lora-one-gpu.yaml', ['--steps', '1']), 'utf8');
  const data = readFileSync(join(here, `${kind}.json`), 'utf8');
  const text = JSON.stringify({ kind, version: 'test', data: JSON.parse(data) }).replaceAll('<', '\\u003c');
  const file = join(work, `${name}.html`);
  writeFileSync(file, page.replace(/(<script type="application\/json" id="data">)[\s\S]*?(<\/script>)/, (_, a, b) => a + text + b));
  return file;
}

async function drawsCharts(page) {
  const colours = await coloursOfCharts(page);
  check(colours.length > 0 && colours.every((n) => n > 2), `charts have ${colours} colours`);
}

async function isReadable(page) {
  for (const shade of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme: shade });
    await page.waitForSelector(`html[data-shade="${shade}"]`);
    const least = await leastContrast(page);
    check(least.ratio >= 4.5, `contrast ${least.ratio.toFixed(2)} of '${least.text}' in ${shade} colours`);
    await drawsCharts(page);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.click('#shade');
  check((await page.getAttribute('html', 'data-shade')) === 'dark', 'the button does not turn the page dark');
  await page.click('#shade');
  check((await page.getAttribute('html', 'data-shade')) === 'light', 'the button does not turn the page light');
}

// Every control is reached with Tab, and shows that it is.
async function isReachable(page, wanted) {
  await page.evaluate(() => document.activeElement && document.activeElement.blur());
  const reached = new Set();
  for (let i = 0; i < 150; ++i) {
    await page.keyboard.press('Tab');
    const at = await page.evaluate(() => {
      const e = document.activeElement;
      if (!e || e === document.body) return null;
      return { id: e.id, tag: e.tagName, kind: String(e.className), ring: getComputedStyle(e).outlineStyle };
    });
    if (!at) break;
    check(at.ring !== 'none', `no ring around ${at.tag} ${at.kind} ${at.id}`);
    for (const w of wanted) if (`${at.tag}#${at.id}.${at.kind}`.includes(w)) reached.add(w);
    if (reached.size === wanted.length) break;
  }
  for (const w of wanted) check(reached.has(w), `Tab does not reach ${w}`);
}

async function hasTooltip(page, selector, x, y) {
  await page.locator(selector).first().scrollIntoViewIfNeeded();
  const box = await page.locator(selector).first().boundingBox();
  await page.mouse.move(box.x + box.width * x - 3, box.y + box.height * y);
  await page.mouse.move(box.x + box.width * x, box.y + box.height * y, { steps: 3 });
  const tip = page.locator(`${selector} .chart-tip`).first();
  await tip.waitFor({ state: 'visible' });
  const text = await tip.textContent();
  check(/\d ?(s|ms|min|GiB|%)/.test(text), `the tooltip of ${selector} says '${text}'`);
  await page.mouse.move(2, 2);
}

async function zooms(page, section) {
  const chart = `${section} .chart`;
  await page.locator(chart).first().scrollIntoViewIfNeeded();
  const whole = await picture(page, chart);
  await page.click(`${section} button[title="Zoom in"]`);
  const near = await picture(page, chart);
  check(differ(near, whole), 'the button does not zoom');
  await page.click(`${section} button[title="Show all of it"]`);
  check(!differ(await picture(page, chart), whole), 'All does not show all');
  await page.locator(chart).first().focus();
  await page.keyboard.press('+');
  check(differ(await picture(page, chart), whole), 'the plus key does not zoom');
  await page.keyboard.press('0');
  check(!differ(await picture(page, chart), whole), 'the 0 key does not show all');
  const box = await page.locator(chart).first().boundingBox();
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 3);
  await page.keyboard.down('Control');
  await page.mouse.wheel(0, -400);
  await page.keyboard.up('Control');
  check(differ(await picture(page, chart), whole), 'Ctrl and the wheel do not zoom');
  await page.keyboard.press('0');
}

async function speaks(page, selector, key) {
  await page.locator(selector).first().focus();
  await page.keyboard.press(key);
  await page.keyboard.press(key);
  const said = await page.textContent('#live');
  check(/\d/.test(said), `the arrow keys in ${selector} say '${said}'`);
}

async function tableOpens(page, section) {
  await page.locator(`${section} summary`).first().focus();
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${section} details table td`);
}

const cases = {
  async run(page) {
    check((await page.textContent('h1')).startsWith('One step takes '), 'the verdict is not first');
    await drawsCharts(page);
    await isReachable(page, ['A#.skip', 'BUTTON#shade', 'DIV#.chart', 'SELECT#', 'SUMMARY#', 'DIV#.stack']);
    await hasTooltip(page, '#timeline .chart', 0.3, 0.4);
    await hasTooltip(page, '#engines .chart', 0.3, 0.15);
    await hasTooltip(page, '#memory .chart', 0.3, 0.5);
    await zooms(page, '#timeline');
    await zooms(page, '#memory');
    await speaks(page, '#timeline .chart', 'ArrowDown');
    await speaks(page, '#engines .chart', 'ArrowRight');
    await tableOpens(page, '#timeline');
    await page.click('#timeline button:has-text("by activity")');
    await page.selectOption('#memory select', '1');
    await isReadable(page);
    await page.setViewportSize({ width: 420, height: 800 });
    await page.waitForFunction(() => document.documentElement.scrollWidth <= innerWidth + 1, null, { timeout: 20000 });
  },
  async serving(page) {
    check((await page.textContent('h1')).includes('requests/s are served on'), 'the verdict is not first');
    await hasTooltip(page, '#latency .chart', 0.5, 0.5);
    await hasTooltip(page, '#requests .chart', 0.3, 0.2);
    await zooms(page, '#requests');
    await speaks(page, '#requests .chart', 'ArrowRight');
    await tableOpens(page, '#requests');
    check((await page.locator('#tenants td').count()) > 5, 'no slowest tenants');
    await isReadable(page);
  },
  async incident(page) {
    check((await page.textContent('.badge')) === 'oom', 'the outcome is not told');
    check((await page.locator('#incident td').count()) > 3, 'no timeline of the incident');
    await hasTooltip(page, '#memory .chart', 0.85, 0.8);
    await isReadable(page);
  },
  async large(page) {
    const took = await page.evaluate(() => performance.now());
    console.log(`ready ${Math.round(took)} ms after the start`);
    check(took < 60000, `the page takes ${took} ms`);
    check((await page.textContent('#timeline')).includes('16384 rank classes'), 'nothing is said of what is merged');
    await hasTooltip(page, '#timeline .chart', 0.3, 0.4);
    await zooms(page, '#timeline');
    await drawsCharts(page);
  },
  async compare(page) {
    check((await page.locator('#speed .stack').count()) >= 2, 'no bars');
    await isReachable(page, ['BUTTON#shade', 'DIV#.stack', 'SELECT#']);
    await page.locator('#speed .stack').first().hover();
    await page.locator('#tip').waitFor({ state: 'visible' });
    const least = await leastContrast(page);
    check(least.ratio >= 4.5, `contrast ${least.ratio} of '${least.text}'`);
  },
  async ratio(page) {
    await drawsCharts(page);
    await isReachable(page, ['BUTTON#shade', 'DIV#.chart', 'SUMMARY#']);
    await hasTooltip(page, '#curves .chart', 0.5, 0.5);
    await speaks(page, '#curves .chart', 'ArrowRight');
    await tableOpens(page, '#curves');
    await isReadable(page);
  },
};

const files = {
  run: () => runPage('examples/grpo-8b-colocated.yaml'),
  serving: () => runPage('serving/64-adapters-fixed-pool.yaml'),
  incident: () => runPage('incidents/B1-entropy-logits.yaml'),
  large: () => runPage('examples/grpo-8b-colocated.yaml', ['--steps', '1', '--set', 'cluster.nodes=2048', '--set', 'algorithm.prompts=4096', '--set', 'algorithm.train_batch=16384']),
  compare: () => pageWith('compare'),
  ratio: () => pageWith('ratio'),
};

await withPage({ packages, chromium, file: files[name]() }, cases[name]);
console.log(`${name}: good`);
