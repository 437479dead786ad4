"""In-band control: rows that carry the OpenFlow channels of all switches over the data links."""
