// Answers of the server → elements of the page.

import { counted, make } from "/static/elements.js";
import { toFragment } from "/static/state.js";

const OWN = "the model’s own planner";
const FRAMEWORKS = { mdm: "masked diffusion", smdm: "mask-dominated diffusion", topk: "diffusion by confidence", plt: "the looped transformer", cot: "chain of thought", pcot: "parallel chain of thought" };

function statement(who, answer, right, steps, looped) {
  const judged = right === null ? "" : answer === right ? "right" : "wrong";
  const mark = { right: " ✓", wrong: " ✗ wrong", "": "" }[judged];
  return make("div", { class: `said ${judged}` }, make("div", { class: "who" }, `${who} says`), make("div", { class: "what" }, answer + mark), make("p", {}, `after ${counted(steps, looped ? "loop" : "step")}${judged === "wrong" ? `; the correct answer is: ${right}` : ""}`));
}

export function verdict(answer) {
  const looped = answer.kind === "plt";
  const shown = [statement(answer.planner ? `the planner ${answer.planner}` : FRAMEWORKS[answer.kind], answer.answer, answer.right, answer.steps, looped)];
  if (answer.own) shown.push(statement(`${OWN}, with the same predictor,`, answer.own.answer, answer.right, answer.own.steps, false));
  const other = answer.beside.find((run) => run.kind !== answer.kind);
  if (other && !answer.own) shown.push(make("div", { class: "said" }, make("div", { class: "who" }, `${FRAMEWORKS[other.kind]} takes`), make("div", { class: "what" }, counted(other.steps, "step")), make("p", {}, "for the same word; both runs are shown below")));
  const sizes = [`N = ${answer.length}`, counted(answer.padding, looped ? "pad" : "slot"), `width ${answer.width}`, counted(answer.layers, "layer"), counted(answer.weights, "nonzero weight"), `numbers of F_${answer.precision}`, `compiled in ${(1000 * answer.compile_seconds).toFixed(0)} ms`, answer.layout];
  return [...shown, make("p", { class: "sizes" }, sizes.filter(Boolean).join(" · "))];
}

export function tries(words, choose) {
  if (!words.length) return [];
  const offered = words.map(({ word, right }) => {
    const button = make("button", { type: "button", title: word }, word);
    button.addEventListener("click", () => choose(word));
    return [button, ` (${right})`];
  });
  return ["Other words: ", ...offered.flatMap((pair, i) => (i ? [", ", ...pair] : pair))];
}

function answersOf(tally) {
  return tally.answers.map(([text, times]) => (tally.runs > 1 ? `${text} ×${times}` : text)).join(", ");
}

function rate(tally) {
  if (!tally.runs) return "–";
  const text = `${tally.right} of ${tally.runs}`;
  return make("span", { class: "rate" }, make("meter", { min: 0, max: tally.runs, value: tally.right, "aria-hidden": "true" }), make("span", tally.right < tally.runs ? { class: "wrong" } : {}, `${text}${tally.right < tally.runs ? " ✗" : " ✓"}`));
}

export function planners(answer, question) {
  const names = { own: OWN, uniform: `uniform:${question.k}`, confidence: `confidence:${question.k}`, "left-to-right": `left-to-right:${question.k}` };
  const rows = answer.rows.map((row) => {
    const link = make("a", { href: toFragment({ ...question, planner: row.planner }) }, names[row.planner]);
    return make("tr", row.planner === question.planner ? { class: "chosen" } : {}, make("th", { scope: "row" }, link), make("td", {}, String(row.steps)), make("td", {}, rate(row.word), make("div", { class: "answers" }, answersOf(row.word))), make("td", {}, rate(row.words)));
  });
  const samplers = answer.samplers.map((row) => make("tr", {}, make("th", { scope: "row" }, row.sampler), make("td", {}, String(row.passes)), make("td", {}, rate(row.word), make("div", { class: "answers" }, answersOf(row.word))), make("td", {}, rate(row.words))));
  const head = ["planner or sampler", "steps", "correct on this word, over seeds", "correct on other words"];
  return [
    make("table", {}, make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col" }, text)))), make("tbody", {}, ...rows), make("tbody", { class: "samplers" }, ...samplers)),
    make("p", {}, "The same predictor runs with four planners and with published samplers. A sampler that writes a fixed number of slots per pass uses the number chosen above. A slot can be predicted correctly only after the slots that it depends on are written. The model’s own planner waits for these slots and writes all slots that are ready at once. A planner that does not wait writes wrong symbols and never corrects them. A sampler that would take too long is left out."),
  ];
}

export function proof(answer) {
  const all = `every word of length ${answer.length}`;
  const message = {
    proved: `Proved: the model is correct on ${all}.`,
    refuted: `Refuted by the word ${answer.counterexample}: the correct answer is: ${answer.expected}; the model’s answer is: ${answer.got}.`,
    unknown: `Neither proved nor refuted: ${answer.reason}`,
    held: "No counterexample found.",
  }[answer.verdict];
  const how = answer.proof ? `${answer.proof.by}; ${counted(answer.cases, "case")}, ${answer.seconds.toFixed(2)} s. The proof uses only the weights of the model (${FRAMEWORKS[answer.kind]}) and its own planner.` : `${answer.seconds.toFixed(2)} s.`;
  return [make("p", { class: "verdict" }, message), make("p", { class: "hint" }, how)];
}

// The commands that do the same in a terminal.
export function shell(question, planner, length) {
  const quoted = (text) => (/^[\w:./=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`);
  const circuit = question.problem.startsWith("aag ");
  const grammar = question.problem.startsWith("cfg:");
  const program = question.problem.startsWith("program:");
  const file = circuit ? "aiger:circuit.aag" : grammar ? "cfg:grammar.cfg" : program ? `${question.problem}.py` : "";
  const problem = file || quoted(question.problem);
  const implied = circuit || question.problem.startsWith("expr:");
  const chosen = planner ? ` --planner ${planner}${question.planner === "uniform" ? ` --seed ${question.seed}` : ""}` : "";
  return [
    ...(program ? [`curl -O ${location.origin}/static/${file.slice("program:".length)}`] : []),
    `unmask compile ${problem}${implied ? "" : ` --length ${length}`} --to ${question.kind} --out models/mine`,
    `unmask run models/mine ${quoted(question.word)}${chosen}`,
    `unmask view models/mine ${quoted(question.word)}${chosen} --out trace.html`,
    `unmask verify models/mine ${program ? `--against ${problem} ` : ""}--method prove`,
  ].join("\n");
}
