"""The controller: pure cores that decide (`decide/`) and thin shells that talk to switches through Ryu."""
