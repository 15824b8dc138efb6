"""Removing secrets from what a client reports, before anything of it is written.

Masked are the shapes of well-known keys, and the values of variables whose name says that they are secret. What no
shape or name gives away cannot be recognised: steps are readable by their owner alone, and never in git.
"""

import re

MASK = "[masked]"
# The text that one of these needs, in lower case: most texts have none, and are not searched.
_SIGNS = (
    "sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xox", "akia", "asia", "aiza", "npm_",
    "hf_", "pypi-", "eyj", "private key", "bearer", "basic", "token", "key", "secret", "passw", "pwd", "://",
)  # fmt: skip
# `API_KEY`, `aws-secret`, `password`; not `key`, which is a word of every program.
_NAMED = (
    r"(?:[a-z0-9_.-]{0,60}[_-](?:token|key|secret|pwd|credentials?)|[a-z0-9_.-]{0,60}(?:password|passwd)|token|secret)"
)
_SHAPES = re.compile(
    rf"""-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)
      | (?<![\w-])(?:sk-(?:ant-|proj-)?[\w-]{{16,}} | gh[pousr]_\w{{20,}} | github_pat_\w{{20,}} | glpat-[\w-]{{16,}}
          | xox[abeoprs]-[\w-]{{10,}} | (?:AKIA|ASIA)[A-Z0-9]{{16}} | AIza[\w-]{{30,}} | npm_\w{{30,}} | hf_\w{{30,}}
          | pypi-[\w-]{{40,}} | eyJ[\w-]{{10,}}\.eyJ[\w-]{{10,}}\.[\w-]*)
      | (?<=://)[^\s/@:]{{1,100}}:[^\s/@]{{1,200}}(?=@)
      | (?i:(?<=bearer\ )|(?<=basic\ ))[\w+/.=~-]{{8,}}
      | (?i:(?P<name>(?<![\w$.-])["']?{_NAMED}["']?\s{{0,3}}(?:=|:)\s{{0,3}}))
        (?: "(?P<double>[^"\n]{{1,4000}})" | '(?P<single>[^'\n]{{1,4000}})'
          | (?P<bare>[^\s"'$;&|,(){{}}\[]{{4,4000}}(?![\w(.\[])) )
    """,
    re.VERBOSE | re.DOTALL,
)


def mask(text: str) -> str:
    """The text with every recognised secret replaced by `[masked]`."""
    lowered = text.lower()
    return _SHAPES.sub(_masked, text) if any(sign in lowered for sign in _SIGNS) else text


def _masked(found: re.Match[str]) -> str:
    name = found["name"]
    if name is None:
        return MASK
    quote = '"' if found["double"] is not None else "'" if found["single"] is not None else ""
    return f"{name}{quote}{MASK}{quote}"
