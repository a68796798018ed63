// Bandwidth of every pair as a matrix; beyond 96 nodes, the lowest value of each block of nodes.
const SHADES = 9;

function pairMatrix({ name, nodes: names, values }) {
  const sorted = values.map((each) => each[2]).sort((one, other) => one - other);
  const [low, high] = [sorted[0], sorted.at(-1)];
  const span = Math.ceil(names.length / 96);
  const count = Math.ceil(names.length / span);
  const size = Math.max(6, Math.min(24, Math.floor(560 / count)));
  const found = new Map();
  for (const [one, other, value] of values) {
    for (const [row, column] of [[one, other], [other, one]]) {
      const key = Math.floor(row / span) * count + Math.floor(column / span);
      found.set(key, Math.min(value, found.get(key) ?? Infinity));
    }
  }
  const margin = Math.min(14, Math.max(...names.map((each) => each.length))) * 6.6 + 10;
  const side = margin + count * size + 4;
  const paths = new Array(SHADES).fill("");
  for (const [key, value] of found) {
    const shade = high > low ? Math.min(SHADES - 1, Math.floor(((value - low) / (high - low)) * SHADES)) : SHADES - 1;
    paths[shade] += `M${margin + (key % count) * size} ${margin + Math.floor(key / count) * size}h${size - 1}v${size - 1}h${1 - size}z`;
  }
  const label = (place) => names[place * span].slice(-14);
  const every = Math.max(1, Math.ceil(11 / size));
  const picture = svg("svg", { width: side, height: side, role: "img", "aria-label": `${name} of ${plural(values.length, "pair")}` });
  for (let place = 0; place < count; place += every) {
    picture.append(svg("text", { x: margin - 6, y: margin + place * size + size / 2 + 4, class: "label" }, label(place)),
      svg("text", { transform: `translate(${margin + place * size + size / 2 + 4} ${margin - 6}) rotate(-90)`, class: "column" }, label(place)));
  }
  paths.forEach((d, shade) => d && picture.append(svg("path", { d, class: `shade s${shade}` })));
  picture.addEventListener("mousemove", (event) => {
    const box = picture.getBoundingClientRect();
    const column = Math.floor((event.clientX - box.left - margin) / size);
    const row = Math.floor((event.clientY - box.top - margin) / size);
    const value = column >= 0 && row >= 0 && column < count ? found.get(row * count + column) : undefined;
    if (value === undefined) tip(event);
    else tip(event, `${label(row)} ↔ ${label(column)}${span > 1 ? ` and the ${span - 1} after each` : ""}`, `${value} (fleet: ${low} … ${high})`);
  });
  picture.addEventListener("mouseleave", (event) => tip(event));
  const median = sorted[Math.floor(sorted.length / 2)];
  const slowest = [...values].sort((one, other) => one[2] - other[2]).slice(0, 10);
  const own = names.map(() => []);
  for (const [one, other, value] of values) { own[one].push(value); own[other].push(value); }
  const medians = own.map((each, place) => [names[place], each.sort((one, other) => one - other)[Math.floor(each.length / 2)]])
    .sort((one, other) => one[1] - other[1]).slice(0, 5);
  return h("div", { class: "matrix" }, h("div", {}, picture), h("div", {},
    h("h3", {}, name), h("p", {}, `${plural(values.length, "pair")} of ${plural(names.length, "node")}: lowest ${low}, median ${median}, highest ${high}`),
    h("p", { class: "scale" }, String(low), paths.map((_, shade) => h("i", { class: `shade s${shade}` })), String(high)),
    h("h4", {}, "Slowest nodes, by the median of their pairs"),
    h("ol", {}, medians.map(([node, value]) => h("li", {}, `${node}: `, h("b", {}, String(value)), ` (${Math.round((100 * value) / median)} % of the fleet's median)`))),
    h("h4", {}, "Slowest pairs"), h("ol", {}, slowest.map(([one, other, value]) => h("li", {}, `${names[one]} ↔ ${names[other]}: `, h("b", {}, String(value)),
      ` (${Math.round((100 * value) / median)} % of the median)`)))));
}

function drawPairs() {
  $("pairs-body").replaceChildren(...(told.pairs.length ? told.pairs.map(pairMatrix) : [h("p", { class: "empty" },
    "No pair of nodes was measured in this run. Checks of checks/interconnect measure them.")]));
}
