// Charts and the marks under the slider: small SVG, one axis of time for all.

const HEIGHT = 130;
const EDGE = { left: 40, right: 8, top: 8, bottom: 18 };
const MARK_LABELS = {
  fail: "fails", detect: "detected", switch_over: "switchover", first_good: "first good packet",
  last_crankback: "last crankback", steady: "steady", repair: "repaired", returned: "usual path back",
};

const across = (t, left, right) => left + ((t - state.from) / (state.to - state.from)) * (right - left);

/** Ticks at round values. */
function ticks(low, high, wanted) {
  const raw = (high - low) / wanted || 1;
  const unit = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((each) => each * unit).find((each) => each >= raw);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toPrecision(12)));
  return found;
}

/** Time zero of axes: the failure that the window is about, or the run's zero. */
function axisZero() {
  const failure = failureAt(state.to);
  return failure && state.to - state.from < run().end_ms / 2 ? failure.down[0][0] : 0;
}

function timeAxis(width, height) {
  const zero = axisZero();
  return ticks(state.from - zero, state.to - zero, Math.max(3, width / 110)).map((tick) => {
    const x = across(tick + zero, EDGE.left, width - EDGE.right);
    const inSeconds = state.to - state.from >= 5000;
    return make("text", { x, y: height - 3, "text-anchor": "middle" }, inSeconds ? `${tick / 1000} s` : tick.toLocaleString("en"));
  });
}

/** A frame with axes; `high` is the top of the vertical axis. */
function frame(width, high, digits = 0) {
  const y = (value) => HEIGHT - EDGE.bottom - (value / high) * (HEIGHT - EDGE.bottom - EDGE.top);
  const svg = make("svg", { viewBox: `0 0 ${width} ${HEIGHT}`, height: HEIGHT, "aria-hidden": "true" });
  for (const [start, end] of run().failures.flatMap((failure) => failure.down)) {
    const left = across(Math.max(start, state.from), EDGE.left, width - EDGE.right);
    const right = across(Math.min(end ?? state.to, state.to), EDGE.left, width - EDGE.right);
    if (right > left) svg.append(make("rect", { class: "zone", x: left, y: EDGE.top, width: right - left, height: HEIGHT - EDGE.top - EDGE.bottom }));
  }
  for (const value of ticks(0, high, 3)) {
    svg.append(
      make("line", { class: "axis", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
      make("text", { x: EDGE.left - 5, y: y(value) + 4, "text-anchor": "end" }, value.toLocaleString("en", { maximumFractionDigits: digits + 2 })),
    );
  }
  svg.append(...timeAxis(width, HEIGHT), make("line", { class: "cursor", y1: EDGE.top, y2: HEIGHT - EDGE.bottom }));
  return { svg, y, x: (t) => across(t, EDGE.left, width - EDGE.right) };
}

/** Draw all charts for the window. */
function drawCharts() {
  const series = seriesOf(pair());
  byId("charts-card").hidden = false; // its width counts
  const kinds = series.length ? [delayChart, lossChart] : [];
  if (run().failures.some((failure) => Object.keys(failure.notified).length)) kinds.push(knowledgeChart);
  const width = chartWidth(kinds.length);
  const drawn = kinds.map((draw) => draw(width, series));
  byId("charts").replaceChildren(...drawn);
  byId("charts-card").hidden = !drawn.length;
  moveCursor();
}

function chartWidth(count) {
  const whole = byId("charts").clientWidth;
  const columns = Math.max(1, Math.min(count, Math.floor((whole + 22) / (304 + 22))));
  return Math.max(260, (whole - 22 * (columns - 1)) / columns);
}

function chart(title, id, svg, description) {
  svg.addEventListener("click", (event) => {
    const box = svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) / box.width) * svg.viewBox.baseVal.width;
    const inner = (part - EDGE.left) / (svg.viewBox.baseVal.width - EDGE.left - EDGE.right);
    setTime(state.from + Math.min(1, Math.max(0, inner)) * (state.to - state.from));
  });
  const head = make("h3", {}, title, make("b", { id }));
  return make("div", { class: "chart", role: "group", "aria-label": description }, head, svg);
}

function packetsIn(series) {
  return series.flatMap((one) =>
    one.sent_ms.map((sent, place) => [sent, one.delay_ms[place]]).filter(([sent]) => sent >= state.from && sent <= state.to),
  );
}

function delayChart(width, series) {
  const packets = packetsIn(series);
  const arrived = packets.filter(([, delay]) => delay !== null);
  const high = Math.max(1e-3, ...arrived.map(([, delay]) => delay)) * 1.08;
  const { svg, x, y } = frame(width, high, 1);
  const dots = arrived.map(([sent, delay]) => `M${x(sent).toFixed(1)} ${y(delay).toFixed(1)}h0`).join("");
  const lost = packets.filter(([, delay]) => delay === null);
  const marks = lost.map(([sent]) => `M${x(sent).toFixed(1)} ${y(0)}v-9`).join("");
  svg.append(make("path", { class: "dots", d: dots }), make("path", { class: "lost", d: marks }));
  const words = `Delay of ${packets.length} packets in the window, at most ${high.toFixed(1)} ms; ${lost.length} lost`;
  const what = series[0].kind === "ping" && isRunning ? "Round-trip time of each ping" : "Delay of each packet";
  return chart(`${what}, ms (red: lost)`, "delay-now", svg, words);
}

function lossChart(width, series) {
  const times = series.flatMap((one) => one.sent_ms.filter((sent, place) => one.delay_ms[place] === null && sent >= 0 && sent <= run().end_ms));
  times.sort((one, other) => one - other);
  const { svg, x, y } = frame(width, Math.max(1, times.length) * 1.08);
  const total = stepPath(times, x, y);
  svg.append(make("path", { class: "step loss", d: total }));
  const [title, when] = isRunning ? ["Packets lost, last 20 s", "the last 20 s"] : ["Packets lost so far", "the whole run"];
  return chart(title, "lost-now", svg, `${times.length} packets lost in ${when}`);
}

function knowledgeChart(width) {
  const failure = failureAt(state.to) ?? run().failures[0];
  const times = Object.values(failure.notified).sort((one, other) => one - other);
  const { svg, x, y } = frame(width, page.topology.nodes.length * 1.08);
  svg.append(make("path", { class: "step", d: stepPath(times, x, y) }));
  const words = `${times.length} of ${page.topology.nodes.length} switches come to know of ${failure.name}`;
  return chart(`Switches that know of ${failure.name}`, "knows-now", svg, words);
}

/** A stair that rises by one at each time. */
function stepPath(times, x, y) {
  const inside = times.filter((t) => t <= state.to);
  let count = inside.filter((t) => t < state.from).length;
  let drawn = `M${x(state.from)} ${y(count)}`;
  for (const t of inside.filter((each) => each >= state.from)) {
    drawn += `H${x(t).toFixed(1)}`;
    count += 1;
    drawn += `V${y(count).toFixed(1)}`;
  }
  return `${drawn}H${x(state.to)}`;
}

/** Move the line of the present time, and say the values there. */
function moveCursor() {
  for (const line of document.querySelectorAll(".chart .cursor")) {
    const x = across(state.t, EDGE.left, line.ownerSVGElement.viewBox.baseVal.width - EDGE.right);
    line.setAttribute("x1", x);
    line.setAttribute("x2", x);
  }
  const series = seriesOf(pair());
  const failure = failureAt(state.t);
  setText("lost-now", number.format(lostUntil(series, state.t)));
  setText("knows-now", failure ? number.format(knowing(failure, state.t).size) : "0");
  const last = series.flatMap((one) => one.sent_ms.map((sent, place) => [sent, one.delay_ms[place]])).filter(([sent]) => sent <= state.t && sent > state.t - 50).at(-1);
  setText("delay-now", !last ? "" : last[1] === null ? "lost" : milliseconds(last[1], 2));
  // Of a network that runs the page has the packets of the last seconds, and ping's own count of all.
  const lost = isRunning ? run().series.reduce((sum, one) => sum + (one.counts.lost ?? 0), 0) : lostUntil(run().series, state.t);
  setText("readout", run().series.length ? `lost so far, all pairs: ${number.format(lost)}` : "");
}

function setText(id, text) {
  const element = byId(id);
  if (element) element.textContent = text;
}

/** The marks under the slider: stages of failures in the window. */
function drawMarks() {
  const width = Math.max(240, byId("marks").clientWidth);
  const found = milestones().filter(({ at }) => at >= state.from && at <= state.to);
  const rows = [];
  const stems = make("g", { class: "stems" });
  const svg = make("svg", { "aria-hidden": "true" }, stems);
  for (const mark of found) {
    const x = 8 + ((mark.at - state.from) / (state.to - state.from)) * (width - 16);
    const text = mark.text;
    const size = text.length * 5.9 + 14;
    const left = x + size > width ? x - size : x;
    let row = rows.findIndex((end) => end < left);
    if (row < 0) row = rows.length;
    rows[row] = left + size;
    const y = 14 + row * 17;
    stems.append(make("line", { class: "stem", x1: x, x2: x, y1: 0, y2: y }));
    svg.append(
      make("g", { class: mark.kind, onclick: () => setTime(mark.at) },
        make("circle", { class: "pin", cx: x, cy: y, r: 4 }),
        make("text", { x: left < x ? x - 8 : x + 8, y: y + 4, "text-anchor": left < x ? "end" : "start" }, text)),
    );
  }
  const height = 8 + Math.max(1, rows.length) * 17;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  byId("marks").replaceChildren(svg);
}

/** Stages, failures and repairs, in order. */
function milestones() {
  const found = run().failures.flatMap((failure) => {
    const zero = failure.down[0][0];
    const of = (kind, at) => ({ kind, at, text: `${MARK_LABELS[kind]} +${milliseconds(at - zero)}` });
    const link = (kind, at) => ({ kind, at, text: `${failure.name} ${MARK_LABELS[kind]}` });
    const stages = Object.entries(failure.stages).filter(([kind]) => kind in MARK_LABELS).map(([kind, at]) => of(kind, at));
    const downs = failure.down.flatMap(([start, end]) => [link("fail", start), ...(end === null ? [] : [link("repair", end)])]);
    const ended = failure.down.at(-1)[1];
    const back = failure.returned_ms !== null && failure.returned_ms > ended ? [of("returned", failure.returned_ms)] : [];
    return [...downs, ...stages, ...back];
  });
  return found.sort((one, other) => one.at - other.at);
}
