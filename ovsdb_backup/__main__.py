"""`python -m ovsdb_backup` is the agent."""

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C during the imports ends the process, and not in a traceback

from ovsdb_backup.agent import main

sys.exit(main())
