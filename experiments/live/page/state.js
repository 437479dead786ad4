// What the page knows: the document, what is chosen, and what was so at a time. All times are ms after the run's zero.

/** @type {any} The value of `experiments.live.decide.document.to_json`. */
const page = JSON.parse(document.getElementById("document").textContent);
const byId = (id) => document.getElementById(id);
const state = { run: 0, pair: 0, planning: false, failed: new Set(), chosen: "", t: 0, from: 0, to: 1, tab: "links" };

/** Whether the page follows a network that runs now, over server-sent events. */
const isRunning = page.source !== "recorded";
/** Whether clicks fail links of that network. */
const isLive = page.source === "live";

const run = () => page.runs[state.run];
const pair = () => run().pairs[state.pair];
const hostOf = new Map(page.topology.nodes.map((node) => [node.name, node.host]));
const labelOf = new Map(page.topology.nodes.map((node) => [node.name, node.label]));
const linkOrder = page.topology.links.map((link) => link.name);
const pairName = (one) => `${hostOf.get(one.source)} → ${hostOf.get(one.destination)}`;

/** Links that are down at a time, each with the failure that it belongs to. */
function failedAt(t) {
  const down = new Map();
  for (const failure of run().failures) {
    const lasts = failure.down.some(([start, end]) => start <= t && (end === null || t < end));
    if (lasts) failure.links.forEach((link) => down.set(link, failure));
  }
  return down;
}

/** Whether something of this name is down now. */
const hasFailed = (name) => run().failures.some((failure) => failure.name === name && failure.down.at(-1)[1] === null);

/** The failure that the page speaks of at a time: the last one that has begun. */
function failureAt(t) {
  const begun = run().failures.filter((failure) => failure.down[0][0] <= t);
  return begun.length ? begun.reduce((one, other) => (other.down[0][0] >= one.down[0][0] ? other : one)) : null;
}

/** Switches that know of a failure at a time. */
function knowing(failure, t) {
  return new Set(Object.entries(failure.notified).filter(([, at]) => at <= t).map(([node]) => node));
}

/** Whether the plan of a run was walked, so that links can fail in it. */
const hasPaths = () => run().pairs.some((one) => one.paths.length);

const spanAt = (one, t) => one.spans.filter((span) => span.from_ms <= t).at(-1) ?? one.spans[0];

/**
 * Paths of a pair while links are down. Links that no packet then meets change nothing, so a smaller set may stand for
 * the asked one; null where none is known.
 */
function pathsWhile(one, failed) {
  const names = new Set(failed);
  let best = null;
  for (const paths of one.paths) {
    const isPart = paths.failed.every((link) => names.has(link));
    if (!isPart || (best && best.failed.length >= paths.failed.length)) continue;
    const others = [...names].filter((link) => !paths.failed.includes(link));
    const walked = new Set([...paths.first.links, ...paths.settled.links]);
    if (others.every((link) => !walked.has(link))) best = paths;
  }
  return best;
}

/**
 * What to draw of a pair: the usual path, the present walk, and in words what it is.
 * @returns {{usual: any, walk: any, kind: string, words: string, packet: any}}
 */
function viewOf(one) {
  const usual = pathsWhile(one, [])?.settled ?? null;
  if (state.planning) return plannedView(one, usual);
  const span = spanAt(one, state.t);
  const paths = span && pathsWhile(one, span.failed);
  const packet = capturedAt(one, state.t);
  if (packet) return { usual, walk: packet, kind: "turn", words: "A captured packet backtracks:", packet };
  if (!paths) return { usual, walk: null, kind: "plain", words: "The plan of this scheme is not walked.", packet };
  if (span.phase === "broken") {
    const found = failureAt(state.t)?.stages.detect;
    const words = found <= state.t ? "Detected; no packet has taken another path yet:" : "Packets are lost at the failed link:";
    return { usual, walk: paths.settled, kind: "bad", words, packet };
  }
  if (span.phase === "backtracking") {
    return { usual, walk: paths.first, kind: "turn", words: "First packets backtrack (as planned):", packet };
  }
  return { usual, ...wordsOf(paths, usual, "As planned, "), packet };
}

function plannedView(one, usual) {
  const paths = pathsWhile(one, state.failed);
  if (!paths) return { usual, walk: null, kind: "plain", words: "These failures together were not walked.", packet: null };
  return { usual, ...wordsOf(paths, usual, ""), first: paths.first, packet: null };
}

function wordsOf(paths, usual, lead) {
  const walk = paths.settled;
  if (walk.outcome !== "delivered") {
    const [source, end] = [pair().source, pair().destination];
    const isParted = !joined(source, end, state.planning ? state.failed : new Set(failedAt(state.t).keys()));
    const dropped = isParted ? "no path is left, and packets are dropped at" : "a path is left, but packets are dropped at";
    const why = walk.outcome === "looped" ? "packets loop:" : `${dropped} ${walk.nodes.at(-1)}:`;
    return { walk, kind: "bad", words: capital(`${lead}${why}`) };
  }
  const isUsual = usual && walk.links.join() === usual.links.join();
  const words = isUsual ? `${lead}packets take the usual path:` : `${lead}packets take a path around the failure:`;
  return { walk, kind: isUsual ? "plain" : "good", words: capital(words) };
}

/** Whether two switches are joined without some links. */
function joined(source, destination, failed) {
  const reached = new Set([source]);
  for (const node of reached) {
    for (const link of page.topology.links.filter((each) => !failed.has(each.name))) {
      if (link.a === node) reached.add(link.b);
      if (link.b === node) reached.add(link.a);
    }
  }
  return reached.has(destination);
}

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

/** The captured packet of a pair that is under way at a time; slow motion shows it a little longer than it took. */
function capturedAt(one, t) {
  const stay = Math.min(10, (state.to - state.from) / 60);
  const mine = seriesOf(one).flatMap((series) => series.captured);
  return mine.find((packet) => packet.sent_ms <= t && t <= packet.at_ms.at(-1) + stay) ?? null;
}

const seriesOf = (one) =>
  one ? run().series.filter((each) => each.source === one.source && each.destination === one.destination) : [];

/** By link, the pairs whose present walk crosses it. */
function usersByLink() {
  const users = new Map();
  for (const one of run().pairs) {
    for (const link of new Set(viewOf(one).walk?.links)) users.set(link, [...(users.get(link) ?? []), pairName(one)]);
  }
  return users;
}

/** Links of a walk that it crosses in both directions. */
function crankback(walk) {
  const crossed = new Map();
  walk.links.forEach((link, place) => {
    const to = walk.nodes[place + 1];
    crossed.set(link, [...(crossed.get(link) ?? []), to]);
  });
  return new Set([...crossed].filter(([, ends]) => new Set(ends).size > 1).map(([link]) => link));
}

/** Lost packets of some series that were sent from the run's zero to a time. */
function lostUntil(series, t) {
  let lost = 0;
  for (const one of series) {
    one.delay_ms.forEach((delay, place) => {
      const sent = one.sent_ms[place];
      if (delay === null && sent >= 0 && sent <= t && sent <= run().end_ms) lost += 1;
    });
  }
  return lost;
}

const number = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
function milliseconds(value, digits = 1) {
  return `${value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ms`;
}

/** A time for people: ms, and seconds of what is long; of a running network nobody needs more. */
function duration(ms) {
  return Math.abs(ms) < (isRunning ? 1000 : 10_000) ? milliseconds(ms) : `${(ms / 1000).toLocaleString("en", { maximumFractionDigits: 1 })} s`;
}

/** An element with attributes, listeners (on...) and children. */
function make(tag, attributes = {}, ...children) {
  const is = /^(svg|g|path|line|rect|circle|text|title)$/.test(tag) ? "http://www.w3.org/2000/svg" : null;
  const element = is ? document.createElementNS(is, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== false && value !== null) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}
