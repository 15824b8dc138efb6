"""Any sequence of commands, against a model: a frozen claim never changes, the last stage never closes over a dispute,
and every resolved dispute has a rationale and a log entry."""

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from liza.store.document import Document, parse
from tests.scopes.claims.run import Claims

NAMES = ("C-001", "C-002", "7")
OBJECTIONS = st.lists(st.sampled_from(["A", "B", "the  c.", "THE C"]), min_size=1, max_size=2)
CHANGES = st.sampled_from(["", "", "", "", "--evidence e", "--evidence f", "--test t", "--confidence 0.5",
                           "--confidence 0.6", "--text one", "--text two"])  # fmt: skip
FROZEN = ("text", "confidence", "evidence", "rounds", "dispute_reason", "researcher_position")


@dataclass
class Model:
    """The expected state of one claim."""

    text: str
    status: str = "OPEN"
    before: str = "OPEN"
    confidence: str = ""
    known: set[str] = field(default_factory=set)
    rounds: list[tuple[set[str], bool]] = field(default_factory=list)
    edited: bool = False
    reset: bool = False  # was in dispute before
    due: bool = False  # data was added during the dispute
    awaits: bool = False  # resolved by new data and not reviewed since
    disputes: int = 0
    bytes: dict[str, bytes] = field(default_factory=dict)

    def change(self, words: str) -> bool:
        """Whether options of a round or an edit change anything that counts."""
        option, _, value = words.partition(" ")
        if option in ("--evidence", "--test"):
            new = words not in self.known
            self.known.add(words)
            return new
        if option in ("--text", "--confidence"):
            name = option.removeprefix("--")
            before = getattr(self, name)
            setattr(self, name, value)
            return bool(before != value)
        return False

    def review(self, objections: list[str], words: str) -> bool:
        """Add one more round; whether it freezes the claim."""
        changed = self.change(words) or self.edited
        self.edited = self.awaits = False
        named = {"the c" if "c" in each.lower() else each for each in objections}
        self.rounds.append((named, changed))
        last = self.rounds[-3:]
        return len(last) == 3 and not any(each for _, each in last) and bool(set.intersection(*(s for s, _ in last)))


def field_bytes(document: Document, name: str) -> dict[str, bytes]:
    """The bytes of a claim's frozen fields."""
    section = document.sections["claims"]
    claims = document.data["claims"]
    key = next(each for each in claims if str(each) == name)
    (claim,) = [part for part in document.parts(section, claims) if str(part.key) == name]
    parts = document.parts(claim, claims[key])
    return {part.key: document.raw[part.start : part.end].rstrip() for part in parts if part.key in FROZEN}


class Disputes(RuleBasedStateMachine):
    """Commands on the claims of a lab."""

    @initialize()
    def begin(self) -> None:
        self.folder = TemporaryDirectory()
        self.lab = Claims(Path(self.folder.name) / "lab")
        self.models: dict[str, Model] = {}
        self.exits = 0
        self.closed = False
        self.insist("C-001")  # every run has a dispute

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            with self.folder:
                self.end_all()

    def end_all(self) -> None:
        """Close the last stage, which fails over a dispute, resolve all disputes, and close it."""
        self.close("S5")
        ways = ("new data", "drop", "override", "re-examined")  # few runs are drawn, so take them in turn
        for name in [name for name, model in self.models.items() if model.status == "DISPUTED"]:
            way = ways[(self.exits + sum(model.disputes for model in self.models.values())) % len(ways)]
            if way == "re-examined":
                self.advance("data", "S1")
                self.reexamine(name, "--resolved")
            else:
                self.resolve(name, way)
        self.close("S5")
        self.frozen_bytes_are_unchanged()
        self.exits_are_logged_and_last_stage_closes_without_disputes()

    def model(self, name: str) -> Model:
        if name not in self.models:
            assert self.lab.claim("add", name, "--text", "one").code == 0
            self.models[name] = Model("one")
        return self.models[name]

    def freeze(self, name: str) -> None:
        model = self.models[name]
        model.before, model.status = model.status, "DISPUTED"
        model.disputes += 1
        model.bytes = field_bytes(self.document, name)

    def end_dispute(self, name: str, status: str) -> None:
        model = self.models[name]
        model.status, model.rounds, model.bytes, model.reset, model.edited = status, [], {}, True, False
        model.due = False
        self.exits += 1

    @property
    def document(self) -> Document:
        return parse(self.lab.state.read_bytes(), "state.yaml")

    # --- commands ---

    @rule(name=st.sampled_from(NAMES), objections=OBJECTIONS, words=CHANGES)
    def review(self, name: str, objections: list[str], words: str) -> None:
        model = self.model(name)
        code = self.lab.round(*objections, words=words, name=name).code
        if model.status == "KILLED":
            assert code == 1
        elif model.status == "DISPUTED":
            assert code == 3
        elif model.review(objections, words):
            assert code == 3
            self.freeze(name)
        else:
            assert code == 0

    @rule(name=st.sampled_from(NAMES))
    def insist(self, name: str) -> None:
        """Rounds drawn one by one rarely reach a deadlock."""
        for _ in range(3):
            self.review(name, ["A"], "")

    @rule(name=st.sampled_from(NAMES), words=st.sampled_from(["--text one", "--text three", "--confidence 0.7"]))
    def edit(self, name: str, words: str) -> None:
        model = self.model(name)
        code = self.lab.claim("edit", name, *words.split()).code
        if model.status in ("KILLED", "DISPUTED"):
            assert code == (1 if model.status == "KILLED" else 3)
        else:
            assert code == 0
            # Before the first review an edit is not a change.
            model.edited = (model.change(words) and bool(model.rounds or model.reset)) or model.edited

    @rule(name=st.sampled_from(NAMES), verb=st.sampled_from(["promote", "kill"]))
    def end(self, name: str, verb: str) -> None:
        model = self.model(name)
        code = self.lab.claim(verb, name, "-m", "why").code
        if model.status == "DISPUTED":
            assert code == 3
        elif verb == "kill":
            assert code == 0
            model.status = "KILLED"
        else:
            refused = model.status == "KILLED" or (model.awaits and model.status != "ACCEPTED")
            assert code == (1 if refused else 0)
            model.status = model.status if refused else "ACCEPTED"

    @rule(name=st.sampled_from(NAMES), way=st.sampled_from(["new data", "drop", "override", "empty", "no author"]))
    def resolve(self, name: str, way: str) -> None:
        model = self.model(name)
        words = {
            "new data": ("--new-data", f"ref {self.exits}"),
            "drop": ("--drop", "-m", "why"),
            "override": ("--override", "ACCEPTED", "-m", f"because {self.exits}", "--by", "ann"),
            "empty": ("--drop", "-m", " "),
            "no author": ("--override", "ACCEPTED", "-m", "x"),
        }[way]
        code = self.lab.claim("resolve", name, *words).code
        if way in ("empty", "no author"):
            assert code == 2
        elif model.status == "DISPUTED":
            assert code == 0
            model.awaits = way == "new data"
            self.end_dispute(name, {"new data": model.before, "drop": "KILLED", "override": "ACCEPTED"}[way])
        else:
            assert code in (0, 1)  # the same decision again, or nothing to decide

    @rule(name=st.sampled_from(NAMES), outcome=st.sampled_from(["--resolved", "--unresolved", ""]))
    def reexamine(self, name: str, outcome: str) -> None:
        model = self.model(name)
        words = ("reexamine", name, "--trigger", "new_data", "-m", "note", "--by", "R3", *outcome.split())
        code = self.lab.claim(*words).code
        if model.status != "DISPUTED" or not model.due:
            assert code == 1
            return
        model.due = model.due and not outcome
        if outcome == "--resolved":
            model.awaits = True
            assert code == 0
            self.end_dispute(name, model.before)
        else:
            assert code == 3

    @rule(verb=st.sampled_from(["advance", "data"]), name=st.sampled_from(["S1", "S2", "S5"]))
    def advance(self, verb: str, name: str) -> None:
        assert self.lab.stage(verb, name).code == 0
        for model in self.models.values():
            model.due = model.due or (verb == "data" and model.status == "DISPUTED")
        self.closed = self.closed and not (verb == "advance" and name == "S5")

    @precondition(lambda self: self.models)
    @rule(name=st.sampled_from(["S2", "S5", "s5"]))
    def close(self, name: str) -> None:
        disputed = [each for each, model in self.models.items() if model.status == "DISPUTED"]
        ran = self.lab.stage("close", name)
        assert ran.code == (3 if disputed and name != "S2" else 0)
        assert all(f"{each} is DISPUTED" in ran.err for each in disputed if name != "S2")
        self.closed = self.closed or (name != "S2" and ran.code == 0)

    @rule()
    def check(self) -> None:
        before = self.lab.state.read_bytes().partition(b"circuit_breaker:")[0]
        self.lab.run("analyze")
        assert self.lab.state.read_bytes().partition(b"circuit_breaker:")[0].rstrip() == before.rstrip()

    # --- invariants ---

    @invariant()
    def frozen_bytes_are_unchanged(self) -> None:
        if not getattr(self, "models", None):
            return
        document = self.document
        claims: dict[str, Any] = {str(key): value for key, value in document.data["claims"].items()}
        for name, model in self.models.items():
            assert claims[name]["status"] == model.status
            if model.status == "DISPUTED":
                assert field_bytes(document, name) == model.bytes
            past = [each for each in claims[name].get("history") or () if each["event"] == "disputed"]
            assert len(past) == model.disputes
            is_over = [bool(each.get("resolved_at") and each.get("rationale", "").strip()) for each in past]
            assert is_over == [True] * (model.disputes - (model.status == "DISPUTED")) + [False] * (
                model.status == "DISPUTED"
            )

    @invariant()
    def exits_are_logged_and_last_stage_closes_without_disputes(self) -> None:
        if getattr(self, "models", None):
            logged = self.lab.log.read_bytes().count(b"  action: claim_resolved\n")
            assert logged == self.exits
            status = ((self.document.data.get("stages") or {}).get("S5") or {}).get("status")
            assert (status == "CLOSED") == self.closed


BUDGET = settings.get_profile(settings.get_current_profile_name()).max_examples
Disputes.TestCase.settings = settings(
    max_examples=max(BUDGET // 10, 1),
    stateful_step_count=15,
    deadline=None,
    phases=set(Phase) - {Phase.shrink},  # shrinking takes minutes
)
TestDisputes = Disputes.TestCase
