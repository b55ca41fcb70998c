// Answer one question at a time, always the newest: first its run, then the slower tasks.

import { make } from "/static/elements.js";
import { plot } from "/static/plot.js";
import { planners, proof, shell, tries, verdict } from "/static/answers.js";
import { byId, DIFFUSION, fitForm, fromForm, fromFragment, toForm, toFragment } from "/static/state.js";

let current = new AbortController();

async function ask(task, question, signal) {
  let response;
  try {
    response = await fetch(`/api/${task}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question), signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error("the server does not answer; is `unmask serve` still running?");
  }
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function say(text, { error = false } = {}) {
  byId("status").textContent = text;
  byId("status").classList.toggle("error", error);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? "" : ".");

// Fill an element with the answer of a task, with its error message, or with `instead`, the reason not to ask.
async function fill(element, instead, task, question, signal, show) {
  if (instead) return element.replaceChildren(make("p", {}, instead));
  element.replaceChildren(make("p", {}, "measuring …"));
  try {
    element.replaceChildren(...show(await ask(task, question, signal)));
  } catch (error) {
    if (!signal.aborted) element.replaceChildren(make("p", { class: "error" }, capital(error.message)));
  }
}

// Use a new frame for every run, because a new address in the same frame would add an entry to the browser's history.
function show(address) {
  const frame = byId("view").cloneNode();
  frame.src = `${address}#play`;
  byId("view").replaceWith(frame);
}

function offer(words, question) {
  byId("tries").replaceChildren(...tries(words, (word) => go({ ...question, word })));
}

async function run(question) {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  markExample();
  byId("results").classList.add("stale");
  byId("proof").hidden = true;
  say("compiling and running …");
  let answer;
  try {
    answer = await ask("run", question, signal);
    byId("verdict").replaceChildren(...verdict(answer));
    offer(answer.words, question);
    show(answer.view);
    byId("shell").textContent = shell(question, answer.planner, answer.length);
    byId("results").hidden = false;
    byId("results").classList.remove("stale");
    say("");
  } catch (error) {
    if (signal.aborted) return;
    byId("results").hidden = true;
    byId("tries").replaceChildren();
    say(capital(error.message), { error: true });
    await ask("words", question, signal).then((answer) => offer(answer.words, question), () => {}); // offer other words, because only the word may be wrong
    return;
  }
  const nothing = answer.right === null ? "Random weights do not solve a problem, so there is nothing to compare." : null;
  const unplanned = DIFFUSION.includes(question.kind) ? nothing : "Only masked diffusion has a planner. The other frameworks write in a fixed order. Choose masked diffusion to compare planners.";
  await Promise.all([
    fill(byId("growth"), nothing, "steps", question, signal, (steps) => plot(steps, byId("growth").clientWidth)),
    fill(byId("planners"), unplanned, "planners", question, signal, (rows) => planners(rows, question)),
  ]);
}

async function prove() {
  const element = byId("proof"), { signal } = current, question = fromForm();
  byId("prove").disabled = true;
  element.hidden = false;
  element.className = "";
  element.replaceChildren(make("p", {}, "proving that the model is correct on all words of this length … (at most a minute)"));
  try {
    const answer = await ask("prove", question, signal);
    element.className = answer.verdict;
    element.replaceChildren(...proof(answer));
  } catch (error) {
    if (!signal.aborted) element.replaceChildren(make("p", {}, capital(error.message)));
  }
  byId("prove").disabled = false;
}

// The address holds the state: a change of the address asks its question.
function go(question) {
  const fragment = toFragment(question);
  if (fragment === location.hash) arrive();
  else location.hash = fragment;
}

function arrive() {
  const question = fromFragment(location.hash);
  toForm(question);
  run(question);
}

function markExample() {
  const shownQuestion = toFragment(fromFragment(location.hash));
  for (const link of document.querySelectorAll("#examples a")) {
    if (toFragment(fromFragment(link.hash)) === shownQuestion) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

byId("form").addEventListener("submit", (event) => {
  event.preventDefault();
  go(fromForm());
});
byId("form").addEventListener("input", fitForm);
for (const id of ["kind", "planner"]) byId(id).addEventListener("change", () => go(fromForm()));
byId("problem").addEventListener("keydown", (event) => {
  const several = /^(aag|cfg:)/.test(event.target.value); // circuits and grammars have several lines
  if (event.key === "Enter" && !event.shiftKey && (!several || event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    byId("form").requestSubmit();
  }
});
byId("prove").addEventListener("click", prove);
addEventListener("hashchange", arrive);
arrive();
