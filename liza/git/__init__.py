"""Git: what changed in a working tree, and its content as it was.

Two views of a working tree share how git is started (`command`) and which paths differ (`status`):

- `snapshot` measures. It writes nothing, looks into repositories inside others, and keeps a hash of each changed path,
  so it needs no commit, no index of its own and no permission to write, and two of them can be compared after the
  objects are gone. It cannot restore anything.
- `worktree` captures the content as tree objects, which a rollback restores. That reads, compresses and stores each
  changed file: eleven times as long as hashing one of 270 MB, so it is done only where the content must be kept.
"""
