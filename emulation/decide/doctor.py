"""What a machine must have to run Armor, judged from facts that were collected elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from emulation.decide.bfd import BfdChoice
from emulation.decide.delay_line import DelayTrial
from emulation.decide.queue_trial import QueueVerdict

MAX_OVERSLEEP_MS = 2.0  # a probe every 2 ms cannot be sent by a clock that wakes later than this
WANTED_PPS = 2000  # four times the default probe rate, to leave room
BUSY_LOAD_PER_CPU = 0.5
MAX_DELAY_ERROR_US = 500.0  # a tenth of 5 ms, a common control delay

# feature of the kernel -> (what for, how to get it, whether Armor can work without)
FEATURES = {
    "openvswitch": (
        "kernel datapath",
        "optional: modprobe openvswitch; the userspace datapath is used (by plain mn with --switch ovs,datapath=user)",
        False,
    ),
    "netem": ("link delay", "optional: modprobe sch_netem; the delay line stands in where link_delays are set", False),
    "htb": ("link capacity", "modprobe sch_htb, or run without shaping", True),
    "u32": ("control packets first", "modprobe cls_u32, or run without shaping", True),
}
# Silent failures are done by the first of these that the kernel has.
DROP_FEATURES = ("nft_egress", "clsact")


@dataclass(frozen=True, slots=True)
class Check:
    """One thing looked at: whether it is as it should be, what was seen, what to do about it.

    `required` tells whether emulated runs are impossible without it; otherwise they are less faithful.
    """

    check: str
    ok: bool
    detail: str
    repair: str = ""
    required: bool = True


@dataclass(frozen=True)
class MachineFacts:
    """What was seen on a machine.

    `programs` maps a program to its version, or None when it is missing; `packages` to the Debian package
    that brings it. `features` maps a kernel feature to "" or to why it is missing; it is empty when that
    could not be tried (not root). `delay` is None when the delay line could not be tried, and `delay_error` says why
    it failed; so with `queues`. Rates and BFD are None when no network was tried.
    """

    is_root: bool
    programs: Mapping[str, str | None]
    packages: Mapping[str, str]
    mininet: str | None
    kernel: str
    features: Mapping[str, str]
    cpus: int
    load_1min: float
    clock_source: str
    oversleep_p99_ms: float
    delay: DelayTrial | None = None
    delay_error: str = ""
    queues: QueueVerdict | None = None
    queues_error: str = ""
    bfd: BfdChoice | None = None
    rate_pps: int | None = None
    rate_hops: int = 0
    trial_error: str = ""


@dataclass(frozen=True)
class Diagnosis:
    """All checks of a machine, and the BFD interval that it can hold (None when that was not tried)."""

    checks: tuple[Check, ...]
    bfd_interval_ms: int | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether emulated runs are possible here."""
        return all(check.ok for check in self.checks if check.required)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        rows = [asdict(check) for check in self.checks]
        return {"ok": self.ok, "bfd_interval_ms": self.bfd_interval_ms, "checks": rows}

    def text(self) -> str:
        """One line a check, aligned, with the repair under what needs one."""
        width = max(len(check.check) for check in self.checks)
        lines = []
        for check in self.checks:
            word = "ok" if check.ok else "FAIL" if check.required else "note"
            lines.append(f"{word:<4}  {check.check:<{width}}  {check.detail}")
            if not check.ok and check.repair:
                lines.append(f"{'':<4}  {'':<{width}}  -> {check.repair}")
        return "\n".join(lines)


def judge(facts: MachineFacts) -> Diagnosis:
    """Turn facts into checks."""
    checks = [
        Check("root", facts.is_root, "yes" if facts.is_root else "no", "run with sudo: namespaces need root"),
        *_program_checks(facts),
        Check("mininet", facts.mininet is not None, facts.mininet or "not importable", "run make setup"),
        *_feature_checks(facts),
        _drop_check(facts),
        _delay_check(facts),
        _queue_check(facts),
        _load_check(facts),
        _clock_check(facts),
        *_trial_checks(facts),
    ]
    return Diagnosis(tuple(checks), facts.bfd.interval_ms if facts.bfd else None)


def _program_checks(facts: MachineFacts) -> Sequence[Check]:
    return [
        Check(program, version is not None, version or "not found", f"apt-get install {facts.packages[program]}")
        for program, version in facts.programs.items()
    ]


def _feature_checks(facts: MachineFacts) -> Sequence[Check]:
    checks = []
    for feature, (purpose, repair, required) in FEATURES.items():
        if feature not in facts.features:
            detail = f"{purpose}: not tried, since that needs root"
            checks.append(Check(f"kernel {feature}", False, detail, "run as root to try it", required=False))
            continue
        reason = facts.features[feature]
        detail = f"{purpose}: {reason or 'works'}"
        checks.append(Check(f"kernel {feature}", not reason, detail, repair, required))
    return checks


def _drop_check(facts: MachineFacts) -> Check:
    repair = "use a kernel of 5.16 or later, or modprobe sch_ingress cls_matchall act_gact"
    if not facts.features:
        return Check(
            "silent failures", False, "not tried, since that needs root", "run as root to try it", required=False
        )
    usable = [feature for feature in DROP_FEATURES if not facts.features[feature]]
    detail = f"by {usable[0]}" if usable else "; ".join(f"{name}: {facts.features[name]}" for name in DROP_FEATURES)
    return Check("silent failures", bool(usable), detail, repair)


def _delay_check(facts: MachineFacts) -> Check:
    repair = "apt-get install gcc libc6-dev, then make setup; without it control links have no delay"
    if facts.delay is not None:
        exact = facts.delay.error_p99_us <= MAX_DELAY_ERROR_US and not facts.delay.lost
        repair = "stop other work before measuring: control delays are not what they are said to be"
        return Check("delay line", exact, facts.delay.describe(), repair, required=False)
    if not facts.is_root:
        return Check("delay line", False, "not tried, since that needs root", "run as root to try it", required=False)
    return Check("delay line", False, facts.delay_error or "not built", repair, required=False)


def _queue_check(facts: MachineFacts) -> Check:
    repair = "modprobe sch_htb cls_u32 and stop other work; without it high traffic loses packets to low"
    if facts.queues is not None:
        return Check("queues", facts.queues.ok, facts.queues.describe(), repair, required=False)
    if not facts.is_root:
        return Check("queues", False, "not tried, since that needs root", "run as root to try it", required=False)
    return Check("queues", False, facts.queues_error or "not tried", repair, required=False)


def _load_check(facts: MachineFacts) -> Check:
    limit = facts.cpus * BUSY_LOAD_PER_CPU
    detail = f"{facts.cpus} CPUs, load {facts.load_1min:.1f}, kernel {facts.kernel}"
    repair = "stop other work before measuring, or let BFD be slower"
    return Check("cpu", facts.load_1min <= limit, detail, repair, required=False)


def _clock_check(facts: MachineFacts) -> Check:
    detail = f"{facts.clock_source}, a sleep of 1 ms ends up to {facts.oversleep_p99_ms:.2f} ms late (p99)"
    repair = "stop other work: probes cannot be sent on time"
    return Check("clock", facts.oversleep_p99_ms <= MAX_OVERSLEEP_MS, detail, repair, required=False)


def _trial_checks(facts: MachineFacts) -> Sequence[Check]:
    if facts.trial_error:
        return [Check("trial network", False, facts.trial_error, "repair what stands above, then try again")]
    checks = []
    if facts.bfd is not None:
        repair = "stop other work, use more cores, or take results with care"
        checks.append(Check("bfd", facts.bfd.stable, facts.bfd.describe(), repair, required=False))
    if facts.rate_pps is not None:
        detail = f"{facts.rate_pps} packets/s over {facts.rate_hops} switches without loss"
        repair = "use longer probe intervals on this machine"
        checks.append(Check("packet rate", facts.rate_pps >= WANTED_PPS, detail, repair, required=False))
    return checks
