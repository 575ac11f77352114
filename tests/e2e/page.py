# SPDX-License-Identifier: Apache-2.0
"""Traces for the page of `proflaunch report --html`, and what is asked of it in a browser."""
import json
import os

import prof

GOLDEN = os.path.join(prof.HERE, "..", "golden", "one_of_each_gpu.kineto.json")
HOSTILE = "</script><img src=x onerror=\"window.hacked=1\">'\"`\\\u202egnp\u2066\u009b2J\n\1<!--&amp;{{7*7}}"


def slice_of(cat, name, ts, dur, tid=1, pid=1, **args):
    return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}


def memory(ts, size, total, address, device=0):
    return {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": {
        "Device Type": device, "Device Id": -1 if device == 0 else 0, "Addr": address, "Bytes": size, "Total Allocated": total}}


def cpu_events(steps=6, name=str):
    """Steps of 10 ms that wait for data, in Python's lines; the last is the slowest."""
    events, at, ids = [slice_of("python_function", name("train.py(3): <module>"), 900, steps * 10000 + 9000)], 1000, 1
    for number in range(steps):
        length = 10000 + (5000 if number == steps - 1 else 100 * number)
        events += [
            slice_of("user_annotation", f"ProfilerStep#{number + 3}", at, length),
            slice_of("python_function", name("train.py(9): step"), at + 1, length - 2),
            slice_of("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", at + 10, 4000),
            slice_of("python_function", name("nn.Module: Net_0"), at + 4100, 3000)]
        for k in range(20):
            ts = at + 4200 + 100 * k
            events += [slice_of("cpu_op", name("aten::linear"), ts, 80, **{"External id": ids, "Input Dims": [[8, 64], [64, 32]]}),
                       slice_of("cpu_op", name("aten::addmm"), ts + 10, 50, **{"External id": ids + 1, "Input Dims": [[32], [8, 64 + k % 2]]}),
                       memory(ts + 20, 4096, 4096 * (k + 1), 4096 * (k + 1))]
            ids += 2
        events += [slice_of("cpu_op", name("aten::mul_"), at + 7000 + k, 0.5, tid=2, **{"External id": ids + k}) for k in range(9)]
        events += [memory(at + 8000 + k, -4096, 4096 * (19 - k), 4096 * (k + 1)) for k in range(20)]
        at, ids = at + length, ids + 9
    return events


def write(folder, name, events, **members):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"schemaVersion": 1, **members, "traceEvents": events}, file)
    return path


def gpu_events(steps=4, name=str):
    """Steps with two kernels and a copy each, launched by an operator."""
    events = []
    for i in range(steps):
        at, n = 1000 + 10000 * i, 3 * i
        events.append(slice_of("user_annotation", f"ProfilerStep#{i}", at, 10000))
        for k, (cat, what, dur) in enumerate((("kernel", "gemm<float, 128>", 3000), ("kernel", "relu", 5), ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 900))):
            ids = {"External id": n + k + 1, "correlation": n + k + 1}
            more = {"device": 0, "stream": 7}
            more |= {"blocks per SM": 2.0, "est. achieved occupancy %": 50, "grid": [80, 1, 1], "block": [128, 1, 1]} if cat == "kernel" else {"bytes": 1 << 20}
            events += [slice_of("cpu_op", name("aten::mm" if k == 0 else "aten::relu" if k == 1 else "aten::copy_"), at + 100 + 500 * k, 300, **{"External id": n + k + 1}),
                       slice_of("cuda_runtime", "cudaLaunchKernel" if cat == "kernel" else "cudaMemcpyAsync", at + 150 + 500 * k, 20, **ids),
                       slice_of(cat, name(what), at + 200 + 3100 * k, dur, tid=7, pid=0, **ids, **more)]
    return events


GPU = {"deviceProperties": [{"id": 0, "name": "Tesla V100", "totalGlobalMem": 1 << 34, "computeMajor": 7, "computeMinor": 0, "numSms": 80}]}


def hostile_events():
    """Every name is hostile: of operators, lines, threads, kernels."""
    def worse(name):
        return HOSTILE + name + "<script>window.hacked=2</script>"
    return gpu_events(name=worse) + [{"ph": "M", "name": "thread_name", "pid": 1, "tid": tid, "args": {"name": worse(f"thread {tid}")}} for tid in (1, 2)] + cpu_events(2, worse)


def make(out, trace, *words, status=0, **env):
    run = prof.plain([prof.LAUNCHER, "report", "--html", out, *words, trace], env={**os.environ, "LC_ALL": "C.UTF-8", **env})
    assert run.returncode == status, (words, run.returncode, run.stderr)
    return run


def document(trace, *words):
    run = prof.plain([prof.LAUNCHER, "report", "--format", "json", *words, trace])
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)


# ---- what is asked of a page: each returns what is wrong ----

# Texts whose contrast is below 4.5 to what is behind them.
CONTRAST = """
const parse = text => { const m = text.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
const light = ([r, g, b]) => { const f = v => (v /= 255) <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; return .2126 * f(r) + .7152 * f(g) + .0722 * f(b); };
const over = (top, low) => top.slice(0, 3).map((v, i) => v * top[3] + low[i] * (1 - top[3]));
const behind = e => { const stack = []; for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); stack.push(c); if (c[3] === 1) break; }
  return stack.reverse().reduce((low, top) => over(top, low), [255, 255, 255]); };
const bad = [];
for (const e of document.querySelectorAll('body *')) {
  if (![...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || !e.getClientRects().length || e.closest('.dim, option, .unseen, .skip, script, noscript')) continue;
  const style = getComputedStyle(e), svg = e instanceof SVGElement, back = behind(svg ? e.ownerSVGElement : e), front = over(parse(svg ? style.fill : style.color), back);
  const [a, b] = [light(front), light(back)].sort((x, y) => y - x), ratio = (a + .05) / (b + .05);
  if (ratio < 4.5) bad.push(`${e.tagName}.${e.className.baseVal ?? e.className} "${e.textContent.slice(0, 30)}" ${ratio.toFixed(2)}`);
}
return bad;
"""

# What a screen reader would miss: names of controls and pictures, captions, scopes, ids that come twice.
ROLES = """
const bad = [], ids = new Set(), named = e => (e.getAttribute('aria-label') || e.textContent || e.labels?.[0]?.textContent || '').trim();
for (const e of document.querySelectorAll('button, a[href], select, input, [role=tab], [role=button], [role=img]')) {
  if (e.getAttribute('role') === 'img' ? !e.getAttribute('aria-label') : e.tagName === 'INPUT' ? !e.getAttribute('aria-label') && !e.labels.length : !named(e)) bad.push('no name: ' + e.outerHTML.slice(0, 120));
}
for (const e of document.querySelectorAll('svg, canvas')) if (e.getAttribute('role') !== 'img') bad.push('no role: ' + e.tagName);
for (const e of document.querySelectorAll('table')) if (!e.caption || !e.caption.textContent) bad.push('no caption');
for (const e of document.querySelectorAll('table th')) if (!e.scope) bad.push('no scope: ' + e.textContent);
for (const e of document.querySelectorAll('[id]')) { if (ids.has(e.id)) bad.push('twice: ' + e.id); ids.add(e.id); }
if (document.querySelectorAll('[role=tablist]').length !== 1 || document.querySelectorAll('[role=tab][aria-selected=true]').length !== 1) bad.push('tabs');
const panel = document.querySelector('[role=tabpanel]'), tab = document.getElementById(panel.getAttribute('aria-labelledby'));
if (!tab || tab.getAttribute('aria-selected') !== 'true') bad.push('panel');
if (document.querySelectorAll('h1').length > 1 || !document.documentElement.lang || !document.title) bad.push('head');
return bad;
"""

# How far the page is wider than its window, and which card stands out of it.
WIDE = """
const out = document.documentElement.scrollWidth - innerWidth;
return out > 0 ? [`${out} px`, ...[...document.querySelectorAll('main *')].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest('.scroll')).slice(0, 3).map(e => e.outerHTML.slice(0, 100))] : [];
"""

TABS = "return [...document.querySelectorAll('[role=tab]')].map(t => t.dataset.view)"
CLICK = "document.querySelector(arguments[0]).click()"


def click_tab(page, view):
    page.ask(CLICK, f"[role=tab][data-view={view}]")
    assert page.ask("return document.getElementById('main').dataset.view") == view


def column(page, place, key=None):
    """The values of a table's column, by its header."""
    return page.ask("""
const table = document.querySelectorAll('main table')[arguments[1]], i = [...table.tHead.rows[0].cells].findIndex(c => c.textContent === arguments[0]);
return i < 0 ? null : [...table.tBodies[0].rows].filter(r => r.matches('.row')).map(r => r.cells[i].dataset.value ?? r.cells[i].textContent);
""", place, key or 0)
