"""`armor load`: its table and value against a controller of a few lines, and bad input in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from experiments.cli import load
from experiments.cli.main import main
from experiments.loadgen.behaviours import BEHAVIOUR_OF
from experiments.loadgen.controllers import app_file
from experiments.loadgen.decide import misbehave
from mininet_topos.errors import BadInputError
from tests.loadgen.fake_controller import FakeController

SHORT = ("--switches", "2", "--rate", "200", "--seconds", "0.4")


def test_a_running_controller_is_loaded_and_every_count_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeController() as fake:
        address = f"127.0.0.1:{fake.ports[0]}"
        assert main(["load", "--controller", address, *SHORT, "--json"]) == 0
        value = json.loads(capsys.readouterr().out)
        assert main(["load", "--controller", address, *SHORT, "--repetitions", "2"]) == 0
    (run,) = value["runs"][address]
    for each in run["classes"].values():
        assert each["offered"] == each["answered"] + each["refused"] + each["waiting"] + each["unanswered"]
        assert {"p50_ms", "p90_ms", "p99_ms", "max_ms", "answers_pps", "histogram"} <= set(each)
    said = capsys.readouterr().out
    assert "repetition 2" in said
    assert "answers/s" in said


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "name what is loaded"),
        (["--controller", "127.0.0.1:6653", "--app", "x"], "name what is loaded"),
        (["--controller", "nowhere"], "--controller is 'nowhere'; write HOST:PORT"),
        (["--app", "no_such_app"], "there is no Ryu app 'no_such_app'"),
        (["--app", "gone.py"], "there is no app file 'gone.py'"),
        (["--against", "stock,best"], "--against is 'stock,best'; use stock,pso"),
        (["--against", "stock,pso", "--pmt", "gone.yaml"], "there is no Policy Map Table 'gone.yaml'"),
        (["--controller", "127.0.0.1:1", "--high-share", "2"], "--high-share is '2'"),
        (["--controller", "127.0.0.1:1", "--stall", "4:2"], "--stall is '4:2'; write A:B"),
        (["--controller", "127.0.0.1:1", "--link-mbps", "2"], "use --app or --against"),
        (["--controller", "127.0.0.1:1", "--rogue", "flood"], "--rogue needs a controller of its own"),
        (["--controller", "127.0.0.1:1", "--rogue", "sulk"], "'sulk' is not known"),
        (["--controller", "127.0.0.1:1", "--rate", "1e9"], "lower the rate or the time"),
        (["--misbehave", "sulk", "--app", "sdfast"], "'sulk' is not known"),
        (["--misbehave", "flood"], "--misbehave needs an app; name it with --app"),
        (["--misbehave", "flood", "--controller", "127.0.0.1:1"], "--controller is for loads of packet-ins"),
        (["--misbehave", "flood", "--app", "gone"], "there is no Ryu app 'gone'"),
        (["--misbehave", "flood", "--app", "sdfast", "--pmt", "x.yaml"], "--pmt is for the app pso"),
        (["--misbehave", "flood", "--app", "sdfast", "--topo", "nowhere"], "nowhere"),
        (["--app", "sdfast", "--rogue-rate", "5"], "--rogue-rate is for --misbehave"),
    ],
)
def test_bad_input_is_one_line_and_code_2(argv: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", *argv]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert words in err
    assert err.count("\n") == 1


@pytest.mark.ryu
def test_apps_are_found_by_name_and_by_file() -> None:
    assert app_file("simple_switch_13") == "ryu.app.simple_switch_13"
    assert app_file("sdfast") == app_file("ryu_apps/sdfast.py")
    assert app_file("experiments/loadgen/responder.py").endswith("/experiments/loadgen/responder.py")
    with pytest.raises(BadInputError):
        app_file("ryu_apps/none.py")


def test_the_command_knows_every_behaviour() -> None:
    assert load.BEHAVIOURS == misbehave.BEHAVIOURS == ("none", *BEHAVIOUR_OF)


@pytest.mark.slow
@pytest.mark.ryu
def test_stock_ryu_answers_every_packet_in_of_a_gentle_load(capsys: pytest.CaptureFixture[str]) -> None:
    app = "experiments/loadgen/responder.py"
    assert main(["load", "--app", app, *SHORT, "--patience-s", "20", "--buffered", "--json"]) == 0
    (run,) = json.loads(capsys.readouterr().out)["runs"]["stock"]
    assert all(each["lost"] == 0 < each["offered"] for each in run["classes"].values())
    assert run["controller_rss_mb"] > 10


@pytest.mark.slow
@pytest.mark.ryu
def test_a_controller_that_ends_under_the_load_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    app = tmp_path / "fragile.py"
    app.write_text(
        "import os\n"
        "from ryu.base.app_manager import RyuApp\n"
        "from ryu.controller import ofp_event\n"
        "from ryu.controller.handler import MAIN_DISPATCHER, set_ev_cls\n\n\n"
        "class Fragile(RyuApp):\n"
        "    seen = 0\n\n"
        "    @set_ev_cls(ofp_event.EventOFPPacketIn, MAIN_DISPATCHER)\n"
        "    def packet_in(self, event):\n"
        "        self.seen += 1\n"
        "        if self.seen > 60:\n"
        "            os._exit(3)\n",
        encoding="utf-8",
    )
    argv = ["load", "--app", f"experiments/loadgen/responder.py,{app}", *SHORT]
    assert main([*argv, "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["controllers_ended"] == ["stock"]
    assert main(argv) == 1
    assert "stock: the controller ended under the load" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.ryu
def test_stock_ryu_and_pso_get_the_same_packets_and_pso_a_connection_for_each_class(
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["--against", "stock,pso", *SHORT, "--patience-s", "20", "--within", "50", "--json"]
    code = main(["load", *argv])
    value = json.loads(capsys.readouterr().out)
    (stock,), (pso,) = value["runs"]["stock"], value["runs"]["pso"]
    assert (stock["channels_per_switch"], pso["channels_per_switch"]) == (1, 5)
    for name, each in pso["classes"].items():
        assert each["offered"] == stock["classes"][name]["offered"]
        assert each["lost"] == 0
    served = {each["class_id"]: each["receive"]["served"] for each in pso["service"]["classes"]}
    assert served[2] >= pso["classes"]["high"]["offered"]
    # How fast they answer is the machine's affair (none within so short a time when it is busy); the verdict is ours.
    change = value["throughput_change_percent"]["pso"]
    assert value["held"] == (change is not None and abs(change["value"]) <= 50)
    assert code == (0 if value["held"] else 1)
