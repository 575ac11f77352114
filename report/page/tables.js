/* SPDX-License-Identifier: Apache-2.0 */
// Views that are a table: operators, kernels, steps, threads, the trace itself, and any other that the report has.

const title_of = name => ({ops: 'Operators', kernels: 'GPU kernels', trace: 'Trace'}[name] || name[0].toUpperCase() + name.slice(1));
const missing = (data, name) => {
	const view = view_of(data, name);
	return card(title_of(name), '', note(view ? plain(view.empty).replace(/^it has/, 'This trace has') + '.' : 'This run has no such view.'));
};

// A view of rows without anything of its own to say.
function draw_rows(main, data, name, options) {
	const view = view_of(data, name);
	if (!view || !view.rows.length) {
		main.append(missing(data, name));
		return null;
	}
	const box = card(title_of(name), view.title);
	main.append(box);
	return new Table(box, view, {find: asked.find, ...options});
}

// ---- operators ----

function operator_detail(data, row, columns) {
	const n = data.report.steps.length || 1, o = Object.fromEntries(columns.map(([key], i) => [key, row[i]]));
	const shapes = objects(view_of(data, 'shapes')).filter(s => s.key === o.key && s.input_shapes).sort((a, b) => b.self_cpu_time_total - a.self_cpu_time_total);
	const kernels = objects(view_of(data, 'kernels')).filter(k => k.operator === o.key);
	return make('div', {},
		make('p', {}, make('b', {}, o.key), ` · ${count(o.count)} calls, ${digits(o.count / n)} a step · own time ${time(o.self_cpu_time_total / n)} a step on the CPU`,
			o.self_device_time_total ? `, ${time(o.self_device_time_total / n)} on the GPU` : ''),
		shapes.length ? make('ul', {}, ...shapes.slice(0, 6).map(s => make('li', {}, make('code', {}, s.input_shapes), ` ${count(s.count)} calls, ${time(s.self_cpu_time_total)}`,
			s.self_device_time_total ? `, GPU ${time(s.self_device_time_total)}` : ''))) : note('No input shapes: record with --record-shapes.'),
		kernels.length ? make('ul', {}, ...kernels.slice(0, 6).map(k => make('li', {}, 'kernel ', make('code', {}, k.name), ` ${time(k.total)}`))) : null,
		button('find it in the timeline', () => show('timeline', o.key)));
}

VIEWS.ops = {title: 'Operators', draw(main, data) {
	const by_shape = asked.group === 'shape' && view_of(data, 'shapes'), name = by_shape ? 'shapes' : 'ops';
	const view = view_of(data, name);
	if (!view.rows.length) {
		main.append(missing(data, 'ops'));
		return;
	}
	const gpu = view.columns.some(([key], i) => key === 'self_device_time_total' && view.rows.some(row => row[i] > 0));
	const toggle = view_of(data, 'shapes') ? button('by input shapes', () => { asked.group = by_shape ? '' : 'shape'; show('ops'); }, {'aria-pressed': String(Boolean(by_shape))})
		: make('span', {class: 'hint'}, 'no input shapes: record with --record-shapes');
	const box = card('Operators', 'own: without what is inside of them; press a row for its shapes');
	main.append(box);
	new Table(box, view, {find: asked.find, sort: gpu ? 'self_device_time_total' : 'self_cpu_time_total', tools: [toggle], caption: view.title,
		bars: ['self_cpu_time_total', 'self_device_time_total'], open: row => operator_detail(data, row, view.columns)});
}};

// ---- kernels ----

// How many took how long, in powers of two from 1 µs.
function histogram(bins) {
	const first = bins.findIndex(n => n), last = bins.length - [...bins].reverse().findIndex(n => n), most = Math.max(...bins);
	const range = i => i ? i + 1 < bins.length ? `${time(2 ** i)} to ${time(2 ** (i + 1))}` : `from ${time(2 ** i)} on` : `below ${time(2)}`;
	const words = bins.map((n, i) => n ? `${range(i)}: ${count(n)}` : '').filter(Boolean);
	const bars = make('span', {class: 'spark', role: 'img', 'aria-label': words.join(', ')}, ...bins.map((n, i) =>
		make('i', {style: {height: n ? 3 + 15 * n / most + 'px' : '1px', opacity: i >= first && i < last ? '1' : '.35'}})));
	hover(bars, () => words);
	return bars;
}

VIEWS.kernels = {title: 'GPU kernels', draw(main, data) {
	const view = view_of(data, 'kernels'), bins = new Map(view.rows.map((row, i) => [row, data.durations[i]]));
	draw_rows(main, data, 'kernels', {sort: 'total', bars: ['total'], keep: ['operator'], extra: [{title: 'Durations', after: 'mean', cell: row => (bins.get(row) || []).some(n => n) ? histogram(bins.get(row)) : ''}],
		open: row => make('div', {}, make('p', {}, make('b', {}, row[0])), button('find it in the timeline', () => show('timeline', row[0])))});
}};

// ---- steps, the trace ----

VIEWS.steps = {title: 'Steps', draw(main, data) {
	main.append(step_chart(data.report));
	draw_rows(main, data, 'steps', {open: row => make('div', {}, button('show it in the timeline', () => {
		asked.step = row[0];
		show('timeline');
	}))});
}};

VIEWS.trace = {title: 'Trace', draw(main, data) {
	const view = view_of(data, 'trace'), {timeline, report} = data;
	const rows = view.rows.map(([what, value]) => make('tr', {}, make('th', {scope: 'row', class: 'left'}, what), make('td', {class: 'left wrap'}, value === null ? '–' : value)));
	const box = card('Can it be trusted?', plain(report.file || ''), make('table', {class: 'facts-table'}, make('caption', {class: 'unseen'}, 'facts about the recording'), make('tbody', {}, ...rows)));
	const empty = data.views.filter(v => !v.rows.length && v.name !== 'shapes');
	main.append(...[doubts(data), box, timeline.slices < timeline.all ? card('Left out', '', note(left_out(timeline))) : null,
		empty.length ? card('Views without rows', '', make('ul', {}, ...empty.map(v => make('li', {}, make('b', {}, title_of(v.name)), ': ', v.empty)))) : null,
		card('Keys', '', make('p', {class: 'keys'}, ...named(['1', '…', '9'], ' views · '), ...named(['←', '→'], ' the next view, on the tabs · '), ...named(['/'], ' filter or find · '), ...named(['d'], ' dark or light · '),
			...named(['↑', '↓', 'Enter'], ' rows of a table · '), ...named(['W', 'S', 'A', 'D'], ' zoom and move the timeline · '), ...named(['Esc'], ' back')),
		note(`Made by proflaunch ${plain(data.version)}.`))].filter(Boolean));
}};

// Views that this page does not know are tables like any other.
const draw_any = name => ({title: title_of(name), draw: (main, data) => draw_rows(main, data, name)});
