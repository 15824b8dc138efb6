"""How a test ended. A run that says nothing about the code (a missing module, a crashed runner) is `INFRA`."""

PASSED, FAILED, INFRA = "passed", "failed", "infra"
