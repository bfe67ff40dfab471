"""The checks of a policy, by name."""

from collections.abc import Callable, Collection

from lastblock.core.protocol import Policy
from lastblock.core.registry import require_policy
from lastblock.testing import (
    declared,
    eligibility,
    live_use,
    optimism,
    reproducible,
    service_use,
)
from lastblock.testing.suite import Check, list_checks, run_all

POLICY_CHECKS: dict[str, Callable[[Policy], None]] = {
    check.__name__: check
    for check in (
        declared.every_round_can_be_played,
        reproducible.same_seed_same_run,
        reproducible.threads_and_chunks_change_nothing,
        reproducible.trace_is_replication_0,
        reproducible.live_is_simulated,
        reproducible.a_policy_that_grows_goes_on_alike,
        reproducible.jit_changes_nothing,
        reproducible.compiling_in_the_middle_changes_nothing,
        reproducible.saved_and_loaded_goes_on_alike,
        live_use.asking_never_waits,
        declared.arms_have_no_favourites,
        declared.shift_is_as_declared,
        declared.scale_is_as_declared,
        optimism.promises_are_kept,
        declared.environments_fit,
        declared.state_is_bounded,
        declared.start_sets_what_it_reads,
        declared.start_sets_every_number,
        declared.wrong_types_are_rejected,
        declared.parameters_survive,
        live_use.bad_rewards_change_nothing,
        live_use.only_its_support_is_taken,
        live_use.arms_come_and_go,
        live_use.room_changes_no_decision,
        live_use.a_forced_arm_is_taken_in,
        eligibility.absent_arms_are_as_if_retired,
        eligibility.paused_arms_are_not_taken,
        eligibility.decisions_of_others_are_learnt,
        live_use.held_agrees_with_what_was_told,
        live_use.words_come_for_every_policy,
        service_use.several_rewards_count_as_their_sum,
        service_use.a_store_takes_tokens_again_and_again,
    )
}
"""Every check of a policy: a function that takes it and raises an AssertionError if it fails."""


def policy_checks(*policies: Policy, skip: Collection[str] = ()) -> list[Check[Policy]]:
    """Return the checks of some policies, one by one, for a parametrised test.

    Parameters
    ----------
    *policies
        Policies with the parameters to test, such as ``*MyPolicy.examples()``.
    skip
        Names of checks to leave out.

    Returns
    -------
    list of Check
        Call one to run it.

    Raises
    ------
    ValueError
        If an argument is not a policy, or a name in `skip` is not that of a check.

    Examples
    --------
    >>> import lastblock as lb
    >>> checks = {check.name: check for check in policy_checks(lb.EpsilonGreedy(0.1))}
    >>> print(checks["parameters_survive"])
    EpsilonGreedy(epsilon=0.1, decay=0.0)-parameters_survive
    >>> checks["parameters_survive"]()
    """
    for policy in policies:
        require_policy(policy)
    return list_checks(POLICY_CHECKS, policies, skip)


def check_policy(
    policy: Policy, *, skip: Collection[str] = (), progress: bool | None = None
) -> None:
    """Run every check on a policy.

    All checks run, also after one has failed. They take about twenty seconds, most of them for the
    compiler.

    Parameters
    ----------
    policy
        A policy with the parameters to test.
    skip
        Names of checks to leave out, such as "jit_changes_nothing" for a policy that is defined in
        a notebook: that check needs a file to import.
    progress
        Show a bar; by default when it takes over two seconds and the output is a terminal.

    Raises
    ------
    AssertionError
        If some checks fail. The message names each of them, and says what was seen.
    ValueError
        If `policy` is not a policy, or a name in `skip` is not that of a check.
    """
    __tracebackhide__ = True
    run_all(policy_checks(policy, skip=skip), progress)
