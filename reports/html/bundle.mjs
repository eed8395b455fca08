// node bundle.mjs PACKAGES OUTPUT.cpp: page.html with page.css and the bundled page.js in it, as a string of
// the program. PACKAGES holds node_modules.
import { createRequire } from 'node:module';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const [packages, output] = process.argv.slice(2).map((p) => resolve(p));
const here = dirname(fileURLToPath(import.meta.url));
const modules = join(packages, 'node_modules');
const esbuild = createRequire(join(packages, 'package.json'))('esbuild');

const common = { bundle: true, minify: true, write: false, nodePaths: [modules], legalComments: 'none' };
const build = (file, more) =>
  esbuild.buildSync({ ...common, ...more, entryPoints: [join(here, file)] }).outputFiles[0].text.trim();
// Nothing in a script element may look like its end.
const script = build('page.js', { format: 'iife', target: 'es2020' }).replaceAll('</script', '<\\/script');
const style = build('page.css', {});

const text = (path) => readFileSync(join(modules, path), 'utf8').trim().replaceAll('--', '- -');
const licences = [
  'This page holds Apache ECharts (Apache License 2.0, https://www.apache.org/licenses/LICENSE-2.0):',
  text('echarts/NOTICE'),
  'and zrender:',
  text('zrender/LICENSE'),
].join('\n\n');

const page = readFileSync(join(here, 'page.html'), 'utf8')
  .replace('@licences@', () => licences)
  .replace('@style@', () => style)
  .replace('@script@', () => script);

// Compilers take long literals in pieces.
const pieces = [];
for (let at = 0; at < page.length; at += 8000) pieces.push(`R"rollcast_page(${page.slice(at, at + 8000)})rollcast_page"`);
const code = `#include "reports/html_page.hpp"

namespace rollcast {

std::string_view embedded_page() {
  static constexpr char kPage[] =
${pieces.join('\n')};
  return {kPage, sizeof kPage - 1};
}

}  // namespace rollcast
`;
writeFileSync(`${output}.new`, code);
renameSync(`${output}.new`, output);
