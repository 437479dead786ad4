"""The controller: pure cores that decide (`*_core.py`) and thin shells that talk to switches through Ryu."""
