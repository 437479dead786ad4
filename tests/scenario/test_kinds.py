"""Laws of every kind of failure and of traffic that a folder holds; the first line of each class is an example."""

from __future__ import annotations

import inspect
import json
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulation.failure_injection import FailureInjection
from experiments.scenario.document import to_document
from experiments.scenario.failure import Failure, LinkFailure
from experiments.scenario.failures import failure_kinds, failure_to_document, link_failure
from experiments.scenario.parse import ScenarioContext, parse_scenario
from experiments.scenario.stream import CountedTraffic, ProbedTraffic, Traffic
from experiments.scenario.traffic import probed_kinds, stream_to_document, traffic_kinds
from experiments.scenario.values import Scenario
from experiments.testbed.instruments.streams import Streams
from experiments.testbed.runs.loads import Counters
from mininet_topos.errors import BadInputError
from mininet_topos.topology import Link, Node, Topology
from ryu_apps.schemes import find_scheme

NODES = ("s1", "s2", "s3", "s4")
MESH = Topology("mesh", tuple(map(Node, NODES)), tuple(Link(a, b, 0) for a in NODES for b in NODES if a != b))
CONTEXT = ScenarioContext(lambda _name: MESH, {"ffg": find_scheme("ffg")})
AT_S = 5.0


def example(kind: type) -> str:
    """The entry that the docstring of a kind shows."""
    return str(kind.__doc__).split("`")[1]


def read(traffic: str, failures: str = "") -> Scenario:
    return parse_scenario(
        f"topology: mesh\nscheme: ffg\ntraffic: [{traffic}]\nfailures: [{failures}]\n", "x.yaml", CONTEXT
    )


def failure_of(name: str) -> Failure:
    (failure,) = read("{from: h1, to: h2}", example(failure_kinds()[name])).failures
    return failure


def stream_of(name: str) -> Traffic:
    (stream,) = read(example(traffic_kinds()[name])).traffic
    return stream


@pytest.mark.parametrize("name", failure_kinds())
def test_a_failure_is_read_as_its_kind_and_written_back_equal(name: str) -> None:
    failure = failure_of(name)
    assert type(failure) is failure_kinds()[name]
    scenario = read("{from: h1, to: h2}", json.dumps(failure_to_document(failure)))
    assert scenario.failures == (failure,)
    assert parse_scenario(json.dumps(to_document(scenario)), "x.yaml", CONTEXT) == scenario


@pytest.mark.parametrize("name", failure_kinds())
def test_the_acts_of_a_failure_take_its_arguments(name: str) -> None:
    failure = failure_of(name)
    acts = [failure.fail, *([failure.repair] if any(step.live for step in failure.steps) else [])]
    for act in acts:
        inspect.signature(pkgutil.resolve_name(act.function)).bind(FailureInjection, *act.arguments)


@pytest.mark.parametrize("name", failure_kinds())
def test_steps_of_a_failure_are_in_order_begin_with_it_and_end_with_its_end(name: str) -> None:
    failure = failure_of(name)
    at_s = [step.at_s for step in failure.steps]
    assert at_s == sorted(at_s)
    assert failure.steps[0] == (failure.at_s, False)
    if failure.steps[-1].live:
        assert failure.end_s == at_s[-1]
    assert failure.links_down(MESH) <= failure.disturbed_links(MESH) <= set(MESH.link_ids)


def test_every_kind_of_link_failure_can_be_made_of_a_link_alone() -> None:
    kinds = [name for name, kind in failure_kinds().items() if issubclass(kind, LinkFailure)]
    link = MESH.link_ids[0]
    assert [link_failure(name, AT_S, link).kind for name in kinds] == kinds
    with pytest.raises(BadInputError, match="'node' is no failure of a link; use one of"):
        link_failure("node", AT_S, link)


@pytest.mark.parametrize("name", traffic_kinds())
def test_a_stream_is_read_as_its_kind_and_written_back_equal(name: str) -> None:
    stream = stream_of(name)
    assert type(stream) is traffic_kinds()[name]
    assert read(json.dumps(stream_to_document(stream))).traffic == (stream,)


@pytest.mark.parametrize("name", traffic_kinds())
def test_a_stream_has_programs_that_know_its_goal_or_a_sender_that_counts(name: str) -> None:
    stream = stream_of(name)
    made = stream.programs("10.0.0.2", 4.2, 1)
    if made is None:
        assert isinstance(stream, CountedTraffic)
        assert callable(pkgutil.resolve_name(stream.sender))
    else:
        assert any("10.0.0.2" in word for word in made.client)
        assert made.server is None or any(str(made.server_port) in word for word in made.server)


@pytest.mark.parametrize("name", traffic_kinds())
def test_keys_of_other_kinds_are_refused(name: str) -> None:
    own = {key.name for key in traffic_kinds()[name].keys}
    entry = stream_to_document(stream_of(name))
    for other in {key.name for kind in traffic_kinds().values() for key in kind.keys} - own - {"interval_ms"}:
        with pytest.raises(BadInputError, match=f"{other} does not go with kind {name}; remove it"):
            read(json.dumps(entry | {other: 100}))


def test_scenarios_that_armor_once_wrote_give_an_interval_to_every_kind() -> None:
    for name in traffic_kinds():
        assert read(json.dumps(stream_to_document(stream_of(name)) | {"interval_ms": 2.0})).traffic == (
            stream_of(name),
        )


@given(st.integers(0, 255), st.binary(max_size=40))
def test_a_packet_is_of_one_probed_kind_at_most(protocol: int, payload: bytes) -> None:
    found = [kind.number_of(protocol, payload) for kind in probed_kinds().values()]
    assert sum(each is not None for each in found) <= 1


@pytest.mark.parametrize("name", probed_kinds())
def test_output_that_is_cut_off_counts_nothing(name: str) -> None:
    assert issubclass(probed_kinds()[name], ProbedTraffic)
    assert probed_kinds()[name].own_counts("") is None


def test_streams_without_programs_start_none(tmp_path) -> None:
    stream = stream_of("datagrams")
    network = type("Network", (), {"hosts": {stream.destination: type("Host", (), {"address": "10.0.0.2"})}})()
    with Streams(network, (stream,), tmp_path) as streams:
        streams.start(0, 1.0)
        streams.finish()


def test_a_scenario_without_counted_streams_makes_no_sender() -> None:
    scenario = read("{from: h1, to: h2}")
    with Counters(None, scenario, print) as counters:
        counters.start(0.0, 1.0)
        assert counters.counts() == ()
