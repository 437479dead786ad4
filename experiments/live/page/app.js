// What the user does: choose, move in time, fail links of the plan.

const SPEEDS = [[60, "very slow"], [20, "slow"], [8, "medium"], [3, "fast"]];
const RECENT_MS = [10_000, 20_000];
let playing = null;
let following = isRunning;

/** Times worth a window of their own: each failure, each repair, the whole run. */
function windows() {
  const found = run().failures.flatMap((failure, place) => {
    const [start] = failure.down[0];
    const ended = failure.down.at(-1)[1];
    const known = [...Object.values(failure.stages), ...Object.values(failure.notified)].filter((at) => at >= start && (ended === null || at < ended));
    const last = Math.max(start + 5, ...known);
    const views = [{ name: `failure ${place + 1}: ${failure.name}`, from: start - 0.12 * (last - start), to: last + 0.18 * (last - start) }];
    if (ended !== null) {
      const back = Math.max(ended + 50, failure.returned_ms ?? 0);
      views.push({ name: `repair ${place + 1}: ${failure.name}`, from: ended - 0.1 * (back - ended), to: back + 0.2 * (back - ended) });
    }
    return views;
  });
  if (isRunning) {
    const recent = RECENT_MS.map((span) => ({ name: `last ${span / 1000} s`, from: run().end_ms - span, to: run().end_ms }));
    return [...recent, ...found.toReversed().slice(0, 20)];
  }
  return [...found, { name: "whole run", from: Math.min(0, run().begin_ms), to: run().end_ms }];
}

function showWindow(place) {
  const { from, to } = windows()[place];
  Object.assign(state, { from, to });
  byId("window").value = place;
  setTime(following ? to : from);
  drawMarks();
  drawCharts();
  sayScale();
}

function sayScale() {
  if (following) return (byId("scale").textContent = "as it happens");
  const seconds = Number(byId("speed").value);
  const perSecond = (state.to - state.from) / seconds;
  const slower = 1000 / perSecond;
  const times = slower >= 1 ? slower : 1 / slower;
  const shown = times < 10 ? times.toFixed(1) : number.format(times);
  byId("scale").textContent = `${shown} times ${slower >= 1 ? "slower" : "faster"} than it was`;
}

function setTime(t) {
  state.t = Math.min(state.to, Math.max(state.from, t));
  const slider = byId("time");
  slider.value = Math.round((1000 * (state.t - state.from)) / (state.to - state.from));
  slider.setAttribute("aria-valuetext", momentText());
  paint();
}

/** Go to a time, in the narrowest window that holds it. */
function jumpTo(t) {
  if (state.planning) setPlanning(false);
  stop();
  if (t < state.from || t > state.to) {
    const fitting = windows().map((each, place) => ({ ...each, place })).filter((each) => each.from <= t && t <= each.to);
    const best = fitting.sort((one, other) => one.to - one.from - (other.to - other.from))[0];
    if (best) showWindow(best.place);
  }
  setTime(t);
}

function paint() {
  paintMap();
  paintLists();
  paintPath();
  paintMoment();
  if (!state.planning) moveCursor();
}

function momentText() {
  const failure = failureAt(state.t);
  if (!failure) return `${duration(state.t)} after ${isRunning ? "the page began" : "the run's zero"}`;
  const after = duration(state.t - failure.down[0][0]);
  return `${after} after the failure of ${failure.name}`;
}

function paintMoment() {
  if (state.planning) {
    const names = linkOrder.filter((link) => state.failed.has(link));
    const lead = make("strong", {}, names.length ? `${names.join(", ")} ${names.length > 1 ? "fail" : "fails"}. ` : "Nothing fails. ");
    byId("moment").replaceChildren(lead, "Click links on the map, or use the list: the paths are those of the plan, as its rows send packets.");
    return;
  }
  const failure = failureAt(state.t);
  const down = [...new Set(failedAt(state.t).values())];
  const parts = [make("strong", {}, `${capital(momentText())}. `)];
  if (down.length) parts.push(make("span", { class: "alarm" }, `${down.map((each) => each.name).join(", ")} failed. `));
  if (failure && Object.keys(failure.notified).length && down.length) {
    parts.push(`${knowing(failure, state.t).size} of ${page.topology.nodes.length} switches know. `);
  }
  byId("moment").replaceChildren(...parts);
}

function choose(name) {
  state.chosen = state.chosen === name ? "" : name;
  const tab = linkOrder.includes(name) ? "links" : "switches";
  showTab(tab);
  paint();
  const row = document.querySelector(`.row.chosen`);
  if (row) byId(`panel-${tab}`).scrollTop = row.offsetTop - byId(`panel-${tab}`).offsetTop - 60;
}

/** The button of a link: fail it or repair it in the plan. */
function actOn(link) {
  if (isLive && !state.planning) return failOrRepair(link);
  if (!state.planning) {
    setPlanning(true);
    state.failed = new Set([link]);
  } else if (!state.failed.delete(link)) {
    state.failed.add(link);
  }
  paint();
  const view = pair() ? viewOf(pair()) : null;
  const path = view?.walk ? `${view.words} ${view.walk.nodes.join(", ")}` : "";
  say(`${link} ${state.failed.has(link) ? "fails" : "is repaired"}. ${path}`);
}

function setPlanning(planning) {
  stop();
  state.planning = planning;
  if (planning) state.failed = new Set(failedAt(state.t).keys());
  document.body.classList.toggle("planning", planning);
  byId("mode-planned").setAttribute("aria-pressed", planning);
  byId("mode-recorded").setAttribute("aria-pressed", !planning);
  if (!planning && isRunning) follow();
  else if (!planning) drawAll();
  paint();
}

/** The button of a link in a live network. */
function failOrRepair(link) {
  const isDown = failedAt(run().end_ms).has(link);
  return ask(isDown ? { do: "repair", link } : { do: "fail", link, kind: byId("kind").value });
}

function failOrRepairSwitch(node) {
  return ask({ do: hasFailed(node) ? "repair" : "fail", switch: node });
}

/** Ask the network for something, and say how that went. */
async function ask(wanted) {
  const what = `${wanted.do} ${wanted.link ?? wanted.switch ?? `${wanted.kind} from ${hostOf.get(wanted.from)} to ${hostOf.get(wanted.to)}`}`;
  let error;
  try {
    const answer = await fetch("act", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(wanted),
    });
    ({ error } = await answer.json());
  } catch {
    error = "armor live does not answer";
  }
  byId("problem").hidden = !error;
  byId("problem").textContent = error ? `${what}: ${error}` : "";
  if (!error) say(`${what}: done`);
}

const say = (text) => (byId("said").textContent = text);

function play() {
  if (isRunning && !following) return follow();
  if (playing) return stop();
  if (state.t >= state.to) setTime(state.from);
  byId("play").textContent = "Pause";
  let last = performance.now();
  const step = (now) => {
    const seconds = Number(byId("speed").value);
    setTime(state.t + ((now - last) / 1000 / seconds) * (state.to - state.from));
    last = now;
    if (state.t >= state.to) stop();
    else playing = requestAnimationFrame(step);
  };
  playing = requestAnimationFrame(step);
}

/** Show the present again. */
function follow() {
  following = true;
  showWindow(0);
  byId("play").textContent = "Following";
}

/** What the server says has changed. */
function learn(runs) {
  Object.entries(runs).forEach(([place, each]) => Object.assign(page.runs[place], each));
  const changed = runs[state.run];
  if (!changed) return;
  if ("events" in changed) byId("panel-events").replaceChildren(...eventRows());
  if ("failures" in changed) renewWindows();
  chips();
  if (state.planning) return paint();
  if (following) showWindow(Math.min(Number(byId("window").value) || 0, RECENT_MS.length - 1));
  else paint();
}

/** Offer the windows there are now; the one that was chosen stays so, wherever it stands. */
function renewWindows() {
  const chosen = byId("window").selectedOptions[0]?.textContent;
  const names = windows().map((each) => each.name);
  options("window", names);
  byId("window").value = Math.max(0, names.indexOf(chosen));
}

function listenToNetwork() {
  const source = new EventSource("events");
  source.onmessage = (event) => learn(JSON.parse(event.data));
  source.onerror = () => learn({ [state.run]: { error: "armor live has ended, or does not answer" } });
}

function stop() {
  following = false;
  if (isRunning) return (byId("play").textContent = "Follow");
  cancelAnimationFrame(playing);
  playing = null;
  byId("play").textContent = "Play";
}

function chips() {
  const { counts, failures, held, error } = run();
  const chip = (label, value, kind = "") => make("li", { class: kind || false }, make("b", {}, value), " ", make("span", {}, label));
  if (isRunning) return byId("chips").replaceChildren(...runningChips(chip));
  const found = [chip("", error ? "✘ broke off" : held ? "✔ every claim held" : "✘ a claim failed", held && !error ? "good" : "bad")];
  if (!run().is_trustworthy) found.push(chip("see Claims", "numbers with warnings", "doubt"));
  if (counts.sent !== undefined) found.push(chip("packets lost", number.format(counts.lost)), chip("sent", number.format(counts.sent)));
  if (counts.backtracked !== undefined) found.push(chip("backtracked", number.format(counts.backtracked)));
  for (const failure of failures.slice(0, 2)) {
    const zero = failure.down[0][0];
    const name = failures.length > 1 ? `, ${failure.name}` : "";
    if ("detect" in failure.stages) found.push(chip(`to detection${name}`, milliseconds(failure.stages.detect - zero)));
    if (failure.outage_ms) found.push(chip(`outage${name}`, milliseconds(failure.outage_ms)));
    const known = Object.values(failure.notified);
    if (known.length) found.push(chip(`until ${known.length} switches knew${name}`, milliseconds(Math.max(...known) - zero)));
  }
  byId("chips").replaceChildren(...found);
}

function runningChips(chip) {
  const down = failedAt(run().end_ms);
  const [good, bad] = isLive ? [["emulated", "✔ running"], "✘ not running"] : [["to the controller", "✔ connected"], "✘ not connected"];
  const status = run().error ? chip(run().error, bad, "bad") : chip(...good, "good");
  const links = chip(down.size === 1 ? "link down" : "links down", number.format(down.size), down.size ? "bad" : "");
  return [status, links, chip(run().failures.length === 1 ? "failure seen" : "failures seen", number.format(run().failures.length)), chip("watched", duration(run().end_ms))];
}

function options(select, names) {
  byId(select).replaceChildren(...names.map((name, place) => make("option", { value: place }, name)));
}

function showRun(place) {
  stop();
  Object.assign(state, { run: place, pair: 0, chosen: "" });
  const { scheme, mode } = run();
  byId("what").replaceChildren(make("strong", {}, page.topology.name), ` · ${[scheme, mode === "none" ? "" : mode].filter(Boolean).join(" ")} · ${page.title}`);
  options("pair", run().pairs.map(pairName));
  options("window", windows().map((each) => each.name));
  const facts = [...run().facts, ...page.origin].flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]);
  byId("origin").replaceChildren(...facts);
  byId("mode-planned").disabled = !hasPaths();
  byId("pair").hidden = !run().pairs.length;
  chips();
  buildMap();
  buildLists();
  showWindow(0);
}

function drawAll() {
  placeNodes();
  styleMap();
  drawMarks();
  drawCharts();
}

function nextTheme() {
  const names = ["auto", "light", "dark"];
  const next = names[(names.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % names.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  byId("theme").textContent = `Theme: ${next}`;
  styleMap();
}

function listen() {
  byId("play").addEventListener("click", play);
  byId("time").addEventListener("input", (event) => {
    stop();
    setTime(state.from + (Number(event.target.value) / 1000) * (state.to - state.from));
  });
  byId("window").addEventListener("change", (event) => {
    const place = Number(event.target.value);
    following = isRunning && place < RECENT_MS.length;
    byId("play").textContent = following ? "Following" : isRunning ? "Follow" : "Play";
    showWindow(place);
  });
  byId("speed").addEventListener("change", sayScale);
  byId("run").addEventListener("change", (event) => showRun(Number(event.target.value)));
  byId("pair").addEventListener("change", (event) => {
    state.pair = Number(event.target.value);
    drawCharts();
    paint();
  });
  byId("mode-recorded").addEventListener("click", () => setPlanning(false));
  byId("mode-planned").addEventListener("click", () => setPlanning(true));
  byId("theme").addEventListener("click", nextTheme);
  byId("acts").addEventListener("submit", (event) => {
    event.preventDefault();
    ask({ do: "send", kind: byId("send").value, from: byId("from").value, to: byId("to").value });
  });
  byId("zoom-in").addEventListener("click", () => zoomMap(1.5));
  byId("zoom-out").addEventListener("click", () => zoomMap(1 / 1.5));
  byId("zoom-fit").addEventListener("click", () => zoomMap(0));
  map.on("tap", ".link", (event) => (state.planning || isLive ? actOn : choose)(event.target.data("name")));
  map.on("tap", ".switch", (event) => choose(event.target.id()));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", styleMap);
  let waiting = 0;
  addEventListener("resize", () => {
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => (drawAll(), paint()));
  });
}

byId("speed").replaceChildren(...SPEEDS.map(([seconds, name]) => make("option", { value: seconds, selected: name === "slow" }, name)));
options("run", page.runs.map((each) => each.name));
byId("run-choice").hidden = page.runs.length < 2;
if (isRunning) {
  byId("mode-recorded").textContent = "Network";
  document.body.classList.add("running");
  const hosts = () => page.topology.nodes.map((node) => make("option", { value: node.name }, node.host));
  byId("from").replaceChildren(...hosts());
  byId("to").replaceChildren(...hosts());
  byId("to").selectedIndex = page.topology.nodes.length - 1;
  byId("acts").hidden = !isLive;
}
buildTabs();
listen();
showRun(0);
if (isRunning) {
  follow();
  listenToNetwork();
}
window.armor = { page, map, state, setTime, jumpTo, lostUntil, linkPoint: (name) => linkOf(name).renderedMidpoint() };
