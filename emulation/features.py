"""What this kernel can do, tried in a namespace of its own that is gone when the trial ends."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

_PAIR = "ip link add probe0 type veth peer name probe1 && ip link set probe0 up && "
_EGRESS = "table netdev probe { chain out { type filter hook egress device probe0 priority 0; policy drop; }; }"
TRIALS = {
    "openvswitch": "ovs-dpctl add-dp probe-dp",
    "netem": _PAIR + "tc qdisc add dev probe0 root netem delay 1ms",
    "htb": _PAIR + "tc qdisc add dev probe0 root handle 1: htb default 1",
    "u32": _PAIR
    + "tc qdisc add dev probe0 root handle 1: htb default 1 && "
    + "tc filter add dev probe0 parent 1: protocol ip prio 1 u32 match ip tos 0xc0 0xfc flowid 1:1",
    "nft_egress": _PAIR + f"nft '{_EGRESS}'",
    "clsact": _PAIR + "tc qdisc add dev probe0 clsact && tc filter add dev probe0 egress matchall action drop",
}


@dataclass(frozen=True, slots=True)
class KernelFeatures:
    """Outcome of each trial; `reasons` holds what the failed ones said."""

    release: str
    openvswitch: bool
    netem: bool
    htb: bool
    u32: bool
    nft_egress: bool
    clsact: bool
    reasons: tuple[tuple[str, str], ...]

    def reason(self, feature: str) -> str:
        """Why a feature is missing ("" when it is there)."""
        return dict(self.reasons).get(feature, "")


@lru_cache(maxsize=1)
def kernel_features() -> KernelFeatures:
    """Try every feature once a process (root only)."""
    outcomes, reasons = {}, []
    for feature, script in TRIALS.items():
        program = script.split()[0]
        if shutil.which(program) is None:
            outcomes[feature] = False
            reasons.append((feature, f"{program} is not installed"))
            continue
        done = subprocess.run(["unshare", "--net", "sh", "-c", script], capture_output=True, text=True, check=False)
        outcomes[feature] = done.returncode == 0
        if done.returncode != 0:
            said = done.stderr.strip().splitlines()
            # Open vSwitch puts time, number, module and level before the words, with bars between.
            reasons.append((feature, said[0].rpartition("|")[2] if said else f"exit code {done.returncode}"))
    return KernelFeatures(os.uname().release, **outcomes, reasons=tuple(reasons))
