// One question at a time: the newest. Its run comes first, then what takes longer.

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

// Fill a place with the answer of a task, or with the sentence that says why there is none or why it is not asked for.
async function fill(place, instead, task, question, signal, show) {
  if (instead) return place.replaceChildren(make("p", {}, instead));
  place.replaceChildren(make("p", {}, "measuring …"));
  try {
    place.replaceChildren(...show(await ask(task, question, signal)));
  } catch (error) {
    if (!signal.aborted) place.replaceChildren(make("p", { class: "error" }, capital(error.message)));
  }
}

// A new frame for every run: another address in the same frame would be a step that `back` goes through.
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
    await ask("words", question, signal).then((answer) => offer(answer.words, question), () => {}); // perhaps only the word is wrong
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
  const place = byId("proof"), { signal } = current, question = fromForm();
  byId("prove").disabled = true;
  place.hidden = false;
  place.className = "";
  place.replaceChildren(make("p", {}, "proving that the model is correct on all words of this length … (at most a minute)"));
  try {
    const answer = await ask("prove", question, signal);
    place.className = answer.verdict;
    place.replaceChildren(...proof(answer));
  } catch (error) {
    if (!signal.aborted) place.replaceChildren(make("p", {}, capital(error.message)));
  }
  byId("prove").disabled = false;
}

// The address is the state: changing it asks the question.
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
  const here = toFragment(fromFragment(location.hash));
  for (const link of document.querySelectorAll("#examples a")) {
    if (toFragment(fromFragment(link.hash)) === here) link.setAttribute("aria-current", "true");
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
  const several = /^(aag|cfg:)/.test(event.target.value); // circuits and grammars have lines of their own
  if (event.key === "Enter" && !event.shiftKey && (!several || event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    byId("form").requestSubmit();
  }
});
byId("prove").addEventListener("click", prove);
addEventListener("hashchange", arrive);
arrive();
