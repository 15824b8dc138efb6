"""Blackboards in the middle of being edited: lines lost, doubled or moved to the right, and the end cut off."""

from hypothesis import strategies as st

from tests.store.generated import boards

_REAL = """\
version: 1
tasks:
  - id: t1
    status: "DRAFT"
    history:
      - {time: 2025-01-17T14:05:00Z, event: created}
    notes: |
      some text
      # not a comment

  # about t2
  - id: t2   # here
    status: 'say ''hi'''
    failed_by: [a,
      b]
    long: "two
      lines"
    plain: many
      words

agents:
  coder-1: {role: coder, status: IDLE}
  coder-2:
    role: coder
    heartbeat: null
claims:
- id: c1
  rounds:
  - n: 1
    text: >-
      folded
      text
  -
    n: 2
- id: c2
  rounds: []  # none
# the end
config: {}
"""
_SMALL = [
    "---\na: 1\n'b c':\n- x\n-\n- - y\n...\n",
    "a: [\n  {id: a},  # c\n  ]\nb: &x {y: 1}\nc: *x\n",
    "  a: |+\n    x\n\n\n  b:\n    - c: 1\n      d: 2\n",
    "a:\r\n- b: 1\r\n  c: 'd'\r\n\r\ne: >\r\n  f\r\n  g\r\n",
    "anomalies:\n- a: 1\n- b: |\n    x\n",
    "? a\n: 1\nb: 2\n",
]


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A board with one to three accidents."""
    text: str = draw(st.one_of(st.just(_REAL), st.sampled_from(_SMALL), boards()))
    for _ in range(draw(st.integers(1, 3))):
        lines = text.splitlines(keepends=True) or [""]
        at = draw(st.integers(0, len(lines) - 1))
        accident = draw(st.sampled_from(["delete", "duplicate", "indent", "outdent", "truncate"]))
        if accident == "delete":
            del lines[at]
        elif accident == "duplicate":
            lines.insert(draw(st.integers(0, len(lines))), lines[at])
        elif accident == "indent":
            lines[at] = draw(st.sampled_from([" ", "  ", "    "])) + lines[at]
        elif accident == "outdent":
            lines[at] = lines[at].lstrip(" ")
        else:
            column = draw(st.integers(0, len(lines[at])))
            lines[at:] = [lines[at][:column]]
        text = "".join(lines)
    return text
