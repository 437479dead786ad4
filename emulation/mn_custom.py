"""Armor's topologies for the plain `mn` command, with the port numbers that Armor's controller apps expect.

::

    mn --custom .../emulation/mn_custom.py --topo armor,darkstrand --controller remote \
       --switch ovs,protocols=OpenFlow13

Host k is attached to port 1 of switch k; links have the ports of mininet_topos/ports.py. The name may be any
that `armor topo show` takes, a file too; with `--link tc`, `--topo armor,gscale,scale=0.01` gives every link
its capacity times 0.01. What only Armor's own emulation brings is not there: without BFD a failure must be one
that takes the carrier away, as `link s1 s2 down` in Mininet's command line does.

`mn` executes this file in its own name space, hence the underscores: names without one would replace Mininet's.
"""

import importlib.util as _util
import sys as _sys
from pathlib import Path as _Path

from mininet.topo import Topo as _Topo

# `mn` gives an executed file no __file__, but the code knows where it was read from. It may also run under the
# system's Python, which sees neither Armor nor networkx: the repository and its virtual environment have both.
_REPOSITORY = _Path(_sys._getframe().f_code.co_filename).resolve().parents[1]
if _util.find_spec("mininet_topos") is None or _util.find_spec("networkx") is None:
    _sys.path.append(str(_REPOSITORY))
    _sys.path.extend(map(str, _REPOSITORY.glob(".venv/lib/python3*/site-packages")))


class ArmorTopo(_Topo):  # type: ignore[misc]
    """A topology of Armor as Mininet describes networks.

    Parameters
    ----------
    name : str
        Catalogue name, generator or file.
    scale : float
        With links of type `tc`: emulated capacity = capacity x scale; 0 leaves capacities out.
    """

    def build(self, name: str = "darkstrand", scale: float = 0.0) -> None:
        """Describe the network to Mininet."""
        from emulation.decide.wiring import switch_names
        from mininet_topos.catalogue import load_topology
        from mininet_topos.ports import assign_ports
        from ryu_apps.plan.addressing import dpid_of, hosts_of

        topology = load_topology(str(name))
        ports = assign_ports(topology)
        short = switch_names(topology, ports)
        for node, host in hosts_of(topology).items():
            self.addSwitch(short[node], dpid=f"{dpid_of(topology, node):016x}")
            self.addHost(host.name, ip=f"{host.address}/16", mac=host.mac)
            self.addLink(short[node], host.name, port1=host.port_no, port2=0)
        for link_id in topology.link_ids:
            there, back = topology.directions(link_id)
            capacity_mbps = topology.link_at[there].capacity_mbps
            shape = {"bw": capacity_mbps * scale} if capacity_mbps is not None and scale else {}
            ends = {"port1": ports.port_of[there], "port2": ports.port_of[back]}
            self.addLink(short[link_id.a], short[link_id.b], **ends, **shape)


topos = {"armor": ArmorTopo}
