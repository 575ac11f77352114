/* SPDX-License-Identifier: Apache-2.0 */
// Every slice over time, on one canvas. What is narrower than SEEN pixels is not drawn alone: the slices that begin in
// the same SEEN pixels are one mark, in the colour of the longest, as opaque as they cover it.

const SEEN = 3, ROW = 16, GAP = 10, TOP = 26, COLOURS = 10;

const hash_of = name => {
	let h = 7;
	for (let i = 0; i < name.length; i++) h = (h * 31 + name.charCodeAt(i)) | 0;
	return (h >>> 0) % COLOURS;
};

// The first place in a rising list whose value is not below v.
function lower_bound(list, v) {
	let low = 0, high = list.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (list[middle] < v) low = middle + 1; else high = middle;
	}
	return low;
}

const track_title = t => t.kind === 'step' ? 'Steps' : t.kind === 'gpu' ? `${t.where} · ${t.title}` : t.kind === 'python' ? `${t.title} · Python` : t.title;
const left_out = t => `The timeline has ${count(t.slices)} of ${count(t.all)} slices: ${t.steps_kept} whole step${t.steps_kept === 1 ? '' : 's'} of ${count(t.steps.length)}: `
	+ 'the median one, the slowest, then the first. --html-limit N takes more, --steps A-B others.';

class Timeline {
	constructor(into, timeline) {
		this.t = timeline;
		this.left = innerWidth < 700 ? 96 : 176;
		this.rows = [];
		this.tops = [];
		let y = TOP;
		for (const track of timeline.open) {
			this.tops.push([y, track]);
			for (const lane of track.lanes) {
				this.rows.push({y, lane, track});
				y += ROW;
			}
			y += GAP;
		}
		this.height = y;
		this.range = timeline.range || [0, timeline.end || 1];
		this.colour = timeline.names.map(hash_of);
		this.short = timeline.names.map(plain);
		this.find = '';
		this.canvas = make('canvas', {tabindex: '0', role: 'img',
			'aria-label': 'timeline; the tables of operators, kernels and threads have the same numbers. W and S zoom, A and D move.'});
		this.box = make('div', {class: 'tl'}, this.canvas, make('div', {class: 'spacer'}));
		into.append(this.box);
		this.said = make('p', {class: 'note', role: 'status'}, 'Press a slice for its numbers.');
		into.append(this.said);
		this.listen();
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	// ---- drawing ----

	theme() {
		const one = name => variable('--' + name);
		return {ink: one('ink'), soft: one('soft'), line: one('line'), card: one('card'), on: one('on'), step: one('c7'), mark: one('mark'),
			names: Array.from({length: COLOURS}, (_, i) => one('n' + i))};
	}

	draw() {
		const began = performance.now(), wide = this.box.clientWidth;
		if (wide <= this.left) return;
		const high = Math.min(this.height, Math.max(160, Math.round(innerHeight * 0.72))), ratio = devicePixelRatio || 1;
		this.box.style.height = high + 'px';
		this.box.lastChild.style.height = Math.max(0, this.height - high) + 'px';
		this.canvas.style.height = high + 'px';
		this.canvas.width = wide * ratio;
		this.canvas.height = high * ratio;
		const pen = this.canvas.getContext('2d'), look = this.theme(), up = this.box.scrollTop;
		Object.assign(this, {pen, look, wide, per: (wide - this.left) / (this.range[1] - this.range[0])});
		pen.setTransform(ratio, 0, 0, ratio, 0, 0);
		pen.clearRect(0, 0, wide, high);
		pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
		pen.textBaseline = 'middle';
		this.grid(high);
		const words = this.find.toLowerCase(), hit = words ? this.short.map(n => n.toLowerCase().includes(words)) : null;
		let drawn = 0;
		for (const row of this.rows)
			if (row.y + ROW > up + TOP && row.y < up + high) drawn += this.lane(row, row.y - up, hit);
		this.labels(high, up);
		this.marks(up);
		this.canvas.dataset.drawn = drawn;
		this.canvas.dataset.ms = (performance.now() - began).toFixed(1);
	}

	x(t) { return this.left + (t - this.range[0]) * this.per; }

	grid(high) {
		const {pen, look, range, wide, left} = this, by = nice((range[1] - range[0]) / Math.max(2, (wide - left) / 130));
		pen.textAlign = 'center';
		for (let t = Math.ceil(range[0] / by) * by; t < range[1]; t += by) {
			pen.fillStyle = look.line;
			pen.fillRect(this.x(t), 18, 1, high);
			pen.fillStyle = look.soft;
			if (this.x(t) < wide - 26) pen.fillText(time(t), Math.max(this.x(t), left + 20), 9);
		}
		pen.textAlign = 'left';
	}

	lane({lane: {begin, end, name}, track}, y, hit) {
		const {pen, look, range, per, wide, left} = this, n = begin.length;
		let i = lower_bound(end, range[0]), drawn = 0;
		while (i < n && begin[i] < range[1]) {
			const a = Math.max(this.x(begin[i]), left), b = Math.min(this.x(end[i]), wide);
			drawn++;
			if (b - a >= SEEN) {
				pen.globalAlpha = hit && !hit[name[i]] ? 0.16 : 1;
				pen.fillStyle = track.kind === 'step' ? look.step : look.names[this.colour[name[i]]];
				pen.fillRect(a, y, b - a - 0.6, ROW - 1);
				if (b - a > 30) this.word(this.short[name[i]], a + 4, y + ROW / 2, b - a - 6, track.kind === 'step' ? look.on : look.mark);
				i++;
				continue;
			}
			const from = left + Math.floor((a - left) / SEEN) * SEEN, until = range[0] + (from + SEEN - left) / per;
			let best = i, cover = 0, found = !hit;
			do {
				if (hit && hit[name[i]]) { if (!found) best = i; found = true; }
				if (end[i] - begin[i] > end[best] - begin[best] && (!hit || hit[name[i]])) best = i;
				cover += end[i] - begin[i];
				i++;
			} while (i < n && begin[i] < until && (end[i] - begin[i]) * per < SEEN);
			pen.globalAlpha = found ? Math.min(1, 0.35 + 0.65 * cover * per / SEEN) : 0.12;
			pen.fillStyle = track.kind === 'step' ? look.step : look.names[this.colour[name[best]]];
			pen.fillRect(from, y, SEEN, ROW - 1);
		}
		pen.globalAlpha = 1;
		return drawn;
	}

	word(text, x, y, room, colour) {
		const most = Math.floor(room / 6.1);
		if (most < 3) return;
		this.pen.fillStyle = colour;
		this.pen.fillText(text.length > most ? text.slice(0, most - 1) + '…' : text, x, y);
	}

	labels(high, up) {
		const {pen, look, left} = this;
		pen.fillStyle = look.card;
		pen.fillRect(0, 0, left - 2, high);
		for (const [y, track] of this.tops)
			if (y - up > TOP - ROW && y - up < high) this.word(plain(track_title(track)), 8, y - up + 8, left - 10, look.ink);
	}

	marks(up) {
		const {pen, look, left, wide, chosen, span} = this;
		if (chosen) {
			const a = Math.max(this.x(chosen.row.lane.begin[chosen.i]), left), b = Math.min(this.x(chosen.row.lane.end[chosen.i]), wide);
			pen.strokeStyle = look.ink;
			pen.lineWidth = 2;
			if (b >= left && a <= wide) pen.strokeRect(a, chosen.row.y - up, Math.max(b - a, 2), ROW - 1);
		}
		if (!span) return;
		pen.fillStyle = look.ink;
		pen.globalAlpha = 0.14;
		pen.fillRect(Math.min(...span), 18, Math.abs(span[1] - span[0]), 1e4);
		pen.globalAlpha = 1;
		pen.fillText(time(Math.abs(span[1] - span[0]) / this.per), Math.min(...span) + 4, 30);
	}

	// ---- moving ----

	go(from, to) {
		const {end} = this.t, width = Math.min(Math.max(to - from, 0.1), end * 1.02 || 1);
		const low = Math.min(Math.max(from, -end * 0.01), Math.max(-end * 0.01, end * 1.01 - width));
		this.range = this.t.range = [low, low + width];
		this.draw();
	}

	zoom(by, at) {
		const [a, b] = this.range, middle = at === undefined ? (a + b) / 2 : at;
		this.go(middle - (middle - a) * by, middle + (b - middle) * by);
	}

	// How many slices `find` names.
	hits() {
		const words = this.find.toLowerCase(), hit = this.short.map(n => n.toLowerCase().includes(words));
		let n = 0;
		for (const {lane} of this.rows)
			for (let i = 0; i < lane.name.length; i++) n += hit[lane.name[i]];
		return n;
	}

	// The next or previous slice that `find` names, wherever it is.
	seek(way) {
		const words = this.find.toLowerCase(), hit = this.short.map(n => n.toLowerCase().includes(words)), now = this.chosen;
		const from = now ? now.row.lane.begin[now.i] : way > 0 ? -Infinity : Infinity;
		let best = null;
		if (words)
			for (const row of this.rows)
				for (let i = 0; i < row.lane.begin.length; i++) {
					const at = row.lane.begin[i];
					if (hit[row.lane.name[i]] && way * (at - from) > 0 && (!best || way * (at - best.row.lane.begin[best.i]) < 0)) best = {row, i};
				}
		if (best) this.choose(best, true);
	}

	choose(slice, jump) {
		this.chosen = slice;
		const {lane, track, y} = slice.row, begin = lane.begin[slice.i], end = lane.end[slice.i], [a, b] = this.range;
		this.said.replaceChildren(make('b', {}, this.t.names[lane.name[slice.i]]), ` · ${time(end - begin)} · begins at ${time(begin)} · ${plain(track_title(track))}`);
		if (!jump) return this.draw();
		this.box.scrollTop = Math.max(0, y - 120);
		if (begin < a || end > b || (end - begin) * this.per < SEEN) {
			const width = Math.max((end - begin) * 8, Math.min(b - a, (end - begin) * 80), 1);
			return this.go((begin + end - width) / 2, (begin + end + width) / 2);
		}
		return this.draw();
	}

	// ---- hands ----

	moment(px) { return this.range[0] + (px - this.left) / this.per; }

	at(event) {
		const box = this.canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top + this.box.scrollTop;
		const row = this.rows.find(r => py >= r.y && py < r.y + ROW), t = this.moment(px), close = 1 / this.per;
		if (!row || px < this.left) return null;
		const i = lower_bound(row.lane.end, t - close);
		return i < row.lane.begin.length && row.lane.begin[i] <= t + close ? {row, i} : null;
	}

	listen() {
		const {canvas, box} = this, px = event => event.clientX - canvas.getBoundingClientRect().left;
		let drag = null;
		canvas.addEventListener('pointerdown', event => {
			drag = {x: px(event), range: this.range, span: event.shiftKey, moved: 0};
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener('pointermove', event => {
			if (!drag) return;
			drag.moved = Math.max(drag.moved, Math.abs(px(event) - drag.x));
			if (drag.span) {
				this.span = [drag.x, px(event)];
				this.draw();
			} else if (drag.moved > 3) {
				const by = (px(event) - drag.x) / this.per;
				this.go(drag.range[0] - by, drag.range[1] - by);
			}
		});
		canvas.addEventListener('pointerup', event => {
			const span = this.span && this.span.map(x => this.moment(x)).sort((a, b) => a - b), hit = drag && drag.moved < 4 && this.at(event);
			this.span = null;
			if (span && drag.moved > 4) this.go(...span); else if (hit) this.choose(hit); else this.draw();
			drag = null;
		});
		canvas.addEventListener('dblclick', () => {
			if (!this.chosen) return;
			const {lane} = this.chosen.row, a = lane.begin[this.chosen.i], b = lane.end[this.chosen.i];
			this.go(a - (b - a) * 0.1, b + (b - a) * 0.1);
		});
		// The wheel scrolls the page; with Ctrl it zooms, with Shift or sideways it moves.
		canvas.addEventListener('wheel', event => {
			const zooms = event.ctrlKey || event.metaKey, side = event.shiftKey ? event.deltaY || event.deltaX : event.deltaX;
			if (!zooms && !event.shiftKey && Math.abs(event.deltaY) >= Math.abs(event.deltaX)) return;
			event.preventDefault();
			if (zooms) this.zoom(Math.exp(event.deltaY * 0.003), this.moment(px(event)));
			else this.go(this.range[0] + side / this.per, this.range[1] + side / this.per);
		}, {passive: false});
		box.addEventListener('scroll', () => this.draw());
		hover(canvas, event => {
			const slice = !drag && this.at(event);
			if (!slice) return null;
			const {lane} = slice.row;
			return [this.t.names[lane.name[slice.i]], `${time(lane.end[slice.i] - lane.begin[slice.i])} at ${time(lane.begin[slice.i])}`];
		});
	}

	key(name) {
		const step = 0.15 * (this.range[1] - this.range[0]);
		const does = {w: () => this.zoom(0.7), '+': () => this.zoom(0.7), s: () => this.zoom(1.4), '-': () => this.zoom(1.4),
			a: () => this.go(this.range[0] - step, this.range[1] - step), d: () => this.go(this.range[0] + step, this.range[1] + step)};
		does.arrowleft = does.a;
		does.arrowright = does.d;
		if (!does[name]) return false;
		does[name]();
		return true;
	}
}

VIEWS.timeline = {title: 'Timeline', draw(main, data) {
	const t = open_timeline(data), box = card('Timeline', `${count(t.slices)} slices`);
	main.append(box);
	if (!t.slices) {
		box.append(note('No slices in this trace.'));
		return null;
	}
	const input = make('input', {type: 'search', placeholder: 'find a name (/)', 'aria-label': 'find slices by name', value: asked.find || ''});
	const steps = t.steps.slice(0, 400), said = make('span', {class: 'hint', role: 'status'});
	const pick = make('select', {'aria-label': 'show a step'}, make('option', {value: ''}, 'everything'), ...steps.map(([number], i) => make('option', {value: i}, 'step ' + number)));
	box.append(make('div', {class: 'tools'}, input, button('‹', () => line.seek(-1), {'aria-label': 'the one before'}), button('›', () => line.seek(1), {'aria-label': 'the next one'}),
		steps.length > 1 ? pick : null, button('−', () => line.zoom(1.6), {'aria-label': 'zoom out'}), button('+', () => line.zoom(0.6), {'aria-label': 'zoom in'}), said,
		make('span', {class: 'hint'}, ...named(['W', 'S'], ' zoom '), ...named(['A', 'D'], ' move · drag moves, Shift-drag zooms into a span, Ctrl-wheel zooms'))));
	if (t.slices < t.all) box.append(note(left_out(t)));
	const line = new Timeline(box, t);
	const look = () => {
		line.find = input.value;
		said.textContent = line.find ? count(line.hits()) + ' found' : '';
		remember({find: line.find});
		line.draw();
	};
	input.addEventListener('input', look);
	input.addEventListener('keydown', event => event.key === 'Enter' && line.seek(event.shiftKey ? -1 : 1));
	pick.addEventListener('change', () => pick.value ? line.go(t.steps[pick.value][1], t.steps[pick.value][2]) : line.go(0, t.end));
	const at = t.steps.findIndex(s => s[0] === asked.step);
	if (at >= 0) line.go(t.steps[at][1], t.steps[at][2]);
	asked.step = undefined;
	if (asked.find) {
		look();
		line.seek(1);
	}
	return {key: name => line.key(name), redraw: () => line.draw()};
}};
