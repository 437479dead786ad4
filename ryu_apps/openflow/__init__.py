"""OpenFlow 1.3 on the wire, as pure functions: rows to bytes and bytes to rows. Needs no controller library."""
