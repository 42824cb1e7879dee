// Looks at pages in a real browser: everything works by keyboard with JavaScript switched off, axe finds no
// violation, nothing comes from other origins, nothing scrolls sideways at 320 pixels (400 % of 1280).
// axe is a script, so it alone has JavaScript; the pages have none.
//
//   node visit.mjs '{"browser": PROGRAM, "spki": HASH, "pages": [URL], "login": LINK, "shots": DIR}'
//
// Prints one JSON object: {"pages": N, "problems": [TEXT]}. `login` is a one-time link, which is followed first.
// `acts` are steps behind it, and `last` those after all pages were looked at:
// {"page": PATH, "into": ID, "type": TEXT, "press": BUTTON, "expect": TEXT}; all but page and text may be left out.
import { AxeBuilder } from '@axe-core/playwright';
import { chromium } from 'playwright-core';

const asked = JSON.parse(process.argv[2]);
const origin = new URL(asked.pages[0]).origin;
const problems = [];
const problem = (page, what) => problems.push(`${page.url()}: ${what}`);
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const NARROW = { width: 320, height: 640 };
const WAIT = 20_000;
const WIDE = { width: 1280, height: 800 };

// A browser that hangs is a failure, too.
setTimeout(() => { console.error('the browser hangs'); process.exit(3); }, 6 * WAIT).unref();
// The certificate is the service's own: the browser takes this key and no other.
const args = ['--no-sandbox', '--disable-gpu'];
if (asked.spki) args.push(`--ignore-certificate-errors-spki-list=${asked.spki}`);
const browser = await chromium.launch({ executablePath: asked.browser, args });

async function context(colorScheme, viewport, storageState, javaScriptEnabled = false) {
  const made = await browser.newContext({ javaScriptEnabled, colorScheme, viewport, storageState });
  const page = await made.newPage();
  page.setDefaultTimeout(WAIT);
  page.on('request', request => {
    if (!request.url().startsWith(`${origin}/`)) problem(page, `asks for ${request.url()}`);
  });
  page.on('console', message => problem(page, `console: ${message.text()}`));
  return page;
}

async function axe(page) {
  const found = await new AxeBuilder({ page }).setLegacyMode(true).withTags(TAGS).analyze();
  for (const violation of found.violations) {
    const places = violation.nodes.slice(0, 3).map(node => node.html.slice(0, 120));
    problem(page, `axe: ${violation.id}: ${violation.help}: ${places.join(' | ')}`);
  }
  if (found.passes.length < 8) problem(page, `axe looked at ${found.passes.length} rules only`);
}

// Whatever can be used is reached by Tab, in the order of the page, and shows its focus.
async function keyboard(page) {
  const sought = 'a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]';
  const count = await page.evaluate(selector => {
    const all = [...document.querySelectorAll(selector)];
    all.forEach((element, place) => { element.clewPlace = place; });
    return all.length;
  }, sought);
  for (let place = 0; place < count; place++) {
    await page.keyboard.press('Tab');
    const focus = await page.evaluate(() => {
      const style = getComputedStyle(document.activeElement);
      const box = document.activeElement.getBoundingClientRect();
      return {
        place: document.activeElement.clewPlace,
        outline: style.outlineStyle,
        seen: box.right > 0 && box.bottom > 0,
        html: document.activeElement.outerHTML.slice(0, 100),
      };
    });
    if (focus.place !== place) return problem(page, `Tab ${place} leads to ${focus.html}`);
    if (focus.outline === 'none') problem(page, `focus is not visible: ${focus.html}`);
    if (!focus.seen) problem(page, `focus is off the page: ${focus.html}`);
  }
}

async function skips(page) {
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  const focus = await page.evaluate(() => document.activeElement.id);
  if (focus !== 'main') problem(page, `the skip link leads to "${focus}"`);
}

async function fits(page) {
  const [content, view] = await page.evaluate(() =>
    [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  if (content > view) problem(page, `${content} pixels wide in ${view}`);
}

async function shot(page, name) {
  if (asked.shots) await page.screenshot({ path: `${asked.shots}/${name}.png`, fullPage: true });
}

async function go(page, url) {
  const response = await page.goto(url);
  if (!response || response.status() >= 500) problem(page, `status ${response?.status()}`);
}

// Goes by Tab to what `is` says of an element.
async function reach(page, what, is) {
  for (let turn = 0; turn < 60; turn++) {
    await page.keyboard.press('Tab');
    if (await page.evaluate(is, what)) return true;
  }
  problem(page, `Tab does not lead to ${what}`);
  return false;
}

async function press(page, name) {
  const is = name => document.activeElement.matches('button') && document.activeElement.innerText === name;
  if (!await reach(page, name, is)) return;
  await Promise.all([page.waitForNavigation(), page.keyboard.press('Enter')]);
}

async function act(page, { page: path, into, type, press: name, expect }) {
  await go(page, `${origin}/${path}`);
  if (into && await reach(page, into, id => document.activeElement.id === id)) await page.keyboard.type(type);
  if (name) await press(page, name);
  const text = await page.evaluate(() => document.querySelector('main').innerText);
  if (!text.includes(expect)) problem(page, `"${expect}" is not in: ${text.slice(0, 300)}`);
}

const visitor = await context('light', WIDE);
if (asked.login) {
  await go(visitor, asked.login);
  await shot(visitor, 'login');
  await press(visitor, 'Log in');
}
for (const one of asked.acts ?? []) await act(visitor, one);
const state = await visitor.context().storageState();
const titles = new Set();
for (const [scheme, size, sizeName] of [['light', NARROW, 320], ['dark', NARROW, 320], ['light', WIDE, 1280]]) {
  const page = await context(scheme, size, state, size === NARROW);
  for (const [number, url] of asked.pages.entries()) {
    await go(page, url);
    if (size === NARROW) await fits(page);
    if (size === WIDE) {
      await keyboard(page);
      await go(page, url);
      await skips(page);
    } else {
      await axe(page);
    }
    const [title, headings, lang] = await page.evaluate(() =>
      [document.title, document.querySelectorAll('h1').length, document.documentElement.lang]);
    if (headings !== 1 || !lang) problem(page, `${headings} headings of level 1, language "${lang}"`);
    titles.add(title);
    await shot(page, `${number}-${sizeName}-${scheme}`);
  }
  await page.context().close();
}
for (const one of asked.last ?? []) await act(visitor, one);
if (titles.size !== asked.pages.length) problems.push(`${titles.size} titles of ${asked.pages.length} pages`);
await browser.close();
console.log(JSON.stringify({ pages: asked.pages.length, problems }));
