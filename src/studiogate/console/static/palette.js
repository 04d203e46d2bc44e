// The palette: Ctrl-K or ⌘K anywhere, type, arrow keys, Enter. Answers that arrive out of order are dropped.

const dialog = document.getElementById("palette");
const input = dialog?.querySelector("input");
const list = dialog?.querySelector("[data-hits]");
let asked = 0;
let timer = 0;

const hits = () => [...list.querySelectorAll("[role=option]")];

function choose(hit) {
  hits().forEach((each) => each.setAttribute("aria-selected", String(each === hit)));
  if (hit) input.setAttribute("aria-activedescendant", hit.id);
  else input.removeAttribute("aria-activedescendant");
  hit?.scrollIntoView({ block: "nearest" });
}

async function ask() {
  const mine = ++asked;
  try {
    // What is searched for may be a name: it is sent in the body, never in an address.
    const body = new URLSearchParams({ q: input.value });
    for (const name of ["csrf", "idempotency"]) body.set(name, document.querySelector(`input[name="${name}"]`).value);
    const answer = await fetch("/console/search", { method: "POST", body, headers: { "HX-Request": "true" } });
    if (mine !== asked) return;
    if (!answer.ok) throw new Error(answer.statusText);
    list.innerHTML = await answer.text();
    choose(hits()[0]);
  } catch {
    if (mine === asked) list.innerHTML = '<p class="palette-empty muted">The search does not answer. Try again.</p>';
  }
}

function open() {
  if (dialog.open) return;
  dialog.showModal();
  input.select();
  ask();
}

function move(step) {
  const all = hits();
  const at = all.findIndex((each) => each.getAttribute("aria-selected") === "true");
  choose(all[(at + step + all.length) % all.length]);
}

if (dialog) {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      open();
    }
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-palette-open]")) {
      event.preventDefault();
      open();
    }
  });
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, 120);
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      move(event.key === "ArrowDown" ? 1 : -1);
    } else if (event.key === "Enter") {
      event.preventDefault();
      list.querySelector('[aria-selected="true"]')?.click();
    }
  });
}
