/* SPDX-License-Identifier: Apache-2.0 */
// The page itself: runs, tabs, keys, links. It begins here, when all views are known.

const main = document.getElementById('main'), tabs = document.getElementById('tabs'), runs = [...document.querySelectorAll('script.run')];
const read = new Map();
var data = null, live = null; // the run, and what its view does with keys; var: a debugger sees them on window

// Tabs in their order: what the page knows, then the report's other views, the trace last.
function names_of() {
	const shown = name => view_of(data, name) && view_of(data, name).rows.length > 0;
	const own = ['overview', 'ops', 'kernels', 'timeline', 'flame', 'memory', 'steps', 'threads'];
	const fixed = name => ['overview', 'timeline', 'flame', 'memory'].includes(name) || shown(name);
	const others = data.views.map(v => v.name).filter(name => !own.includes(name) && !['shapes', 'trace'].includes(name) && shown(name));
	return [...(asked.difference ? ['compare'] : []), ...own.filter(fixed), ...others, 'trace'];
}

function draw_tabs() {
	tabs.replaceChildren(...names_of().map((name, i) => button((VIEWS[name] || draw_any(name)).title, () => show(name), {
		role: 'tab', id: 'tab-' + name, 'data-view': name, 'aria-controls': 'main', 'aria-selected': String(name === asked.view),
		tabindex: name === asked.view ? '0' : '-1', title: i < 9 ? `key ${i + 1}` : null})));
	main.setAttribute('aria-labelledby', 'tab-' + asked.view);
}

// Writes what is looked at into the address, so that it can be sent on.
function remember(more) {
	Object.assign(asked, more);
	const words = new URLSearchParams({view: asked.view});
	if (runs.length > 1) words.set('run', asked.run);
	for (const key of ['find', 'group']) if (asked[key]) words.set(key, asked[key]);
	try {
		history.replaceState(null, '', '#' + words);
	} catch (error) {
		// A browser that limits how often: the next one is taken.
	}
}

function show(name, find) {
	if (find !== undefined || name !== asked.view) asked.find = find || '';
	if (name !== asked.view) asked.group = '';
	asked.view = VIEWS[name] || view_of(data, name) ? name : 'overview';
	if (asked.view === 'compare' && !asked.difference) asked.view = 'overview';
	draw_tabs();
	document.getElementById('tip').hidden = true;
	main.replaceChildren();
	main.dataset.view = asked.view;
	live = (VIEWS[asked.view] || draw_any(asked.view)).draw(main, data) || null;
	remember({});
	scrollTo(0, 0);
}

async function open_run(i) {
	document.documentElement.removeAttribute('data-ready');
	for (const k of asked.difference ? runs.keys() : [i]) if (!read.has(k)) read.set(k, await read_block(runs[k]));
	data = read.get(i);
	asked.run = i;
	document.title = `${plain(data.title)} – proflaunch report`;
	show(asked.view, asked.find);
	document.documentElement.dataset.ready = Math.round(performance.now());
}

// ---- keys ----

const typing = target => /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName);

// Empties a filter, so that all is there again, and leaves it.
function leave_input(event) {
	const input = event.target;
	event.preventDefault();
	if (input.type === 'search' && input.value) {
		input.value = '';
		input.dispatchEvent(new Event('input'));
	}
	input.blur();
}

function press_key(event) {
	if (event.ctrlKey || event.metaKey || event.altKey) return;
	if (event.key === 'Escape') {
		if (typing(event.target)) leave_input(event); else if (live && live.escape) live.escape();
		return;
	}
	if (typing(event.target)) return;
	const tab = tabs.children[Number(event.key) - 1], input = main.querySelector('input[type=search]');
	if (event.key >= '1' && event.key <= '9' && tab) tab.click();
	else if (event.key === '/' && input) {
		event.preventDefault();
		input.focus();
	} else if (live && live.key && !event.target.closest('nav, .tools') && live.key(event.key.toLowerCase())) event.preventDefault();
	else if (event.key === 'd') turn_theme();
}

function walk_tabs(event) {
	const all = [...tabs.children], i = all.indexOf(event.target), to = {ArrowRight: i + 1, ArrowLeft: i - 1, Home: 0, End: all.length - 1}[event.key];
	if (i < 0 || to === undefined) return;
	event.preventDefault();
	event.stopPropagation();
	all[(to + all.length) % all.length].click();
	document.getElementById('tab-' + asked.view).focus();
}

// ---- dark and light ----

function set_theme(theme) {
	document.documentElement.dataset.theme = theme;
	if (live && live.redraw) live.redraw();
}
const turn_theme = () => set_theme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');

// ---- the beginning ----

function read_address() {
	const words = new URLSearchParams(location.hash.slice(1)), run = Number(words.get('run'));
	Object.assign(asked, {view: words.get('view') || (asked.difference ? 'compare' : 'overview'), find: words.get('find') || '', group: words.get('group') || '',
		run: words.has('run') && runs[run] ? run : asked.difference ? runs.length - 1 : 0});
	if (words.get('theme')) set_theme(words.get('theme') === 'dark' ? 'dark' : 'light');
}

async function begin() {
	const select = document.getElementById('run'), dark = matchMedia('(prefers-color-scheme: dark)');
	if (typeof DecompressionStream === 'undefined') {
		main.replaceChildren(note('This page needs a browser from 2023 on: Chromium 80, Firefox 113, Safari 16.4 or newer.'));
		return;
	}
	set_theme(dark.matches ? 'dark' : 'light');
	dark.addEventListener('change', () => set_theme(dark.matches ? 'dark' : 'light'));
	const difference = document.querySelector('script.difference');
	if (difference) asked.difference = await read_block(difference);
	read_address();
	select.replaceChildren(...runs.map((run, i) => make('option', {value: i}, block_title(run))));
	select.value = asked.run;
	document.getElementById('run-label').hidden = runs.length < 2;
	select.addEventListener('change', () => open_run(Number(select.value)));
	document.getElementById('theme').addEventListener('click', turn_theme);
	document.addEventListener('keydown', press_key);
	tabs.addEventListener('keydown', walk_tabs);
	addEventListener('hashchange', () => { read_address(); select.value = asked.run; open_run(asked.run); });
	new ResizeObserver(() => document.documentElement.style.setProperty('--top', document.querySelector('header').offsetHeight + 'px'))
		.observe(document.querySelector('header'));
	await open_run(asked.run);
}

begin().catch(error => {
	main.replaceChildren(make('p', {role: 'alert'}, 'This page could not be read: it may be cut short. Make it anew: proflaunch report --html.'));
	throw error;
});
