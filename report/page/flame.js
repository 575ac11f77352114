/* SPDX-License-Identifier: Apache-2.0 */
// Whole stacks as boxes: below each what it called, as wide as its time. Only boxes that can be seen exist.

const LEAST = 1.5, HIGH = 22, KINDS = [['python', 'Python'], ['native', 'C and C++'], ['module', 'module'], ['operator', 'operator'], ['annotation', 'annotation'], ['call', 'CUDA call'], ['gpu', 'on the GPU']];

function tree_of({frames, nodes}, title) {
	const root = {name: title, kind: 'all', time: 0, below: []}, made = [];
	for (const [parent, frame, us] of nodes) {
		const node = {name: frames[frame][0], kind: frames[frame][1], time: us, below: [], up: parent < 0 ? root : made[parent]};
		made.push(node);
		node.up.below.push(node);
		if (parent < 0) root.time += us;
	}
	for (const node of [root, ...made]) node.below.sort((a, b) => b.time - a.time);
	return root;
}

// What the other run spent in the same stack, in as many steps as this one has. Returns the largest change of a node.
function set_beside(root, other, scale) {
	const todo = [[root, other]];
	let most = 0;
	while (todo.length) {
		const [node, same] = todo.pop(), below = new Map((same ? same.below : []).map(kid => [kid.kind + kid.name, kid]));
		node.other = same ? same.time * scale : 0;
		most = Math.max(most, Math.abs(node.time - node.other));
		for (const kid of node.below) todo.push([kid, below.get(kid.kind + kid.name)]);
	}
	return most;
}

const own_time = node => Math.max(0, node.time - node.below.reduce((sum, k) => sum + k.time, 0));

// Layers that only pass their time on are one with the last of them.
function passed_on(node) {
	while (node.below.length === 1 && node.below[0].time >= 0.995 * node.time) node = node.below[0];
	return node;
}

// Rows of a table: each frame's own time, and its time without what it calls itself.
function frame_rows(root) {
	const rows = new Map(), open = new Map();
	const add = node => {
		const key = node.kind + node.name, row = rows.get(key) || [node.name, node.kind, 0, 0], depth = open.get(key) || 0;
		row[2] += own_time(node);
		if (!depth) row[3] += node.time;
		rows.set(key, row);
		open.set(key, depth + 1);
		return key;
	};
	const stack = root.below.map(node => ({node}));
	while (stack.length) {
		const top = stack.pop();
		if (top.leave) {
			open.set(top.leave, open.get(top.leave) - 1);
			continue;
		}
		stack.push({leave: add(top.node)}, ...top.node.below.map(node => ({node})));
	}
	return [...rows.values()];
}

class Flame {
	// `change`: the largest change against another run, which colours the boxes; 0: there is none.
	constructor(into, root, change, words) {
		Object.assign(this, {root, top: root, find: '', merge: false, change, against: words});
		this.box = make('div', {class: 'flame', role: 'group', 'aria-label': 'flame graph; the table below has the same numbers',
			on: {click: e => this.enter(e.target.node), keydown: e => this.key(e)}});
		this.way = make('p', {class: 'note way'});
		into.append(this.way, this.box);
		hover(this.box, event => event.target.node && this.words(event.target.node));
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	words(node) {
		const said = [node.name, `${time(node.time)}, ${percent(node.time / this.root.time)} of all`, `own: ${time(own_time(node))}`];
		return this.change ? [...said, node.other ? `${this.against}: ${time(node.other)}; here ${signed(time, node.time - node.other)}` : `${this.against}: not there, or below 0.05 %`] : said;
	}

	enter(node) {
		if (!node || node === this.top) return;
		this.top = node;
		this.draw();
		if (this.box.firstChild) this.box.firstChild.focus();
	}

	leave() {
		if (!this.top.up) return false;
		this.enter(this.top.up);
		return true;
	}

	draw() {
		const wide = this.box.clientWidth, words = this.find.toLowerCase(), out = [];
		if (!wide || !this.root.time) return;
		let deep = 0;
		const todo = [{node: this.top, x: 0, w: wide, y: 0}];
		while (todo.length) {
			const {node, x, w, y} = todo.pop();
			deep = Math.max(deep, y);
			out.push(this.one(node, x, w, y, words));
			let at = x;
			for (const kid of node.below) {
				const kw = w * kid.time / node.time;
				if (kw >= LEAST) todo.push({node: this.merge ? passed_on(kid) : kid, x: at, w: kw, y: y + 1});
				at += kw;
			}
		}
		this.box.replaceChildren(...out);
		this.box.style.height = (deep + 1) * HIGH + 'px';
		this.box.dataset.boxes = out.length;
		if (out[0]) out[0].tabIndex = 0;
		const path = [];
		for (let n = this.top; n.up; n = n.up) path.unshift(n.name);
		this.way.textContent = path.length ? plain(path.join(' › ')) : 'all stacks';
	}

	one(node, x, w, y, words) {
		const dim = words && !node.name.toLowerCase().includes(words), name = node.name.replace(/^nn\.Module: /, '');
		const more = this.change ? node.time - node.other : 0, kind = !this.change ? 'k-' + node.kind : more > 0 ? 'beside worse' : 'beside better';
		const box = make('div', {class: kind + (dim ? ' dim' : ''), role: 'button', tabindex: '-1', 'aria-label': this.words(node).join(', '),
			style: {left: x + 'px', width: w + 'px', top: y * HIGH + 'px', ...this.change ? {'--by': Math.sqrt(Math.abs(more) / this.change).toFixed(3)} : {}}}, w > 26 ? name : '');
		box.node = node;
		return box;
	}

	// Arrows go to the box above, below or beside.
	key(event) {
		const {node} = event.target, boxes = [...this.box.children], to = other => other && boxes.find(b => b.node === other);
		if (!node) return;
		const beside = node.up ? node.up.below : [node], i = beside.indexOf(node);
		const next = {ArrowDown: to(this.merge && node.below[0] ? passed_on(node.below[0]) : node.below[0]), ArrowUp: node !== this.top && to(node.up), ArrowLeft: to(beside[i - 1]), ArrowRight: to(beside[i + 1])}[event.key];
		if (event.key === 'Enter' || event.key === ' ') this.enter(node);
		if (next || event.key === ' ') event.preventDefault();
		if (next) next.focus();
	}
}

const FRAME_COLUMNS = [['name', 'Frame', 'text'], ['kind', 'Kind', 'text'], ['own', 'Own time', 'time'], ['time', 'with what it calls', 'time']];

// Own times of both runs; `scale` makes the other's steps as many as this one's.
function rows_beside(rows, others, scale) {
	const left = new Map(others.map(row => [row[1] + row[0], row])), both = rows.map(([name, kind, own]) => {
		const same = left.get(kind + name), other = same ? same[2] * scale : 0;
		left.delete(kind + name);
		return [name, kind, own, other, own - other, Math.abs(own - other)];
	});
	return [...both, ...[...left.values()].map(([name, kind, own]) => [name, kind, 0, own * scale, -own * scale, own * scale])];
}

// The run beside this one in a page of two; null: there is none, it shall not be seen, or there are no steps to compare by.
function run_beside(words) {
	const other = 1 - asked.run, data = asked.difference && !words.includes('alone') ? read.get(other) : null;
	return data && data.report.steps_marked && read.get(asked.run).report.steps_marked ? {data, letter: other ? 'B' : 'A'} : null;
}

const flame_of = (data, gpu) => gpu ? data.flame.gpu : data.flame.cpu;
const steps_of = data => data.report.steps.length || 1;

// Buttons that turn a word of the address on and off.
function flame_buttons(words, gpu, both) {
	const turn = (word, on) => { asked.group = [...words.filter(w => w !== word), ...on ? [word] : []].join(' '); show('flame'); };
	const which = both ? [[false, 'CPU time'], [true, 'GPU time']].map(([on, title]) => button(title, () => turn('gpu', on), {'aria-pressed': String(on === gpu)})) : [];
	const alone = words.includes('alone');
	return asked.difference ? [...which, button('changes in colour', () => turn('alone', !alone), {'aria-pressed': String(!alone)})] : which;
}

// What colours mean.
function flame_hint(kinds, beside) {
	const dots = beside ? [['beside worse', 'longer than in ' + beside.letter], ['beside better', 'shorter']] : KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, title]) => ['k-' + kind, title]);
	return make('span', {class: 'hint'}, ...dots.map(([kind, title]) => make('span', {}, make('i', {class: 'dot ' + kind, style: {'--by': 0.7}}), title, '  ')));
}

function flame_table(root, other, scale, letter) {
	const list = card('The same in a table', other ? 'in as many steps' : 'of the whole graph'), caption = 'frames of the flame graph';
	main.append(list);
	if (!other) new Table(list, {name: 'frames', columns: FRAME_COLUMNS, rows: frame_rows(root)}, {sort: 'own', bars: ['own'], caption});
	else new Table(list, {name: 'frames', rows: rows_beside(frame_rows(root), frame_rows(other), scale), columns: [...FRAME_COLUMNS.slice(0, 3), ['other', 'In ' + letter, 'time'],
		['difference', 'More', 'more_time'], ['size', 'Size of it', 'time']]}, {sort: 'size', bars: ['size'], caption});
}

VIEWS.flame = {title: 'Flame graph', draw(main, data) {
	const words = asked.group.split(' ').filter(w => w), has = gpu => flame_of(data, gpu).nodes.length > 0, gpu = has(true) && (words.includes('gpu') || !has(false));
	const box = card('Flame graph', 'equal stacks of all steps together; width is time; press a box to enter it');
	main.append(box);
	if (!has(true) && !has(false)) {
		box.append(note('Nothing took time in these steps.'));
		return null;
	}
	const input = make('input', {type: 'search', placeholder: 'find (/)', 'aria-label': 'find frames'});
	const merge = button('merge equal layers', () => {
		flame.merge = !flame.merge;
		merge.setAttribute('aria-pressed', String(flame.merge));
		flame.draw();
	}, {'aria-pressed': 'false'});
	const title = gpu ? 'all GPU work' : 'all threads', root = tree_of(flame_of(data, gpu), title), beside = run_beside(words);
	const other = beside && tree_of(flame_of(beside.data, gpu), title), scale = beside ? steps_of(data) / steps_of(beside.data) : 1;
	box.append(make('div', {class: 'tools'}, input, ...flame_buttons(words, gpu, has(true) && has(false)), merge, button('out', () => flame.leave(), {title: 'Esc'}),
		flame_hint(new Set(flame_of(data, gpu).frames.map(f => f[1])), beside)));
	if (!data.flame.cpu.frames.some(f => f[1] === 'python' || f[1] === 'module')) box.append(note(`No lines of Python: record with ${data.report.process.written_by_proflaunch ? '--with-stack' : 'with_stack=True'}.`));
	if (beside && steps_of(data) !== steps_of(beside.data)) box.append(note(`Steps: ${count(steps_of(data))} here, ${count(steps_of(beside.data))} in ${beside.letter}, whose times are those of as many.`));
	if (asked.difference && !beside && !words.includes('alone')) box.append(note('Steps are not marked in both runs: their times cannot be compared.'));
	const flame = new Flame(box, root, beside ? set_beside(root, other, scale) || 1 : 0, beside && beside.letter);
	flame.draw();
	input.addEventListener('input', () => { flame.find = input.value; flame.draw(); });
	flame_table(root, other, scale, beside && beside.letter);
	return {escape: () => flame.leave(), redraw: () => flame.draw()};
}};
