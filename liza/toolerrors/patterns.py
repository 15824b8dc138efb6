"""Errors on a single line, by tool.

A line is matched with a pattern only if it contains one of the hints (lower case, separated by `|`); the first pattern
that matches decides. A good hint is rare: a pattern is compiled for the first line that contains its hint. The
signature is the group `text`, or else the whole line. Patterns match from the beginning of the line, so that sentences
about errors, source code and the output of grep do not match; those of compilers may be indented, because build tools
indent the output of compilers.

What takes several lines, such as the message of rustc above an arrow, is read by a function: see `readers.py`.
"""

from typing import NamedTuple

from liza.toolerrors.findings import AROUND, COUNT, ENDED, LOGGED, ROOT, TEST

NONE = -1  # the rank of a line that looks like an error and is not one


class Pattern(NamedTuple):
    rank: int
    name: str
    hints: str
    regex: str


def _rows(rank: int, *rows: tuple[str, str, str]) -> tuple[Pattern, ...]:
    return tuple(Pattern(rank, *row) for row in rows)


_FILE = r"(?P<file>(?:[A-Za-z]:)?[^\s:()\[\]'\"<>|,]+)"
_AT = rf"{_FILE}:(?P<line>\d+)"
_MAKE = r"\S*make(?:\[\d+\])?: "
_KINDS = r"(?:(?:fatal|internal|internal compiler|parse|syntax|runtime|linker|build|compilation|type|usage|stream) )?"
_SIGNALS = ("Segmentation fault", "Aborted", "Killed", "Bus error", "Illegal instruction", "Trace/breakpoint trap")
_ERRNOS = (
    "No such file or directory", "Permission denied", "Is a directory", "Not a directory", "File exists",
    "Directory not empty", "Operation not permitted", "No space left on device", "Read-only file system",
    "Too many open files", "Connection refused", "Connection timed out", "Name or service not known",
    "Address already in use", "Cannot allocate memory", "Exec format error", "Argument list too long", "Text file busy",
)  # fmt: skip

NO_ERRORS = _rows(
    NONE,
    ("agent, tries again", "retrying in", r".*\bRetrying in \d"),
    ("make, ignored", "(ignored)", rf"{_MAKE}\[.*\] Error \d+ \(ignored\)"),
)
OF_THE_AGENT = _rows(
    ENDED,
    ("service", "api error", r"\W{0,4}(?P<text>API Error(?:: | \()\S.*)"),
    ("limit", "limit", r"\W{0,4}(?P<text>(?:Claude AI usage limit reached|You've hit your .{0,40}limit).*)"),
    (
        "account",
        "credit balance|invalid api key|prompt is too long",
        r"(?:Credit balance is too low|Invalid API key|Prompt is too long)\b.*",
    ),
)
# Consequences of another failure.
PASSED_ON = _rows(
    AROUND,
    ("make", "***", rf"{_MAKE}\*\*\* \[(?:{_AT}: )?.*\] .*"),
    (
        "cargo, compiling",
        "error: could not|error: aborting|error: build|error: process",
        r"error: (?:could not compile|aborting due to|build failed|process didn't exit)\b.*",
    ),
    ("tar", "error is not recoverable", r"\S+: Error is not recoverable: .*"),
    ("git merge", "merge failed", r"Automatic merge failed; .*"),
    ("pnpm", "elifecycle", r"\W{0,3}ELIFECYCLE\b.*"),
    ("gradle task", "execution failed", r"Execution failed for task .*"),
    ("exit status", "exit status ", r"exit status [1-9]\d*$"),
    ("exit code", "exit code", r"[Ee]xit code:? [1-9]\d*$"),
    (
        "exit of a command",
        "code",
        r"(?i:(?:\w+ )?(?:command|process|script|task|job)\b.{0,200} code[ :=]+[1-9]\d*\b.*)",
    ),
)
COMPILERS = _rows(
    ROOT,
    ("make, a rule", "***", rf"{_MAKE}\*\*\* (?!Waiting)\S.*"),
    ("makefile", "***", rf"{_AT}: \*\*\* .*"),
    (
        "tsc, msvc, csc",
        "): error|): fatal|) : error|) : fatal",
        rf"\s*{_FILE}\((?P<line>\d+)(?:,\d+)?\) ?: (?:fatal )?error\b.*",
    ),
    ("tsc --pretty, pyright", " - error", rf"\s*{_AT}:\d+ - error\b.*"),
    ("tsc, no place", "error ts", r"\s*error TS\d+: .*"),
    ("gcc, clang, mypy, javac", " error:", rf"\s*(?!(?<=\s)\S+_test\.go:){_AT}(?::\d+)?: {_KINDS}error: .*"),
    ("ruff, flake8, pylint", ".py", rf"{_AT}:\d+: [A-Z]+\d{{3,4}}:? .*"),
    ("go", ".go:", rf"(?:vet: )?{_FILE}(?<=\.go):(?P<line>\d+):\d+: (?!warning|note)\S.*"),
    ("go command", "go: ", r"go: (?!downloading|finding|found|creating|to add|added|upgraded|extracting)\S.*"),
    ("go, race", "data race", r"WARNING: DATA RACE$"),
    ("maven", ":[", r"\[ERROR\] (?P<file>\S+\.(?:java|kt|scala)):\[(?P<line>\d+),\d+\] .*"),
    ("kotlin", "e: ", r"e: (?:file://)?(?P<file>[^\s:]+):(?P<line>\d+):\d+:? .*"),
    ("linker", "undefined reference", r"\S+: ?.*\bundefined reference to [`'‘\"].*"),
    ("eslint", " error ", r"\s+(?P<line>\d+):\d+\s+error\s+\S.*"),
    ("assert of C", "assertion", rf"\S+: {_AT}: .*\bAssertion .* failed\.?$"),
    ("sanitizer", "sanitizer", r"==\d+==\s?ERROR: .*"),
    ("ruby", ".rb:", rf"{_FILE}(?<=\.rb):(?P<line>\d+):in .*\((?:\w|::)+\)$"),
    ("perl", " line ", r".+ at (?P<file>\S+\.(?:p[lm]|t|cgi)) line (?P<line>\d+)(?:, .*)?\.$"),
    (
        "php",
        "fatal error: |parse error: ",
        r"(?:PHP )?(?:Fatal|Parse|Recoverable fatal) error: +(?P<message>\S.*?)"
        r"(?: in (?P<file>\S+?)(?: on line |:)(?P<line>\d+))?$",
    ),
    ("cmake", "cmake error", r"CMake Error(?: at (?P<file>[^\s:]+):(?P<line>\d+))?.*"),
    ("webpack", "error in ", r"ERROR in (?P<file>\S+?)(?:[ :](?P<line>\d+):[\d-]+)?$"),
)
PROGRAMS = _rows(
    ROOT,
    ("git, conflict", "conflict (", r"CONFLICT \(.*\): .*"),
    ("git, rejected", "rejected]", r"\s*! \[(?:remote )?rejected\] .*"),
    ("curl", "curl: (", r"curl: \(\d+\) .*"),
    ("docker", "docker daemon", r"(?:ERROR: )?Cannot connect to the Docker daemon\b.*"),
    ("server", "error ", r"(?:docker: )?Error (?:response from daemon|from server(?: \(\w+\))?): .*"),
    ("mysql", "error ", r"ERROR \d+ \(\w+\)(?: at line \d+)?: .*"),
    ("sqlite", "error near line", r"(?:Parse|Runtime) error near line \d+: .*"),
    (
        "signal",
        "|".join(_SIGNALS).lower(),
        rf"(?:\S+: line \d+: +\d+ )?(?:{'|'.join(_SIGNALS)})(?: \(core dumped\))?(?: {{2,}}.*)?$",
    ),
    ("bash", ": line ", rf"(?:-?\w{{0,2}}sh|{_FILE}): line (?P<line>\d+): \S.*"),
    ("dash", ": not found", rf"(?:sh|{_FILE}): (?P<line>\d+): \S+: not found$"),
    ("shells", "not found", r"\S+: (?:\S+: (?:command )?not found|command not found: \S+)$"),
    ("errno", "|".join(_ERRNOS).lower(), rf"[\w./+-]+: (?:.*: )?(?:{'|'.join(_ERRNOS)})$"),
    ("python", "python", r"\S*python[\d.]*(?:\.exe)?: (?:No module named|can't open file|Error while finding).*"),
)
OTHERS = (
    *_rows(TEST, ("rspec", "rspec ", r"rspec (?P<file>\./[^\s:]+):(?P<line>\d+) # (?P<test>.*)")),
    *_rows(LOGGED, ("black", "would reformat", r"would reformat (?P<file>\S+)(?P<line>)$")),
)
# Output of any program. The group `message` must be a message, not a value or a piece of code.
GENERIC = _rows(
    ROOT,
    ("action of GitHub", "::error", r"::error(?: file=(?P<file>[^,:]*))?(?:,line=(?P<line>\d+))?[^:]*::(?P<text>.*)"),
    (
        "error", "error",
        rf"(?:[\w./+-]+(?:\[\d+\])?: )?(?:{_KINDS}(?i:error)|FATAL ERROR)(?:\[[\w-]+\]| \w?\d+)?: (?P<message>\S.*)",
    ),
    ("error of some kind", " error: ", r"(?:[A-Z]\w+ ){1,2}Error: (?P<message>\S.*)"),
    ("error, yarn", "error ", r"error (?P<message>[A-Z\"'].*)"),
    ("fatal", "fatal", r"(?:[\w./+-]+: )?(?i:fatal): (?P<message>\S.*)"),
    ("failed", "fail", r"(?:Failed|FAIL|FAILURE): (?!Build failed)(?P<message>\S.*)"),
)  # fmt: skip
# Lines that only count errors.
COUNTS = _rows(
    COUNT,
    ("pytest", " in ", r"(?:=+ )?(?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)(?:, \d+ \w+)* in [\d.]+s\b.*"),
    ("unittest", "failed (", r"FAILED \((?:failures|errors|unexpected)\b.*"),
    ("cargo test", "test result: failed", r"test result: FAILED\..*"),
    ("go test", "fail", r"FAIL(?:\t.*)?$"),
    ("jest", "failed", r"\s*(?:Tests?|Test Suites|Test Files|Snapshots):?\s+[1-9]\d* failed\b.*"),
    ("node --test", "# fail", r"# fail [1-9]\d*$"),
    ("mocha", "failing", r"\s+[1-9]\d* failing$"),
    ("linters", " problem", r"\W ?[1-9]\d* problems? \([1-9]\d* errors?.*"),
    ("compilers", " error", r"(?:Found )?[1-9]\d* errors?(?:,.*| in .*| generated\.?|\.)?$"),
    ("builders", "build fail", r"(?:BUILD FAIL(?:ED|URE)|(?:FAILURE: )?Build failed)\b.*"),
)
TOOLS = (*NO_ERRORS, *OF_THE_AGENT, *PASSED_ON, *COMPILERS, *PROGRAMS, *OTHERS)
