"use strict";
// The page's data: decode the arrays that `panel.packed` encoded, and answer the queries of the other scripts.

const ARRAYS = { int8: Int8Array, int16: Int16Array, int32: Int32Array };
const KEPT = 0, WRITTEN = 1, EDITED = 2, REPEATED = 3, NOTHING = -1;

async function unpacked(packed) {
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  const values = new ARRAYS[packed.type](await new Response(stream).arrayBuffer());
  const stride = packed.shape.slice(1).reduce((a, b) => a * b, 1);
  for (let i = stride; i < values.length; i++) values[i] += values[i - stride];
  return { values, shape: packed.shape, stride };
}

async function readPanel(document_) {
  const panel = { ...document_ };
  for (const name of ["tokens", "change", "edges", "places"]) panel[name] = await unpacked(document_[name]);
  [panel.lines, panel.columns] = panel.tokens.shape;
  panel.looped = panel.kind === "plt";
  panel.diffuses = ["mdm", "smdm", "topk"].includes(panel.kind);
  panel.place = new Map();
  const places = panel.places.values;
  for (let i = 0; i < places.length; i += 3) panel.place.set(places[i] * panel.columns + places[i + 1], places[i + 2] / 64);
  panel.foldedColumns = panel.looped ? panel.columns : Math.max(1, panel.firstSlot);
  for (const head of panel.heads) {
    for (const name of ["counts", "keys", "weights"]) head[name] = await unpacked(head[name]);
    head.starts = new Int32Array(head.counts.values.length + 1);
    for (let i = 0; i < head.counts.values.length; i++) head.starts[i + 1] = head.starts[i] + head.counts.values[i];
  }
  for (const transformer of panel.transformers) {
    for (const stage of transformer.stages) stage.values = await unpacked(stage.values);
    if (transformer.decided) {
      for (const name of ["symbols", "values"]) transformer.decided[name] = await unpacked(transformer.decided[name]);
    }
  }
  return panel;
}

const at = (panel, array, line, column) => array.values[line * panel.columns + column];
const tokenAt = (panel, line, column) => at(panel, panel.tokens, line, column);
const changeAt = (panel, line, column) => at(panel, panel.change, line, column);
const symbolAt = (panel, line, column) => {
  const token = tokenAt(panel, line, column);
  return token === NOTHING ? "" : panel.symbols[token];
};

// The moment whose computation led to a line, as in `RunHistory.moment`; null before the first step.
const momentOf = (panel, line) => (panel.looped ? line : line > 0 ? line - 1 : null);

// The line that a panel shows when the clock is at a step; a looped model answers right after its last loop.
const lineAt = (panel, step) => (panel.looped && step >= panel.steps ? panel.lines - 1 : Math.min(step, panel.lines - 1));
const stepOf = (panel, line) => Math.min(line, panel.steps);

// The row whose logits decided a cell, as in `RunHistory.deciding_row`.
const decidingRow = (panel, line, column) =>
  panel.kind === "cot" && changeAt(panel, line, column) !== KEPT ? column - 1 : column;

// The line in which a column was written last, as seen by the step of `line`; 0 for the input.
function lastWritten(panel, line, column) {
  for (let l = line - 1; l > 0; l--) {
    const change = changeAt(panel, l, column);
    if (change === WRITTEN || change === EDITED) return l;
  }
  return 0;
}

// [{head, index, key, weight}] of one row in one moment, heads in order.
function readsOf(panel, moment, row) {
  const found = [];
  if (moment === null) return found;
  panel.heads.forEach((head, index) => {
    const [moments, rows] = head.counts.shape;
    const m = moment - head.first;
    if (m < 0 || m >= moments || row >= rows) return;
    const place = m * rows + row;
    for (let i = head.starts[place]; i < head.starts[place + 1]; i++) {
      found.push({ head, index, key: head.keys.values[i], weight: head.weights.values[i] });
    }
  });
  return found;
}

function decisionOf(panel, transformer, moment, row) {
  const decided = transformer.decided;
  if (!decided || moment === null) return null;
  const [moments, rows, outputs] = decided.symbols.shape;
  const m = moment - decided.first;
  if (m < 0 || m >= moments || row < 0 || row >= rows) return null;
  const start = (m * rows + row) * outputs;
  const found = [];
  for (let i = start; i < start + outputs; i++) {
    const symbol = decided.symbols.values[i];
    if (symbol >= 0) found.push({ symbol, value: decided.values.values[i] });
  }
  return found.length ? found : null;
}

// The registers of a row after a stage: [{name, labels, values}], or null if they are not stored in the page.
function registersOf(transformer, stage, moment, row) {
  const [moments, rows, width] = stage.values.shape;
  const m = moment - stage.first;
  if (moment === null || m < 0 || m >= moments || row < 0 || row >= rows) return null;
  const values = stage.values.values.subarray((m * rows + row) * width, (m * rows + row + 1) * width);
  const blocks = transformer.registers.length ? transformer.registers : [["column", [...Array(width).keys()].map(String)]];
  let first = 0;
  return blocks.map(([name, labels]) => {
    const part = Array.from(values.subarray(first, first + labels.length));
    first += labels.length;
    return { name, labels, values: part };
  });
}

function columnName(panel, column) {
  const input = panel.firstSlot - panel.length;
  if (column < input) return "begin";
  if (column < panel.firstSlot) return `input ${column - input}`;
  const named = panel.slotNames[column - panel.firstSlot];
  return named || `${panel.looped ? "pad" : "slot"} ${column - panel.firstSlot}`;
}

function headName(panel, head) {
  const layers = new Set(panel.heads.filter((h) => h.transformer === head.transformer).map((h) => h.layer));
  return `${panel.transformers.length > 1 ? head.transformer + " " : ""}${layers.size > 1 ? `layer ${head.layer} ` : ""}head ${head.head}`;
}

function number(value, scale) {
  const text = String(Math.round((value / scale) * 1000) / 1000);
  return text.replace("-", "−");
}

const counted = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;
