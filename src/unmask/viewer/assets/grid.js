// Draw the cells on a canvas as large as the visible area.

let ink = {};

function readInk() {
  const probe = document.body.appendChild(document.createElement("i"));
  for (const name of ["paper", "ink", "soft", "faint", "rule", "cell", "now", "written", "on-written", "edited", "on-edited", "good", "bad"]) {
    probe.style.color = `var(--${name})`;
    ink[name] = getComputedStyle(probe).color;
  }
  const style = getComputedStyle(document.documentElement);
  ink.mono = style.getPropertyValue("--mono");
  ink.sans = style.getPropertyValue("--sans");
  probe.remove();
}

function drawGrid(panel, state) {
  const { scroller, surface } = panel;
  const width = scroller.clientWidth, height = Math.min(scroller.clientHeight, panel.contentHeight);
  const ratio = window.devicePixelRatio || 1;
  surface.width = Math.round(width * ratio);
  surface.height = Math.round(height * ratio);
  surface.style.width = `${width}px`;
  surface.style.height = `${height}px`;
  const pen = surface.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.direction = "ltr";
  const left = scroller.scrollLeft, top = scroller.scrollTop;
  const current = lineAt(panel, state.step);
  const first = Math.max(0, Math.floor((top - TOP) / panel.h)), last = Math.min(panel.lines - 1, Math.ceil((top + height - TOP) / panel.h));
  for (let line = first; line <= last; line++) {
    const y = centreY(panel, line) - top;
    if (line === current) {
      pen.fillStyle = ink.now;
      pen.fillRect(0, y - panel.h / 2, width, panel.h);
    }
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER - 4, 0, width, height);
    pen.clip();
    for (let column = 0; column < panel.columns; column++) {
      const middle = centre(panel, state, line, column);
      if (!middle || middle[0] < left - panel.w || middle[0] > left + width + panel.w) continue;
      drawCell(pen, panel, state, line, column, middle[0] - left, y, line > current);
    }
    pen.restore();
    drawLabel(pen, panel, line, y, line === current);
  }
  drawHeader(pen, panel, state, left, width);
}

function drawCell(pen, panel, state, line, column, x, y, future) {
  const token = tokenAt(panel, line, column);
  const input = column < panel.firstSlot && !panel.looped;
  if (future && !(input && line === 0)) {
    if (!input && !state.tree && (panel.diffuses || panel.looped)) dot(pen, x, y, ink.rule, 1.2);
    return;
  }
  const change = changeAt(panel, line, column);
  if (token === panel.mask || (token === NOTHING && change === KEPT)) {
    if (!input && (panel.diffuses || panel.looped)) dot(pen, x, y, ink.faint, Math.min(2, panel.w / 7));
    return;
  }
  if (input && line > 0) {
    if (!state.tree) label(pen, panel, panel.symbols[token], x, y, ink.faint);
    return;
  }
  const across = Math.min(panel.w, 34) - Math.min(3, panel.w / 7), down = 2 * halfCell(panel, state);
  pen.beginPath();
  pen.roundRect(x - across / 2, y - down / 2, across, down, Math.min(5, across / 4));
  let colour = ink.ink;
  if (change === WRITTEN) {
    pen.fillStyle = ink.written;
    pen.fill();
    colour = ink["on-written"];
  } else if (change === EDITED) {
    pen.fillStyle = ink.edited;
    pen.fill();
    colour = ink["on-edited"];
    pen.lineWidth = 1.6;
    pen.strokeStyle = ink["on-edited"];
    pen.stroke();
  } else if (!input || panel.looped) {
    if (!panel.looped || line === 0 || token !== NOTHING) {
      pen.fillStyle = ink.cell;
      pen.fill();
    }
    if (change === REPEATED) {
      pen.setLineDash([3, 2]);
      pen.lineWidth = 1.3;
      pen.strokeStyle = ink.written;
      pen.stroke();
      pen.setLineDash([]);
    }
    colour = panel.looped || line === lineAt(panel, state.step) ? ink.ink : ink.soft;
  }
  if (token !== NOTHING) label(pen, panel, panel.symbols[token], x, y, colour);
}

function dot(pen, x, y, colour, radius) {
  pen.fillStyle = colour;
  pen.beginPath();
  pen.arc(x, y, radius, 0, 2 * Math.PI);
  pen.fill();
}

const SMALLEST = 6;

// Draw a symbol as large as its cell allows. A long symbol ends in "…"; a cell that is too small shows a mark.
function label(pen, panel, text, x, y, colour) {
  const room = Math.min(panel.w, 34) - 3;
  let size = Math.min(panel.h * 0.62, 15);
  pen.fillStyle = colour;
  pen.font = `500 ${size}px ${ink.mono}`;
  const width = pen.measureText(text).width;
  if (width > room) size = Math.max(size * (room / width), 0);
  const letters = [...text], fitting = Math.floor(room / (0.62 * SMALLEST)) - 1;
  if (size < SMALLEST && fitting >= 2 && panel.h * 0.62 >= SMALLEST) {
    size = SMALLEST;
    text = `${letters.slice(0, fitting).join("")}…`;
  }
  if (size >= SMALLEST) {
    pen.font = `500 ${size}px ${ink.mono}`;
    pen.fillText(text, x, y + 0.5);
  } else {
    pen.fillRect(x - room * 0.28, y - 1, room * 0.56, 2);
  }
}

function drawLabel(pen, panel, line, y, current) {
  const answer = panel.looped && line === panel.lines - 1;
  pen.fillStyle = current ? ink.ink : ink.soft;
  pen.font = `${current ? 600 : 400} ${Math.min(answer ? 10.5 : 12, panel.h * 0.75)}px ${ink.sans}`;
  pen.textAlign = "right";
  pen.fillText(answer ? "answer" : String(line), GUTTER - 8, y);
  pen.textAlign = "center";
}

function drawHeader(pen, panel, state, left, width) {
  if (panel.scroller.scrollTop > TOP) return;
  const y = TOP / 2 - panel.scroller.scrollTop;
  const input = panel.firstSlot * panel.w;
  pen.font = `400 11.5px ${ink.sans}`;
  pen.fillStyle = ink.soft;
  pen.textAlign = "left";
  pen.save();
  pen.beginPath();
  pen.rect(GUTTER - 4, 0, width, TOP);
  pen.clip();
  const slots = panel.looped ? "pads" : panel.diffuses ? "slots" : "chain";
  if (state.tree && !panel.looped) pen.fillText("input, with the written symbols below it", GUTTER - left + 2, y);
  else {
    if (input > 34) pen.fillText("input", GUTTER - left + 2, y);
    pen.fillText(slots, GUTTER + input + panel.split - left + 2, y);
  }
  pen.restore();
  pen.textAlign = "right";
  pen.fillText(panel.looped ? "loop" : "step", GUTTER - 8, y);
  pen.textAlign = "center";
}
