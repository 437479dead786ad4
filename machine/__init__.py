"""What any program asks of the machine that it runs on: processes and how they end, files, the event log, JSON-RPC."""
