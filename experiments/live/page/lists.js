// The lists beside the map: everything that the map can do is a button here.

const TABS = { links: "Links", switches: "Switches", events: "Events", claims: "Claims" };
const MOST_EVENTS = 500;
const installs = { events: null, byNode: new Map() };

function buildTabs() {
  const buttons = Object.entries(TABS).map(([name, label]) =>
    make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => showTab(name) }, label),
  );
  byId("tabs").replaceChildren(...buttons);
  byId("tabs").addEventListener("keydown", moveTab);
  const panels = Object.keys(TABS).map((name) =>
    make("div", { class: "panel", role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabindex: "0" }),
  );
  byId("panels").replaceChildren(...panels);
  showTab(state.tab);
}

function showTab(name) {
  state.tab = name;
  for (const each of Object.keys(TABS)) {
    byId(`tab-${each}`).setAttribute("aria-selected", each === name);
    byId(`tab-${each}`).tabIndex = each === name ? 0 : -1;
    byId(`panel-${each}`).hidden = each !== name;
  }
}

/** Arrow keys go from tab to tab (WAI-ARIA, pattern of tabs). */
function moveTab(event) {
  const names = Object.keys(TABS);
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  showTab(names[(names.indexOf(state.tab) + step + names.length) % names.length]);
  byId(`tab-${state.tab}`).focus();
}

function buildLists() {
  byId("panel-links").replaceChildren(...page.topology.links.map(linkRow));
  byId("panel-switches").replaceChildren(...page.topology.nodes.map(switchRow));
  byId("panel-events").replaceChildren(...eventRows());
  byId("panel-claims").replaceChildren(...claimRows());
}

function linkRow(link) {
  return make("div", { class: "row", "data-link": link.name },
    make("button", { type: "button", class: "name", onclick: () => choose(link.name), "aria-label": `show ${link.name}` }, link.name),
    make("span", { class: "quiet state" }),
    make("button", { type: "button", class: "act", onclick: () => actOn(link.name) }));
}

function switchRow(node) {
  return make("div", { class: "row", "data-node": node.name },
    make("button", { type: "button", class: "name", onclick: () => choose(node.name), "aria-label": `show ${node.name}` }, node.name),
    make("span", { class: "quiet" }, [node.label, node.host].filter(Boolean).join(" · ")),
    make("span", { class: "state" }),
    isLive ? make("button", { type: "button", class: "act", onclick: () => failOrRepairSwitch(node.name) }) : null);
}

function eventRows() {
  const events = isRunning ? run().events.toReversed() : run().events;
  const zero = isRunning ? 0 : (run().failures[0]?.down[0][0] ?? 0);
  const rows = events.slice(0, MOST_EVENTS).map((event) =>
    make("div", { class: "row event", "data-at": event.t_ms },
      make("button", { type: "button", onclick: () => jumpTo(event.t_ms), title: `${milliseconds(event.t_ms)} after the run's zero` },
        `${event.t_ms >= zero ? "+" : "−"}${duration(Math.abs(event.t_ms - zero))}`),
      make("span", {}, event.text)));
  const first = run().failures[0];
  if (isRunning) return [make("p", { class: "note" }, "Times since the page began, newest first."), ...rows];
  const lead = first ? `Times after the first failure, ${first.name}. A time is a button that goes there.` : "Nothing failed.";
  const rest = events.length > MOST_EVENTS ? [make("p", { class: "note" }, `${number.format(events.length - MOST_EVENTS)} more are in events.jsonl.`)] : [];
  return [make("p", { class: "note" }, lead), ...rows, ...rest];
}

function claimRows() {
  if (isRunning) return [make("p", { class: "note" }, "A running network makes no claims; armor run measures and judges.")];
  const claims = run().claims.map((claim) =>
    make("div", { class: "row event" },
      make("span", { class: `badge ${claim.held ? "good" : "bad"}` }, claim.held ? "✔ held" : "✘ failed"),
      make("span", {}, claim.name, claim.detail ? make("span", { class: "quiet" }, ` (${claim.detail})`) : null)));
  const warnings = run().warnings.map((warning) => make("p", { class: "note" }, `Warning: ${warning}`));
  const error = run().error ? [make("p", { class: "note" }, `The run broke off: ${run().error}`)] : [];
  return [...error, ...claims, ...warnings];
}

/** What the rows say at `state.t`, or of the planned failures. */
function paintLists() {
  const down = state.planning ? new Map() : failedAt(state.t);
  const failure = state.planning ? null : failureAt(state.t);
  const users = usersByLink();
  for (const row of byId("panel-links").children) paintLink(row, down, users.get(row.dataset.link) ?? []);
  for (const row of byId("panel-switches").children) paintSwitch(row, failure);
  for (const row of byId("panel-events").querySelectorAll(".event")) {
    row.classList.toggle("later", Number(row.dataset.at) > state.t);
  }
}

function paintLink(row, down, users) {
  const link = row.dataset.link;
  const isDown = state.planning ? state.failed.has(link) : down.has(link);
  const button = row.querySelector(".act");
  const acts = state.planning || isLive;
  const word = !acts ? `what if ${link} fails` : isDown ? `repair ${link}` : `fail ${link}`;
  if (button.textContent !== word) button.textContent = word;
  button.hidden = !isLive && !hasPaths();
  button.classList.toggle("does-fail", acts && !isDown);
  button.classList.toggle("does-repair", acts && isDown);
  row.classList.toggle("chosen", state.chosen === link);
  const said = row.querySelector(".state");
  const text = state.planning && isDown ? "failed" : [down.has(link) ? failedWords(down.get(link)) : "", loadOf(link), ...users].filter(Boolean).join(", ");
  if (said.textContent !== text) said.textContent = text;
}

function failedWords(failure) {
  if (isRunning) return `down for ${duration(state.t - failure.down[0][0])}`;
  const found = failure.stages.detect;
  if (found === undefined || state.t < found) return `${failure.kind} failure, nobody knows`;
  return `failed, detected after ${milliseconds(found - failure.down[0][0])}`;
}

function loadOf(link) {
  const load = run().loads_mbps[link];
  return load === undefined || state.planning ? "" : `${load.toLocaleString("en", { maximumFractionDigits: load < 10 ? 2 : 0 })} Mbit/s`;
}

function paintSwitch(row, failure) {
  const node = row.dataset.node;
  row.classList.toggle("chosen", state.chosen === node);
  const said = row.querySelector(".state");
  const at = failure?.notified[node];
  const knows = at !== undefined && at <= state.t;
  const held = installed(node).filter((event) => event.t_ms <= state.t).reduce((sum, event) => sum + event.rows, 0);
  const parts = [];
  if (knows) parts.push(make("span", { class: "badge good" }, `knows, +${milliseconds(at - failure.down[0][0])}`));
  if (held && !state.planning) parts.push(make("span", { class: "badge" }, `${held} rows of its agent`));
  said.replaceChildren(...parts);
  const button = row.querySelector(".act");
  if (!button) return;
  const isDown = hasFailed(node);
  button.hidden = state.planning;
  button.textContent = `${isDown ? "repair" : "fail"} ${node}`;
  button.classList.toggle("does-fail", !isDown);
  button.classList.toggle("does-repair", isDown);
}

/** Installations by a switch's agent. */
function installed(node) {
  if (installs.events !== run().events) {
    Object.assign(installs, { events: run().events, byNode: new Map() });
    for (const event of run().events.filter((each) => each.rows)) {
      installs.byNode.set(event.node, [...(installs.byNode.get(event.node) ?? []), event]);
    }
  }
  return installs.byNode.get(node) ?? [];
}

/** The path of the chosen pair, in words and hop by hop. */
function paintPath() {
  const one = pair();
  if (!one) {
    byId("path-text").replaceChildren(make("p", { class: "quiet" }, "No pair of hosts was followed in this run."));
    return;
  }
  const view = viewOf(one);
  const parts = [make("p", { class: `state ${view.kind}` }, view.words)];
  if (view.walk) parts.push(hopList(view.walk, view.kind === "bad" ? brokenAt(view.walk) : -1));
  if (view.first && view.first.links.join() !== view.walk?.links.join()) {
    parts.push(make("p", { class: "state turn" }, `The first packet backtracks ${backHops(view.first)}:`), hopList(view.first, -1));
  }
  byId("path-text").replaceChildren(...parts);
}

function backHops(walk) {
  const hops = crankback(walk).size;
  return `${hops} ${hops === 1 ? "hop" : "hops"}`;
}

/** Place in a walk of the first link that is down; -1: none. */
function brokenAt(walk) {
  const down = state.planning ? state.failed : failedAt(state.t);
  return walk.links.findIndex((link) => down.has(link));
}

function hopList(walk, broken) {
  const back = crankback(walk);
  const items = walk.nodes.flatMap((node, place) => {
    const isBack = back.has(walk.links[place]) || back.has(walk.links[place - 1]);
    const hop = make("li", { class: isBack ? "back" : false, title: labelOf.get(node) || false }, node);
    return place === broken ? [hop, make("li", { class: "cross", "aria-label": `${walk.links[place]} has failed` }, "✕")] : [hop];
  });
  const ends = [hostOf.get(walk.nodes[0]), walk.outcome === "delivered" ? hostOf.get(walk.nodes.at(-1)) : null];
  const [head, tail] = ends.map((host) => (host ? make("li", {}, host) : null));
  return make("ol", { class: "hops" }, head, ...items, tail);
}
