// Positions of cells. The canvas view has a line per step and a column per row of the transformer. The tree view shows
// each written symbol above the symbols that it was computed from.

const GUTTER = 50, TOP = 20, BETWEEN = 12;

function measure(panel, state) {
  const width = panel.scroller.clientWidth - GUTTER - 6;
  const columns = state.tree ? panel.foldedColumns : panel.columns + 1;
  const cell = Math.min(state.tree ? 40 : 32, Math.max(state.tree ? 9 : 11, Math.floor(((width - BETWEEN) / columns) * 2) / 2));
  // side by side, a step has the same height in all panels
  const lines = state.half ? Math.max(...state.panels.map((p) => p.lines)) : panel.lines;
  const row = Math.min(state.half ? 36 : 24, Math.max(state.tree ? 27 : 18, (window.innerHeight * 0.68 - 210) / lines));
  panel.w = cell * state.zoom;
  panel.h = row * state.zoom;
  panel.split = !panel.looped && panel.firstSlot > 0 ? BETWEEN : 0;
  panel.contentWidth = GUTTER + columns * panel.w + BETWEEN;
  panel.contentHeight = TOP + panel.lines * panel.h + 8;
}

// Half the height of a cell; the lines between rows need the rest.
const halfCell = (panel, state) => Math.min(13, panel.h * (state.tree ? 0.31 : 0.38));

const centreY = (panel, line) => TOP + (line + 0.5) * panel.h;

// The middle of a cell, or null if the tree does not show it.
function centre(panel, state, line, column) {
  if (!state.tree) {
    const shift = column >= panel.firstSlot ? panel.split : 0;
    return [GUTTER + (column + 0.5) * panel.w + shift, centreY(panel, line)];
  }
  const x = panel.place.get(line * panel.columns + column);
  return x === undefined ? null : [GUTTER + (x + 0.5) * panel.w, centreY(panel, line)];
}

// (x, y) of the content → {line, column} of the cell at this position, or null.
function cellAt(panel, state, x, y) {
  const line = Math.floor((y - TOP) / panel.h);
  if (line < 0 || line >= panel.lines) return null;
  if (!state.tree) {
    let column = Math.floor((x - GUTTER) / panel.w);
    if (column >= panel.firstSlot) column = Math.max(panel.firstSlot, Math.floor((x - GUTTER - panel.split) / panel.w));
    return column >= 0 && column < panel.columns && isThere(panel, line, column) ? { line, column } : null;
  }
  let best = null, nearest = panel.w * 0.75;
  for (let column = 0; column < panel.columns; column++) {
    const middle = centre(panel, state, line, column);
    if (middle && Math.abs(middle[0] - x) < nearest) [best, nearest] = [{ line, column }, Math.abs(middle[0] - x)];
  }
  return best;
}

// A chain has no slot before it is generated; all other cells exist at every line.
const isThere = (panel, line, column) =>
  panel.looped || panel.diffuses || column < panel.firstSlot || tokenAt(panel, line, column) !== NOTHING;
