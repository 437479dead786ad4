"""`python -m ovsdb_backup` is the agent."""

import sys

from ovsdb_backup.agent import main

sys.exit(main())
