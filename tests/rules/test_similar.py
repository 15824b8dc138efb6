"""Which texts are the same, and which describe the same error."""

import unicodedata
from collections.abc import Iterable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from liza.rules.same import same_key
from liza.rules.similar import similar_groups


def partition(texts: Iterable[str], similarity: float = 0.7) -> set[frozenset[str]]:
    """The groups as sets of texts, without their numbers."""
    found: dict[int, set[str]] = {}
    for text, number in similar_groups(texts, similarity).items():
        found.setdefault(number, set()).add(text)
    return {frozenset(group) for group in found.values()}


def together(*texts: str) -> bool:
    return len(partition(texts)) == 1


# --- same -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "texts",
    [
        ("API supports pagination", "api SUPPORTS Pagination", "API supports pagination."),
        ("a  b", "a b", "a\tb", "a\nb", " a b ", "a\u00a0b"),
        ("'quoted'", '"quoted"', "(quoted)", "*quoted*", "quoted!", "__quoted__", "…quoted…"),
        ("ﬁle", "file"),  # one ligature for two letters
        ("ＡＢＣ", "abc"),  # wide letters
        ("Straße", "STRASSE", "strasse"),
        ("e\u0301t\u00e9", "\u00e9te\u0301"),  # composed and not
        ("²", "2"),
    ],
)
def test_same_ignores_case_space_width_and_outer_punctuation(texts: Sequence[str]) -> None:
    assert len({same_key(text) for text in texts}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("payments-api", "payments api"),
        ("specs/a.md#FR-1", "specs/a.md#FR-2"),
        ("line 42", "line 43"),
        ("HTTP 404", "HTTP 500"),
        ("API supports pagination", "API supports no pagination"),
        ("v1.2", "v12"),
        ("का", "की"),  # two words that differ in a vowel sign
    ],
)
def test_different_texts_are_not_the_same(one: str, other: str) -> None:
    assert same_key(one) != same_key(other)


@pytest.mark.parametrize("text", ["", " ", "\n\t", "\u2003"])
def test_blank_text_has_empty_key(text: str) -> None:
    assert same_key(text) == ""


@pytest.mark.parametrize("text", ["???", "🔥🔥"])
def test_symbols_alone_have_a_key(text: str) -> None:
    assert same_key(text)


@given(st.text(max_size=30))
def test_same_key_is_idempotent(text: str) -> None:
    assert same_key(same_key(text)) == same_key(text)


@given(st.text(st.characters(categories=("L", "N", "Zs", "P")), max_size=30))
def test_same_key_ignores_unicode_form(text: str) -> None:
    for form in ("NFC", "NFD", "NFKC", "NFKD"):
        assert same_key(unicodedata.normalize(form, text)) == same_key(text)


@pytest.mark.timeout(5)
@pytest.mark.parametrize("filling", ["-", " ", "_\n"])
def test_megabyte_of_symbols_is_fast(filling: str) -> None:
    text = f"build failed {filling * (1_000_000 // len(filling))} see above"
    assert same_key(text)
    assert len(partition([text, text + "!"])) == 1


# --- similar: together ------------------------------------------------------------------------------------------------

TOGETHER = {
    "lines": ("serialization failure at line 42", "serialization failure at line 1187"),
    "lines behind code": ("unreachable code at line 42", "unreachable code at line 43"),
    "lines behind status": ("unhandled status on line 7", "unhandled status on line 12"),
    "line and column": ("syntax error in app.py:42:7", "syntax error in app.py:118:23"),
    "temporary paths": ("cannot open /tmp/a8f3kz/out.txt", "cannot open /tmp/q0x1vv/out.txt"),
    "temporary folders of tests": (
        "cannot open /tmp/pytest-of-me/pytest-12/board0/state.yaml",
        "cannot open /tmp/pytest-of-me/pytest-13/board0/state.yaml",
    ),
    "temporary files with numbers": ("cannot open /tmp/tmp1234/x", "cannot open /tmp/tmp98765/x"),
    "Windows paths": ("cannot open C:\\Temp\\a1\\x.log", "cannot open C:\\Temp\\b22\\x.log"),
    "addresses in memory": ("<Task at 0x7f3a2c> never awaited", "<Task at 0x55d01e8890> never awaited"),
    "addresses of hosts": ("connection to 10.0.0.1 refused", "connection to 192.168.10.254 refused"),
    "high ports": ("connection to 10.0.0.1:50123 refused", "connection to 10.0.0.1:49820 refused"),
    "durations": ("timed out after 30s", "timed out after 1200ms", "timed out after 1.5 seconds"),
    "durations in hours": ("gave up after 5m", "gave up after 10h", "gave up after 3 days"),
    "uuids": (
        "row 3f2a1b4c-ab12-4d5e-8f90-1234567890ab is missing",
        "row 00000000-ef99-4abc-9d11-abcdefabcdef is missing",
    ),
    "commits": ("cannot apply 3f2a1b4", "cannot apply 9e107d9d372bb6826bd81d3542a419d6"),
    "commits of letters, then digits": ("cannot apply abc1234", "cannot apply def5678"),
    "times": ("stalled since 2025-01-18T14:32:00Z", "stalled since 2025-02-01 03:04:05.123+02:00"),
    "times of day": ("stalled since 14:32:00", "stalled since 03:04:05,123"),
    "counts": ("3 of 17 assertions failed", "11 of 204 assertions failed"),
    "sizes": ("out of memory: 512 MB used", "out of memory: 17 GiB used"),
    "ids of tasks": ("task-12: serialization failure", "task-104: serialization failure"),
    "ids of workers": ("worker-12 lost its lease", "worker-7 lost its lease"),
    "numbers of requests": ("http request 7 failed: connection reset", "http request 12 failed: connection reset"),
    "case": ("Serialization Failure On Nested Entity", "serialization failure on nested entity"),
    "white space": ("serialization  failure\n on nested\tentity", "serialization failure on nested entity"),
    "colours": ("\x1b[1;31merror:\x1b[0m nested entity", "error: nested entity"),
    "a word more": ("serialization failure on nested entity", "serialization failure on a nested entity"),
    "names in any quotes": ("no fixture 'db'", 'no fixture "client"', "no fixture `tmp`", "no fixture ‘app’"),
    "names after what they name": ("no such column: tenant", "no such column: owner"),
    "names of settings": ("DATABASE_URL is not set", "AWS_REGION is not set"),
    "a position before it": ("src/api.ts(4,7): error TS2322: wrong type", "error TS2322: wrong type"),
    "a position after it": ("ORA-00942: no such table at line 14", "ORA-00942: no such table"),
    "forms of a word": ("the importer drops rows", "the importer dropped a row"),
    "typos": ("cannot recieve the answer", "cannot receive the answer"),
    "short forms": ("it doesn't parse here", "it does not parse here"),
    "addresses of cards": ("no lease for 71:e1:03:ee:aa:9b", "no lease for 0c:11:a2:b3:44:5d"),
    "addresses in the web": ("GET https://a.example/x?id=1 failed", "GET https://a.example/y?id=22 failed"),
}


@pytest.mark.parametrize("name", TOGETHER)
def test_same_error_is_together(name: str) -> None:
    assert together(*TOGETHER[name])


# --- similar: apart ---------------------------------------------------------------------------------------------------

APART = {
    "values": ("login failed user=ann on it", "login failed user=bob on it"),
    "methods of HTTP": ('"GET /v1/a HTTP/1.1" was refused', '"POST /v1/a HTTP/1.1" was refused'),
    "states in the making": ("loading the module", "loaded the module"),
    "one size and two": ("sent 12 bytes to a peer", "sent 2048 bytes (2 kB) to a peer"),
    "HTTP": ("HTTP 404 from the API", "HTTP 500 from the API"),
    "HTTP with its version": ("HTTP/1.1 404 from the API", "HTTP/1.1 500 from the API"),
    "status": ("request failed with status 404", "request failed with status 500"),
    "status code": ("request failed, status code: 404", "request failed, status code: 500"),
    "status_code": ("request failed with status_code=404", "request failed with status_code=500"),
    "status in JSON": ('the API said {"status":404,"ok":false}', 'the API said {"status":500,"ok":false}'),
    "status in quotes": ('request failed with status "404"', 'request failed with status "500"'),
    "exit code": ("command failed with exit code 1", "command failed with exit code 137"),
    "exit code in brackets": ("command failed (exit code: [1])", "command failed (exit code: [137])"),
    "exit_code": ("command failed, exit_code=1", "command failed, exit_code=137"),
    "exit status": ("command failed: exit status 1", "command failed: exit status 2"),
    "exited": ("process exited with 1", "process exited with 137"),
    "negative exit code": ("command failed with exit code -9", "command failed with exit code -11"),
    "hexadecimal code": ("failed with error code 0x80070005", "failed with error code 0x80070002"),
    "ports": ("cannot bind to port 80", "cannot bind to port 443"),
    "ports of hosts": ("connection to 10.0.0.1:80 refused", "connection to 10.0.0.1:443 refused"),
    "ports of named hosts": ("connection to db.internal:22 refused", "connection to db.internal:443 refused"),
    "ports in addresses": ("cannot reach http://db.internal:80/", "cannot reach http://db.internal:443/"),
    "errno": ("[Errno 2] cannot open file", "[Errno 13] cannot open file"),
    "signal": ("killed by signal 9", "killed by signal 11"),
    "codes of Rust": ("error[E0308]: mismatched types", "error[E0277]: mismatched types"),
    "codes of TypeScript": ("error TS2322: wrong type here", "error TS2345: wrong type here"),
    "codes of databases": ("ORA-00942: statement failed", "ORA-01017: statement failed"),
    "two errors": ("serialization failure on nested entity", "connection refused by the payments service"),
    "two short errors": ("timeout", "refused"),
    "bare paths": ("src/app.py", "tests/test_db.py"),
    "bare numbers": ("12345", "67890"),
    "bare names": ('"foo"', '"bar"'),
    "an unlabelled status": ("got 401 from the auth service", "got 403 from the auth service"),
    "a status that was returned": ("the gateway returned 502 after 31 s", "the gateway returned 504 after 60 s"),
    "a status that came instead": ("expected 200 but got 404", "expected 200 but got 500"),
    "numbers of errors": ("make: *** [Makefile:14: test] Error 1", "make: *** [Makefile:14: test] Error 2"),
    "names of errors": ("connect ECONNREFUSED 10.0.3.17:5432", "connect ETIMEDOUT 10.0.3.17:5432"),
    "classes of exceptions": ("java.lang.IllegalStateException: closed", "java.io.IOException: closed"),
    "SQL states": ("SQLSTATE[23000]: query failed", "SQLSTATE[42S02]: query failed"),
    "numbers of curl": ("curl: (6) no connection", "curl: (7) no connection"),
    "states of a service": ("service unavailable", "service restarted"),
    "states of a table": ("the table was dropped", "the table was created"),
    "words that differ in a letter": ("parsing the file failed", "passing the file failed"),
    "words with little in common": ("insert failed for this row", "inspect failed for this row"),
    "timeout and refusal": ("connection timed out", "connection refused"),
}


@pytest.mark.parametrize("name", APART)
def test_different_errors_are_apart(name: str) -> None:
    assert not together(*APART[name])


# --- similar: what many texts show ------------------------------------------------------------------------------------

_PEOPLE = ("ann", "bob", "cem", "dora", "emil", "finn")
_CITIES = ("oslo", "rome", "bern", "kyiv", "lima", "quito")


@pytest.mark.parametrize(
    "frame",
    [
        "user={} logged in from host={} again",
        "session of {} was closed by {} too early",
        "job was moved ({}) to another [{}] queue",
    ],
)
def test_places_for_values_vary_together(frame: str) -> None:
    texts = [frame.format(*pair) for pair in zip(_PEOPLE, _CITIES, strict=True)]
    assert together(*texts)
    assert len(partition(texts[:4])) == 4


def test_ports_vary_where_many_endpoints_are() -> None:
    ports = (22, 80, 443, 443, 80, 8080)
    texts = [f"link to {city}.example.net:{port} was lost" for city, port in zip(_CITIES, ports, strict=True)]
    assert together(*texts)
    assert not together(*texts[:2])


def test_identity_stays_where_values_vary() -> None:
    texts = [f"user={one} got HTTP {code} in {other}" for one, other in zip(_PEOPLE, _CITIES, strict=True)
             for code in (404, 500)]  # fmt: skip
    assert len(partition(texts)) == 2


def test_twenty_endings_are_free_text() -> None:
    words = [" ".join(pair) for pair in zip(_PEOPLE * 4, _CITIES[1:] * 5, strict=False)][:20]
    texts = [f"could not read answer: {ending} {'so ' * (at % 3)}" for at, ending in enumerate(dict.fromkeys(words))]
    assert together(*texts)
    assert len(partition(texts[:4])) == 4


def test_higher_similarity_makes_smaller_groups() -> None:
    texts = ("serialization failure on nested entity", "serialization failed on nested entities")
    assert len(partition(texts, 0.7)) == 1
    assert len(partition(texts, 0.95)) == 2


@pytest.mark.parametrize("similarity", [0.1, 0.7, 1.0])
def test_equal_texts_are_together_at_any_similarity(similarity: float) -> None:
    assert len(partition(["one error", "One  error"], similarity)) == 1


def test_added_text_does_not_separate_others() -> None:
    texts = ("build ab-1234567c2-x failed", "build ab-deadbee1-x failed")
    together_alone = together(*texts)
    assert any(set(texts) <= group for group in partition([*texts, "build ab-0c2-x failed"])) is together_alone


@pytest.mark.slow
@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "texts",
    [
        [f"error connection{chr(97 + n // 676)}{chr(97 + n // 26 % 26)}{chr(97 + n % 26)}" for n in range(5_000)],
        [" ".join("bcdefghjklm"[n * k % 11] for k in range(300)) for n in range(500)],
        ["status " + "7 " * 1_000 + str(n) for n in range(300)],
        ["a" * 5_000 + str(n) for n in range(300)],
        ["a." * 1_200 + str(n) for n in range(300)],
    ],
    ids=["words that begin alike", "words of a letter", "numbers", "no words", "dots"],
)
def test_texts_built_to_be_slow_are_fast(texts: list[str]) -> None:
    assert set(similar_groups(texts, 0.7)) == set(texts)


# --- similar: properties ----------------------------------------------------------------------------------------------

_FRAMES = ("serialization failure on {}", "cannot open {}", "HTTP {} from the API", "{}", "exit code {}", "lost {}")
_PARTS = ("line 42", "line 7", "/tmp/a1/x", "404", "500", "0x7f", "task-12", "entity", "nested entity", "3 s", "E0308")
ERRORS = st.one_of(
    st.builds(str.format, st.sampled_from(_FRAMES), st.sampled_from(_PARTS)), st.text("ab 1/:", max_size=12)
)


@given(st.lists(ERRORS, max_size=12), st.randoms(use_true_random=False))
def test_groups_are_independent_of_order_and_repetition(texts: list[str], random: Random) -> None:
    again = texts * 2
    random.shuffle(again)
    assert partition(again) == partition(texts)
    assert similar_groups(again, 0.7) == similar_groups(texts, 0.7)


@given(st.lists(ERRORS, max_size=12))
def test_every_text_is_in_exactly_one_group(texts: list[str]) -> None:
    assert sorted(text for group in partition(texts) for text in group) == sorted(set(texts))


@given(st.lists(ERRORS, max_size=10))
def test_unrelated_text_changes_nothing(texts: list[str]) -> None:
    stranger = "ΩΩΩΩΩ кириллица и только она, довольно длинная строка без чисел ΩΩΩΩΩ"
    assert partition([*texts, stranger]) == partition(texts) | {frozenset({stranger})}


@given(st.uuids(), st.uuids(), st.integers(1, 99999), st.integers(1, 99999))
def test_ids_and_counts_never_separate(one: object, other: object, first: int, second: int) -> None:
    assert together(f"row {one} is missing after {first} tries", f"row {other} is missing after {second} tries")


@given(st.integers(100, 599), st.integers(100, 599))
def test_status_always_separates(one: int, other: int) -> None:
    assert together(f"HTTP {one} from the API", f"HTTP {other} from the API") is (one == other)
