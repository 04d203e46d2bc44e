// The board of leads: arrow keys go from card to card, Shift with an arrow key or dragging moves one to another column.
// A move is the form that the lead's drawer has too; the page that follows shows the card where it is now, and the browser
// focuses its link, which the address names.

const board = document.querySelector("[data-board]");
const form = document.querySelector("form[data-move]");
const columns = board ? [...board.querySelectorAll("[data-column]")] : [];
const cardsOf = (column) => [...column.querySelectorAll("[data-lead]")];
const linkOf = (card) => card?.querySelector("a");

function move(card, column) {
  if (!column || card.dataset.status === column.dataset.column || card.dataset.status === "converted") return;
  if (column.dataset.column === "converted") {
    // A lead becomes a member by the form that asks for the name.
    const link = linkOf(card);
    const address = link.getAttribute("href");
    link.setAttribute("href", `/console/leads/${card.dataset.lead}/convert`);
    link.click();
    link.setAttribute("href", address);
    return;
  }
  form.action = `/console/leads/${card.dataset.lead}/move`;
  form.elements.status.value = column.dataset.column;
  form.elements.next.value = form.elements.next.value.replace(/#.*$/, "") + `#lead-${card.dataset.lead}`;
  form.requestSubmit();
}

board?.addEventListener("keydown", (event) => {
  const card = event.target.closest("[data-lead]");
  if (!card || event.altKey || event.ctrlKey || event.metaKey) return;
  const column = card.closest("[data-column]"), place = columns.indexOf(column), row = cardsOf(column).indexOf(card);
  const side = { ArrowLeft: -1, ArrowRight: 1 }[event.key], step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (side && event.shiftKey) move(card, columns[place + side]);
  else if (side) {
    let at = place + side;
    while (columns[at] && !cardsOf(columns[at]).length) at += side;
    const there = columns[at] ? cardsOf(columns[at]) : [];
    linkOf(there[Math.min(row, there.length - 1)])?.focus();
  } else if (step) linkOf(cardsOf(column)[row + step])?.focus();
  else return;
  event.preventDefault();
});

let dragged = null;
const mark = (column) => columns.forEach((each) => each.classList.toggle("is-target", each === column));
board?.addEventListener("dragstart", (event) => {
  dragged = event.target.closest("[data-lead]");
  dragged?.classList.add("is-dragged");
  if (dragged) event.dataTransfer.effectAllowed = "move";
});
board?.addEventListener("dragover", (event) => {
  const column = event.target.closest("[data-column]");
  if (!dragged || !column) return;
  event.preventDefault();
  mark(column);
});
board?.addEventListener("drop", (event) => {
  event.preventDefault();
  if (dragged) move(dragged, event.target.closest("[data-column]"));
});
board?.addEventListener("dragend", () => {
  dragged?.classList.remove("is-dragged");
  dragged = null;
  mark(null);
});
