"""What the agent hears from OVSDB: a new generation of its plan, and a second opinion about ports.

Both are IDL replicas of a few columns: one Bridge row of the backup database, and the liveness columns of
Open_vSwitch. Plans themselves are read by the store, in one transaction, when the generation has changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from typing import Any, NamedTuple

import ovs.db.idl
import ovs.poller
import ovs.stream

from machine.tls import identity_of
from ryu_apps.backup_database.schema import read_schema

SILENT_S = 10.0


class PlanId(NamedTuple):
    """Which plan of a bridge a backup database holds; generation 0: none."""

    generation: int
    digest: str


_PORT_SCHEMA: dict[str, Any] = {
    # The part of vswitch.ovsschema that is read here; types as in ovs-vswitchd.conf.db(5).
    "name": "Open_vSwitch",
    "version": "8.0.0",
    "tables": {
        "Bridge": {
            "columns": {
                "name": {"type": "string"},
                "ports": {
                    "type": {"key": {"type": "uuid", "refTable": "Port"}, "min": 0, "max": "unlimited"},
                },
            }
        },
        "Port": {
            "columns": {
                "interfaces": {
                    "type": {"key": {"type": "uuid", "refTable": "Interface"}, "min": 1, "max": "unlimited"},
                }
            }
        },
        "Interface": {
            "columns": {
                "ofport": {"type": {"key": "integer", "min": 0, "max": 1}},
                "link_state": {"type": {"key": "string", "min": 0, "max": 1}},
                "bfd_status": {"type": {"key": "string", "value": "string", "min": 0, "max": "unlimited"}},
            }
        },
    },
}


class _Replica:
    """An IDL whose session may be down: then what it holds is old."""

    def __init__(self, remote: str, schema: dict[str, Any], tables: dict[str, list[str]]) -> None:
        helper = ovs.db.idl.SchemaHelper(schema_json=schema)
        for table, columns in tables.items():
            helper.register_columns(table, columns)
        if remote.startswith("ssl:"):
            files = identity_of(remote)
            ovs.stream.Stream.ssl_set_private_key_file(files.private_key)
            ovs.stream.Stream.ssl_set_certificate_file(files.certificate)
            ovs.stream.Stream.ssl_set_ca_cert_file(files.ca_certificate)
        self.idl = ovs.db.idl.Idl(remote, helper, leader_only=False)

    @property
    def is_current(self) -> bool:
        """Whether the session is up and has delivered its first snapshot."""
        # The IDL tells nobody that its session is down; its session does.
        return bool(self.idl.has_ever_connected() and self.idl._session.is_connected())

    def changed(self) -> bool:
        """Process what has arrived; whether the replica changed."""
        return bool(self.idl.run())

    def rows(self, table: str) -> list[Any]:
        """Rows of a table."""
        return list(self.idl.tables[table].rows.values())


class PlanWatch:
    """Tells when another generation of a bridge's plan is current.

    Parameters
    ----------
    remote
        Address of the ovsdb-server with the backup database.
    """

    def __init__(self, remote: str, bridge: str) -> None:
        self._remote, self._bridge = remote, bridge
        self._replica = _Replica(remote, read_schema(), {"Bridge": ["name", "generation", "digest"]})
        self._silent_since_s: float | None = None

    def stored(self) -> PlanId | None:
        """What plan is current; None while the database is out of reach.

        A database that was made anew counts its generations from the beginning, so the digest belongs to it.
        """
        self._replica.changed()
        if not self._replica.is_current:
            return None
        rows = [row for row in self._replica.rows("Bridge") if row.name == self._bridge]
        return max((PlanId(row.generation, row.digest) for row in rows), default=PlanId(0, ""))

    def complaint(self, stored: PlanId | None, now_s: float) -> str:
        """What to say of a database that is out of reach, once for each time that it is; else nothing."""
        if stored is not None:
            self._silent_since_s = None
        elif self._silent_since_s is None:
            self._silent_since_s = now_s
        elif now_s >= self._silent_since_s + SILENT_S:
            self._silent_since_s = inf
            return (
                f"the backup database at {self._remote} has been out of reach for {SILENT_S:g} s; is it served there?"
            )
        return ""

    def register(self, poller: ovs.poller.Poller) -> None:
        """Wake the poller when there is something to do here."""
        self._replica.idl.wait(poller)

    def close(self) -> None:
        """End the session."""
        self._replica.idl.close()


class PortWatch:
    """The second liveness source: what Open_vSwitch says about the ports of a bridge.

    It may only add a failure. A port counts as failed while either second liveness source says so; when the session is
    lost, what was heard here is withdrawn.
    """

    def __init__(self, remote: str, bridge: str) -> None:
        self._bridge = bridge
        columns = {name: list(table["columns"]) for name, table in _PORT_SCHEMA["tables"].items()}
        self._replica = _Replica(remote, _PORT_SCHEMA, columns)
        self._reported: dict[int, bool] = {}
        self.is_lost = False

    def news(self) -> Iterator[tuple[int, bool]]:
        """Ports whose liveness has changed since the last call. `is_lost`: the session has broken since."""
        changed = self._replica.changed()
        self.is_lost = bool(self._reported) and not self._replica.is_current
        if self.is_lost:
            self._reported = {}
        elif changed and self._replica.is_current:
            found = dict(self._liveness())
            news = {port_no: live for port_no, live in found.items() if self._reported.get(port_no) != live}
            self._reported = found
            yield from news.items()

    def _liveness(self) -> Iterator[tuple[int, bool]]:
        for bridge in self._replica.rows("Bridge"):
            if bridge.name != self._bridge:
                continue
            for interface in (found for port in bridge.ports for found in port.interfaces):
                if interface.ofport and interface.ofport[0] > 0:
                    yield interface.ofport[0], is_live(interface.link_state, interface.bfd_status)

    def register(self, poller: ovs.poller.Poller) -> None:
        """Wake the poller when there is something to do here."""
        self._replica.idl.wait(poller)

    def close(self) -> None:
        """End the session."""
        self._replica.idl.close()


def is_live(link_state: list[str], bfd_status: dict[str, str]) -> bool:
    """Whether the columns of an Interface say that it can carry packets; what they leave out speaks for it."""
    return link_state != ["down"] and bfd_status.get("forwarding", "true") != "false"
