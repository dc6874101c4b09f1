"""Many files, on Ray or in local processes: every page once, however often the run is killed.

The sorted list of files is split into chunks and kept; a finished chunk is one shard, which is there whole or not at
all. So what is left to do is always what has no shard yet, and nobody needs to remember anything else.
"""

from unrender.bulk.plan import Command, Plan, prepare
from unrender.bulk.run import Progress, execute, status

__all__ = ["Command", "Plan", "Progress", "execute", "prepare", "status"]
