// The current question in three forms that agree: the form, the fragment of the address, and the request to the server.

export const FIRST = { problem: "(a|b)*abb", word: "aababbabb", kind: "mdm", planner: "own", k: 1, seed: 0 };
export const DIFFUSION = ["mdm", "smdm", "topk"];
const DEFAULTS = { kind: "mdm", planner: "own", k: 1, seed: 0 };
const NUMBERS = ["k", "seed"];

export const byId = (id) => document.getElementById(id);

export function fromFragment(fragment) {
  const given = new URLSearchParams(fragment.replace(/^#/, ""));
  if (!given.has("problem")) return { ...FIRST };
  const question = { problem: given.get("problem"), word: given.get("word") ?? "", ...DEFAULTS };
  for (const name of Object.keys(DEFAULTS)) {
    if (!given.has(name)) continue;
    const text = given.get(name);
    if (NUMBERS.includes(name) ? /^\d{1,7}$/.test(text) : [...byId(name).options].some((o) => o.value === text)) {
      question[name] = NUMBERS.includes(name) ? Number(text) : text;
    }
  }
  return question;
}

// Store only what differs from the defaults, so that an address stays short.
export function toFragment(question) {
  const shown = new URLSearchParams({ problem: question.problem, word: question.word });
  for (const [name, usual] of Object.entries(DEFAULTS)) {
    if (question[name] !== usual) shown.set(name, question[name]);
  }
  return `#${shown}`;
}

export function fromForm() {
  const question = { problem: byId("problem").value, word: byId("word").value, kind: byId("kind").value, planner: byId("planner").value };
  for (const name of NUMBERS) {
    const value = Number(byId(name).value);
    question[name] = Number.isInteger(value) ? value : DEFAULTS[name];
  }
  return question;
}

export function toForm(question) {
  for (const [name, value] of Object.entries(question)) byId(name).value = value;
  fitForm();
}

// Hide the fields that do not apply to the chosen framework or planner.
export function fitForm() {
  const planned = DIFFUSION.includes(byId("kind").value);
  byId("planner").disabled = !planned;
  byId("k").parentElement.hidden = !planned || byId("planner").value === "own";
  byId("seed").parentElement.hidden = !planned || byId("planner").value !== "uniform";
  const problem = byId("problem");
  problem.rows = Math.min(12, problem.value.trimEnd().split("\n").length);
}
