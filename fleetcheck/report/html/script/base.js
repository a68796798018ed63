"use strict";
// What every part of the page uses: data, elements made without HTML, filters that apply everywhere.
const told = JSON.parse(document.getElementById("told").textContent);
const VERDICTS = ["failed", "unreachable", "degraded", "unknown", "healthy"];
const GRAVITY = ".spemcwdf";
const MEANING = {
  f: "failed, fatal", d: "failed, degraded", w: "warning", c: "failed on many nodes at once", m: "no outcome", e: "not measured",
  p: "passed", s: "does not apply", ".": "not asked",
};
const nodes = told.nodes.map((row, number) => {
  const node = { number };
  told.columns.forEach((column, place) => { node[column] = row[place]; });
  return node;
});
const checks = told.checks;
const ORDER = ["gpu", "gpu-memory", "nvlink", "fabric", "pcie", "thermal", "power", "driver", "cpu", "dram", "disk", "storage", "filesystem", "rdma", "nic", "network"];
const orderOf = (name) => (ORDER.includes(name) ? ORDER.indexOf(name) : ORDER.length);
const components = [...new Set(checks.map((check) => check.component))].sort((one, other) => orderOf(one) - orderOf(other));
const placeOf = new Map(components.map((name, place) => [name, place]));
const byName = new Map(nodes.map((node) => [node.name, node]));
const $ = (id) => document.getElementById(id);

/** An element; children that are text stay text, whatever a node put into them. */
function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

function svg(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.flat());
  return element;
}

const plural = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const text = (number) => (number >= 0 ? told.texts[number] : "");
const worse = (one, other) => (GRAVITY.indexOf(one) >= GRAVITY.indexOf(other) ? one : other);
const checkName = (which) => (typeof which === "number" ? checks[which].name : which);

/** The gravest letter of each component of a node, in the order of components. */
function cells(node) {
  if (!node.cells) {
    const found = new Array(components.length).fill(".");
    for (let number = 0; number < node.marks.length; number += 1) {
      const place = placeOf.get(checks[number].component);
      found[place] = worse(node.marks[number], found[place]);
    }
    node.cells = found;
  }
  return node.cells;
}

/** Findings that count against the node first, as [check, severity, action, text, parts, common, past]. */
const own = (node) => node.findings.filter((finding) => !finding[5]);

/** Why a node is what it is, in one line. */
function cause(node) {
  if (node.unreachable >= 0) return text(node.unreachable);
  const worst = own(node)[0] || node.findings[0];
  if (worst) return text(worst[3]);
  if (node.gaps.length) return `not measured: ${text(node.gaps[0][0])}`;
  return node.state === "in-service" ? "" : node.state;
}

function haystack(node) {
  if (!node.words) {
    const parts = node.parts.map(([what, serial]) => `${text(what)} ${serial}`);
    const found = node.findings.map((finding) => `${checkName(finding[0])} ${text(finding[3])} ${finding[4]}`);
    const gaps = node.gaps.map(([why]) => text(why));
    node.words = [node.name, node.rack && `rack ${node.rack}`, node.profile, node.state, node.verdict, node.serial, node.change, node.use,
      text(node.unreachable), ...found, ...gaps, ...parts].join("\n").toLowerCase();
  }
  return node.words;
}

const filter = { words: "", verdict: "", rack: null, component: "" };
const listeners = [];
const onFilter = (listener) => listeners.push(listener);

function setFilter(change) {
  Object.assign(filter, change);
  listeners.forEach((listener) => listener());
}

function matches(node) {
  if (filter.verdict && (node.verdict !== filter.verdict || node.state !== "in-service")) return false;
  if (filter.rack !== null && groupOf(node) !== filter.rack) return false;
  if (filter.component && !"fdwcem".includes(cells(node)[placeOf.get(filter.component)])) return false;
  return filter.words.split(/\s+/).every((word) => !word || haystack(node).includes(word));
}

const filtering = () => Boolean(filter.words || filter.verdict || filter.rack !== null || filter.component);
const chosen = () => nodes.filter(matches);

/** The rack of a node; where nobody said, a run of 64 nodes in the order of the inventory. */
const unlabelled = nodes.filter((node) => !node.rack);
const blockOf = new Map(unlabelled.map((node, place) => {
  const first = unlabelled[place - (place % 64)].name;
  const last = unlabelled[Math.min(unlabelled.length, place - (place % 64) + 64) - 1].name;
  return [node.number, first === last ? first : `${first} … ${last}`];
}));
const groupOf = (node) => (node.rack ? `rack ${node.rack}` : blockOf.get(node.number));

function grouped(list) {
  const groups = new Map();
  for (const node of list) {
    const key = groupOf(node);
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(node);
  }
  return groups;
}

function tip(event, ...lines) {
  const box = $("tip");
  if (!lines.length) { box.hidden = true; return; }
  box.replaceChildren(...lines.map((line, place) => h("div", { class: place ? "" : "head" }, line)));
  box.hidden = false;
  const { offsetWidth: width, offsetHeight: height } = box;
  box.style.left = `${Math.max(4, Math.min(event.clientX + 14, window.innerWidth - width - 8))}px`;
  box.style.top = `${event.clientY + 16 + height > window.innerHeight ? event.clientY - height - 10 : event.clientY + 16}px`;
}
