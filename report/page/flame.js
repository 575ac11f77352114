/* SPDX-License-Identifier: Apache-2.0 */
// Whole stacks as boxes: below each what it called, as wide as its time. Only boxes that can be seen exist.

const LEAST = 1.5, HIGH = 22, KINDS = [['python', 'Python'], ['module', 'module'], ['operator', 'operator'], ['annotation', 'annotation'], ['call', 'CUDA call'], ['gpu', 'on the GPU']];

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
	constructor(into, root) {
		Object.assign(this, {root, top: root, find: '', merge: false});
		this.box = make('div', {class: 'flame', role: 'group', 'aria-label': 'flame graph; the table below has the same numbers',
			on: {click: e => this.enter(e.target.node), keydown: e => this.key(e)}});
		this.way = make('p', {class: 'note way'});
		into.append(this.way, this.box);
		hover(this.box, event => event.target.node && this.words(event.target.node));
		new ResizeObserver(() => this.draw()).observe(this.box);
	}

	words(node) {
		return [node.name, `${time(node.time)}, ${percent(node.time / this.root.time)} of all`, `own: ${time(own_time(node))}`];
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
		const box = make('div', {class: `k-${node.kind}${dim ? ' dim' : ''}`, role: 'button', tabindex: '-1', 'aria-label': this.words(node).join(', '),
			style: {left: x + 'px', width: w + 'px', top: y * HIGH + 'px'}}, w > 26 ? name : '');
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

VIEWS.flame = {title: 'Flame graph', draw(main, data) {
	const gpu = data.flame.gpu.nodes.length > 0, cpu = data.flame.cpu.nodes.length > 0, on_gpu = gpu && (asked.group === 'gpu' || !cpu);
	const box = card('Flame graph', 'equal stacks of all steps together; width is time; press a box to enter it');
	main.append(box);
	if (!gpu && !cpu) {
		box.append(note('Nothing took time in these steps.'));
		return null;
	}
	const python = data.flame.cpu.frames.some(f => f[1] === 'python' || f[1] === 'module');
	const input = make('input', {type: 'search', placeholder: 'find (/)', 'aria-label': 'find frames'});
	const merge = button('merge equal layers', () => {
		flame.merge = !flame.merge;
		merge.setAttribute('aria-pressed', String(flame.merge));
		flame.draw();
	}, {'aria-pressed': 'false'});
	const which = gpu && cpu ? [['', 'CPU time'], ['gpu', 'GPU time']].map(([group, title]) => button(title, () => { asked.group = group; show('flame'); }, {'aria-pressed': String((group === 'gpu') === on_gpu)})) : [];
	const root = tree_of(on_gpu ? data.flame.gpu : data.flame.cpu, on_gpu ? 'all GPU work' : 'all threads'), kinds = new Set((on_gpu ? data.flame.gpu : data.flame.cpu).frames.map(f => f[1]));
	box.append(make('div', {class: 'tools'}, input, ...which, merge, button('out', () => flame.leave(), {title: 'Esc'}),
		make('span', {class: 'hint'}, ...KINDS.filter(([kind]) => kinds.has(kind)).map(([kind, title]) => make('span', {}, make('i', {class: 'dot k-' + kind}), title, '  ')))));
	if (!python) box.append(note(`No lines of Python: record with ${data.report.process.written_by_proflaunch ? '--with-stack' : 'with_stack=True'}.`));
	const flame = new Flame(box, root);
	flame.draw();
	input.addEventListener('input', () => { flame.find = input.value; flame.draw(); });
	const list = card('The same in a table', 'of the whole graph');
	main.append(list);
	new Table(list, {name: 'frames', columns: FRAME_COLUMNS, rows: frame_rows(root)}, {sort: 'own', bars: ['own'], caption: 'frames of the flame graph'});
	return {escape: () => flame.leave(), redraw: () => flame.draw()};
}};
