"""Settings: what is given is used, what is wrong is named."""

from __future__ import annotations

import pytest

from dataplane.model.marking import Marking
from emulation.decide.queues import QUEUE_SETUPS
from experiments.scenario import tunnel_values
from mininet_topos.errors import BadInputError
from ryu_apps.control.decide.settings import ARMOR
from ryu_apps.control.decide.traffic import TrafficSettings
from ryu_apps.plan.kuijia.options import TunnelOptions, parse_prefix
from ryu_apps.plan.options import PlanOptions


def test_a_topology_is_enough():
    settings = ARMOR.read({"topology": "darkstrand"}, {})
    assert settings.options == PlanOptions()
    assert (settings.rest_host, settings.rest_port, settings.wait_to_restore_s) == ("127.0.0.1", 8080, 5.0)
    assert settings.backup_remote("s1", "10.255.0.1") == ""


def test_the_environment_wins_over_the_file_and_blanks_count_as_not_given():
    settings = ARMOR.read({"topology": "gscale", "mode": "agent", "rest_port": " "}, {"ARMOR_TOPOLOGY": " usnet "})
    assert (settings.topology, settings.options.mode, settings.rest_port) == ("usnet", "agent", 8080)
    assert ARMOR.read({"topology": "gscale"}, {"ARMOR_TOPOLOGY": ""}).topology == "gscale"


def test_every_setting_can_be_given():
    given = {
        "scheme": "cb",
        "topology": "ring:5",
        "mode": "learned",
        "planner": "pair",
        "routes": "mst",
        "metric": "delay",
        "max_failures": "1",
        "notification": "flood",
        "hard_timeout_s": "30",
        "rest_host": "::1",
        "rest_port": "0",
        "rest_token_file": "token",
        "allowed_switches": "switches.yaml",
        "wait_to_restore_s": "0.5",
        "stats_interval_s": "0",
        "discovery_interval_s": "2.5",
        "backup_db": "tcp:{control_ip}:6641",
        "queue_db": "unix:/run/{node}/db.sock",
        "edge": "off",
        "replayed": "s1-s2, s2-s3",
        "marked": "dscp=46, tcp=443",
        "protect": "flows.yaml",
        "protect_nodes": "{control_ip}:6655",
        "demands": "gravity:8000",
        "tunnels": "2",
        "tunnel_kind": "k-shortest",
        "objective": "max-min",
        "te_solver": "cvxpy",
        "default_capacity_mbps": "100",
        "low_to_high": "10",
        "seed": "7",
        "priorities": "single",
        "tunnel_field": "dscp",
        "prefixes": "s4=10.0.2.0/24, s4=10.0.3.0/24,s5=10.0.5.5",
        "te_interval_s": "60",
        "shape": "decomposed",
        "notified_by": "controller",
        "agent_configurations": "",  # of agents, who have a test of their own
    }
    assert set(given) == {one.name for one in ARMOR.settings}
    settings = ARMOR.read({}, {ARMOR.environment_name(name): value for name, value in given.items()})
    assert settings.options == PlanOptions(
        "learned", "pair", "mst", "delay", 1, 30, "flood", replayed=("s1-s2", "s2-s3"), marked=Marking((443,), (46,))
    )
    assert (settings.rest_port, settings.wait_to_restore_s, settings.stats_interval_s) == (0, 0.5, 0.0)
    assert settings.backup_remote("s3", "10.255.0.3") == "tcp:10.255.0.3:6641"
    assert settings.queue_remote("s3", "10.255.0.3") == "unix:/run/s3/db.sock"
    assert (settings.edge, settings.scheme) == (False, "cb")
    options = TunnelOptions(
        "single",
        tunnel_field="dscp",
        prefixes=(
            ("s4", (parse_prefix("10.0.2.0/24"), parse_prefix("10.0.3.0/24"))),
            ("s5", (parse_prefix("10.0.5.5"),)),
        ),
    )
    assert settings.traffic == TrafficSettings(
        "gravity:8000", 2, "k-shortest", "max-min", "cvxpy", 100.0, 10.0, 7, 60.0, "decomposed", options
    )


def test_a_scenario_knows_all_set_ups_of_queues():
    assert set(tunnel_values.QUEUES) == set(QUEUE_SETUPS)


def test_agents_and_their_agent_configurations_come_together_and_keep_their_tunnels():
    given = {"topology": "gscale", "notified_by": "agent", "agent_configurations": "/run/agent_configurations"}
    settings = ARMOR.read(given, {})
    assert (settings.traffic.by_agents, settings.agent_configurations) == (True, "/run/agent_configurations")
    for wrong, word in (
        ({**given, "agent_configurations": ""}, "folder"),
        ({**given, "notified_by": "controller"}, "/run/agent_configurations"),
        ({**given, "te_interval_s": "300"}, "300"),
        ({**given, "notified_by": "rumour"}, "rumour"),
    ):
        with pytest.raises(BadInputError, match=word):
            ARMOR.read(wrong, {})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mode", "magic"),
        ("planner", "tres"),
        ("max_failures", "-1"),
        ("notification", "loud"),
        ("max_failures", "two"),
        ("hard_timeout_s", "70000"),
        ("rest_port", "70000"),
        ("rest_port", "http"),
        ("wait_to_restore_s", "-1"),
        ("wait_to_restore_s", "nan"),
        ("stats_interval_s", "inf"),
        ("edge", "maybe"),
        ("backup_db", "unix:/run/{switch}/db.sock"),
        ("backup_db", "/run/db.sock"),
        ("backup_db", "unix:{"),
        ("backup_db", "unix:{node.__class__}"),
        ("backup_db", "unix:{node:999999999}"),
        ("protect_nodes", "{control_ip}:99999"),
        ("protect_nodes", ":6655"),
        ("seed", "9" * 40),
        ("rest_port", "\u0663"),
        ("tunnels", "0"),
        ("tunnels", "17"),
        ("tunnel_kind", "best"),
        ("objective", "wealth"),
        ("te_solver", "slow"),
        ("default_capacity_mbps", "-1"),
        ("low_to_high", "much"),
        ("priorities", "six"),
        ("prefixes", "10.0.2.0/24"),
        ("te_interval_s", "soon"),
    ],
)
def test_a_value_that_cannot_be_used_is_named(name, value):
    with pytest.raises(BadInputError) as caught:
        ARMOR.read({"topology": "usnet", name: value}, {})
    assert value in str(caught.value)
    assert name.split("_")[0] in str(caught.value)


def test_a_missing_topology_says_both_ways_to_give_it():
    with pytest.raises(BadInputError, match=r"ARMOR_TOPOLOGY.*\[armor\]"):
        ARMOR.read({}, {"ARMOR_MODE": "agent"})
