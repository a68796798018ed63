// Nodes with their serial numbers: a few on the screen, on paper all that the filters leave, as many as a browser can print.
const MOST_ON_PAPER = 1024;

function serialRow(node) {
  const groups = new Map();
  for (const [what, serial] of node.parts) {
    const [kind, ...which] = text(what).split(" ");
    if (!groups.has(kind)) groups.set(kind, []);
    groups.get(kind).push([which.join(" "), serial]);
  }
  return h("tr", {}, h("td", {}, h("b", {}, node.name), h("div", { class: "quiet" }, node.rack ? `rack ${node.rack}` : "")),
    h("td", {}, node.state !== "in-service" ? node.state : node.certified ? "certified" : `not certified: ${text(node.reason).slice(0, 160) || node.verdict}`,
      h("div", { class: "quiet tight" }, `${node.measured} of ${node.planned} measured`), text(node.hours) ? h("div", { class: "quiet" }, text(node.hours)) : ""),
    h("td", { class: "serial" }, node.serial || "not known"),
    h("td", {}, [...groups].map(([kind, parts]) => h("div", {}, h("span", { class: "quiet" }, `${kind}: `),
      parts.map(([which, serial], place) => [place ? ", " : "", h("span", { class: "quiet" }, `${which} `), h("span", { class: "serial" }, serial)])))));
}

function drawSerials(all) {
  const list = chosen();
  const rows = list.slice(0, all ? MOST_ON_PAPER : 20);
  const cut = list.length > MOST_ON_PAPER ? `; the first ${MOST_ON_PAPER.toLocaleString("en")} are printed: choose a rack to print its nodes` : "";
  $("serials-extent").textContent = list.length < nodes.length || cut ? `${list.length.toLocaleString("en")} of ${plural(nodes.length, "node")}${cut}` : "";
  $("serials").replaceChildren(h("table", { class: "serials" }, h("thead", {}, h("tr", {}, ["Node", "State", "Machine serial", "Parts"].map((title) => h("th", {}, title)))),
    h("tbody", {}, rows.map(serialRow))), rows.length < list.length ? h("button", { type: "button", class: "more", onclick: () => drawSerials(true) }, `${(list.length - rows.length).toLocaleString("en")} more`) : "");
}

const paper = () => drawSerials(true);
