// Nodes with their serial numbers, for paper: drawn when first seen or printed, whole on paper.
let onPaper = false;

function serialRow(node) {
  const groups = new Map();
  for (const [what, serial] of node.parts) {
    const [kind, ...which] = text(what).split(" ");
    if (!groups.has(kind)) groups.set(kind, []);
    groups.get(kind).push([which.join(" "), serial]);
  }
  return h("tr", {}, h("td", {}, h("b", {}, node.name), h("div", { class: "quiet" }, node.rack ? `rack ${node.rack}` : "")),
    h("td", {}, node.state !== "in-service" ? node.state : node.certified ? "certified" : `not certified: ${text(node.reason).slice(0, 160) || node.verdict}`,
      h("div", { class: "quiet" }, `${node.measured} of ${node.planned} measured`), text(node.hours) ? h("div", { class: "quiet" }, text(node.hours)) : ""),
    h("td", { class: "serial" }, node.serial || "not known"),
    h("td", {}, [...groups].map(([kind, parts]) => h("div", {}, h("span", { class: "quiet" }, `${kind}: `),
      parts.map(([which, serial], place) => [place ? ", " : "", h("span", { class: "quiet" }, `${which} `), h("span", { class: "serial" }, serial)])))));
}

function drawSerials(all) {
  const rows = all ? nodes : nodes.slice(0, 20);
  $("serials").replaceChildren(h("table", { class: "serials" }, h("thead", {}, h("tr", {}, ["Node", "State", "Machine serial", "Parts"].map((title) => h("th", {}, title)))),
    h("tbody", {}, rows.map(serialRow))), rows.length < nodes.length ? h("button", { type: "button", class: "more", onclick: () => drawSerials(true) }, `${(nodes.length - rows.length).toLocaleString("en")} more`) : "");
}

function paper() {
  if (onPaper) return;
  onPaper = true;
  drawSerials(true);
}
