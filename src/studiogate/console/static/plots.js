// Draws every <figure data-plot> from its own table, into its .plot-area: the first column is the axis, each other one a
// series. data-plot is "bars" or "lines"; a column's data-color names a colour of tokens.css (accent, warn, danger,
// info), its data-unit what follows a value. The table stays: it is what a screen reader reads. See ui/plot.html.

const WIDTH_OF_LETTER = 7, BETWEEN_LABELS = 12, LEGEND = 48;
let library = null;

function load(file, name) {
  const element = document.createElement(name);
  const address = new URL(`vendor/uplot/${file}`, import.meta.url).href;
  return new Promise((resolve, reject) => {
    element.onload = resolve;
    element.onerror = reject;
    if (name === "link") Object.assign(element, { rel: "stylesheet", href: address });
    else element.src = address;
    document.head.append(element);
  });
}

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const valueOf = (cell) => {
  const text = cell.dataset.value ?? cell.textContent.replace(/[^0-9.-]/g, "");
  return text === "" ? null : Number(text);
};

function read(table) {
  const rows = [...table.tBodies[0].rows];
  const columns = [...table.tHead.rows[0].cells].slice(1).map((head, index) => ({
    label: head.textContent.trim(),
    color: head.dataset.color ?? "accent",
    unit: head.dataset.unit ?? "",
    values: rows.map((row) => valueOf(row.cells[index + 1])),
  }));
  const first = table.tHead.rows[0].cells[0].textContent.trim();
  return { first, labels: rows.map((row) => row.cells[0].textContent.trim()), columns };
}

function seriesOf(column, kind) {
  const stroke = colour(column.color);
  const look = kind === "bars" ? { paths: uPlot.paths.bars({ size: [0.7, 48], radius: 0.15 }), fill: stroke } : { fill: `${stroke}1a` };
  const value = (_plot, each) => (each === null ? "–" : each.toLocaleString("en") + column.unit);
  return { label: column.label, stroke, width: kind === "bars" ? 0 : 2, points: { show: false }, value, ...look };
}

function optionsOf(area, kind, { first, labels, columns }) {
  const axis = { stroke: colour("ink-soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { show: false }, font: `12px ${colour("font")}` };
  const wide = Math.max(4, ...labels.map((label) => label.length)) * WIDTH_OF_LETTER + BETWEEN_LABELS;
  const every = Math.max(1, Math.ceil(labels.length / Math.max(1, (area.clientWidth - 56) / wide)));
  const splits = labels.map((_label, index) => index).filter((index) => index % every === 0);
  return {
    width: area.clientWidth,
    height: area.clientHeight - LEGEND,
    legend: { live: true },
    cursor: { drag: { x: false, y: false }, y: false },
    scales: { x: { time: false, range: [-0.6, labels.length - 0.4] }, y: { range: (_plot, low, high) => [Math.min(0, low), Math.max(high * 1.05, 1)] } },
    axes: [
      { ...axis, size: 32, grid: { show: false }, splits: () => splits, values: (_plot, each) => each.map((index) => labels[index]) },
      { ...axis, size: 56, incrs: [0.1, 0.25, 0.5].concat(...[1, 10, 100, 1000, 10000, 100000].map((n) => [n, 2 * n, 5 * n])) },
    ],
    series: [{ label: first, value: (_plot, index) => (index === null ? "" : labels[index]) }, ...columns.map((column) => seriesOf(column, kind))],
  };
}

async function draw(figure) {
  const area = figure.querySelector(".plot-area"), table = figure.querySelector(".plot-table table"); // the legend of a plot is a table too
  if (!area || !table?.tBodies[0]?.rows.length) return;
  library ??= Promise.all([load("uPlot.iife.min.js", "script"), load("uPlot.min.css", "link")]);
  await library;
  if (!area.clientWidth) return;
  const found = read(table);
  const data = [found.labels.map((_label, index) => index), ...found.columns.map((column) => column.values)];
  area.replaceChildren();
  const plot = new uPlot(optionsOf(area, figure.dataset.plot, found), data, area);
  // Without a pointer, the legend has names but no values.
  for (const [name, is] of [["mouseenter", true], ["mouseleave", false]]) plot.over.addEventListener(name, () => area.querySelector(".u-legend").classList.toggle("is-pointed", is));
  figure.dataset.drawn = "";
}

// A figure is drawn when it is shown and again when its width or the colours change.
const widths = new ResizeObserver((entries) => {
  for (const { target } of entries) draw(target.closest("figure"));
});
function find(root) {
  for (const area of root.querySelectorAll("figure[data-plot] .plot-area")) widths.observe(area);
}

find(document);
document.addEventListener("htmx:afterSwap", (event) => find(event.detail.target));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  document.querySelectorAll("figure[data-plot]").forEach(draw);
});
