// Shows the week as a calendar where there is room for it: classes are dragged to another time, room or instructor, and
// a free time is dragged to create a class. Every change is asked for in the drawer before it is made.

import { openDrawer } from "./drawers.js";

const WIDE = "(min-width: 45rem)";
const MINUTES = 60; // of a class that begins where somebody clicks
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

// The rest of a class after midnight has a card in the list of days. The calendar continues it by itself, unless it began
// in the week before.
function cardsOfCalendar() {
  const whole = [...week.querySelectorAll(".k:not(.rest)")];
  const known = new Set(whole.map((card) => card.firstElementChild.pathname));
  return whole.concat([...week.querySelectorAll(".day:first-child .k.rest")].filter((card) => !known.has(card.firstElementChild.pathname)));
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

const minutesOf = (clock) => clock.split(":").reduce((hour, minute) => hour * 60 + Number(minute), 0);

// The hours of all classes, and the present one. A class that goes on after midnight needs the whole day.
function hours(cards, now) {
  let first = 7 * 60, last = 20 * 60;
  const spans = cards.map((card) => [minutesOf(card.dataset.t), minutesOf(card.dataset.t) + Number(card.dataset.m)]);
  if (now !== undefined) spans.push([Math.max(0, now - 60), Math.min(24 * 60, now + 60)]);
  for (const [start, end] of spans) {
    first = Math.min(first, end > 24 * 60 ? 0 : start);
    last = Math.max(last, Math.min(24 * 60, end));
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

function begin(start, minutes, resource, view, undo) {
  const fields = { location: week.dataset.location, week: week.dataset.monday, date: start.slice(0, 10) };
  if (view === "time") Object.assign(fields, { start: start.slice(11, 16), minutes });
  if (resource) fields[field[view]] = resource.id;
  ask("/console/schedule/classes/new", fields, undo);
}

function selected(info, view, made) {
  const minutes = (Date.parse(`${info.endStr}Z`) - Date.parse(`${info.startStr}Z`)) / 60000;
  begin(info.startStr, minutes, info.resource, view, () => made.unselect());
}

// The line of the present time, by the location's clocks: those of the server when the page was made, and what has
// passed since.
function showNow(slotMin, slotMax) {
  const column = [...calendar.querySelectorAll(".ec-time-grid .ec-body .ec-day")][todayIndex()];
  if (!column) return;
  const line = document.createElement("div"), from = minutesOf(slotMin), until = minutesOf(slotMax);
  line.className = "now-line";
  const place = () => {
    const minutes = minutesOf(week.dataset.now) + performance.now() / 60000;
    line.hidden = minutes > until;
    line.style.top = `${(100 * (minutes - from)) / (until - from)}%`;
  };
  place();
  column.append(line);
  setInterval(place, 30000);
}

const todayIndex = () => [...week.querySelectorAll(".day")].findIndex((day) => day.classList.contains("today"));

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
  for (const clash of link.querySelectorAll("em.x")) clash.title = clash.textContent;
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
  const view = week.dataset.view, rows = resources(view), cards = cardsOfCalendar();
  const now = todayIndex() < 0 ? undefined : minutesOf(week.dataset.now);
  const [slotMinTime, slotMaxTime] = hours(cards, now);
  const opensAt = Math.max(0, now === undefined ? 6 * 60 : Math.floor(now) - 60);
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
    slotLabelFormat: (time) => week.dataset.hours.split(",")[time.getHours()],
    scrollTime: `${pad(Math.floor(opensAt / 60))}:${pad(opensAt % 60)}`,
    height: "var(--height)",
    slotHeight: 40,
    slotEventOverlap: false,
    dayHeaderFormat: headOf,
    highlightedDates: today ? [today] : [],
    events: cards.map((card) => eventOf(card, view, rows)),
    resources: rows,
    selectable: editable,
    eventContent: (info) => contentOf(info.event.extendedProps.card, view),
    eventDrop: (info) => moved(info, view),
    eventResize: (info) => moved(info, view),
    dateClick: (info) => { if (editable) begin(info.dateStr, MINUTES, info.resource, view, () => {}); },
    select: (info) => selected(info, view, made),
  });
  if (view === "time") showNow(slotMinTime, slotMaxTime);
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
  calendar.style.setProperty("--top", `${calendar.getBoundingClientRect().top + scrollY}px`);
  create();
  simplify();
  week.hidden = true;
  calendar.dataset.ready = "";
}

if (week && calendar && matchMedia(WIDE).matches) show();
