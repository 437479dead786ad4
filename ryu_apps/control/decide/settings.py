"""Settings of a controller app: names, defaults, meaning, and the check of what the user gave.

They stand in the group [armor] of the configuration file, or in ARMOR_<NAME>. docs/controller.md is the user's
description.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dataplane.model.marking import Marking, parse_marking
from mininet_topos.endpoints import host_and_port
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.setting_group import (
    Setting,
    SettingGroup,
    database_of,
    flag,
    maybe,
    port,
    positive,
    seconds,
    text,
    whole,
)
from ryu_apps.control.decide.texts import check_template
from ryu_apps.control.decide.traffic import TrafficSettings, prefixes_from_text
from ryu_apps.plan.choices import DEFAULT_MODE, DEFAULT_NOTIFICATION, MODES
from ryu_apps.plan.damping import DEFAULT_WAIT_S
from ryu_apps.plan.kuijia.options import TunnelOptions
from ryu_apps.plan.options import PlanOptions


@dataclass(frozen=True)
class Settings:
    """Settings of an app.

    Attributes
    ----------
    topology
        Catalogue name, generator, or GraphML, GML or JSON file.
    rest_host, rest_port : str, int
        Where the REST interface listens; port 0: it does not.
    rest_token_file
        File of the token that requests must bear; empty: one is made as soon as others than this machine can ask.
    allowed_switches
        File that says which certificates and addresses may speak for which datapath ids; empty: the first that comes.
    wait_to_restore_s
        How long a link must have been up again before the network returns to it; the agents' `--wait-to-restore-s` is
        the same of a port.
    stats_interval_s
        Time between two polls of port and flow counters; 0: none.
    discovery_interval_s
        Time between two discovery frames on each port; 0: no discovery.
    backup_db
        Backup database of a switch, with {node} and {control_ip} to be filled in; empty: none is filled.
    queue_db
        Open_vSwitch database of a switch that gets the queues of its plan; {node} and {control_ip} as in `backup_db`.
    edge
        Whether the app answers ARP and learns foreign MAC addresses.
    protect
        File of protected flows (scheme protect); empty: none at first.
    protect_nodes
        Address of the node of 1+1 protection beside a switch, with {node} and {control_ip}; empty: there are none.
    traffic
        What schemes of tunnels are planned from.
    agent_configurations
        Folder for what the switches' agents have to know about tunnels; empty: the controller answers failed tunnels.
    scheme
        Scheme of an app that names none (ryu_apps/scheme.py).

    Raises
    ------
    BadInputError
        Agents without agent configurations, or agent configurations without agents.
    """

    topology: str
    options: PlanOptions
    rest_host: str = "127.0.0.1"
    rest_port: int = 8080
    rest_token_file: str = ""
    allowed_switches: str = ""
    wait_to_restore_s: float = DEFAULT_WAIT_S
    stats_interval_s: float = 10.0
    discovery_interval_s: float = 5.0
    backup_db: str = ""
    queue_db: str = ""
    edge: bool = True
    protect: str = ""
    protect_nodes: str = ""
    traffic: TrafficSettings = field(default_factory=TrafficSettings)
    agent_configurations: str = ""
    scheme: str = ""

    def __post_init__(self) -> None:
        if self.traffic.by_agents and not self.agent_configurations:
            raise BadInputError(
                "setting notified_by = agent needs a folder for the configurations; set agent_configurations, too"
            )
        if self.agent_configurations and not self.traffic.by_agents:
            raise BadInputError(
                f"setting agent_configurations = {self.agent_configurations!r} is for agents; set notified_by = agent"
            )

    def backup_remote(self, node: str, control_ip: str) -> str:
        """Backup database of one switch ("" when none is to be filled)."""
        return self.backup_db.format(node=node, control_ip=control_ip)

    def queue_remote(self, node: str, control_ip: str) -> str:
        """Open_vSwitch database of one switch ("" when no queues are to be written)."""
        return self.queue_db.format(node=node, control_ip=control_ip)


def _prefixes(_name: str, value: str) -> Any:
    return prefixes_from_text(value)


def _names(_name: str, value: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in value.split(",") if word.strip())


def _marking(name: str, value: str) -> Marking:
    return parse_marking(f"setting {name}", value)


def _node_address(name: str, value: str) -> str:
    filled = check_template(name, value, ("node", "control_ip"))
    if filled and not filled.startswith("unix:"):
        host_and_port(filled.removeprefix("ssl:"), f"setting {name} = {value!r}")
    return value


_DATABASE = database_of("node", "control_ip")
SETTINGS = (
    Setting("scheme", text, "", "ryu_apps/scheme.py: the scheme, one of installed packages too"),
    Setting("topology", text, None, "catalogue name, generator such as grid:3x3, or GraphML, GML or JSON file"),
    Setting("mode", text, DEFAULT_MODE, "; ".join(f"{mode.name}: {mode.summary}" for mode in MODES.values())),
    Setting("planner", text, "tree", "tree: routes by destination; pair, tunnels: by pair of hosts"),
    Setting("routes", text, "spt", "spt: shortest-path trees; mst: one minimum spanning tree"),
    Setting("metric", text, "hops", "hops or delay"),
    Setting("max_failures", maybe(whole), "", "links that may fail together; empty: 2 if the tag ids suffice, else 1"),
    Setting(
        "notification",
        text,
        DEFAULT_NOTIFICATION,
        "flood: the first packet that meets a failure notifies all switches; off: each packet those on its way",
    ),
    Setting("hard_timeout_s", whole, "0", "life of learned rows; 0: until the link returns"),
    Setting("rest_host", text, "127.0.0.1", "address on which the REST interface listens"),
    Setting("rest_port", port, "8080", "port of the REST interface; 0: none"),
    Setting(
        "rest_token_file", text, "", "token of REST requests; empty: none on loopback, else ~/.armor/rest-PORT.token"
    ),
    Setting("allowed_switches", text, "", "file: which certificates and addresses may speak for which datapath ids"),
    Setting(
        "wait_to_restore_s",
        seconds,
        f"{DEFAULT_WAIT_S:g}",
        "how long a link must be up again before traffic returns to it",
    ),
    Setting("stats_interval_s", seconds, "10", "time between polls of port and flow counters; 0: none"),
    Setting("discovery_interval_s", seconds, "5", "time between discovery frames; 0: no discovery"),
    Setting("backup_db", _DATABASE, "", "backup database to fill, e.g. tcp:{control_ip}:6641; empty: none"),
    Setting("queue_db", _DATABASE, "", "database of a switch that gets its queues, as backup_db; empty: none"),
    Setting("edge", flag, "on", "on: answer ARP and learn foreign MAC addresses"),
    Setting("replayed", _names, "", "schemes sqr, lossless: links whose packets are kept, as s1-s2,s3-s4; empty: none"),
    Setting("marked", _marking, "", "scheme sqr: packets that are kept, as dscp=46,tcp=443,vlan=7; empty: all"),
    Setting("protect", text, "", "scheme protect: YAML or JSON file of protected flows; empty: none at first"),
    Setting(
        "protect_nodes", _node_address, "", "scheme protect: its nodes, e.g. unix:/run/armor/{node}.sock; empty: none"
    ),
    # From here on: schemes of tunnels.
    Setting("demands", text, "", "SPEC or CSV/JSON file to solve; empty: all pairs, equal weights"),
    Setting("tunnels", whole, "3", "tunnels of a pair at most, 1..16"),
    Setting("tunnel_kind", text, "disjoint", "disjoint, k-shortest, spt or mst"),
    Setting("objective", text, "throughput", "throughput, max-min or min-max-utilisation"),
    Setting("te_solver", text, "auto", "cvxpy or fast, for objective throughput; auto: cvxpy up to 2 s, fast above"),
    Setting("default_capacity_mbps", maybe(positive), "", "capacity of links whose own is unknown"),
    Setting("low_to_high", maybe(positive), "", "splits every demand into two classes, this many times as much low"),
    Setting("seed", whole, "1", "of demands that are drawn at random"),
    Setting("priorities", text, "single", "classes and queues: single, four or eight"),
    Setting("tunnel_field", text, "mpls", "what carries tunnel and tag: mpls (label and TC), or dscp (DSCP and ECN)"),
    Setting("shape", text, "replicated", "tables: replicated, two-table or decomposed"),
    Setting("prefixes", _prefixes, "", "addresses behind switches: s4=10.0.2.0/24,s5=..."),
    Setting("te_interval_s", seconds, "0", "time between runs of traffic engineering; 0: on demand only"),
    Setting("notified_by", text, "controller", "who answers failed tunnels: controller, or agent (of each switch)"),
    Setting(
        "agent_configurations", text, "", "notified_by agent: folder for the agents' configurations, NODE.json each"
    ),
)
_PLAN_NAMES = (
    "mode",
    "planner",
    "routes",
    "metric",
    "max_failures",
    "notification",
    "hard_timeout_s",
    "replayed",
    "marked",
)
_TUNNEL_NAMES = ("priorities", "prefixes", "notified_by", "tunnel_field")
_TRAFFIC_NAMES = (
    *("demands", "tunnels", "tunnel_kind", "objective", "te_solver", "default_capacity_mbps", "low_to_high", "seed"),
    *("te_interval_s", "shape"),
)


def _made(**values: Any) -> Settings:
    options = PlanOptions(**{name: values.pop(name) for name in _PLAN_NAMES})
    tunnel_options = TunnelOptions(**{name: values.pop(name) for name in _TUNNEL_NAMES})
    traffic = TrafficSettings(options=tunnel_options, **{name: values.pop(name) for name in _TRAFFIC_NAMES})
    return Settings(options=options, traffic=traffic, **values)


ARMOR = SettingGroup("armor", "ARMOR_", SETTINGS, _made, owns_prefix=False)
