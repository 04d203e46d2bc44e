// Partners: a preset ticks the scopes of a new key and leaves what was typed; a countdown goes on.

document.addEventListener("click", (event) => {
  const preset = event.target.closest("a[data-scopes]");
  if (!preset || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const scopes = preset.dataset.scopes.split(" ");
  for (const box of document.querySelectorAll("input[name=scopes]")) box.checked = !box.disabled && scopes.includes(box.value);
  for (const each of preset.parentElement.children) each.removeAttribute("aria-current");
  preset.setAttribute("aria-current", "true");
}, true);

// The two largest units, as the server writes them.
function lasting(seconds) {
  const units = [[Math.floor(seconds / 86400), "d"], [Math.floor(seconds / 3600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"], [seconds % 60, "s"]];
  const first = Math.max(0, units.findIndex(([count]) => count));
  return units.slice(first, first < 2 ? first + 2 : first + 1).filter(([count]) => count).map((each) => each.join(" ")).join(" ") || "0 s";
}
setInterval(() => {
  for (const each of document.querySelectorAll("[data-until]")) {
    each.textContent = lasting(Math.max(0, Math.round((new Date(each.dataset.until) - Date.now()) / 1000)));
  }
}, 1000);
