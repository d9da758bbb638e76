"""Words that say nothing about what a text is about: English function words, and the small talk of asking."""

from __future__ import annotations

STOP_WORDS = frozenset(
    """a about above after again against all also am an and any are aren as at be because been before being below
    between both but by can cannot could couldn d did didn do does doesn doing don done down during each else ever
    few for from further get gets getting got had hadn has hasn have haven having he hello her here hers herself hey
    hi him himself his how i if in into is isn it its itself just know let like ll m many may me mention mentioned
    might more most much must mustn my myself need no nor not now of off ok okay on once only or other ought our
    ours ourselves out over own please re recall remember remind s same shall shan she should shouldn so some such t
    tell than thank thanks that the their theirs them themselves then there these they this those through to too
    under until up us ve very want was wasn we were weren what when where which while who whom why will with won
    would wouldn yeah yes you your yours yourself yourselves
    """.split()
)
