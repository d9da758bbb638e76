"""Words that stand in requests to coding agents whatever they are about: two that share only these share little.

Kept as the prompt index sees them, without their endings.
"""

from __future__ import annotations

from recollect.promptindex import stem

_USUAL = """
add build change check code commit error file fix function help issue line look make new project run show test think
try update use work write
"""
_COMMON = """
able access agent already api app application argument around ask automatic back bad base best better bit branch
browser bug button call case cause class clean clear click close column command comment compare complete config
configuration connect connection consider console contain content context continue convert copy correct create
current custom data database day debug default define delete dependency description design detail different
directory display doc document documentation end ensure environment example exception execute exist expect explain
export expression fail failure feature field figure find first folder follow format found full generate git github
give good group handle happen high host hour html http https id idea implement implementation import improve include
info information input install instead interface internal item javascript job js json keep key kind large last later
latest leave left less level library link lint list little live load local log logic long loop main maintain major
manage manual map matter max mean memory merge message method minute missing mock mode model module month move
multiple name next node number object old open operation option order output package page parameter parse part pass
path pattern place plan point possible pr prefer present problem process product program prompt provide public pull
push put python question quick read readme real really reason refactor release remain remote remove rename render
repo repository request require reset resolve resource response result return review right root row rule safe save
schema screen script search second section see select separate server service session set setting setup share short
side simple single size slow small something sort source specific split stack start state statement status step stop
storage store string structure style suggest support sure switch system table tag take target task team text thing
time tool top track true turn two type understand unit url usage user value variable verify version view wait
warning way web week whole window without word wrong year
"""

USUAL_WORDS = frozenset(map(stem, _USUAL.split()))  # in about every seventh request
COMMON_WORDS = frozenset(map(stem, _COMMON.split()))  # in about every twentieth
