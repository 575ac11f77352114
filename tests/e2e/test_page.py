#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# run: timeout 300
"""`proflaunch report --html` and `diff --html` in a real Chromium: what is drawn, said, reached and refused."""
import base64
import hashlib
import json
import os
import re
import stat
import sys
import time

import browser
import page as p
import prof

FOLDER = prof.folder()
TOP = FOLDER.__enter__()
PAGE = browser.Browser()
OVERVIEW = ("overview", "ops", "timeline", "flame", "memory", "steps", "threads", "modules", "python", "distributed", "trace")


def made(name, events, *words, **members):
    """A page of a trace: made once, and opened."""
    trace, out = p.write(TOP, name + ".json", events, **members), os.path.join(TOP, name + ".html")
    p.make(out, trace, *words)
    return trace, out


def cpu(*words):
    return made("cpu", p.cpu_events(), *words)


def gpu():
    return made("gpu", p.gpu_events(), **p.GPU)


def quiet():
    assert not PAGE.console(), PAGE.console()


def test_a_stage_is_in_the_head():
    head = {"stage": "validation", "proflaunch": {"window": {"number": 1, "stage": 2}}}
    trace, out = made("stage", p.cpu_events(9), **head)
    PAGE.open(out)
    said = "return document.querySelector('.headline .sub').textContent"
    assert PAGE.ask(said).startswith("stage validation: 9 steps of "), PAGE.ask(said)
    other, both = p.write(TOP, "none.json", p.cpu_events(9)), os.path.join(TOP, "stages.html")
    assert prof.plain([prof.LAUNCHER, "diff", "--html", both, trace, other]).returncode == 0
    PAGE.open(both)
    assert "A: 9 steps of 1 file of stage validation, " in PAGE.ask(said) and "B: 9 steps of 1 file, " in PAGE.ask(said), PAGE.ask(said)
    assert "other stage: validation, then none" in PAGE.ask("return document.querySelector('.doubts').textContent")


# ---- every view ----

def look_at_all(out, scheme, width):
    PAGE.scheme(scheme)
    PAGE.resize(width)
    PAGE.open(out)
    assert PAGE.ask("return document.documentElement.dataset.theme") == scheme
    for view in PAGE.ask(p.TABS):
        p.click_tab(PAGE, view)
        for question in (p.CONTRAST, p.ROLES, p.WIDE):
            assert not PAGE.ask(question), (out, view, scheme, width, PAGE.ask(question))
        assert len(PAGE.ask("return document.getElementById('main').innerText")) > 40, view
    quiet()
    PAGE.resize(1300)


def test_every_view_of_a_cpu_and_a_gpu_trace_in_both_schemes():
    for out, views in ((cpu()[1], OVERVIEW), (gpu()[1], (*OVERVIEW[:2], "kernels", *(view for view in OVERVIEW[2:] if view not in ("modules", "python"))))):
        look_at_all(out, "light", 1300)
        assert PAGE.ask(p.TABS) == list(views), PAGE.ask(p.TABS)
        look_at_all(out, "dark", 360)
        look_at_all(out, "light", 2560)
    golden = os.path.join(TOP, "golden.html")
    p.make(golden, p.GOLDEN)
    look_at_all(golden, "dark", 1300)


def test_hostile_names_are_texts():
    _, out = made("hostile", p.hostile_events(), **p.GPU)
    with open(out, encoding="utf-8") as file:
        text = file.read()
    assert "hacked" not in text and "onerror" not in text
    look_at_all(out, "light", 1300)
    for view in PAGE.ask(p.TABS):
        p.click_tab(PAGE, view)
        assert PAGE.ask("return window.hacked === undefined && !document.querySelector('main img, main script, main iframe')"), view
    p.click_tab(PAGE, "ops")
    first = PAGE.ask("return document.querySelector('main tbody th').textContent")
    assert first.startswith("</script><img src=x onerror=\"window.hacked=1\">'\"`\\?gnp??2J?"), first
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u0080-\u009f]", PAGE.ask("return document.body.textContent"))
    PAGE.ask("document.querySelector('main tr.row').click()")
    assert PAGE.ask("return window.hacked === undefined && document.querySelectorAll('tr.detail').length === 1")
    quiet()


# ---- numbers ----

def equal(seen, known):
    assert len(seen) == len(known), (len(seen), len(known))
    assert [float(v) for v in seen] == known, (seen[:5], known[:5])


def test_numbers_are_those_of_the_report():
    trace, out = gpu()
    known = p.document(trace)
    PAGE.open(out)
    assert PAGE.ask("return document.querySelector('h1').textContent") == known["sentence"].replace(" us", " µs")
    step = known["step_mean"]
    legend = PAGE.ask("return document.querySelector('.legend').textContent")
    for name, part in known["steps"][0]["categories"].items():
        mean = sum(s["categories"][name] for s in known["steps"]) / len(known["steps"])
        assert (name in legend) == (mean > 0), (name, part, legend)
    assert f"{step / 1000:.1f} ms" in PAGE.ask("return document.querySelector('.facts').textContent"), step
    p.click_tab(PAGE, "ops")
    ops = sorted(known["operators"], key=lambda o: -o["self_device_time_total"])
    assert p.column(PAGE, "Operator") == [o["key"] for o in ops]
    for title, key in (("Own GPU", "self_device_time_total"), ("Own CPU", "self_cpu_time_total"), ("Calls", "count")):
        equal(p.column(PAGE, title), [o[key] for o in ops])
    p.click_tab(PAGE, "kernels")
    kernels = sorted(known["kernels"], key=lambda k: -k["total"])
    equal(p.column(PAGE, "Total"), [k["total"] for k in kernels])
    assert "2.05 ms to 4.10 ms: 4" in PAGE.ask("return document.querySelector('.spark').getAttribute('aria-label')")
    p.click_tab(PAGE, "steps")
    equal(p.column(PAGE, "Duration"), [s["duration"] for s in known["steps"]])
    p.click_tab(PAGE, "threads")
    equal(sorted(p.column(PAGE, "Number"), key=float), sorted(t["tid"] for t in known["threads"]))
    quiet()


def test_memory_says_what_was_there_at_its_peak():
    trace, out = cpu()
    known = p.document(trace)["memory"][0]
    PAGE.open(out, "#view=memory")
    text = PAGE.ask("return document.getElementById('main').innerText")
    assert known["peak"] == 20 * 4096 and "At the peak, in step 3, in aten::addmm, there were 80.0 KiB" in text, (known, text)
    assert sum(float(v) for v in p.column(PAGE, "at the peak")) == known["peak"]
    assert PAGE.ask("return document.querySelectorAll('main svg path').length") >= 1
    quiet()


# ---- tables ----

def test_tables_sort_filter_group_and_open():
    PAGE.open(cpu()[1], "#view=ops")
    assert PAGE.ask("return document.querySelector('th[aria-sort=descending]').textContent") == "Own CPU"
    PAGE.ask("[...document.querySelectorAll('thead button')].find(b => b.textContent === 'Calls').click()")
    calls = [int(v) for v in p.column(PAGE, "Calls")]
    assert calls == sorted(calls, reverse=True) and calls[0] > calls[-1]
    PAGE.ask("[...document.querySelectorAll('thead button')].find(b => b.textContent === 'Calls').click()")
    assert [int(v) for v in p.column(PAGE, "Calls")] == sorted(calls)
    assert PAGE.ask("return document.querySelector('th[aria-sort=ascending]').textContent") == "Calls"
    PAGE.press("/")
    PAGE.press("linear")
    assert p.column(PAGE, "Operator") == ["aten::linear"] and "find=linear" in PAGE.ask("return location.hash")
    PAGE.ask("document.querySelector('main tr.row').click()")
    assert "[[8, 64], [64, 32]]" in PAGE.ask("return document.querySelector('tr.detail').textContent")
    PAGE.ask("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'by input shapes').click()")
    assert p.column(PAGE, "Operator") == ["aten::linear"]
    PAGE.ask("show('ops', '')")
    shapes = p.column(PAGE, "Input shapes")
    assert len(shapes) > len(set(p.column(PAGE, "Operator"))) and "[[32], [8, 65]]" in shapes, shapes
    quiet()


# ---- the timeline, the flame graph ----

COLOURS = """
const c = document.querySelector('canvas'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data, seen = new Set();
for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
return seen.size;
"""


def test_the_timeline_zooms_finds_and_survives_without_a_width():
    PAGE.open(cpu()[1], "#view=timeline")
    PAGE.wait("return document.querySelector('canvas').dataset.drawn > 0")
    all_drawn, colours = int(PAGE.ask("return document.querySelector('canvas').dataset.drawn")), PAGE.ask(COLOURS)
    assert colours > 5, colours
    PAGE.ask("document.querySelector('canvas').focus()")
    before = PAGE.ask("return document.querySelector('canvas').toDataURL()")
    for _ in range(6):
        PAGE.press("w")
    assert PAGE.ask("return document.querySelector('canvas').toDataURL()") != before
    assert int(PAGE.ask("return document.querySelector('canvas').dataset.drawn")) < all_drawn
    PAGE.ask("document.querySelector('canvas').dispatchEvent(new WheelEvent('wheel', {deltaY: 2000, ctrlKey: true, clientX: 700, cancelable: true}))")
    PAGE.press("/")
    PAGE.press("addmm")
    assert "120 found" in PAGE.ask("return document.querySelector('.tools').textContent")
    PAGE.press("Enter")
    assert "aten::addmm · 50.0 µs" in PAGE.ask("return document.querySelector('main .note:last-child').textContent")
    PAGE.ask("document.querySelector('.tl').style.width = '0'; live.redraw()")
    assert PAGE.ask("return 1 + 1") == 2
    quiet()


def test_the_flame_graph_enters_leaves_and_merges():
    PAGE.open(cpu()[1], "#view=flame")
    names = "return [...document.querySelectorAll('.flame > div')].map(d => d.textContent)"
    all_boxes = PAGE.ask(names)
    assert "aten::linear" in all_boxes and "Net_0" in all_boxes and "train.py(9): step" in all_boxes, all_boxes
    PAGE.ask("[...document.querySelectorAll('.flame > div')].find(d => d.textContent === 'aten::linear').click()")
    assert PAGE.ask(names) == ["aten::linear", "aten::addmm"]
    PAGE.press("Escape")
    assert "aten::linear" in PAGE.ask(names) and len(PAGE.ask(names)) > 2
    while PAGE.ask("return live.escape()"):
        pass
    assert PAGE.ask(names) == all_boxes
    PAGE.ask("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'merge equal layers').click()")
    assert len(PAGE.ask(names)) < len(all_boxes)
    quiet()


# ---- keys, links, paper ----

def test_keys_alone_are_enough():
    PAGE.scheme("light")
    PAGE.open(cpu()[1])
    view = "return document.getElementById('main').dataset.view"
    PAGE.press("2")
    assert PAGE.ask(view) == "ops"
    PAGE.ask("document.getElementById('tab-ops').focus()")
    PAGE.press("Right")
    assert PAGE.ask(view) == "timeline" and PAGE.ask("return document.activeElement.id") == "tab-timeline"
    PAGE.press("Left")
    PAGE.press("d")
    assert PAGE.ask("return document.documentElement.dataset.theme") == "dark"
    PAGE.press("/")
    PAGE.press("aten")
    PAGE.press("Escape")
    assert PAGE.ask("return document.activeElement.tagName") == "BODY" and len(p.column(PAGE, "Operator")) > 3
    PAGE.ask("document.querySelector('main tr.row').focus()")
    PAGE.press("Down")
    assert PAGE.ask("return [...document.querySelectorAll('main tr.row')].indexOf(document.activeElement)") == 1
    PAGE.press("Enter")
    assert PAGE.ask("return document.querySelectorAll('tr.detail').length") == 1
    quiet()


def test_show_me_leads_to_what_was_seen():
    PAGE.open(cpu()[1])
    PAGE.ask("[...document.querySelectorAll('.todo')].find(one => one.querySelector('h3').textContent.includes('waits for input'))"
             ".querySelector('.go').click()")
    assert PAGE.ask("return document.getElementById('main').dataset.view") == "timeline"
    assert "enumerate(DataLoader)" in PAGE.ask("return document.querySelector('main .note:last-child').textContent")
    assert PAGE.ask("return location.hash").startswith("#view=timeline&find=DataLoader")
    PAGE.medium("print")
    assert PAGE.ask("return getComputedStyle(document.querySelector('nav')).display") == "none"
    PAGE.medium("")
    quiet()


# ---- the file ----

def test_the_page_obeys_nothing_but_its_own_script():
    _, out = cpu()
    with open(out, encoding="utf-8") as file:
        text = file.read()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    for tag in ("style", "script"):
        own = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.S)[1]
        told = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{told}'" in policy, policy
    assert policy.startswith("default-src 'none'") and "unsafe" not in policy
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", text) and "eval(" not in text and "innerHTML" not in text
    PAGE.open(out)
    PAGE.ask("const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s)")
    assert PAGE.ask("return window.hacked === undefined")
    assert any(re.search("Content.Security.Policy", line) for line in PAGE.console())


def test_a_limit_keeps_whole_steps_and_says_so():
    _, out = cpu("--html-limit", "200")
    PAGE.open(out, "#view=timeline")
    text = PAGE.ask("return document.getElementById('main').innerText")
    said = re.search(r"The timeline has (\d+) of (\d+) slices: (\d+) whole steps of 6", text)
    assert said and int(said[3]) == 3 and int(said[1]) <= 200 < int(said[2]), text
    kept = PAGE.ask("return data.timeline.steps.filter(s => s[3]).map(s => s[0])")
    assert 8 in kept and {5, 6} & set(kept) and 3 in kept, kept      # the slowest, the median, the first
    cut = made("cut", p.cpu_events(), "--html-limit", "7")[1]
    PAGE.open(cut, "#view=timeline")
    assert "7 of" in PAGE.ask("return document.getElementById('main').innerText") or "6 of" in PAGE.ask("return document.getElementById('main').innerText")
    quiet()


def test_two_runs_stand_beside_each_other():
    a, b = p.write(TOP, "a.json", p.cpu_events(9)), p.write(TOP, "b.json", p.gpu_events(9), **p.GPU)
    out = os.path.join(TOP, "diff.html")
    for words in (("--html", out, a, b), ("--format", "json", a, b)):
        run = prof.plain([prof.LAUNCHER, "diff", *words])
        assert run.returncode == 0, run.stderr
    known = json.loads(run.stdout)
    look_at_all(out, "light", 1300)
    look_at_all(out, "dark", 360)
    PAGE.open(out)
    assert PAGE.ask("return document.querySelector('h1').textContent") == known["sentence"].replace(" us", " µs")
    assert PAGE.ask("return document.querySelectorAll('main svg circle').length") == 18
    ops = sorted((r for r in known["rows"] if r["kind"] == "operator"), key=lambda r: -abs(r["difference"]))
    equal(p.column(PAGE, "B − A", 1), [r["difference"] for r in ops])
    assert PAGE.ask("return [...document.querySelectorAll('#run option')].map(o => o.textContent)") == ["A: a.json", "B: b.json"]
    p.click_tab(PAGE, "kernels")
    PAGE.ask("const s = document.getElementById('run'); s.value = '0'; s.dispatchEvent(new Event('change'))")
    PAGE.wait("return document.documentElement.dataset.ready && data.title === 'A: a.json'")
    assert "kernels" not in PAGE.ask(p.TABS) and "This trace has no GPU work" in PAGE.ask("return document.getElementById('main').innerText")
    quiet()


def test_the_flame_graph_of_two_runs_has_their_changes_in_colour():
    """B has twice the steps, and in each of them an operator three times as long: its stack is larger, all others are not."""
    events = p.cpu_events(5)
    a = p.write(TOP, "a5.json", events)
    longer = [dict(e, dur=6500) if e["name"] == "aten::mul_" and e["ts"] % 1000 < 20 and e["dur"] == 0.5 else e for e in p.cpu_events(10)]
    b, out = p.write(TOP, "b10.json", longer), os.path.join(TOP, "flames.html")
    run = prof.plain([prof.LAUNCHER, "diff", "--html", out, a, b])
    assert run.returncode == 0, run.stderr
    PAGE.open(out, "#view=flame")
    boxes = "return [...document.querySelectorAll('.flame > div')].map(d => [d.textContent, d.className, Number(d.style.getPropertyValue('--by')), d.getAttribute('aria-label')])"
    said = {text: (kind, by, words) for text, kind, by, words in PAGE.ask(boxes)}
    linear = said["aten::linear"]
    assert linear[0].startswith("beside") and linear[1] < 0.1 and "A: 16.0 ms; here 0 µs" in linear[2], linear
    worse = [(text, by) for text, (kind, by, _) in said.items() if kind == "beside worse" and by > 0.9]
    assert any(text == "aten::mul_" for text, _ in worse), said
    assert "Steps: 10 here, 5 in A" in PAGE.ask("return document.getElementById('main').innerText")
    assert p.column(PAGE, "Frame")[0] == "aten::mul_"
    PAGE.ask("[...document.querySelectorAll('.tools button')].find(b => b.textContent === 'changes in colour').click()")
    assert all(kind.startswith("k-") for _, kind, _, _ in PAGE.ask(boxes)) and "group=alone" in PAGE.ask("return location.hash")
    quiet()


def test_open_starts_a_browser_or_names_the_file():
    trace, out = cpu()
    bare = {"DISPLAY": "", "WAYLAND_DISPLAY": "", "BROWSER": ""}
    assert f"open {out} in a browser" in p.make(out, trace, "--open", **bare).stderr
    script, seen = os.path.join(TOP, "browser"), os.path.join(TOP, "seen")
    with open(script, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\nprintf %s "$1" > {seen}.new\nmv {seen}.new {seen}\n')
    os.chmod(script, stat.S_IRWXU)
    assert p.make(out, trace, "--open", **{**bare, "BROWSER": script}).stderr == ""
    until = time.monotonic() + 30
    while not os.path.exists(seen) and time.monotonic() < until:
        time.sleep(0.01)
    with open(seen, encoding="utf-8") as file:
        assert file.read() == out


def test_what_does_not_fit_is_said():
    trace, out = cpu()
    for words, why in ((("--html", trace, trace), "is one of the traces"), (("--html", out, "-o", out, trace), "no --output with it"),
                       (("--html", out, "--format", "csv", trace), "no --format with it"), (("--open", trace), "--html FILE with it"),
                       (("--html-limit", "0", "--html", out, trace), "not a number from 1 on"), (("--html", "/nowhere/x", trace), "cannot be written")):
        run = prof.plain([prof.LAUNCHER, "report", *words])
        assert run.returncode == 2 and why in run.stderr, (words, run.returncode, run.stderr)
    assert prof.plain([prof.LAUNCHER, "diff", "--html", trace, trace, trace]).returncode == 2


if __name__ == "__main__":
    try:
        prof.main(sys.modules[__name__])
    finally:
        PAGE.__exit__()
        FOLDER.__exit__(None, None, None)
