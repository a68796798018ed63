// Tables that draw rows only as they are scrolled to: nodes and checks.
const STEP = 60;

/** columns: [title, cell(row) → children, key(row) or null for no sorting, class]. */
function table(place, columns, empty) {
  let rows = [];
  let shown = 0;
  let sorted = null;
  const body = h("tbody");
  const more = h("button", { type: "button", class: "more" });
  const heads = columns.map(([title, , key, kind], number) => h("th", { class: kind || "", scope: "col" },
    key ? h("button", { type: "button", onclick: () => sortBy(number) }, title) : title));
  const whole = h("table", { class: "rows" }, h("thead", {}, h("tr", {}, heads)), body);
  place.replaceChildren(whole, more);
  const grow = (count) => {
    const next = rows.slice(shown, shown + count);
    body.append(...next.map((row) => h("tr", row.attributes || {}, columns.map(([, cell, , kind]) => h("td", { class: kind || "" }, cell(row))))));
    shown += next.length;
    more.hidden = shown >= rows.length;
    more.textContent = `${(rows.length - shown).toLocaleString("en")} more`;
  };
  const redraw = () => {
    body.replaceChildren();
    shown = 0;
    if (!rows.length) body.append(h("tr", {}, h("td", { colspan: columns.length, class: "empty" }, empty)));
    grow(STEP);
  };
  function sortBy(number) {
    sorted = { number, down: sorted && sorted.number === number ? !sorted.down : false };
    heads.forEach((head, which) => head.setAttribute("aria-sort", which === number ? (sorted.down ? "descending" : "ascending") : "none"));
    order();
    redraw();
  }
  function order() {
    if (!sorted) return;
    const key = columns[sorted.number][2];
    const sign = sorted.down ? -1 : 1;
    rows = [...rows].sort((one, other) => {
      const [a, b] = [key(one), key(other)];
      return sign * (typeof a === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    });
  }
  more.addEventListener("click", () => grow(STEP * 4));
  new IntersectionObserver((entries) => { if (entries.some((entry) => entry.isIntersecting) && shown < rows.length) grow(STEP); },
    { rootMargin: "600px" }).observe(more);
  return (list) => { rows = list; order(); redraw(); };
}

const badge = (word) => h("span", { class: `grade ${word}` }, word);
const rank = (node) => VERDICTS.indexOf(node.verdict) * 10 + (node.state === "in-service" ? 0 : 5) + (own(node).length || node.gaps.length ? 0 : 1);

function nodeTable() {
  const draw = table($("nodes-body"), [
    ["Verdict", (node) => [badge(node.state === "in-service" ? node.verdict : node.state)], rank],
    ["Node", (node) => h("button", { type: "button", class: "link", onclick: () => openNode(node) }, node.name), (node) => node.name],
    ["Rack", (node) => node.rack, (node) => node.rack, "tight"],
    ["", (node) => (node.change ? h("span", { class: `state ${node.change.toLowerCase()}` }, node.change) : ""), null],
    ["Cause", (node) => [cause(node), own(node).length > 1 ? h("span", { class: "quiet" }, ` +${own(node).length - 1}`) : ""], null, "wide"],
    ["Action", (node) => (node.action === "none" ? "" : node.action), (node) => node.action, "tight"],
    ["Machine serial", (node) => h("span", { class: "serial" }, node.serial), (node) => node.serial],
    ["Measured", (node) => meter(node.measured, node.planned), (node) => (node.planned ? node.measured / node.planned : 0)],
    ["Certified", (node) => (node.certified ? "✓" : ""), (node) => -node.certified],
  ], "No node matches.");
  onFilter(() => {
    const list = chosen().sort((one, other) => rank(one) - rank(other) || one.number - other.number);
    $("nodes-count").textContent = list.length === nodes.length ? plural(nodes.length, "node") : `${list.length.toLocaleString("en")} of ${plural(nodes.length, "node")}`;
    draw(list);
  });
}

const meter = (measured, planned) => h("span", { class: "meter", title: `${measured} of ${planned} applicable checks measured` },
  h("i", { style: `width:${planned ? Math.round((100 * measured) / planned) : 0}%` }), h("em", {}, `${measured}/${planned}`));

function bar(counts) {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0) || 1;
  const words = [...GRAVITY].reverse().filter((letter) => counts[letter]).map((letter) => `${counts[letter]} ${MEANING[letter]}`);
  return h("span", { class: "bar", title: words.join(", ") },
    [..."fdwcmeps"].filter((letter) => counts[letter]).map((letter) => h("i", { class: `b-${letter}`, style: `width:${(100 * counts[letter]) / total}%` })));
}

const sumOf = (counts, letters) => [...letters].reduce((sum, letter) => sum + (counts[letter] || 0), 0);
const short = (value) => (value === null ? "" : Number(value.toPrecision(4)).toString());
const measured = ([, , , , low, high]) => (low === null ? "" : low === high ? short(low) : `${short(low)} … ${short(high)}`);
const list = (check, pick) => check.limits.slice(0, 6).map((limit) => h("div", {}, pick(limit) || "–"));

/** A name that may go on in the next line after each underscore, and is copied as it is. */
const breakable = (name) => name.split(/(?<=_)/).flatMap((piece) => [piece, h("wbr")]);

function checkTable() {
  const draw = table($("checks-body"), [
    ["Check", (check) => [h("span", { class: "serial" }, breakable(check.name)), h("div", { class: "quiet" }, check.says)], (check) => check.name, "wide"],
    ["Component", (check) => check.component, (check) => check.component],
    ["Outcomes", (check) => [bar(check.counts), h("div", { class: "quiet" }, tally(check.counts))], (check) => -sumOf(check.counts, "fdwcme") * 1e6 - sumOf(check.counts, "p"), "tally"],
    ["Limit", (check) => list(check, (limit) => limit[0]), (check) => (check.limits[0] || [""])[0], "limit"],
    ["Measured", (check) => list(check, measured), null],
    ["Source", (check) => list(check, (limit) => limit[1]), (check) => (check.limits[0] || ["", ""])[1], "source"],
    ["Date", (check) => list(check, (limit) => limit[2]), (check) => (check.limits[0] || ["", "", ""])[2], "date"],
  ], "No check matches.");
  const redraw = () => {
    const words = $("find-check").value.toLowerCase().split(/\s+/);
    const found = checks.filter((check) => (!$("trouble").checked || sumOf(check.counts, "fdwcme")) && (!$("limited").checked || check.limits.length)
      && words.every((word) => [check.name, check.says, check.component, check.stage, ...check.limits.flatMap((limit) => limit.slice(0, 3))].join("\n").toLowerCase().includes(word)));
    $("checks-count").textContent = `${found.length === checks.length ? "" : `${found.length} of `}${plural(checks.length, "check")}`;
    draw(found);
  };
  ["find-check", "trouble", "limited"].forEach((id) => $(id).addEventListener("input", redraw));
  redraw();
}

const tally = (counts) => [["fdwc", "failed"], ["em", "not measured"], ["p", "passed"], ["s", "n/a"]]
  .map(([letters, word]) => [sumOf(counts, letters), word]).filter(([count]) => count).map(([count, word]) => `${count} ${word}`).join(", ");

function severalTable() {
  if (!told.several.length) return;
  $("several").replaceChildren(h("div", { class: "panel" }, h("h3", {}, "Checks of several nodes that did not pass"),
    h("ul", {}, told.several.slice(0, 100).map((each) => h("li", {}, badge(each.letter === "e" ? "unmeasured" : "failed"), ` ${checkName(each.check)} on ${each.nodes || "the fleet"}: ${each.message}`)))));
}
