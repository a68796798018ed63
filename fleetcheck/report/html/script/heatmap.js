// Nodes by components, rack by rack; above 256 nodes, racks by components until one is chosen.
let CELL = 16;
const LABELS = 132;
const MOST_COLUMNS = 256;

/** Shapes tell what colours tell: a cross, a slash, a bar, a hollow square. */
function shape(letter, x, y) {
  const [a, b, s, e] = [x + 1.5, y + 1.5, CELL - 3, CELL / 5];
  if (letter === "s") return [`M${x + CELL / 2 - 1} ${y + CELL / 2}h2`, ""];
  if (letter === "w") return [`M${a} ${b + s}h${s}v${-s}z`, ""];
  const square = `M${a} ${b}h${s}v${s}h${-s}z`;
  const marks = {
    f: `M${a + e} ${b + e}l${s - 2 * e} ${s - 2 * e}m0 ${2 * e - s}l${2 * e - s} ${s - 2 * e}`, d: `M${a + e} ${b + s - e}l${s - 2 * e} ${2 * e - s}`,
    c: `M${a + 2.5} ${b + s / 2}h${s - 5}`,
  };
  return [square, marks[letter] || ""];
}

/** Columns of the map: nodes, or racks with the gravest letter of their nodes. */
function columnsOf(list) {
  const groups = [...grouped(list)];
  if (list.length <= MOST_COLUMNS) {
    return groups.flatMap(([name, members]) => members.map((node, place) => ({ group: name, first: !place, name: node.name, node, cells: cells(node), verdict: node.verdict })));
  }
  const racks = groups.map(([name, members]) => ({
    group: name, first: false, name: name.replace(/^rack /, ""), members, verdict: VERDICTS.find((verdict) => members.some((node) => node.verdict === verdict)),
    cells: components.map((_, place) => members.reduce((letter, node) => worse(cells(node)[place], letter), ".")),
  }));
  const worst = (column) => VERDICTS.indexOf(column.verdict);
  return racks.length > 64 ? racks.sort((one, other) => worst(one) - worst(other)) : racks;
}

/** Columns cut into lines that fit; a rack is not torn apart where it fits on a line. */
function linesOf(columns, room) {
  const lines = [[]];
  for (let start = 0; start < columns.length;) {
    let end = start + 1;
    while (end < columns.length && columns[end].node && columns[end].group === columns[start].group) end += 1;
    const length = end - start;
    if (lines.at(-1).length + length > room && length <= room && lines.at(-1).length) lines.push([]);
    for (; start < end; start += 1) {
      if (lines.at(-1).length >= room) lines.push([]);
      lines.at(-1).push(columns[start]);
    }
  }
  return lines;
}

function drawLine(columns) {
  let x = LABELS;
  columns.forEach((column, place) => {
    if (place && column.node && column.first) x += 10;
    column.x = x;
    x += CELL;
  });
  const longest = Math.min(14, Math.max(...columns.map((column) => column.name.length)));
  const head = 22 + longest * 7.2;
  const top = head + CELL + 3;
  const height = top + components.length * CELL + 4;
  const paths = new Map();
  const put = (name, d) => paths.set(name, (paths.get(name) || "") + d);
  for (const column of columns) {
    put(`v-${column.verdict}`, `M${column.x + 1} ${head}h${CELL - 2}v${CELL - 3}h${2 - CELL}z`);
    column.cells.forEach((letter, row) => {
      if (letter === ".") return;
      const [square, mark] = shape(letter, column.x, top + row * CELL);
      put(`l-${letter}`, square);
      if (mark) put("mark", mark);
    });
  }
  const picture = svg("svg", { width: x + 40, height, role: "img", "aria-label": `heat map of ${plural(columns.length, "column")}` });
  const trouble = components.map((_, row) => columns.some((column) => "fdwc".includes(column.cells[row])));
  picture.append(svg("text", { x: LABELS - 8, y: head + CELL / 2 + 3, class: "label" }, "verdict"));
  components.forEach((name, row) => picture.append(svg("text", { x: LABELS - 8, y: top + row * CELL + CELL / 2 + 4, class: trouble[row] ? "label bad" : "label" }, name)));
  columns.forEach((column) => picture.append(svg("text", { transform: `translate(${column.x + CELL / 2 + 4} ${head - 5}) rotate(-90)`, class: "column" }, column.name.slice(-14))));
  columns.filter((column) => column.node && column.first).forEach((column) => picture.append(svg("text", { x: column.x, y: 10, class: "rack" }, column.group)));
  for (const [name, d] of [...paths].sort((one, other) => (one[0] === "mark") - (other[0] === "mark"))) picture.append(svg("path", { d, class: name }));
  const at = (event) => {
    const box = picture.getBoundingClientRect();
    const px = event.clientX - box.left;
    return [columns.find((column) => px >= column.x && px < column.x + CELL), Math.floor((event.clientY - box.top - top) / CELL)];
  };
  picture.addEventListener("mousemove", (event) => hover(event, ...at(event)));
  picture.addEventListener("mouseleave", (event) => tip(event));
  picture.addEventListener("click", (event) => {
    const [column] = at(event);
    if (column) { tip(event); if (column.node) openNode(column.node); else setFilter({ rack: column.group }); }
  });
  return picture;
}

function hover(event, column, row) {
  if (!column) { tip(event); return; }
  const component = components[row];
  if (column.members) {
    const bad = column.members.filter((node) => "fdwc".includes(component ? cells(node)[row] : "."));
    const words = component ? `${component}: ${MEANING[column.cells[row]]}${bad.length ? ` (${plural(bad.length, "node")})` : ""}` : column.verdict;
    tip(event, `${column.group}, ${plural(column.members.length, "node")}`, words, "click to see its nodes");
    return;
  }
  const { node } = column;
  const lines = [`${node.name}: ${node.verdict}`];
  if (component) {
    lines.push(`${component}: ${MEANING[cells(node)[row]]}`);
    node.findings.filter((finding) => typeof finding[0] === "number" && checks[finding[0]].component === component).slice(0, 3)
      .forEach((finding) => lines.push(text(finding[3]).slice(0, 160)));
  } else if (cause(node)) lines.push(cause(node).slice(0, 200));
  tip(event, ...lines);
}

function drawMap() {
  const list = chosen();
  const body = $("map-body");
  const columns = columnsOf(list);
  $("map-extent").textContent = list.length <= MOST_COLUMNS ? plural(list.length, "node") : `${plural(columns.length, "rack")} of ${plural(list.length, "node")}; choose one`;
  CELL = columns.length <= 40 ? 22 : 16;
  const room = Math.max(8, Math.floor((body.clientWidth - LABELS - 60) / (CELL + 0.7)));
  body.replaceChildren(...(columns.length ? linesOf(columns, room).map(drawLine) : [h("p", { class: "empty" }, "No node matches.")]));
}

function drawLegend() {
  const entries = ["f", "d", "w", "c", "e", "p", "s"].map((letter) => {
    const [square, mark] = shape(letter, 0, 0);
    return h("span", {}, svg("svg", { width: CELL, height: CELL }, svg("path", { d: square, class: `l-${letter}` }), svg("path", { d: mark || "M0 0", class: "mark" })), MEANING[letter]);
  });
  $("legend").replaceChildren(...entries);
}
