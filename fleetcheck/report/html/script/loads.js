// Temperature, power, clocks and throughput of a node's GPUs while loads ran, and a small picture of every loaded node.
const TITLES = { temperature: "Temperature, highest (°C)", power: "Power, mean (W)", sm_clock: "SM clock, mean (MHz)", utilisation: "Utilisation, mean (%)" };
const COLOURS = ["#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee8866", "#999999"];
let drawn = [];

/** Every point's least or greatest value over the GPUs. */
function envelope(curves, fold) {
  const lines = Object.values(curves);
  return lines[0].map((_, place) => {
    const values = lines.map((line) => line[place]).filter((value) => value !== null);
    return values.length ? fold(...values) : null;
  });
}

function spark(values) {
  const known = values.filter((value) => value !== null);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const points = values.map((value, place) => (value === null ? "" : `${((118 * place) / Math.max(1, values.length - 1) + 1).toFixed(1)},${(27 - (24 * (value - low)) / (high - low || 1)).toFixed(1)}`));
  return svg("svg", { width: 120, height: 30, class: "spark" }, svg("polyline", { points: points.filter(Boolean).join(" ") }));
}

function card(name) {
  const { curves, events } = told.curves[name];
  const node = byName.get(name);
  const heat = curves.temperature ? envelope(curves.temperature, Math.max) : null;
  const peak = heat ? Math.max(...heat.filter((value) => value !== null)) : null;
  return h("button", { type: "button", class: `card ${node ? node.verdict : ""}`, "data-node": name, onclick: () => showLoad(name) },
    h("b", {}, name), heat ? spark(heat) : "", h("span", { class: "quiet" }, [peak !== null ? `peak ${peak} °C` : "no temperature", events.length ? plural(events.length, "event") : ""].filter(Boolean).join(" · ")));
}

/** Shades the time of every load, and draws a line where something happened. */
function bands(loads, events) {
  return (plot) => {
    const { ctx, bbox } = plot;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    loads.forEach(([name, from, to], number) => {
      const [left, right] = [plot.valToPos(from / 60, "x", true), plot.valToPos(to / 60, "x", true)];
      ctx.fillStyle = number % 2 ? "rgba(128,140,160,.10)" : "rgba(128,140,160,.18)";
      ctx.fillRect(left, bbox.top, right - left, bbox.height);
      ctx.fillStyle = "rgba(128,140,160,.95)";
      ctx.font = `${11 * devicePixelRatio}px sans-serif`;
      if (right - left > 40) ctx.fillText(name, left + 4, bbox.top + 12 * devicePixelRatio);
    });
    ctx.fillStyle = "#d33";
    events.forEach(([at]) => ctx.fillRect(plot.valToPos(at / 60, "x", true), bbox.top, Math.max(1, devicePixelRatio), bbox.height));
    ctx.restore();
  };
}

/** Room above and below, and never so close that noise looks like a fault. */
function wide(plot, low, high) {
  const room = Math.max((high - low) * 0.1, Math.abs(high) * 0.05, 1);
  return [low - room, high + room];
}

function chart(box, what, curve, lines) {
  const style = getComputedStyle(document.documentElement);
  const axis = { stroke: style.getPropertyValue("--quiet"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { stroke: style.getPropertyValue("--line"), width: 1 } };
  const gpus = Object.keys(lines);
  return new uPlot({
    title: TITLES[what] || what, width: Math.max(300, box.clientWidth), height: 210, cursor: { sync: { key: "load" } },
    scales: { x: { time: false }, y: what === "utilisation" ? { range: [0, 105] } : { range: wide } }, axes: [{ ...axis, values: (_, marks) => marks.map((mark) => `${mark} min`) }, { ...axis, size: 56 }],
    legend: { live: true },
    series: [{ label: "minute", value: (_, value) => (value === null ? "–" : value.toFixed(1)) }, ...gpus.map((gpu, number) => ({
      label: `GPU ${gpu}`, stroke: COLOURS[number % COLOURS.length], width: 1.5, points: { show: curve.at.length < 24 }, spanGaps: false,
    }))],
    hooks: { drawClear: [bands(curve.loads, curve.events)] },
  }, [curve.at.map((at) => at / 60), ...gpus.map((gpu) => lines[gpu])], box);
}

function showLoad(name) {
  const place = $("curves");
  const curve = told.curves[name];
  drawn.forEach((plot) => plot.destroy());
  const node = byName.get(name);
  const charts = h("div", { class: "charts" });
  place.replaceChildren(h("h3", {}, name, " ", node ? badge(node.verdict) : ""), charts, ...(curve.events.length ? [h("h4", {}, "What happened"),
    h("ul", {}, curve.events.map(([at, kind, words]) => h("li", {}, `minute ${Math.floor(at / 60) + 1}: `, h("b", {}, kind), ` ${words}`)))] : []));
  const entries = Object.entries(curve.curves);
  charts.append(...entries.map(() => h("div", { class: "chart" })));
  drawn = entries.map(([what, lines], number) => chart(charts.childNodes[number], what, curve, lines));
  document.querySelectorAll(".card").forEach((each) => each.classList.toggle("chosen", each.dataset.node === name));
}

function drawLoads() {
  const names = Object.keys(told.curves);
  if (!names.length) {
    $("load-body").replaceChildren(h("p", { class: "empty" }, told.loaded
      ? "Nodes were loaded, and none told readable telemetry." : "No node was loaded in this run. Tiers burnin and acceptance load nodes: pytest checks/ --inventory … --duration 4h"));
    return;
  }
  $("load-count").textContent = told.loaded > names.length ? `${names.length} of ${plural(told.loaded, "loaded node")}, those with findings first` : plural(names.length, "loaded node");
  const cards = h("div", { class: "cards" }, names.map(card));
  $("load-body").replaceChildren(cards, h("div", { id: "curves" }));
  onFilter(() => cards.childNodes.forEach((each) => { const node = byName.get(each.dataset.node); each.hidden = Boolean(node) && !matches(node); }));
  const seen = new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) { seen.disconnect(); showLoad(names[0]); }
  }, { rootMargin: "400px" });
  seen.observe($("load-body"));
}
