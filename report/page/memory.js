/* SPDX-License-Identifier: Apache-2.0 */
// When is the peak, and who holds it? Tensors of each device over time, by what they are for; then who allocated.

const memory_colour = i => `var(--m${i})`;

// The step that a moment lies in, as words.
function step_at(data, us) {
	const step = data.timeline.steps.find(([, begin, end]) => us >= begin && us < end);
	return step ? 'step ' + step[0] : 'outside of steps';
}

// A curve that holds its value until the next point: M x y H x V y ...
function area(points, x, y, low, high) {
	const forth = points.map((p, i) => (i ? `H${x(p[0])}` : `M${x(p[0])} ${y(low[i])}`) + `V${y(high[i])}`).join('');
	let back = '';
	for (let i = points.length - 1; i >= 0; i--) back += `V${y(low[i])}` + (i ? `H${x(points[i][0])}` : '');
	return forth + back + 'Z';
}

function memory_curve(data, space) {
	const W = 1280, H = 260, L = 78, R = 10, B = 28, {points} = space, first = points[0][0], last = Math.max(points[points.length - 1][0], first + 1e-3);
	const sums = points.map(p => p.slice(1).reduce((a, b) => a + b, 0)), top = Math.max(1, ...sums.slice(0, 1), sums.reduce((a, b) => Math.max(a, b), 0));
	const axis = ticks(top, 5, nice_bytes), max = Math.max(top * 1.08, axis[axis.length - 1]);
	const x = t => +(L + (W - L - R) * (t - first) / (last - first)).toFixed(1), y = v => +(10 + (H - B - 10) * (1 - v / max)).toFixed(1);
	const steps = data.timeline.steps.filter(([, begin, end]) => end > first && begin < last), inside = t => Math.min(Math.max(x(t), L), W - R);
	const bands = steps.map(([number, begin, end], i) => [i % 2 ? null : shape('rect', {class: 'band', x: inside(begin), width: Math.max(0, inside(end) - inside(begin)), y: 10, height: H - B - 10}),
		inside(end) - inside(begin) > 44 ? shape('text', {x: (inside(begin) + inside(end)) / 2, y: H - 8, 'text-anchor': 'middle'}, 'step ' + number) : null]).flat().filter(Boolean);
	const lines = axis.map(v => [shape('line', {class: 'ax', x1: L, x2: W - R, y1: y(v), y2: y(v)}), shape('text', {x: L - 8, y: y(v) + 4, 'text-anchor': 'end'}, bytes(v))]).flat();
	let low = points.map(() => 0);
	const layers = data.memory.categories.map((c, i) => {
		const high = low.map((v, k) => v + points[k][i + 1]), path = points.some(p => p[i + 1] > 0) ? shape('path', {d: area(points, x, y, low, high), fill: memory_colour(i), 'fill-opacity': 0.85}) : null;
		low = high;
		return path;
	}).filter(Boolean);
	// The peak is the allocator's: between two changes of a microsecond the curve may stand above it.
	const px = Math.min(Math.max(x(space.peak_time), L), W - R), right = px > W - 130, py = y(Math.min(space.peak, max));
	const peak = [shape('circle', {cx: px, cy: py, r: 4.5, fill: 'var(--hot)'}), shape('text', {class: 'strong', x: right ? px - 8 : px + 8, y: Math.max(16, py - 6), 'text-anchor': right ? 'end' : 'start'}, 'peak ' + bytes(space.peak))];
	const picture = shape('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `memory of ${space.name} over time; at its peak ${bytes(space.peak)}`}, ...bands, ...lines, ...layers, ...peak);
	hover(picture, event => {
		const box = picture.getBoundingClientRect(), t = first + ((event.clientX - box.left) / box.width * W - L) / (W - L - R) * (last - first);
		const i = Math.max(0, points.findIndex(p => p[0] > t) < 0 ? points.length - 1 : points.findIndex(p => p[0] > t) - 1);
		return [`${time(points[i][0])}, ${step_at(data, points[i][0])}: ${bytes(sums[i])}`, ...data.memory.categories.map(([name], k) => points[i][k + 1] ? `${name} ${bytes(points[i][k + 1])}` : '').filter(Boolean)];
	});
	return make('div', {class: 'scroll picture'}, picture);
}

// What was there at the peak, in a sentence and a bar.
function peak_parts(data, space) {
	const parts = data.memory.categories.map(([name, rule], i) => [name, space.at_peak[i], memory_colour(i), rule]).concat([['before the window', space.older, 'var(--m8)', 'there before the recording began']]);
	const total = parts.reduce((sum, p) => sum + Math.max(0, p[1]), 0), largest = [...parts].sort((a, b) => b[1] - a[1])[0];
	const when = space.peak_step === undefined ? 'outside of steps' : 'in step ' + space.peak_step;
	const words = `At the peak, ${when}, ${space.peak_operator === '(outside operators)' ? 'outside of operators' : `in ${plain(space.peak_operator)}`}, there were ${bytes(space.peak)}`
		+ (total > 0 ? `, most of it ${largest[0]} (${percent(largest[1] / total)}).` : '.');
	return [make('p', {}, words), ...(total > 0 ? stacked(parts, total, bytes) : [])];
}

function space_card(data, space) {
	const hint = [`peak ${bytes(space.peak)}`, space.reserved ? `reserved ${bytes(space.reserved)}` : '', space.out_of_memory ? `out of memory ${space.out_of_memory} times` : '', space.estimated ? 'estimated from samples' : ''].filter(Boolean).join(' · ');
	const box = card(space.heap ? 'The heap' : `Tensors on ${space.name}`, hint, ...(space.points && space.points.length > 1 ? [memory_curve(data, space)] : []), ...peak_parts(data, space));
	return box;
}

function who_card(into, data, space) {
	const sites = space.by_site.rows.length > 0, box = card(`Who allocates: ${space.name}`, 'live at the peak first');
	let by = sites ? 'by_site' : 'by_operator';
	const place = make('div'), tools = sites && space.by_operator.rows.length ? [['by_site', 'by call site'], ['by_operator', 'by operator']] : [];
	const press = tools.map(([key, title]) => button(title, () => { by = key; look(); }, {'data-by': key}));
	const look = () => {
		press.forEach(b => b.setAttribute('aria-pressed', String(b.dataset.by === by)));
		place.replaceChildren();
		const rows = space[by];
		new Table(place, {name: `${space.name}_${by}`, ...rows}, {sort: 'peak', bars: ['peak'], tools: press, caption: `who allocates on ${space.name}`});
		if (rows.all > rows.rows.length) place.append(note(`${count(rows.rows.length)} of ${count(rows.all)} rows: those with most. proflaunch memory has all.`));
	};
	look();
	box.append(place);
	into.append(box);
}

VIEWS.memory = {title: 'Memory', draw(main, data) {
	const {spaces} = data.memory;
	if (!spaces.length) {
		main.append(missing(data, 'memory'));
		return;
	}
	main.append(...spaces.map(s => space_card(data, s)));
	for (const space of spaces) if (space.by_site.rows.length + space.by_operator.rows.length) who_card(main, data, space);
	main.append(make('details', {class: 'card'}, make('summary', {}, 'How categories are told'), make('ul', {}, ...data.memory.categories.map(([name, rule]) => make('li', {}, make('b', {}, name), ': ', rule)))));
}};
