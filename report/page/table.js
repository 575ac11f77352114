/* SPDX-License-Identifier: Apache-2.0 */
// A table that sorts, filters, opens rows, and gives itself away as CSV. Rows beyond the first ones
// are made when they are scrolled to.

const ROWS_AT_ONCE = 60;

// Columns that say something: the first one, and those with a value that is not 0.
function telling(columns, rows) {
	return columns.map((column, i) => ({column, i}))
		.filter(({i}) => !i || rows.some(row => row[i] !== null && row[i] !== 0 && row[i] !== ''));
}

function by_column(i, unit, rising) {
	const way = rising ? 1 : -1;
	return (a, b) => {
		const x = a[i], y = b[i];
		if (x === null || y === null) return (x === null) - (y === null);
		return unit === 'text' ? way * (x < y ? -1 : x > y ? 1 : 0) : way * (Number(x) - Number(y));
	};
}

const csv_cell = v => v === null ? '' : /[",\r\n]|^[ =+@-]/.test(v) && typeof v === 'string' ? `"${v.replace(/"/g, '""')}"` : String(v);

function save_csv(name, columns, rows) {
	const lines = [columns.map(c => c[0]), ...rows].map(row => row.map(csv_cell).join(',') + '\n');
	const link = make('a', {download: name + '.csv', href: URL.createObjectURL(new Blob(lines, {type: 'text/csv'}))});
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

class Table {
	// view: {name, columns: [[key, title, unit, drop]], rows}; options: sort (a key), bars and keep (keys), extra ({title, after (a
	// key), cell(row)}), open(row) -> what a row shows when it is pressed, caption, tools
	constructor(into, view, options = {}) {
		Object.assign(this, {view, options, find: options.find || ''});
		this.telling = this.shown = telling(view.columns, view.rows);
		this.sort = Math.max(0, view.columns.findIndex(c => c[0] === options.sort));
		this.rising = view.columns[this.sort][2] === 'text';
		this.most = view.columns.map((c, i) => (options.bars || []).includes(c[0])
			? view.rows.reduce((most, row) => Math.max(most, Math.abs(row[i] || 0)), 0) : 0);
		this.input = make('input', {type: 'search', placeholder: 'filter (/)', value: this.find, 'aria-label': 'filter rows',
			on: {input: () => { this.find = this.input.value; this.rows(); remember({find: this.find}); }}});
		this.said = make('span', {class: 'hint', role: 'status'});
		this.rest = button('all columns', () => { this.wide = true; this.fit(); });
		this.head = make('tr');
		this.body = make('tbody', {on: {keydown: e => this.key(e), click: e => this.press(e)}});
		into.append(make('div', {class: 'tools'}, this.input, ...(options.tools || []), this.said, this.rest,
			button('save as CSV', () => save_csv(view.name, view.columns, this.sorted()), {class: 'save'})));
		this.table = make('table', {}, make('caption', {class: 'unseen'}, options.caption || view.title || view.name), make('thead', {}, this.head), this.body);
		into.append(make('div', {class: 'scroll'}, this.table));
		this.more = make('div', {class: 'more'});
		into.append(this.more);
		new IntersectionObserver(seen => seen.some(s => s.isIntersecting) && this.grow()).observe(this.more);
		this.fit();
	}

	// Leaves out columns while the table is wider than its place, in the order in which the terminal does.
	fit() {
		const {options} = this, lowest = () => this.shown.reduce((most, s) => (s.column[3] || 0) > (most.column[3] || 0) && s.i !== this.sort && !(options.keep || []).includes(s.column[0]) ? s : most, this.shown[0]);
		this.shown = this.telling;
		for (;;) {
			this.heads();
			this.rows();
			const drop = lowest(), place = this.table.parentNode;
			if (this.wide || !drop.column[3] || this.table.scrollWidth <= place.clientWidth + 1) break;
			this.shown = this.shown.filter(s => s !== drop);
		}
		this.rest.hidden = this.shown.length === this.telling.length;
		this.rest.title = this.telling.filter(s => !this.shown.includes(s)).map(s => s.column[1]).join(', ');
	}

	// What a view adds to the report's columns, behind the column that it names.
	with_extra(cells, made) {
		for (const extra of this.options.extra || []) {
			const at = this.shown.findIndex(s => s.column[0] === extra.after);
			cells.splice(at < 0 ? cells.length : at + 1, 0, made(extra));
		}
		return cells;
	}

	heads() {
		const cells = this.shown.map(({column: [, title, unit], i}) => {
			const sorted = i === this.sort, way = this.rising ? 'ascending' : 'descending';
			const press = () => {
				this.rising = sorted ? !this.rising : unit === 'text';
				this.sort = i;
				this.heads();
				this.rows();
				this.head.querySelector(`[data-key="${i}"]`).focus();
			};
			return make('th', {scope: 'col', class: unit === 'text' ? 'left' : null, 'aria-sort': sorted ? way : 'none'},
				button(title, press, {'data-key': i}));
		});
		this.head.replaceChildren(...this.with_extra(cells, e => make('th', {scope: 'col', class: 'left'}, e.title)));
	}

	sorted() {
		const {columns, rows} = this.view, words = this.find.toLowerCase();
		const texts = columns.map((c, i) => c[2] === 'text' ? i : -1).filter(i => i >= 0);
		const found = words ? rows.filter(row => texts.some(i => row[i] !== null && row[i].toLowerCase().includes(words))) : [...rows];
		return found.sort(by_column(this.sort, columns[this.sort][2], this.rising));
	}

	rows() {
		this.list = this.sorted();
		this.made = 0;
		this.body.replaceChildren();
		const n = this.view.rows.length;
		this.said.textContent = this.find ? `${count(this.list.length)} of ${count(n)} rows` : `${count(n)} row${n === 1 ? '' : 's'}`;
		this.grow();
		if (this.body.firstChild) this.body.firstChild.tabIndex = 0;
	}

	grow() {
		const until = Math.min(this.list.length, this.made + ROWS_AT_ONCE);
		for (; this.made < until; this.made++) this.body.append(this.row(this.list[this.made]));
		this.more.hidden = this.made >= this.list.length;
	}

	row(row) {
		const cells = this.shown.map(({column: [, , unit], i}, at) => this.cell(row[i], unit, i, at));
		const out = make('tr', {class: this.options.open ? 'row opens' : 'row', tabindex: '-1'},
			...this.with_extra(cells, e => make('td', {class: 'left'}, e.cell(row))));
		out.data = row;
		return out;
	}

	cell(value, unit, i, at) {
		const words = value === null ? '–' : WORDS[unit](value), text = unit === 'text';
		const props = {class: text ? at ? 'left name' : 'left name first' : this.most[i] ? 'bar' : null,
			title: text && words.length > 30 ? words : null, 'data-value': text ? null : value};
		const bar = this.most[i] > 0 && value !== null
			? make('i', {style: {width: `calc(${Math.abs(value) / this.most[i]} * (100% - 12px))`}}) : null;
		return make(at ? 'td' : 'th', {...props, scope: at ? null : 'row'}, bar, make('span', {}, words));
	}

	press(event) {
		const row = event.target.closest('tr.row');
		if (!row || !this.options.open || String(getSelection())) return;
		if (row.nextSibling && row.nextSibling.className === 'detail') {
			row.nextSibling.remove();
			row.removeAttribute('aria-expanded');
			return;
		}
		row.setAttribute('aria-expanded', 'true');
		row.after(make('tr', {class: 'detail'}, make('td', {colspan: row.children.length}, this.options.open(row.data))));
	}

	key(event) {
		const row = event.target.closest('tr.row');
		if (!row || event.target !== row) return;
		const step = {ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling'}[event.key];
		if (event.key === 'Enter') this.press(event);
		if (!step) return;
		event.preventDefault();
		let to = row[step];
		while (to && !to.classList.contains('row')) to = to[step];
		if (!to) return;
		row.tabIndex = -1;
		to.tabIndex = 0;
		to.focus();
	}
}
