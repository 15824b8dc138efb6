"""Budgets: `make test` looks at a few hundred generated cases, `make faults` at many thousands."""

import os

from hypothesis import HealthCheck, settings

_SLOW_IS_FINE = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]
for name, examples in {"quick": 100, "thorough": 1_500}.items():
    settings.register_profile(
        name, max_examples=examples, deadline=None, suppress_health_check=_SLOW_IS_FINE, print_blob=True
    )
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))
