"""One blackboard for one scope."""

import pytest

from tests.contract.lab import Lab
from tests.contract.scopes import SCOPES


@pytest.fixture(params=SCOPES, ids=lambda scope: scope.name)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lab:
    return Lab(request.param, tmp_path_factory.mktemp("project"))
