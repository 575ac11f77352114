/* SPDX-License-Identifier: Apache-2.0 */
/* The memory timeline as a page with a picture. */
#include "report/memory/category.h"
#include "report/memory/timeline_points.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
	"<!doctype html>\n<html><head><meta charset=\"utf-8\"><title>Memory timeline</title>\n"
	"<style>body{font:14px sans-serif;margin:1em}canvas{width:100%;height:60vh;"
	"border:1px solid #ccc}#legend span{margin-right:1.5em;white-space:nowrap}"
	"#legend i{display:inline-block;width:1em;height:1em;margin-right:.4em;"
	"vertical-align:middle;opacity:.7}table{border-collapse:collapse}"
	"td{padding:.1em 1em .1em 0;vertical-align:top}pre{margin:.3em 0}</style>\n"
	"</head><body>\n";

/* The page is one file: it needs no library and no network. put_data writes D. */
static const char script[] =
	"const B=n=>{let u=['B','KiB','MiB','GiB','TiB'],i=0;while(n>=1024&&i<4){n/=1024;i++}"
	"return (i?n.toFixed(1):n)+' '+u[i]};\n"
	"const c=document.getElementById('c'),tip=document.getElementById('tip');\n"
	"const end=D.t.length?Math.max(D.t[D.t.length-1],1e-3):1;\n"
	"const sum=D.s.map(r=>r.reduce((a,b)=>a+b,0)),top_=Math.max(1,...sum)*1.08;\n"
	"function draw(){const r=devicePixelRatio||1,w=c.width=c.clientWidth*r,"
	"h=c.height=c.clientHeight*r,g=c.getContext('2d');\n"
	"const L=80*r,F=30*r,X=t=>L+(w-L-10*r)*t/end,Y=b=>(h-F)*(1-b/top_)+2*r;\n"
	"g.font=12*r+'px sans-serif';g.clearRect(0,0,w,h);\n"
	"let low=D.t.map(()=>0);\n"
	"D.c.forEach((k,i)=>{let high=low.map((b,j)=>b+D.s[j][i]);"
	"g.globalAlpha=.7;g.fillStyle=k.colour;g.beginPath();\n"
	"for(let j=0;j<D.t.length;j++){if(j)g.lineTo(X(D.t[j]),Y(high[j-1]));"
	"g.lineTo(X(D.t[j]),Y(high[j]))}\n"
	"for(let j=D.t.length-1;j>=0;j--){g.lineTo(X(D.t[j]),Y(low[j]));"
	"if(j)g.lineTo(X(D.t[j]),Y(low[j-1]))}\n"
	"g.fill();low=high});\n"
	"g.globalAlpha=1;g.fillStyle='#333';g.strokeStyle='#999';\n"
	"for(let i=0;i<=4;i++){let b=top_*i/4;g.fillText(B(Math.round(b)),2*r,Y(b)+(i==4?12*r:0));"
	"g.beginPath();g.moveTo(L,Y(b));g.lineTo(w,Y(b));g.globalAlpha=.3;g.stroke();"
	"g.globalAlpha=1}\n"
	"for(let i=0;i<=5;i++)g.fillText((end*i/5).toFixed(1)+' ms',"
	"Math.min(X(end*i/5),w-60*r),h-6*r);\n"
	"g.setLineDash([4*r,4*r]);D.steps.forEach(s=>{g.beginPath();g.moveTo(X(s[1]),0);"
	"g.lineTo(X(s[1]),h-F);g.stroke();g.fillText('step '+s[0],X(s[1])+3*r,12*r)});"
	"g.setLineDash([]);\n"
	"if(D.peak){const x=X(D.peak[0]),y=Y(D.peak[1]);g.fillStyle='#000';g.beginPath();"
	"g.arc(x,y,4*r,0,7);g.fill();g.fillText('peak '+B(D.peak[1]),Math.min(x+6*r,w-110*r),"
	"Math.max(y-6*r,26*r))}}\n"
	"c.onmousemove=e=>{const b=c.getBoundingClientRect(),"
	"t=(e.clientX-b.left-80)/(b.width-90)*end;let j=0;"
	"while(j+1<D.t.length&&D.t[j+1]<=t)j++;if(!D.t.length)return;\n"
	"tip.textContent=D.t[j].toFixed(3)+' ms   '+B(sum[j])+'   '+D.c.map((k,i)=>D.s[j][i]?"
	"k.name+' '+B(D.s[j][i]):'').filter(x=>x).join('   ')};\n"
	"onresize=draw;draw();\n</script>\n</body></html>\n";

/* Writes text inside a page. */
static void put_text(FILE *out, const char *text)
{
	for (; *text; text++)
		if (strchr("<>&\"'", *text))
			fprintf(out, "&#%d;", *text);
		else
			putc((unsigned char)*text < 0x20 ? ' ' : *text, out);
}

static void put_legend(const struct timeline *t, FILE *out)
{
	fputs("<h3>Tensor memory of ", out);
	put_text(out, t->space->name);
	fputs("</h3><canvas id=\"c\"></canvas><pre id=\"tip\">&nbsp;</pre><p id=\"legend\">\n",
	      out);
	for (unsigned i = 0; i < CATEGORIES; i++)
		fprintf(out, "<span><i style=\"background:%s\"></i>%s</span>\n",
			category_colours[i], category_names[i]);
	fputs("</p><details><summary>How categories are told</summary><table>\n", out);
	for (unsigned i = 0; i < CATEGORIES; i++)
		fprintf(out, "<tr><td>%s</td><td>%s</td></tr>\n", category_names[i],
			category_rules[i]);
	fputs("</table></details>\n", out);
}

static void put_points(const struct timeline_points *h, FILE *out)
{
	fputs("const D={t:[", out);
	for (size_t i = 0; i < h->n; i++)
		fprintf(out, "%s%.6f", i ? "," : "",
			(double)(h->points[i].ts - h->first) / 1e6);
	fputs("],\ns:[", out);
	for (size_t i = 0; i < h->n; i++) {
		fputs(i ? ",[" : "[", out);
		for (unsigned c = 0; c < CATEGORIES; c++) {
			int64_t size = h->points[i].size[c];

			fprintf(out, "%s%" PRId64, c ? "," : "", size > 0 ? size : 0);
		}
		putc(']', out);
	}
	fputs("],\nc:[", out);
	for (unsigned c = 0; c < CATEGORIES; c++)
		fprintf(out, "%s{name:\"%s\",colour:\"%s\"}", c ? "," : "",
			category_names[c], category_colours[c]);
	putc(']', out);
}

/* Writes D: t in ms from the first change, s the sizes by category, c the categories,
 * steps [number, ms], and the peak. */
static void put_data(const struct timeline *t, FILE *out)
{
	const struct memory_view *v = t->view;
	struct timeline_points h;
	const char *comma = "";

	/* Without memory the picture is empty, and the page is whole. */
	timeline_points_make(&h, t);
	put_points(&h, out);
	fputs(",\nsteps:[", out);
	for (size_t i = 0; i < v->steps_n; i++) {
		int64_t at = v->begins[i] + v->model->base_ns - h.first;

		/* The first step begins before its first allocation, and so before the
		 * first change. */
		at = at > 0 ? at : 0;
		if (at > h.last - h.first)
			continue;
		fprintf(out, "%s[%" PRId64 ",%.6f]", comma, v->numbers[i],
			(double)at / 1e6);
		comma = ",";
	}
	fprintf(out, "],\npeak:[%.6f,%" PRId64 "]};\n",
		(double)(h.peak.ts ? h.peak.ts - h.first : 0) / 1e6, h.peak.all);
	timeline_points_free(&h);
}

void timeline_html(const struct timeline *t, FILE *out)
{
	fputs(head, out);
	put_legend(t, out);
	fputs("<script>\n", out);
	put_data(t, out);
	fputs(script, out);
}
