// Members and Sales. The text of the search is kept in the history entry, never in the address, so that going back from
// a profile shows the same results and no name ends up in a log or in the browser's history.

document.documentElement.classList.add("js");

const search = document.querySelector("[data-member-search]");

if (search) {
  const text = search.elements.text;
  const keep = () => history.replaceState({ ...history.state, memberSearch: text.value }, "");
  const run = () => htmx.trigger(search, "submit");

  text.addEventListener("input", keep);
  // Results of an older text must not replace those of a newer one: hx-sync drops the older request.
  const kept = history.state?.memberSearch;
  if (kept && (!text.value || text.value === kept)) {
    text.value = kept;
    // htmx is ready when the document is.
    document.addEventListener("DOMContentLoaded", run);
  }
  document.addEventListener("click", (event) => {
    const filter = event.target.closest("a[data-member-filter]");
    if (!filter || !text.value.trim() || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.pushState({ memberSearch: text.value }, "", filter.href);
    search.elements.status.value = filter.dataset.memberFilter;
    for (const each of filter.parentElement.children) each.removeAttribute("aria-current");
    filter.setAttribute("aria-current", "true");
    run();
  });
  // A step back to another filter of the same search is another page.
  window.addEventListener("popstate", () => location.reload());
}

document.addEventListener("change", (event) => {
  event.target.closest("form[data-submit-on-change]")?.requestSubmit();
});

// One menu is open at a time; a click elsewhere or Escape closes it.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.more-menu[open]")) {
    if (!menu.contains(event.target) || event.target.closest("a")) menu.open = false;
  }
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.more-menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
