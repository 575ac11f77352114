/* SPDX-License-Identifier: Apache-2.0 */
// The blocks of the page: base64 of zlib of two lengths, JSON, and columns (report/page/columns.h).

const unbase64 = text => {
	const raw = atob(text), out = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
	return out;
};
const block_title = block => new TextDecoder().decode(unbase64(block.dataset.title));

async function read_block(block) {
	const packed = new Blob([unbase64(block.textContent)]).stream().pipeThrough(new DecompressionStream('deflate'));
	const buffer = await new Response(packed).arrayBuffer(), json = new DataView(buffer).getUint32(0, true);
	const data = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, json)));
	data.columns = new Uint8Array(buffer, 8 + json);
	block.textContent = '';
	return data;
}

// Numbers of seven bits a byte, the lowest first.
function reader_of(bytes) {
	let at = 0;
	return () => {
		let n = 0, by = 1, byte;
		do { byte = bytes[at++]; n += (byte & 127) * by; by *= 128; } while (byte > 127);
		return n;
	};
}

function read_lane(next, n) {
	const lane = {begin: new Float64Array(n), end: new Float64Array(n), name: new Uint32Array(n)};
	for (let i = 0, at = 0; i < n; i++) lane.begin[i] = (at += next()) / 10;
	for (let i = 0; i < n; i++) lane.end[i] = lane.begin[i] + next() / 10;
	for (let i = 0; i < n; i++) lane.name[i] = next();
	return lane;
}

// The steps' lane is made here; names behind the trace's own are the steps'.
function steps_track(timeline) {
	const {steps, names} = timeline, n = steps.length;
	const lane = {begin: new Float64Array(n), end: new Float64Array(n), name: new Uint32Array(n)};
	steps.forEach(([number, begin, end], i) => {
		lane.begin[i] = begin;
		lane.end[i] = end;
		lane.name[i] = names.push('step ' + number) - 1;
	});
	return {kind: 'step', title: 'Steps', lanes: n ? [lane] : [], slices: n};
}

// Unpacks the slices, when the timeline is first looked at.
function open_timeline(data) {
	const {timeline} = data;
	if (timeline.open) return timeline;
	const next = reader_of(data.columns), tracks = [];
	timeline.end = 0;
	for (const [kind, where, title, counts] of timeline.tracks) {
		const lanes = counts.map(n => read_lane(next, n));
		for (const lane of lanes)
			if (lane.end.length) timeline.end = Math.max(timeline.end, lane.end[lane.end.length - 1]);
		tracks.push({kind, where, title, lanes, slices: counts.reduce((a, n) => a + n, 0)});
	}
	const busy = kind => tracks.filter(t => t.kind === kind).sort((a, b) => b.slices - a.slices);
	const python = busy('python'), hosts = busy('host'), of_host = h => python.filter(p => p.where === h.where && p.title === h.title);
	const paired = hosts.flatMap(h => [h, ...of_host(h)]);
	timeline.open = [steps_track(timeline), ...busy('gpu'), ...paired, ...python.filter(p => !paired.includes(p))];
	for (const [, , end] of timeline.steps) timeline.end = Math.max(timeline.end, end);
	data.columns = null;
	return timeline;
}

// Rows of a view by their columns' keys.
const view_of = (data, name) => data.views.find(v => v.name === name);
function objects(view) {
	return view ? view.rows.map(row => Object.fromEntries(view.columns.map(([key], i) => [key, row[i]]))) : [];
}
