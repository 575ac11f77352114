/* SPDX-License-Identifier: Apache-2.0 */
// Is B slower than A, where, and is that sure? Of a page that `proflaunch diff --html` made.

const OF_KIND = [['operator', 'Operators and calls', 'own time on the host, per step'], ['gpu', 'Kernels, copies and sets', 'per step'], ['peak', 'Most memory of tensors in a step', '']];
const change_colour = v => v > 0 ? 'var(--worse)' : 'var(--better)';

// Every step of both runs as a dot, and their medians as lines.
function dots(difference) {
	const W = 1280, H = 128, L = 40, R = 24, {steps_a: a, steps_b: b} = difference, all = [...a, ...b];
	const most = all.reduce((x, v) => Math.max(x, v), 0) * 1.03 || 1, least = all.reduce((x, v) => Math.min(x, v), Infinity), from = least > most * 0.4 ? least - (most - least) * 0.15 : 0;
	const x = v => L + (W - L - R) * (v - from) / (most - from), axis = ticks(most - from, 7).map(v => v + Math.ceil(from / nice((most - from) / 7)) * nice((most - from) / 7)).filter(v => v <= most);
	const median = list => { const s = [...list].sort((p, q) => p - q), h = s.length >> 1; return s.length % 2 ? s[h] : (s[h - 1] + s[h]) / 2; };
	const side = (list, letter, y, colour) => list.length ? [shape('text', {class: 'strong', x: 6, y: y + 4}, letter),
		...list.slice(0, 2000).map((v, i) => shape('circle', {cx: x(v).toFixed(1), cy: y + (list.length > 12 ? (i * 7) % 19 - 9 : 0), r: list.length > 60 ? 4 : 7, fill: colour, 'fill-opacity': 0.65})),
		shape('line', {x1: x(median(list)), x2: x(median(list)), y1: y - 19, y2: y + 19, stroke: 'var(--ink)', 'stroke-width': 2})] : [];
	return make('div', {class: 'scroll picture'}, shape('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img',
		'aria-label': `steps of A: median ${time(median(a))} of ${a.length}; of B: median ${time(median(b))} of ${b.length}`},
	...axis.map(v => [shape('line', {class: 'ax', x1: x(v), x2: x(v), y1: 4, y2: H - 24}), shape('text', {x: x(v), y: H - 8, 'text-anchor': 'middle'}, time(v))]).flat(),
	...side(a, 'A', 32, 'var(--c7)'), ...side(b, 'B', 80, 'var(--c0)')));
}

function share_table(rows) {
	const most = rows.reduce((a, r) => Math.max(a, Math.abs(r.difference)), 0) || 1;
	const line = r => {
		const i = SHARES.findIndex(([name]) => name === r.name), half = 50 * Math.abs(r.difference) / most + '%';
		const bar = make('i', {class: 'swing', style: {background: change_colour(r.difference), width: half, [r.difference > 0 ? 'left' : 'right']: '50%'}});
		return make('tr', {}, make('th', {scope: 'row', class: 'left'}, dot(share_colour(Math.max(i, 0))), r.name), make('td', {}, time(r.a)), make('td', {}, time(r.b)),
			make('td', {}, signed(time, r.difference)), make('td', {class: 'left'}, r.sure ? 'sure' : 'may be noise'), make('td', {class: 'swings'}, bar));
	};
	return make('div', {class: 'scroll'}, make('table', {class: 'facts-table'}, make('caption', {class: 'unseen'}, 'where a step goes, in both runs'),
		make('thead', {}, make('tr', {}, ...['Share', 'A', 'B', 'B − A', 'Sure?', ''].map((t, i) => make('th', {scope: 'col', class: i === 0 || i === 4 ? 'left' : null}, t)))), make('tbody', {}, ...rows.map(line))));
}

// Rows of one kind as a view: times or bytes.
function changes(rows, kind) {
	const memory = kind === 'peak', unit = memory ? 'bytes' : 'time', of = (r, key) => r[memory ? key + '_bytes' : key];
	const words = r => !r.in_a ? 'new' : !r.in_b ? 'gone' : r.sure ? 'sure' : 'may be noise';
	return {name: 'diff_' + kind, columns: [['name', 'Name', 'text'], ['a', 'A', unit], ['b', 'B', unit], ['difference', 'B − A', memory ? 'more_bytes' : 'more_time'], ['size', 'Size of it', unit], ['sure', 'Sure?', 'text']],
		rows: rows.filter(r => r.kind === kind).map(r => [r.name, of(r, 'a'), of(r, 'b'), of(r, 'difference'), Math.abs(of(r, 'difference')), words(r)])};
}

VIEWS.compare = {title: 'Compare', draw(main) {
	const difference = asked.difference, {rows: d} = difference, side = (letter, s) => `${letter}: ${count(s.steps)} steps of ${s.files} file${s.files === 1 ? '' : 's'}${s.stage ? ' of stage ' + s.stage : ''}, ${plain(s.name)}`;
	main.append(make('div', {class: 'headline'}, make('h1', {}, micro(d.sentence)), make('p', {class: 'sub'}, side('A', d.a), make('br'), side('B', d.b))));
	if (d.doubts.length) main.append(make('div', {class: 'doubts', role: 'note'}, ...d.doubts.map(t => make('p', {}, t))));
	main.append(card('Every step of both runs', 'a dot is a step, a line the median', dots(difference)));
	const shares = d.rows.filter(r => r.kind === 'share' && (r.a || r.b));
	if (shares.length) main.append(card('Where the difference is', 'per step', share_table(shares)));
	for (const [kind, title, hint] of OF_KIND) {
		const view = changes(d.rows, kind);
		if (!view.rows.length) continue;
		const box = card(title, hint);
		main.append(box);
		new Table(box, view, {sort: 'size', bars: ['size'], caption: title});
	}
}};
