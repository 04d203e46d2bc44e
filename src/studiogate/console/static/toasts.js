// Toasts leave by themselves, except while they are pointed at or hold the focus; one with an undo stays longer.

const SECONDS = 6;
const SECONDS_WITH_UNDO = 12;

function watch(toast) {
  toast.dataset.watched = "";
  const seconds = toast.querySelector("form") ? SECONDS_WITH_UNDO : SECONDS;
  let timer = 0;
  const start = () => { timer = setTimeout(() => toast.remove(), seconds * 1000); };
  const stop = () => clearTimeout(timer);
  toast.addEventListener("pointerenter", stop);
  toast.addEventListener("pointerleave", start);
  toast.addEventListener("focusin", stop);
  toast.addEventListener("focusout", start);
  start();
}

function watchAll() {
  document.querySelectorAll("[data-toast]:not([data-watched])").forEach(watch);
}

export function say(text) {
  const toast = document.createElement("div");
  toast.className = "toast";
  toast.dataset.toast = "";
  toast.textContent = text;
  document.getElementById("toasts")?.append(toast);
}

document.addEventListener("click", (event) => {
  event.target.closest("[data-toast-close]")?.closest("[data-toast]").remove();
});

// What is outside an open dialog can neither be clicked nor read aloud, so the toasts are inside the one opened last.

let opened = [];

function place() {
  opened = opened.filter((each) => each.open);
  for (const each of document.querySelectorAll("dialog[open]")) if (!opened.includes(each)) opened.push(each);
  const around = opened.at(-1) ?? document.body;
  if (region.parentElement !== around) around.append(region);
}

const region = document.getElementById("toasts");
if (region) {
  new MutationObserver(watchAll).observe(region, { childList: true });
  watchAll();
  const watched = new MutationObserver(place);
  for (const each of document.querySelectorAll("dialog")) watched.observe(each, { attributeFilter: ["open"] });
}
