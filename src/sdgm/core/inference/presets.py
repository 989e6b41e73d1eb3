"""The settings of the learner, and the two presets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

# steps where w is to reach its mode; it takes five to ten
MANY_STEPS = 50


class Preset(StrEnum):
    """The two ways through Algorithm 1."""

    FAST = "fast"
    PAPER = "paper"


class Solver(StrEnum):
    """How Newton's matrix is dealt with."""

    AUTO = "auto"
    FULL = "full"
    BLOCK = "block"


@dataclass(frozen=True)
class Options:
    """How Algorithm 1 is run.

    Attributes
    ----------
    max_iter : int
        Passes of the outer loop (alpha).
    tol : float
        Stop when no surviving alpha, or no pi where alpha is fixed, changes by more than this,
        relatively.
    alpha_tol : float
        Stop also when the squared changes of the alphas sum to less than this, the authors' rule;
        zero for never.
    max_em : int
        Passes of the middle loop (r) per outer pass.
    r_tol : float
        End of the middle loop: mean absolute change of r.
    max_newton : int
        Newton steps of the innermost loop (w) per middle pass; not where w is brought to
        its mode, and not where a sample directs the steps.
    many_steps : int
        Newton steps where w is brought to its mode.
    newton_tol : float
        End of the innermost loop: gain that the next step promises.
    em_gradient : bool
        Let r follow w within a Newton step instead of holding it; the k-means start apart.
    few_weights : int
        Mean number of weights per component up to which w is brought to its mode with the observed
        information, alphas go towards their optimum, and unneeded weights leave a few at a time;
        zero for never.
    min_evidence : float
        Log evidence that a weight must add to stay once few are left.
    alpha_start : float
        Alpha of every weight at the start.
    alpha_cap, alpha_floor : float
        A weight with a larger alpha is zero; no alpha is smaller.
    min_share : float
        A component with a smaller share of its class counts as empty.
    class_prior : bool
        Whether pi carries the shares of the classes, or sums to one within each class.
    pinned : bool
        Whether the last component of the last class has no weights.
    learn_alpha : bool
        False keeps alpha fixed: a ridge prior, no pruning.
    share_columns : bool
        Whether a column has one alpha for all components, so that it stays or leaves as a whole.
    solver : Solver
        The whole Newton matrix, or its diagonal blocks, or whichever takes less work.
    leave_saddles : bool
        Whether steps to the mode leave a saddle as fast as they come to a mode, rather than as the
        EM algorithm does.
    is_rough : bool
        Whether the rows are a sample, so that learning ends when the evidence hardly grows.
    merge_rows : bool
        Whether identical rows are one row, and one candidate column in the dual form.
    scale_columns : bool
        Whether alpha is measured in units of the columns' norms.
    standardize : bool
        Whether inputs are standardised unless the user says otherwise.
    """

    max_iter: int
    tol: float
    alpha_tol: float
    max_em: int
    r_tol: float
    max_newton: int
    newton_tol: float
    em_gradient: bool
    few_weights: int
    min_evidence: float
    alpha_start: float
    alpha_cap: float
    alpha_floor: float
    min_share: float
    class_prior: bool
    pinned: bool
    merge_rows: bool
    scale_columns: bool
    standardize: bool
    learn_alpha: bool = True
    share_columns: bool = False
    solver: Solver = Solver.AUTO
    leave_saddles: bool = False
    is_rough: bool = False
    many_steps: int = MANY_STEPS


# The authors' thresholds: alpha above 1e5 is infinite, pi below 1e-5 is zero, r has converged when
# its mean change is below 1e-3, alpha when its squared changes sum to less than 1e-5.
PAPER = Options(
    max_iter=20_000,
    tol=0.0,
    alpha_tol=1e-5,
    max_em=500,
    r_tol=1e-3,
    max_newton=100,
    newton_tol=1e-12,
    em_gradient=False,
    few_weights=0,
    min_evidence=0.0,
    alpha_start=1.0,
    alpha_cap=1e5,
    # the authors have no bound; without one 1 / alpha overflows on weakly scaled inputs
    alpha_floor=1e-12,
    min_share=1e-5,
    class_prior=False,
    pinned=True,
    merge_rows=False,
    scale_columns=False,
    standardize=False,
)

FAST = Options(
    max_iter=500,
    tol=1e-2,
    alpha_tol=0.0,
    max_em=1,
    r_tol=0.0,
    max_newton=3,
    newton_tol=1e-3,
    em_gradient=True,
    few_weights=12,
    min_evidence=0.05,
    alpha_start=0.1,
    alpha_cap=1e5,
    alpha_floor=1e-8,
    min_share=1e-5,
    class_prior=True,
    pinned=False,
    merge_rows=True,
    scale_columns=True,
    standardize=True,
)


def preset_options(preset: Preset) -> Options:
    """The options of a preset."""
    return {Preset.FAST: FAST, Preset.PAPER: PAPER}[preset]


def with_ridge_prior(options: Options, alpha: float) -> Options:
    """The options with alpha fixed, in the units of the features, and nothing pruned or pinned.

    With alpha fixed there is nothing but w, r and pi to converge, and they are brought close.
    """
    return replace(
        options,
        learn_alpha=False,
        alpha_start=alpha,
        scale_columns=False,
        pinned=False,
        few_weights=0,
        newton_tol=1e-10,
        tol=1e-5,
        alpha_tol=0.0,
    )
