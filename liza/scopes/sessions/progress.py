"""What follows for each step from those before and after it: does it bring anything new, or is it a repetition?

A step *repeats* if the same call had the same result, or the same tool failed in the same way, a short while ago. A
failing test between two edits is normal work, and so is a file that is read again: what counts is how many repetitions
there are that nothing makes up for. So each step that brings something new takes one repetition off the account: that
one is no longer *stale*. A check that fails as before although something was edited is *futile*, and counted apart.

One pass, a few lookups a step. What a later step changes about an earlier one is changed once.
"""

from collections import deque
from collections.abc import Mapping
from typing import Any

from liza.clients.event import FAILURES, Outcome, call_text
from liza.model import Record
from liza.scopes.sessions.identity import without_volatile

STREAM = "steps"
KEPT = 200  # steps of one session that rules see
MEMORY = 50  # steps within which a call counts as repeated
FEW_WORDS = 80  # characters of a result that says little
PERIODS = range(2, 6)  # calls of a cycle


class Progress:
    """The last steps of one session as rules see them."""

    def __init__(self, session: str) -> None:
        self.session = session
        self.count = 0  # steps that were added
        self.records: deque[Record] = deque(maxlen=KEPT)
        self._seen: dict[str, int] = {}  # the newest step of each exchange and failure
        self._cycle = _Cycle()
        self._edited = 0  # the newest edit that was not made before
        self._waited = 0  # the newest call that only waits
        self._answers: dict[str, str] = {}  # the one answer of each tool; empty once it has given others
        self._stale: list[int] = []
        self._current: dict[str, list[int]] = {}  # by call
        self._outcomes: dict[str, str] = {}  # of each call, when it was last made
        self._errors: dict[str, int] = {}  # how often each was met since the last edit

    def add(self, step: Mapping[str, Any]) -> None:
        """Take in the next step."""
        self._forget_oldest()
        self.count += 1
        call, outcome = str(step.get("call")), _outcome_of(step)
        exchange = f"{call} {outcome}"
        failure = f"{step.get('tool')} {outcome}" if step.get("outcome") in FAILURES else None
        silent = failure is None and not step.get("result")
        before = max(self._last_seen(name) for name in (exchange, failure) if name is not None)
        waits = self._is_wait(step, before)
        repeats = waits if silent else before > 0
        was_edited = before < self._edited
        self._enter_current(call, outcome, step.get("edits") is True)
        is_stale = repeats and not was_edited and not waits
        is_noted = self._is_noted(step) and before == 0 and failure is None and step.get("edits") is None
        idle = waits or is_noted
        if not waits and (not silent or step.get("edits") is True):  # edits by shell commands are silent
            self._account(step, is_stale, is_new=not repeats and failure is None and not self._is_dull(step))
        rounds, cycle = (0, None) if idle else self._cycle.add(exchange, call_text(step.get("tool"), step.get("input")))
        self.records.append(
            Record(
                STREAM,
                f"{self.session}:{self.count}",
                {
                    **step,
                    "timestamp": step.get("time"),
                    "reporter": step.get("name") or step.get("session"),
                    "type": "step",
                    "exchange": exchange,
                    "failure": failure,
                    "silent": silent,
                    "repeats": repeats,
                    "stale": is_stale,
                    "futile": repeats and was_edited and not waits and (failure is not None or _shows_error(step)),
                    "rounds": rounds,
                    "cycle": cycle,
                    "current": True,
                    "occurrence": self._occurrence(step),
                    "waits": waits,
                    "idle": idle,
                    "edits": step.get("edits") is True,
                    "refused": step.get("outcome") == Outcome.REFUSED or step.get("edits") is False,
                    "details": None,
                },
            )
        )

    def _enter_current(self, call: str, outcome: str, edits: bool) -> None:
        """A successful edit is progress, and so is another outcome of the same call."""
        if edits:
            self._set_all(current=False)
            self._current.clear()
            self._errors.clear()
        elif self._outcomes.get(call, outcome) != outcome:
            for number in self._current.pop(call, ()):
                self._set(number, current=False)
        remember(self._outcomes, call, outcome)
        self._current.setdefault(call, []).append(self.count)

    def _last_seen(self, name: str) -> int:
        """The step, if it is a short while ago, in which an exchange or a failure was seen last; 0 if never."""
        before = self._seen.get(name, 0)
        remember(self._seen, name, self.count)
        return before if self.count - before <= MEMORY else 0

    def _is_dull(self, step: Mapping[str, Any]) -> bool:
        """Whether the result is a few words that the tool has said before, such as that nothing was found."""
        known = self._last_seen(f"{step.get('tool')} ok {step.get('answer')}")
        return known > 0 and len(str(step.get("result"))) < FEW_WORDS

    def _is_noted(self, step: Mapping[str, Any]) -> bool:
        """Whether a tool answers as it always has, whatever it was given, as one does that only notes a plan."""
        tool, answer = str(step.get("tool")), str(step.get("answer"))
        known = self._answers.get(tool)
        remember(self._answers, tool, answer if known in (None, answer) else "")
        return known == answer

    def _is_wait(self, step: Mapping[str, Any], before: int) -> bool:
        """Whether a call only waits: by itself, or because it is made again after one that does, as after a `sleep`."""
        if step.get("waits") is True:
            self._waited = self.count
            return True
        return 0 < before < self._waited

    def _account(self, step: Mapping[str, Any], is_stale: bool, is_new: bool) -> None:
        """Enter a step that is stale; one with something new makes up for the oldest that is."""
        if is_stale:
            self._stale.append(self.count)
        elif step.get("edits") is True:
            self._edited = self.count
        elif is_new and self._stale:
            self._set(self._stale.pop(0), stale=False)

    def _occurrence(self, step: Mapping[str, Any]) -> int:
        error = step.get("error")
        if not isinstance(error, str):
            return 0
        times = self._errors.get(error, 0) + 1
        remember(self._errors, error, times)
        return times

    def _forget_oldest(self) -> None:
        """Make room for the next step: the oldest one goes."""
        if len(self.records) < KEPT:
            return
        oldest = self.count - KEPT + 1
        call = str(self.records[0].fields.get("call"))
        if (numbers := self._current.get(call)) and numbers[0] == oldest:
            del numbers[0]
            if not numbers:
                del self._current[call]
        if self._stale and self._stale[0] == oldest:
            del self._stale[0]

    def _set_all(self, **fields: Any) -> None:
        for numbers in self._current.values():
            for number in numbers:
                self._set(number, **fields)

    def _set(self, number: int, **fields: Any) -> None:
        """Change what holds for an earlier step; one that is no longer kept needs no change."""
        place = len(self.records) - (self.count - number)
        if place >= 0:
            record = self.records[place]
            self.records[place] = record._replace(fields={**record.fields, **fields})


class _Cycle:
    """How often the last few exchanges have come round in the same order."""

    def __init__(self) -> None:
        self._last: deque[tuple[str, str]] = deque(maxlen=max(PERIODS))
        self._lengths = dict.fromkeys(PERIODS, 0)  # for how many steps each equals the one a period before

    def add(self, exchange: str, text: str) -> tuple[int, str | None]:
        """The rounds of the longest cycle that ends here, and its calls; 0 without one."""
        last = self._last
        for period in PERIODS:
            is_equal = len(last) >= period and last[-period][0] == exchange
            self._lengths[period] = self._lengths[period] + 1 if is_equal else 0
        last.append((exchange, text))
        best: tuple[int, str | None] = (0, None)
        for period, length in self._lengths.items():
            rounds = 1 + length // period
            calls = dict(list(last)[-period:])
            if rounds > max(best[0], 1) and len(calls) > 1:
                best = (rounds, ", then ".join(calls.values()))
        return best


def remember(known: dict[Any, Any], name: Any, value: Any, most: int = 2 * KEPT) -> None:
    """Enter a value as the newest; the oldest goes where they become too many."""
    known.pop(name, None)
    known[name] = value
    if len(known) > most:
        del known[next(iter(known))]


def _outcome_of(step: Mapping[str, Any]) -> str:
    """What has to be the same for a call to have come to nothing new: its error, else its whole result."""
    error = step.get("error") if step.get("outcome") == Outcome.FAILED else None
    return f"error {without_volatile(str(error))}" if error else f"{step.get('outcome')} {step.get('answer')}"


def _shows_error(step: Mapping[str, Any]) -> bool:
    """Whether the result shows an error, though the client has the call as successful: a script that only prints it."""
    from liza.toolerrors.errors import errors_of

    return bool(errors_of(str(step.get("result") or "")))
