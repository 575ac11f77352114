/* SPDX-License-Identifier: Apache-2.0 */
// What should I fix first? A sentence, where a step goes, advice, every step, GPUs, largest operators.

const SHARES = [
	['Kernel', 'kernels on the GPU'], ['Memcpy', 'copies'], ['Memset', 'fills'], ['Communication', 'between ranks'],
	['Runtime', 'CUDA calls'], ['DataLoader', 'waiting for input'], ['CPU Exec', 'operators on the CPU'],
	['Other', 'Python and all else'],
];
const share_colour = i => `var(--c${i})`;

// What a rule's "show me" opens: a view and a name to find in it. Other rules say where in their own words.
const SHOWN_BY = {
	'dataloader': ['timeline', 'DataLoader'], 'gpu-idle': ['timeline'], 'launch-bound': ['timeline'], 'host-bound': ['timeline'],
	'tiny-kernels': ['kernels'], 'tiny-ops': ['ops'], 'pageable-copy': ['kernels', 'Memcpy'], 'communication': ['timeline', 'nccl'],
	'memory': ['memory'], 'memory-growth': ['memory'], 'fragmentation': ['memory'], 'steps-vary': ['steps'], 'first-step': ['steps'],
	'overhead': ['trace'],
};

function step_sums(report) {
	const n = report.steps.length || 1, mean = SHARES.map(([name]) =>
		report.steps.reduce((sum, s) => sum + s.categories[name], 0) / n);
	return {n: report.steps.length, mean, step: report.step_mean || 1};
}

function where_to(data, advice) {
	const named_in = (view, key) => objects(view_of(data, view)).map(o => o[key])
		.filter(name => name && name.length > 3 && (advice.where || '').includes(name)).sort((a, b) => b.length - a.length)[0];
	const known = SHOWN_BY[advice.rule], op = named_in('ops', 'key');
	if (known) return known;
	return op ? ['ops', op] : ['ops'];
}

function headline(data) {
	const {report} = data, {step, mean} = step_sums(report);
	const largest = mean.map((v, i) => [v / step, SHARES[i][1]]).sort((a, b) => b[0] - a[0]).filter(s => s[0] > 0.01).slice(0, 3);
	const words = largest.map(([v, name]) => `${percent(v)} ${name}`).join(', '), {stage} = report.process;
	return make('div', {class: 'headline'}, make('h1', {}, micro(report.sentence)),
		make('p', {class: 'sub'}, stage ? `stage ${stage}: ` : '', micro(data.steps_words) + (words ? ': ' + words + '.' : '.')));
}

const doubts = data => data.report.recording.doubts.length
	? make('div', {class: 'doubts', role: 'note'}, ...data.report.recording.doubts.map(d => make('p', {}, d))) : null;

function facts(data) {
	const {report} = data, lengths = report.steps.map(s => s.duration), {n, step} = step_sums(report);
	const per_step = (view, key) => objects(view_of(data, view)).reduce((sum, row) => sum + (row[key] || 0), 0) / (n || 1);
	const least = lengths.reduce((a, b) => Math.min(a, b), Infinity), most = lengths.reduce((a, b) => Math.max(a, b), 0);
	const kernels = per_step('kernels', 'count');
	const rows = [['step time', time(step), n > 1 ? `± ${time(report.step_deviation)}, ${time(least)} to ${time(most)}` : ''],
		['steps', count(n), report.steps_marked ? `${report.steps[0].name}${n > 1 ? ' …' : ''}` : 'none is marked'],
		...report.devices.filter(d => d.utilization !== null).map(d => [`GPU ${d.id} busy`, percent(d.utilization), d.name || '']),
		...objects(view_of(data, 'memory')).map(m => ['peak memory, ' + m.space, bytes(m.peak), m.peak_step === null ? '' : 'step ' + m.peak_step]),
		['calls of operators per step', count(per_step('ops', 'count')), ''],
		kernels ? ['kernels and copies per step', count(kernels), ''] : null];
	return make('div', {class: 'facts'}, ...rows.filter(Boolean).map(([what, value, more]) =>
		make('div', {}, make('span', {}, what), make('b', {}, value), make('span', {}, more))));
}

// A bar of parts [words, value, colour, help], of which a screen reader hears the words, and a legend.
function stacked(parts, total, words) {
	const say = (name, v) => `${name} ${percent(v / total)}`, kept = parts.filter(p => p[1] > 0);
	const bar = make('div', {class: 'stack', role: 'img', 'aria-label': kept.map(p => say(p[0], p[1])).join(', ')},
		...kept.map(([name, v, colour]) => make('i', {style: {width: 100 * v / total + '%', background: colour},
			title: `${name}: ${words(v)}`}, v / total > 0.11 ? say(name, v) : '')));
	const legend = make('div', {class: 'legend'}, ...kept.map(([name, v, colour, help]) => make('span', {title: help},
		dot(colour), make('b', {}, name), ` ${words(v)} · ${percent(v / total)}`, help && help.length < 24 ? ' · ' + help : '')));
	return [bar, legend];
}

function step_card(data) {
	const {n, mean, step} = step_sums(data.report);
	return card('Where a step goes', n > 1 ? `mean of ${count(n)} steps, ${time(step)} each` : time(step),
		...stacked(SHARES.map(([name, help], i) => [name, mean[i], share_colour(i), help]), step, time));
}

function advice_row(data, advice, place) {
	const step = data.judged_step || 1, known = advice.gain !== null;
	const worth = known ? [make('b', {}, (advice.sure === 'exact' ? '' : '≤ ') + percent(advice.gain / step)),
		make('span', {}, time(advice.gain) + ' of a step')] : [make('span', {}, 'gain not known')];
	const go = button('show me', () => show(...where_to(data, advice)), {class: 'go', 'aria-label': 'show me: ' + plain(advice.title)});
	return make('div', {class: place ? 'todo' : 'todo first'}, make('div', {class: 'gain'}, ...worth),
		make('div', {}, make('h3', {}, `${place + 1}. ${advice.title}`),
			make('p', {}, micro(advice.seen), ' ', make('span', {class: 'why'}, micro(advice.why))),
			advice.do ? make('p', {class: 'do'}, advice.do) : null,
			advice.where ? make('p', {class: 'where'}, 'in ', make('code', {}, advice.where)) : null,
			advice.consequence ? make('p', {class: 'where'}, 'a consequence: look at the others first') : null), go);
}

function advice_card(data) {
	const all = data.advice_order.map(i => data.report.advice[i]), first = all.filter(a => a.gain !== null), rest = all.filter(a => a.gain === null);
	const rows = first.length ? first.map((a, i) => advice_row(data, a, i)) : [make('p', {}, 'No rule found anything that a step would gain.')];
	const also = rest.length ? make('details', {}, make('summary', {}, `Also seen: ${rest.map(a => a.title).join('; ')}`),
		...rest.map(a => make('p', {class: 'also'}, make('b', {}, a.title), ' ', micro(a.seen), ' ', micro(a.why), a.do ? ' → ' + a.do : ''))) : null;
	return card('Fix this first', 'most time on top; the number is what a step would lose at most; gains are not to be added up', ...rows, also);
}

// Steps as stacked bars; beyond 200 there is one for so many steps: the longest of them.
function step_chart(report) {
	const W = 600, H = 220, L = 66, B = 26, group = Math.ceil(report.steps.length / 200), bars = [];
	for (let i = 0; i < report.steps.length; i += group)
		bars.push(report.steps.slice(i, i + group).reduce((a, b) => b.duration > a.duration ? b : a));
	const top = bars.reduce((a, s) => Math.max(a, s.duration), 0) || 1, each = (W - L) / bars.length;
	const y = v => (H - B) * (1 - v / (top * 1.04)), every = Math.ceil(bars.length / 12);
	const axis = ticks(top, 4).map(v => [shape('line', {class: 'ax', x1: L, x2: W, y1: y(v), y2: y(v)}),
		shape('text', {x: L - 8, y: Math.min(y(v) + 4, H - B), 'text-anchor': 'end'}, time(v))]).flat();
	const drawn = bars.map((s, i) => {
		let low = 0;
		const parts = SHARES.map(([name], k) => {
			const v = s.categories[name], at = low;
			low += v;
			return v > 0 ? shape('rect', {x: L + i * each + each * 0.04, width: each * 0.92, y: y(low), height: Math.max(0, y(at) - y(low)), fill: share_colour(k)}) : null;
		});
		const label = i % every ? null : shape('text', {x: L + (i + 0.5) * each, y: H - 8, 'text-anchor': 'middle'}, s.number === null ? 'all' : s.number);
		return shape('g', {'data-step': i}, ...parts, shape('rect', {x: L + i * each, width: each, y: 0, height: H - B, fill: 'transparent'}), label);
	});
	const picture = shape('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img',
		'aria-label': `${report.steps.length} steps, as the view Steps has them in a table`}, ...axis, ...drawn);
	hover(picture, event => {
		const bar = event.target.closest('[data-step]'), s = bar && bars[bar.dataset.step];
		return s && [`${s.name || 'all'}: ${time(s.duration)}`, ...SHARES.filter(([name]) => s.categories[name] > 0)
			.map(([name]) => `${name} ${time(s.categories[name])} (${percent(s.categories[name] / s.duration)})`)];
	});
	return card('Every step', group > 1 ? `the longest of each ${group}; hover for numbers` : 'hover for numbers', picture);
}

const meter = (name, help, share, words, colour) => make('div', {class: 'meter'},
	make('div', {}, make('span', {}, name, ' ', make('small', {}, help)), make('b', {}, words)),
	make('div', {class: 'stack', 'aria-hidden': 'true'}, make('i', {style: {width: 100 * Math.min(1, share) + '%', background: colour}})));

function device_card(d) {
	const cores = d.kernel_time ? d.tensor_core_time / d.kernel_time : null;
	const rows = [['Utilization', 'a kernel is running', d.utilization], ['Est. SM efficiency', 'all multiprocessors have a block', d.sm_efficiency],
		['Est. achieved occupancy', 'of the warps that fit', d.occupancy], ['Kernel time on tensor cores', 'by kernels’ names', cores]];
	return card(d.name || 'GPU ' + d.id, d.memory ? bytes(d.memory) : '', ...rows.map(([name, help, share]) => share === null
		? note(`${name}: not in this trace`) : meter(name, help, share, percent(share), share_colour(0))));
}

function largest_card(data) {
	const n = data.report.steps.length || 1, all = objects(view_of(data, 'ops')), gpu = all.some(o => o.self_device_time_total > 0);
	const key = gpu ? 'self_device_time_total' : 'self_cpu_time_total', rows = data.large.map(i => all[i]).filter(o => o[key] > 0);
	const most = rows.length ? rows[0][key] : 1;
	return card('The largest operators', (gpu ? 'GPU' : 'own') + ' time per step', ...rows.map(o =>
		meter(o.key, count(o.count / n) + (o.count / n === 1 ? ' call' : ' calls'), o[key] / most, time(o[key] / n), share_colour(gpu ? 0 : 6))),
	rows.length ? null : note('no operators in these steps'));
}

VIEWS.overview = {title: 'Overview', draw(main, data) {
	const absent = data.report.recording.not_recorded;
	main.append(...[headline(data), doubts(data), facts(data), step_card(data), advice_card(data),
		make('div', {class: 'grid'}, step_chart(data.report), largest_card(data), ...data.report.devices.map(device_card)),
		absent.length ? note('Not recorded: ', absent.map(a => `${a.what} (${a.record})`).join(', '), '.') : null].filter(Boolean));
}};
