"""The narrower scopes: what stops one loop, one claim or one slice while everything else goes on."""
