// Tabs and filters that are wider than the screen begin at the chosen one. Only their own row is scrolled, not the page.

for (const chosen of document.querySelectorAll(":is(.tabs, .segmented) > [aria-current], .settings-pages [aria-current]")) {
  const row = chosen.closest(".tabs, .segmented, .settings-pages");
  const box = chosen.getBoundingClientRect(), around = row.getBoundingClientRect();
  if (box.right > around.right) row.scrollLeft += box.right - around.right + around.width / 4;
}
