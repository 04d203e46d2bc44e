// A link with data-drawer opens its page in the drawer. Without JavaScript it is a page of its own.

const drawer = document.getElementById("drawer");

export function openDrawer(href) {
  if (!drawer) return location.assign(href);
  return htmx.ajax("GET", href, { target: "#drawer-content", swap: "innerHTML" });
}

// Whatever is put into the drawer is shown: a page that a link opened, or a question that a form of the page asks.
function show() {
  if (!drawer.open) drawer.showModal();
  const heading = drawer.querySelector("#drawer-title");
  if (heading) drawer.setAttribute("aria-label", heading.textContent);
  const first = drawer.querySelector("[autofocus], input:not([type=hidden]), select, textarea");
  first?.focus();
}
let isLeaving = false;
document.addEventListener("htmx:beforeRequest", () => { isLeaving = false; });
document.addEventListener("htmx:afterSwap", (event) => {
  const { target } = event.detail;
  if (!isLeaving && target?.id === "drawer-content" && target.childElementCount) show();
});

export function closeDrawer() {
  drawer?.close();
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-drawer]");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (link && plain) {
    event.preventDefault();
    openDrawer(link.href);
  }
  if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog")?.close();
  if (event.target instanceof HTMLDialogElement && event.target.open) event.target.close();
});
// A form with data-drawer-get that is in the drawer, such as a choice of the day, shows its page there too.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!form.matches("form[data-drawer-get]") || !form.closest("dialog")) return;
  event.preventDefault();
  openDrawer(`${form.action}?${new URLSearchParams(new FormData(form))}`);
});
// The server asks for it after an action in the drawer: HX-Trigger: closeDrawer.
document.addEventListener("closeDrawer", () => { isLeaving = true; closeDrawer(); });
