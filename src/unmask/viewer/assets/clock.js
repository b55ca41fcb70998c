// The clock that all runs share (buttons, keys, play), and the selected cell, which follows the clock.

function setStep(state, step, { follow = true } = {}) {
  state.step = Math.max(0, Math.min(state.most, step));
  if (state.chosen && follow) {
    const { panel, column } = state.chosen;
    state.chosen = { panel, column: nearestColumn(panel, lineAt(panel, state.step), column), line: lineAt(panel, state.step) };
  }
  refresh(state);
}

// A chain that is not yet as long as the chosen column shows its last symbol instead.
function nearestColumn(panel, line, column) {
  while (column > 0 && !isThere(panel, line, column)) column--;
  return column;
}

function choose(state, panel, line, column) {
  state.chosen = { panel, line, column };
  state.step = panel.looped && line === panel.lines - 1 ? Math.max(state.step, panel.steps) : stepOf(panel, line);
  if (panel.looped && line === panel.steps) state.step = panel.steps;
  refresh(state);
}

function play(state, on) {
  clearTimeout(state.timer);
  state.playing = on;
  if (on && state.step >= state.most) setStep(state, 0);
  const tick = () => {
    if (!state.playing) return;
    setStep(state, state.step + 1);
    if (state.step >= state.most) play(state, false);
    else state.timer = setTimeout(tick, Number(byId("speed").value));
  };
  if (on) state.timer = setTimeout(tick, Number(byId("speed").value));
  byId("play").textContent = on ? "❚❚" : "▶";
  byId("play").setAttribute("aria-label", on ? "pause" : "play");
}

function moveChoice(state, lines, columns) {
  if (!state.chosen) return;
  const { panel, line, column } = state.chosen;
  const to = [Math.max(0, Math.min(panel.lines - 1, line + lines)), Math.max(0, Math.min(panel.columns - 1, column + columns))];
  choose(state, panel, to[0], nearestColumn(panel, to[0], to[1]));
  reveal(panel, state, state.chosen.line, state.chosen.column);
}

// Scroll a panel sideways until a cell is in it.
function reveal(panel, state, line, column) {
  const here = centre(panel, state, line, column), { scroller } = panel;
  if (!here) return;
  if (here[0] - panel.w < scroller.scrollLeft + GUTTER) scroller.scrollLeft = here[0] - panel.w - GUTTER;
  if (here[0] + panel.w > scroller.scrollLeft + scroller.clientWidth) scroller.scrollLeft = here[0] + panel.w - scroller.clientWidth;
}

function zoom(state, factor) {
  state.zoom = Math.max(0.5, Math.min(4, state.zoom * factor));
  refresh(state, { anew: true });
}

function onKey(state, event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const inside = event.target.tagName;
  if (inside === "SELECT" || (inside === "INPUT" && event.target.type === "range" && event.key.startsWith("Arrow"))) return;
  if ((inside === "BUTTON" || inside === "INPUT" || inside === "SUMMARY") && (event.key === " " || event.key === "Enter")) return;
  if (inside === "INPUT" && event.target.type === "radio" && event.key.startsWith("Arrow")) return;
  if (inside === "PRE") return;
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const keys = {
    ArrowLeft: () => setStep(state, state.step - 1), ArrowRight: () => setStep(state, state.step + 1),
    Home: () => setStep(state, 0), End: () => setStep(state, state.most), " ": () => play(state, !state.playing),
    t: () => setLayout(state, !state.tree), r: () => setAll(state, !state.all),
    "+": () => zoom(state, 1.2), "=": () => zoom(state, 1.2), "-": () => zoom(state, 1 / 1.2),
  };
  if (event.target.classList.contains("scroller")) {
    keys.ArrowUp = keys.ArrowLeft;
    keys.ArrowDown = keys.ArrowRight;
  }
  const act = event.shiftKey && moves[event.key] ? () => moveChoice(state, ...moves[event.key]) : keys[event.key];
  if (!act) return;
  event.preventDefault();
  if (event.key !== " ") play(state, false);
  act();
}

function setLayout(state, tree) {
  state.tree = tree;
  document.querySelector(`input[name=layout][value=${tree ? "tree" : "canvas"}]`).checked = true;
  refresh(state, { anew: true });
}

function setAll(state, all) {
  state.all = all;
  byId("all").checked = all;
  refresh(state);
}
