// Everything about one node, in a window of its own.
function quoted(word) {
  return /^[\w.,@%+=:/-]+$/.test(word) ? word : `'${word.replace(/'/g, "'\"'\"'")}'`;
}

function commands(node) {
  const tier = told.tier ? ` --tier ${told.tier}` : "";
  return [
    ["look closer, no node is touched", `pytest checks/ --replay ${quoted(told.folder)} --nodes ${quoted(node.name)} -vv`],
    ["test it again", `pytest checks/ --inventory ${quoted(told.inventory)}${tier} --nodes ${quoted(node.name)}`],
  ];
}

const detail = (title, ...children) => h("section", {}, h("h3", {}, title), ...children);

function findingsOf(node) {
  return node.findings.map(([check, severity, action, message, parts, common, past]) => h("article", {},
    h("p", { class: "cause" }, text(message)),
    h("p", { class: "facts" }, badge(severity), ` ${checkName(check)} → ${action}${common ? " · shared by many nodes: not held against this one" : ""}`),
    past >= 0 ? h("p", { class: "past" }, text(past)) : null,
    parts ? h("p", { class: "where" }, parts) : null));
}

function suspectsOf(node) {
  return node.suspects.map(([check, message, standing]) => h("article", {},
    h("p", { class: "cause" }, text(message)), h("p", { class: "facts" }, `${check} · ${text(standing)}`)));
}

function gapsOf(node) {
  return node.gaps.map(([why, numbers]) => h("article", {}, h("p", { class: "cause" }, text(why)),
    h("p", { class: "facts" }, `${plural(numbers.length, "check")}: ${numbers.slice(0, 6).map(checkName).join(", ")}${numbers.length > 6 ? " …" : ""}`)));
}

/** Every check by what it said, the gravest first. */
function checksOf(node) {
  const groups = new Map([...GRAVITY].reverse().map((letter) => [letter, []]));
  [...node.marks].forEach((letter, number) => groups.get(letter).push(checks[number].name));
  groups.delete(".");
  return [...groups].filter(([, names]) => names.length).map(([letter, names]) => h("details", {},
    h("summary", {}, `${MEANING[letter]}: ${names.length}`), h("p", { class: "serial" }, names.join(", "))));
}

function openNode(node) {
  const box = $("node");
  const close = () => box.close();
  const where = [node.rack && `rack ${node.rack}`, node.profile, node.serial && `machine serial ${node.serial}`, node.use].filter(Boolean).join(" · ");
  box.replaceChildren(
    h("header", {}, h("h2", { id: "node-name" }, node.name, " ", badge(node.state === "in-service" ? node.verdict : node.state),
      node.change ? h("span", { class: `state ${node.change.toLowerCase()}` }, node.change) : null),
    h("button", { type: "button", onclick: close, "aria-label": "close" }, "✕")),
    h("p", { class: "quiet" }, where),
    h("p", {}, node.certified ? `Certified${told.tier ? ` for ${told.tier}` : ""}.` : `Not certified: ${text(node.reason) || node.verdict}.`,
      ` ${node.measured} of ${node.planned} applicable checks measured.`),
    ...(node.unreachable >= 0 ? [detail("Not reached", h("p", {}, text(node.unreachable)))] : []),
    ...(node.findings.length ? [detail(plural(node.findings.length, "finding"), findingsOf(node))] : []),
    ...(node.suspects.length ? [detail("Suspects of the last weeks, not there now", suspectsOf(node))] : []),
    ...(node.gaps.length ? [detail("Not measured", gapsOf(node))] : []),
    detail("Commands", commands(node).map(([words, command]) => h("p", {}, words, h("code", {}, command)))),
    ...(told.curves[node.name] ? [h("p", {}, h("a", { href: "#load", onclick: () => { close(); showLoad(node.name); } }, "its curves under load"))] : []),
    detail("Checks", checksOf(node)),
    ...(node.parts.length ? [detail("Serial numbers", h("div", { class: "parts" }, node.parts.map(([what, serial]) => h("span", {}, h("span", { class: "quiet" }, text(what)), " ", h("span", { class: "serial" }, serial)))))] : []),
  );
  if (!box.open) box.showModal();
  box.scrollTop = 0;
}
