"""Properties have no deadline: how long an example takes says nothing about the claim."""

from hypothesis import settings

settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")
