"""Claims about the two presets: what they have in common, and parts that must agree."""

from __future__ import annotations

from sdgm.core.inference.recipe import FAST, FEW, PAPER
from tests.reference.recipes import values


def test_the_presets_share_no_more_than_the_thresholds_of_the_paper_and_the_solver() -> None:
    paper, fast = values(PAPER), values(FAST)
    equal = {path for path in paper.keys() & fast.keys() if paper[path] == fast[path]}
    assert equal == {
        "",
        "preparation",
        "method",
        "method.find_mode.solver",
        "method.find_mode.solver.solver",
        "method.find_mode.solver.blocks_pay",
        "method.find_mode.solver.little_work",
        "method.update_alpha.bounds",
        "method.update_alpha.bounds.cap",
        "method.prune.min_share",
        "method.has_converged",
        "method.has_converged.waits",  # both wait for few weights, of which the paper has none
    }
    assert fast["method.has_converged.waits.per_component"] == 12
    assert paper["method.has_converged.waits.per_component"] == 0


def test_all_parts_of_fast_have_the_same_final_phase() -> None:
    method = FAST.method
    phases = [
        method.find_mode.to_mode,
        method.update_alpha.final_phase,
        method.prune.final_phase,
        method.has_converged.waits,
    ]
    assert all(phase is FEW for phase in phases)
