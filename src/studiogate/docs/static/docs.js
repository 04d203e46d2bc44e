// Pages work without this file: it adds buttons that copy, one language for all samples, results while typing,
// and marks the heading that is in view.

const LANGUAGE = "studiogate.docs.language";

for (const sample of navigator.clipboard ? document.querySelectorAll("main .sample") : []) {
  const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(sample.querySelector("pre").textContent);
    button.textContent = "Copied";
    button.dataset.done = "";
    setTimeout(() => {
      button.textContent = "Copy";
      delete button.dataset.done;
    }, 2000);
  });
  sample.append(button);
}

function kept() {
  try {
    return localStorage.getItem(LANGUAGE);
  } catch {
    return null; // storage is switched off
  }
}

function choose(language) {
  for (const radio of document.querySelectorAll(`.tabs input[value="${language}"]`)) radio.checked = true;
}

choose(kept() ?? "sh");
document.addEventListener("change", ({ target }) => {
  if (!target.matches(".tabs input")) return;
  const before = target.getBoundingClientRect().top;
  choose(target.value);
  scrollBy(0, target.getBoundingClientRect().top - before); // samples above may have another height now
  try {
    localStorage.setItem(LANGUAGE, target.value);
  } catch {
    // the choice holds for this page
  }
});

// Search

const search = document.querySelector(".search");
const field = search.querySelector("input");
const found = Object.assign(document.createElement("div"), { className: "found", hidden: true });
search.append(found);
let latest = 0;

async function show() {
  const query = field.value.trim();
  const number = ++latest;
  if (!query) {
    found.hidden = true;
    return;
  }
  const answer = await fetch(`/docs/search?q=${encodeURIComponent(query)}`);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== latest || !answer.ok) return;
  found.replaceChildren(...page.querySelector("#results").children);
  found.hidden = false;
}

let waiting;
field.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 120);
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") found.hidden = true;
  if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
  const stops = [field, ...found.querySelectorAll("a")];
  const next = stops[stops.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1)];
  if (next && !found.hidden) {
    event.preventDefault();
    next.focus();
  }
});
search.addEventListener("focusout", (event) => {
  if (!search.contains(event.relatedTarget)) found.hidden = true;
});
found.addEventListener("click", () => (found.hidden = true));
document.addEventListener("keydown", (event) => {
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.matches("input, textarea, select")) return;
  event.preventDefault();
  field.focus();
  field.select();
});

// The heading in view

const links = new Map([...document.querySelectorAll(".on-this-page a")].map((link) => [link.hash.slice(1), link]));
const observer = new IntersectionObserver(
  (entries) => {
    const entered = entries.find((entry) => entry.isIntersecting);
    if (!entered) return;
    for (const link of links.values()) link.removeAttribute("aria-current");
    const link = links.get(entered.target.id);
    link.setAttribute("aria-current", "true");
    link.scrollIntoView({ block: "nearest" });
  },
  { rootMargin: "-64px 0px -75% 0px" },
);
for (const id of links.keys()) observer.observe(document.getElementById(id));
