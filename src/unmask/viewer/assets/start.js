// Build the page from its data and connect its controls.

const byId = (id) => document.getElementById(id);

function buildPanel(panel, state) {
  const label = `${panel.name}: ${panel.lines} lines of ${panel.columns} cells; click a cell to select it, or press shift and an arrow key`;
  panel.state = make("span", { class: "state" });
  panel.whole = make("i", { class: "whole" });
  panel.done = make("i", { class: "done" });
  panel.scroller = make("div", { class: "scroller", tabindex: "0", role: "group", "aria-roledescription": "canvas of slots", "aria-label": label });
  panel.surface = make("canvas", { "aria-hidden": "true" });
  for (const layer of ["under", "over"]) {
    panel[layer] = document.createElementNS(SVG, "svg");
    panel[layer].setAttribute("class", layer);
    panel[layer].setAttribute("aria-hidden", "true");
  }
  panel.space = make("div", { class: "space" });
  panel.space.append(panel.under, panel.surface, panel.over);
  panel.scroller.append(panel.space);
  const notes = [...(panel.register ? [`Cells show the register ${panel.register} of each row.`] : []), ...panel.leftOut];
  const head = make("h2", {}, make("span", {}, panel.name), panel.state);
  panel.section = make("section", { class: "panel", "data-kind": panel.kind, "aria-label": panel.name }, head, make("div", { class: "race", "aria-hidden": "true" }, panel.whole, panel.done), panel.scroller);
  notes.forEach((note) => panel.section.append(make("p", { class: "note" }, note)));
  panel.whole.style.width = `${(100 * panel.steps) / state.most}%`;
  panel.scroller.addEventListener("scroll", () => drawGrid(panel, state), { passive: true });
  panel.surface.addEventListener("click", (event) => {
    const box = panel.space.getBoundingClientRect();
    const cell = cellAt(panel, state, event.clientX - box.left, event.clientY - box.top);
    play(state, false);
    panel.scroller.focus({ preventScroll: true });
    if (cell) choose(state, panel, cell.line, cell.column);
  });
  return panel.section;
}

function refresh(state, { anew = false } = {}) {
  if (anew) {
    state.half = fitsHalf(state);
    for (const panel of state.panels) panel.section.classList.toggle("half", state.half);
    for (const panel of state.panels) {
      measure(panel, state);
      panel.space.style.width = `${panel.contentWidth}px`;
      panel.space.style.height = `${panel.contentHeight}px`;
    }
  }
  for (const panel of state.panels) {
    const over = state.step >= panel.steps;
    const verdict = panel.accepted === null ? "no answer" : panel.accepted ? "accepted ✓" : "rejected ✗";
    panel.state.textContent = over ? `${verdict} after ${counted(panel.steps, panel.looped ? "loop" : "step")}` : `step ${state.step} of ${panel.steps}`;
    panel.state.className = `state ${over && panel.accepted !== null ? (panel.accepted ? "accepted" : "rejected") : ""}`;
    panel.done.style.width = `${(100 * Math.min(state.step, panel.steps)) / state.most}%`;
    follow(panel, state);
    drawGrid(panel, state);
    drawLines(panel, state);
  }
  byId("scrub").value = state.step;
  byId("tick").textContent = `step ${state.step} of ${state.most}`;
  if (state.chosen) showDetails(state);
}

// Place two panels side by side if the cells of both stay readable.
function fitsHalf(state) {
  const widest = Math.max(...state.panels.map((p) => (state.tree ? p.foldedColumns : p.columns + 2)));
  return state.panels.length > 1 && (byId("panels").clientWidth - 32) / 2 - GUTTER > widest * (state.tree ? 9 : 13) * state.zoom;
}

function follow(panel, state) {
  const y = centreY(panel, lineAt(panel, state.step)), { scroller } = panel;
  if (y + panel.h > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = y + panel.h - scroller.clientHeight;
  if (y - panel.h < scroller.scrollTop + TOP) scroller.scrollTop = Math.max(0, y - panel.h - TOP);
}

function summary(state) {
  const parts = [];
  state.panels.forEach((panel, i) => {
    parts.push(i ? ", " : "", `${panel.name} ${panel.accepted === null ? "gives no answer" : panel.accepted ? "accepts" : "rejects"} after `, make("b", {}, counted(panel.steps, panel.looped ? "loop" : "step")));
  });
  byId("summary").append(...parts, ".");
  const { problem, word } = view.about;
  if (problem) byId("title").replaceChildren(make("code", {}, make("bdi", {}, problem)), " on ", make("code", {}, make("bdi", {}, word || "the empty word")));
}

function connect(state) {
  const on = (id, event, act) => byId(id).addEventListener(event, act);
  const go = (step) => () => { play(state, false); setStep(state, step()); };
  on("first", "click", go(() => 0));
  on("back", "click", go(() => state.step - 1));
  on("forward", "click", go(() => state.step + 1));
  on("last", "click", go(() => state.most));
  on("play", "click", () => play(state, !state.playing));
  on("scrub", "input", go(() => Number(byId("scrub").value)));
  on("all", "change", () => setAll(state, byId("all").checked));
  on("smaller", "click", () => zoom(state, 1 / 1.2));
  on("larger", "click", () => zoom(state, 1.2));
  on("theme", "click", () => {
    const dark = getComputedStyle(document.documentElement).colorScheme === "dark" || (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches);
    document.documentElement.dataset.theme = dark ? "light" : "dark";
    recolour(state);
  });
  document.querySelectorAll("input[name=layout]").forEach((radio) => radio.addEventListener("change", () => setLayout(state, radio.value === "tree" && radio.checked)));
  document.addEventListener("keydown", (event) => onKey(state, event));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => recolour(state));
  new ResizeObserver(() => refresh(state, { anew: true })).observe(byId("panels"));
}

function recolour(state) {
  readInk();
  refresh(state);
}

async function start() {
  const panels = await Promise.all(view.panels.map(readPanel));
  const state = { panels, step: 0, most: Math.max(1, ...panels.map((p) => p.steps)), tree: false, all: true, zoom: 1, playing: false, timer: 0, chosen: null, stage: null, folded: false, details: byId("details") };
  byId("text").open = false;
  byId("scrub").max = state.most;
  summary(state);
  byId("remarks").append(...view.about.remarks.map((remark) => make("li", {}, remark)));
  byId("panels").append(...panels.map((panel) => buildPanel(panel, state)));
  document.documentElement.dataset.ready = "true";
  readInk();
  const first = panels[0];
  state.step = state.most;
  state.chosen = { panel: first, line: first.lines - 1, column: first.columns - 1 };
  refresh(state, { anew: true });
  for (const panel of panels) {
    // if a canvas is far wider than the page, show its end: the slots after the input are mostly masks
    if (panel.contentWidth > 2.2 * panel.scroller.clientWidth) reveal(panel, state, panel.lines - 1, panel.columns - 1);
  }
  connect(state);
  if (location.hash === "#play" && !matchMedia("(prefers-reduced-motion: reduce)").matches) play(state, true);
  globalThis.unmaskView = { state, centre, cellAt, lineAt };
}

const view = JSON.parse(byId("data").textContent);
start().catch((error) => {
  document.documentElement.dataset.failed = "true";
  byId("summary").textContent = `This browser cannot show the runs (${error.message}). They are shown below as text.`;
  byId("text").open = true;
});
