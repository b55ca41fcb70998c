// Details of the selected cell: what changed, why, which rows were read, and the contents of the registers.

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}
const symbol = (text) => make("bdi", {}, text === "" ? "nothing" : text);

function showDetails(state) {
  const box = state.details;
  box.replaceChildren();
  const { panel, line, column } = state.chosen;
  const moment = momentOf(panel, line), row = decidingRow(panel, line, column);
  const planner = panel.transformers.find((t) => t.name === "planner");
  const writer = panel.transformers.find((t) => t.name !== "planner");
  box.append(what(panel, line, column), why(panel, planner, writer, moment, line, column, row), heads(panel, moment, line, row));
  box.append(registers(state, panel, planner, writer, moment, row));
  const fold = make("button", { id: "fold", type: "button", class: "quiet", "aria-label": "show or hide the details", "aria-expanded": String(!state.folded) }, state.folded ? "▴" : "▾");
  fold.addEventListener("click", () => {
    state.folded = !state.folded;
    showDetails(state);
    byId("fold").focus();
  });
  box.classList.toggle("closed", state.folded);
  box.append(fold);
}

function what(panel, line, column) {
  const change = changeAt(panel, line, column), text = symbolAt(panel, line, column);
  const name = columnName(panel, column);
  const title = `${name[0].toUpperCase()}${name.slice(1)}`;
  const when = panel.looped ? (line === panel.lines - 1 ? "answer" : line ? `loop ${line}` : "before the first loop") : line ? `step ${line}` : "before the first step";
  const tile = make("div", { class: `symbol ${["", "written", "edited", ""][change]}` }, symbol(text || "·"));
  return make("div", { class: "what" }, tile, make("div", {},
    make("h3", {}, title, make("span", {}, ` · ${when} · ${panel.name}`)),
    make("p", { id: "happened" }, ...happened(panel, line, column, change, text))));
}

function happened(panel, line, column, change, text) {
  if (panel.looped) {
    if (line === panel.lines - 1) return column === panel.columns - 1 ? ["The last row decodes to ", symbol(text), ", the answer."] : ["Only the last row is decoded."];
    if (!panel.register) return [change ? "This loop changed its registers." : line ? "This loop did not change its registers." : "Before the first loop."];
    const before = line ? symbolAt(panel, line - 1, column) : null;
    if (before === null) return [`Register ${panel.register} contains `, symbol(text), "."];
    return before === text
      ? [`Register ${panel.register} `, ...(text ? ["still contains ", symbol(text)] : ["is still empty"]), "."]
      : [`Register ${panel.register} changed from `, symbol(before), " to ", symbol(text), "."];
  }
  if (column < panel.firstSlot) return ["This is a letter of the input. It never changes."];
  if (line === 0) return ["Nothing has been computed yet. Go one step forward."];
  const wrote = [" wrote ", symbol(text), "."];
  if (!panel.diffuses) {
    if (change === KEPT) return ["This symbol was written in an earlier step: ", symbol(text), "."];
    return panel.kind === "cot"
      ? ["The next symbol of the chain is ", symbol(text), `. The row before it, ${columnName(panel, column - 1)}, decides it.`]
      : ["A mask was appended here, and the model", ...wrote];
  }
  if (panel.kind === "topk" && !panel.planner) return byConfidence(panel, line, column, change, text, wrote);
  const chooser = panel.planner ? `The planner ${panel.planner}` : "The planner";
  const by = panel.kind === "topk" ? "the model" : "the predictor";
  if (change === WRITTEN) return [`${chooser} chose this masked slot, and ${by}`, ...wrote];
  if (change === EDITED) return [`${chooser} chose this slot again. It contained `, symbol(symbolAt(panel, line - 1, column)), `, and ${by}`, ...wrote];
  if (change === REPEATED) return [`${chooser} chose this slot again, and ${by} wrote the same symbol.`];
  return tokenAt(panel, line, column) === panel.mask ? [`${chooser} did not choose this slot. It is still masked.`] : [`${chooser} did not choose this slot. It still contains `, symbol(text), "."];
}

function byConfidence(panel, line, column, change, text, wrote) {
  if (change === WRITTEN) return ["The model was confident enough about this masked slot and", ...wrote];
  if (change === EDITED) return ["The model was confident enough to write this slot again. It contained ", symbol(symbolAt(panel, line - 1, column)), ", and the model", ...wrote];
  if (change === REPEATED) return ["The model was confident enough to write this slot again. It wrote the same symbol."];
  return tokenAt(panel, line, column) === panel.mask ? ["The model was not confident enough to write this slot. It is still masked."] : ["The model was not confident enough to write this slot. It still contains ", symbol(text), "."];
}

function why(panel, planner, writer, moment, line, column, row) {
  const box = make("div", { id: "why" });
  const choice = planner && decisionOf(panel, planner, moment, row);
  if (choice) {
    const [keep, take] = choice.map((c) => c.value);
    box.append(make("h3", {}, "Planner ", make("span", {}, take > keep ? "take has the larger logit" : take === keep ? "a tie, so keep" : "keep has the larger logit")));
    box.append(bars([["keep", keep, take <= keep], ["take", take, take > keep]], panel));
  }
  const likeliest = writer && decisionOf(panel, writer, moment, row);
  if (likeliest) {
    const used = panel.diffuses ? changeAt(panel, line, column) !== KEPT : true;
    box.append(make("h3", {}, panel.diffuses ? "Predictor " : "Output ", make("span", {}, used ? "most likely symbols" : "most likely symbols, not written in this step")));
    box.append(bars(likeliest.map((c, i) => [panel.symbols[c.symbol], c.value, i === 0 && used]), panel));
    if (panel.kind === "topk" && !panel.planner) {
      box.append(make("p", { class: "soft" }, panel.k === null ? `A slot is written if its largest logit is above −B = ${number(-panel.bound, panel.scale)}.` : panel.k === 1 ? "The slot with the largest logit is written." : `The ${panel.k} slots with the largest logits are written.`));
    }
  }
  if (!choice && !likeliest) box.append(make("p", { class: "soft" }, moment === null ? "" : writer && writer.decided ? "No decision is made from this row." : "The logits are not stored in this page."));
  return box;
}

function bars(rows, panel) {
  const table = make("table");
  const span = panel.bound ? 2 * panel.bound : Math.max(1, ...rows.map((r) => Math.abs(r[1]))) * 2;
  for (const [name, value, chosen] of rows) {
    const bar = make("span", { class: "bar" });
    bar.style.width = `${Math.max(2, (72 * (value + span / 2)) / span)}px`;
    table.append(make("tr", chosen ? { class: "chosen" } : {}, make("td", {}, symbol(name)), make("td", {}, number(value, panel.scale)), make("td", {}, bar)));
  }
  return table;
}

function heads(panel, moment, line, row) {
  const box = make("div", { id: "reads" });
  const reads = readsOf(panel, moment, row);
  box.append(make("h3", {}, "Attention ", make("span", {}, reads.length ? "rows that each head reads, with weights" : "no row is read here")));
  if (!panel.heads.length && panel.leftOut.length) box.append(make("p", { class: "soft" }, panel.leftOut[0]));
  const table = make("table");
  let last = null;
  reads.slice(0, 200).forEach(({ head, index, key, weight }) => {
    const name = make("th", {});
    if (last !== index) {
      const swatch = document.createElementNS(SVG, "svg");
      swatch.setAttribute("class", "swatch-line");
      swatch.setAttribute("viewBox", "0 0 30 10");
      shape(swatch, "path", { d: "M1 5H29", stroke: headColour(index), "stroke-width": 3, "stroke-dasharray": headDash(index) });
      name.append(swatch, headName(panel, head));
    }
    last = index;
    const contents = symbolAt(panel, Math.max(0, line - (moment === null ? 0 : 1)), key);
    table.append(make("tr", { "data-transformer": head.transformer, "data-layer": head.layer, "data-head": head.head, "data-row": key, "data-weight": weight },
      name, make("td", {}, columnName(panel, key), " ", symbol(contents === "" ? "·" : contents)), make("td", {}, make("span", { class: "value" }, `×${number(weight, panel.scale)}`))));
  });
  box.append(table);
  if (reads.length > 200) box.append(make("p", { class: "soft" }, `and ${reads.length - 200} more rows`));
  return box;
}

function registers(state, panel, planner, writer, moment, row) {
  const box = make("div", { id: "registers" });
  const choices = [];
  for (const transformer of [writer, planner]) {
    if (!transformer) continue;
    for (const stage of [...transformer.stages].reverse()) {
      if (registersOf(transformer, stage, moment, row)) choices.push({ transformer, stage });
    }
  }
  const heading = make("h3", {}, "Registers ");
  box.append(heading);
  if (!choices.length) {
    box.append(make("p", { class: "soft" }, moment === null ? "Registers are computed in the first step." : "Registers are not stored in this page."));
    return box;
  }
  const name = ({ transformer, stage }) =>
    `${panel.transformers.length > 1 ? transformer.name + ", " : ""}${stage.stage ? `after layer ${stage.stage - 1}` : "before layer 0"}`;
  const select = make("select", { id: "stage", "aria-label": "transformer and layer whose registers are shown" });
  choices.forEach((choice) => select.append(make("option", {}, name(choice))));
  const kept = choices.findIndex((choice) => name(choice) === state.stage);
  select.selectedIndex = Math.max(0, kept);
  heading.append(select);
  const body = make("div");
  const fill = () => {
    const { transformer, stage } = choices[select.selectedIndex];
    body.replaceChildren(...registerTable(registersOf(transformer, stage, moment, row), panel.scale));
  };
  select.addEventListener("change", () => {
    state.stage = name(choices[select.selectedIndex]);
    fill();
  });
  fill();
  box.append(body);
  return box;
}

function registerTable(blocks, scale) {
  const list = make("dl", { class: "list" }), empty = [];
  for (const { name, labels, values } of blocks) {
    const nonzero = values.map((v, i) => [labels[i], v]).filter(([, v]) => v !== 0);
    if (!nonzero.length) {
      empty.push(name);
      continue;
    }
    const cell = make("dd");
    const signs = labels.length > 1 && nonzero.length === values.length && new Set(values.map(Math.abs)).size === 1;
    if (labels.length === 1) cell.append(number(values[0], scale));
    else if (signs) cell.append(values.map((v) => (v > 0 ? "+" : "−")).join(" "), make("span", { class: "value" }, `  ×${number(Math.abs(values[0]), scale)}`));
    else {
      nonzero.slice(0, 40).forEach(([label, v], i) => cell.append(i ? ", " : "", symbol(label || "value"), make("span", { class: "value" }, ` ${number(v, scale)}`)));
      if (nonzero.length > 40) cell.append(make("span", { class: "value" }, ` and ${nonzero.length - 40} more`));
    }
    list.append(make("div", { "data-register": name }, make("dt", {}, make("bdi", {}, name)), cell));
  }
  const rest = empty.length ? make("p", { class: "soft" }, "0: ", ...empty.flatMap((n, i) => [i ? ", " : "", make("bdi", {}, n)])) : "";
  return [list, rest];
}
