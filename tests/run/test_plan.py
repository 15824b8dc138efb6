"""The check boxes of a plan."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.run.plan import Plan, read


def counts(text: str, *optional: str) -> tuple[int, int]:
    plan = read(text, optional)
    return plan.done, plan.total


@pytest.mark.parametrize("mark", ["-", "*", "+", "1.", "1)", "12.", "  -", "\t*", "      3."])
def test_every_kind_of_list_item_counts_at_any_depth(mark: str) -> None:
    assert read(f"{mark} [ ] a\n{mark} [x] b\n{mark} [X] c\n") == Plan(2, 3, ("a",))


@pytest.mark.parametrize("mark", ["~", "/", "-", ""])
def test_started_item_is_open(mark: str) -> None:
    assert read(f"- [{mark}] a\n").open == ("a",)


@pytest.mark.parametrize(
    "line",
    ["[ ] a", "-[ ] a", "text - [ ] a", "- [ ]a", "- [1] a source", "- [y] a", "- a [ ] b", "1 [ ] a"],
)
def test_line_that_is_not_an_item_does_not_count(line: str) -> None:
    assert counts(line) == (0, 0)


def test_box_without_text_counts() -> None:
    assert read("- [ ]\n- [x] \n") == Plan(1, 2, ("(no text)",))


def test_windows_line_ends_are_accepted() -> None:
    assert read("- [ ] a\r\n- [x] b\r\n") == Plan(1, 2, ("a",))


@pytest.mark.parametrize("fence", ["```", "~~~", "````", "```python", "  ```"])
def test_fenced_code_does_not_count(fence: str) -> None:
    closing = fence.replace("python", "")
    assert counts(f"- [x] a\n{fence}\n- [ ] code\n{closing}\n- [ ] b\n") == (1, 2)


def test_fence_is_closed_only_by_its_own_kind_and_length() -> None:
    assert counts("````\n```\n- [ ] a\n~~~\n- [ ] b\n````\n- [x] c\n") == (1, 1)


def test_unclosed_fence_hides_nothing() -> None:
    assert counts("- [x] a\n```\n- [ ] b\n") == (1, 2)


def test_inline_backticks_start_no_code_block() -> None:
    assert counts("```inline``` code\n- [ ] a\n```inline``` code\n") == (0, 1)


def test_closed_comment_does_not_count_and_unclosed_one_does() -> None:
    assert counts("<!-- an example:\n- [ ] a\n-->\n- [x] b\n") == (1, 1)
    assert counts("<!-- one line -->\n- [ ] a\n") == (0, 1)
    assert counts("<!--\n- [ ] a\n") == (0, 1)


OPTIONAL = """\
# Plan
- [x] a
## Optional: later
- [ ] b
### Deeper
- [ ] c
## Must
- [ ] d
# Nice to have #
- [ ] e
"""


def test_optional_sections_and_their_subsections_do_not_block() -> None:
    plan = read(OPTIONAL, ["optional:  later", "Nice to Have"])
    assert plan == Plan(1, 2, ("d",), 3)
    assert read(OPTIONAL).total == 5


def test_underlined_headings_begin_and_end_a_section() -> None:
    text = "Later\n=====\n- [ ] a\n\nSmaller\n---\n- [ ] b\n\nNow\n===\n- [ ] c\n"
    assert read(text, ["later"]).open == ("c",)
    assert read(text, ["smaller"]).open == ("a", "c")


def test_rule_below_an_item_makes_no_heading() -> None:
    assert read("- [ ] a\n---\n- [ ] b\n").open == ("a", "b")


def test_progress_is_the_share_of_done_items() -> None:
    assert read("- [x] a\n- [ ] b\n- [ ] c\n- [ ] d\n").progress == 25
    assert read("- [x] a\n").progress == 100


def test_plan_without_boxes_is_incomplete_with_unknown_progress() -> None:
    empty = read("# Plan\nnothing yet\n")
    assert empty.progress is None
    assert not empty.is_complete


def test_plan_with_only_optional_boxes_is_complete() -> None:
    plan = read("# Later\n- [ ] a\n", ["later"])
    assert plan.is_complete
    assert plan.progress == 100


@given(st.lists(st.booleans(), min_size=1, max_size=30))
def test_every_item_counts_once_and_only_all_make_hundred_percent(ticked: list[bool]) -> None:
    plan = read("".join(f"{'  ' * (n % 4)}- [{'x' if each else ' '}] item {n}\n" for n, each in enumerate(ticked)))
    assert (plan.done, plan.total, len(plan.open)) == (sum(ticked), len(ticked), len(ticked) - sum(ticked))
    assert (plan.progress == 100) == plan.is_complete == all(ticked)


@given(st.text(alphabet="-*+ []xX1.)#`~\n<!->ab=", max_size=200))
def test_any_text_is_accepted(text: str) -> None:
    plan = read(text, ["a"])
    assert plan.done + len(plan.open) == plan.total
