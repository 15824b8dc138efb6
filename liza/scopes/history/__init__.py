"""The `circuit_breaker` section: the open trip, the trips before it with their evidence, and what people decided."""
