// Shows the week as a calendar where there is room for it: classes are dragged to another time, room or instructor, and
// a free time is dragged to create a class. Every change is asked for in the drawer before it is made.

import { openDrawer } from "./drawers.js";

const WIDE = "(min-width: 60rem)";
const VIEWS = { time: "timeGridWeek", rooms: "resourceTimelineWeek", instructors: "resourceTimelineWeek" };
const week = document.getElementById("week");
const calendar = document.getElementById("calendar");
const drawer = document.getElementById("drawer");
const pad = (number) => String(number).padStart(2, "0");
const text = (date) => date.toISOString().slice(0, 16);
const field = { rooms: "room_id", instructors: "instructor_id" };

function load(file, element) {
  return new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = reject;
    if (element.tagName === "LINK") element.rel = "stylesheet", element.href = file;
    else element.src = file;
    document.head.append(element);
  });
}

function resources(view) {
  if (view === "time") return [];
  const rows = [...document.getElementById(view).children].map((row) => ({ id: row.dataset.id, title: row.textContent }));
  return [...rows, { id: "", title: view === "rooms" ? "No room" : "No instructor" }];
}

// Times are those of the location's clocks, as the list shows them. They are kept as if they were UTC, so that the
// browser's own time zone does not matter.
function startOf(card) {
  return new Date(`${card.closest("[data-date]").dataset.date}T${card.dataset.t}Z`);
}

function eventOf(card, view, rows) {
  const start = startOf(card);
  const index = view === "instructors" ? card.dataset.i : card.dataset.r;
  const editable = week.dataset.editable !== undefined && !card.classList.contains("fixed");
  return {
    id: card.querySelector("a").pathname.split("/").pop(),
    start: text(start),
    end: text(new Date(start.getTime() + Number(card.dataset.m) * 60000)),
    resourceIds: view === "time" ? [] : [index === undefined ? "" : rows[index].id],
    startEditable: editable,
    durationEditable: editable && view === "time",
    extendedProps: { card },
  };
}

function hours(cards) {
  let first = 7 * 60, last = 20 * 60;
  for (const card of cards) {
    const [hour, minute] = card.dataset.t.split(":").map(Number);
    first = Math.min(first, hour * 60);
    last = Math.max(last, Math.min(24 * 60, hour * 60 + minute + Number(card.dataset.m)));
  }
  return [`${pad(Math.floor(first / 60))}:00`, `${pad(Math.ceil(last / 60))}:00`];
}

// Opens a page in the drawer; if it is closed without a change, the calendar is as it was.
function ask(path, fields, undo) {
  dragged = true;
  setTimeout(() => { dragged = false; });
  const query = new URLSearchParams(fields);
  openDrawer(`${path}?${query}`);
  drawer.addEventListener("close", undo, { once: true });
}

const milliseconds = (delta) => ((delta?.days ?? 0) * 86400 + (delta?.seconds ?? 0)) * 1000;

function moved(info, view) {
  const card = info.event.extendedProps.card;
  const start = text(new Date(startOf(card).getTime() + milliseconds(info.delta)));
  const minutes = Number(card.dataset.m) + milliseconds(info.endDelta) / 60000;
  const fields = { date: start.slice(0, 10), start: start.slice(11), minutes };
  if (info.newResource) fields[field[view]] = info.newResource.id;
  ask(`/console/schedule/classes/${info.event.id}/move`, fields, info.revert);
}

function selected(info, view, made) {
  const fields = { location: week.dataset.location, week: week.dataset.monday, date: info.startStr.slice(0, 10) };
  if (view === "time") {
    fields.start = info.startStr.slice(11, 16);
    fields.minutes = (Date.parse(`${info.endStr}Z`) - Date.parse(`${info.startStr}Z`)) / 60000;
  }
  if (info.resource) fields[field[view]] = info.resource.id;
  ask("/console/schedule/classes/new", fields, () => made.unselect());
}

// The head of a day says whether it is closed, or its clocks are changed, as the list does.
function headOf(date) {
  const iso = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  const day = week.querySelector(`[data-date="${iso}"]`);
  const name = document.createElement("span");
  name.textContent = day?.getAttribute("aria-label") ?? iso;
  return { domNodes: [name, ...[...(day?.querySelectorAll(".closed, .clocks") ?? [])].map((each) => each.cloneNode(true))] };
}

// The card of the list; its link must not be dragged by itself. What the row is named after is not repeated.
function contentOf(card, view) {
  if (!card) return undefined;
  const box = document.createElement("div"), link = card.firstElementChild.cloneNode(true);
  const small = link.querySelector("small"), [room, ...instructor] = small.textContent.split(" · ");
  if (view !== "time") small.textContent = view === "rooms" ? instructor.join(" · ") : room;
  box.className = card.className;
  link.draggable = false;
  box.append(link);
  return { domNodes: [box] };
}

// A class that was dragged is not clicked as well.
let dragged = false;
calendar?.addEventListener("click", (event) => {
  if (!dragged) return;
  event.preventDefault();
  event.stopImmediatePropagation();
}, { capture: true });

function create() {
  const view = week.dataset.view, rows = resources(view), cards = [...week.querySelectorAll(".k")];
  const [slotMinTime, slotMaxTime] = hours(cards);
  const editable = week.dataset.editable !== undefined;
  const today = week.querySelector(".day.today")?.dataset.date;
  const made = EventCalendar.create(calendar, {
    view: VIEWS[view],
    views: { resourceTimelineWeek: { slotDuration: { days: 1 }, slotLabelInterval: { days: 1 } } },
    date: week.dataset.monday,
    firstDay: 1,
    locale: "en-GB",
    headerToolbar: { start: "", center: "", end: "" },
    allDaySlot: false,
    slotMinTime: view === "time" ? slotMinTime : "00:00",
    slotMaxTime: view === "time" ? slotMaxTime : "24:00",
    slotHeight: 40,
    slotEventOverlap: false,
    dayHeaderFormat: headOf,
    highlightedDates: today ? [today] : [],
    nowIndicator: false,
    events: cards.map((card) => eventOf(card, view, rows)),
    resources: rows,
    selectable: editable,
    eventContent: (info) => contentOf(info.event.extendedProps.card, view),
    eventDrop: (info) => moved(info, view),
    eventResize: (info) => moved(info, view),
    select: (info) => selected(info, view, made),
  });
  return made;
}

// The calendar says that it is a table, but its cells are elsewhere than its rows. It is a set of links to classes.
function simplify() {
  for (const each of calendar.querySelectorAll("[role], aside, header, section")) {
    each.setAttribute("role", "none");
    each.removeAttribute("aria-colindex");
    each.removeAttribute("aria-colspan");
  }
}

async function show() {
  await Promise.all([
    load(calendar.dataset.style, document.createElement("link")),
    load(calendar.dataset.script, document.createElement("script")),
  ]);
  calendar.hidden = false;
  create();
  simplify();
  week.hidden = true;
  calendar.dataset.ready = "";
}

if (week && calendar && matchMedia(WIDE).matches) show();
