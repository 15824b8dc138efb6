"""The narrower scopes: what stops one loop, one claim or one slice instead of the sprint."""
