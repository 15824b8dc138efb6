"""What a trip stops: the sprint, which is everyone, or one loop, claim or slice while everything else goes on."""
