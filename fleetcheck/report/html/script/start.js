// Wires the page together.
function option(select, words, entries) {
  select.replaceChildren(h("option", { value: "" }, words), ...entries.map((entry) => h("option", { value: entry }, entry)));
}

function controls() {
  const counts = new Map(VERDICTS.map((verdict) => [verdict, nodes.filter((node) => node.verdict === verdict && node.state === "in-service").length]));
  const chips = VERDICTS.filter((verdict) => counts.get(verdict)).map((verdict) => h("button", { type: "button", "data-verdict": verdict, class: `chip ${verdict}` }, `${verdict} ${counts.get(verdict).toLocaleString("en")}`));
  $("verdicts").replaceChildren(...chips);
  document.querySelectorAll("[data-verdict]").forEach((button) => button.addEventListener("click", () => {
    setFilter({ verdict: filter.verdict === button.dataset.verdict ? "" : button.dataset.verdict });
    if (button.classList.contains("tile")) $("nodes").scrollIntoView();
  }));
  option($("rack"), "all racks", [...grouped(nodes).keys()]);
  option($("component"), "trouble in any component", components);
  $("rack").addEventListener("change", () => setFilter({ rack: $("rack").value || null }));
  $("component").addEventListener("change", () => setFilter({ component: $("component").value }));
  $("clear").addEventListener("click", () => setFilter({ words: "", verdict: "", rack: null, component: "" }));
  let waiting = 0;
  $("find").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => setFilter({ words: $("find").value.trim().toLowerCase() }), nodes.length > 1000 ? 200 : 0);
  });
  onFilter(() => {
    document.querySelectorAll("[data-verdict]").forEach((button) => button.setAttribute("aria-pressed", String(filter.verdict === button.dataset.verdict)));
    $("rack").value = filter.rack ?? "";
    $("component").value = filter.component;
    if ($("find").value.trim().toLowerCase() !== filter.words) $("find").value = filter.words;
    $("clear").hidden = !filtering();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !/INPUT|SELECT/.test(document.activeElement.tagName)) { event.preventDefault(); $("find").focus(); }
  });
}

function theme() {
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  $("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    const shown = document.querySelector(".card.chosen");
    if (shown) showLoad(shown.dataset.node);
  });
}

controls();
theme();
drawLegend();
nodeTable();
onFilter(drawMap);
checkTable();
severalTable();
drawPairs();
drawLoads();
onFilter(() => drawSerials(nodes.length <= 64));
setFilter({});
$("print").addEventListener("click", () => window.print());
window.addEventListener("beforeprint", paper);
$("node").addEventListener("click", (event) => { if (event.target === $("node")) $("node").close(); });
let resized = 0;
window.addEventListener("resize", () => { clearTimeout(resized); resized = setTimeout(drawMap, 150); });
