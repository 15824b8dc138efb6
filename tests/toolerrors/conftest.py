"""A blackboard with slices, for the tests that run a test runner through `liza attempt exec`."""

from tests.scopes.slices.conftest import slices

__all__ = ["slices"]
