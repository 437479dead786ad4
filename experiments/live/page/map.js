// The map: Cytoscape draws, and every click on it is a button of the lists, too.

const isSmall = () => map.width() < 500;
// A host stands so far beside its switch, and must be in the frame.
const reach = () => (isSmall() ? 20 : 32);
const padding = () => reach() + (isSmall() ? 12 : 22);
const tint = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

const map = cytoscape({
  container: byId("map"),
  elements: [],
  autoungrabify: true,
  boxSelectionEnabled: false,
  userZoomingEnabled: false,
  userPanningEnabled: false,
  minZoom: 0.5,
  maxZoom: 6,
});

function buildMap() {
  const ends = new Set(run().pairs.flatMap((one) => [one.source, one.destination]));
  const nodes = page.topology.nodes.map((node) => ({ data: { id: node.name, text: node.name }, classes: "switch" }));
  const hosts = [...ends].map((node) => ({ data: { id: `host ${node}`, text: hostOf.get(node) }, classes: "host" }));
  const links = page.topology.links.map((link) => ({
    data: { id: `link ${link.name}`, name: link.name, source: link.a, target: link.b, text: "" },
    classes: "link",
  }));
  const wires = [...ends].map((node) => ({
    data: { id: `wire ${node}`, source: node, target: `host ${node}` },
    classes: "wire",
  }));
  map.elements().remove();
  map.add([...nodes, ...hosts, ...links, ...wires]);
  placeNodes();
  styleMap();
}

/** Positions in pixels of the frame, so that symbols keep their size on every screen. */
function placeNodes() {
  map.resize();
  const width = map.width() - 2 * padding();
  const height = map.height() - 2 * padding();
  const nodes = page.topology.nodes;
  const right = Math.max(...nodes.map((node) => node.x), 1);
  const bottom = Math.max(...nodes.map((node) => node.y), 1);
  // A map may be stretched a little to fill its frame; beyond that it keeps its shape.
  const least = Math.min(width / right, height / bottom);
  const [across, down] = [Math.min(width / right, least * 1.6), Math.min(height / bottom, least * 1.6)];
  const shift = { x: padding() + (width - right * across) / 2, y: padding() + (height - bottom * down) / 2 };
  const pixels = new Map(nodes.map((node) => [node.name, { x: shift.x + node.x * across, y: shift.y + node.y * down }]));
  map.batch(() => {
    for (const node of nodes) {
      map.getElementById(node.name).position(pixels.get(node.name));
      map.getElementById(`host ${node.name}`).position(besides(node.name, pixels));
    }
  });
  map.zoom(1);
  map.pan({ x: 0, y: 0 });
}

/** Where a host stands: beside its switch, in the widest angle between its links. */
function besides(name, pixels) {
  const at = pixels.get(name);
  const ends = page.topology.links.filter((link) => link.a === name || link.b === name);
  const others = ends.map((link) => pixels.get(link.a === name ? link.b : link.a));
  const angles = others.map((other) => Math.atan2(other.y - at.y, other.x - at.x)).sort((one, other) => one - other);
  const gaps = angles.map((angle, place) => [(angles[place + 1] ?? angles[0] + 2 * Math.PI) - angle, angle]);
  const [gap, from] = gaps.sort((one, other) => other[0] - one[0])[0] ?? [0, -Math.PI / 2];
  return { x: at.x + reach() * Math.cos(from + gap / 2), y: at.y + reach() * Math.sin(from + gap / 2) };
}

function styleMap() {
  const small = isSmall() || page.topology.nodes.length > 60;
  const size = small ? 17 : 28;
  const font = { "font-size": small ? 8 : 11, "font-family": "system-ui, sans-serif", color: tint("ink") };
  const rules = [
    ["node", { label: "data(text)", "text-valign": "center", "text-halign": "center", ...font, "overlay-opacity": 0 }],
    [".switch", { width: size, height: size, "background-color": tint("node"), "border-width": 1.5,
      "border-color": tint("node-edge") }],
    [".host", { shape: "round-rectangle", width: size * 0.95, height: size * 0.6, "background-color": tint("ground"),
      "border-width": 1, "border-color": tint("node-edge"), "font-size": small ? 7 : 10 }],
    ["edge", { width: 2, "line-color": tint("link"), "curve-style": "bezier", "overlay-opacity": 0 }],
    [".wire", { width: 1, "line-style": "dotted" }],
    [".usual", { "underlay-color": tint("usual"), "underlay-opacity": 0.28, "underlay-padding": small ? 4 : 6 }],
    [".present", { width: small ? 3.5 : 5, "line-color": tint("present") }],
    [".forward", { "target-arrow-shape": "triangle", "target-arrow-color": tint("present") }],
    [".backward", { "source-arrow-shape": "triangle", "source-arrow-color": tint("present") }],
    [".back", { width: small ? 3.5 : 5, "line-color": tint("back"), "line-style": "dashed", "arrow-scale": 0.7,
      "target-arrow-shape": "triangle", "target-arrow-color": tint("back"), "source-arrow-shape": "triangle",
      "source-arrow-color": tint("back") }],
    [".failed", { width: small ? 3 : 4, "line-color": tint("failed"), "line-style": "dashed", "line-dash-pattern": [3, 4], label: "✕",
      "font-size": small ? 15 : 22, "font-weight": "bold", color: tint("failed"), "text-outline-width": 3,
      "text-outline-color": tint("ground"), "target-arrow-shape": "none", "source-arrow-shape": "none" }],
    [".knows", { "background-color": tint("knows"), "border-color": tint("knows"), color: tint("knows-ink") }],
    [".beside", { "border-color": tint("failed"), "border-width": 3 }],
    [".end", { "border-width": 2.5, "border-color": tint("present") }],
    [".packet", { "background-color": tint("packet"), "border-color": tint("ink"), "border-width": 3, color: "#1c2430" }],
    [".chosen", { "overlay-color": tint("usual"), "overlay-opacity": 0.22, "overlay-padding": 6 }],
  ];
  map.style(rules.map(([selector, style]) => ({ selector, style })));
}

/** Show what is so at `state.t`, or what is planned for `state.failed`. */
function paintMap() {
  const one = pair();
  const view = one ? viewOf(one) : null;
  const down = state.planning ? new Map([...state.failed].map((link) => [link, null])) : failedAt(state.t);
  map.batch(() => {
    map.elements().removeClass("usual present forward backward back failed knows beside end packet chosen");
    if (view?.usual) view.usual.links.forEach((link) => linkOf(link).addClass("usual"));
    if (view?.walk) paintWalk(view.walk, view.kind === "bad" ? new Set(down.keys()) : new Set());
    if (view?.first) crankback(view.first).forEach((link) => linkOf(link).removeClass("present forward backward").addClass("back"));
    for (const link of down.keys()) linkOf(link).removeClass("present forward backward back").addClass("failed");
    if (!state.planning) paintKnowledge();
    if (view?.packet) map.getElementById(placeOf(view.packet, state.t)).addClass("packet");
    if (one) [one.source, one.destination].forEach((node) => map.getElementById(`host ${node}`).addClass("end"));
    linkOf(state.chosen).addClass("chosen");
    map.getElementById(state.chosen).addClass("chosen");
  });
}

const linkOf = (name) => map.getElementById(`link ${name}`);

/** Mark the links of a walk, up to the first that is down. */
function paintWalk(walk, down) {
  const back = crankback(walk);
  for (const [place, link] of walk.links.entries()) {
    if (down.has(link)) break;
    const forward = linkOf(link).data("source") === walk.nodes[place];
    linkOf(link).addClass(back.has(link) ? "back" : `present ${forward ? "forward" : "backward"}`);
  }
}

function paintKnowledge() {
  const failure = failureAt(state.t);
  if (!failure || !failedAt(state.t).size) return;
  knowing(failure, state.t).forEach((node) => map.getElementById(node).addClass("knows"));
  for (const link of page.topology.links.filter((each) => failure.links.includes(each.name))) {
    [link.a, link.b].forEach((node) => map.getElementById(node).addClass("beside"));
  }
}

/** The switch that a captured packet had reached last at a time. */
function placeOf(packet, t) {
  return packet.nodes[Math.max(0, packet.at_ms.filter((at) => at <= t).length - 1)];
}

function zoomMap(factor) {
  const level = Math.max(1, map.zoom() * factor);
  map.zoom({ level, renderedPosition: { x: map.width() / 2, y: map.height() / 2 } });
  if (level === 1) map.pan({ x: 0, y: 0 });
  map.userPanningEnabled(level > 1);
}
