// A field with data-results searches while somebody types. The arrow keys move between it, its results and the details
// with data-otherwise below them; Enter in the field opens the first result, or else the details.

const input = () => document.activeElement?.closest?.("input[data-results]");
const results = (field) => field && document.querySelector(field.dataset.results);
const fieldOf = (part) => [...document.querySelectorAll("input[data-results]")].find((field) => results(field) === part);

function stops(field) {
  const around = field.closest("dialog, main") ?? document;
  return [field, ...results(field).querySelectorAll("a[href], button"), ...around.querySelectorAll("[data-otherwise] > summary")];
}

// What Enter asked for is opened when the answer to the whole text is there.
let entered = null;

function enter(field) {
  entered = null;
  const [first] = results(field).querySelectorAll("a[href]");
  const otherwise = field.closest("dialog, main")?.querySelector("[data-otherwise]");
  if (first) first.click();
  else if (otherwise && field.value.trim()) otherwise.open = true;
}

document.addEventListener("keydown", (event) => {
  if (event.isComposing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = input();
  if (event.key === "Enter" && field) entered = field;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  const at = document.activeElement;
  const owner = field ?? [...document.querySelectorAll("input[data-results]")].find((each) => stops(each).includes(at));
  if (!step || !owner) return;
  event.preventDefault();
  const all = stops(owner);
  all[Math.min(all.length - 1, Math.max(0, all.indexOf(at) + step))].focus();
});

document.addEventListener("input", (event) => { if (event.target === entered) entered = null; });

document.addEventListener("htmx:afterSettle", (event) => {
  const part = event.detail.elt;
  const field = fieldOf(part);
  if (!field) return;
  // What was typed in the search is what a new member is called; a field in which somebody typed keeps its text.
  const given = JSON.parse(part.querySelector("[data-given]")?.dataset.given ?? "null");
  const form = given && field.closest("dialog, main")?.querySelector("[data-otherwise] form");
  for (const name of form ? ["first_name", "last_name", "email", "phone"] : []) {
    form.elements[name].setAttribute("value", given[name] ?? "");
  }
  if (entered === field) enter(field);
});

document.addEventListener("toggle", ({ target }) => {
  if (!target.matches?.("[data-otherwise]") || !target.open) return;
  const fields = [...target.querySelectorAll("input:not([type=hidden])")];
  (fields.find((each) => each.required && !each.value) ?? fields.find((each) => !each.value))?.focus();
}, true);
