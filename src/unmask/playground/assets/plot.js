// Steps against N: lines if words may have any length, bars if the problem fixes the length.

import { counted, draw, make } from "/static/elements.js";

const HEIGHT = 300, LEFT = 34, TOP = 14, BOTTOM = 40, LABELS = 152, NARROW = 440, LINE = 15;
const NAMES = { mdm: "masked diffusion", smdm: "smdm", topk: "topk", plt: "looped", cot: "chain of thought", pcot: "parallel CoT" };

// Draw for a width in pixels, so that the text has the size of the page's text.
export function plot(answer, available) {
  const width = Math.max(240, Math.min(760, available));
  const series = together(answer.points);
  if (!series.length) return [make("p", {}, "Nothing could be measured.")];
  const picture = answer.fixed || series.every((s) => s.points.length === 1) ? bars(series, width) : lines(series, width);
  const wrong = answer.points.filter((point) => !point.right);
  return [
    picture,
    ...answer.remarks.map((remark) => make("p", {}, remark)),
    make("p", wrong.length ? { class: "error" } : {}, wrong.length ? `${counted(wrong.length, "model")} gave a wrong answer.` : "Each point is a model that was compiled and run just now. All answers are correct."),
    table(answer.points),
  ];
}

// Frameworks with the same numbers of steps share a line.
function together(points) {
  const kinds = new Map();
  for (const point of points) kinds.set(point.kind, [...(kinds.get(point.kind) ?? []), point]);
  const series = new Map();
  for (const [kind, own] of kinds) {
    const key = own.map((p) => `${p.length}:${p.steps}`).join();
    series.set(key, { kinds: [...(series.get(key)?.kinds ?? []), kind], points: own });
  }
  return [...series.values()];
}

function lines(series, width) {
  const all = series.flatMap((s) => s.points);
  const longest = Math.max(...all.map((p) => p.length)), most = niceCeiling(Math.max(...all.map((p) => p.steps)));
  const right = width - (width < NARROW ? 14 : LABELS);
  const x = (n) => LEFT + ((right - LEFT) * n) / longest;
  const y = (steps) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * steps) / most;
  const svg = frame(`Number of steps by N. ${series.map(spoken).join(" ")}`, width);
  for (const steps of [0, most / 4, most / 2, (3 * most) / 4, most]) {
    svg.append(draw("line", { class: "axis", x1: LEFT, x2: right, y1: y(steps), y2: y(steps) }), draw("text", { x: LEFT - 6, y: y(steps) + 4, "text-anchor": "end" }, String(steps)));
  }
  const lengths = [...new Set(all.map((p) => p.length))];
  for (const n of lengths.filter((n) => n >= longest / 9)) svg.append(draw("text", { x: x(n), y: HEIGHT - BOTTOM + 18, "text-anchor": "middle" }, String(n)));
  svg.append(draw("text", { x: (LEFT + right) / 2, y: HEIGHT - 4, "text-anchor": "middle" }, "N, the length of the word"));
  let above = Infinity;
  for (const { kinds, points } of [...series].sort((a, b) => a.points.at(-1).steps - b.points.at(-1).steps)) {
    const kind = kinds[0], last = points.at(-1), names = kinds.map((k) => NAMES[k]);
    svg.append(draw("path", { class: `line ${kind}`, d: points.map((p, i) => `${i ? "L" : "M"}${x(p.length)} ${y(p.steps)}`).join("") }));
    for (const p of points) svg.append(draw("circle", { class: `dot ${kind}`, cx: x(p.length), cy: y(p.steps), r: 3.5 }, draw("title", {}, `${kinds.join(", ")}: N = ${p.length}, ${counted(p.steps, "step")}`)));
    above = Math.min(y(last.steps) + 4, above) - LINE * (names.length - 1);
    names.forEach((name, i) => width >= NARROW && svg.append(draw("text", { class: `name ${kind}`, x: x(last.length) + 9, y: above + LINE * i }, name + (i < names.length - 1 ? "," : ` ${last.steps}`))));
    above -= LINE;
  }
  if (width < NARROW) legend(svg, series); // too narrow for a legend beside the lines: put it above them
  return svg;
}

function legend(svg, series) {
  [...series].reverse().forEach(({ kinds, points }, i) => {
    svg.append(draw("text", { class: `name ${kinds[0]}`, x: LEFT + 4, y: TOP + 14 + LINE * i }, `${kinds.map((k) => NAMES[k]).join(", ")}: ${points.at(-1).steps}`));
  });
}

function bars(series, width) {
  const most = Math.max(...series.map((s) => s.points[0].steps));
  const rows = series.flatMap((s) => s.kinds.map((kind) => ({ kind, steps: s.points[0].steps })));
  const svg = frame(`Steps at N = ${series[0].points[0].length}. ${series.map(spoken).join(" ")}`, width, 44 * rows.length + 8);
  rows.forEach(({ kind, steps }, i) => {
    const long = Math.max(3, ((width - 90) * steps) / most), top = 44 * i;
    svg.append(draw("text", { class: `name ${kind}`, x: 0, y: top + 14 }, NAMES[kind]), draw("rect", { class: `bar ${kind}`, x: 0, y: top + 20, rx: 3, width: long, height: 14 }), draw("text", { x: long + 8, y: top + 32 }, counted(steps, "step")));
  });
  return svg;
}

const frame = (label, width, height = HEIGHT) => draw("svg", { class: "plot", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label });
const spoken = ({ kinds, points }) => `${kinds.map((k) => NAMES[k]).join(" and ")}: ${points.map((p) => `${p.steps} at ${p.length}`).join(", ")}.`;

function niceCeiling(number) {
  const unit = 4 * 10 ** Math.max(0, Math.floor(Math.log10(number)) - 1);
  return Math.ceil(number / unit) * unit;
}

function table(points) {
  const lengths = [...new Set(points.map((p) => p.length))], kinds = [...new Set(points.map((p) => p.kind))];
  const cell = (kind, n) => {
    const point = points.find((p) => p.kind === kind && p.length === n);
    return make("td", {}, point ? `${point.steps} (${counted(point.padding, kind === "plt" ? "pad" : "slot")})` : "–");
  };
  const head = make("tr", {}, make("th", {}, "N"), ...kinds.map((kind) => make("th", { scope: "col" }, NAMES[kind])));
  const rows = lengths.map((n) => make("tr", {}, make("th", { scope: "row" }, String(n)), ...kinds.map((kind) => cell(kind, n))));
  return make("details", {}, make("summary", {}, "as a table, with the number of slots"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
}
