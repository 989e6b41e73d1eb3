"""The two presets of Algorithm 1, part by part."""

from __future__ import annotations

from sdgm.core.inference.alpha_updates import Bounds, MacKay, TwoPhase
from sdgm.core.inference.learning import Method
from sdgm.core.inference.mode import EM, EMGradient
from sdgm.core.inference.phases import FewWeights
from sdgm.core.inference.preset import Preset
from sdgm.core.inference.pruning import EmptyComponents, EmptyComponentsAndTies
from sdgm.core.inference.recipe import Preparation, Recipe
from sdgm.core.inference.stopping import Settled

# The authors' thresholds: alpha above 1e5 is infinite, pi below 1e-5 is zero, r has converged when
# its mean change is below 1e-3, alpha when its squared changes sum to less than 1e-5. They have no
# lower bound of alpha; without one 1 / alpha overflows on weakly scaled inputs.
PAPER = Recipe(
    Preparation(
        standardize=False,
        merge_rows=False,
        scale_columns=False,
        pinned=True,
        ties_two=False,
        alpha=1.0,
    ),
    Method(
        max_iter=20_000,
        find_mode=EM(max_passes=500, r_tol=1e-3, max_steps=100, tol=1e-12),
        update_alpha=MacKay(Bounds(floor=1e-12, cap=1e5)),
        prune=EmptyComponents(min_share=1e-5),
        has_converged=Settled(tol=0.0, squared_tol=1e-5),
        class_prior=False,
    ),
)

# Twelve weights per component, three Newton steps, a start of alpha = 0.1 and 0.05 of evidence were
# settled on Ripley's data and Banana; `python -m benchmarks presets` measures what they lead to.
FEW = FewWeights(12)
FAST = Recipe(
    Preparation(
        standardize=True,
        merge_rows=True,
        scale_columns=True,
        pinned=False,
        ties_two=True,
        alpha=0.1,
    ),
    Method(
        max_iter=500,
        find_mode=EMGradient(max_steps=3, tol=1e-3, to_mode=FEW),
        update_alpha=TwoPhase(Bounds(floor=1e-8, cap=1e5), FEW, min_evidence=0.05),
        prune=EmptyComponentsAndTies(min_share=1e-5, final_phase=FEW),
        has_converged=Settled(tol=1e-2, waits=FEW),
        class_prior=True,
    ),
)
PRESETS = {Preset.FAST: FAST, Preset.PAPER: PAPER}
