// Draw the reads of attention as lines over the cells: colour and dash by head, width by weight.

const DASHES = ["", "7 3", "2 3", "9 3 2 3"];
const SVG = "http://www.w3.org/2000/svg";
const headColour = (index) => (index < 0 ? "var(--soft)" : `var(--head${index % 6})`);
const headDash = (index) => (index < 0 ? "1 3" : DASHES[index % 4]);

function shape(parent, name, attributes) {
  const element = parent.appendChild(document.createElementNS(SVG, name));
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "stroke") element.style.stroke = value;
    else element.setAttribute(key, value);
  }
  return element;
}

const curve = ([x1, y1], [x2, y2]) => {
  const half = (y1 + y2) / 2;
  return `M${x1.toFixed(1)} ${y1.toFixed(1)}C${x1.toFixed(1)} ${half.toFixed(1)} ${x2.toFixed(1)} ${half.toFixed(1)} ${x2.toFixed(1)} ${y2.toFixed(1)}`;
};

function drawLines(panel, state) {
  for (const layer of [panel.under, panel.over]) {
    layer.replaceChildren();
    layer.setAttribute("width", panel.contentWidth);
    layer.setAttribute("height", panel.contentHeight);
  }
  const half = halfCell(panel, state);
  if (state.all) drawEdges(panel, state, half);
  if (state.chosen && state.chosen.panel === panel) drawChosen(panel, state, half);
}

// All edges up to the clock, one path per head.
function drawEdges(panel, state, half) {
  const current = lineAt(panel, state.step), paths = new Map();
  const edges = panel.edges.values;
  for (let i = 0; i < edges.length; i += 5) {
    const [line, column, sourceLine, source, head] = edges.subarray(i, i + 5);
    if (line > current) continue;
    const to = centre(panel, state, line, column), from = centre(panel, state, sourceLine, source);
    if (!to || !from) continue;
    if (!paths.has(head)) paths.set(head, []);
    paths.get(head).push(curve([to[0], to[1] - half], [from[0], from[1] + half]));
  }
  for (const [head, parts] of [...paths].sort((a, b) => a[0] - b[0])) {
    shape(panel.under, "path", { class: "edge", d: parts.join(""), stroke: headColour(head), "stroke-dasharray": headDash(head) });
  }
}

function drawChosen(panel, state, half) {
  const { line, column } = state.chosen;
  // in the tree a symbol is shown in the line that wrote it
  const placed = (l, c) => centre(panel, state, l, c) || centre(panel, state, lastWritten(panel, l + 1, c), c);
  const here = placed(line, column);
  if (!here) return;
  const moment = momentOf(panel, line);
  const reads = readsOf(panel, moment, decidingRow(panel, line, column));
  const heaviest = Math.max(1, ...reads.map((r) => r.weight));
  const box = Math.min(panel.w, 34);
  for (const { head, index, key, weight } of reads) {
    // the canvas that a step reads is the line above
    const from = line === 0 ? null : state.tree ? placed(line - 1, key) : centre(panel, state, line - 1, key);
    if (!from) continue;
    const strength = weight / heaviest;
    shape(panel.over, "path", {
      class: "read", d: curve([here[0], here[1] - half], [from[0], from[1] + half]), stroke: headColour(index),
      "stroke-dasharray": headDash(index), "stroke-width": (1.2 + 2.2 * strength).toFixed(2), opacity: (0.35 + 0.65 * strength).toFixed(2),
      "data-transformer": head.transformer, "data-layer": head.layer, "data-head": head.head, "data-row": key, "data-weight": weight,
    });
    shape(panel.over, "rect", { class: "target", x: from[0] - box / 2, y: from[1] - half, width: box, height: 2 * half, rx: 5, stroke: headColour(index) });
  }
  if (state.tree) drawOwnEdges(panel, state, here, half);
  shape(panel.over, "rect", { class: "ring", x: here[0] - box / 2, y: here[1] - half - 1, width: box, height: 2 * half + 2, rx: 6 });
}

// The symbols that the selected symbol was computed from, including those read through rows that the tree does not show.
function drawOwnEdges(panel, state, here, half) {
  const edges = panel.edges.values;
  for (let i = 0; i < edges.length; i += 5) {
    const [line, column, sourceLine, source, head] = edges.subarray(i, i + 5);
    if (line !== state.chosen.line || column !== state.chosen.column) continue;
    const from = centre(panel, state, sourceLine, source);
    if (from) shape(panel.over, "path", { class: "read via", d: curve([here[0], here[1] - half], [from[0], from[1] + half]), stroke: headColour(head), "stroke-dasharray": headDash(head), "stroke-width": 2.4 });
  }
}
