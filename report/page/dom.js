/* SPDX-License-Identifier: Apache-2.0 */
// Elements and numbers. All texts of a trace pass `plain`, and become texts: never HTML.

// Views by name, each {title, draw(main, data)}; what is being looked at.
const VIEWS = Object.create(null), asked = {view: 'overview', run: 0, find: '', group: ''};

// What a terminal would obey, or what turns the direction of a line, is '?'.
const plain = text => String(text).replace(
	/[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, '?');

function fill(element, props, children) {
	for (const [key, value] of Object.entries(props || {})) {
		if (key === 'on')
			for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
		else if (key === 'style')
			for (const [name, to] of Object.entries(value)) element.style.setProperty(name, to);
		else if (value !== null && value !== undefined && value !== false)
			element.setAttribute(key, value === true ? '' : plain(value));
	}
	element.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false)
		.map(c => c instanceof Node ? c : plain(c)));
	return element;
}

const make = (name, props, ...children) => fill(document.createElement(name), props, children);
const shape = (name, props, ...children) =>
	fill(document.createElementNS('http://www.w3.org/2000/svg', name), props, children);

const card = (title, hint, ...children) => make('section', {class: 'card'},
	make('h2', {}, title, hint ? make('small', {}, hint) : null), ...children);
const note = (...children) => make('p', {class: 'note'}, ...children);
const button = (text, press, props) => make('button', {type: 'button', on: {click: press}, ...props}, text);
const dot = colour => make('i', {class: 'dot', style: {background: colour}, 'aria-hidden': 'true'});
const named = (names, ...rest) => names.length ? names.map((n, i) => [i ? ' ' : '', make('kbd', {}, n)]).concat(rest) : rest;

// ---- numbers: a unit, and three digits ----

const digits = v => Math.abs(v) >= 99.95 ? v.toFixed(0) : Math.abs(v) >= 9.995 ? v.toFixed(1) : v.toFixed(2);
const count = v => Math.round(v).toLocaleString('en-US');

function time(us) {
	const a = Math.abs(us);
	if (a >= 999.5e3) return digits(us / 1e6) + ' s';
	if (a >= 999.5) return digits(us / 1e3) + ' ms';
	if (a === 0) return '0 µs';
	return a < 1 ? (us * 1e3).toFixed(0) + ' ns' : digits(us) + ' µs';
}

function bytes(n) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
	let i = 0;
	while (Math.abs(n) >= 1023.5 && i + 1 < units.length) { n /= 1024; i++; }
	return (i ? n.toFixed(1) : n) + ' ' + units[i];
}

function percent(share) {
	const p = 100 * share, a = Math.abs(p);
	if (a === 0) return '0 %';
	return a < 0.05 ? '<0.1 %' : (a < 9.95 ? p.toFixed(1) : p.toFixed(0)) + ' %';
}

const signed = (words, v) => (v > 0 ? '+' : v < 0 ? '−' : '') + words(Math.abs(v));

// By the unit of a table's column.
const WORDS = {
	text: v => v, count, id: v => String(v), time, bytes, share: percent,
	more_time: v => signed(time, v), more_bytes: v => signed(bytes, v), number: v => v.toFixed(2), flag: v => v ? 'yes' : 'no',
};

// The round number next above, for the ticks of an axis.
function nice(v) {
	const p = 10 ** Math.floor(Math.log10(v));
	return [1, 2, 5, 10].map(f => f * p).find(f => f >= v * 0.999) || v;
}

function ticks(max, n, round) {
	const by = (round || nice)(max / n) || 1, out = [];
	for (let v = 0; v <= max * 1.0001 && out.length < 50; v += by) out.push(v);
	return out;
}

const nice_bytes = v => 2 ** Math.ceil(Math.log2(v > 1 ? v : 1));

// The report's sentences write microseconds as a terminal without UTF-8 does.
const micro = text => (text || '').replace(/(\d) us\b/g, '$1 µs');

// ---- what hovers over a picture ----

function hover(element, words) {
	const tip = document.getElementById('tip');
	element.addEventListener('pointermove', event => {
		const text = words(event);
		tip.hidden = !text;
		if (!text) return;
		tip.replaceChildren(...[text].flat().map(line => make('div', {}, line)));
		const {offsetWidth: w, offsetHeight: h} = tip, below = event.clientY + 18;
		tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - w - 8)) + 'px';
		tip.style.top = (below + h > innerHeight ? event.clientY - h - 8 : below) + 'px';
	});
	element.addEventListener('pointerleave', () => { tip.hidden = true; });
}

const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
